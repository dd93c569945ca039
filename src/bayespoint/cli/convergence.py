"""How far an engine got: what a fitted posterior tells of it, and what to do about it."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayespoint import BayesPointClassifier
from bayespoint.cli.messages import count
from bayespoint.posteriors import ChainPosterior, GaussianWeights, MarginalPosterior
from bayespoint.posteriors import SampledPosterior as Perceptrons

AGREE = 1.05  # R-hat up to which chains agree
DISAGREE = 1.1  # R-hat from which the engines warn
ENOUGH = 100  # independent samples from which a second digit of a probability means something


def convergence(machine: BayesPointClassifier) -> dict[str, Any]:
    """What the posterior knows of the run that found it, ready for JSON."""
    posterior = machine.posterior_
    found: dict[str, Any] = {"iterations": machine.n_iter_}
    if isinstance(posterior, ChainPosterior):
        return {
            "kind": "chains",
            **found,
            "chains": posterior.n_chains,
            "draws": posterior.n_draws,
            "r_hat": posterior.r_hat.tolist(),
            "effective_sample_size": posterior.effective_sample_size.tolist(),
            "label_noise": posterior.label_noise.tolist(),
            "cosines": chain_cosines(posterior),
        }
    if isinstance(posterior, Perceptrons):
        n_tasks = posterior.weights.shape[2]
        runs = posterior.n_samples * n_tasks
        return {"kind": "perceptrons", **found, "runs": runs, "failed": posterior.n_failed}
    if isinstance(posterior, GaussianWeights):
        return {
            "kind": "sweeps",
            **found,
            "changes": [list(map(float, task)) for task in posterior.changes],
            "endings": list(posterior.endings),
            "single_pass": getattr(machine.engine, "max_iter", None) == 1,
        }
    if isinstance(posterior, MarginalPosterior):
        changes = [list(map(float, task)) for task in posterior.changes]
        return {"kind": "passes", **found, "changes": changes}
    return {"kind": "other", **found}


def chain_cosines(posterior: ChainPosterior) -> list[list[float]]:
    """Cosines of the mean of each chain with the mean of all: for each task one for each chain."""
    means = posterior.to_dict()["weights"].mean(axis=1)  # chain, coordinate, task
    centre = means.mean(axis=0)
    lengths = np.linalg.norm(means, axis=1) * np.linalg.norm(centre, axis=0)
    products = (means * centre).sum(axis=1)
    return np.divide(products, lengths, out=np.ones_like(products), where=lengths > 0).T.tolist()


def convergence_words(found: dict[str, Any]) -> str:
    """How far it got, in a line."""
    kind, n = found["kind"], found["iterations"]
    if kind == "chains":
        return (
            f"R-hat {worst(found['r_hat'], max):.2f}, worth "
            f"{worst(found['effective_sample_size'], min):.0f} independent samples, "
            f"{count(n, 'step')} of {count(found['chains'], 'chain')}"
        )
    if kind == "perceptrons":
        told = f"{found['runs'] - found['failed']} of {count(found['runs'], 'perceptron')}"
        return f"{told} without mistakes, after at most {count(n, 'epoch')}"
    if kind == "sweeps" and found["single_pass"]:
        return "a single pass, as asked"
    if kind == "sweeps":
        return f"{ending_words(found)} after {count(n, 'iteration')}"
    if kind == "passes":
        return f"{count(n, 'pass', 'passes')}, as asked"
    return count(n, "iteration")


def ending_words(found: dict[str, Any]) -> str:
    """Whether sweeps came to rest."""
    reasons = list(filter(None, found["endings"]))
    return f"not at rest ({reasons[0]})" if reasons else "at rest"


def worst(values: list[float], choose: Any) -> float:
    """The worst number of all tasks; NaN where chains were too short to tell."""
    return float("nan") if any(np.isnan(value) for value in values) else float(choose(values))


def verdict(found: dict[str, Any], engine: str) -> tuple[bool, str]:
    """Whether all is well, and what to do."""
    kind = found["kind"]
    if kind == "chains":
        return judge_chains(found, engine)
    if kind == "perceptrons":
        if not found["failed"]:
            return True, "every perceptron separates the classes; nothing to do"
        return False, (
            f"{found['failed']} of {found['runs']} perceptrons still made mistakes: train again "
            "with a ridge (--param ridge=mean), a richer kernel (--kernel rbf), or, if the "
            "classes can be separated, --param max_epochs=1000"
        )
    if kind == "sweeps":
        if not any(found["endings"]):
            if found["single_pass"]:
                return True, "a single pass, as asked: good, but not the best Gaussian"
            return True, "came to rest; nothing to do"
        return False, (
            f"{ending_words(found)}: train again with more iterations (--param max_iter=1000), or "
            "scale down what is extreme in the data"
            + ("; or --param damping=0.5, or a larger noise" if engine == "ep" else "")
        )
    if kind == "passes":
        return True, (
            "messages need not come to rest; nothing to do. Whether C and beta are right, "
            "cross-validate tells"
        )
    return True, "nothing is known of this engine's convergence"


def judge_chains(found: dict[str, Any], engine: str) -> tuple[bool, str]:
    """Whether chains agree and know enough."""
    r_hat = worst(found["r_hat"], max)
    size = worst(found["effective_sample_size"], min)
    longer = "train again with longer chains (--param thin=50 --param burn_in=5000)"
    if engine == "gibbs":
        longer += " or better directions (--param directions=adapted)"
    if np.isnan(r_hat):
        return False, f"the chains are too short to tell; {longer}"
    if r_hat > DISAGREE:
        return False, f"the chains disagree (R-hat {r_hat:.2f}): {longer}"
    if r_hat > AGREE or size < ENOUGH:
        return False, (
            f"the chains nearly agree (R-hat {r_hat:.2f}), but are worth {size:.0f} independent "
            f"samples only: for finer probabilities {longer}"
        )
    return True, f"the chains agree (R-hat {r_hat:.2f}); nothing to do"

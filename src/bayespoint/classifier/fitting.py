"""Training: from a problem to a posterior, as the parameters say or as the data suggest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bayespoint.classifier.calibration import (
    best_temperature,
    temperature_losses,
    temperature_of_losses,
)
from bayespoint.classifier.kernel_choice.choice import Given, choose
from bayespoint.classifier.parameters import Settings
from bayespoint.classifier.problem import Problem
from bayespoint.codings import TEMPERATURES, Coding
from bayespoint.engines import Engine, Request, Run
from bayespoint.gpu.devices import memory_errors_in_words
from bayespoint.posteriors import MixturePosterior, Posterior, StreamPosterior
from bayespoint.spaces import StackedSpace
from bayespoint.tools.monitor import Monitor, watch


class Trained(NamedTuple):
    """A trained machine, all that predictions need, and how it was trained."""

    space: Any
    posterior: Posterior
    coding: Coding
    run: Run
    losses: NDArray | None = None  # at several temperatures, of all batches so far


class Training(Settings):
    """Trains machines with the parameters of a classifier; sets no attributes."""

    _seed: int
    coding_: Coding
    _temperature_losses: NDArray | None = None

    def _with_coding(self, problem: Problem, engine: Engine) -> Problem:
        """The problem, with its classes together or one against the rest."""
        n_weights = len(problem.classes) * (problem.points.shape[1] + 1)
        return replace(problem, multi_class=self._coding_name(engine, n_weights))

    def _train(self, problem: Problem, monitor: Monitor, start: Posterior | None = None) -> Trained:
        """Train as the parameters say; ``start`` is an earlier result to extend or to update."""
        if self.mixture is not None:
            machines = [self._with({"temperature": 1.0} | params) for _, params in self.mixture]
            whole = mixed(self.mixture, [one._train(problem, monitor) for one in machines], problem)
            temperature = self._find_temperature(whole.posterior, problem, start, whole.coding)
            return at_temperature(whole, temperature)
        engine = self._make_engine(problem.points)
        if problem.multi_class not in engine.codings:
            problem = replace(problem, multi_class="one_vs_rest")
        with watch(monitor):
            space = self._make_space(engine, problem)
        posterior, run = self._solve(engine, problem, space, start, monitor)
        if not posterior.is_finite:
            raise ValueError(
                f"The weights that {type(engine).__name__} found are not finite numbers. Scale the "
                "features, for example with StandardScaler, and use parameters nearer to the "
                "defaults."
            )
        temperature = self._find_temperature(posterior, problem, start)
        space = space if posterior.support is None else space.restrict(posterior.support)
        space.forget()
        coding = problem.coding.at(temperature)
        return self._with_losses(Trained(space, posterior, coding, run), problem, start)

    def _with_losses(self, trained: Trained, problem: Problem, start: Posterior | None) -> Trained:
        """The same with what later batches need; after earlier ones at the temperature of all.

        A point of a batch is predicted from all earlier batches and the rest of its own. Batches
        after a fit of which only the temperature is known (in blocks) keep it.
        """
        posterior, coding = trained.posterior, trained.coding
        is_stream = isinstance(posterior, StreamPosterior)
        if self.temperature != "auto" or is_stream or self.decision == "vote":
            return trained
        if posterior.left_out_log_probability is None or not trained.space.kernel.is_linear:
            return trained  # no batch comes after a fit with another kernel
        answers = coding.left_out(posterior.left_out_log_probability, problem.codes)
        losses = temperature_losses(coding.log_odds(*answers), problem.codes, problem.weight)
        if start is None:
            return trained._replace(losses=losses)
        temperature, total = self.coding_.temperature, None
        if self._temperature_losses is not None:
            total = self._temperature_losses + losses
            temperature = temperature_of_losses(total)
        coding = problem.coding.at(temperature)
        return trained._replace(coding=coding, losses=total)

    def _choose(self, problem: Problem, engine: Engine, monitor: Monitor) -> Any:
        """Choose what is "auto"."""
        given = Given(
            engine,
            gamma=None if isinstance(self.gamma, str) else self.gamma,
            n_components=self.n_components,
            temperature=self.temperature,
            constant=self.fit_intercept,
            any_engine=(self.engine, self.ridge, self.temperature) == ("auto", 0, "auto"),
            seed=0 if self.random_state is None else self._seed,
            n_jobs=self.n_jobs,
            max_time=self.max_time,
        )

        def train(params: dict[str, Any]) -> Trained:
            return self._with(params)._train(problem, Monitor())

        with watch(monitor):
            return choose(problem, given, train)

    def _with(self, params: dict[str, Any]) -> Training:
        """A copy with other parameters and the same seed."""
        copy = clone(self).set_params(mixture=None, **params)
        copy._seed = self._seed
        return copy

    def _make_space(self, engine: Engine, problem: Problem, *pivots: Any) -> Any:
        """The engine's space, fitted to the training points; its basis may begin with pivots."""
        kernel = self._make_kernel().fitted(problem.points)
        kind: Any = engine.space if problem.device is None else engine.device_space
        space = kind(kernel, self.ridge, self.n_components)
        if getattr(engine, "precision", "single") == "half":
            space.half = True
        with memory_errors_in_words(problem.device):
            return space.fit(problem.points, *pivots)

    def _solve(
        self,
        engine: Engine,
        problem: Problem,
        space: Any,
        start: Posterior | None,
        monitor: Monitor,
    ) -> tuple[Posterior, Run]:
        """Run the engine."""
        rng = np.random.default_rng(self._seed)
        device = problem.device
        request = Request(
            rng, monitor, problem.weight, start, self.n_jobs, problem.coding.name, device
        )
        with memory_errors_in_words(device):
            return engine.run(space, problem.targets, request)

    def _find_temperature(
        self,
        posterior: Posterior,
        problem: Problem,
        start: Posterior | None,
        coding: Coding | None = None,
    ) -> float:
        """The temperature that was given, or that of the best leave-one-out predictions.

        It is 1 where there are none, where they do not cover all points seen, and for votes, which
        are shares of classifiers.
        """
        if self.temperature != "auto":
            return float(self.temperature)
        log_probability = posterior.left_out_log_probability
        is_stream = isinstance(posterior, StreamPosterior)  # the first rows were hardly predicted
        if log_probability is None or start is not None or is_stream or self.decision == "vote":
            return 1.0
        coding = coding or problem.coding
        log_odds = coding.log_odds(*coding.left_out(log_probability, problem.codes))
        return best_temperature(log_odds / coding.temperature, problem.codes, problem.weight)


def mixed(mixture: Sequence[tuple], parts: list[Trained], problem: Problem) -> Trained:
    """The mixture of machines that were trained on the same problem; a single one stays alone."""
    if len(parts) == 1:
        return parts[0]
    share = np.array([float(weight) for weight, _ in mixture])
    share /= share.sum()
    likelihoods = [described(part.posterior.likelihood) for part in parts]
    if len(set(likelihoods)) > 1:
        raise ValueError(
            f"The machines of a mixture need the same likelihood. Got {', '.join(likelihoods)}: "
            "give their engines the same noise and label_noise."
        )
    left_out = None
    if all(part.posterior.left_out_log_probability is not None for part in parts):
        left_out = np.einsum("k,knc->nc", share, [left_out_of(part, problem) for part in parts])
        left_out = parts[0].coding.right_answers(left_out, problem.codes)
    posterior = MixturePosterior(
        share,
        [part.posterior for part in parts],
        [part.coding for part in parts],
        [len(part.posterior.mean) for part in parts],
        left_out_log_probability=left_out,
    )
    space = StackedSpace([part.space for part in parts], share.tolist())
    coding = parts[0].coding.at(1.0)
    return Trained(space, posterior, coding, run_of([part.run for part in parts]))


def at_temperature(trained: Trained, temperature: float) -> Trained:
    """The same, whose log-odds are divided by a temperature once more."""
    old = trained.coding
    both = float(np.clip(old.temperature * temperature, *TEMPERATURES))
    return trained._replace(coding=old.at(both))


def described(likelihood: Any) -> str:
    """A likelihood and its parameters, such as ProbitLikelihood(label_noise=0.0, noise=1.0)."""
    given = ", ".join(f"{name}={value}" for name, value in sorted(vars(likelihood).items()))
    return f"{type(likelihood).__name__}({given})"


def left_out_of(part: Trained, problem: Problem) -> Any:
    """Probabilities of the classes of all training points, given all other labels."""
    log_probability: Any = part.posterior.left_out_log_probability
    answers = part.coding.left_out(log_probability, problem.codes)
    return part.coding.probabilities(*answers)


def run_of(runs: list[Run]) -> Run:
    """What is to be said of several runs; the history is that of the longest."""
    failed = [run for run in runs if not run.converged]
    longest = max(runs, key=lambda run: run.n_iter)
    return Run(
        longest.unit,
        longest.n_iter,
        failed[0].summary if failed else f"{len(runs)} machines, all converged",
        converged=not failed,
        remedy=failed[0].remedy if failed else "",
        history=longest.history,
        warnings=[warning for run in failed for warning in run.warnings],
    )

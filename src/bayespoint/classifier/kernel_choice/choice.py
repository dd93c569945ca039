"""The automatic choice: the evidence proposes kernels, leave-one-out predictions weigh them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bayespoint.classifier.calibration import expected_scores
from bayespoint.classifier.kernel_choice import perceptrons
from bayespoint.classifier.kernel_choice.blending import MOST, MOST_OF_MANY, Blend, blended
from bayespoint.classifier.kernel_choice.candidates import (
    FEWEST_COMPONENTS,
    LARGER,
    Candidate,
    basis_size,
    candidates,
)
from bayespoint.classifier.kernel_choice.clock import Clock
from bayespoint.classifier.kernel_choice.halves import split
from bayespoint.classifier.kernel_choice.study import (
    Study,
    Train,
    Trial,
    propose,
    try_out,
)
from bayespoint.classifier.model import Model
from bayespoint.classifier.parameters import Parameters
from bayespoint.classifier.problem import Problem
from bayespoint.engines import PermutedPerceptron
from bayespoint.tools.monitor import current_monitor
from bayespoint.tools.threads import useful_threads

# Points of the basis with which candidates are compared. Those that count are trained with a larger
# one, if there are more points.
FEW_COMPONENTS, MANY_COMPONENTS = 300, 600
TOO_SURE = 1.1  # temperature above which a model is overconfident, and its scale is reduced
TOLERANCE = 1e-4  # of sites: a sixth of the time for the fifth digit of probabilities
MANY_ROWS = 5000  # so many of more rows decide what is trained on all
# What has more than this share of most weight is trained with a larger basis: less of it is worth
# less than the rows of the basis that the others have without it.
LEAST_OF_LARGE = 0.35
LEARNED = 2.0  # numbers that the evidence finds of a kernel: a width and a scale, the rest is prior


class Choice(NamedTuple):
    """What was chosen.

    Attributes
    ----------
    mixture : list of (float, dict)
        Weights and parameters of the models.
    models : list of Model
        The models, trained on all rows.
    temperature : float
        The temperature of the mixture.
    left_out : ndarray of shape (n, n_classes) or None
        Probabilities of the classes of each training row, given all other labels; weights and
        temperature were learned without its half of the rows. None for perceptrons, which have
        their own.
    reasons : list of str
        What was chosen, and why.
    n_learned : float
        Numbers that ``left_out`` has from all labels.
    """

    mixture: list[tuple[float, dict[str, Any]]]
    models: list[Model]
    temperature: float
    left_out: NDArray[np.float64] | None
    reasons: list[str]
    n_learned: float = 0.0

    @property
    def params(self) -> dict[str, Any]:
        """The choice as parameters of a classifier."""
        one = self.mixture[0][1] if len(self.mixture) == 1 else {"mixture": self.mixture}
        return one | {"temperature": self.temperature}


def choose(parameters: Parameters, problem: Problem, train: Train) -> Choice:
    r"""Choose kernels, their parameters and weights, and a temperature by the training data.

    1. *Propose.* For each candidate, kernel parameters maximise the evidence of at most 200 rows.
       If there are many parameters, they are learned on each half of the rows, which gives two
       models. Correlations of features and labels, from which widths start, are computed without
       one of two to eight folds, more for fewer rows; a common factor of widths is learned once.
    2. *Compare.* Each kernel is trained on all rows, with a basis of at most 300; with more than
       5000 rows, on 5000 of them. Leave-one-out predictions of the rows of the *other* half are
       unbiased: they use neither their label nor their half. Weights of all candidates, and then
       the temperature of their mixture, maximise the probability of the labels under these
       predictions. Five additional rows are assigned to candidates that may be as good as the best
       one, so that with few rows several are averaged. (Temperatures of the candidates would not
       be enough: a mixture of well calibrated forecasts is underconfident.) All but the four
       candidates with the largest weights are dropped; with more than 600 rows, all but two.
    3. *Train* those that are left. If few rows are separable, the evidence prefers scales that are
       too large for many rows. So the scale of an overconfident candidate, with a temperature above
       1.1, is reduced as long as its predictions, at their best temperature, improve. With more
       than 600 rows, scales stay as they are, because with a small basis all candidates are
       overconfident; instead, the second candidate is dropped unless it has a third of the weight
       of the first, and the rest is trained on all rows with a larger basis, if time allows;
       kernels of single classes, if no other is left, with a still larger one.
    4. *Weigh* them, as in step 2. The expected scores on new data come from predictions of each
       half with the weights and the temperature of the other half.

    With 5000 to 60 000 rows, perceptrons are trained instead of the mixture if their expected
    log-loss is smaller.

    Nothing is random: the halves depend on the rows alone, and not on the order of rows or columns.

    Parameters
    ----------
    parameters : Parameters
        What was decided; the rest is chosen.
    problem : Problem
        Rows of unit variance, and their classes.
    train : callable
        Trains a model with given parameters on the problem, or on a part of it.

    Returns
    -------
    Choice
        What was chosen.
    """
    whole = study_of(parameters, problem, train)
    gamma = None if isinstance(parameters.gamma, str) else parameters.gamma
    some = enough_rows(whole)
    size, is_large, is_many = size_for_comparison(parameters, whole)
    study = part_of(whole, some) if is_many else whole
    trials: list[Trial] = []
    skipped = []
    with useful_threads(len(study.problem.codes) * FEWEST_COMPONENTS):  # of the smallest matrices
        # 1. and 2. Propose and compare
        for candidate in candidates_of(parameters, problem, gamma):
            if trials and not study.clock.has_time_for(candidate):
                skipped.append(f"not tried, max_time is over: {candidate.name}")
                continue
            current_monitor().tell(f"trying {candidate.name}")
            proposal = propose(study, candidate)
            trials.append(try_out(study, proposal, size))
        share = weigh(study, trials).share
    with useful_threads(len(problem.codes) * FEWEST_COMPONENTS):
        # 3. Train
        if is_large:
            kept = np.flatnonzero(share > LEAST_OF_LARGE * share.max())
            few_trials = [trials[k] for k in kept]
            final = with_larger_basis(whole, few_trials, size, some if is_many else None)
        else:
            kept, final = np.arange(len(trials)), list(trials)
            for k in np.flatnonzero(share):
                final[k] = with_smaller_scale(whole, trials[k], size)
        # 4. Weigh
        blend = weigh(whole, final)
        left_out = left_out_by_halves(whole, final)
    share = np.zeros(len(trials))
    share[kept] = blend.share
    for k, trial in zip(kept, final, strict=True):
        trials[k] = trial
    reasons = [f"{part:4.0%} {trial.report}" for part, trial in zip(share, trials, strict=True)]
    reasons += [f"temperature {blend.temperature:.2f}", *skipped]
    if is_default(parameters) and suits_perceptrons(problem) and whole.clock.left > 0:
        loss = expected_scores(left_out, problem.codes, problem.weight)["log_loss"].value
        other = perceptrons.best_perceptron(problem, some, gamma, train, loss)
        reasons.append(other.report)
        if other.is_better:
            return Choice([(1.0, other.params)], [other.model], 1.0, None, reasons)
    members = [
        (float(part / len(trial.members)), *member)
        for part, trial in zip(share, trials, strict=True)
        for member in trial.members
        if part > 0
    ]
    mixture = [(part, params) for part, params, _ in members]
    models = [model for *_, model in members]
    n_learned = LEARNED * float(share @ [trial.proposal.in_common for trial in trials])
    return Choice(mixture, models, blend.temperature, left_out, reasons, n_learned)


def candidates_of(parameters: Parameters, problem: Problem, gamma: Any) -> list[Candidate]:
    """The candidates for a problem."""
    return candidates(
        problem.points,
        problem.block,
        gamma,
        learns=isinstance(problem.engine.prior_scale, str),
        constant=parameters.fit_intercept,
        scale=1.0 if problem.scaling is None else problem.scaling.scale,
        n_tasks=problem.coding.n_tasks,
        joint=not problem.coding.is_against_rest,
    )


def suits_perceptrons(problem: Problem) -> bool:
    """Whether there are neither too few nor too many rows for perceptrons."""
    is_many = perceptrons.FEWEST <= len(problem.points) <= perceptrons.MOST
    is_of_signs = problem.coding.apart in PermutedPerceptron.kinds
    return is_many and is_of_signs and problem.coding.is_exclusive


def study_of(parameters: Parameters, problem: Problem, train: Train) -> Study:
    """All rows, with numbers for the scale and the tolerance of the engine, and for the basis."""
    engine = clone(problem.engine)
    if isinstance(engine.prior_scale, str):
        engine.set_params(prior_scale=1.0)
    if is_default(parameters):
        engine.set_params(tol=TOLERANCE)
    size = parameters.n_components
    if size == "auto":
        size = basis_size(len(problem.points), problem.coding.n_tasks)
    parameters = replace(parameters, engine=engine, n_components=size)
    return Study(parameters, problem, train, Clock(parameters.max_time), split(problem))


def is_default(parameters: Parameters) -> bool:
    """Whether the engine, and how it treats errors, is left to the choice."""
    return (parameters.engine, parameters.ridge, parameters.temperature) == ("auto", 0, "auto")


def enough_rows(study: Study) -> NDArray[np.intp]:
    """As many rows of both halves as are enough for comparisons."""
    return np.sort(np.concatenate([half[: MANY_ROWS // 2] for half in study.halves]))


def part_of(whole: Study, rows: NDArray[np.intp]) -> Study:
    """The study of some of the rows."""
    part = whole.problem.part(rows)
    return replace(whole, problem=part, halves=split(part))


def size_for_comparison(parameters: Parameters, whole: Study) -> tuple[Any, bool, bool]:
    """Size of the basis for comparisons, whether it is larger in the end, and with more rows."""
    size = whole.parameters.n_components
    if parameters.n_components != "auto":
        return size, False, False
    n_points, n_tasks = len(whole.problem.codes), whole.problem.coding.n_tasks
    most = basis_size(n_points, n_tasks, 1) or n_points
    is_many = n_points > MANY_ROWS
    if not is_many and most <= MANY_COMPONENTS:
        return size, False, False
    few = basis_size(min(n_points, MANY_ROWS), n_tasks) or n_points
    return min(FEW_COMPONENTS, few), True, is_many


def with_smaller_scale(study: Study, trial: Trial, size: int | None) -> Trial:
    """The trial; if it is too sure, with a smaller scale, as long as that is better."""
    while trial.proposal.is_learned and trial.temperature > TOO_SURE and study.clock.left > 0:
        weaker = try_out(study, trial.proposal.weaker(), size)
        if weaker.loss >= trial.loss:
            break
        trial = weaker
    return trial


def with_larger_basis(
    whole: Study, trials: list[Trial], few: int, rows: NDArray[np.intp] | None
) -> list[Trial]:
    """Trials on all rows with a larger basis, if there is time.

    Trials on some ``rows`` alone are repeated on all in any case. Where many rows would allow only
    a smaller basis than the ``few`` rows of the comparison, it may be up to twice as large: what
    was good there would not be good with half of it.
    """
    n_points, n_tasks = len(whole.problem.codes), whole.problem.coding.n_tasks
    proposals = [trial.proposal for trial in trials]
    if rows is not None:
        proposals = [proposal.extended(rows, n_points) for proposal in proposals]
    elif whole.clock.left <= 0:
        return trials
    kernels = [kernel for proposal in proposals for kernel, _ in proposal.kernels]
    times = LARGER if all(kernel.is_by_class for kernel in kernels) else 1.0
    size = basis_size(n_points, n_tasks, len(kernels), times)
    if size is not None:
        twice = basis_size(n_points, n_tasks, len(kernels), 2.0) or few
        size = max(size, min(few, twice))
    return [try_out(whole, proposal, size) for proposal in proposals]


def weigh(study: Study, trials: list[Trial], rows: Any = slice(None)) -> Blend:
    """Weights of trials, and the temperature of their mixture, by the labels of some rows."""
    most = MOST if len(study.problem.codes) <= MANY_COMPONENTS else MOST_OF_MANY
    left_out = np.stack([trial.left_out for trial in trials])
    return blended(left_out, study.problem, study.parameters.temperature, most, rows)


def left_out_by_halves(study: Study, trials: list[Trial]) -> NDArray[np.float64]:
    """Probabilities of the rows of each half, blended as is best for the other half."""
    left_out = np.stack([trial.left_out for trial in trials])
    mixed = np.empty(left_out.shape[1:])
    for own, others in (study.halves, study.halves[::-1]):
        mixed[others] = weigh(study, trials, own).mixed(left_out[:, others])
    return mixed

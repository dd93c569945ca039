"""Large-scale Bayes point machines: kernel perceptrons on permuted training sets.

R. Herbrich and T. Graepel, Large Scale Bayes Point Machines, Advances in Neural Information
Processing Systems 13, 2001. Steps and equations below are numbered as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.base import Engine, Request, Run
from bayespoint.engines.sampling.rounds import Clock, Setting
from bayespoint.engines.sampling.waves import LARGEST, DeviceTrainer, HostTrainer, Part, Wave
from bayespoint.exceptions import NotSeparableWarning, StoppedEarlyWarning
from bayespoint.posteriors import SampledPosterior
from bayespoint.posteriors.log_odds import learn_log_odds
from bayespoint.spaces import DeviceSpace, DualSpace
from bayespoint.tools.threads import thread_pool
from bayespoint.tools.validation import check_choice, check_number


@dataclass(kw_only=True, eq=False, repr=False)
class PermutedPerceptron(Engine):
    r"""Samples of version space by perceptron learning on permutations of the training set.

    For each of N permutations, the kernel perceptron starts at w = 0 and visits the points in the
    permuted order. It adds :math:`y_i \phi(x_i)` whenever
    :math:`y_i \langle \phi(x_i), w \rangle \le 0`, and ends after a pass without a mistake. The N
    solutions, scaled to unit length, approximate the uniform posterior on version space, and their
    mean approximates its centre, the Bayes point. Novikoff's theorem bounds the number of mistakes
    by :math:`R^2 / \gamma^2`, for points within radius R and the largest margin :math:`\gamma`.

    All classes use the same N permutations. Most of the time is spent on kernel rows of points on
    which any classifier errs. They are computed in blocks and shared by all classifiers.

    Parameters
    ----------
    n_samples : int, default=10
        Number N of permutations per class. More are better and take longer; ``warm_start`` of the
        classifier adds samples to a previous fit.
    max_epochs : int, default=100
        Passes after which a perceptron that still errs stops, with a ``NotSeparableWarning``.
    max_time : float or None, default=None
        Seconds after which the run ends with the samples finished so far (at least one), with a
        ``StoppedEarlyWarning``.
    cache_size : float or "auto", default="auto"
        Megabytes for kernel rows. The result does not depend on it, but a fit takes longer if it is
        much smaller than the rows that are needed (at most m rows of m numbers). "auto" is what is
        needed, up to half of the free memory. On a GPU it is device memory, and "auto" is up to
        three quarters of the free memory. If not all rows fit, they are rounded to half precision.
    precision : {"single", "half"}, default="single"
        "half" rounds the training points to eleven binary digits on a GPU, so that kernel values
        take one product of float16 numbers instead of three. Predictions are those of the rounded
        points. Points on a grid, such as pixels and counts, always take one product, and are not
        rounded. The CPU has no such products and does not round.

    Notes
    -----
    As in the paper, noisy labels need a ridge: with
    :math:`k_\lambda(x, x') = k(x, x') + \lambda [x = x']`, any labels can be separated. A sample
    weight :math:`s` counts as :math:`s` copies of the point that always err together: they change
    the coefficient by :math:`s`, and their slack is :math:`\lambda / s`. Without a ridge, copies do
    not change version space, and unequal weights raise an error.

    In its first pass, a perceptron computes the output of each point before it learns from it. The
    outputs of points in the second half of the permutation are averaged. They correspond to the
    out-of-bag outputs of a forest, and take no additional kernel rows. Probabilities are learned
    from them, and they determine ``oob_decision_function_`` and ``oob_score_`` of the classifier.
    With groups, the groups are permuted, and then the rows within each group. Only the first row of
    a group has an output that does not depend on the others.

    References
    ----------
    R. Herbrich and T. Graepel, Large Scale Bayes Point Machines, Advances in Neural Information
    Processing Systems 13, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.engines import PermutedPerceptron
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = BayesPointClassifier(
    ...     kernel="poly", degree=5, gamma=1 / 256, normalize=True,
    ...     engine=PermutedPerceptron(n_samples=10), random_state=0,
    ... ).fit(X[:1000], y[:1000])
    >>> print(f"{clf.score(X[1000:], y[1000:]):.3f}, out of bag {clf.oob_score_:.3f}")
    0.969, out of bag 0.982
    """

    alias = "perceptron"
    weighs_rows = False  # without a ridge
    needs_exclusive = True  # for the log-odds of first visits
    space = DualSpace
    device_space = DeviceSpace
    is_random = True
    weights_are_copies = False  # copies err one by one
    can_extend = True
    trains_elsewhere = leaves_groups_out = True

    n_samples: int = 10
    max_epochs: int = 100
    max_time: float | None = None
    cache_size: float | str = "auto"
    precision: str = "single"

    def check(self) -> None:
        """Raise a ValueError for a parameter that is not allowed."""
        check_number(self, "n_samples", low=1, integer=True)
        check_number(self, "max_epochs", low=1, integer=True)
        check_number(self, "cache_size", low=0, closed="neither", also=("auto",))
        check_number(self, "max_time", low=0, closed="neither", also=(None,))
        check_choice(self, "precision", ("single", "half"))

    def run(
        self, space: DualSpace, targets: NDArray[np.int8], request: Request
    ) -> tuple[SampledPosterior, Run]:
        """Train N perceptrons for each task; see the base class."""
        monitor, sample_weight, start = request.monitor, request.sample_weight, request.start
        n_tasks = targets.shape[1]
        step = steps(space, sample_weight)
        with np.errstate(over="ignore"):
            ridge = np.minimum(space.scaled_ridge / step, LARGEST)
        wave = Wave([], None, 0)
        if isinstance(start, SampledPosterior):
            assert start.support is not None
            part, visits = Part(start.support, start.weights), start.visits.on(request.device)
            wave = Wave([part], visits, start.n_samples)
        n_before = wave.n_samples
        if n_before > self.n_samples:
            raise ValueError(
                f"n_samples={self.n_samples} is less than the classifier already has: warm_start "
                f"found one that has {n_before}. Raise n_samples, or set warm_start=False."
            )
        clock = Clock(self.max_time, monitor)
        setting = Setting(targets, step, ridge, self.max_epochs, self.cache_size, request.groups)
        here: Any = HostTrainer if request.device is None else DeviceTrainer
        trainer = request.trainer or here
        threads: Any = thread_pool(request.n_jobs) if request.device is None else nullcontext()
        with threads as pool, monitor.running(self.n_samples, "samples"):
            training = trainer(space, setting, pool)
            # Child n of the seed permutes for sample n, whichever run asks for the sample.
            seeds = request.rng.spawn(self.n_samples)
            while wave.n_samples < self.n_samples and not clock.reason:
                size, n_done = training.wave_size, wave.n_samples
                if self.max_time is not None:  # few at first under a clock
                    size = min(size, n_done - n_before + 1)
                wave = training.run(seeds[n_done : n_done + size], clock, wave)
        warnings: list[Warning] = []
        parts, visits, n_done, _, n_epochs, margins = wave
        n_failed = np.zeros(n_tasks) + wave.n_failed
        n_runs, remedy = (n_done - n_before) * n_tasks, ""
        summary = (
            f"{n_runs - n_failed.sum():.0f} of {n_runs} perceptrons separate the classes, after at "
            f"most {n_epochs} epochs"
        )
        if n_done < self.n_samples:
            early = StoppedEarlyWarning(n_done, self.n_samples, clock.reason)
            warnings.append(early)
            summary, remedy = f"{early.summary}; {summary}", early.remedy
        if n_failed.any():
            training_error = (margins <= 0).mean(axis=1).max()
            failure = NotSeparableWarning(
                int(n_failed.sum()),
                n_runs,
                self.max_epochs,
                float(training_error),
                bool(ridge.any()),
            )
            warnings.append(failure)
            remedy = failure.remedy
        run = Run(
            "epochs",
            n_epochs,
            summary,
            not warnings,
            remedy,
            measures={"n_failed": n_failed},
            warnings=warnings,
        )
        part = join(parts)
        log_odds = learn_log_odds(visits.honest_outputs, training.targets, sample_weight)
        return SampledPosterior(part.weights, visits, log_odds, part.support, part.mean), run


def steps(space: DualSpace, sample_weight: NDArray | None) -> NDArray[np.float64]:
    """The weights of the points, where they can be used; refuses points that cannot be learned."""
    weight = np.ones(space.n_points) if sample_weight is None else sample_weight
    if space.scaled_ridge == 0 and weight.min() < weight.max():
        raise ValueError(
            "PermutedPerceptron cannot use sample_weight or class_weight without a ridge: a "
            "version space is the same for any number of copies of a row. Set ridge > 0, or use "
            "another engine."
        )
    zero = np.flatnonzero(space.diagonal == 0)
    if space.scaled_ridge == 0 and len(zero):
        raise ValueError(
            f"Training row {zero[0]} ({len(zero)} in all) is zero in feature space, so that no "
            "weight vector can classify it. Use a constant feature (fit_intercept=True, or "
            "coef0 > 0), set ridge > 0, or drop the row."
        )
    return weight if space.scaled_ridge > 0 else np.ones(space.n_points)


def join(parts: Sequence[Part]) -> Part:
    """All samples of several parts, in order, with coefficients of all their points."""
    if len(parts) == 1:
        return parts[0]
    arrays = [part.array() for part in parts]
    support = np.unique(np.concatenate([part.support for part in parts]))
    n_samples = sum(weights.shape[1] for weights in arrays)
    joined = np.zeros((len(support), n_samples, arrays[0].shape[2]))
    begin = 0
    for part, weights in zip(parts, arrays, strict=True):
        end = begin + weights.shape[1]
        joined[np.searchsorted(support, part.support), begin:end] = weights
        begin = end
    return Part(support, joined)

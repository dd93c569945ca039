"""Engines that each break the protocol in one way."""

import os
import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
from tests.helpers.third_party import Altered, Committee, Twisted
from threadpoolctl import threadpool_limits

from bayespoint.engines import Run
from bayespoint.exceptions import NotConvergedWarning
from bayespoint.posteriors import ChainPosterior
from bayespoint.tools.monitor import Monitor
from bayespoint.tools.validation import check_number

BROKEN = {}


def breaks(*checks):
    """The checks that must find it out."""

    def note(engine):
        BROKEN[engine] = checks
        return engine

    return note


# Parameters --------------------------------------------------------------------------------------


@breaks("check_parameters")
class SetsMore(Committee):
    def __init__(self, *, n_samples=20):
        super().__init__(n_samples=n_samples)
        self.cost = n_samples**2


@breaks("check_bad_parameters")
class DoesNotCheck(Committee):
    def check(self):
        check_number(self, "n_samples", low=2, integer=True)

    def run(self, space, targets, request):
        return Committee().run(space, targets, request)


# The result --------------------------------------------------------------------------------------


@breaks("check_result", "check_posterior")
class ReturnsNoRun(Altered):
    def after(self, posterior, run):
        return posterior


@breaks("check_result")
class ChangesItself(Altered):
    def after(self, posterior, run):
        self.last_run = run
        return posterior, run


@breaks("check_result")
class ChangesTargets(Altered):
    def labels(self, targets):
        targets *= -1
        return -targets


@breaks("check_posterior")
class WrongShape(Committee):
    def posterior(self, chains, n_tasks):
        posterior = ChainPosterior(chains, np.zeros(n_tasks))
        posterior._mean = posterior.mean.T
        return posterior


@breaks("check_posterior")
class NotFinite(Committee):
    def posterior(self, chains, n_tasks):
        return ChainPosterior(np.full(chains.shape, np.nan), np.zeros(n_tasks))


class Unsure(ChainPosterior):
    """Probabilities that sum to less than 1."""

    def log_probability(self, decision, rule):
        log_yes, log_no = super().log_probability(decision, rule)
        return log_yes - 0.1, log_no


class Reversed(ChainPosterior):
    """The surer, the less probable."""

    def log_probability(self, decision, rule):
        return super().log_probability(decision, rule)[::-1]


@breaks("check_posterior")
class SumsToLess(Committee):
    def posterior(self, chains, n_tasks):
        return Unsure(chains, np.zeros(n_tasks))


@breaks("check_posterior", "check_classes")
class IsReversed(Committee):
    def posterior(self, chains, n_tasks):
        return Reversed(chains, np.zeros(n_tasks))


@breaks("check_classes")
class LearnsNothing(Altered):
    def labels(self, targets):
        return np.random.default_rng(0).permutation(targets)


@breaks("check_run")
class KeepsFailure(Altered):
    def after(self, posterior, run):
        return posterior, Run(run.unit, run.n_iter, "not converged", converged=False)


@breaks("check_run")
class WarnsOfSuccess(Altered):
    def after(self, posterior, run):
        warning = NotConvergedWarning(0, 0, (1.0,), 0.1, 0.0, "no time", "wait")
        return posterior, Run(run.unit, run.n_iter, "converged", warnings=[warning])


@breaks("check_run")
class WrongHistory(Altered):
    def after(self, posterior, run):
        return posterior, Run(run.unit, run.n_iter, run.summary, history=[[0.1]])


@breaks("check_run")
class WrongMeasure(Altered):
    def after(self, posterior, run):
        return posterior, Run(run.unit, run.n_iter, run.summary, measures={"r_hat": np.ones(7)})


@breaks("check_run")
class WarnsByItself(Altered):
    def after(self, posterior, run):
        warnings.warn("something", stacklevel=1)
        return posterior, run


# Equal problems ----------------------------------------------------------------------------------


@breaks("check_seed", "check_n_jobs")
class GlobalRandomness(Altered):
    def before(self, request):
        return replace(request, rng=np.random.default_rng(int.from_bytes(os.urandom(4))))


@breaks("check_seed")
class OneSeed(Altered):
    def before(self, request):
        return replace(request, rng=np.random.default_rng(0))


@breaks("check_seed")
class SaysItIsNotRandom(Committee):
    is_random = False


@breaks("check_n_jobs")
class DependsOnThreads(Altered):
    def before(self, request):
        return replace(request, rng=request.rng.spawn(3)[(request.n_jobs or 1) - 1])


@breaks("check_order")
class BelievesTheFirst(Altered):
    """All points after the first twenty are positive."""

    def labels(self, targets):
        return np.where(np.arange(len(targets))[:, None] < 20, targets, 1)


@breaks("check_labels")
class Optimist(Altered):
    """Takes a third of the negative labels for positive ones."""

    def labels(self, targets):
        negative = np.cumsum(targets < 0, axis=0) % 3 == 0
        return np.where((targets < 0) & negative, 1, targets)


@breaks("check_weights")
class ForgetsWeights(Altered):
    def before(self, request):
        return replace(request, sample_weight=None)


@breaks("check_weights")
class HalvesWeights(Altered):
    """Counts, but not as copies."""

    def before(self, request):
        weight = request.sample_weight
        return replace(request, sample_weight=None if weight is None else np.sqrt(weight))


@breaks("check_weights", "check_zero_weights")
class RefusesCurtly(Altered):
    def before(self, request):
        if request.sample_weight is not None:
            raise ValueError("no weights, please")
        return request


@breaks("check_zero_weights")
class CountsEach(Altered):
    """Weights of 1 are not the same as none."""

    def before(self, request):
        if request.sample_weight is None:
            return request
        odd = np.arange(len(request.sample_weight)) % 2
        return replace(request, sample_weight=np.where(odd, 100.0, 0.01))


@breaks("check_tasks")
class MixesTasks(Committee):
    def posterior(self, chains, n_tasks):
        return super().posterior(chains + chains.mean(axis=3, keepdims=True), n_tasks)


@breaks("check_warm_start")
class SaysItExtends(Altered):
    can_extend = True

    def before(self, request):
        rng = request.rng
        return replace(request, rng=rng if request.start is None else rng.spawn(1)[0])


@breaks("check_batches")
class SaysItUpdates(Committee):
    can_update = True


@breaks("check_batches")
class UpdatesNothing(Committee):
    """All that comes after the first batch is ignored."""

    can_update = True

    def run(self, space, targets, request):
        posterior, run = super().run(space, targets, request)
        return posterior if request.start is None else request.start, run


@breaks("check_sparse")
class SaysItTakesSparse(Committee):
    accepts_sparse = True


# Watched -----------------------------------------------------------------------------------------


@breaks("check_monitor", "check_stop", "check_interrupt")
class Silent(Altered):
    def before(self, request):
        return replace(request, monitor=Monitor())


@breaks("check_monitor")
class TellsTooMuch(Twisted):
    def update(self, monitor, done):
        monitor.update(2 * done)


@breaks("check_monitor")
class CountsDown(Twisted):
    def update(self, monitor, done):
        monitor.update(self.n_samples - done)


@breaks("check_monitor")
class TellsAtTheEnd(Twisted):
    def update(self, monitor, done):
        if done == self.n_samples:
            monitor.update(done)


@breaks("check_monitor", "check_stop", "check_interrupt")
class NeverEnds(Twisted):
    def end(self, monitor):
        pass


@breaks("check_monitor")
class EndsTwice(Twisted):
    def end(self, monitor):
        monitor.end()
        monitor.end()


@breaks("check_stop")
class DoesNotStop(Twisted):
    def should_stop(self, monitor):
        return False


@breaks("check_interrupt")
class CatchesInterrupts(Twisted):
    def update(self, monitor, done):
        with suppress(KeyboardInterrupt):
            monitor.update(done)


@breaks("check_stop")
class StopsSilently(Altered):
    def after(self, posterior, run):
        return posterior, Run(run.unit, run.n_iter, "all is well")


@breaks("check_interrupt")
class LeavesOneThread(Altered):
    def before(self, request):
        threadpool_limits(1, user_api="blas")
        return request


# Kept --------------------------------------------------------------------------------------------


@breaks("check_pickle")
class HoldsFunction(Committee):
    def posterior(self, chains, n_tasks):
        posterior = super().posterior(chains, n_tasks)
        posterior.transform = lambda Z: Z
        return posterior

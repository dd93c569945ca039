"""A small engine that keeps the protocol, as an author of another library might write it."""

from dataclasses import replace
from functools import partial

import numpy as np

from bayespoint.engines import Engine, Run
from bayespoint.exceptions import StoppedEarlyWarning
from bayespoint.posteriors import ChainPosterior
from bayespoint.spaces import BasisSpace
from bayespoint.tools.monitor import Monitor
from bayespoint.tools.validation import check_number


class Committee(Engine):
    """Ridge regressions on random weightings of the points."""

    space = BasisSpace
    is_random = True

    def __init__(self, *, n_samples=20, penalty=1.0):
        self.n_samples = n_samples
        self.penalty = penalty

    def check(self):
        check_number(self, "n_samples", low=2, integer=True)
        check_number(self, "penalty", low=0, closed="neither")

    def run(self, space, targets, request):
        Z, (m, n_tasks) = space.Z_, targets.shape
        copies, monitor = request.weights(m), request.monitor
        members = np.empty((self.n_samples, Z.shape[1], n_tasks))
        with monitor.running(self.n_samples, "samples"):
            for done, child in enumerate(request.rng.spawn(self.n_samples), start=1):
                share = child.gamma(copies)
                gram = (Z.T * share) @ Z + self.penalty * np.eye(Z.shape[1])
                members[done - 1] = np.linalg.solve(gram, (Z.T * share) @ targets)
                monitor.update(done)
                if monitor.should_stop():
                    break
        posterior = self.posterior(members[None, :done], n_tasks)
        if done == self.n_samples:
            return posterior, Run("samples", done, f"{done} samples, as asked")
        early = StoppedEarlyWarning(done, self.n_samples, "the monitor", "fit again")
        return posterior, Run("samples", done, early.summary, False, "fit again", warnings=[early])

    def posterior(self, chains, n_tasks):
        return ChainPosterior(chains, np.zeros(n_tasks))


class Altered(Committee):
    """What ``run`` is given, and what it returns, can be changed."""

    def run(self, space, targets, request):
        return self.after(*super().run(space, self.labels(targets), self.before(request)))

    def labels(self, targets):
        return targets

    def before(self, request):
        return request

    def after(self, posterior, run):
        return posterior, run


class Twisted(Altered):
    """Talks to the monitor, but not quite as it should."""

    def before(self, request):
        told = Monitor()
        for name in ("begin", "update", "should_stop", "end"):
            setattr(told, name, partial(getattr(self, name), request.monitor))
        return replace(request, monitor=told)

    def begin(self, monitor, total, unit):
        monitor.begin(total, unit)

    def update(self, monitor, done):
        monitor.update(done)

    def should_stop(self, monitor):
        return monitor.should_stop()

    def end(self, monitor):
        monitor.end()

"""Searches side by side: in threads or processes, watched, stopped and interrupted."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from bayespoint.exceptions import SparseInputWarning
from bayespoint.selection import EvidenceSearch, jobs
from bayespoint.tools.monitor import Monitor, watch
from papers.knapsack.search import KnapsackCV

SCALE = "engine__prior_scale"
RBF = BayesPointClassifier(temperature=1.0, kernel="rbf", gamma=0.5)


def search(**parameters):
    bounds = {SCALE: (0.01, 100.0)}
    return EvidenceSearch(
        RBF, param_bounds=bounds, n_starts=3, refit=False, random_state=0, **parameters
    )


class Count(Monitor):
    def __init__(self, stop_after=np.inf):
        self.told, self.stop_after = [], stop_after

    def begin(self, total, unit):
        self.told.append((total, unit))

    def update(self, done):
        self.told.append(done)

    def should_stop(self):
        return max((n for n in self.told if isinstance(n, int)), default=0) >= self.stop_after


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_results_do_not_depend_on_backend_and_number_of_jobs(backend):
    X, y = problem(n=40)
    alone = search().fit(X, y).cv_results_
    with parallel_config(backend=backend, n_jobs=2):
        together = search().fit(X, y).cv_results_
    assert together["params"] == alone["params"]
    np.testing.assert_array_equal(together["log_evidence"], alone["log_evidence"])


class Threads(BaseEstimator, TransformerMixin):
    """Remembers in which threads it was fitted."""

    seen = set()

    def fit(self, X, y=None):
        self.seen.add(threading.get_ident())
        time.sleep(0.2)  # so that the other job starts in another thread
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize(("n_jobs", "n_threads"), [(None, 1), (2, 2)])
def test_jobs_are_threads_of_this_process(n_jobs, n_threads):
    Threads.seen.clear()
    grid = {"bayespointclassifier__gamma": [0.1, 1.0]}
    EvidenceSearch(make_pipeline(Threads(), RBF), grid, n_jobs=n_jobs, refit=False).fit(*problem())
    assert len(Threads.seen) == n_threads
    assert (threading.get_ident() in Threads.seen) == (n_jobs is None)


class NeedsPandas(BaseEstimator, TransformerMixin):
    """Refuses to work unless scikit-learn's configuration says pandas."""

    def fit(self, X, y=None):
        if sklearn.get_config()["transform_output"] != "pandas":
            raise ValueError("not configured")
        return self

    def transform(self, X):
        return X


def test_jobs_see_the_configuration_of_scikit_learn():
    pipeline = make_pipeline(NeedsPandas(), RBF)
    search = EvidenceSearch(pipeline, {"bayespointclassifier__gamma": [0.1, 1.0]}, n_jobs=2)
    with pytest.raises(ValueError, match="not configured"):
        search.fit(*problem())
    with sklearn.config_context(transform_output="pandas"):
        search.fit(*problem())


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_monitor_counts_fits(n_jobs):
    monitor = Count()
    with watch(monitor):
        EvidenceSearch(RBF, {SCALE: [0.1, 1.0, 2.0]}, refit=False, n_jobs=n_jobs).fit(*problem())
    assert monitor.told == [(3, "fits"), 1, 2, 3, 3]
    monitor = Count()
    machine = BayesPointClassifier(engine=KnapsackPropagation(bins=16, n_iter=2))
    with watch(monitor):
        KnapsackCV(machine, Cs=(1.0, 3.0), betas=(1.0,), cv=2, n_jobs=n_jobs).fit(*problem())
    assert monitor.told[:6] == [(4, "fits"), 1, 2, 3, 4, 4]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_monitor_can_stop_a_search(n_jobs):
    X, y = problem(n=40)
    n_fits = len(search().fit(X, y).cv_results_["params"])
    with (
        watch(Count(stop_after=2)),
        pytest.warns(
            ConvergenceWarning, match="had not converged when the monitor stopped it"
        ) as caught,
    ):
        stopped = search(n_jobs=n_jobs).fit(X, y)
    assert 3 <= len(stopped.cv_results_["params"]) <= 5 < n_fits
    assert stopped.cv_results_["converged"][stopped.best_index_]
    assert {warning.filename for warning in caught} == {__file__}


def test_an_interrupt_ends_all_threads_soon():
    """A job fails; the other one, which would go on for ever, hears of it."""
    begun, ended = threading.Event(), threading.Event()

    def job(number):
        if number == 0:
            begun.wait()
            raise KeyboardInterrupt
        begun.set()
        monitor = jobs.current_monitor()
        while not monitor.should_stop():
            monitor.end()
            time.sleep(0.001)
        ended.set()

    with watch(Count()), pytest.raises(KeyboardInterrupt):
        jobs.run_jobs(job, [(0,), (1,)], n_jobs=2, n_fits=2000)
    ended.wait()


class Interrupt(Count):
    """Interrupts at the third fit that ends."""

    def update(self, done):
        super().update(done)
        if done == 3:
            raise KeyboardInterrupt


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("kind", ["evidence", "knapsack"])
def test_an_interrupted_search_stays_as_it_was(kind, n_jobs):
    engine = KnapsackPropagation(bins=16, n_iter=2)
    knapsack = KnapsackCV(
        BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine),
        Cs=(1.0, 3.0),
        betas=(1.0,),
        cv=2,
    )
    one = search(n_jobs=n_jobs).set_params(refit=True) if kind == "evidence" else knapsack
    one.set_params(n_jobs=n_jobs)
    with watch(Interrupt()), pytest.raises(KeyboardInterrupt):
        one.fit(*problem())
    with pytest.raises(NotFittedError):
        one.predict(problem()[0])
    before = vars(one.fit(*problem())).copy()
    with watch(Interrupt()), pytest.raises(KeyboardInterrupt):
        one.fit(*problem(n=30, seed=1))
    assert vars(one) == before


def test_warnings_of_threads_point_at_the_user_once():
    X, y = problem()
    search = EvidenceSearch(
        BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep"),
        {"decision": ["bayes_point", "vote"]},
        n_jobs=2,
    )
    with pytest.warns(SparseInputWarning) as caught:
        search.set_params(refit=False).fit(csr_array(X), y)
    assert [warning.filename for warning in caught] == [__file__]


class Loud(KnapsackPropagation):
    """Warns in every run."""

    def run(self, *arguments, **named):
        posterior, run = super().run(*arguments, **named)
        return posterior, replace(run, warnings=[UserWarning(f"C={self.C}")])


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_of_knapsacks_only_the_best_warns(n_jobs):
    machine = BayesPointClassifier(engine=Loud(bins=16, n_iter=2))
    with pytest.warns(UserWarning, match="C=") as caught:
        found = KnapsackCV(machine, Cs=(1.0, 3.0), betas=(1.0,), cv=2, n_jobs=n_jobs)
        found.fit(*problem())
    (warning,) = caught
    assert str(warning.message) == f"C={found.best_params_['C']}"

"""Compiled calls are short, and where they end makes no difference."""

import time
from itertools import pairwise

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint._core import calls
from bayespoint._core.calls import Slices
from bayespoint.engines import BilliardSampler, FactorisedPropagation, GibbsSampler
from bayespoint.engines.base import StepProgress
from bayespoint.engines.sampling import rounds
from bayespoint.engines.sampling.billiard import Billiard
from bayespoint.engines.sampling.halfspaces import Halfspaces
from bayespoint.engines.sampling.moves import Circles, Outputs, Record
from bayespoint.tools.monitor import Monitor, watch

D = 20


def test_slices_cover_all_steps_and_follow_the_clock():
    slices, seen = Slices(), []
    for begin, end in slices.of(1000):
        seen.append((begin, end))
        time.sleep(0.002 * (end - begin))
    assert seen[0] == (0, 1)
    assert [end for _, end in seen[:-1]] == [begin for begin, _ in seen[1:]]
    assert seen[-1][1] == 1000
    assert 1 <= slices._size <= 15  # 30 ms, or less where the clock is slow
    assert list(slices.of(0)) == []


def separable(m=30):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, D))
    return Halfspaces.of(X, np.where(X @ rng.normal(size=D) > 0, 1, -1), None)


MOVES = {
    "circles": lambda: Circles(separable()),
    "outputs": lambda: Outputs(separable(D)),
    "billiard": lambda: Billiard(separable(), 100, 10.0, StepProgress(Monitor())),
}


def rng_of(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("theta", [np.inf, 3.0])
def test_moves_in_slices_are_those_of_one_call(name, theta):
    """To the bit, as a seed promises; 3 x 70 moves pass all places where rounding is removed."""
    results = []
    for cuts in ([0, 210], [0, 1, 2, 40, 99, 100, 101, 209, 210]):
        moves, rng = MOVES[name](), rng_of(1)
        halfspaces = separable(D if name == "outputs" else 30)
        state = moves.state(halfspaces.inside(), rng)
        samples, total = np.empty((70, D)), np.zeros(D)
        histogram = np.zeros(100)
        for steps in pairwise(cuts):
            moves.sample(theta, steps, state, rng, Record(3, samples, total, histogram))
        results.append((samples, total, histogram, rng.random()))
    for one, several in zip(*results, strict=True):
        assert np.array_equal(one, several)


ENGINES = {
    "gibbs": GibbsSampler(n_samples=40, burn_in=50),
    "billiard": BilliardSampler(n_samples=40, burn_in=50),
    "perceptron": "perceptron",
    "diagonal": FactorisedPropagation(),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # these chains are too short
@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_fits_in_single_steps_are_the_same(monkeypatch, name, n_jobs):
    rng = rng_of(0)
    X = rng.normal(size=(60, 4))
    y = (X @ rng.normal(size=(4, 3))).argmax(axis=1)
    classifier = BayesPointClassifier(
        temperature=1.0,
        kernel="linear" if name == "diagonal" else "rbf",
        engine=ENGINES[name],
        random_state=0,
        n_jobs=n_jobs,
    )
    found = []
    for seconds, numbers in ((1e9, 10**15), (1e-9, 1)):
        monkeypatch.setattr(calls.Slices, "SECONDS", seconds)
        monkeypatch.setattr(rounds, "SLICE", numbers)
        found.append(classifier.fit(X, y).decision_function(X))
    assert np.array_equal(*found)


class Watch(Monitor):
    """Counts how often it is told, and stops a run when it has been told so often."""

    def __init__(self, most=10**9):
        self.most, self.told = most, []

    def update(self, done):
        self.told.append(done)

    def should_stop(self):
        return len(self.told) >= self.most


@pytest.mark.parametrize(
    "engine",
    [
        GibbsSampler(burn_in=10**7),
        GibbsSampler(n_samples=10**6),
        GibbsSampler(n_samples=10**6, label_noise="auto"),
        BilliardSampler(n_samples=10**6),
        BilliardSampler(burn_in=10**7),
    ],
    ids=lambda engine: str(engine).replace("\n", " ")[:60],
)
def test_long_runs_tell_of_progress_and_stop_soon(engine):
    """All of them would take minutes; a run ends with one sample of each chain at least."""
    rng = rng_of(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1, 2, 3] > 0
    with watch(Watch(most=20)) as monitor, pytest.warns(UserWarning, match="topped"):
        classifier = BayesPointClassifier(
            kernel="linear", temperature=1.0, engine=engine, random_state=0
        ).fit(X, y)
    assert monitor.told == sorted(monitor.told)
    assert classifier.posterior_.n_samples >= 4
    assert np.isfinite(classifier.decision_function(X)).all()

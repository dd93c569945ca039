"""Every engine of the library keeps the protocol, and engines that do not are found out."""

import subprocess
import sys
from functools import partial

import pytest
from tests.helpers.broken_engines import BROKEN
from tests.helpers.third_party import Committee

from bayespoint import engines
from bayespoint.engines import (
    BilliardSampler,
    Engine,
    ExpectationPropagation,
    FactorisedPropagation,
    GibbsSampler,
    KnapsackPropagation,
    LaplaceApproximation,
    PermutedPerceptron,
)
from bayespoint.engines.base import ENGINES
from bayespoint.testing import CHECKS, check_engine, engine_checks

SHORT = {"n_samples": 40, "burn_in": 50}
ep = partial(ExpectationPropagation, prior_scale=1.0)  # "auto" is learned from all tasks together
SETTINGS = {
    "ep": (ep(), {}),
    "ep in turn": (ep(schedule="sequential"), {}),
    "ep flips": (ep(label_noise=0.05), {}),
    "ep student": (ep(likelihood="student"), {}),
    "factorised ep": (FactorisedPropagation(), {}),
    "ep one pass": (FactorisedPropagation(max_iter=1), {}),
    "ep rates": (FactorisedPropagation(max_iter=1, decay="auto"), {}),
    "ep ridge": (ep(), {"ridge": 1.0}),
    "laplace": (LaplaceApproximation(prior_scale=1.0), {}),
    "gibbs isotropic": (GibbsSampler(**SHORT, directions="isotropic"), {}),
    "gibbs auto": (GibbsSampler(**SHORT), {}),  # outputs, with the kernel rbf
    "gibbs hard": (GibbsSampler(**SHORT, label_noise=0), {}),
    "billiard": (BilliardSampler(**SHORT), {}),
    "billiard ridge": (BilliardSampler(**SHORT), {"ridge": 1.0}),
    "perceptron": (PermutedPerceptron(), {}),
    "perceptron ridge": (PermutedPerceptron(), {"ridge": 1.0}),
    "knapsack": (KnapsackPropagation(bins=33, n_iter=10), {}),
    "knapsack plain": (KnapsackPropagation(bins=33, n_iter=10, schedule="plain"), {}),
}
# Sites that are visited once depend on the order of the points and on copies of them.
BY_ORDER = {"ep one pass", "ep rates"}
ALL = {
    f"{name}-{kernel}-{check}": perform
    for name, (engine, classifier) in SETTINGS.items()
    for kernel in ("linear", "rbf")
    for check, perform in engine_checks(engine, kernel=kernel, **classifier)
    if not (name in BY_ORDER and check in {"check_order", "check_weights"})
}


@pytest.mark.parametrize("name", ALL)
def test_engine(name):
    ALL[name]()


def test_every_engine_of_the_library_is_checked():
    public = [getattr(engines, name) for name in engines.__all__]
    own = {thing for thing in public if isinstance(thing, type) and issubclass(thing, Engine)}
    assert {type(engine) for engine, _ in SETTINGS.values()} == own - {Engine}


# Engines of other people -------------------------------------------------------------------------


@pytest.fixture
def known_engines():
    """Aliases that a test takes are given back."""
    before = dict(ENGINES)
    yield
    ENGINES.clear()
    ENGINES.update(before)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_engine_of_another_library(kernel):
    check_engine(Committee(), kernel=kernel)


@pytest.mark.usefixtures("known_engines")
@pytest.mark.parametrize(
    ("engine", "check"), [(engine, name) for engine, names in BROKEN.items() for name in names]
)
def test_what_is_broken_is_found(engine, check):
    with pytest.raises(AssertionError, match=rf"{check} of {engine.__name__}\(.*\): ..."):
        dict(engine_checks(engine()))[check]()


def test_every_check_can_fail():
    broken = {name for names in BROKEN.values() for name in names}
    assert broken == {check.__name__ for check in CHECKS}


def test_checks_do_not_run_without_assertions():
    code = "from bayespoint.testing import engine_checks as f; f(None)"
    told = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True)
    assert "Run it without -O" in told.stderr

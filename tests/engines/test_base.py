"""Names of engines."""

import pytest

from bayespoint import BayesPointClassifier
from bayespoint.engines import Engine, ExpectationPropagation, get_engine
from bayespoint.engines.base import ENGINES


@pytest.fixture(autouse=True)
def _names_as_before():
    before = ENGINES.copy()
    yield
    ENGINES.clear()
    ENGINES.update(before)


def test_the_names():
    assert set(ENGINES) == {
        "billiard",
        "ep",
        "factorised-ep",
        "gibbs",
        "knapsack",
        "laplace",
        "perceptron",
    }


def test_a_subclass_does_not_take_over_the_name():
    class Loud(ExpectationPropagation):
        pass

    assert type(get_engine("ep")) is ExpectationPropagation
    assert type(get_engine(Loud(noise=2.0))) is Loud
    assert BayesPointClassifier(engine=Loud()).fit([[0.0], [1.0]], [0, 1]).n_iter_ >= 1


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match=r"'ep' of .*Other already names .*ExpectationPropagation"):

        class Other(Engine):
            alias = "ep"

    assert type(get_engine("ep")) is ExpectationPropagation


def test_the_same_class_may_be_defined_again():
    def define():
        class Mine(ExpectationPropagation):
            alias = "mine"

        return Mine

    first, second = define(), define()
    assert first is not second
    assert type(get_engine("mine")) is second


@pytest.mark.parametrize("engine", ["none", None, ExpectationPropagation, 3])
def test_what_is_no_engine(engine):
    with pytest.raises(ValueError, match="must be an engine instance, such as"):
        get_engine(engine)


def test_engines_say_which_noise_a_basis_may_add_to():
    class Same(ExpectationPropagation):
        """Another class of the same model."""

    assert ExpectationPropagation(noise=0.5, prior_scale=2).basis_noise == 0.25
    assert Same(noise=0.5, prior_scale=2.0).basis_noise == 0.25
    for unknown in (
        {"noise": 0.0, "prior_scale": 1.0},
        {"prior_scale": "auto"},
        {"prior_scale": [1.0, 2.0]},
    ):
        assert ExpectationPropagation(**unknown).basis_noise is None
    others = [kind() for name, kind in ENGINES.items() if name != "ep"]
    assert len(others) > 4 and all(engine.basis_noise is None for engine in others)

"""The list of likelihoods: one for each name and kind of labels."""

from typing import get_args

import pytest

from bayespoint import likelihoods
from bayespoint.codings import CODINGS
from bayespoint.engines.base import ENGINES
from bayespoint.likelihoods import LIKELIHOODS, JointLikelihood, Likelihood, make_likelihood
from bayespoint.likelihoods.base import Kind

KINDS = get_args(Kind)


def test_every_likelihood_is_listed():
    known = {
        one
        for one in vars(likelihoods).values()
        if isinstance(one, type) and issubclass(one, (Likelihood, JointLikelihood))
    }
    assert known - {Likelihood, JointLikelihood} == set(LIKELIHOODS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["probit", "logistic"])
def test_each_name_and_kind_has_one(name, kind):
    made = make_likelihood(name, kind, noise=0.5, label_noise=0.1)
    assert made.name == name and made.kind == kind
    assert sum(one.name == name and one.kind == kind for one in LIKELIHOODS) == 1
    assert all(
        getattr(made, name) == {"noise": 0.5, "label_noise": 0.1}[name] for name in made.parameters
    )


def test_codings_and_engines_declare_kinds_that_exist():
    assert {coding.kind for coding in CODINGS.values()} == set(KINDS)
    for engine in ENGINES.values():
        assert {"sign"} <= set(engine.kinds) <= set(KINDS)
        for kind in engine.kinds if engine.needs else ():
            made = make_likelihood(engine().likelihood, kind, noise=1.0, label_noise=0.0)
            assert kind == "class" or all(made.offers(verb) for verb in engine.needs)


def test_a_name_that_is_not_there():
    with pytest.raises(ValueError, match="no cauchit likelihood for labels of the kind 'sign'"):
        make_likelihood("cauchit", "sign")

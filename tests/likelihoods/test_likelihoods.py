"""The list of likelihoods: one for each link and kind of labels."""

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
@pytest.mark.parametrize("link", ["probit", "logistic"])
def test_each_link_and_kind_has_one(link, kind):
    made = make_likelihood(link, kind, noise=0.5, label_noise=0.1)
    assert made.link == link and made.kind == kind
    assert sum(one.link == link and one.kind == kind for one in LIKELIHOODS) == 1
    assert all(
        getattr(made, name) == {"noise": 0.5, "label_noise": 0.1}[name] for name in made.parameters
    )


def test_codings_and_engines_declare_kinds_that_exist():
    assert {coding.kind for coding in CODINGS.values()} == set(KINDS)
    for engine in ENGINES.values():
        assert {"sign"} <= set(engine.kinds) <= set(KINDS)
        for kind in engine.kinds if hasattr(engine, "link") else ():
            assert make_likelihood(engine.link, kind, noise=1.0, label_noise=0.0)


def test_a_link_that_is_not_there():
    with pytest.raises(ValueError, match="no cauchit likelihood for labels of the kind 'sign'"):
        make_likelihood("cauchit", "sign")

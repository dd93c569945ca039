"""The list of likelihoods: one for each link and coding."""

import pytest

from bayespoint import likelihoods
from bayespoint.codings import CODINGS
from bayespoint.engines.base import ENGINES
from bayespoint.likelihoods import LIKELIHOODS, JointLikelihood, Likelihood, make_likelihood


def test_every_likelihood_is_listed():
    known = {
        one
        for one in vars(likelihoods).values()
        if isinstance(one, type) and issubclass(one, (Likelihood, JointLikelihood))
    }
    assert known - {Likelihood, JointLikelihood} == set(LIKELIHOODS)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("link", ["probit", "logistic"])
def test_each_link_and_coding_has_one(link, coding):
    made = make_likelihood(link, coding, noise=0.5, label_noise=0.1)
    assert made.link == link and coding in made.codings
    assert sum(one.link == link and coding in one.codings for one in LIKELIHOODS) == 1
    assert all(
        getattr(made, name) == {"noise": 0.5, "label_noise": 0.1}[name] for name in made.parameters
    )


def test_engines_declare_codings_that_exist():
    for engine in ENGINES.values():
        assert {"binary", "one_vs_rest"} <= set(engine.codings) <= set(CODINGS)
        for coding in engine.codings if hasattr(engine, "link") else ():
            assert make_likelihood(engine.link, coding, noise=1.0, label_noise=0.0)


def test_a_link_that_is_not_there():
    with pytest.raises(ValueError, match="no cauchit likelihood for the labels of the coding"):
        make_likelihood("cauchit", "binary")

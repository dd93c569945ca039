"""The Gaussian posterior of several classes together."""

import numpy as np
import pytest

from bayespoint.codings import JointCoding
from bayespoint.likelihoods import ArgmaxLikelihood
from bayespoint.posteriors import JointPosterior
from bayespoint.tools.attributes import ContentError

RNG = np.random.default_rng(0)
CODING = JointCoding(np.array(["a", "b", "c"]))


def posterior(**changes):
    """Three classes, four weights, partly shared."""
    rng = np.random.default_rng(1)
    parts = {
        "mean": rng.normal(size=(4, 3)),
        "own": rng.normal(size=(3, 4, 4)),
        "shared": rng.normal(size=(3, 4, 2)),
        "likelihood": ArgmaxLikelihood(1.0),
    }
    return JointPosterior(**parts | changes)


def test_outputs_have_the_covariance_of_the_weights():
    one, Z = posterior(), RNG.normal(size=(5, 4))
    mean, covariance = one.outputs(Z)
    for i, z in enumerate(Z):
        all_classes = np.kron(np.eye(3), z)
        np.testing.assert_allclose(covariance[i], all_classes @ one.covariance @ all_classes.T)
    np.testing.assert_allclose(one.latent(Z)[1], np.diagonal(covariance, axis1=1, axis2=2))
    np.testing.assert_allclose(mean, Z @ one.mean)


def test_draws_have_mean_and_covariance():
    one, n = posterior(), 200_000
    drawn = one.draw(n, np.random.default_rng(2))
    assert drawn.shape == (4, n, 3)
    flat = np.moveaxis(drawn, 1, 0).transpose(0, 2, 1).reshape(n, -1)
    spread = np.sqrt(one.covariance.diagonal())
    assert (np.abs(flat.mean(axis=0) - one.mean.T.ravel()) < 5 * spread / np.sqrt(n)).all()
    error = 5 * np.sqrt(2 / n) * np.outer(spread, spread)
    assert (np.abs(np.cov(flat.T) - one.covariance) < error).all()
    # Without the shared part the covariance between classes would be missing.
    assert (np.abs(one.covariance[:4, 4:8]) > 2 * error[:4, 4:8]).any()


def test_shares_of_the_vote_are_those_of_the_draws():
    one, Z = posterior(), RNG.normal(size=(6, 4))
    drawn = one.draw(100_000, np.random.default_rng(3))
    outputs = np.einsum("nd,dkc->nkc", Z, drawn)
    counted = CODING.sample_shares(outputs)
    shares = one.class_shares(Z, CODING)
    assert (np.abs(shares - counted) < 5 * np.sqrt(0.25 / 100_000)).all()
    np.testing.assert_allclose(one.votes(Z), 2 * shares - 1)


def test_probabilities_are_the_mean_of_those_of_the_draws():
    one, Z = posterior(), RNG.normal(size=(6, 4))
    outputs = np.einsum("nd,dkc->nkc", Z, one.draw(20_000, np.random.default_rng(4)))
    p = np.exp(one.likelihood.log_likelihood(outputs)[0])
    error = 5 * p.std(axis=1) / np.sqrt(20_000)
    found = np.exp(one.decision(Z, "bayes_point"))
    assert (np.abs(found - p.mean(axis=1)) < error).all()


@pytest.mark.parametrize(
    "change",
    [
        {"mean": np.zeros((5, 3))},
        {"own": np.full((3, 4, 4), np.nan)},
        {"shared": np.zeros((2, 4, 2))},
        {"likelihood": "softmax"},
        {"log_evidence": np.zeros(3)},
    ],
)
def test_a_state_that_makes_no_sense_is_refused(change):
    posterior().check_state()
    with pytest.raises(ContentError):
        posterior(**change).check_state()

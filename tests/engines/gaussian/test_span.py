"""More weights than points: all work is done in the span of the points, and nothing is lost."""

import numpy as np
import pytest
from tests.helpers.probit import problem

from bayespoint.engines import ExpectationPropagation, LaplaceApproximation, Request
from bayespoint.engines.gaussian import ep
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.tasks import Span, spans
from bayespoint.kernels import PolynomialKernel
from bayespoint.spaces import Coordinates, ProcessSpace

N, D = 12, 30


def root(is_diagonal):
    rng = np.random.default_rng(1)
    return (
        rng.uniform(0.5, 2, D) if is_diagonal else np.tril(rng.normal(size=(D, D))) + 3 * np.eye(D)
    )


PRIORS = {
    "plain": {},
    "scales": {"prior_scale": root(True)},
    "mean": {"prior_mean": np.linspace(-1, 1, D), "prior_scale": root(True)},
    "covariance": {
        "prior_mean": np.linspace(-1, 1, D),
        "prior_covariance": root(False) @ root(False).T,
    },
}


@pytest.mark.parametrize(
    "kind", [ExpectationPropagation, LaplaceApproximation], ids=["ep", "laplace"]
)
@pytest.mark.parametrize("parameters", PRIORS.values(), ids=PRIORS)
def test_as_with_all_weights(parameters, kind, monkeypatch):
    X, y = problem(N, D)
    engine, found = kind(**parameters), []
    for narrow in (spans, lambda space, priors: [Span(space)] * len(priors)):
        monkeypatch.setattr(ep, "spans", narrow)
        space = ProcessSpace(PolynomialKernel(degree=1, coef0=0.0)).fit(X)
        found.append(engine.run(space, np.column_stack([y, -y]), Request())[0])
    one, other = found
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-6)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-6)
    np.testing.assert_allclose(one.log_evidence, other.log_evidence, atol=1e-8)
    np.testing.assert_allclose(
        one.left_out_log_probability, other.left_out_log_probability, atol=1e-6
    )


def test_outputs_have_the_same_prior():
    X, _ = problem(N, D)
    prior = GaussianPrior(np.linspace(0, 1, D), root(False))
    span = spans(Coordinates(X), [prior])[0]
    assert (span.space.n_points, span.space.n_coordinates) == (N, N)
    narrow = span.project(prior)
    np.testing.assert_allclose(span.space.outputs(narrow.mean), X @ prior.mean, atol=1e-10)
    np.testing.assert_allclose(span.space.gram(), X @ prior.covariance @ X.T, atol=1e-10)


def test_priors_that_share_a_root_share_a_span():
    X, _ = problem(N, D)
    shared, own = np.ones(D), np.full(D, 2.0)
    priors = [GaussianPrior(np.zeros(D), root) for root in (shared, own, shared)]
    one, two, three = spans(Coordinates(X), priors)
    assert one is three
    assert one is not two
    assert spans(Coordinates(X.T), [GaussianPrior(np.zeros(N), np.ones(N))])[0].space.n_points == D

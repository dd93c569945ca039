"""Several classes in one posterior, against slow versions, sampling and two classes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from tests.helpers.joint import Plain, by_importance, factor_by_factor, learn, problem, targets

from bayespoint.engines import ExpectationPropagation, LaplaceApproximation, Request
from bayespoint.engines.gaussian.joint import sites
from bayespoint.engines.gaussian.joint.gaussians import (
    OutputJoint,
    WeightJoint,
    coupled,
    precisions,
)
from bayespoint.engines.gaussian.joint.sites import without
from bayespoint.engines.gaussian.prior import GaussianPrior, IndependentPrior
from bayespoint.posteriors import Messages

EP = ExpectationPropagation(prior_scale=1.5, tol=1e-10)
LAPLACE = LaplaceApproximation(prior_scale=1.5, tol=1e-10)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [3, 4])
def test_one_site_for_each_rival_and_all_classes_at_once_are_the_same(seed, n_classes):
    Z, y = problem(n_classes=n_classes, seed=seed)
    mean, covariance, evidence = factor_by_factor(Z, y, 1.5, n_classes=n_classes)
    posterior = learn(EP, Z, y, n_classes)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-8)
    np.testing.assert_allclose(posterior.covariance, covariance, atol=1e-8)
    assert posterior.log_evidence[0] == pytest.approx(evidence, abs=1e-8)


def miss(posterior, w, likelihood):
    """The largest errors of mean (in standard deviations), covariance and evidence."""
    flat = w.transpose(0, 2, 1).reshape(len(w), -1)
    share = likelihood / likelihood.sum()
    mean = share @ flat
    covariance = (flat - mean).T * share @ (flat - mean)
    found = posterior.mean.T.ravel()
    return (
        np.abs((found - mean) / np.sqrt(covariance.diagonal())).max(),
        np.abs(posterior.covariance - covariance).max(),
        abs(posterior.log_evidence[0] - np.log(likelihood.mean())),
    )


def test_expectation_propagation_is_near_the_true_posterior():
    Z, y = problem()
    truth = by_importance(Z, y, 1.5)
    mean, covariance, evidence = miss(learn(EP, Z, y), *truth)
    error = 5 * np.sqrt((truth[1] ** 2).sum()) / truth[1].sum()  # of the draws
    assert mean < 0.02 + error
    assert covariance < 0.04 + 2 * error  # of squares, up to 2
    assert evidence < 0.05


def test_laplace_is_roughly_there():
    Z, y = problem()
    truth = by_importance(Z, y, 1.5, softmax=True)
    mean, covariance, evidence = miss(learn(LAPLACE, Z, y), *truth)
    assert mean < 0.25  # the mode is nearer to 0 than the mean
    assert covariance < 0.4
    assert evidence < 0.3


def test_without_covariance_between_classes_it_is_not_there(monkeypatch):
    Z, y = problem()
    truth = by_importance(Z, y, 1.5)
    right = miss(learn(EP, Z, y), *truth)

    def alone(rate):
        return np.einsum("nc,ck->nck", rate, np.eye(rate.shape[1]))

    monkeypatch.setattr(sites, "coupled", lambda rate, f: rate * f)
    monkeypatch.setattr(sites, "precisions", alone)
    monkeypatch.setattr(WeightJoint, "factorise", without_coupling)
    wrong = miss(learn(EP, Z, y), *truth)
    assert wrong[0] > 5 * right[0]
    assert wrong[1] > 5 * right[1]


def without_coupling(self, rate):
    """Precisions of contrasts from messages of classes that know nothing of each other."""
    precision, _, log_determinant, _ = self.prior.in_contrasts()
    for c, h in enumerate(self._H):
        precision += np.kron(np.outer(h, h), self.space.curvature(rate[:, c]))
    self._factor = np.linalg.inv(np.linalg.cholesky(precision)).T
    self.log_determinant = -np.linalg.slogdet(precision)[1] - log_determinant


def test_evidence_needs_the_determinant_of_the_sum_over_classes(monkeypatch):
    """The printed Algorithm 3.3 of Rasmussen and Williams lacks it."""
    Z, y = problem(n=5, d=5)  # as many coordinates as points: the form with M
    right = learn(EP, Z, y).log_evidence[0]
    truth = by_importance(Z, y, 1.5)[1]
    bound = 0.05 + 5 * truth.std() / truth.mean() / np.sqrt(len(truth))
    assert abs(right - np.log(truth.mean())) < bound
    factorise = OutputJoint.factorise

    def without(self, rate):
        factorise(self, rate)
        self.log_determinant += 2 * np.log(self._M.diagonal()).sum()

    monkeypatch.setattr(OutputJoint, "factorise", without)
    assert abs(learn(EP, Z, y).log_evidence[0] - np.log(truth.mean())) > 2 * bound


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 3.0, 1.0, 0.5, 2.0, 1.0])])
def test_two_classes_are_the_binary_engine(weights):
    rng = np.random.default_rng(3)
    Z, y = rng.normal(size=(7, 2)), np.array([0, 1, 1, 0, 1, 0, 1])
    new = rng.normal(size=(5, 2))
    joint = learn(EP, Z, y, 2, sample_weight=weights)
    request = Request(sample_weight=weights)
    binary, _ = EP.run(Plain(Z), targets(y, 2)[:, 1:], request)
    assert joint.log_evidence == pytest.approx(binary.log_evidence, abs=1e-8)
    log_p = binary.log_probability(binary.decision(new, "bayes_point"), "bayes_point")[0]
    np.testing.assert_allclose(joint.decision(new, "bayes_point")[:, 1:], log_p, atol=1e-8)
    own = joint.left_out_log_probability[np.arange(7), y]
    if weights is None:
        np.testing.assert_allclose(own, binary.left_out_log_probability[:, 0], atol=1e-8)
    # The difference of two outputs has sqrt(2) of the prior scale, and the logistic no noise.
    joint = learn(LAPLACE, Z, y, 2, sample_weight=weights)
    wider = LaplaceApproximation(prior_scale=1.5 * np.sqrt(2), tol=1e-10)
    binary, _ = wider.run(Plain(Z), targets(y, 2)[:, 1:], request)
    assert joint.log_evidence == pytest.approx(binary.log_evidence, abs=1e-8)
    np.testing.assert_allclose(np.diff(joint.mean, axis=1), binary.mean, atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_both_ways_to_the_gaussian_agree(n_classes):
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(9, 4))
    root = np.tril(rng.normal(size=(4, 4))) + 2 * np.eye(4)
    means = rng.normal(size=(n_classes, 4))
    prior = IndependentPrior([GaussianPrior(mean, root) for mean in means])
    rate, shift = rng.uniform(0.1, 3, size=(9, n_classes)), rng.normal(size=(9, n_classes))
    found = []
    for kind in (WeightJoint, OutputJoint):
        gaussian = kind(Plain(Z), prior)
        gaussian.factorise(rate)
        slope = shift - coupled(rate, gaussian.start)
        u, change = gaussian.solve(gaussian.residual(slope, gaussian.origin))
        np.testing.assert_allclose(change, Z @ u, atol=1e-12)
        own, shared = gaussian.factors()
        flat = shared.reshape(n_classes * 4, -1)
        covariance = flat @ flat.T
        for c, part in enumerate(own):
            covariance[c * 4 : c * 4 + 4, c * 4 : c * 4 + 4] += part @ part.T
        moments = gaussian.prior.mean + u, gaussian.moments()
        found.append((*moments, gaussian.log_determinant, covariance))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    # The definition: a precision of all weights.
    precision = np.kron(np.eye(n_classes), np.linalg.inv(root @ root.T))
    for z, Pi in zip(Z, precisions(rate), strict=True):
        precision += np.kron(Pi, np.outer(z, z))
    np.testing.assert_allclose(np.linalg.inv(precision), found[0][3], atol=1e-10)
    assert found[0][2] == pytest.approx(
        -np.linalg.slogdet(precision)[1] - n_classes * np.linalg.slogdet(root @ root.T)[1]
    )


@pytest.mark.parametrize("d", [3, 11])  # by weights, by outputs
def test_the_mode_of_the_softmax_is_a_maximum_with_the_right_curvature(d):
    Z, y = problem(n=12, d=d, seed=5)

    def loss(flat):
        w = flat.reshape(d, 3)
        fit = log_softmax(Z @ w, axis=1)[np.arange(12), y].sum()
        return 0.5 * (w**2).sum() / 1.5**2 - fit

    best = minimize(loss, np.zeros(3 * d), method="BFGS", tol=1e-10)
    posterior = learn(LAPLACE, Z, y)
    np.testing.assert_allclose(posterior.mean, best.x.reshape(d, 3), atol=1e-5)
    p = np.exp(log_softmax(Z @ posterior.mean, axis=1))
    precision = np.eye(3 * d) / 1.5**2
    for z, share in zip(Z, p, strict=True):
        precision += np.kron(np.diag(share) - np.outer(share, share), np.outer(z, z))
    np.testing.assert_allclose(np.linalg.inv(precision), posterior.covariance, atol=1e-8)
    expected = -best.fun - 0.5 * (np.linalg.slogdet(precision)[1] + 3 * d * np.log(1.5**2))
    assert posterior.log_evidence[0] == pytest.approx(expected, abs=1e-6)


def test_another_library_has_the_same_posterior():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    laplace = pytest.importorskip("laplace", reason="laplace-torch is not installed")
    Z, y = problem(n=30, d=3, seed=6)
    posterior = learn(LAPLACE, Z, y)
    net = torch.nn.Linear(3, 3, bias=False).double()
    with torch.no_grad():
        net.weight.copy_(torch.from_numpy(posterior.mean.T.copy()))
    data = torch.utils.data.TensorDataset(torch.from_numpy(Z), torch.from_numpy(y))
    other = laplace.Laplace(
        net,
        "classification",
        subset_of_weights="all",
        hessian_structure="full",
        prior_precision=1.5**-2,
    )
    other.fit(torch.utils.data.DataLoader(data, batch_size=30))
    np.testing.assert_allclose(other.posterior_covariance.numpy(), posterior.covariance, atol=1e-6)
    assert float(other.log_marginal_likelihood()) == pytest.approx(
        posterior.log_evidence[0], abs=1e-5
    )


@pytest.mark.parametrize("engine", [EP, LAPLACE])
def test_left_out_predictions_are_those_of_a_fit_without_the_point(engine):
    Z, y = problem(n=40, d=2, seed=7)
    posterior, left_out, seen = learn(engine, Z, y), [], []
    for i in range(8):
        rest = np.arange(40) != i
        alone = np.exp(learn(engine, Z[rest], y[rest]).decision(Z[[i]], "bayes_point")[0])
        left_out.append(np.exp(posterior.left_out_log_probability[i]) - alone)
        seen.append(np.exp(posterior.decision(Z[[i]], "bayes_point")[0]) - alone)
    assert np.abs(left_out).max() < 0.005
    assert np.abs(seen).max() > 4 * np.abs(left_out).max()  # what knows the label is not that


@pytest.mark.parametrize("n_classes", [3, 6])
@pytest.mark.parametrize("weight", [0.25, 0.9])
def test_a_part_of_a_copy_can_be_completed(n_classes, weight):
    rng = np.random.default_rng(0)
    root, mean = rng.normal(size=(n_classes, n_classes)), rng.normal(size=n_classes)
    precision, noise, label = np.linalg.inv(root @ root.T + np.eye(n_classes)), 0.7, 1
    shift, rate = rng.uniform(0, 1, n_classes), rng.uniform(0.1, 1, n_classes)
    shift[label] = rate[label] = 0.0
    lead = np.delete(np.eye(n_classes)[label] - np.eye(n_classes), label, axis=0)
    a, b = np.delete(shift, label), np.delete(rate, label)
    k = noise / (1 + noise * b.sum())  # the variance of the noise u, given the leads

    def with_copies(copies):
        S = np.linalg.inv(precision + copies * lead.T @ (np.diag(b) - k * np.outer(b, b)) @ lead)
        return S @ (precision @ mean + copies * lead.T @ (a - k * a.sum() * b)), S

    f, S = with_copies(weight)
    rate[label] = 1 / noise
    messages = Messages(
        weight * (rate * (shift.sum() / rate.sum()) - shift)[None], weight * rate[None]
    )
    found = without(f[None], S[None], messages, np.array([(weight - 1) / weight]))
    for (one,), expected in zip(found, with_copies(1.0), strict=True):
        np.testing.assert_allclose(one, expected, atol=1e-12)
    assert np.abs(f - with_copies(1.0)[0]).max() > 1e-3

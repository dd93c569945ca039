"""Ordered classes in both engines: against quadrature, sampling, differences, and symmetries."""

import itertools
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, roots_hermitenorm

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation, Request
from bayespoint.engines.base import Progress
from bayespoint.engines.gaussian.evidence_gradient import evidence_gradient
from bayespoint.engines.gaussian.gaussians import WeightGaussian
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.rounds import Rounds
from bayespoint.engines.gaussian.sites import MatchedSites, TangentSites
from bayespoint.engines.gaussian.tasks import Labels
from bayespoint.kernels import RadialKernel
from bayespoint.likelihoods import OrdinalLogisticLikelihood, OrdinalProbitLikelihood
from bayespoint.spaces import Coordinates, ProcessSpace
from bayespoint.tools.monitor import Monitor

ENGINES = (ExpectationPropagation, LaplaceApproximation)
EXACT = {"tol": 1e-11, "prior_scale": 1.5}
BOTH = pytest.mark.parametrize("engine", ENGINES, ids=["ep", "laplace"])


def grades(n, n_classes=4, n_features=2, seed=0):
    """Points, and the fifth, the second fifth ... of a noisy linear function."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features))
    f = X @ np.linspace(1, -0.5, n_features) + 0.5 * rng.standard_normal(n)
    return X, np.argsort(np.argsort(f)) * n_classes // n


def search_at(kind, Z, labels, likelihood, weight, scale):
    """Sites with fixed thresholds, at rest."""
    gaussian = WeightGaussian(Coordinates(Z), GaussianPrior(np.zeros(Z.shape[1]), scale))
    weight = np.ones(len(labels)) if weight is None else weight
    sites = kind(Labels(labels, weight, likelihood, np.minimum(weight, 1)), gaussian)
    sites.likelihood = likelihood  # with the thresholds as they are
    search = Rounds(gaussian, sites)
    engine = ExpectationPropagation if kind is MatchedSites else LaplaceApproximation
    search.run(engine(tol=1e-11), Progress(Monitor()))
    assert not search.reason
    return search


def sites_at(Z, labels, thresholds, weight=None, noise=0.8, scale=1.5):
    """Sites of expectation propagation."""
    likelihood = OrdinalProbitLikelihood(np.asarray(thresholds, float), noise)
    return search_at(MatchedSites, Z, labels, likelihood, weight, np.full(Z.shape[1], scale))


def mode_at(Z, labels, thresholds, weight=None, scale=1.5):
    """The mode of the logistic model."""
    likelihood = OrdinalLogisticLikelihood(np.asarray(thresholds, float))
    kind = partial(TangentSites, tol=1e-12)
    return search_at(kind, Z, labels, likelihood, weight, np.full(Z.shape[1], scale))


def label_probability(f, label, thresholds, noise):
    ends = np.array([-np.inf, *thresholds, np.inf])
    return ndtr((ends[label + 1] - f) / noise) - ndtr((ends[label] - f) / noise)


@pytest.mark.parametrize("label", [0, 1, 2])
def test_one_point_is_exact(label):
    z, noise, scale = 1.3, 0.8, 1.5
    sites = sites_at(np.array([[z]]), np.array([label]), [-0.5, 0.9], noise=noise, scale=scale)
    result = sites.result()
    node, share = roots_hermitenorm(180)
    w, share = scale * node, share / share.sum()
    p = share * label_probability(z * w, label, [-0.5, 0.9], noise)
    assert result.log_evidence == pytest.approx(np.log(p.sum()), abs=1e-8)
    mean = p @ w / p.sum()
    assert result.mean[0] == pytest.approx(mean, abs=1e-8)
    variance = p @ (w - mean) ** 2 / p.sum()
    assert result.factor[0, 0] ** 2 == pytest.approx(variance, abs=1e-8)


def test_two_points_are_those_of_quadrature_on_a_grid():
    """Orthogonal points are independent, so that the posterior of both is exact."""
    Z, labels, thresholds = np.array([[1.0, 0.5], [-0.6, 1.2]]), np.array([2, 1]), [-0.4, 0.7]
    assert Z[0] @ Z[1] == 0
    result = sites_at(Z, labels, thresholds).result()
    node, share = roots_hermitenorm(120)
    grid = 1.5 * np.array(list(itertools.product(node, node)))
    mass = np.outer(share, share).ravel() / share.sum() ** 2
    for z, label in zip(Z, labels, strict=True):
        mass = mass * label_probability(grid @ z, label, thresholds, 0.8)
    assert result.log_evidence == pytest.approx(np.log(mass.sum()), abs=1e-8)
    np.testing.assert_allclose(result.mean, mass @ grid / mass.sum(), atol=1e-8)


def test_two_dependent_points_are_where_slow_matching_ends():
    Z, labels, thresholds = np.array([[1.0, 0.5], [0.8, -0.3]]), np.array([2, 0]), [-0.4, 0.7]
    result = sites_at(Z, labels, thresholds).result()
    K = 2.25 * Z @ Z.T
    node, share = roots_hermitenorm(180)
    shift, rate = np.zeros(2), np.zeros(2)
    for _ in range(200):
        for i in (0, 1):
            S = np.linalg.inv(np.linalg.inv(K) + np.diag(rate))
            m = S @ shift
            v = 1 / (1 / S[i, i] - rate[i])
            mean = v * (m[i] / S[i, i] - shift[i])
            f = mean + np.sqrt(v) * node
            p = share * label_probability(f, labels[i], thresholds, 0.8)
            new = p @ f / p.sum()
            left = p @ (f - new) ** 2 / p.sum()
            rate[i], shift[i] = 1 / left - 1 / v, new / left - mean / v
    np.testing.assert_allclose(result.messages.shift, shift, atol=1e-8)
    np.testing.assert_allclose(result.messages.rate, rate, atol=1e-8)


def test_ten_points_are_those_of_importance_sampling():
    """Expectation propagation is not exact, but closer than 40 000 samples show."""
    X, labels = grades(10, 3)
    thresholds = [-0.6, 0.7]
    result = sites_at(X, labels, thresholds).result()
    rng = np.random.default_rng(0)
    w = result.mean + 1.2 * rng.standard_normal((40_000, 2)) @ result.factor.T
    log_p = np.log(label_probability(w @ X.T, labels, thresholds, 0.8)).sum(axis=1)
    log_p -= 0.5 * (w**2).sum(axis=1) / 2.25 + 2 * np.log(1.5)
    away = np.linalg.solve(1.2 * result.factor, (w - result.mean).T)
    log_q = -0.5 * (away**2).sum(axis=0) - 2 * np.log(1.2) - np.linalg.slogdet(result.factor)[1]
    ratio = np.exp(log_p - log_q)
    error = ratio.std() / ratio.mean() / 200
    assert abs(result.log_evidence - np.log(ratio.mean())) < 5 * error
    mean = ratio @ w / ratio.sum()
    spread = np.sqrt((ratio**2) @ (w - mean) ** 2) / ratio.sum()
    assert (np.abs(result.mean - mean) < 5 * spread).all()
    wrong = sites_at(X, labels, [-0.5, 0.8]).result()
    assert abs(wrong.log_evidence - np.log(ratio.mean())) > 5 * error


@pytest.mark.parametrize("weight", [np.ones(30), np.arange(30) % 3 + 0.5], ids=["1", "weights"])
def test_gradient_by_thresholds_is_that_of_differences(weight):
    X, labels = grades(30)
    thresholds, h = np.array([-0.9, 0.1, 0.8]), 1e-5

    def learned(kind, at):
        if kind == "ep":
            found = sites_at(X, labels, at, weight)
            moments = found.sites.cavities(np.ones(len(labels)))
        else:
            found = mode_at(X, labels, at, weight)
            moments = found.end()[1], found.gaussian.moments()
        S = X @ found.result().factor
        np.testing.assert_allclose(found.gaussian.covary(weight), S @ (S.T @ weight), atol=1e-9)
        slopes = found.sites.likelihood.threshold_slopes(
            labels, weight, *moments, found.gaussian.covary
        )
        return found.result().log_evidence, slopes

    for kind in ("ep", "laplace"):
        _, (gradient, bend) = learned(kind, thresholds)
        for k, unit in enumerate(np.eye(3)):
            up, down = (learned(kind, thresholds + step * unit) for step in (h, -h))
            assert gradient[k] == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-5, abs=1e-5)
            curve = -(up[1][0] - down[1][0]) / (2 * h)  # about: outputs' variances change, too
            np.testing.assert_allclose(bend[k], curve, atol=0.15 * np.abs(bend).max())


@BOTH
def test_thresholds_climb_the_evidence(engine):
    X, labels = grades(60)
    clf = BayesPointClassifier(kernel="linear", engine=engine(**EXACT), multi_class="ordinal")
    clf.fit(X, labels)
    best, likelihood = clf.log_evidence_[0], clf.posterior_.likelihood
    Z = np.column_stack([X, np.ones(60)])
    for k, step in itertools.product(range(3), (-0.3, 0.3)):
        moved = likelihood.thresholds + step * np.eye(3)[k]
        if engine is ExpectationPropagation:
            other = sites_at(Z, labels, moved, noise=1.0).result()
        else:
            other = mode_at(Z, labels, moved, np.ones(60)).result()
        assert other.log_evidence < best


@BOTH
def test_gradient_by_kernel_noise_and_scale_is_that_of_differences(engine):
    """Thresholds are learned again at every step: their gradient is 0 but for one more label."""
    X, labels = grades(40)
    names = ("gamma", "prior_scale", "noise")[: 3 if engine is ExpectationPropagation else 2]
    start, request = {"gamma": 0.3, "prior_scale": 2.0, "noise": 1.0}, Request(kind="interval")

    def run(values):
        one = engine(tol=1e-11, prior_scale=values["prior_scale"])
        if "noise" in names:
            one.set_params(noise=values["noise"])
        space = ProcessSpace(RadialKernel(gamma=values["gamma"]).fitted(X)).fit(X)
        posterior, _ = one.run(space, labels[:, None].astype(np.int16), request)
        return one, space, posterior

    one, space, posterior = run(start)
    targets = labels[:, None].astype(np.int16)
    found = evidence_gradient(one, space, X, targets, posterior, names)
    thresholds = posterior.likelihood.thresholds

    def evidence(values):
        _, space, _ = run(values)
        Z = space.rows()
        if engine is ExpectationPropagation:
            noise, scale = values["noise"], values["prior_scale"]
            return sites_at(Z, labels, thresholds, noise=noise, scale=scale).result().log_evidence
        mode = mode_at(Z, labels, thresholds, scale=values["prior_scale"])
        return mode.result().log_evidence

    for name in names:
        up, down = (evidence(start | {name: start[name] * np.exp(h)}) for h in (1e-4, -1e-4))
        assert found[name] == pytest.approx((up - down) / 2e-4, rel=1e-5, abs=1e-4)


def fitted(X, y, engine, **more):
    params = {"kernel": "linear", "multi_class": "ordinal", "temperature": 1.0} | more
    return BayesPointClassifier(engine=engine(**EXACT), **params).fit(X, y)


@BOTH
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_opposite_order_gives_the_same_probabilities(engine, kernel):
    X, y = grades(50, 5)
    one = fitted(X, y, engine, kernel=kernel)
    other = fitted(X, y, engine, kernel=kernel, multi_class=[4, 3, 2, 1, 0])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-10)
    np.testing.assert_allclose(one.log_evidence_, other.log_evidence_, atol=1e-10)
    np.testing.assert_allclose(one.coef_, -other.coef_, atol=1e-8) if kernel == "linear" else None
    negative = fitted(X, -y, engine, kernel=kernel)
    np.testing.assert_allclose(one.predict_proba(X), negative.predict_proba(X)[:, ::-1], atol=1e-10)


@BOTH
def test_two_classes_are_the_binary_machine(engine):
    X, y = grades(40, 2)
    ordinal, binary = fitted(X, y, engine), fitted(X, y, engine, multi_class="auto")
    np.testing.assert_allclose(ordinal.predict_proba(X), binary.predict_proba(X), atol=1e-8)
    Z = np.column_stack([X, np.ones(40)])
    if engine is ExpectationPropagation:  # and so is one threshold at 0
        result = sites_at(Z, y, [0.0], noise=1.0).result()
    else:
        result = mode_at(Z, y, [0.0], np.ones(40)).result()
    assert result.log_evidence == pytest.approx(binary.log_evidence_[0], abs=1e-8)
    np.testing.assert_allclose(result.mean, binary.posterior_.mean[:, 0], atol=1e-7)


@BOTH
def test_fifty_classes(engine):
    X, y = grades(200, 50)
    clf = fitted(X, y, engine)
    p = clf.predict_proba(X)
    assert clf.run_.converged
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
    assert (np.diff(clf.posterior_.likelihood.thresholds) > 0).all()
    assert np.abs(p @ np.arange(50) - y).mean() < 8


@BOTH
@pytest.mark.parametrize("max_iter", [3, 8, 15, 25, 1000])
def test_classes_that_can_be_separated_and_few_iterations(engine, max_iter):
    """Thresholds are far apart and hardly matter; runs that are cut short warn, and predict."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    params = {"kernel": "rbf", "multi_class": "ordinal", "temperature": 1.0}
    clf = BayesPointClassifier(engine=engine(prior_scale=28.0, max_iter=max_iter), **params)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(X, y)
    assert bool(caught) != clf.run_.converged
    assert clf.run_.converged == (max_iter == 1000)
    assert clf.n_iter_ <= max_iter
    assert (clf.predict(X) == y).mean() > (0.9 if clf.run_.converged else 0.4)


@BOTH
def test_a_class_without_points_keeps_some_room(engine):
    """A part of the points, from which kernels are learned, may lack a class."""
    X, y = grades(60, 5)
    here = y != 2
    space = ProcessSpace(RadialKernel().fitted(X)).fit(X[here])
    targets = y[here][:, None].astype(np.int16)
    posterior, run = engine(**EXACT).run(space, targets, Request(kind="interval"))
    assert run.converged
    gaps = np.diff(posterior.likelihood.thresholds)
    assert 0 < gaps[1] < 0.3 * min(gaps[0], gaps[2])


@BOTH
def test_a_class_that_is_missing_in_a_fold_is_left_out(engine):
    X, y = grades(60, 4)
    clf = fitted(X[y != 1], y[y != 1], engine)
    assert clf.classes_.tolist() == [0, 2, 3]
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1)


@BOTH
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_samples_does_not_matter_and_a_weight_is_a_copy(engine, seed):
    X, y = grades(25, 3, seed=seed)
    rng = np.random.default_rng(seed)
    one, order = fitted(X, y, engine), rng.permutation(25)
    other = fitted(X[order], y[order], engine)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)
    twice = rng.random(25) < 0.3
    copies = fitted(np.vstack([X, X[twice]]), np.append(y, y[twice]), engine)
    weights = BayesPointClassifier(
        kernel="linear", engine=engine(**EXACT), multi_class="ordinal", temperature=1.0
    ).fit(X, y, sample_weight=1.0 + twice)
    np.testing.assert_allclose(copies.predict_proba(X), weights.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(copies.log_evidence_, weights.log_evidence_, atol=1e-6)


@BOTH
def test_leave_one_out_predictions_are_about_those_of_fits_without_a_point(engine):
    X, y = grades(40, 3)
    clf = fitted(X, y, engine)
    found = clf.coding_.probabilities(
        *clf.coding_.left_out(clf.posterior_.left_out_log_probability, y)
    )
    for i in range(0, 40, 7):
        rest = np.arange(40) != i
        exact = fitted(X[rest], y[rest], engine).predict_proba(X[[i]])[0]
        np.testing.assert_allclose(found[i], exact, atol=0.05)


@pytest.mark.parametrize(
    ("engine", "why"),
    [
        (ExpectationPropagation(label_noise=0.1), "label_noise"),
        (ExpectationPropagation(noise=0.0), "noise=0"),
        (ExpectationPropagation(max_iter=1), "max_iter=1"),
        ("perceptron", "one class after another"),
    ],
    ids=["flips", "hard", "single pass", "perceptron"],
)
def test_what_has_no_ordinal_form_says_so(engine, why):
    X, y = grades(20, 3)
    with pytest.raises(ValueError, match=f"multi_class='ordinal' is not available: .*{why}"):
        BayesPointClassifier(kernel="linear", engine=engine, multi_class="ordinal").fit(X, y)

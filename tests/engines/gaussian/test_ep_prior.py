"""Priors that are given: changes of coordinates, closed forms, quadrature, and bad ones."""

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from tests.helpers.exact import grid_posterior
from tests.helpers.probit import machine, problem

pytestmark = pytest.mark.filterwarnings("ignore::bayespoint.exceptions.FactorisedWarning")
SCHEDULES = pytest.mark.parametrize("schedule", ["sequential", "rounds"])
ENGINES = pytest.mark.parametrize("engine", ["ep", "factorised-ep"])


def random_root(d, seed=0):
    return np.eye(d) + 0.4 * np.random.default_rng(seed).normal(size=(d, d))


def with_intercept(**parameters):
    return machine(**parameters).set_params(fit_intercept=True)


def assert_maps_to(clf, plain, R):
    """Weights of ``clf`` are R times those of ``plain``."""
    np.testing.assert_allclose(clf.posterior_.mean, R @ plain.posterior_.mean, atol=1e-9)
    expected = R @ plain.posterior_.covariance @ R.T
    np.testing.assert_allclose(clf.posterior_.covariance, expected, atol=1e-9)
    np.testing.assert_allclose(clf.log_evidence_, plain.log_evidence_, atol=1e-8)
    np.testing.assert_allclose(
        clf.posterior_.left_out_log_probability,
        plain.posterior_.left_out_log_probability,
        atol=1e-8,
    )


# Changes of coordinates --------------------------------------------------------------------------


@SCHEDULES
@pytest.mark.parametrize("flip", [0.0, 0.05])
def test_a_covariance_is_a_change_of_features(schedule, flip):
    """w = R u with u ~ N(0, I): w.x = u.(R^T x)."""
    X, y = problem()
    R = random_root(4)
    parameters = {"schedule": schedule, "label_noise": flip, "noise": 0.7}
    clf = machine(prior_covariance=R @ R.T, **parameters).fit(X, y)
    assert_maps_to(clf, machine(**parameters).fit(X @ R, y), R)


@ENGINES
def test_scales_are_scales_of_features(engine):
    X, y = problem()
    scale = np.array([0.1, 1.0, 3.0, 0.5])
    clf = machine(prior_scale=scale, engine=engine, max_iter=1000).fit(X, y)
    plain = machine(engine=engine, max_iter=1000).fit(X * scale, y)
    assert_maps_to(clf, plain, np.diag(scale))


def test_a_list_and_one_number_are_arrays_too():
    X, y = problem()
    for one, other in [
        ({"prior_scale": 2.0}, {"prior_scale": [2.0] * 4}),
        ({"prior_scale": [2.0] * 4}, {"prior_covariance": 4 * np.eye(4)}),
        ({"prior_mean": [1, 0, 0, -1]}, {"prior_mean": [[1, 0, 0, -1]]}),
    ]:
        assert_maps_to(machine(**one).fit(X, y), machine(**other).fit(X, y), np.eye(4))


@SCHEDULES
def test_a_weight_that_is_known_shifts_the_output(schedule):
    """A mean of the intercept is one more constant feature whose weight has no variance."""
    X, y = problem(30, 2)
    X = np.column_stack([X, np.ones(30)])
    clf = machine(prior_mean=[0, 0, 0.8], schedule=schedule).fit(X, y)
    known = {"prior_mean": [0, 0, 0, 0.8], "prior_scale": [1, 1, 1, 1e-9]}
    sure = machine(**known, schedule=schedule).fit(np.column_stack([X, np.ones(30)]), y)
    np.testing.assert_allclose(clf.coef_[0, :2], sure.coef_[0, :2], atol=1e-8)
    assert clf.coef_[0, 2] == pytest.approx(sure.coef_[0, 2:].sum(), abs=1e-8)
    assert clf.log_evidence_ == pytest.approx(sure.log_evidence_, abs=1e-7)


@ENGINES
def test_a_feature_whose_weight_is_known_costs_no_evidence(engine):
    X, y = problem(30, 2)
    plain = machine(engine=engine).fit(X, y)
    X = np.column_stack([X, 1e-12 * np.ones(30)])
    sure = machine(prior_mean=[0, 0, 1e3], prior_scale=[1, 1, 1e-6], engine=engine)
    assert sure.fit(X, y).log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-6)
    assert sure.coef_[0, 2] == 1e3


# Closed forms and quadrature ---------------------------------------------------------------------


@ENGINES
@pytest.mark.parametrize("label", [-1, 1])
def test_one_point_is_exact(engine, label):
    """Beside a point without features, so that there are two classes."""
    mean, scale, beta = np.array([0.7, -0.2]), np.array([1.5, 0.4]), 0.8
    phi = np.array([1.0, 0.0] if engine == "factorised-ep" else [1.0, 2.0])
    clf = machine(noise=beta, prior_mean=mean, prior_scale=scale, engine=engine)
    clf.fit([phi, [0, 0]], [label, -label])
    s = np.sqrt(beta**2 + np.square(phi * scale).sum())
    t = label * phi @ mean / s
    V = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) / ndtr(t)
    z = scale**2 * phi
    np.testing.assert_allclose(clf.coef_[0], mean + label * z * V / s, rtol=1e-10)
    expected = np.diag(scale**2) - np.outer(z, z) * V * (V + t) / s**2
    np.testing.assert_allclose(clf.posterior_.covariance[0], expected, atol=1e-12)
    assert clf.log_evidence_[0] == pytest.approx(log_ndtr(t) + np.log(0.5), rel=1e-12)


@ENGINES
@pytest.mark.parametrize(("mean", "found", "variance"), [(-100, -49.99, 0.5001), (-1e4, -5e3, 0.5)])
def test_a_very_wrong_mean_is_corrected(engine, mean, found, variance):
    """Where Phi underflows; references of another implementation."""
    clf = machine(prior_mean=[mean], engine=engine).fit([[1.0], [0.0]], [1, -1])
    assert clf.coef_[0, 0] == pytest.approx(found, abs=2e-4)
    assert clf.posterior_.covariance.item() == pytest.approx(variance, abs=1e-4)
    assert clf.log_evidence_[0] == pytest.approx(
        log_ndtr(mean / np.sqrt(2)) + np.log(0.5), rel=1e-12
    )


@ENGINES
@pytest.mark.parametrize(("mean", "scale"), [(0.0, 1.0), (1.5, 0.7), (-3.0, 2.0)])
def test_evidence_by_quadrature(mean, scale, engine):
    X, y = problem(12, 1)

    def exact(mean, scale):
        line = np.linspace(-10, 10, 4001)
        w = mean + scale * line
        density = np.exp(-(line**2) / 2) / np.sqrt(2 * np.pi) * (line[1] - line[0])
        density *= ndtr(np.outer(w, X[:, 0] * y)).prod(axis=1)
        return density @ w / density.sum(), np.log(density.sum())

    clf = machine(prior_mean=[mean], prior_scale=scale, engine=engine).fit(X, y)
    exact_mean, exact_evidence = exact(mean, scale)
    assert clf.log_evidence_[0] == pytest.approx(exact_evidence, abs=0.03)
    assert clf.coef_[0, 0] == pytest.approx(exact_mean, abs=0.02)
    assert abs(clf.log_evidence_[0] - exact(mean + 0.5, scale)[1]) > 0.03  # another prior


def test_posterior_on_a_grid():
    X, y = problem(15, 2)
    mean, R = np.array([1.0, -2.0]), random_root(2)
    clf = machine(prior_mean=mean, prior_covariance=R @ R.T).fit(X, y)

    def exact(covariance):
        return grid_posterior(lambda w: np.prod(ndtr(y * (w @ X.T)), axis=-1), mean, covariance)

    exact_mean, covariance, evidence = exact(R @ R.T)
    gap = np.abs(clf.coef_[0] - exact_mean) / np.sqrt(covariance.diagonal())
    assert gap.max() < 0.03
    spread = np.linalg.norm(clf.posterior_.covariance[0] - covariance)
    assert spread < 0.15 * np.linalg.norm(covariance)
    assert clf.log_evidence_[0] == pytest.approx(evidence, abs=0.03)
    assert abs(clf.log_evidence_[0] - exact(np.eye(2))[2]) > 0.03  # another prior


def test_evidence_by_importance_sampling():
    X, y = problem(40, 2)
    mean, R, n = np.array([0.5, 1.0]), random_root(2), 40_000
    clf = machine(prior_mean=mean, prior_covariance=R @ R.T).fit(X, y)
    drawn = clf.posterior_.draw(n, np.random.default_rng(0))[:, :, 0].T
    log_ratio = log_ndtr(y * (drawn @ X.T)).sum(axis=1)
    log_ratio += multivariate_normal(mean, R @ R.T).logpdf(drawn)
    log_ratio -= multivariate_normal(clf.coef_[0], clf.posterior_.covariance[0]).logpdf(drawn)
    ratio = np.exp(log_ratio)
    error = 5 * ratio.std() / ratio.mean() / np.sqrt(n)
    assert error < 0.03
    assert -error < np.log(ratio.mean()) - clf.log_evidence_[0] < 0.05 + error
    other = machine(prior_covariance=R @ R.T).fit(X, y).log_evidence_[0]  # without the mean
    assert abs(np.log(ratio.mean()) - other) > 0.05 + error


# The intercept and several classes ---------------------------------------------------------------


@ENGINES
def test_scale_of_the_intercept(engine):
    X, y = problem()
    kind = {"engine": engine, "max_iter": 1000}
    own = with_intercept(intercept_scale=5.0, prior_scale=2.0, **kind).fit(X, y)
    covered = with_intercept(prior_scale=[2, 2, 2, 2, 5], **kind).fit(X, y)
    assert_maps_to(own, covered, np.eye(5))
    column = machine(prior_scale=[2, 2, 2, 2, 5], **kind).fit(np.column_stack([X, np.ones(60)]), y)
    assert_maps_to(own, column, np.eye(5))
    assert own.intercept_[0] == pytest.approx(column.coef_[0, 4], abs=1e-9)
    listed = with_intercept(prior_scale=[2] * 4, intercept_scale=5.0, **kind).fit(X, y)
    assert_maps_to(own, listed, np.eye(5))


def test_an_intercept_that_no_array_covers():
    """It has mean 0, and the scale of all weights if that is one number, else 1."""
    X, y = problem()
    R, mean = random_root(4), np.linspace(-1, 1, 4)
    block = np.eye(5)
    block[:4, :4] = R @ R.T
    for one, other in [
        ({"prior_scale": 3.0}, {"prior_scale": [3] * 5}),
        ({"prior_scale": [3] * 4}, {"prior_scale": [3, 3, 3, 3, 1]}),
        ({"prior_covariance": R @ R.T}, {"prior_covariance": block}),
        ({"prior_mean": mean}, {"prior_mean": [*mean, 0]}),
        ({"prior_mean": mean, "prior_scale": 2.0}, {"prior_mean": mean, "prior_scale": [2] * 5}),
    ]:
        assert_maps_to(
            with_intercept(**one).fit(X, y), with_intercept(**other).fit(X, y), np.eye(5)
        )
    block[4, 4] = 49
    one = with_intercept(prior_covariance=R @ R.T, intercept_scale=7).fit(X, y)
    assert_maps_to(one, with_intercept(prior_covariance=block).fit(X, y), np.eye(5))


@pytest.mark.parametrize("width", [4, 5])
def test_a_mean_for_each_class(width):
    X, y = load_iris(return_X_y=True)
    means = np.random.default_rng(0).normal(size=(3, width))
    clf = with_intercept(prior_mean=means).set_params(multi_class="one_vs_rest").fit(X, y)
    for task in range(3):
        alone = with_intercept(prior_mean=means[task]).fit(X, y == task)
        np.testing.assert_allclose(clf.posterior_.mean[:, task], alone.posterior_.mean[:, 0])
        assert clf.log_evidence_[task] == pytest.approx(alone.log_evidence_[0])
    shared = with_intercept(prior_mean=means[0]).set_params(multi_class="one_vs_rest")
    shared.fit(X, y)  # one mean for all tasks
    np.testing.assert_allclose(shared.posterior_.mean[:, 0], clf.posterior_.mean[:, 0])


# Bad priors --------------------------------------------------------------------------------------

ASYMMETRIC = [[1, 0.5, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prior_scale": -1.0}, r"'prior_scale' .* .*, an array or a float in the range \(0"),
        ({"prior_scale": "wide"}, "'prior_scale' .* must be 'auto', an array or a float"),
        ({"prior_scale": None}, "'prior_scale' .* must be 'auto', an array or a float"),
        ({"prior_scale": True}, "'prior_scale' .* must be 'auto', an array or a float"),
        ({"prior_scale": [1, 1, 1, 0]}, "'prior_scale' .* must be positive, in all its entries"),
        ({"prior_scale": [1, 1, 1, -2]}, "'prior_scale' .* must be positive, in all its entries"),
        ({"prior_scale": [1, 1, 1, np.nan]}, "'prior_scale' .* a finite 1-D array of numbers"),
        ({"prior_scale": np.ones((2, 2))}, "'prior_scale' .* a finite 1-D array of numbers"),
        ({"prior_scale": []}, "'prior_scale' .* a finite 1-D array of numbers"),
        ({"prior_scale": ["a"] * 4}, "'prior_scale' .* a finite 1-D array of numbers"),
        ({"prior_scale": [1, 1, 1]}, "as many entries as there are features: 4. Got 3 instead"),
        ({"prior_scale": [1, 1, 1, 1e200]}, "squares, which overflow"),
        ({"prior_scale": [1, 1, 1, 1e-200]}, "squares, which overflow"),
        ({"prior_mean": 1.0}, "'prior_mean' .* a finite 1-D or 2-D array of numbers"),
        ({"prior_mean": "none"}, "'prior_mean' .* a finite 1-D or 2-D array of numbers"),
        ({"prior_mean": [0, 0, 0, np.inf]}, "'prior_mean' .* a finite 1-D or 2-D array"),
        ({"prior_mean": [0, 0, 0, 0, 0]}, "as many entries as there are features: 4. Got 5"),
        ({"prior_mean": np.zeros((2, 4))}, "'prior_mean' .* one mean for all 1 tasks"),
        ({"prior_mean": [1e200] * 4}, "squares, which overflow"),
        ({"prior_covariance": np.ones(4)}, "'prior_covariance' .* a finite 2-D array"),
        ({"prior_covariance": np.eye(3)}, "as many entries as there are features: 4. Got 3"),
        ({"prior_covariance": np.ones((4, 3))}, "'prior_covariance' .* square and symmetric"),
        ({"prior_covariance": ASYMMETRIC}, "'prior_covariance' .* square and symmetric"),
        ({"prior_covariance": 1e-12 * np.array(ASYMMETRIC)}, "square and symmetric"),
        ({"prior_covariance": np.ones((4, 4))}, "'prior_covariance' .* positive definite"),
        ({"prior_covariance": -np.eye(4)}, "'prior_covariance' .* positive definite"),
        ({"prior_covariance": np.full((4, 4), np.nan)}, "'prior_covariance' .* a finite 2-D"),
        ({"prior_covariance": np.eye(4), "prior_scale": 2.0}, "'prior_scale' .* 1.0 where prior_c"),
        ({"prior_covariance": np.eye(4), "prior_scale": [1] * 4}, "'prior_scale' .* 1.0 where"),
        ({"intercept_scale": 0}, "'intercept_scale' .* None or a float"),
        ({"intercept_scale": [1.0]}, "'intercept_scale' .* None or a float"),
        ({"intercept_scale": 1e200}, "squares, which overflow"),
    ],
    ids=str,
)
def test_bad_priors(parameters, message):
    X, y = problem()
    fit_intercept = parameters.get("intercept_scale") == 1e200
    clf = machine(**parameters).set_params(fit_intercept=fit_intercept)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        clf.fit(X, y)


@pytest.mark.parametrize(
    "parameters",
    [{"prior_scale": [1] * 5}, {"prior_covariance": np.eye(5)}],
    ids=["scale", "covariance"],
)
def test_two_scales_of_the_intercept(parameters):
    X, y = problem()
    with pytest.raises(ValueError, match=r"'intercept_scale' .* None where prior_\w+ covers"):
        with_intercept(intercept_scale=2.0, **parameters).fit(X, y)


def test_the_width_that_an_intercept_allows_is_told():
    X, y = problem()
    with pytest.raises(ValueError, match=r"4 entries a side, or 5 with the intercept. Got 6"):
        with_intercept(prior_scale=[1] * 6).fit(X, y)


@pytest.mark.parametrize(
    "parameters",
    [
        {"prior_scale": [1] * 4},
        {"prior_mean": [0] * 4},
        {"prior_covariance": np.eye(4)},
        {"intercept_scale": 1.0},
    ],
    ids=["scale", "mean", "covariance", "intercept"],
)
@pytest.mark.parametrize("more", [{"kernel": "rbf"}, {"kernel": "poly"}, {"ridge": 0.1}], ids=str)
def test_features_without_names_have_no_prior_of_their_own(parameters, more):
    X, y = problem()
    clf = machine(**parameters).set_params(**more)
    with pytest.raises(ValueError, match=r"belong to features.*use kernel='linear'"):
        clf.fit(X, y)
    machine(prior_scale=2.0).set_params(**more).fit(X, y)  # one number is fine


def test_without_an_intercept_there_is_no_scale_of_it():
    X, y = problem()
    clf = machine(intercept_scale=2.0)
    with pytest.raises(ValueError, match=r"'intercept_scale' parameter .* where there is no"):
        clf.fit(X, y)

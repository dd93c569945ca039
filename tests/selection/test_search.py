"""EvidenceSearch against grids, simulations and its own symmetries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.kernels import RadialKernel
from bayespoint.selection import EvidenceSearch, objective

SCALE, NOISE, FLIP = "engine__prior_scale", "engine__noise", "engine__label_noise"
BOUNDS = {SCALE: (0.01, 100.0)}


def machine(kernel="linear", own=None, **rest):
    return BayesPointClassifier(kernel=kernel, engine=ExpectationPropagation(**own or {}), **rest)


def evidence(clf, X, y, **parameters):
    return clone(clf).set_params(**parameters).fit(X, y).log_evidence_.sum()


# The maximum --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_the_maximum_is_that_of_a_fine_grid(seed):
    X, y = problem(n=40, seed=seed)
    search = EvidenceSearch(machine(), param_bounds=BOUNDS).fit(X, y)
    grid = [evidence(machine(), X, y, **{SCALE: s}) for s in np.geomspace(*BOUNDS[SCALE], 60)]
    assert max(grid) - 1e-4 < search.best_score_ < max(grid) + 0.1
    assert search.best_score_ == evidence(machine(), X, y, **search.best_params_)


def test_the_maximum_in_two_dimensions_is_that_of_a_fine_grid():
    X, _ = problem(n=40, d=2)
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * np.random.default_rng(0).normal(size=40) > 0, 1, -1)
    bounds = {SCALE: (0.1, 30.0), "gamma": (1e-3, 3.0)}
    search = EvidenceSearch(machine("rbf"), param_bounds=bounds, tol=1e-3).fit(X, y)
    grid = {name: np.geomspace(*pair, 12) for name, pair in bounds.items()}
    brute = EvidenceSearch(machine("rbf"), grid).fit(X, y)
    assert brute.best_score_ - 1e-4 < search.best_score_ < brute.best_score_ + 0.3
    assert all(low < search.best_params_[name] < high for name, (low, high) in bounds.items())
    assert len(search.cv_results_["params"]) < 30 < len(brute.cv_results_["params"])


@pytest.mark.parametrize("engine", [LaplaceApproximation(), ExpectationPropagation(max_iter=1)])
def test_the_maximum_of_other_evidences(engine):
    X, y = problem(n=30)
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine)
    search = EvidenceSearch(clf, param_bounds=BOUNDS).fit(X, y)
    grid = [evidence(clf, X, y, **{SCALE: s}) for s in np.geomspace(*BOUNDS[SCALE], 30)]
    assert max(grid) - 1e-4 < search.best_score_ < max(grid) + 0.2


def test_differences_lead_to_the_same_maximum_as_gradients(monkeypatch):
    X, y = problem(n=40)
    exact = EvidenceSearch(machine(), param_bounds=BOUNDS, tol=1e-3).fit(X, y)
    monkeypatch.setattr(objective, "is_differentiable", lambda kernel, engine, name: False)
    numeric = EvidenceSearch(machine(), param_bounds=BOUNDS, tol=1e-3).fit(X, y)
    assert numeric.best_score_ == pytest.approx(exact.best_score_, abs=1e-6)
    assert numeric.best_params_[SCALE] == pytest.approx(exact.best_params_[SCALE], rel=1e-3)


def test_a_failed_fit_leads_back():
    X, y = problem(n=40)  # a rate of 1/2 or more is refused
    y[::2] *= -1  # no rule at all: the more flips the better
    search = EvidenceSearch(machine(own={"label_noise": 0.1}), param_bounds={FLIP: (1e-4, 3.0)})
    with pytest.warns(FitFailedWarning, match="'label_noise' parameter"):
        search.fit(X, y)
    assert 0.3 < search.best_params_[FLIP] < 0.5


# Simulated data -----------------------------------------------------------------------------------


def simulated(scale, n=400, d=40, flip=0.0, seed=0):
    """Labels of the model itself: noise 1, weights of the given scale, some labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    p = flip + (1 - 2 * flip) * ndtr(X @ rng.normal(0, scale, size=d))
    return X, np.where(rng.uniform(size=n) < p, 1, -1)


def estimate(clf, bounds, X, y):
    """The best logarithm, and its standard error from the curvature of the log evidence."""
    (name,) = bounds
    search = EvidenceSearch(clf, param_bounds=bounds).fit(X, y)
    best, h = search.best_params_[name], 0.05
    sides = sum(evidence(clf, X, y, **{name: best * np.exp(sign * h)}) for sign in (1, -1))
    return np.log(best), np.sqrt(h**2 / (2 * search.best_score_ - sides))


def test_the_scale_of_the_weights_is_recovered():
    clf = machine(fit_intercept=False)
    low, low_error = estimate(clf, BOUNDS, *simulated(0.2))
    high, high_error = estimate(clf, BOUNDS, *simulated(1.0, seed=1))
    assert abs(low - np.log(0.2)) < 5 * low_error < 1.0
    assert abs(high - np.log(1.0)) < 5 * high_error < 1.5
    assert abs(low - np.log(1.0)) > 5 * low_error  # the data tell the two from each other


def test_only_the_ratio_of_scale_and_noise_is_recovered():
    X, y = simulated(0.5, n=200, d=10)
    by_scale = EvidenceSearch(machine(), param_bounds=BOUNDS).fit(X, y)
    by_noise = EvidenceSearch(machine(), param_bounds={NOISE: (0.01, 100.0)}).fit(X, y)
    ratio = by_scale.best_params_[SCALE] * by_noise.best_params_[NOISE]
    assert ratio == pytest.approx(1.0, rel=1e-3)
    assert by_scale.best_score_ == pytest.approx(by_noise.best_score_, abs=1e-5)


def test_the_rate_of_flips_is_recovered():
    X, y = simulated(3.0, n=800, d=3, flip=0.1)
    clf = machine(own={"prior_scale": 3.0, "label_noise": 0.02}, fit_intercept=False)
    rate, error = estimate(clf, {FLIP: (1e-3, 0.45)}, X, y)
    assert abs(rate - np.log(0.1)) < 5 * error < 2.0


# Symmetries ---------------------------------------------------------------------------------------


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 100), st.floats(0.1, 10.0))
def test_order_labels_and_units_do_not_matter(seed, unit):
    X, y = problem(n=30, seed=seed)
    clf = machine(own={"tol": 1e-9}, fit_intercept=False)
    plain = EvidenceSearch(clf, param_bounds={SCALE: (1e-3, 1e3)}, tol=1e-6).fit(X, y)
    order = np.random.default_rng(seed).permutation(len(y))
    moved = clone(plain).fit(unit * X[order], -y[order])
    assert moved.best_score_ == pytest.approx(plain.best_score_, abs=1e-5)
    if plain.best_params_[SCALE] < 50:  # not a bound
        assert moved.best_params_[SCALE] * unit == pytest.approx(
            plain.best_params_[SCALE], rel=1e-2
        )


def test_weight_two_is_a_copy():
    X, y = problem(n=30)
    clf = machine("rbf", {"tol": 1e-9}, gamma=0.2)
    bounds = {SCALE: (0.1, 100.0), "gamma": (1e-4, 1.0)}
    weight = np.tile([1.0, 2.0], 15)
    weighted = EvidenceSearch(clf, param_bounds=bounds).fit(X, y, sample_weight=weight)
    copies = np.repeat(np.arange(30), weight.astype(int))
    copied = clone(weighted).fit(X[copies], y[copies])
    assert weighted.best_score_ == pytest.approx(copied.best_score_, abs=1e-5)
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-4)


def test_several_classes_add_up():
    X, _ = problem(n=60)
    y = np.array(list("abc"))[np.digitize(X[:, 0], [-0.4, 0.5])]
    search = EvidenceSearch(machine(), {SCALE: [0.1, 1.0, 10.0]}).fit(X, y)
    sums = [evidence(machine(), X, y, **{SCALE: s}) for s in (0.1, 1.0, 10.0)]
    np.testing.assert_allclose(search.cv_results_["log_evidence"], sums)
    assert search.best_index_ == np.argmax(sums)
    assert search.classes_.tolist() == ["a", "b", "c"]
    bounded = EvidenceSearch(machine(), param_bounds=BOUNDS).fit(X, y)
    assert bounded.best_score_ >= search.best_score_


# The manner of scikit-learn -----------------------------------------------------------------------


def test_grid_and_bounds_together():
    X, y = problem(n=40)
    search = EvidenceSearch(
        machine(), {"kernel": ["linear", "rbf"]}, param_bounds=BOUNDS, n_starts=2, random_state=0
    ).fit(X, y)
    results = search.cv_results_
    n = len(results["params"])
    for name in ("param_kernel", f"param_{SCALE}", "log_evidence", "rank", "fit_time", "converged"):
        assert len(results[name]) == n
    assert results["rank"][search.best_index_] == 1
    assert results["log_evidence"].argmax() == search.best_index_
    assert results["params"][search.best_index_] == search.best_params_
    assert set(results["param_kernel"]) == {"linear", "rbf"}
    assert search.best_estimator_.log_evidence_.sum() == search.best_score_
    for kernel in ("linear", "rbf"):
        alone = EvidenceSearch(machine(kernel), param_bounds=BOUNDS).fit(X, y)
        best = results["log_evidence"][results["param_kernel"] == kernel].max()
        assert best == pytest.approx(alone.best_score_, abs=1e-4)


def test_parameters_that_only_some_of_the_grid_has_are_masked():
    grid = [{"kernel": ["rbf"], "gamma": [0.1, 1.0]}, {"kernel": ["linear"]}]
    results = EvidenceSearch(machine(), grid).fit(*problem()).cv_results_
    assert results["param_gamma"].mask.tolist() == [False, False, True]
    assert sorted(results["rank"]) == [1, 2, 3]


def test_arrays_and_engines_in_a_grid():
    X, y = problem()
    engines = [ExpectationPropagation(noise=s) for s in (0.1, 1.0)]
    search = EvidenceSearch(machine(), {"engine": engines}, param_bounds=BOUNDS).fit(X, y)
    assert engines[0].prior_scale == engines[1].prior_scale == "auto"  # copies were searched
    scales = [np.ones(4), np.full(4, 0.5), np.array([1.0, 2.0, 1.0, 0.1])]
    search = EvidenceSearch(machine(), {SCALE: scales}).fit(X, y)
    assert search.best_params_[SCALE] is scales[search.best_index_]


def test_pipelines():
    X, y = problem(n=50)
    pipeline = make_pipeline(StandardScaler(), machine())
    name = f"bayespointclassifier__{SCALE}"
    search = EvidenceSearch(pipeline, param_bounds={name: BOUNDS[SCALE]}).fit(X, y)
    by_hand = EvidenceSearch(machine(), param_bounds=BOUNDS).fit(
        StandardScaler().fit_transform(X), y
    )
    assert search.best_params_[name] == by_hand.best_params_[SCALE]
    assert search.best_score_ == by_hand.best_score_
    grid = {"standardscaler": [StandardScaler(), MinMaxScaler(), "passthrough"]}
    search = EvidenceSearch(pipeline, grid, param_bounds={name: BOUNDS[SCALE]})
    search.fit(X, y, sample_weight=np.ones(50))
    assert search.best_score_ == search.best_estimator_[-1].log_evidence_.sum()
    assert search.n_features_in_ == 4
    alone = EvidenceSearch(make_pipeline(machine()), param_bounds={name: BOUNDS[SCALE]})
    assert alone.fit(X, y).score(X, y) > 0.7


def test_without_refit():
    X, y = problem()
    search = EvidenceSearch(machine(), {SCALE: [0.1, 1.0]}, refit=False).fit(X, y)
    assert search.best_params_[SCALE] in (0.1, 1.0)
    assert not hasattr(search, "best_estimator_") and not hasattr(search, "predict")
    assert not hasattr(
        search.set_params(refit=True).fit(X, y).set_params(refit=False).fit(X, y), "best_estimator_"
    )
    with pytest.raises(AttributeError) as raised:
        search.predict_proba(X)
    assert "refit=False: predict_proba is there only" in str(raised.value.__cause__)


def test_it_can_be_cloned_validated_and_run_in_parallel():
    X, y = problem(n=60)
    search = EvidenceSearch(machine("rbf"), param_bounds=BOUNDS, n_starts=2, random_state=1)
    assert cross_val_score(clone(search), X, y, cv=2).mean() > 0.6
    one, two = clone(search).fit(X, y), clone(search).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.cv_results_["log_evidence"], two.cv_results_["log_evidence"])
    np.testing.assert_array_equal(
        one.decision_function(X), one.best_estimator_.decision_function(X)
    )
    np.testing.assert_array_equal(one.vote_shares(X), one.best_estimator_.vote_shares(X))


def test_widths_of_features_switch_off_what_does_not_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.normal(size=150) > 1
    kernel = RadialKernel(gamma=np.full(4, 0.25))
    clf = BayesPointClassifier(kernel=kernel, engine=ExpectationPropagation(prior_scale=1.0))
    bounds = {"kernel__gamma": (1e-4, 10), "engine__prior_scale": (0.1, 100)}
    best = EvidenceSearch(clf, param_bounds=bounds).fit(X, y).best_estimator_
    assert best.kernel_.gamma[:2].min() > 25 * best.kernel_.gamma[2:].max()
    assert best.feature_relevance_[2:].sum() < 0.05


def test_prior_scales_of_features_switch_off_what_does_not_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = X[:, 0] + 0.3 * rng.normal(size=150) > 0
    clf = BayesPointClassifier(
        kernel="linear", engine=ExpectationPropagation(prior_scale=np.ones(4))
    )
    search = EvidenceSearch(clf, param_bounds={"engine__prior_scale": (1e-3, 100)}).fit(X, y)
    scale = search.best_params_["engine__prior_scale"]
    assert scale[0] > 1 > 0.1 > scale[1:].max()
    assert search.best_estimator_.feature_relevance_[0] > 0.99

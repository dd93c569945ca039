"""The Gibbs sampler as an engine: parameters, chains, weights, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.sphere import integrate, problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import GibbsSampler
from bayespoint.engines.sampling.convergence import AGREE, DISAGREE, Task, chain_run
from bayespoint.engines.sampling.halfspaces import Halfspaces
from bayespoint.exceptions import (
    ChainsDisagreeWarning,
    EmptyVersionSpaceError,
    KernelError,
)
from bayespoint.posteriors.diagnostics import effective_sample_size

# Many chains here are as short as a test can be.
pytestmark = pytest.mark.filterwarnings("ignore::bayespoint.exceptions.ChainsDisagreeWarning")


def machine(n_jobs=None, seed=0, **parameters):
    engine = GibbsSampler(**{"n_samples": 200, "burn_in": 200} | parameters)
    return BayesPointClassifier(
        kernel="linear",
        temperature=1.0,
        engine=engine,
        fit_intercept=False,
        random_state=seed,
        n_jobs=n_jobs,
    )


# Chains ----------------------------------------------------------------------------------------


def test_evidence_does_not_depend_on_the_number_of_threads():
    X, y = problem(30, n_flips=3)
    one, three = (machine(n, evidence=True).fit(X, y) for n in (1, 3))
    assert np.array_equal(one.posterior_.weights, three.posterior_.weights)
    assert np.array_equal(one.log_evidence_, three.log_evidence_)


def test_shapes_and_diagnostics():
    X, y = problem(30, n_flips=3)
    clf = machine(n_samples=203, thin=3, burn_in=7).fit(X, y)
    posterior, measures = clf.posterior_, clf.run_.measures
    assert posterior.to_dict()["weights"].shape == (4, 51, 3, 1)
    assert (posterior.n_samples, clf.n_iter_) == (204, 7 + 51 * 3)
    assert measures["r_hat"].shape == measures["effective_sample_size"].shape == (1,)
    assert measures["chain_cosine"].shape == (1, 4)
    draws = posterior.to_dict()["weights"][..., 0] @ X.T
    size = effective_sample_size(draws).min()
    assert measures["effective_sample_size"][0] == pytest.approx(size)


def test_a_single_short_chain():
    X, y = problem(10)
    clf = machine(n_samples=1, n_chains=1).fit(X, y)
    assert np.isnan(clf.run_.measures["r_hat"][0])
    assert "too short for a diagnosis" in clf.run_.summary
    assert np.isfinite(clf.posterior_.decision(X, "bayes_point")).all()


def test_target_ess_runs_until_it_is_there():
    X, y = problem(60, n_flips=6)
    short = machine(n_samples=1000, thin=1).fit(X, y)
    assert short.run_.measures["effective_sample_size"][0] < 500
    enough = machine(n_samples=1000, thin=1, target_ess=500).fit(X, y)
    assert enough.run_.measures["effective_sample_size"][0] >= 500
    assert enough.run_.measures["r_hat"][0] < AGREE
    assert enough.posterior_.n_samples == 1000
    assert enough.n_iter_ > short.n_iter_


def test_target_ess_gives_up():
    X, y = problem(60, n_flips=6)
    with pytest.warns(ChainsDisagreeWarning, match=r"\(target_ess=1000\)") as caught:
        machine(n_samples=1000, thin=1, target_ess=1000, max_steps=1000).fit(X, y)
    warning = caught[0].message
    assert (warning.task, warning.target_ess) == (0, 1000)
    assert warning.effective_sample_size < 1000
    assert warning.n_steps <= 1000


@pytest.mark.parametrize(
    ("scales", "remedy", "tried"),
    [
        ([1] * 5, "set target_ess=100, which lets the chains", {}),
        (
            [1, 3, 10, 30, 100],
            r"scale the features \(standardize=True\), and set target_ess=100",
            {"standardize": True},
        ),
    ],
)
def test_remedies_for_chains_that_disagree_work(scales, remedy, tried):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(400, 5)), rng.normal(size=5)
    y = np.where(X @ weights + 0.3 * rng.normal(size=400) > 0, 1, -1)
    with pytest.warns(ChainsDisagreeWarning, match=remedy) as caught:
        machine().fit(X * scales, y)
    assert caught[0].message.r_hat > DISAGREE
    better = machine(target_ess=100).set_params(**tried)
    assert better.fit(X * scales, y).run_.converged


@pytest.mark.parametrize(
    ("r_hat", "size", "good", "words", "advice"),
    [
        (1.01, 500.0, True, "the chains agree", ""),
        (1.07, 500.0, True, "nearly agree", "run longer"),
        (1.01, 50.0, True, "effective sample size 50", "run longer"),
        (1.5, 500.0, False, "disagree", "run longer"),
        (float("nan"), 5.0, True, "too short for a diagnosis", "run longer"),
    ],
)
def test_what_is_said_of_chains(r_hat, size, good, words, advice):
    X, y = problem(10)
    posterior = machine(n_samples=8).fit(X, y).posterior_
    draws = np.zeros((4, 2, 3))
    tasks = [Task(draws, draws[0, 0], 0.05, *two, 10) for two in ((1.0, 900.0), (r_hat, size))]
    run = chain_run(tasks, posterior, 2, None, "run longer")
    assert (run.converged, run.remedy) == (good, advice)
    assert words in run.summary
    assert len(run.warnings) == (not good)


# The model -------------------------------------------------------------------------------------


def test_probabilities_are_those_of_flipped_votes():
    X, y = problem(30, n_flips=3)
    new = np.random.default_rng(1).normal(size=(50, 3))
    for q in (0.0, 0.1, 0.5):
        X_q, y_q = (X, y) if q else problem(30)
        clf = machine(label_noise=q).set_params(decision="vote").fit(X_q, y_q)
        share = (clf.sample_outputs(new)[:, :, 0] > 0).mean(axis=1)
        np.testing.assert_allclose(clf.vote_shares(new)[:, 1], share)
        smooth = (200 * share + 0.5) / 201
        np.testing.assert_allclose(
            clf.predict_proba(new)[:, 1], q + (1 - 2 * q) * smooth, atol=0.005
        )
        single = clf.sample_proba(new, n_samples=7, random_state=0)
        assert single.shape == (7, 50, 2)
        np.testing.assert_allclose(np.unique(single.round(12)), np.unique([q, 1 - q]))


def test_bayes_point_is_the_coefficient():
    X, y = problem(30, n_flips=3)
    clf = machine().fit(X, y)
    np.testing.assert_allclose(clf.coef_[0], clf.posterior_.mean[:, 0])
    assert np.array_equal(np.sign(X @ clf.coef_[0]), np.sign(clf.decision_function(X)))
    kernel = machine(label_noise=0.1, n_samples=4000).set_params(kernel="precomputed")
    kernel.fit(X @ X.T, y)
    same = machine(label_noise=0.1, n_samples=4000).fit(X, y)
    both = kernel.decision_function(X @ X.T), same.decision_function(X)
    assert np.corrcoef(*both)[0, 1] > 0.999


def test_probabilities_are_calibrated():
    """Labels of new points from the model: predicted and seen log-loss agree."""
    rng = np.random.default_rng(0)
    surprise = []
    for seed in range(25):
        truth = rng.normal(size=4)
        X, new = rng.normal(size=(25, 4)), rng.normal(size=(200, 4))
        flip = np.where(rng.random((2, 200)) < 0.1, -1, 1)
        y, seen = np.sign(X @ truth) * flip[0, :25], np.sign(new @ truth) * flip[1]
        for decision in ("bayes_point", "vote"):
            clf = machine(label_noise=0.1, seed=seed).set_params(decision=decision).fit(X, y)
            p = clf.predict_proba(new)[:, 1]
            surprise.append(
                [
                    np.mean((seen > 0) - p),
                    np.mean((p > 0.5) == (seen > 0)) - np.mean(np.maximum(p, 1 - p)),
                ]
            )
    surprise = np.array(surprise)
    z = surprise.mean(axis=0) / (surprise.std(axis=0) / np.sqrt(25))
    assert np.abs(z).max() < 5
    assert np.abs(surprise.mean(axis=0)).max() < 0.02


def test_several_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(list("abc"), 20)
    X = 2 * np.eye(3)[np.repeat(range(3), 20)] + 0.7 * rng.normal(size=(60, 3))
    y[:3], y[20] = "b", "c"
    clf = machine(label_noise="auto").set_params(fit_intercept=True).fit(X, y)
    assert clf.score(X, y) > 0.8
    assert clf.posterior_.label_noise.shape == clf.log_evidence_.shape == (3,)
    assert len(np.unique(clf.posterior_.label_noise)) == 3
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1)
    assert np.isfinite(clf.sample_proba(X, random_state=0)).all()


def test_diversity_grows_with_noise():
    """Figure 3 of the paper: more noise, more diverse classifiers on the training set."""
    rng = np.random.default_rng(7)
    X = np.vstack([rng.normal((-0.9, 0.4), 0.7, (38, 2)), rng.normal((0.9, -0.4), 0.7, (38, 2))])
    y = np.repeat([-1, 1], 38)
    diversity, errors = [], []
    for q in (0.001, 0.05, 0.2, 0.4):
        engine = GibbsSampler(label_noise=q, burn_in=4000, thin=100, n_samples=200)
        clf = BayesPointClassifier(
            temperature=1.0, kernel="rbf", gamma=0.5, engine=engine, random_state=0
        )
        signs = np.sign(clf.fit(X, y).sample_outputs(X)[:, :, 0])
        share = (signs > 0).mean(axis=1)
        diversity.append(np.mean(2 * share * (1 - share)))
        errors.append(np.mean(signs != y[:, None]) * 76)
    assert diversity == sorted(diversity)
    assert errors == sorted(errors)
    assert errors[1] == pytest.approx(3.4, abs=1.5)  # 3.39, measured elsewhere
    assert errors[3] == pytest.approx(8.8, abs=2.5)  # 8.76


# Weights, and points of all kinds --------------------------------------------------------------


def test_weights_are_copies():
    """With the same random numbers, to rounding: copies make arcs of length 0."""
    X, y = problem(20, n_flips=2)
    weight = np.random.default_rng(0).integers(1, 4, 20)
    copies = np.repeat(np.arange(20), weight)
    one = machine(n_samples=40).fit(X, y, sample_weight=weight)
    other = machine(n_samples=40).fit(X[copies], y[copies])
    np.testing.assert_allclose(one.posterior_.weights, other.posterior_.weights, atol=1e-8)


def test_weights_that_are_no_integers():
    """Weights s: likelihood exp(-theta * weight of errors), here by importance."""
    X, y = problem(8, seed=3, n_flips=2)
    weight = np.random.default_rng(0).uniform(0.2, 2.5, 8)
    W = np.random.default_rng(1).normal(size=(400_000, 3))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    likelihood = np.exp(-np.log(9) * (((W @ X.T) * y <= 0) @ weight))
    expected = likelihood @ W / likelihood.sum()
    clf = machine(label_noise=0.1, n_samples=10_000)
    posterior = clf.fit(X, y, sample_weight=weight).posterior_
    np.testing.assert_allclose(posterior.mean[:, 0], expected, atol=0.015)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 1000))
def test_invariances(seed):
    """Order and lengths of the points do not matter; labels turned around turn w around."""
    rng = np.random.default_rng(seed)
    X, y = problem(12, seed=seed, n_flips=2)
    if abs(y.sum()) == 12:
        return
    weights = machine(n_samples=20).fit(X, y).posterior_.weights
    order = rng.permutation(12)
    lengths = 10.0 ** rng.uniform(-100, 100, (12, 1))
    other = machine(n_samples=20).fit((lengths * X)[order], y[order]).posterior_.weights
    np.testing.assert_allclose(other, weights, atol=1e-6)
    turned = machine(n_samples=20).fit(-X, -y).posterior_.weights
    np.testing.assert_allclose(turned, weights, atol=1e-6)


def test_one_coordinate():
    """The sphere in one dimension is two points."""
    X, y = np.array([[1.0], [2.0], [-1.0]]), np.array([1, -1, -1])
    posterior = machine(label_noise=0.2, n_samples=4000).fit(X, y).posterior_
    assert set(posterior.weights.ravel()) == {-1.0, 1.0}
    odds = (0.2 * 0.8**2) / (0.2**2 * 0.8)
    assert posterior.mean[0, 0] == pytest.approx((odds - 1) / (odds + 1), abs=0.05)


def test_points_that_are_zero_do_not_count():
    X, y = problem(10, n_flips=1)
    more = np.vstack([X, np.zeros((3, 3))]), np.append(y, [1, -1, 1])
    one, other = machine().fit(X, y), machine().fit(*more)
    np.testing.assert_allclose(one.posterior_.weights, other.posterior_.weights, atol=1e-9)
    assert np.allclose(other.predict_proba(np.zeros((1, 3))), 0.5)


def test_opposite_copies():
    X = np.array([[1.0, 0.5], [1.0, 0.5], [0.0, 1.0], [0.3, -1.0]])
    y = np.array([1, -1, 1, -1])
    posterior = machine(label_noise=0.05, n_samples=4000).fit(X, y).posterior_
    alone = machine(label_noise=0.05, n_samples=4000).fit(X[2:], y[2:]).posterior_
    np.testing.assert_allclose(posterior.mean, alone.mean, atol=0.05)
    with pytest.raises(EmptyVersionSpaceError, match="rows with different labels") as caught:
        machine(label_noise=0).fit(X, y)
    assert caught.value.n_points == 4
    assert caught.value.n_wrong > 0


def test_nothing_but_opposite_copies():
    X, y = np.ones((2, 3)), np.array([1, -1])
    posterior = machine(label_noise=0.1).fit(X, y).posterior_
    assert np.isfinite(posterior.decision(X, "vote")).all()


# The start -------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [3, 40])
def test_a_start_in_version_space(d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, d)) + 0.2
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    halfspaces = Halfspaces.of(X, y, None)
    assert (halfspaces.normals @ halfspaces.inside() > 0).all()


def test_a_thin_version_space_is_found_by_the_linear_program():
    angles = np.array([0.0, np.pi - 1e-4, 0.3, 2.0])
    X = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    halfspaces = Halfspaces.of(X, np.ones(4), None)
    w = halfspaces._largest_margin()
    assert (X @ w > 1e-6).all()
    assert np.linalg.norm(w) == pytest.approx(1)


# Bad input -------------------------------------------------------------------------------------


def test_kernels_that_are_no_inner_products():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(KernelError, match="not positive semi-definite"):
        machine().set_params(kernel="precomputed").fit(K, [0, 1])


def test_the_exact_mean_of_many_seeds():
    """No seed is luckier than its standard error says: z-scores of 20 short runs are standard."""
    X, y = problem(10, seed=1, n_flips=3)
    expected = integrate(X, y).posterior(0.1)[2]
    z = []
    for seed in range(20):
        draws = machine(label_noise=0.1, n_samples=1000, seed=seed).fit(X, y)
        draws = draws.posterior_.to_dict()["weights"][..., 0]
        error = draws.std(axis=(0, 1)) / np.sqrt(effective_sample_size(draws))
        z.append((draws.mean(axis=(0, 1)) - expected) / error)
    assert 0.6 < np.std(z) < 1.5
    assert np.abs(np.mean(z, axis=0)).max() < 5 / np.sqrt(20)


# Extremes ----------------------------------------------------------------------------------------


SHIFTS = {"centred": (0, 1), "far": (1e4, 1), "farther": (1e6, 1), "scaled": (0, [1, 1e12])}


@pytest.mark.parametrize("name", SHIFTS)
def test_version_spaces_that_are_thin_because_of_scales(name):
    """Whether classes are separable depends neither on the origin nor on units of features."""
    shift, scale = SHIFTS[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X.sum(axis=1) > 0
    X = (X + 0.3 * np.where(y, 1, -1)[:, None]) * scale + shift
    clf = machine(label_noise=0).set_params(fit_intercept=True)
    assert clf.fit(X, y).score(X, y) == 1
    y[0] = ~y[0]
    X[:3] = X[0]  # the same point with both labels
    with pytest.raises(EmptyVersionSpaceError):
        machine(label_noise=0).set_params(fit_intercept=True).fit(X, y)

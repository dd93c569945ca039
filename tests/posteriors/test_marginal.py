"""The posterior of max-marginals: answers against loops, draws and closed forms."""

import pickle

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from bayespoint.posteriors import MarginalPosterior
from bayespoint.posteriors.marginal import effective_weights, most_likely_scale

RULES = pytest.mark.parametrize("rule", ["bayes_point", "vote"])


def posterior_of(n_tasks=2, width=4, bins=40, beta=1.0, seed=0):
    """Skewed marginals on uneven grids, and some training points."""
    rng = np.random.default_rng(seed)
    grids = np.sort(rng.uniform(-3, 3, (n_tasks, width, bins)), axis=2)
    centre, tilt = rng.normal(size=(2, n_tasks, width, 1))
    values = -np.square(grids - centre) * (1 + 0.5 * np.tanh(tilt * grids))
    Z = rng.normal(size=(50, width))
    targets = np.where(Z @ centre[..., 0].T + rng.normal(size=(50, n_tasks)) > 0, 1, -1)
    return MarginalPosterior(grids, values - values.max(axis=2, keepdims=True), beta, Z, targets)


def new_points(n=30, width=4, seed=1):
    return np.random.default_rng(seed).normal(size=(n, width))


@pytest.mark.parametrize("beta", [0.2, 1.0, 30.0])
def test_moments_are_those_of_the_trapezoid_rule(beta):
    posterior = posterior_of(beta=beta)
    for task in range(2):
        for d in range(4):
            w = posterior.grids[task, d]
            p = np.exp(beta * posterior.log_marginals[task, d])
            z = np.trapezoid(p, w)
            mean = np.trapezoid(w * p, w) / z
            variance = np.trapezoid((w - mean) ** 2 * p, w) / z
            skew = np.trapezoid((w - mean) ** 3 * p, w) / z / variance**1.5
            assert posterior.mean[d, task] == pytest.approx(mean, abs=1e-12)
            assert posterior.variance[d, task] == pytest.approx(variance, rel=1e-10)
            assert posterior.skew[d, task] == pytest.approx(skew, rel=1e-8)


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.CutMarginalsWarning")
def test_means_go_from_the_centre_of_the_grid_to_the_mode():
    posterior = posterior_of()
    means = posterior.means([1e-9, 1.0, 1e6, np.inf])
    assert means.shape == (4, 4, 2)
    widths = np.gradient(posterior.grids, axis=2)
    widths[..., 0] /= 2
    widths[..., -1] /= 2
    centre = (widths * posterior.grids).sum(axis=2) / widths.sum(axis=2)
    np.testing.assert_allclose(means[0], centre.T, atol=1e-6)
    np.testing.assert_allclose(means[2], means[3], atol=1e-6)
    peaks = posterior.log_marginals.argmax(axis=2)[..., None]
    np.testing.assert_array_equal(
        means[3], np.take_along_axis(posterior.grids, peaks, axis=2)[..., 0].T
    )
    np.testing.assert_array_equal(posterior.mode, means[3])


def test_another_beta_shares_the_marginals():
    posterior = posterior_of()
    sharp = posterior.at(5)
    assert sharp.grids is posterior.grids
    np.testing.assert_array_equal(sharp.mean, posterior.means([5.0])[0])
    assert (sharp.variance < posterior.variance).all()


@pytest.mark.parametrize("betas", [0.0, [-1.0, 1.0], [np.nan], [[1.0]]])
def test_bad_betas(betas):
    with pytest.raises(ValueError, match="betas must be positive numbers or inf"):
        posterior_of().means(betas)


def test_a_gaussian_marginal_has_its_moments():
    w = np.linspace(-8, 8, 2001)
    log_p = (-0.5 * ((w - 1) / 0.7) ** 2)[None, None]
    posterior = MarginalPosterior(w[None, None], log_p, 4.0, np.ones((3, 1)), np.ones((3, 1)))
    assert posterior.mean.item() == pytest.approx(1)
    assert posterior.variance.item() == pytest.approx(0.7**2 / 4)
    assert posterior.skew.item() == pytest.approx(0, abs=1e-9)


def test_answers_are_those_of_single_points():
    posterior, Z = posterior_of(), new_points()
    mean, variance = posterior.latent(Z)
    by_mean, by_vote = posterior.decision(Z, "bayes_point"), posterior.decision(Z, "vote")
    for i, z in enumerate(Z):
        for task in range(2):
            m = sum(z * posterior.mean[:, task])
            s2 = sum(z**2 * posterior.variance[:, task])
            assert mean[i, task] == pytest.approx(m, abs=1e-12)
            assert by_mean[i, task] == pytest.approx(m / posterior.scale[task])
            assert variance[i, task] == pytest.approx(s2)
            assert by_vote[i, task] == pytest.approx(m / np.sqrt(s2))
            assert posterior.votes(Z)[i, task] == pytest.approx(2 * ndtr(m / np.sqrt(s2)) - 1)


def test_draws_have_the_moments():
    posterior, n = posterior_of(), 40_000
    drawn = posterior.draw(n, np.random.default_rng(0))
    assert drawn.shape == (4, n, 2)
    error = np.abs(drawn.mean(axis=1) - posterior.mean) / np.sqrt(posterior.variance / n)
    assert error.max() < 5
    assert (np.abs(drawn.mean(axis=1) - posterior.mode) * np.sqrt(n)).max() > 5  # wrong
    squares = np.square(drawn - posterior.mean[:, None])
    spread = squares.std(axis=1) / np.sqrt(n)
    assert (np.abs(squares.mean(axis=1) - posterior.variance) / spread).max() < 5
    assert np.isin(drawn[0, :, 0], posterior.grids[0, 0]).all()
    assert abs(np.corrcoef(drawn[0, :, 0], drawn[1, :, 0])[0, 1]) < 5 / np.sqrt(n)


def test_votes_are_the_share_of_draws():
    """Up to how far a sum of 40 skewed weights is from a Gaussian."""
    posterior, Z = posterior_of(width=40), new_points(8, width=40)
    drawn = posterior.draw(20_000, np.random.default_rng(0))
    share = (np.einsum("iw,wnt->int", Z, drawn) > 0).mean(axis=1)
    yes, _ = np.exp(posterior.log_probability(posterior.decision(Z, "vote"), "vote"))
    np.testing.assert_allclose(yes, share, atol=0.03)


@RULES
def test_probabilities_follow_the_decision(rule):
    posterior, Z = posterior_of(), new_points(200)
    decision = posterior.decision(Z, rule)
    yes, no = posterior.log_probability(decision, rule)
    np.testing.assert_allclose(np.exp(yes) + np.exp(no), 1)
    for task in range(2):
        order = np.argsort(decision[:, task])
        assert (np.diff(yes[order, task]) >= 0).all()
        np.testing.assert_array_equal(yes[:, task] > no[:, task], decision[:, task] > 0)


def test_scale_makes_the_training_labels_likeliest_and_is_enlarged():
    """By 1 / (1 - d / G): see the formula of the shrinkage."""
    posterior = posterior_of()
    Z, targets, _ = posterior._training
    d = np.square(Z).sum() ** 2 / np.square(np.square(Z).sum(axis=0)).sum()
    assert 3 < d < 4  # columns of about the same size
    for task in range(2):
        labels = targets[:, task]
        margins = labels * (Z @ posterior.mean[:, task])
        typical = np.append(margins, -np.abs(margins).mean())
        scales = np.geomspace(0.1, 10, 2001) * np.abs(margins).mean()
        likeliest = scales[np.argmax([log_ndtr(typical / scale).sum() for scale in scales])]
        shares = [np.mean(labels == label) for label in labels]
        gain = 2 * (log_ndtr(margins / likeliest).sum() - np.log(shares).sum())
        assert posterior.scale[task] == pytest.approx(likeliest / (1 - d / gain), rel=0.01)
        assert posterior.scale[task] > 1.05 * likeliest


def test_small_coordinates_are_hardly_weights():
    Z = new_points(300, width=5)
    assert effective_weights(Z, None) == pytest.approx(5, rel=0.05)
    assert effective_weights(1e120 * Z, None) == pytest.approx(5, rel=0.05)
    assert effective_weights(Z * [1, 1, 1e-3, 1e-3, 1e-3], None) == pytest.approx(2, rel=0.05)
    copies = np.arange(300) % 3
    once = effective_weights(np.repeat(Z, copies, axis=0), None)
    assert effective_weights(Z, copies.astype(float)) == pytest.approx(once)
    assert np.isfinite(effective_weights(np.zeros((3, 2)), None))


def test_many_weights_are_not_sure_of_themselves():
    """Log-loss on new points within a tenth of that of the best scale; unshrunk, far above it."""
    ratios = {"shrunk": [], "likeliest": []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2150, 60))
        y = rng.random(2150) < ndtr(X @ rng.normal(size=60) / 12)
        clf = BayesPointClassifier(engine=KnapsackPropagation(bins=32)).fit(X[:150], y[:150])
        scores = clf.decision_function(X[150:])
        margins = np.where(y[150:], scores, -scores)
        best = min(-log_ndtr(factor * margins).mean() for factor in np.geomspace(0.05, 20, 200))
        outputs = clf.latent_mean_and_variance(X[:150])[0]
        likeliest = most_likely_scale(np.where(y[:150], outputs, -outputs))
        unshrunk = margins * clf.posterior_.scale[0] / likeliest
        ratios["shrunk"].append(-log_ndtr(margins).mean() / best)
        ratios["likeliest"].append(-log_ndtr(unshrunk).mean() / best)
    assert np.mean(ratios["shrunk"]) < 1.1
    assert np.mean(ratios["likeliest"]) > 1.3


@pytest.mark.parametrize("beta", [5e-324, 1e-300, 1e-3, 1.0, 1e9, 1e308, np.inf])
@pytest.mark.filterwarnings("error")
def test_every_beta_gives_numbers(beta):
    posterior, Z = posterior_of(beta=beta), new_points()
    for unit in (1e-150, 1.0, 1e100):
        for rule in ("bayes_point", "vote"):
            yes, no = posterior.log_probability(posterior.decision(unit * Z, rule), rule)
            assert np.isfinite(yes - no).all()
    assert np.isfinite(posterior.skew).all()
    assert np.isfinite(posterior.draw(3, np.random.default_rng(0))).all()
    assert (posterior.variance >= 0).all()
    assert (posterior.variance < 1e-300).all() == (beta >= 1e9)


@pytest.mark.parametrize("beta", [0.2, 1.0, np.inf])
def test_certain_outputs_keep_their_order(beta):
    """Whatever the unit of the outputs; without a spread the decision is hard."""
    posterior, Z = posterior_of(beta=beta), new_points()
    for unit in (1e-120, 1.0, 1e100):
        own = MarginalPosterior(
            posterior.grids * unit, posterior.log_marginals, beta, *posterior._training
        )
        np.testing.assert_allclose(own.decision(Z, "vote"), posterior.decision(Z, "vote"))
    if np.isinf(beta):
        outputs, decision = Z @ posterior.mean, posterior.decision(Z, "vote")
        np.testing.assert_array_equal(decision.argmax(axis=0), outputs.argmax(axis=0))
        assert np.isin(posterior.votes(Z), (-1, 1)).all()


@pytest.mark.parametrize("beta", [5e-324, 1e-300, np.inf])
@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.filterwarnings("error")
def test_extreme_betas_have_probabilities(beta, C):
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    engine = KnapsackPropagation(beta=beta, C=C, bins=64)
    clf = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=engine, decision="vote"
    ).fit(X, y)
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(clf.classes_[p.argmax(axis=1)], clf.predict(X))
    if np.isinf(beta):
        assert np.isin(p, (0, 1)).all()
    drawn = clf.sample_proba(X, n_samples=20, random_state=0)
    assert np.isfinite(drawn).all()


def test_deep_marginals_do_not_underflow():
    grids = np.linspace(0, 1, 9)[None, None]
    posterior = MarginalPosterior(
        grids, -1e9 * (grids != 0.5), 1e9, np.ones((2, 1)), np.ones((2, 1))
    )
    assert posterior.mean.item() == pytest.approx(0.5)


def test_the_classifier_answers_with_it():
    X, y = problem(80, 3)
    for decision in ("bayes_point", "vote"):
        clf = BayesPointClassifier(engine=KnapsackPropagation(), decision=decision).fit(X, y)
        scores, p = clf.decision_function(X), clf.predict_proba(X)
        np.testing.assert_array_equal(clf.predict(X) == 1, scores > 0)
        np.testing.assert_array_equal(np.argsort(scores), np.argsort(p[:, 1], kind="stable"))
    mean, variance = clf.latent_mean_and_variance(X)
    np.testing.assert_allclose(mean, X @ clf.coef_[0] + clf.intercept_[0])
    assert (variance > 0).all()
    drawn = clf.sample_proba(X, n_samples=7, random_state=0)
    assert drawn.shape == (7, 80, 2)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_probabilities_are_calibrated_on_new_points():
    """Log-loss on 2000 new points, beside that of the best scale, the truth and a coin."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=4)
    X = rng.normal(size=(2200, 4))
    truth = ndtr(X @ w / 0.7)
    y = rng.random(2200) < truth
    clf = BayesPointClassifier(engine=KnapsackPropagation(C=3.0)).fit(X[:200], y[:200])

    def loss(p):
        return -np.log(np.where(y[200:], p, 1 - p)).mean()

    own, scores = loss(clf.predict_proba(X[200:])[:, 1]), clf.decision_function(X[200:])
    assert own < min(loss(ndtr(scale * scores)) for scale in np.geomspace(0.2, 5, 50)) + 0.01
    assert loss(truth[200:]) < own < loss(truth[200:]) + 0.1 < np.log(2)

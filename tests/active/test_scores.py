"""Entropy of the vote and mutual information, against closed forms, quadrature and counting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import entr, log_ndtr, ndtr, softmax
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.helpers.information import coin, information_by_quadrature
from tests.helpers.posteriors import gaussian_machine, sampled_machine
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.active import bald, entropy
from bayespoint.likelihoods import LogisticLikelihood, ProbitLikelihood
from bayespoint.likelihoods.quadrature import share_of_largest

POINTS = np.random.default_rng(1).normal(size=(50, 3))


# Entropy of the vote ------------------------------------------------------------------------------


def test_entropy_of_a_gaussian_posterior_in_closed_form():
    clf = gaussian_machine()
    mean = POINTS @ clf.posterior_.mean[:, 0]
    deviation = np.sqrt(np.einsum("ij,jk,ik->i", POINTS, clf.posterior_.covariance[0], POINTS))
    np.testing.assert_allclose(entropy(clf, POINTS), coin(ndtr(mean / deviation)), atol=1e-12)


def test_entropy_of_samples_by_counting():
    clf = sampled_machine(n_samples=7)
    expected = []
    for x in POINTS:
        yes = sum(x @ w > 0 for w in clf.posterior_.weights[:, :, 0].T)
        shares = [yes / 7, 1 - yes / 7]
        expected.append(-sum(p * np.log(p) for p in shares if p > 0))
    np.testing.assert_allclose(entropy(clf, POINTS), expected, atol=1e-12)
    assert entropy(clf, POINTS).max() <= np.log(2)


def test_entropy_of_samples_of_several_classes_by_counting():
    clf = sampled_machine(n_samples=9, n_tasks=3)
    expected = []
    for x in POINTS:
        answers = np.einsum("i,int->nt", x, clf.posterior_.weights).argmax(axis=1)
        shares = np.bincount(answers) / 9
        expected.append(-sum(p * np.log(p) for p in shares if p > 0))
    np.testing.assert_allclose(entropy(clf, POINTS), expected, atol=1e-12)
    assert entropy(clf, POINTS).max() > np.log(2)


def test_chunks_change_nothing(monkeypatch):
    clf = sampled_machine(n_tasks=3, noise=0.1)
    whole = entropy(clf, POINTS), bald(clf, POINTS)
    monkeypatch.setattr("bayespoint.active.scores.CHUNK", 7)
    np.testing.assert_array_equal(entropy(clf, POINTS), whole[0])
    np.testing.assert_array_equal(bald(clf, POINTS), whole[1])


def test_entropy_of_several_classes_agrees_with_drawn_votes():
    clf = gaussian_machine(n_tasks=4)
    n_draws = 20_000
    votes = clf.sample_proba(POINTS, n_draws, random_state=0).argmax(axis=2)
    counts = np.stack([(votes == y).sum(axis=0) for y in range(4)])
    shares = share_of_largest(*clf.latent_mean_and_variance(POINTS)).T
    error = np.sqrt(shares * (1 - shares) / n_draws)
    assert (np.abs(counts / n_draws - shares) <= 5 * error + 1e-12).all()
    np.testing.assert_allclose(entropy(clf, POINTS), entr(shares).sum(axis=0))


def test_the_printed_sign_is_the_wrong_one():
    """The paper's S lacks a minus: a point on the decision boundary has the largest entropy."""
    clf = gaussian_machine(d=2)
    mean = clf.posterior_.mean[:, 0]
    boundary = np.array([-mean[1], mean[0]])
    score = entropy(clf, [boundary, mean + boundary, 5 * mean])
    assert score[0] == pytest.approx(np.log(2))
    assert score[0] > score[1] > score[2] > 0


# Mutual information -------------------------------------------------------------------------------


@pytest.mark.parametrize("flips", [0.0, 0.05])
def test_bald_of_a_gaussian_posterior_is_that_of_its_outputs(flips):
    clf = gaussian_machine(noise=0.7)
    clf.posterior_.likelihood = ProbitLikelihood(0.7, flips)
    mean, variance = clf.latent_mean_and_variance(POINTS)
    expected = [
        information_by_quadrature(m, np.sqrt(v), 0.7, flips)
        for m, v in zip(mean, variance, strict=True)
    ]
    np.testing.assert_allclose(bald(clf, POINTS), expected, atol=1e-9)
    # The negative control: the entropy of the label, which noise makes large where nobody learns.
    assert np.abs(coin(clf.predict_proba(POINTS)[:, 1]) - expected).max() > 0.1


def test_flips_alone_do_not_change_the_order():
    """Without other noise, information and entropy of the vote are monotone in |p - 1/2|."""
    clf = gaussian_machine(noise=0.0)
    clf.posterior_.likelihood = ProbitLikelihood(0.0, 0.1)
    np.testing.assert_array_equal(np.argsort(bald(clf, POINTS)), np.argsort(entropy(clf, POINTS)))


@pytest.mark.parametrize("n_tasks", [1, 3])
def test_bald_of_samples_by_hand(n_tasks):
    clf = sampled_machine(n_samples=6, n_tasks=n_tasks, noise=0.3)
    weights = clf.posterior_.weights
    expected = []
    for x in POINTS:
        z = np.einsum("i,int->nt", x, weights) / 0.3
        if n_tasks == 1:
            p = np.hstack([ndtr(-z), ndtr(z)])
        else:  # p_y ~ q_y / (1 - q_y)
            p = softmax(log_ndtr(z) - log_ndtr(-z), axis=1)
        expected.append(entr(p.mean(axis=0)).sum() - entr(p).sum(axis=1).mean())
    np.testing.assert_allclose(bald(clf, POINTS), expected, atol=1e-12)


@pytest.mark.parametrize(
    "clf",
    [sampled_machine(), sampled_machine(n_tasks=3), gaussian_machine(noise=0.0)],
    ids=["samples", "several classes", "gaussian"],
)
def test_without_noise_bald_is_the_entropy(clf):
    np.testing.assert_allclose(bald(clf, POINTS), entropy(clf, POINTS), atol=1e-9)


def test_bald_of_several_classes_by_draws():
    clf, points = gaussian_machine(n_tasks=3, noise=0.5), POINTS[:15]
    drawn = clf.posterior_.draw(40_000, np.random.default_rng(0))
    z = np.einsum("ji,int->jnt", points, drawn) / 0.5
    p = softmax(log_ndtr(z) - log_ndtr(-z), axis=2)
    expected = entr(p.mean(axis=1)).sum(axis=1) - entr(p).sum(axis=2).mean(axis=1)
    repeats = np.array([bald(clf, points, random_state=seed) for seed in range(20)])
    error = repeats.std(axis=0, ddof=1) * np.sqrt(1 / 20 + 1 / 40)
    bias = 1 / 1000  # of a plug-in entropy of three classes from 1000 draws, (3 - 1) / (2 n)
    assert (np.abs(repeats.mean(axis=0) - expected) <= 5 * error + bias).all()
    np.testing.assert_array_equal(bald(clf, points, random_state=0), repeats[0])


def test_bald_asks_the_likelihood_of_the_posterior():
    clf = gaussian_machine(noise=1.0)
    by_probit = bald(clf, POINTS)
    clf.posterior_.likelihood = LogisticLikelihood()
    mean, variance = clf.latent_mean_and_variance(POINTS)
    np.testing.assert_array_equal(
        bald(clf, POINTS), LogisticLikelihood().information(mean, variance)
    )
    assert np.abs(bald(clf, POINTS) - by_probit).max() > 0.05


# What must not matter, and what must be refused ---------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_names_of_classes_and_order_of_points_do_not_matter(seed):
    X, y = problem(n=20, d=3, seed=seed)
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep").fit(X, y)
    flipped = BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep").fit(X, -y)
    order = np.random.default_rng(seed).permutation(len(POINTS))
    for score in (entropy, bald):
        np.testing.assert_allclose(score(clf, POINTS), score(flipped, POINTS), atol=1e-9)
        np.testing.assert_allclose(score(clf, POINTS)[order], score(clf, POINTS[order]), atol=1e-12)
        assert (score(clf, POINTS) <= np.log(2) + 1e-12).all()
    assert (bald(clf, POINTS) <= coin(clf.predict_proba(POINTS)[:, 1]) + 1e-12).all()


def test_pipelines_and_frames():
    pandas = pytest.importorskip("pandas")
    X, y = problem(n=30, d=3)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(
        StandardScaler(), BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep")
    ).fit(frame, y)
    inside = entropy(pipeline[-1], StandardScaler().fit_transform(X))
    np.testing.assert_allclose(entropy(pipeline, frame), inside)
    perceptrons = {"engine": "perceptron", "ridge": 1.0, "random_state": 0}
    alone = BayesPointClassifier(**perceptrons).fit(frame, y)
    expected = BayesPointClassifier(**perceptrons).fit(X, y)
    np.testing.assert_array_equal(bald(alone, frame), bald(expected, X))


@pytest.mark.parametrize("score", [entropy, bald])
def test_bad_classifiers_and_points(score):
    with pytest.raises(NotFittedError):
        score(BayesPointClassifier(kernel="linear", temperature=1.0), POINTS)
    with pytest.raises(TypeError, match=r"a BayesPointClassifier, alone .* Got LogisticRegression"):
        score(LogisticRegression(), POINTS)
    with pytest.raises(ValueError, match="X has 2 features, but BayesPointClassifier is expecting"):
        score(gaussian_machine(), POINTS[:, :2])
    with pytest.raises(ValueError, match="infinity"):
        score(sampled_machine(), np.full((1, 3), np.inf))

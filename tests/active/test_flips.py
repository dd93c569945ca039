"""Probabilities that labels are wrong are calibrated, in eight simulated settings."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from bayespoint import BayesPointClassifier
from bayespoint.active import SuspectLabels, suspect_labels, suspects
from bayespoint.active.suspects import flip_probabilities, left_out_probabilities

N, N_DRAWS, RATES = 200, 6, (0.05, 0.1)
TOLERANCE = 0.05
BINS = np.array([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, np.inf])


def heavy_tails(rng, n):
    X = rng.standard_t(2, (n, 5))
    return X, X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(n) > 0


def rare_class(rng, n):
    y = rng.random(n) < 0.1
    return rng.standard_normal((n, 4)) + 1.2 * y[:, None] * [1, 1, 0.5, 0], y


def four_classes(rng, n):
    y = rng.integers(0, 4, n)
    centres = np.array([[1, 1, 0], [1, -1, 0], [-1, 1, 0], [-1, -1, 0]])
    return 1.3 * centres[y] + rng.standard_normal((n, 3)), y


def categories(rng, n):
    levels, effects = rng.integers(0, 4, (n, 4)), rng.standard_normal((4, 4))
    f = effects[np.arange(4), levels].sum(axis=1)
    return np.eye(4)[levels].reshape(n, 16), f + 0.7 * rng.standard_normal(n) > np.median(f)


def wide(rng, n):
    X = rng.standard_normal((n, 300))
    return X, X[:, :4].sum(axis=1) / 2 + 0.3 * rng.standard_normal(n) > 0


def counts(rng, n):
    y, rates = rng.integers(0, 2, n), np.exp(0.7 * rng.standard_normal(8))
    ratios = np.exp(0.35 * rng.standard_normal(8))
    return rng.poisson(rates * np.where(y[:, None], ratios, 1 / ratios)).astype(float), y


def groups(rng, n):
    group, centres = rng.integers(0, 25, n), 1.5 * rng.standard_normal((25, 4))
    chance = 1 / (1 + np.exp(-2 * rng.standard_normal(25)))
    return centres[group] + 0.7 * rng.standard_normal((n, 4)), rng.random(n) < chance[group]


def moons(rng, n):
    return make_moons(n, noise=0.25, random_state=int(rng.integers(2**31)))


SETTINGS = [heavy_tails, rare_class, four_classes, categories, wide, counts, groups, moons]


def by_surprise(p, codes):
    """The wrong variant: at least the improbability of a label, so that overlap counts as flips."""
    own = p[np.arange(len(codes)), codes]
    return np.maximum(flip_probabilities(p, codes), 1 - own)


def away(said, flipped):
    """Mean distance of probabilities and shares of flips, in bins of the probability."""
    place = np.digitize(said, BINS)
    return sum(abs((said - flipped)[place == k].sum()) for k in np.unique(place)) / len(said)


@pytest.mark.parametrize("setting", SETTINGS)
def test_probabilities_are_calibrated_where_labels_are_flipped(setting):
    said, flipped, wrong = [], [], []
    for draw in range(N_DRAWS):
        rng = np.random.default_rng(draw)
        X, y = setting(rng, N)
        y, n_classes = y.astype(int), int(y.max()) + 1
        flip = rng.random(N) < RATES[draw % len(RATES)]
        given = np.where(flip, (y + rng.integers(1, n_classes, N)) % n_classes, y)
        clf = BayesPointClassifier(random_state=0).fit(X, given)
        found = suspect_labels(clf, X, given)
        said.append(found.probability)
        flipped.append(flip)
        assert found.flip_rate == pytest.approx(found.probability.mean())
        wrong.append(by_surprise(left_out_probabilities(clf, given), given))
    said, flipped, wrong = (np.concatenate(one) for one in (said, flipped, wrong))
    assert abs(said.mean() - flipped.mean()) < TOLERANCE
    assert away(said, flipped) < TOLERANCE
    assert wrong.mean() - flipped.mean() > 2 * TOLERANCE  # the wrong variant
    assert away(wrong, flipped) > 2 * TOLERANCE


def test_few_clean_labels_are_suspect():
    """Of pure groups, some labels of the minority look flipped: nothing else tells them apart."""
    shares, rates = [], []
    for setting in SETTINGS:
        X, y = setting(np.random.default_rng(0), N)
        clf = BayesPointClassifier(random_state=0).fit(X, y)
        found = suspect_labels(clf, X, y)
        shares.append(found.is_suspect.mean())
        rates.append(found.flip_rate)
    assert np.median(shares) <= 0.01
    assert np.median(rates) < 0.02


def test_the_line_is_at_one_half():
    p = np.tile([[0.02, 0.98]], (100, 1))
    codes = np.ones(100, dtype=int)
    codes[:2], p[1] = 0, (0.4, 0.6)  # one label surprises, another less
    found = SuspectLabels.of(p, codes)
    assert found.order[:2].tolist() == [0, 1]
    np.testing.assert_array_equal(found.is_suspect, found.probability > 0.5)
    assert found.is_suspect.tolist() == [True] + 99 * [False]
    assert not SuspectLabels.of(p[:19], codes[:19]).is_suspect.any()  # too early


def test_no_labels():
    found = SuspectLabels.of(np.empty((0, 2)), np.empty(0, dtype=int))
    assert (len(found.order), found.flip_rate) == (0, 0.0)


def test_rates_of_many_labels_are_learned_from_some(monkeypatch):
    rng = np.random.default_rng(0)
    q = rng.dirichlet([0.3, 0.3], 9000)
    codes = (rng.random(9000) < q[:, 1]).astype(int)
    flip = rng.random(9000) < 0.1
    codes[flip] = 1 - codes[flip]
    by_some = flip_probabilities(q, codes)
    monkeypatch.setattr(suspects, "ENOUGH", 9000)
    np.testing.assert_allclose(by_some, flip_probabilities(q, codes), atol=0.05)
    assert abs(by_some.mean() - 0.1) < 0.02


def test_probabilities_by_a_slow_sum():
    """Bayes' rule in the flip model, over a fine grid of rates and sharpness."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 60)
    codes = np.array([rng.choice(3, p=q) for q in p])
    codes[:6] = p[:6].argmin(axis=1)
    total, flipped = 0.0, np.zeros(60)
    for log_s in (np.arange(100) + 0.5) / 50:
        q = p ** np.exp(log_s)
        q /= q.sum(axis=1, keepdims=True)
        for rate in (np.arange(250) + 0.5) / 500:
            wrong = np.array([(q[i].sum() - q[i, y]) / 2 * rate for i, y in enumerate(codes)])
            right = (1 - rate) * q[np.arange(60), codes]
            weight = (
                np.prod(10 * (right + wrong)) * (1 - rate) ** 8 * np.exp(-((log_s / 0.7) ** 2) / 2)
            )
            total += weight
            flipped += weight * wrong / (right + wrong)
    np.testing.assert_allclose(flip_probabilities(p, codes), flipped / total, atol=0.01)

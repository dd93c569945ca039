"""What columns of categories tell, of which few rows say little."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from bayespoint import BayesPointClassifier
from bayespoint.classifier.kernel_choice import candidates
from bayespoint.classifier.kernel_choice.candidates import (
    IRRELEVANT,
    expected_variance,
    relevance,
)


def test_expected_variances_are_those_of_a_mixture_of_normals():
    rng = np.random.default_rng(0)
    effects = np.append(rng.normal(size=30), 3.0 * rng.normal(size=5))
    variances = np.array([0, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64])
    density = norm.pdf(effects[:, None], scale=np.sqrt(1 + variances))
    before = np.full(10, 0.1)
    before[0] = IRRELEVANT
    share = np.full(10, 0.1)
    for _ in range(200):
        part = share * density / (share * density).sum(axis=1, keepdims=True)
        share = (part.sum(axis=0) + before) / (35 + before.sum())
    part = share * density / (share * density).sum(axis=1, keepdims=True)
    found = expected_variance(effects**2, np.ones(35), 64.0)
    np.testing.assert_allclose(found, part @ variances, rtol=1e-6)


def test_more_columns_that_tell_let_each_tell_more():
    seen = np.ones(100)
    seen[:3] = 5.0
    few = expected_variance(seen, np.ones(100), 64.0)
    seen[:60] = 5.0
    many = expected_variance(seen, np.ones(100), 64.0)
    assert few[0] / few[-1] > 3 and many[0] > 2 * few[0]  # the same column, in other company
    of_levels = expected_variance(seen, np.full(100, 4.0), 64.0)
    assert of_levels[0] / of_levels[-1] > 2 * many[0] / many[-1]  # means of more are more certain


@pytest.mark.parametrize(
    ("n", "d", "are_many"),
    [(50, 40, True), (79, 40, True), (80, 40, False), (40, 31, True), (40, 30, False)],
)
def test_many_categories_are_weighed_together(n, d, are_many):
    rng = np.random.default_rng(0)
    codes, level = rng.integers(0, 3, n), rng.integers(0, 3, (n, d))
    levels = np.arange(4)  # of which the last is absent
    points = (level[:, :, None] == levels).reshape(n, 4 * d).astype(float)
    block, chance = np.repeat(np.arange(d), 4), 1 / n
    square = np.zeros((d, 3))
    for column in range(d):
        for one in range(3):
            pairs = [np.corrcoef(level[:, column] == one, codes == k)[0, 1] for k in range(3)]
            square[column, one] = np.square(pairs).mean()
    expected = np.maximum(square - chance, 0).sum(axis=1) + 0.1 * chance * 4
    if are_many:
        expected = expected_variance(square.mean(axis=1) / chance, np.full(d, 4.0), float(n))
    expected = np.repeat(expected, 4)
    told = relevance(points, codes, None, block)
    np.testing.assert_allclose(told, expected / expected.sum(), rtol=1e-9)
    weight = np.where(np.arange(n) < 5, 2.0, 1.0)
    copies = np.append(np.arange(n), np.arange(5))
    np.testing.assert_allclose(
        relevance(points, codes, weight, block),
        relevance(points[copies], codes[copies], None, block),
    )


def test_few_rows_of_categories_are_predicted_better(monkeypatch):
    """Tables of which a third of the columns tell; wrong: what each column says by itself."""

    def losses():
        found = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            y, X = rng.integers(0, 2, 450), rng.integers(0, 4, (450, 60))
            for column, label in np.ndindex(18, 2):
                p = np.exp(rng.normal(size=4))
                X[y == label, column] = rng.choice(4, (y == label).sum(), p=p / p.sum())
            table = pd.DataFrame(X.astype(str)).rename(columns=str).astype("category")
            p = BayesPointClassifier().fit(table[:70], y[:70]).predict_proba(table[70:])
            found.append(-np.log(p[np.arange(380), y[70:]]).mean())
        return np.array(found)

    ours = losses()
    monkeypatch.setattr(
        candidates, "expected_variance", lambda seen, spare, n: np.maximum(seen - 1, 0) + 0.1
    )
    gain = np.log(losses() / ours)
    assert gain.mean() > 0.03

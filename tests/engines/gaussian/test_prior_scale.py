"""The prior scale that the evidence finds is the best of a fine grid."""

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.engines.gaussian import prior_scale

ENGINES = (ExpectationPropagation, LaplaceApproximation)


def noisy(n, n_classes):
    """Classes that overlap, so that a scale is neither too small nor too large."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    outputs = np.sin(2 * X @ rng.normal(size=(3, n_classes))) + rng.gumbel(size=(n, n_classes)) / 3
    return X, outputs.argmax(axis=1)


def evidence(engine, X, y, scale):
    clf = BayesPointClassifier(engine=engine(prior_scale=scale), kernel="rbf", gamma=0.3)
    return clf.fit(X, y).log_evidence_.sum()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("engine", ENGINES)
def test_no_other_scale_has_more_evidence(engine, n_classes, monkeypatch):
    X, y = noisy(160, n_classes)
    monkeypatch.setattr(prior_scale, "ENOUGH", 160 * n_classes)  # all points, after a quarter
    clf = BayesPointClassifier(engine=engine(), kernel="rbf", gamma=0.3).fit(X, y)
    found = clf.run_.measures["prior_scale"][0]
    best = max(evidence(engine, X, y, scale) for scale in np.geomspace(0.1, 100, 31))
    assert evidence(engine, X, y, found) > best - 0.05
    for wrong in (found / 2, 2 * found):
        assert evidence(engine, X, y, wrong) < best - 0.2


def test_few_points_only_say_where_to_begin(monkeypatch):
    X, y = noisy(160, 2)
    scales = {}
    for enough in (40, 160):
        monkeypatch.setattr(prior_scale, "ENOUGH", enough)
        clf = BayesPointClassifier(engine="ep", kernel="rbf", gamma=0.3).fit(X, y)
        scales[enough] = clf.run_.measures["prior_scale"][0]
    monkeypatch.setattr(prior_scale, "FEW", 1)
    clf = BayesPointClassifier(engine="ep", kernel="rbf", gamma=0.3).fit(X, y)
    assert np.isclose(clf.run_.measures["prior_scale"][0], scales[160], rtol=0.05)
    assert not np.isclose(scales[40], scales[160], rtol=0.2)


def test_many_classes_of_few_points(monkeypatch):
    """Of 240 points in 40 classes all are taken; 109, of some classes none, say something else."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(40), 6))
    X = rng.uniform(-3, 3, size=(40, 8))[y] + 1.5 * rng.normal(size=(240, 8))
    scales = []
    for of_class in (prior_scale.OF_CLASS, 0):
        monkeypatch.setattr(prior_scale, "OF_CLASS", of_class)
        clf = BayesPointClassifier(engine="ep", kernel="rbf").fit(X, y)
        scales.append(clf.run_.measures["prior_scale"][0])
    assert scales[1] > 2 * scales[0]

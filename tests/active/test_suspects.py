"""Labels that are probably wrong."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.active import SuspectLabels, suspect_labels
from bayespoint.active.suspects import left_out_probabilities

X, Y = load_iris(return_X_y=True)
SOME = np.random.default_rng(0).permutation(150)[:40]
CLF = BayesPointClassifier(random_state=0).fit(X[SOME], Y[SOME])


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotSeparableWarning")
def test_left_out_probabilities_are_those_of_the_classifier():
    p = left_out_probabilities(CLF, Y[SOME])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    linear = BayesPointClassifier(kernel="linear").fit(X[SOME], Y[SOME])
    p = left_out_probabilities(linear, Y[SOME])
    assert np.mean(p.argmax(axis=1) != Y[SOME]) == pytest.approx(linear.left_out_error_)
    perceptron = BayesPointClassifier(engine="perceptron", random_state=0).fit(X[SOME], Y[SOME])
    assert left_out_probabilities(perceptron, Y[SOME]) is None
    assert left_out_probabilities(CLF, Y[SOME][::-1]) is None  # of other rows
    assert left_out_probabilities(CLF, Y[SOME][1:]) is None


def test_flip_rate_is_learned():
    """Sure forecasts of labels, of which a fifth are drawn at random."""
    rng, codes = np.random.default_rng(0), np.zeros(4000, dtype=int)
    p = np.tile([[0.98, 0.01, 0.01]], (4000, 1))
    wrong = rng.random(4000) < 0.2
    codes[wrong] = rng.integers(1, 3, wrong.sum())
    found = SuspectLabels.of(p, codes)
    assert abs(found.flip_rate - 0.2) < 5 * np.sqrt(0.16 / 4000) + 0.02
    assert found.probability[~wrong].max() < 0.1 < 0.9 < found.probability[wrong].min()


def test_score_is_the_evidence_of_a_flip():
    """With the evidence of fits to flipped labels; EP is nearly exact with Gaussian sites."""
    X, y = X_TWO, Y_TWO
    clf = BayesPointClassifier(kernel="linear", temperature=1.0).fit(X, y)
    score = suspect_labels(clf, X, y).score
    for i in range(0, 30, 6):
        flipped = np.where(np.arange(30) == i, 1 - y, y)
        other = BayesPointClassifier(kernel="linear").fit(X, flipped)
        gain = float(other.log_evidence_[0] - clf.log_evidence_[0])
        assert score[i] == pytest.approx(gain, abs=0.03, rel=0.1)


RNG = np.random.default_rng(1)
X_TWO = RNG.standard_normal((30, 2))
Y_TWO = (X_TWO[:, 0] + 0.5 * RNG.standard_normal(30) > 0).astype(int)


def test_flipped_labels_are_found_in_pipelines():
    rng = np.random.default_rng(0)
    flipped = rng.permutation(150) < 15
    y = np.where(flipped, (Y + 1) % 3, Y)
    model = make_pipeline(StandardScaler(), BayesPointClassifier(kernel="rbf"))
    found = suspect_labels(model.fit(X, y), X, y)
    assert roc_auc_score(flipped, found.score) > 0.95
    shuffled = rng.permutation(150)  # rows that it was not fitted to, as far as it knows
    other = suspect_labels(model, X[shuffled], y[shuffled])
    assert other.own.mean() > found.own.mean()  # predicted with their own labels


def test_errors():
    with pytest.raises(ValueError, match="does not know"):
        suspect_labels(CLF, X[:2], [0, 7])
    with pytest.raises(ValueError, match="X has 2 rows, and y has 1"):
        suspect_labels(CLF, X[:2], [0])

"""The scores, and where an estimator's outputs for them come from."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.tree import DecisionTreeClassifier

from bayespoint.reject import SCORES, confidence, estimator_outputs

OUTPUTS = np.array([[0.5, 0.2, 0.3], [0.1, 0.8, 0.1], [0.4, 0.4, 0.2]])


class Voters:
    def vote_shares(self, X):
        return np.tile([0.3, 0.7], (len(X), 1))


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 3)), rng.integers(0, 2, 60)


def test_scores_of_outputs():
    for score in ("max", "vote", "proba"):
        np.testing.assert_allclose(confidence(OUTPUTS, score), [0.5, 0.8, 0.4])
    np.testing.assert_allclose(confidence(OUTPUTS, "gap"), [0.2, 0.7, 0.0])


def test_one_dimensional_outputs():
    np.testing.assert_allclose(confidence([-2.0, 0.5]), [2.0, 0.5])
    np.testing.assert_allclose(confidence([-2.0, 0.5], "gap"), [4.0, 1.0])
    for score in ("vote", "proba"):
        np.testing.assert_allclose(confidence([0.1, 0.6], score), [0.9, 0.6])


def test_decision_function_comes_before_probabilities(data):
    machine = LogisticRegression().fit(*data)
    decision = machine.decision_function(data[0])
    for score in ("max", "gap"):
        outputs = estimator_outputs(machine, data[0], score)
        np.testing.assert_array_equal(outputs, np.column_stack([-decision, decision]))
    probabilities = machine.predict_proba(data[0])
    np.testing.assert_array_equal(estimator_outputs(machine, data[0], "proba"), probabilities)


def test_probabilities_where_there_is_no_decision_function(data):
    tree = DecisionTreeClassifier(max_depth=2).fit(*data)
    probabilities = tree.predict_proba(data[0])
    np.testing.assert_array_equal(estimator_outputs(tree, data[0], "gap"), probabilities)


def test_votes_come_from_vote_shares(data):
    np.testing.assert_allclose(estimator_outputs(Voters(), data[0], "vote")[0], [0.3, 0.7])


class NoOutputs:
    pass


@pytest.mark.parametrize(
    ("estimator", "score", "message"),
    [
        (NoOutputs(), "max", "decision_function or predict_proba, which NoOutputs does not have"),
        (Perceptron(), "proba", "needs the method predict_proba, .*CalibratedClassifierCV"),
        (LogisticRegression(), "vote", r"needs the method vote_shares, .*vote_shares\(X\) to"),
    ],
)
def test_a_missing_method_is_named_with_the_remedy(estimator, score, message):
    with pytest.raises(AttributeError, match=message):
        estimator_outputs(estimator, np.zeros((2, 3)), score)


def test_an_unknown_score_names_the_known_ones():
    assert set(SCORES) == {"max", "gap", "vote", "proba"}
    for score in ("best", None, 3):
        with pytest.raises(ValueError, match=r"must be a str among \['gap', 'max', 'proba'"):
            confidence(OUTPUTS, score)


def test_outputs_of_a_single_class_are_refused(data):
    class OneClass:
        def predict_proba(self, X):
            return np.ones((len(X), 1))

    with pytest.raises(ValueError, match="at least two columns"):
        estimator_outputs(OneClass(), data[0])

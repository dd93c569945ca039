"""SelectiveClassifier with groups: whole groups are held out, and one row of each counts."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from tests.helpers.noisy_copies import noisy_copies

from bayespoint import BayesPointClassifier
from bayespoint.exceptions import RiskNotReachedError
from bayespoint.reject import SelectiveClassifier
from bayespoint.reject.calibration import hold_out

X, Y, GROUPS = noisy_copies(200, 4, spread=0.3)


def test_whole_groups_are_held_out():
    train, held = hold_out(Y, 0.3, 0, GROUPS)
    assert sorted([*train, *held]) == list(range(len(Y)))
    assert not set(GROUPS[train]) & set(GROUPS[held])
    assert len(set(GROUPS[held])) == 60


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), BayesPointClassifier(kernel="linear")],
    ids=["without", "with"],
)
def test_the_guarantee_counts_one_row_of_each_group(estimator):
    found = SelectiveClassifier(estimator, risk=0.3, random_state=0).fit(X, Y, groups=GROUPS)
    assert found.guarantee_.n_points == 60
    if isinstance(estimator, BayesPointClassifier):  # whose fit has groups
        assert found.estimator_.model_.fact("n_groups") == 140


def test_a_fitted_classifier_is_calibrated_by_groups():
    fitted = LogisticRegression().fit(X, Y)
    found = SelectiveClassifier(FrozenEstimator(fitted), risk=0.3).fit(X, Y, groups=GROUPS)
    assert found.guarantee_.n_points == 200


@pytest.mark.parametrize("cv", [None, 4, GroupKFold(4)], ids=["default", "number", "splitter"])
def test_no_group_is_in_two_folds(cv):
    class Watching(LogisticRegression):
        def fit(self, X, y):
            seen.append(X)
            return super().fit(X, y)

    seen = []
    found = SelectiveClassifier(Watching(), rate=0.2, cv=cv).fit(X, Y, groups=GROUPS)
    assert found.rejection_curve_.n_samples == len(Y)  # all rows: a rate is no guarantee
    place = {tuple(row): group for row, group in zip(X.tolist(), GROUPS, strict=True)}
    for part in seen:
        inside = [place[tuple(row)] for row in part.tolist()]
        assert all(inside.count(group) == 4 for group in set(inside))


def test_metadata_routing():
    with config_context(enable_metadata_routing=True):
        inner = BayesPointClassifier(kernel="linear").set_fit_request(groups=True)
        clf = SelectiveClassifier(inner, risk=0.3, random_state=0).set_fit_request(groups=True)
        assert clf.fit(X, Y, groups=GROUPS).estimator_.model_.fact("n_groups") == 140


def test_copies_break_a_guarantee_that_counts_rows():
    """Errors of whole groups: the promise fails far more often if rows count as independent."""
    broken, trials = np.zeros(2), 150
    for k in range(trials):
        rng = np.random.default_rng(k)
        groups = np.repeat(np.arange(40), 10)
        labels = (rng.uniform(size=40) < 0.88)[groups].astype(int)
        for j, of_rows in enumerate((groups, None)):
            fixed = FrozenEstimator(Always().fit(None, None))
            clf = SelectiveClassifier(fixed, risk=0.11, confidence_level=0.9, random_state=k)
            try:
                clf.fit(np.zeros((400, 1)), labels, groups=of_rows)
                broken[j] += 1  # the error is 0.12 wherever it accepts
            except RiskNotReachedError:
                pass
    assert broken[0] / trials <= 0.1
    assert broken[1] / trials > 0.2


class Always(LogisticRegression):
    """Says 1, equally sure of every point."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X):
        return np.ones(len(X))

    def predict(self, X):
        return np.ones(len(X), dtype=int)

"""Laplace's approximation on pairs of digits, against numbers measured elsewhere."""

import numpy as np
import pytest
from tests.helpers.real_data import REAL_DATA

from bayespoint import BayesPointClassifier
from papers.datasets import load_mnist

pytestmark = REAL_DATA


@pytest.mark.parametrize(
    ("other", "errors", "loss", "log_evidence"), [(8, 21, 0.0298, -658.9), (9, 9, 0.0159, -224.3)]
)
def test_one_against_another_digit(other, errors, loss, log_evidence):
    """Pixels from 0 to 1, an intercept, tau = 1."""
    data = load_mnist()
    train, test = (np.isin(y, [1, other]) for y in (data.y_train, data.y_test))
    X_test, y_test = data.X_test[test], data.y_test[test]
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, engine="laplace").fit(
        data.X_train[train], data.y_train[train]
    )
    assert abs((clf.predict(X_test) != y_test).sum() - errors) <= 1
    right = clf.predict_proba(X_test)[np.arange(len(y_test)), (y_test == other).astype(int)]
    assert -np.log(right).mean() == pytest.approx(loss, abs=1e-4)
    assert clf.log_evidence_[0] == pytest.approx(log_evidence, abs=0.05)
    assert clf.n_iter_ <= 10

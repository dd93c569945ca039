"""Expectation propagation on pairs of digits, against numbers measured elsewhere."""

import numpy as np
import pytest
from tests.helpers.real_data import REAL_DATA

from bayespoint import BayesPointClassifier
from papers.datasets import load_mnist

pytestmark = REAL_DATA


@pytest.mark.parametrize(("other", "errors", "log_evidence"), [(8, 20, -700.11), (9, 10, -223.18)])
def test_one_against_another_digit(other, errors, log_evidence):
    """Pixels from 0 to 1, an intercept, tau = beta = 1."""
    data = load_mnist()
    train, test = (np.isin(y, [1, other]) for y in (data.y_train, data.y_test))
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep").fit(
        data.X_train[train], data.y_train[train]
    )
    wrong = (clf.predict(data.X_test[test]) != data.y_test[test]).sum()
    assert abs(wrong - errors) <= 2
    assert clf.log_evidence_[0] == pytest.approx(log_evidence, abs=0.05)
    assert clf.n_iter_ <= 15

"""A user's program, as a type checker sees it: nothing in it is untyped. See test_user.py."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from bayespoint import BayesPointClassifier, save
from bayespoint.active import query
from bayespoint.engines import ExpectationPropagation, Run
from bayespoint.kernels import RadialKernel
from bayespoint.posteriors import Posterior
from bayespoint.reject import SelectiveClassifier
from bayespoint.rows import from_arrays
from bayespoint.selection import EvidenceSearch


def main() -> None:
    """What nobody runs."""
    X: NDArray[np.float64] = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 1.0], [1.0, 0.5]])
    y: NDArray[np.int64] = np.array([0, 1, 0, 1])

    clf = BayesPointClassifier(
        kernel="linear", engine=ExpectationPropagation(noise=0.5), random_state=0
    )
    fitted = clf.fit(X, y)
    assert_type(fitted, BayesPointClassifier)
    assert_type(fitted.predict_proba(X), NDArray[np.float64])
    assert_type(fitted.predict(X), NDArray[Any])
    assert_type(fitted.run_, Run)
    assert_type(fitted.posterior_, Posterior)
    assert_type(fitted.expected_scores_["error"].value, float)
    assert_type(fitted.draw_outputs(X, n_samples=3, random_state=0), NDArray[np.float64])

    BayesPointClassifier(kernel=RadialKernel(gamma=0.5)).fit(X, y)
    BayesPointClassifier(kernel="linear").fit(from_arrays(X, y))
    SelectiveClassifier(clf, rate=0.1).fit(X, y).predict(X)
    EvidenceSearch(clf, {"engine__noise": [0.5, 1.0]}).fit(X, y).predict(X)
    query(fitted, X, n=2)
    save(fitted, "model.bpm")

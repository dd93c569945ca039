"""Which files of the package a fit and a prediction enter.

    python tools/files_entered.py

A reader who follows a call has to open these files. Counted are an rbf fit by expectation
propagation with a fixed prior scale, and ``predict_proba`` of a few points.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import bayespoint
from bayespoint.engines import ExpectationPropagation

PACKAGE = Path(bayespoint.__file__).parent


def entered(call: Callable[[], object]) -> list[str]:
    """Files of the package in which a function is called, in the order of the first calls."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            found[path.relative_to(PACKAGE).as_posix()] = None

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(found)


def measure() -> dict[str, list[str]]:
    """The files that ``fit`` and ``predict_proba`` enter, when all is imported and compiled."""
    X, y = load_breast_cancer(return_X_y=True)
    X, engine = scale(X), ExpectationPropagation(prior_scale=1.0)
    classifier = bayespoint.BayesPointClassifier(kernel="rbf", engine=engine).fit(X, y)
    classifier.predict_proba(X[:5])
    return {
        "fit": entered(lambda: classifier.fit(X, y)),
        "predict_proba": entered(lambda: classifier.predict_proba(X[:5])),
    }


if __name__ == "__main__":
    for name, files in measure().items():
        print(f"{name}: {len(files)} files", *files, sep="\n    ")

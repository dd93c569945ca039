"""How much of the package a reader has to open who follows a fit or a prediction.

    python tools/files_entered.py

Counted are the files and the functions of the package that are entered, and the largest number of
its frames on the stack, on four paths: a fit with an rbf kernel by expectation propagation with a
fixed prior scale, a fit with default parameters, ``predict_proba`` of the latter, and a fit over
blocks by expectation propagation. All is imported and compiled before. A function is counted once
however often it is called; lambdas and generators count, and so do comprehensions in Python 3.11,
which has frames for them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

import bayespoint
from bayespoint.engines import ExpectationPropagation
from bayespoint.rows import from_arrays

PACKAGE = Path(bayespoint.__file__).parent
N_BLOCKS = 4


class Entered(NamedTuple):
    """What a call entered.

    Attributes
    ----------
    functions : list of (str, str)
        File and qualified name of each function, in the order of the first calls.
    stack : list of (str, str)
        The functions on the stack when most of them were there.
    """

    functions: list[tuple[str, str]]
    stack: list[tuple[str, str]]

    @property
    def files(self) -> list[str]:
        """The files of the functions, in the order of the first calls."""
        return list(dict.fromkeys(file for file, _ in self.functions))

    @property
    def summary(self) -> str:
        """The three numbers."""
        sizes = len(self.files), len(self.functions), len(self.stack)
        return "{} files, {} functions, {} frames deep".format(*sizes)


def entered(call: Callable[[], object]) -> Entered:
    """Functions of the package that a call enters."""
    seen: dict[Any, None] = {}
    stack: list[Any] = []
    deepest: list[Any] = []
    prefix = f"{PACKAGE}{os.sep}"

    def named(codes: Iterable[Any]) -> list[tuple[str, str]]:
        pairs = ((code.co_filename.removeprefix(prefix), code.co_qualname) for code in codes)
        return [(Path(file).as_posix(), name) for file, name in pairs]

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(prefix):
            return
        if event == "return":
            stack.pop()
            return
        seen[code] = None
        stack.append(code)
        if len(stack) > len(deepest):
            deepest[:] = stack

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Entered(list(dict.fromkeys(named(seen))), named(deepest))


def measure() -> dict[str, Entered]:
    """What the four paths enter, when all is imported and compiled."""
    X, y = load_breast_cancer(return_X_y=True)
    X, engine = scale(X), ExpectationPropagation(prior_scale=1.0)
    rbf = bayespoint.BayesPointClassifier(kernel="rbf", engine=engine)
    default = bayespoint.BayesPointClassifier()
    linear = bayespoint.BayesPointClassifier(kernel="linear", engine=engine)
    blocks = from_arrays(X, y, block_rows=-(-len(X) // N_BLOCKS))
    calls: dict[str, Callable[[], object]] = {
        "rbf fit": lambda: rbf.fit(X, y),
        "default fit": lambda: default.fit(X, y),
        "predict_proba": lambda: default.predict_proba(X[:5]),
        "fit over blocks": lambda: linear.fit(blocks),
    }
    with threadpool_limits(1):  # so that all is called in this thread
        for call in calls.values():
            call()
        return {name: entered(call) for name, call in calls.items()}


if __name__ == "__main__":
    for name, path in measure().items():
        print(f"{name}: {path.summary}")
        for file in path.files:
            own = [function for where, function in path.functions if where == file]
            print(f"    {file} ({len(own)}): {', '.join(own)}")
        print("    deepest:", *(" ".join(frame) for frame in path.stack), sep="\n        ")

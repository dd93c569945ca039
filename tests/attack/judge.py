"""What a case of the attack came to: fine, a clear error, or wrong."""

from __future__ import annotations

import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError

import bayespoint

HERE = str(Path(__file__).parent)
FINE, CLEAR, WRONG = "fine", "clear error", "wrong"
SECONDS = 60  # that a case may take
# Errors that say what is wrong are raised on purpose, by code that checks its input.
ON_PURPOSE = ("bayespoint", "sklearn", "narwhals", "tests.attack")
# What NumPy says of input that it cannot convert is clear, and users know it.
NUMPY = ("could not convert", "Unable to convert", "Seed must be between")
PLAIN = (ValueError, TypeError, MemoryError, NotFittedError)
# Warnings that speak to users; others are rounding and overflow that leaked.
SPOKEN = ("bayespoint", "sklearn")


class Outcome(NamedTuple):
    """What happened, and why that is so."""

    kind: str
    reason: str = ""


class Slow(BaseException):
    """A case has taken too long; not an Exception, which it might catch."""


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise Slow after some seconds of computing; the machine may be busy with other things."""

    def stop(*event: object) -> None:
        raise Slow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def judged(case: Callable[[], str], seconds: int = SECONDS) -> Outcome:
    """Run a case, which returns what is wrong with its result, or nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = process_state()
        try:
            with time_limit(seconds):
                wrong = case()
            outcome = Outcome(WRONG, wrong) if wrong else Outcome(FINE)
        except Slow:
            outcome = Outcome(WRONG, f"more than {seconds} s")
        except Exception as error:
            outcome = judged_error(error)
        changed = process_state() != before
    leaked = [one for one in caught if not type(one.message).__module__.startswith(SPOKEN)]
    leaked = [one for one in leaked if not is_of_others(one)]
    if outcome.kind != WRONG and leaked:
        first = leaked[0]
        where = f"{first.filename.rpartition('site-packages/')[2]}:{first.lineno}"
        return Outcome(WRONG, f"raw {first.category.__name__}: {first.message} ({where})")
    if outcome.kind != WRONG and changed:
        return Outcome(WRONG, "the state of the process changed")
    return outcome


def is_of_others(warning: warnings.WarningMessage) -> bool:
    """Whether scikit-learn itself warns of data that it converts, or of many classes."""
    of_many = str(warning.message).startswith("The number of unique classes is greater than")
    if warning.category is UserWarning and warning.filename.startswith(HERE):
        return True  # words for users, of the line that they wrote
    others = ("sklearn", "/joblib/", "/pandas/")  # which convert and show cells
    return of_many or any(one in warning.filename for one in others)


def judged_error(error: Exception) -> Outcome:
    """An error is clear if it is of an ordinary kind, raised on purpose, and says something.

    Notes are added on purpose as well, to errors of other libraries.
    """
    frames = list(traceback.walk_tb(error.__traceback__))
    raised_in = frames[-1][0].f_globals.get("__name__", "")
    message = " ".join(str(error).split())
    where = f"{raised_in}:{frames[-1][1]}"
    kind = type(error).__name__
    is_plain = isinstance(error, PLAIN)
    on_purpose = raised_in.startswith(ON_PURPOSE) or type(error).__module__.startswith("bayespoint")
    on_purpose = on_purpose or hasattr(error, "__notes__")
    by_conversion = message.startswith(NUMPY)
    if is_plain and (on_purpose or by_conversion) and len(message) > 20:
        return Outcome(CLEAR, f"{kind}: {message[:100]}")
    return Outcome(WRONG, f"unhelpful {kind}: {message[:150]} ({where})")


def process_state() -> tuple:
    """What a fit must leave as it was."""
    return len(warnings.filters), tuple(np.geterr().items()), signal.getsignal(signal.SIGINT)


def check_predictions(clf: bayespoint.BayesPointClassifier, X: object) -> str:
    """What is wrong with the predictions of a classifier; nothing if all is well."""
    p, labels, scores = clf.predict_proba(X), clf.predict(X), clf.decision_function(X)
    if not np.isfinite(p).all() or (p < 0).any() or (p > 1 + 1e-9).any():
        return f"probabilities from {np.min(p)} to {np.max(p)}"
    if not np.allclose(p.sum(axis=1), 1, atol=1e-6):
        return "probabilities do not sum to 1"
    if np.isnan(scores).any():
        return "a score is NaN"
    place = {label: number for number, label in enumerate(clf.classes_.tolist())}
    chosen = p[np.arange(len(p)), [place[label] for label in labels.tolist()]]
    if (chosen < p.max(axis=1) - 1e-12).any():
        return f"{int((chosen < p.max(axis=1) - 1e-12).sum())} labels are not the most probable"
    best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    if (clf.classes_[best] != labels).any():
        return "labels contradict the scores"
    return ""


def elapsed(began: float) -> str:
    """Seconds since a moment."""
    return f"{time.monotonic() - began:.0f} s"

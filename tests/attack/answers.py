"""Hostile questions: what a fitted classifier is asked besides labels and probabilities."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
from tests.attack.fits import DATA, ENGINES, KERNELS, converted
from tests.attack.judge import WRONG, Outcome, check_predictions, judged, judged_error

from bayespoint import BayesPointClassifier
from bayespoint.active import query, suspect_labels
from bayespoint.reject import SelectiveClassifier, label_sets
from bayespoint.reports import explain

COVERAGES = [0.9, 0.9, 0.5, 0.999999, 1e-9, 1.0, 0.0, np.nan, -1, "x", None, True, [0.9]]
RISKS = [0.1, 0.3, 0.0, 1.0, 1e-300, np.nan, "x"]
GROUPS: dict[str, Any] = {
    "pairs": lambda n, rng: np.arange(n) // 2,
    "words": lambda n, rng: rng.choice(["a", "b", "ü"], n),
    "mixed": lambda n, rng: np.array([["a", 1][k % 2] for k in range(n)], dtype=object),
    "one": lambda n, rng: np.zeros(n),
    "each": lambda n, rng: np.arange(n),
    "missing": lambda n, rng: np.where(np.arange(n) % 5, 1.0, np.nan),
    "huge": lambda n, rng: rng.integers(-(2**62), 2**62, n),
    "short": lambda n, rng: np.zeros(n - 1) if n else np.zeros(3),
    "2-D": lambda n, rng: np.zeros((n, 2)),
    "times": lambda n, rng: np.arange(n).astype("datetime64[D]"),
}


LARGE = 1e100  # features from which ONNX models may overflow, where Python says so


class Asked:
    """A fitted classifier, its rows, and new ones."""

    def __init__(self, clf: Any, data: tuple, new: Any, rng: np.random.Generator) -> None:
        self.clf, (self.X, self.y, self.groups), self.new, self.rng = clf, data, new, rng

    def pick(self, values: list) -> Any:
        return values[self.rng.integers(len(values))]

    def sets(self) -> str:
        """Sets of labels, with p-values that are from 0 to 1; larger coverage, larger sets."""
        given: dict[str, Any] = {"per_class": bool(self.rng.random() < 0.3)}
        if self.rng.random() < 0.3:
            given["calibration"] = self.X, self.y
        if self.rng.random() < 0.3:
            name = self.pick(list(GROUPS))
            given["groups"] = tuple(GROUPS[name](len(one), self.rng) for one in (self.X, self.new))
        coverage = self.pick(COVERAGES)
        found = label_sets(self.clf, self.new, coverage=coverage, **given)
        shape = len(found.contains), len(self.clf.classes_)
        if found.contains.shape != shape or not np.isfinite(found.p_values).all():
            return "sets of another shape, or p-values that are not finite"
        if (found.p_values < 0).any() or (found.p_values > 1).any():
            return f"p-values from {found.p_values.min()} to {found.p_values.max()}"
        less = self.clf.predict_set(self.new, coverage / 2, **given)
        return "a set of smaller coverage is larger" if (less & ~found.contains).any() else ""

    def explained(self) -> str:
        """Explanations in finite numbers, of the label that is predicted."""
        training = self.X if self.rng.random() < 0.3 else None
        told = explain(self.clf, self.new[:3], training=training)
        p = self.clf.predict_proba(self.new[:3])
        for one, row in zip(told, p, strict=True):
            low, high = one.interval
            pushes = [push.push for push in one.features]
            numbers = [one.probability, low, high, one.data_uncertainty, one.model_uncertainty]
            numbers += pushes
            if not np.isfinite(numbers).all() or not 0 <= low <= high <= 1 + 1e-9:
                return f"an explanation in {numbers}"
            if abs(one.probability - row.max()) > 1e-6 or "nan" in str(one).lower().split():
                return f"an explanation of something else: {one}"
        return ""

    def suspects(self) -> str:
        """All rows, each once, most suspicious first."""
        X, y = self.X, self.y.copy()
        if self.rng.random() < 0.2:
            y = self.rng.permutation(y)
        found = suspect_labels(self.clf, X, y)
        if sorted(found.order.tolist()) != list(range(len(y))):
            return "rows are missing among the suspects"
        return "" if np.isfinite(found.probability).all() else "a probability is not finite"

    def selected(self) -> str:
        """Rejection by a threshold, a rate or a risk; what is kept has its label."""
        given = {self.pick(["threshold", "rate", "risk", "cost"]): self.pick(RISKS)}
        clf = SelectiveClassifier(self.clf, **given)
        clf.fit(self.X, self.y)
        found = clf.predict(self.new)
        return "" if len(found) == len(self.new) else "rows are missing"

    def queried(self) -> str:
        """Rows of a pool, each once."""
        n = self.pick([1, 2, 3, 10**9, 0, -1, 1.5, True])
        strategy = self.pick(["entropy", "margin", "bald", "random", "x", len])
        found = query(self.clf, self.new, n, strategy=strategy, random_state=0)
        return "" if len(set(found.tolist())) == len(found) == n else "other rows"

    def drawn(self) -> str:
        """Draws from the posterior in finite numbers."""
        n = self.pick([1, 5, 0, -1, 2.5, None])
        weights = self.clf.draw_weights(n, random_state=0)
        p = self.clf.sample_proba(self.new, random_state=0)
        outputs = self.clf.draw_outputs(self.new, random_state=0)
        good = all(np.isfinite(one).all() for one in (weights, p, outputs))
        return "" if good else "a draw is not finite"

    def moments(self) -> str:
        """Means and variances of the outputs, and shares of votes."""
        mean, variance = self.clf.latent_mean_and_variance(self.new)
        if not np.isfinite(mean).all() or not (variance >= 0).all():
            return "a mean or a variance is no number"
        shares = self.clf.class_shares(self.new)
        return "" if np.allclose(shares.sum(axis=1), 1) else "shares do not sum to 1"

    def exported(self) -> str:
        """An ONNX model that predicts the same."""
        import onnxruntime

        from bayespoint.storage.onnx import to_onnx

        model = to_onnx(self.clf, dtype="float64")
        session = onnxruntime.InferenceSession(model.SerializeToString())
        X = np.asarray(self.new, dtype=np.float64)
        if np.abs(X).max() > LARGE:
            return ""
        (p,) = session.run(["probabilities"], {"X": X})
        differs = np.abs(p - self.clf.predict_proba(X)).max()
        return "" if differs < 1e-5 else f"ONNX differs by {differs:.2g}"

    def threads(self) -> str:
        """Fits and predictions of three threads, equal to those of one."""
        expected, found = self.clf.predict_proba(self.new), [None] * 3

        def work(k: int) -> None:
            own = pickle.loads(pickle.dumps(self.clf))
            found[k] = own.fit(self.X, self.y, groups=self.groups).predict_proba(self.new)

        all_threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        for one in all_threads:
            one.start()
        for one in all_threads:
            one.join()
        same = all(one is not None and np.array_equal(one, expected) for one in found)
        return "" if same else "threads predict something else"


QUESTIONS = [
    "sets",
    "sets",
    "explained",
    "suspects",
    "selected",
    "queried",
    "drawn",
    "moments",
    "exported",
    "threads",
]


def asked(one: Asked) -> str:
    """Fit, and put three questions; each is answered or refused, and changes no prediction."""
    one.clf.fit(one.X, one.y, groups=one.groups)
    wrong, before = check_predictions(one.clf, one.X), one.clf.predict_proba(one.X)
    for name in one.rng.choice(QUESTIONS, 3, replace=False):
        if wrong:
            return wrong
        try:
            wrong = getattr(one, name)()
        except Exception as error:
            outcome = judged_error(error)
            wrong = outcome.reason if outcome.kind == WRONG else ""
        if not np.array_equal(one.clf.predict_proba(one.X), before):
            wrong = "an answer changed predictions"
        wrong = f"{name}: {wrong}" if wrong else ""
    return wrong


def attack(kind: str, seed: int) -> tuple[str, Outcome]:
    """One classifier and its questions, by their number."""
    rng = np.random.default_rng([seed, 11])
    engine = str(rng.choice(["auto", "ep", *ENGINES]))
    kernel = str(rng.choice([name for name in KERNELS if name != "precomputed"]))
    data = str(rng.choice(list(DATA)))
    with np.errstate(all="ignore"):
        X, y = DATA[data](rng)
        X = converted(X, str(rng.choice(["f8", "f8", "f8", "f4", "i8", "fortran"])))
    groups = GROUPS[str(rng.choice(list(GROUPS)))](len(y), rng) if rng.random() < 0.3 else None
    clf = BayesPointClassifier(
        engine=ENGINES[engine],
        kernel=KERNELS[kernel],
        random_state=0,
        multi_class=["auto", "auto", "auto", "ordinal", "joint"][rng.integers(5)],
        class_weight=[None, None, None, "balanced"][rng.integers(4)],
    )
    new = X[rng.permutation(len(X))[:6]] if len(X) else X
    if rng.random() < 0.5 and new.size and new.dtype.kind == "f":
        with np.errstate(all="ignore"):
            new = new * rng.choice([1.1, 0, 1e6, 1e-6])
    one = Asked(clf, (X, np.asarray(y), groups), new, rng)
    return f"{engine}, {kernel}, {data}, {clf.multi_class}", judged(lambda: asked(one))

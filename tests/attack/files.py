"""Hostile model files: damage as it happens, and forgeries whose checksums are right."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from tests.attack.judge import Outcome, judged
from tests.helpers.model_files import forged, members, mutable_models
from tests.storage.test_mutations import DAMAGE, FORGERIES

import bayespoint
from bayespoint.exceptions import ModelFileError
from bayespoint.storage import describe
from bayespoint.storage.archive import MANIFEST

SECONDS = 10


@cache
def models() -> dict[str, tuple[bytes, Any, np.ndarray]]:
    """Files to change, made once."""
    with tempfile.TemporaryDirectory() as folder:
        return mutable_models(Path(folder, "model"))


class Refused(ValueError):
    """Stands for the clear error of a transformer, which the library does not look into."""


def attack(kind: str, seed: int) -> tuple[str, Outcome]:
    """One changed file, by its number."""
    rng = np.random.default_rng([seed, 77])
    name = str(rng.choice(list(models())))
    data, X, expected = models()[name]
    if rng.random() < 0.25:
        change = DAMAGE[rng.integers(len(DAMAGE))]
        mutant, is_damage = change(data, rng), True
    else:
        contents, is_damage = members(data), False
        manifest = json.loads(contents[MANIFEST])
        changes = rng.integers(1, 4)
        for _ in range(changes):
            change = FORGERIES[rng.integers(len(FORGERIES))]
            try:
                change(manifest, contents, rng)
            except Exception:  # two changes that do not go together
                break
        mutant = forged(contents, manifest)
    outcome = judged(reading(mutant, X, expected if is_damage else None, name), SECONDS)
    return f"{name}, {change.__name__}, seed {seed}", outcome


def reading(mutant: bytes, X: Any, expected: np.ndarray | None, name: str) -> Callable[[], str]:
    """Read a file and predict; damaged files must be refused, or be the same."""

    def case() -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "mutant")
            path.write_bytes(mutant)
            with contextlib.suppress(ModelFileError):
                describe(path)
            model = bayespoint.load(path)
        if not hasattr(model, "predict_proba"):
            return ""
        try:
            p = model.predict_proba(X)
        except (ModelFileError, NotFittedError):
            raise
        except Exception as error:
            inside = isinstance(model, bayespoint.BayesPointClassifier)
            if inside and not isinstance(error, ValueError):
                raise
            raise Refused(f"the model cannot predict: {type(error).__name__}") from error
        if not np.isfinite(p).all():
            return "it predicts NaN or infinity"
        if not np.allclose(p.sum(axis=1), 1, atol=1e-6):
            return "probabilities do not sum to 1"
        if expected is not None and not np.allclose(p, expected, rtol=1e-13, atol=1e-15):
            return "a damaged file has other predictions"
        return ""

    return case

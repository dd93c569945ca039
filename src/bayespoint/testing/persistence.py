"""Checks of models that are pickled or saved."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import numpy as np

from bayespoint.exceptions import ModelFileError
from bayespoint.storage import load, save
from bayespoint.storage.registry import NAMES
from bayespoint.testing.trial import Trial, answers, circle, same_bits


def check_pickle(trial: Trial) -> None:
    """A fitted classifier can be pickled, which joblib and searches do."""
    data = circle(3)
    fitted = trial.fit(data)
    again = pickle.loads(pickle.dumps(fitted))
    # Not to the bit: other strides can mean other rounding.
    assert all(map(np.allclose, answers(fitted, data), answers(again, data))), (
        "a classifier that was pickled has other predictions: the posterior must keep all it needs "
        "in its attributes."
    )


def check_model_file(trial: Trial) -> None:
    """A model file gives the same classifier, or says that it cannot hold this engine."""
    data = circle(3)
    fitted = trial.fit(data)
    parts = map(type, (fitted.engine, fitted.posterior_, fitted.posterior_.likelihood))
    strangers = [part.__qualname__ for part in parts if part not in NAMES]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.bpm")
        try:
            save(fitted, path)
        except ModelFileError as error:
            expected = any(name in str(error) for name in strangers)
            assert expected, f"a model file cannot hold the classifier: {error}"
            return
        again = load(path)
    same = same_bits(answers(fitted, data), answers(again, data))
    assert same and again.run_.summary == fitted.run_.summary, (
        "a classifier from a model file has other predictions: name all classes whose objects it "
        "has in storage/registry.py."
    )

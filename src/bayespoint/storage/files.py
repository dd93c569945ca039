"""Saving and loading models."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from bayespoint.exceptions import ModelFileError, ModelVersionWarning, one_line
from bayespoint.storage.archive import COPY, Reader, Writer
from bayespoint.storage.decode import Decoder
from bayespoint.storage.encode import Encoder
from bayespoint.tools.attributes import ContentError, need
from bayespoint.tools.files import replacing
from bayespoint.tools.version import __version__

SHARED = 10  # how often the arrays of a file may be used, on average


@dataclass(frozen=True)
class ModelFile:
    """Description of a model file.

    Attributes
    ----------
    path : Path
        The file.
    model : str
        Class of the model, such as ``"sklearn.pipeline.Pipeline"``.
    format_version : int
        Version of the file format.
    libraries : dict of str
        Versions of bayespoint, NumPy and scikit-learn that wrote the file.
    metadata : dict
        The metadata passed to :func:`save`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from bayespoint.storage import ModelFile
    >>> file = ModelFile(Path("a.bpm"), "sklearn.pipeline.Pipeline", 1, {"numpy": "2.4.6"}, {})
    >>> file.model
    'sklearn.pipeline.Pipeline'
    """

    path: Path
    model: str
    format_version: int
    libraries: dict[str, str]
    metadata: dict[str, Any]


def save(
    model: Any, path: str | os.PathLike[str], *, metadata: Mapping[str, Any] | None = None
) -> None:
    """Save a model in a file without code.

    An existing file at ``path`` is replaced only when the new one is complete. Equal models give
    equal bytes.

    Parameters
    ----------
    model : estimator
        A classifier of this library, fitted or not, alone or in a scikit-learn pipeline with
        common transformers; see ``docs/model-files.md`` for the list.
    path : str or path
        The file; ``.bpm`` is the usual suffix.
    metadata : mapping, optional
        Anything that JSON can represent, such as the source of the data, the accuracy or a date.
        :func:`~bayespoint.storage.describe` returns it.

    Raises
    ------
    ModelFileError
        If something in the model cannot be saved, such as a function.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayespoint
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = bayespoint.BayesPointClassifier(kernel="rbf").fit(X, y)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "iris.bpm")
    >>> bayespoint.save(clf, path, metadata={"data": "iris"})
    >>> again = bayespoint.load(path)
    >>> bool((again.predict(X) == clf.predict(X)).all())
    True
    >>> bayespoint.save(lambda x: x, path)
    Traceback (most recent call last):
        ...
    bayespoint.exceptions.errors.ModelFileError: ...iris.bpm: model is <function ...
    >>> folder.cleanup()
    """
    target = Path(path)
    try:
        noted = json.loads(json.dumps(dict(metadata or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        reason = f"metadata must be valid JSON ({one_line(error):.200})"
        raise ModelFileError(target, reason) from error
    try:
        with replacing(target) as draft, draft.open("wb") as file, Writer(file) as writer:
            tree = Encoder(writer.add).encode(model, "model")
            need(is_estimator(model), f"model is {model!r:.80}, not an estimator")
            writer.finish({"libraries": versions(), "metadata": noted, "model": tree})
    except ContentError as error:
        raise ModelFileError(target, str(error)) from error


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model from a file written by :func:`save`.

    The file contains no code, and everything in it is checked before use.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The model, with the same predictions.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged or changed, or has another format version.

    Warns
    -----
    ModelVersionWarning
        If the file contains transformers of another release of scikit-learn (such as 1.7 and 1.8).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayespoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.bpm")
    ...     bayespoint.save(bayespoint.BayesPointClassifier(kernel="poly", degree=5), path)
    ...     bayespoint.load(path)
    BayesPointClassifier(degree=5, kernel='poly')
    """
    with opened(path) as reader:
        reader.check_members()
        decoder = Decoder(reader.array, most_bytes=SHARED * reader.size)
        model = decoder.decode(reader.manifest["model"], "model")
        need(is_estimator(model), f"it contains a {type(model).__name__}, not an estimator")
    saved, running = str(reader.manifest["libraries"].get("scikit-learn")), sklearn.__version__
    if "sklearn" in decoder.libraries and release(saved) != release(running):
        warnings.warn(ModelVersionWarning(Path(path), saved, running), stacklevel=2)
    return model


def describe(path: str | os.PathLike[str]) -> ModelFile:
    """Describe a model file, without reading its arrays.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    ModelFile

    Raises
    ------
    ModelFileError
        As in :func:`load`, except that damage to arrays is not detected.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayespoint
    >>> from bayespoint.storage import describe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.bpm")
    ...     bayespoint.save(bayespoint.BayesPointClassifier(), path, metadata={"data": "none yet"})
    ...     found = describe(path)
    >>> found.model, found.format_version, found.metadata
    ('bayespoint.BayesPointClassifier', 6, {'data': 'none yet'})
    """
    with opened(path) as reader:
        manifest = reader.manifest
        return ModelFile(
            Path(path),
            str(manifest["model"]["object"]),
            manifest["format_version"],
            manifest["libraries"],
            manifest["metadata"],
        )


def is_estimator(model: Any) -> bool:
    """Whether a value can be fitted, and cloned: kernels, engines and posteriors cannot be both."""
    return hasattr(model, "fit") and hasattr(model, "get_params") and not isinstance(model, type)


def versions() -> dict[str, str]:
    """Versions of the libraries whose objects are in model files."""
    return {"bayespoint": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__}


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Reader]:
    """Open a file and check it; all errors become a ModelFileError."""
    with open(path, "rb") as file:
        try:
            yield Reader(file)
        except ContentError as error:
            raise ModelFileError(Path(path), str(error)) from error
        except Exception as error:
            reason = f"it is damaged or was changed ({one_line(error):.200}). {COPY}"
            raise ModelFileError(Path(path), reason) from error


def release(version: str) -> list[str]:
    """The first two numbers of a version."""
    return version.split(".")[:2]

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
from bayespoint.files import replacing
from bayespoint.state import ContentError
from bayespoint.storage.archive import COPY, Reader, Writer
from bayespoint.storage.decode import Decoder
from bayespoint.storage.encode import Encoder
from bayespoint.version import __version__


@dataclass(frozen=True)
class ModelFile:
    """What a model file says of itself.

    Attributes
    ----------
    path : Path
        The file.
    model : str
        Class of the model, such as ``"sklearn.pipeline.Pipeline"``.
    format_version : int
        Version of the file's format.
    libraries : dict of str
        Versions of bayespoint, NumPy and scikit-learn that wrote it.
    metadata : dict
        What was given to :func:`save`.

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
    """Keep a model in a file that holds no code.

    The file takes its place only when it is complete: what was at ``path`` before stays until then.
    The same model has the same bytes every time.

    Parameters
    ----------
    model : estimator
        A machine of this library, fitted or not, alone or in scikit-learn's pipelines with the
        common transformers; see ``docs/model-files.md`` for the list.
    path : str or path
        The file; ``.bpm`` is a good ending.
    metadata : mapping, optional
        Anything that JSON can say, to be read by :func:`~bayespoint.storage.describe`: where the
        data came from, which accuracy was reached, when.

    Raises
    ------
    ModelFileError
        If something in the model cannot be kept, such as a function.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayespoint
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = bayespoint.BayesPointClassifier(kernel="rbf").fit(X, y)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "iris.bpm")
    >>> bayespoint.save(machine, path, metadata={"data": "iris"})
    >>> again = bayespoint.load(path)
    >>> bool((again.predict(X) == machine.predict(X)).all())
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
        reason = f"its metadata must be what JSON can say ({one_line(error):.200})"
        raise ModelFileError(target, reason) from error
    try:
        with replacing(target) as draft, draft.open("wb") as file, Writer(file) as writer:
            tree = Encoder(writer.add).encode(model, "model")
            if not hasattr(model, "get_params"):
                raise ContentError(f"model is {model!r:.80}, and not an estimator")
            writer.finish({"libraries": versions(), "metadata": noted, "model": tree})
    except ContentError as error:
        raise ModelFileError(target, str(error)) from error


def load(path: str | os.PathLike[str]) -> Any:
    """The model of a file that :func:`save` wrote.

    No code of the file runs: it has none. All of it is checked before it is used.

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
        If the file is no model file, is damaged, was changed, or is of a later format.

    Warns
    -----
    ModelVersionWarning
        If parts of scikit-learn are in it and were of another release (1.8 is another than 1.7).

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
        decoder = Decoder(reader.array)
        model = decoder.decode(reader.manifest["model"], "model")
        if not hasattr(model, "get_params"):
            raise ContentError("it holds no estimator")
    saved, running = str(reader.manifest["libraries"].get("scikit-learn")), sklearn.__version__
    if "sklearn" in decoder.libraries and release(saved) != release(running):
        warnings.warn(ModelVersionWarning(Path(path), saved, running), stacklevel=2)
    return model


def describe(path: str | os.PathLike[str]) -> ModelFile:
    """What a model file says of itself, without its arrays being read.

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
        As in :func:`load`, but for damage to arrays.

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
    ('bayespoint.BayesPointClassifier', 2, {'data': 'none yet'})
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


def versions() -> dict[str, str]:
    """Versions of the libraries whose objects are in model files."""
    return {
        "bayespoint": __version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Reader]:
    """A checked file; whatever goes wrong while it is read is an error of the file."""
    with open(path, "rb") as file:
        try:
            yield Reader(file)
        except ContentError as error:
            raise ModelFileError(Path(path), str(error)) from error
        except Exception as error:
            reason = f"it is damaged, or was changed ({one_line(error):.200}). {COPY}"
            raise ModelFileError(Path(path), reason) from error


def release(version: str) -> list[str]:
    """The first two numbers of a version."""
    return version.split(".")[:2]

"""Data sets of the papers: from a data folder, from ``papers/data``, or else from OpenML.

The folder is named by an argument or by the environment variable ``BAYESPOINT_DATA`` and holds

* ``mnist.npz``: the arrays ``Xtr``, ``ytr``, ``Xte``, ``yte`` of type uint8;
* ``uci/<name>.csv``: columns ``x1, ..., xd, y`` with a header, the label last.

If a folder is named, it is the only source: a missing file is an error, not a reason to load other
data silently. If none is named, the six sets in ``papers/data`` (see
``ATTRIBUTION.md`` there) are read, and others are fetched from OpenML.
"""

from __future__ import annotations

import csv
import gzip
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import one_line
from bayespoint.exceptions.base import Attributes

__all__ = [
    "UCI",
    "DataUnavailableError",
    "Samples",
    "Split",
    "available",
    "data_folder",
    "load_mnist",
    "load_uci",
]

VARIABLE = "BAYESPOINT_DATA"
SHIPPED = Path(__file__).parent / "data"  # sets that come with the experiments
MNIST_FILE = "mnist.npz"
MNIST_ARRAYS = ("Xtr", "ytr", "Xte", "yte")
MNIST_TRAIN = 60_000  # OpenML has the standard training set first, then the test set

# A truncated or invalid file raises one of these, depending on where it ends.
BROKEN = (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile, zlib.error)


@dataclass(eq=False)
class DataUnavailableError(Attributes, OSError):
    """A data set is neither in the data folder nor available from OpenML.

    Attributes
    ----------
    wanted : str
        Name of the data set.
    tried : str
        Where it was looked for, and what went wrong there.
    remedy : str
        What to do.

    Examples
    --------
    >>> from papers.datasets import DataUnavailableError
    >>> print(DataUnavailableError("MNIST", "OpenML: no network", "name a data folder"))
    Cannot load MNIST. Tried OpenML: no network. Remedy: name a data folder.
    """

    wanted: str
    tried: str
    remedy: str

    def __str__(self) -> str:
        return f"Cannot load {self.wanted}. Tried {self.tried}. Remedy: {self.remedy}."


class Split(NamedTuple):
    """Training and test points with their labels.

    Attributes
    ----------
    X_train, y_train, X_test, y_test : ndarray
        Points as rows, and one label for each.

    Examples
    --------
    >>> from papers.datasets import Split
    >>> Split._fields
    ('X_train', 'y_train', 'X_test', 'y_test')
    """

    X_train: NDArray
    y_train: NDArray
    X_test: NDArray
    y_test: NDArray


class Samples(NamedTuple):
    """Points and their labels.

    Attributes
    ----------
    X : ndarray of shape (n_points, n_features)
        The points.
    y : ndarray of str of shape (n_points,)
        Their labels.

    Examples
    --------
    >>> from papers.datasets import Samples
    >>> Samples._fields
    ('X', 'y')
    """

    X: NDArray[np.float64]
    y: NDArray[np.str_]


class Source(NamedTuple):
    """The size of a data set, and its name, version and target column on OpenML."""

    shape: tuple[int, int]
    name: str
    version: int
    target: str = "default-target"


MNIST = Source((70_000, 784), "mnist_784", 1)
UCI = {
    "australian": Source((690, 14), "Australian", 4),
    "breast": Source((683, 9), "breast-w", 1),  # without the 16 rows that lack a value
    "contraceptive": Source((1473, 9), "cmc", 1),
    "heart": Source((270, 13), "heart-statlog", 1),
    "liver": Source((345, 6), "liver-disorders", 1, target="selector"),
    "pima": Source((768, 8), "diabetes", 1),
    "sonar": Source((208, 60), "sonar", 1),
}


def data_folder(path: str | Path | None = None) -> Path | None:
    """The folder to read from: ``path``, else that of ``BAYESPOINT_DATA``, else None.

    Parameters
    ----------
    path : str or Path, optional
        A folder.

    Returns
    -------
    Path or None
        A folder that exists. If the named folder does not, a
        :class:`DataUnavailableError` is raised.

    Examples
    --------
    >>> from papers.datasets import data_folder
    >>> data_folder(".").is_dir()
    True
    """
    named = path if path is not None else os.environ.get(VARIABLE) or None
    if named is None:
        return None
    folder = Path(named)
    if not folder.is_dir():
        by = "" if path is not None else f", named by {VARIABLE}"
        what = "not a folder" if folder.exists() else "no such folder"
        remedy = f"name a folder with {MNIST_FILE} and uci/, or none, to use OpenML"
        raise DataUnavailableError("the data folder", f"{folder}{by}: {what}", remedy)
    return folder


def available(folder: Path) -> list[str]:
    """Names of the data sets in a folder.

    Parameters
    ----------
    folder : Path
        The folder.

    Returns
    -------
    list of str
        Names that :func:`load_uci` takes, and ``"mnist"``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from papers.datasets import available
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "mnist.npz").touch()
    ...     available(Path(folder))
    ['mnist']
    """
    files = {"mnist": MNIST_FILE} | {name: f"uci/{name}.csv" for name in UCI}
    return [name for name, file in files.items() if (folder / file).is_file()]


def load_mnist(folder: str | Path | None = None) -> Split:
    """Load the handwritten digits of MNIST, in the standard split.

    Parameters
    ----------
    folder : str or Path, optional
        Data folder; by default see :func:`data_folder`.

    Returns
    -------
    Split
        Images as rows of float32 pixels in [0, 1], labels as integers.

    Examples
    --------
    >>> from papers.datasets import load_mnist
    >>> X_train, y_train, X_test, y_test = load_mnist()  # doctest: +SKIP
    >>> X_train.shape, X_test.shape  # doctest: +SKIP
    ((60000, 784), (10000, 784))
    """
    found = data_folder(folder)
    if found is None:
        X, y = from_openml("mnist", MNIST)
        split = Split(X[:MNIST_TRAIN], y[:MNIST_TRAIN], X[MNIST_TRAIN:], y[MNIST_TRAIN:])
    else:
        split = read_mnist(found / MNIST_FILE)
    X_train, X_test = (X.astype(np.float32) / np.float32(255) for X in (split[0], split[2]))
    return Split(X_train, split[1].astype(np.int64), X_test, split[3].astype(np.int64))


def load_uci(name: str, folder: str | Path | None = None) -> Samples:
    """Load a data set of the UCI repository.

    Parameters
    ----------
    name : {"australian", "breast", "contraceptive", "heart", "liver", "pima", "sonar"}
        Name of the data set, a key of ``UCI``.
    folder : str or Path, optional
        Data folder; by default see :func:`data_folder`. Without one, all but "pima" are read from
        ``papers/data``, under the licence CC BY 4.0.

    Returns
    -------
    Samples
        Labels are strings, spelled as in the source.

    Examples
    --------
    >>> from papers.datasets import load_uci
    >>> load_uci("sonar").X.shape
    (208, 60)
    """
    if name not in UCI:
        raise ValueError(f"name must be one of {', '.join(UCI)}. Got {name!r} instead.")
    found = data_folder(folder)
    if found is not None:
        return read_csv(found / "uci" / f"{name}.csv", UCI[name].shape)
    return load_shipped(name) if is_shipped(name) else from_openml(name, UCI[name])


def is_shipped(name: str) -> bool:
    """Whether a set is in ``papers/data``."""
    return shipped_file(name).is_file()


def load_shipped(name: str) -> Samples:
    """Load a set from ``papers/data``, whatever folder is named."""
    return read_csv(shipped_file(name), UCI[name].shape)


def shipped_file(name: str) -> Path:
    """Where a set is in ``papers/data``, if it is there."""
    return SHIPPED / f"{name}.csv.gz"


def read_mnist(path: Path) -> Split:
    """Read ``mnist.npz``; images of any shape become rows."""
    require(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = [archive[name] for name in MNIST_ARRAYS]
        points, labels = arrays[::2], arrays[1::2]
        if any(array.dtype != np.uint8 for array in arrays):
            raise ValueError("all arrays must be of type uint8")
        if any(array.shape != (len(X),) for X, array in zip(points, labels, strict=True)):
            raise ValueError("there must be one label for each image")
        if points[0].shape[1:] != points[1].shape[1:] or not all(X.size for X in points):
            raise ValueError("training and test images must have the same size")
    except BROKEN as error:
        raise broken(path, error) from error
    X_train, X_test = (X.reshape(len(X), -1) for X in points)
    return Split(X_train, labels[0], X_test, labels[1])


def read_csv(path: Path, shape: tuple[int, int]) -> Samples:
    """Read columns ``x1, ..., xd, y`` with a header, for a set of known shape (n, d)."""
    require(path)
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))[1:]
        for number, row in enumerate(rows, start=2):
            if len(row) != shape[1] + 1:
                raise ValueError(f"line {number} has {len(row)} columns, not {shape[1] + 1}")
        if len(rows) != shape[0]:
            raise ValueError(f"{len(rows)} rows below the header, not {shape[0]}")
        points = np.array([row[:-1] for row in rows], dtype=np.float64)
    except (*BROKEN, csv.Error) as error:
        raise broken(path, error) from error
    return Samples(points, np.array([row[-1] for row in rows]))


def from_openml(name: str, source: Source) -> Samples:
    """Fetch a data set from OpenML, without rows that have missing values."""
    from sklearn.datasets import fetch_openml  # loads pandas where that is installed

    def unavailable(problem: str) -> DataUnavailableError:
        tried = f"OpenML ({source.name}, version {source.version}): {problem}"
        remedy = f"connect to the network, or name a folder with the file ({VARIABLE} or --data)"
        return DataUnavailableError(f"the data set {name}", tried, remedy)

    try:
        X, y = fetch_openml(
            source.name, version=source.version, target_column=source.target, return_X_y=True
        )
        points = X.to_numpy(dtype=np.float64, na_value=np.nan)
    # The network, the service, the checksum or a missing pandas: report whatever it is.
    except Exception as error:
        raise unavailable(one_line(error)) from error
    kept = ~np.isnan(points).any(axis=1)
    if points[kept].shape != source.shape:
        raise unavailable(f"the table has shape {points[kept].shape}, expected {source.shape}")
    return Samples(points[kept], y.to_numpy()[kept].astype(str))


def require(path: Path) -> None:
    """Raise an error if the file does not exist."""
    if not path.is_file():
        remedy = "put it there, name another folder, or none, to use OpenML"
        raise DataUnavailableError(path.name, f"{path}: no such file", remedy)


def broken(path: Path, error: Exception) -> DataUnavailableError:
    """The error for a file that exists but cannot be read."""
    tried = f"{path}: {one_line(error)}"
    return DataUnavailableError(path.name, tried, "replace the file with a complete copy")

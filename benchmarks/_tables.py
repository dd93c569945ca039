"""Tables of the data folder, some rows to train and the rest to test, and measures of forecasts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from _r_tables import TARGETS, load_r_table
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn import datasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from papers.datasets import load_uci

MEASURES = ("error", "log-loss", "miscalibration", "risk-coverage")


class Halves(NamedTuple):
    """Rows to train and to test, as arrays or data frames, and the codes of their classes."""

    X: Any
    y: NDArray[np.int64]
    X_new: Any
    y_new: NDArray[np.int64]


def frequent(data: Halves) -> Halves:
    """Without classes of which there are fewer than four rows to train, too few for folds."""
    kept = np.flatnonzero(np.bincount(data.y) >= 4)
    train, new = np.isin(data.y, kept), np.isin(data.y_new, kept)
    return Halves(
        data.X[train],
        np.searchsorted(kept, data.y[train]),
        data.X_new[new],
        np.searchsorted(kept, data.y_new[new]),
    )


def measure(p: NDArray, y: NDArray) -> list[float]:
    """Error, log-loss, what the best temperature would gain, area under the risk-coverage curve."""
    p = np.maximum(p, 1e-15)
    p = p / p.sum(axis=1, keepdims=True)
    wrong, sure, n = p.argmax(axis=1) != y, p.max(axis=1), len(y)
    risk = np.cumsum(wrong[np.argsort(-sure, kind="stable")]) / np.arange(1, n + 1)

    def loss(log_temperature: float) -> float:
        log_p = log_softmax(np.log(p) / np.exp(log_temperature), axis=1)
        return float(-log_p[np.arange(n), y].mean())

    best = minimize_scalar(loss, bounds=(-3, 3), method="bounded").fun
    return [float(wrong.mean()), loss(0.0), max(loss(0.0) - best, 0.0), float(risk.mean())]


def load_frames(
    name: str, folder: Path, most: int = 600, share: float = 0.5, seed: int = 0
) -> Halves:
    """A set of ``uci/``, ``tables/``, scikit-learn or R: a share, at most so many rows, to train.

    Numbers are float64, with NaN where they are missing. All other columns are pandas' categories,
    whose levels are those of the training rows. Test rows of a class that the training rows lack
    are left out.
    """
    if name in ("digits", "iris", "wine", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        table = pd.DataFrame(X).rename(columns=str).assign(target=y)
    elif name in TARGETS:
        table = load_r_table(name)
    elif (folder / "uci" / f"{name}.csv").exists():
        data = load_uci(name, folder)
        table = pd.DataFrame(data.X).rename(columns=str).assign(target=data.y)
    else:
        whole = folder / "tables" / f"{name}.csv.gz"
        part = folder / "tables" / f"{name}-train.csv.gz"  # of sets with a fixed split
        table = pd.read_csv(whole if whole.exists() else part)
    table = table.iloc[np.random.default_rng(seed).permutation(len(table))]
    labels = table.pop("target").astype(str).to_numpy()
    half = min(int(len(table) * share), most)
    classes, y = np.unique(labels[:half], return_inverse=True)
    known = np.flatnonzero(np.isin(labels[half:], classes))[:4000]
    table.columns = [f"c{k}" for k in range(table.shape[1])]  # some libraries refuse signs in names
    for column in table:
        if not pd.api.types.is_numeric_dtype(table[column]) or table[column].dtype == bool:
            text = table[column].astype("string")
            levels = sorted(text[:half].dropna().unique())
            table[column] = pd.Categorical(text, categories=levels)
        else:
            table[column] = table[column].astype(np.float64)
    return Halves(
        table[:half], y, table[half:].iloc[known], np.searchsorted(classes, labels[half:][known])
    )


def encoded(data: Halves, *, scaled: bool) -> Halves:
    """The same as arrays: categories as 0 and 1, medians for missing numbers.

    If features are to be ``scaled``, all are standardised; everything is learned from the training
    rows alone.
    """
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (SimpleImputer(strategy="median"), make_column_selector(dtype_include=np.number)),
        (
            make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), encoder),
            make_column_selector(dtype_exclude=np.number),
        ),
    )
    columns = make_pipeline(FunctionTransformer(as_objects), columns)
    prepared = make_pipeline(columns, *[StandardScaler()] * scaled).fit(data.X)
    return data._replace(X=prepared.transform(data.X), X_new=prepared.transform(data.X_new))


def as_objects(table: pd.DataFrame) -> pd.DataFrame:
    """Categories as plain objects, so that a missing one can be filled with a new level."""
    named = table.select_dtypes("category").columns
    return table.astype(dict.fromkeys(named, object))


def load(
    name: str,
    folder: Path,
    most: int = 600,
    share: float = 0.5,
    seed: int = 0,
    *,
    scaled: bool = True,
) -> Halves:
    """A set as arrays: see :func:`load_frames` and :func:`encoded`."""
    return encoded(load_frames(name, folder, most, share, seed), scaled=scaled)

"""Tables of the data folder as numbers, some to train and the rest to test."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from papers.datasets import load_uci


class Halves(NamedTuple):
    """Scaled features and the codes of the classes."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_new: NDArray[np.float64]
    y_new: NDArray[np.int64]


def load(
    name: str,
    folder: Path,
    most: int = 600,
    share: float = 0.5,
    seed: int = 0,
    *,
    scaled: bool = True,
) -> Halves:
    """A set of ``uci/``, ``tables/`` or scikit-learn: a share, at most so many points, to train.

    Categories become 0 and 1, and if features are to be ``scaled``, all are standardised, both with
    the training points alone. Test points of a class that the training points lack are left out.
    """
    if name in ("digits", "iris", "wine", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        table = pd.DataFrame(X).rename(columns=str).assign(target=y)
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
    is_number = make_column_selector(dtype_include=np.number)
    is_category = make_column_selector(dtype_exclude=np.number)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (SimpleImputer(strategy="median"), is_number),
        (make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), encoder), is_category),
    )
    scaler = make_pipeline(columns, *[StandardScaler()] * scaled).fit(table[:half])
    new = table[half:].iloc[known]
    return Halves(
        scaler.transform(table[:half]), y, scaler.transform(new),
        np.searchsorted(classes, labels[half:][known]),
    )  # fmt: skip

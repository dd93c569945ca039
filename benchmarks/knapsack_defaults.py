"""Which C, beta and share of new beliefs knapsack propagation should have without folds.

    python benchmarks/knapsack_defaults.py

Test errors in % on ten sets, means over random splits, for every C, beta and share that each pass
renews in the running mean of the beliefs (0: Heskes' 1 / n). Here beta is that of beliefs divided
by the weight of the passes in the mean, 1 - (1 - share)^50, so that shares can be compared. Two of
the sets are in Table 1 of the paper, liver and heart; the others are not looked at. Needs the data
folder (BAYESPOINT_DATA, or --data) with uci/ and tables/.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from _report import table
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from bayespoint.engines.knapsack import propagation
from papers.datasets import data_folder, load_uci

SHARES, COSTS, BETAS = (0.0, 0.01, 0.02, 0.05, 0.1), (10.0, 30.0), (0.05, 0.1, 0.2, 0.4, 0.8)
N_TRAIN = {
    "liver": 276,
    "heart": 216,
    "adult": 250,
    "synth": 150,
    "crabs": 100,
    "house-votes": 348,
    "letter": 250,
    "dna": 200,
    "cells": 200,
    "german-credit": 250,
}


def load(name: str, folder: Path) -> tuple[NDArray, NDArray]:
    """Numeric features, and whether a point is of the first of two groups of classes."""
    if name in ("liver", "heart"):
        X, y = load_uci(name, folder)
        return X, y == np.unique(y)[0]
    files = {"adult": ["adult-train"], "synth": ["synth-train", "synth-test"]}.get(name, [name])
    data = pd.concat([pd.read_csv(folder / "tables" / f"{file}.csv.gz") for file in files])
    labels = data.pop("target").astype(str)
    if name == "adult":
        data = data.select_dtypes("number").drop(columns="fnlwgt")[:6000]
    elif name == "house-votes":
        data = data.apply(lambda votes: votes.map({"y": 1.0, "n": 0.0})).fillna(0.5)
    elif name == "letter":  # two groups of letters that look alike
        data = data[labels.isin(list("HKRNUV"))]
    elif name == "dna":
        data = data.iloc[:, 80:110]  # around the middle, where most of the signal is
    labels = labels[: len(data)] if name != "letter" else labels[labels.isin(list("HKRNUV"))]
    groups = {"letter": labels.isin(list("HKR")), "crabs": labels.str[0] == labels.iloc[0][0]}
    return data.to_numpy(float), groups.get(name, labels == labels.iloc[0]).to_numpy()


def errors(X: NDArray, y: NDArray, n_train: int, seed: int) -> NDArray[np.float64]:
    """Test errors in % of one split, shape (shares, costs, betas)."""
    A, B, a, b = train_test_split(X, y, train_size=n_train, random_state=seed, stratify=y)
    scaler = StandardScaler().fit(A)
    A, B = scaler.transform(A), np.column_stack([scaler.transform(B), np.ones(len(B))])
    found = np.empty((len(SHARES), len(COSTS), len(BETAS)))
    for i, share in enumerate(SHARES):
        propagation.NEW_SHARE = share
        weight = 1 - (1 - max(share, 1 / n_train)) ** 50
        for j, C in enumerate(COSTS):
            engine = KnapsackPropagation(C=C)
            classifier = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine)
            means = classifier.fit(A, a).posterior_.means(np.array(BETAS) / weight)[:, :, 0]
            found[i, j] = 100 * np.mean((B @ means.T > 0) != b[:, None], axis=0)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with uci/ and tables/")
    parser.add_argument("--splits", type=int, default=16)
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    if folder is None:
        parser.error("name the data folder")
    header = ["share", *(f"C {C:g}, β {beta:g}" for C in COSTS for beta in BETAS)]
    every = []
    for name, n_train in N_TRAIN.items():
        X, y = load(name, folder)
        every.append(np.mean([errors(X, y, n_train, s) for s in range(arguments.splits)], axis=0))
    for name, means in [*zip(N_TRAIN, every, strict=True), ("mean", np.mean(every, axis=0))]:
        rows = [
            [f"{share:g}", *(f"{value:.1f}" for value in own.ravel())]
            for share, own in zip(SHARES, means, strict=True)
        ]
        table(name, header, rows)


if __name__ == "__main__":
    main()

"""Learning from a stream of flights: predict a batch of 1 000 rows, then learn from it.

    python benchmarks/streams.py [--data FOLDER] [--rows N] [--only ours sgd vw river speed census]

3 000 000 flights in the order of their departure; the label is whether they arrive more than 15
minutes late. Origin, destination, hour, weekday and distance (in hundreds of miles) and all pairs
of these are hashed by scikit-learn's FeatureHasher: 15 entries a row, and the constant.

All log-losses and calibration errors are of predictions made before the batch was learned from.
The settings marked * were chosen on the first 300 000 rows; the column "later" is of the others.
vowpalwabbit and river are used if they are installed: pip install vowpalwabbit river.

Nothing at all was chosen on the second table, the census in the order of its file (its columns are
hashed, numbers by their length in bits): a stream that hardly changes.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from _report import table
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier

from bayespoint import BayesPointClassifier
from bayespoint.engines import FactorisedPropagation
from papers.datasets import data_folder

BATCH = 1_000
CHOSEN_ON = 300_000  # rows on which constants of the library and of rivals were chosen
RIVER_ROWS, VOWPAL_ROWS = 100_000, 1_000_000  # that these get, a row at a time from Python
N_BINS = 20  # of the calibration error, with equally many predictions each
BITS = 18
GROUPS = ("ours", "sgd", "vw", "river")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with tables/flights.parquet")
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--only", nargs="+", default=[*GROUPS, "speed", "census"])
    arguments = parser.parse_args()
    folder = arguments.data or data_folder()
    path = None if folder is None else Path(folder) / "tables" / "flights.parquet"
    if path is None or not path.exists():
        print(
            "Needs tables/flights.parquet in --data or in the folder BAYESPOINT_DATA: nothing done"
        )
        return
    X, y = flights(path, arguments.rows)
    print(f"{X.shape[0]} flights, {X.nnz / X.shape[0]:.2f} entries a row, {y.mean():.3f} late")
    if set(GROUPS) & set(arguments.only):
        compare("Flights", X, y, arguments.only)
    if "speed" in arguments.only:
        speed(X[:1_000_000], y[:1_000_000])
    if "census" in arguments.only:
        compare("Census", *census(path.with_name("census-income-train.csv.gz")), ["ours", "sgd"])


def compare(title: str, X: Any, y: NDArray, groups: list[str]) -> None:
    """All contenders of some groups on one stream."""
    contenders = {"ours": ours, "sgd": sgd, "vw": vowpal, "river": river}
    rows = [
        judged(name, contender, X[:most], y[:most])
        for group in GROUPS
        if group in groups
        for name, contender, most in contenders[group]()
    ]
    header = [
        "",
        "rows",
        "log-loss",
        "later",
        "first 100 000",
        "first 1 000 000",
        "calibration error",
        "rows/s learned",
        "in all",
    ]
    table(f"{title}: predict {BATCH} rows, then learn from them", header, rows)


def flights(path: Path, n_rows: int) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """Hashed features of all flights, and whether they were late."""
    from pyarrow import parquet

    columns = parquet.read_table(path).slice(0, n_rows)
    date = columns["date"].to_numpy().astype("datetime64[s]")
    day = date.astype("datetime64[D]")
    fields: dict[str, NDArray] = {
        "origin": columns["origin"].to_numpy(zero_copy_only=False).astype(str),
        "destination": columns["destination"].to_numpy(zero_copy_only=False).astype(str),
        "hour": (date - day).astype(np.int64) // 3600,
        "weekday": (day.astype(np.int64) + 3) % 7,
        "distance": columns["distance"].to_numpy() // 100,
    }
    hasher = FeatureHasher(2**BITS, input_type="string", alternate_sign=False)
    known = {name: np.unique(values, return_inverse=True) for name, values in fields.items()}
    parts = []
    for names in [(name,) for name in fields] + list(combinations(fields, 2)):
        code = np.zeros(len(date), dtype=np.int64)
        for name in names:
            code = code * len(known[name][0]) + known[name][1]
        codes, at = np.unique(code, return_inverse=True)
        words = [word(int(one), names, known) for one in codes]  # each is hashed once
        parts.append(hasher.transform([[one] for one in words]).indices[at])
    return ones_at(parts), (columns["delay"].to_numpy() > 15).astype(np.int64)


def census(path: Path) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """Hashed columns of the census but its weight, and whether an income is above 50 000."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        names, *lines = csv.reader(file)
    hasher = FeatureHasher(2**BITS, input_type="string", alternate_sign=False)
    *columns, target = np.array(lines).T
    parts = []
    for name, column in zip(names, columns, strict=False):
        if name != "instance_weight":
            values, at = np.unique(column, return_inverse=True)
            words = [[f"{name}={bucket(value)}"] for value in values]
            parts.append(hasher.transform(words).indices[at])
    return ones_at(parts), (target == ">50K").astype(np.int64)


def ones_at(columns: list[NDArray]) -> sparse.csr_array:
    """Rows of ones at the places that each of the columns names."""
    indices = np.stack(columns, axis=1).astype(np.int32)
    begin = np.arange(0, indices.size + 1, indices.shape[1], dtype=np.int32)
    shape = len(indices), 2**BITS
    X = sparse.csr_array((np.ones(indices.size), indices.ravel(), begin), shape=shape)
    X.sum_duplicates()
    return X


def bucket(value: str) -> str:
    """A category as it is, a whole number by its length in bits, an age or a small one itself."""
    is_large = value.isdigit() and int(value) > 100
    return f"{int(value).bit_length()} bits" if is_large else value


def word(code: int, names: tuple[str, ...], known: dict[str, Any]) -> str:
    """A token such as "origin=ORD hour=7"."""
    parts = []
    for name in reversed(names):
        values = known[name][0]
        parts.append(f"{name}={values[code % len(values)]}")
        code //= len(values)
    return " ".join(reversed(parts))


class Contender:
    """Something that predicts and learns from batches; counts the time of learning."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, X: Any) -> NDArray[np.float64]:
        return self.model.predict_proba(X)[:, 1]

    def learn(self, X: Any, y: NDArray) -> None:
        self.model.partial_fit(X, y, classes=[0, 1])


Named = Iterator[tuple[str, Callable[[], Any], int | None]]


def ours() -> Named:
    """Filters of this library."""

    def classifier(**parameters: Any) -> Contender:
        engine = FactorisedPropagation(max_iter=1, **parameters)
        return Contender(BayesPointClassifier(kernel="linear", engine=engine))

    yield "bayespoint, decay='auto'", lambda: classifier(decay="auto"), None
    yield (
        "bayespoint, half-life 3 000 *",
        lambda: classifier(decay=0.5 ** (1 / 3000)),
        None,
    )
    yield "bayespoint, never forgets", lambda: classifier(prior_scale=0.25), None


def sgd() -> Named:
    """Stochastic gradient descent of scikit-learn."""
    yield "SGDClassifier", lambda: Contender(SGDClassifier(loss="log_loss")), None
    for rate in (0.03,):
        yield (
            f"SGDClassifier, constant rate {rate} *",
            lambda rate=rate: Contender(
                SGDClassifier(loss="log_loss", alpha=0, learning_rate="constant", eta0=rate)
            ),
            None,
        )


class Vowpal(Contender):
    """vowpalwabbit; columns are its features, without hashing them again."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        return np.array([self.model.predict("|f " + text) for text in texts_of(X)])

    def learn(self, X: Any, y: NDArray) -> None:
        for text, label in zip(texts_of(X), y, strict=True):
            self.model.learn(f"{2 * label - 1} |f {text}")


def texts_of(X: Any) -> list[str]:
    """The columns of each row as text."""
    return [" ".join(map(str, columns)) for columns in rows_of(X)]


def vowpal() -> Named:
    """vowpalwabbit with its default and with a tuned rate."""
    try:
        import vowpalwabbit
    except ImportError:
        print("vowpalwabbit is not installed: not compared")
        return
    print(f"vowpalwabbit gets its rows one by one: the first {VOWPAL_ROWS} only")
    for name, options in (
        ("vowpalwabbit", ""),
        ("vowpalwabbit, --power_t 0 *", "--power_t 0"),
    ):
        yield (
            name,
            lambda options=options: Vowpal(
                vowpalwabbit.Workspace(
                    f"--quiet --loss_function logistic --link logistic -b {BITS} {options}"
                )
            ),
            VOWPAL_ROWS,
        )


class River(Contender):
    """A model of river, which learns row by row from dictionaries."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        return np.array(
            [
                self.model.predict_proba_one(dict.fromkeys(columns, 1))[True]
                for columns in rows_of(X)
            ]
        )

    def learn(self, X: Any, y: NDArray) -> None:
        for columns, label in zip(rows_of(X), y, strict=True):
            self.model.learn_one(dict.fromkeys(columns, 1), bool(label))


def river() -> Named:
    """AdPredictor, the same model in Python."""
    try:
        from river.linear_model import AdPredictor
    except ImportError:
        print("river, or its AdPredictor, is not installed: not compared")
        return
    print(f"river is slow: it learns from the first {RIVER_ROWS} rows only")
    yield "river, AdPredictor", lambda: River(AdPredictor()), RIVER_ROWS


def rows_of(X: Any) -> list[list[int]]:
    """The columns of each row."""
    return [part.tolist() for part in np.split(X.indices, X.indptr[1:-1])]


def judged(name: str, contender: Callable[[], Any], X: Any, y: NDArray) -> list[Any]:
    """One row of the table."""
    model, p, learning, began = contender(), np.full(len(y), 0.5), 0.0, time.perf_counter()
    for begin in range(0, len(y), BATCH):
        rows, labels = X[begin : begin + BATCH], y[begin : begin + BATCH]
        if begin:
            p[begin : begin + BATCH] = model.predict(rows)
        started = time.thread_time()
        model.learn(rows, labels)
        learning += time.thread_time() - started
    seconds = time.perf_counter() - began
    p = np.clip(p, 1e-15, 1 - 1e-15)
    loss = -np.log(np.where(y == 1, p, 1 - p))
    later = f"{loss[CHOSEN_ON:].mean():.4f}" if len(loss) > CHOSEN_ON else ""
    firsts = [f"{loss[:n].mean():.4f}" if len(loss) >= n else "" for n in (100_000, 1_000_000)]
    found = [
        name,
        len(y),
        f"{loss.mean():.4f}",
        later,
        *firsts,
        f"{calibration_error(p, y):.4f}",
        f"{len(y) / learning:,.0f}",
        f"{len(y) / seconds:,.0f}",
    ]
    print(*found, sep="  ", flush=True)
    return found


def calibration_error(p: NDArray, y: NDArray) -> float:
    """Mean distance of forecast and frequency, over bins of equally many forecasts."""
    bins = np.array_split(np.argsort(p, kind="stable"), N_BINS)
    return sum(len(one) * abs(p[one].mean() - y[one].mean()) for one in bins) / len(p)


def speed(X: Any, y: NDArray) -> None:
    """Rows a second of learning alone, on one core."""
    rows = []
    for size in (1, 1_000, 100_000):
        most = min(len(y), 10_000 * size)
        batches = [
            (X[begin : begin + size], y[begin : begin + size]) for begin in range(0, most, size)
        ]
        for name, contender in (
            ("bayespoint, decay='auto'", next(iter(ours()))[1]),
            ("bayespoint, half-life 3 000", list(ours())[1][1]),
            ("bayespoint, never forgets", list(ours())[2][1]),
            ("SGDClassifier", next(iter(sgd()))[1]),
        ):
            model = contender()
            model.learn(X[:1_000], y[:1_000])  # with all checks, and compiled if need be
            model.learn(*batches[0])
            started = time.thread_time()
            for batch in batches[1:]:
                model.learn(*batch)
            seconds = max(time.thread_time() - started, 1e-9)
            rows.append([name, size, f"{(most - size) / seconds:,.0f}"])
    table("Learning alone", ["", "batch", "rows/s of its thread"], rows)


if __name__ == "__main__":
    main()

"""Hostile tables: data frames of odd columns, names, labels, weights and groups."""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tests.attack.fits import ENGINES
from tests.attack.judge import WRONG, Outcome, check_predictions, judged, judged_error

import bayespoint
from bayespoint import BayesPointClassifier

Cells = Callable[[np.random.Generator, int], Any]


def chosen(*values: Any, dtype: Any = object) -> Cells:
    """Cells that are some values at random."""

    def make(rng: np.random.Generator, n: int) -> Any:
        return pd.Series([values[k] for k in rng.integers(len(values), size=n)], dtype=dtype)

    return make


def normal(dtype: Any, *lost: Any) -> Cells:
    """Numbers, some of them missing."""

    def make(rng: np.random.Generator, n: int) -> Any:
        cells = pd.Series((8 * rng.normal(size=n)).round(), dtype=dtype)
        for value in lost:
            cells[rng.random(n) < 0.2] = value
        return cells

    return make


PLAIN: dict[str, Cells] = {
    "numbers": lambda rng, n: pd.Series(rng.normal(size=n)),
    "numbers, some missing": normal("f8", np.nan),
    "whole": normal("i8"),
    "bytes": lambda rng, n: pd.Series(rng.integers(0, 256, n), dtype="u1"),
    "halves": normal("f2"),
    "nullable whole": normal("Int64", pd.NA),
    "nullable numbers": normal("Float32", pd.NA),
    "nullable truth": chosen(True, False, pd.NA, dtype="boolean"),
    "truth": chosen(True, False, dtype=bool),
    "truth as objects": chosen(True, False, None),
    "words": chosen("a", "b", "c"),
    "words, some missing": chosen("a", "b", None, np.nan, pd.NA),
    "strings": chosen("a", "b", pd.NA, dtype="string"),
    "categories": chosen("a", "b", "c", np.nan, dtype="category"),
    "unused categories": chosen("a", "b", dtype=pd.CategoricalDtype(["z", "b", "a", "y"])),
    "ordered categories": chosen("lo", "hi", dtype=pd.CategoricalDtype(["lo", "hi"], ordered=True)),
    "whole categories": chosen(3, 1, 2, dtype="category"),
    "constant": chosen(1.5, dtype="f8"),
    "one word": chosen("x"),
    "arrow whole": normal("int64[pyarrow]", pd.NA),
    "arrow words": chosen("a", "b", None, dtype="string[pyarrow]"),
    "arrow truth": chosen(True, False, None, dtype="bool[pyarrow]"),
}
ODD: dict[str, Cells] = {
    **PLAIN,
    "sparse": lambda rng, n: pd.Series(pd.arrays.SparseArray(rng.integers(0, 2, n) * 1.0)),
    "mixed": chosen("a", 1, 2.5),
    "truth and numbers": chosen(True, 1, 0),
    "numbers as objects": chosen(1, 2.5, None),
    "numbers as text": chosen("1", "2.5", "x"),
    "decimals": chosen(Decimal("1.5"), Decimal("NaN"), Decimal(2)),
    "byte strings": chosen(b"a", b"b"),
    "dates": chosen(date(2020, 1, 1), date(2021, 1, 1)),
    "times": lambda rng, n: pd.Series(pd.date_range("2020", periods=n)),
    "times of a zone": lambda rng, n: pd.Series(pd.date_range("2020", periods=n, tz="UTC")),
    "time spans": lambda rng, n: pd.Series(pd.to_timedelta(rng.integers(9, size=n), "D")),
    "periods": lambda rng, n: pd.Series(pd.period_range("2020", periods=n, freq="D")),
    "intervals": lambda rng, n: pd.Series(pd.interval_range(0, n)),
    "complex": lambda rng, n: pd.Series(rng.normal(size=n) * 1j),
    "lists": lambda rng, n: pd.Series([[1]] * n),
    "dictionaries": lambda rng, n: pd.Series([{}] * n),
    "all missing": chosen(np.nan, dtype="f8"),
    "nothing": chosen(None),
    "categories that are missing": chosen(np.nan, dtype="category"),
    "many levels": lambda rng, n: pd.Series([f"level {k}" for k in rng.permutation(9 * n)[:n]]),
    "infinity": chosen(np.inf, 1.0, dtype="f8"),
    "limit": chosen(1.7e308, -1.7e308, dtype="f8"),
    "64 bits": chosen(2**63 - 1, -(2**63), dtype="i8"),
    "unsigned": chosen(2**64 - 1, 0, dtype="u8"),
    "huge whole": chosen(10**400, 1),
    "levels of 400 digits": chosen(10**400, 1, "x"),
    "surrogates": chosen("\ud800", "a"),
    "zero bytes": chosen("a\x00", "a", "a\x00b"),
    "long words": chosen("x" * 5000, ""),
    "words that are NaN": chosen("nan", "None", "", "other", "missing"),
    "float levels": chosen(0.1, 0.30000000000000004, 0.3, np.inf, dtype="category"),
    "time levels": chosen(pd.Timestamp("2020"), pd.NaT, dtype="category"),
    "tuple levels": chosen((1, 2), (3,), dtype="category"),
    "arrow dates": chosen(date(2020, 1, 1), None, dtype="date32[pyarrow]"),
    "objects": lambda rng, n: pd.Series([object() for _ in range(n)]),
}
NAMES = ["a", "b c", "ü", "x0", "x0=other", "other", "", 0, 1.5, None, ("a", "b"), "\x1b[31m", "a"]
WHOLE: dict[str, Cells] = {
    "arrays": lambda rng, n: rng.integers(0, 2, n),
    "a series": lambda rng, n: pd.Series(rng.integers(0, 2, n), index=rng.permutation(n) + 7),
    "words": lambda rng, n: rng.choice(["no", "ß"], n),
    "categories": chosen("lo", "mid", "hi", dtype=pd.CategoricalDtype(["lo", "mid", "hi", "top"])),
    "nullable": normal("Int64"),
    "nullable, missing": chosen(1, 2, pd.NA, dtype="Int64"),
    "strings": chosen("a", "b", dtype="string"),
    "truth": chosen(True, False, dtype="boolean"),
    "objects": chosen("a", "b"),
    "mixed": chosen("a", 1),
    "arrow": chosen("a", "b", dtype="string[pyarrow]"),
    "times": chosen(pd.Timestamp("2020"), pd.Timestamp("2021"), dtype="datetime64[ns]"),
    "a column": lambda rng, n: pd.DataFrame({"y": rng.integers(0, 2, n)}),
    "two columns": lambda rng, n: pd.DataFrame(rng.integers(0, 2, (n, 2))),
}
WEIGHTS: dict[str, Cells] = {
    "whole": lambda rng, n: pd.Series(rng.integers(0, 3, n), index=np.arange(n)[::-1]),
    "nullable": lambda rng, n: pd.Series(rng.random(n), dtype="Float64"),
    "missing": chosen(1.0, pd.NA, dtype="Float64"),
    "objects": chosen(1, 2.0),
    "a column": lambda rng, n: pd.DataFrame({"w": rng.random(n)}),
}


def frame(rng: np.random.Generator, n: int) -> tuple[list[str], pd.DataFrame]:
    """A table of one to five columns, most of which a classifier takes."""
    kinds = [
        str(rng.choice(list(PLAIN if rng.random() < 0.85 else ODD)))
        for _ in range(rng.integers(1, 6))
    ]
    made = [ODD[kind](rng, n) for kind in kinds]
    table = pd.concat(made, axis=1)
    if rng.random() < 0.8:
        table.columns = [f"c{j}" for j in range(len(kinds))]
    else:
        table.columns = pd.Index([NAMES[k] for k in rng.integers(len(NAMES), size=len(kinds))])
    if rng.random() < 0.2:
        table.index = rng.integers(3, size=n)
    return kinds, table


def changed(table: pd.DataFrame, rng: np.random.Generator) -> tuple[str, Any]:
    """New rows that differ from those of training in one thing."""
    n, d = table.shape
    how = str(rng.choice(["cells", "type", "order", "less", "more", "none", "array", "names"]))
    j, new = int(rng.integers(d)), table.copy()
    if how == "cells":
        parts = [table.iloc[:, k] for k in range(d)]
        other = ODD[str(rng.choice(list(ODD)))](rng, n)
        parts[j] = other.set_axis(table.index)
        new = pd.concat(parts, axis=1)
        new.columns = table.columns
    elif how == "type":
        kind = str(rng.choice(["object", "category", "string"]))
        new = pd.concat([table.iloc[:, k].astype(kind) for k in range(d)], axis=1)
    elif how == "order":
        new = table.iloc[:, rng.permutation(d)]
    elif how == "less":
        new = table.iloc[:, :j]
    elif how == "more":
        new = pd.concat([table, table.iloc[:, [j]]], axis=1)
    elif how == "none":
        new = table.iloc[:0]
    elif how == "array":
        new = table.to_numpy()
    else:
        new.columns = range(d)
    return how, new


def as_polars(table: pd.DataFrame) -> Any:
    """The same of Polars, if there is such a thing."""
    try:
        import polars

        return polars.from_pandas(table)
    except Exception:  # not installed, or not a table of Polars
        return table


def rows_of(table: Any, rows: Any) -> Any:
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def same(one: Any, other: Any) -> bool:
    """Whether frames, series or arrays are equal, missing cells included."""
    return one.equals(other) if hasattr(one, "equals") else np.array_equal(one, other)


def copied(clf: Any, rng: np.random.Generator) -> Any:
    """A copy by pickle or by model file."""
    if rng.random() < 0.5:
        return pickle.loads(pickle.dumps(clf))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.bpm")
        bayespoint.save(clf, path)
        return bayespoint.load(path)


def onnx_differs(clf: Any, table: pd.DataFrame) -> str:
    """How an ONNX model differs, if one can be made of it and of the table."""
    import onnxruntime

    from bayespoint.storage.onnx import to_onnx

    kinds = {"tensor(string)": object, "tensor(bool)": bool, "tensor(double)": np.float64}
    model = to_onnx(clf, dtype="float64")
    if any(one.kind in "mM" for one in table.dtypes):
        return ""  # scikit-learn makes numbers of times
    session = onnxruntime.InferenceSession(model.SerializeToString())
    wanted = session.get_inputs()
    if len(wanted) == 1 and wanted[0].name == "X" and list(wanted[0].shape)[1:] == [table.shape[1]]:
        given = {"X": np.column_stack([numbers(table.iloc[:, j]) for j in range(table.shape[1])])}
    else:
        given = {}
        for j, one in enumerate(wanted):
            cells = table.iloc[:, j]
            if one.type == "tensor(string)":
                cells = cells.astype(object).where(cells.notna(), "").to_numpy(dtype=object)
            elif one.type == "tensor(bool)" and cells.isna().any():
                return ""  # ONNX has no missing truth
            else:
                cells = numbers(cells)
            given[one.name] = cells.astype(kinds[one.type])[:, None]
    (p,) = session.run(["probabilities"], given)
    differs = np.abs(p - clf.predict_proba(table)).max()
    return "" if differs < 1e-5 else f"ONNX differs by {differs:.2g}"


def numbers(cells: pd.Series) -> np.ndarray:
    return cells.astype(object).where(cells.notna(), np.nan).to_numpy(dtype=np.float64)


def lived(clf: Any, table: Any, y: Any, more: dict, rng: np.random.Generator) -> str:
    """Fit, predict, and ask for what must not change."""
    given = [table, y, *more.values()]
    before = copy.deepcopy(given)
    try:
        clf.fit(table, y, **more)
    finally:
        kept = all(map(same, given, before))
    if not kept:
        return "fit changed the table"
    wrong = check_predictions(clf, table)
    if wrong:
        return wrong
    p, some = clf.predict_proba(table), np.sort(rng.permutation(len(table))[:3])
    if not np.allclose(clf.predict_proba(rows_of(table, some)), p[some], atol=1e-8):
        return "rows alone are predicted otherwise than with others"
    if not np.array_equal(copied(clf, rng).predict_proba(table), p):
        return "a copy predicts something else"
    if rng.random() < 0.3 and hasattr(table, "iloc"):
        try:
            wrong = onnx_differs(clf, table)
        except ValueError as error:
            outcome = judged_error(error)
            wrong = outcome.reason if outcome.kind == WRONG else ""
        if wrong:
            return wrong
    if hasattr(table, "iloc"):
        try:
            how, new = changed(table, rng)
        except Exception:  # pandas does not make such a table
            return ""
        try:
            return check_predictions(clf, new)
        except Exception as error:
            outcome = judged_error(error)
            return f"{how}: {outcome.reason}" if outcome.kind == WRONG else ""
    return ""


def attack(kind: str, seed: int) -> tuple[str, Outcome]:
    """One table, by its number."""
    rng = np.random.default_rng([seed, 10])
    n = int(rng.integers(12, 40))
    kinds, table = frame(rng, n)
    label = "arrays" if rng.random() < 0.6 else str(rng.choice(list(WHOLE)))
    y: Any = WHOLE[label](rng, n)
    more = {}
    if rng.random() < 0.2:
        more["sample_weight"] = WEIGHTS[str(rng.choice(list(WEIGHTS)))](rng, n)
    if rng.random() < 0.2:
        more["groups"] = (ODD | WHOLE)[str(rng.choice(list(ODD | WHOLE)))](rng, n)
    clf = BayesPointClassifier(
        engine=ENGINES[str(rng.choice(list(ENGINES)))] if rng.random() < 0.4 else "auto",
        kernel=str(rng.choice(["linear", "rbf", "rbf", "auto"])),
        standardize=[True, "auto"][rng.integers(2)],
        class_weight=[None, None, "balanced"][rng.integers(3)],
        multi_class=["auto", "auto", "ordinal"][rng.integers(3)],
        random_state=0,
    )
    if rng.random() < 0.2:
        clf.set_params(categorical_features=[[0], ["c0"], None, [True], [99]][rng.integers(5)])
    X = as_polars(table) if rng.random() < 0.3 else table
    told = {name: type(value).__name__ for name, value in more.items()}
    name = f"{clf.engine}, {clf.kernel}, {kinds}, {list(table.columns)}, y {label}, {told}"
    return name, judged(lambda: lived(clf, X, y, more, rng))

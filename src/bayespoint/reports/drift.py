"""Differences between the columns of new data and those of the training data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from bayespoint.reports.html import decimals
from bayespoint.tools.extras import in_pandas

N_PARTS = 10  # of the numbers of a column, with as many training rows in each as ties allow
N_CATEGORIES = 50  # that are kept of a column, the most frequent
SHOWN = 3  # categories in a description
ROWS_TO_REMARK = 20  # that a remark needs: of fewer, one new category would be half of them
FAR = 0.1  # share of the rows below which a difference is not worth a remark
LEVEL = 0.01  # probability of a remark on any of the columns where nothing has changed

Profile = dict[str, dict[str, Any]]


class Shift(NamedTuple):
    """A column in the training data and now.

    Attributes
    ----------
    column, kind : str
        Its name, and "number" or "category".
    before, now : str
        Mean and standard deviation, or the most frequent categories, and missing values.
    distance : float
        The share of the rows that would have to move for both to be equal, over tenths of the
        training rows or over categories: the total variation distance.
    p_value : float
        P-value of the chi-squared test that both have the same distribution.
    is_shifted : bool
        Whether the difference is significant: at least 20 rows, a distance above 0.1, and a p-value
        below 1 % for all columns together.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayespoint.reports import compare, profile
    >>> before = profile(pd.DataFrame({"age": range(200)}))
    >>> (age,) = compare(before, pd.DataFrame({"age": range(100, 200)}))
    >>> age.now, age.distance, age.is_shifted
    ('149.5 ± 28.9', 0.5, True)
    """

    column: str
    kind: str
    before: str
    now: str
    distance: float
    p_value: float
    is_shifted: bool


def profile(frame: Any) -> Profile:
    """Summarize the columns of a data frame, to compare others with it later.

    Parameters
    ----------
    frame : DataFrame
        Columns of numbers, and of anything else, which are categories.

    Returns
    -------
    dict
        A small entry for each column, which JSON can represent.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayespoint.reports import profile
    >>> profile(pd.DataFrame({"city": ["Kiel", "Kiel", None]}))
    {'city': {'kind': 'category', 'rows': 3, 'missing': 1, 'counts': {'Kiel': 2}, 'other': 0}}
    """
    frame = in_pandas(frame)
    return {str(name): profile_column(frame[name]) for name in frame}


def profile_column(column: Any) -> dict[str, Any]:
    """Counts of categories, or of the numbers between quantiles."""
    present = column.dropna()
    sizes = {"rows": len(column), "missing": len(column) - len(present)}
    if column.dtype.kind not in "biuf":
        counts = present.astype(str).value_counts()
        kept = {str(label): int(n) for label, n in counts.iloc[:N_CATEGORIES].items()}
        other = len(present) - sum(kept.values())
        return {"kind": "category", **sizes, "counts": kept, "other": other}
    values = present.to_numpy(np.float64)
    inner = np.arange(1, N_PARTS) / N_PARTS
    edges = np.unique(np.quantile(values, inner)) if len(values) else np.zeros(0)
    return {
        "kind": "number",
        **sizes,
        "mean": float(values.mean()) if len(values) else None,
        "deviation": float(values.std()) if len(values) else None,
        "edges": edges.tolist(),
        "counts": count_between(values, edges).tolist(),
    }


def count_between(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.intp]:
    """How many values are up to each edge, and above the last."""
    return np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)


def compare(before: Profile, frame: Any) -> list[Shift]:
    """Compare the columns of a data frame with the profile of another.

    Parameters
    ----------
    before : dict
        The result of :func:`profile` for the training data.
    frame : DataFrame
        New data, with the same columns.

    Returns
    -------
    list of Shift
        One for each column of the profile that the data have, the largest distance first.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayespoint.reports import compare, profile
    >>> table = pd.DataFrame({"city": ["Kiel", "Bonn"] * 50})
    >>> compare(profile(table), table)[0].distance
    0.0
    """
    frame = in_pandas(frame)
    names = [name for name in before if name in frame]
    level = LEVEL / max(len(names), 1)
    shifts = [compare_column(name, before[name], frame[name], level) for name in names]
    return sorted(shifts, key=lambda one: -one.distance)


def compare_column(name: str, old: Mapping[str, Any], column: Any, level: float) -> Shift:
    """One column in training and now."""
    new = profile_column(column)
    if old["kind"] == "number":
        values = column.dropna().to_numpy(np.float64)
        here = count_between(values, np.asarray(old["edges"], dtype=float))
        pairs = np.array([old["counts"], here], dtype=float)
    else:
        labels = column.dropna().astype(str).value_counts()
        there = [*old["counts"].values(), old["other"]]
        same = [int(labels.get(label, 0)) for label in old["counts"]]
        pairs = np.array([there, [*same, int(labels.sum()) - sum(same)]], dtype=float)
    pairs = np.column_stack([pairs, [old["missing"], new["missing"]]])
    distance, p_value = difference(*pairs)
    shifted = new["rows"] >= ROWS_TO_REMARK and distance > FAR and p_value < level
    return Shift(name, old["kind"], words(old), words(new), distance, p_value, shifted)


def difference(before: NDArray[np.float64], now: NDArray[np.float64]) -> tuple[float, float]:
    """The total variation distance of two samples, and the p-value of the chi-squared test."""
    sizes = before.sum(), now.sum()
    if min(sizes) == 0:
        return 0.0, 1.0
    distance = 0.5 * float(np.abs(before / sizes[0] - now / sizes[1]).sum())
    there = np.stack([before, now])[:, before + now > 0]
    return distance, float(chi2_contingency(there, correction=False).pvalue)


def words(column: Mapping[str, Any]) -> str:
    """A profile of a column as text."""
    total = max(column["rows"], 1)
    if column["kind"] == "number":
        there = column["mean"] is not None
        both = [column["mean"], column["deviation"]] if there else []
        digits = decimals(both[1:])
        parts = [" ± ".join(f"{number:,.{digits}f}" for number in both)] if there else []
    else:
        most = sorted(column["counts"].items(), key=lambda item: -item[1])[:SHOWN]
        parts = [f"{label} {n / total:.0%}" for label, n in most]
        more = len(column["counts"]) - len(most)
        parts += [f"{more} more"] if more else []
    if column["missing"]:
        parts.append(f"missing {column['missing'] / total:.0%}")
    return ", ".join(parts)

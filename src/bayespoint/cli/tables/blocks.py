"""Columns of a table that is read in blocks: what is learned of them, and the features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import StandardScaler

from bayespoint.cli.output.errors import bad_data
from bayespoint.cli.output.messages import Notes, count
from bayespoint.cli.recipe import MISSING, make_columns
from bayespoint.cli.tables.columns import CATEGORY, MANY_CATEGORIES, NUMBER, prepare, sort_columns
from bayespoint.cli.tables.labels import check_classes, read_labels
from bayespoint.cli.tables.reading import named_columns
from bayespoint.cli.training import check_roles, column_format
from bayespoint.reports import profile
from bayespoint.rows import Block, Blocks

SAMPLE = 50_000  # rows by which columns are judged
DIFFERENT = 200_000  # texts of a column that are counted
MANY_REMARKS = 20  # on values of single blocks


class Roles(NamedTuple):
    """What options say of columns."""

    target: str
    drop: Sequence[str] = ()
    numbers: Sequence[str] = ()
    categories: Sequence[str] = ()


@dataclass(frozen=True)
class Learned:
    """What a table has shown: the kinds of its columns, and how they become features.

    ``columns`` says how each is written and what its values were, of a sample.
    """

    target: str
    is_text: bool  # whether labels are text, or else integers
    kinds: dict[str, str]
    transformer: ColumnTransformer
    n_rows: int
    missing: dict[str, int]
    counts: dict[Any, int]
    columns: dict[str, dict[str, Any]]


class TableBlocks(Blocks):
    """The rows with a label of a table in blocks, as features of numbers."""

    def __init__(self, source: Any, learned: Learned) -> None:
        self.source, self.learned = source, learned
        first = learned.transformer.transform(example(learned.kinds, {}))
        self.n_features = first.shape[1]

    def __len__(self) -> int:
        return len(self.source)

    def read(self, k: int) -> Block:
        """The features of a block."""
        labels, features = with_labels(self.source.frame(k), self.learned.target)
        if not len(labels):
            return Block(np.empty((0, self.n_features)), np.empty(0, dtype=np.int64))
        commas = decimal_commas(self.learned.columns)
        X = prepare(features, self.learned.kinds, Notes(aloud=False), commas)
        y = labels.map(str if self.learned.is_text else int)
        kind = str if self.learned.is_text else np.int64
        return Block(self.learned.transformer.transform(X), np.array(y.tolist(), dtype=kind))

    def fingerprint(self, k: int) -> tuple:
        """That of the file."""
        return self.source.fingerprint(k)


def with_labels(frame: pd.DataFrame, target: str) -> tuple[pd.Series, pd.DataFrame]:
    """The labels of the rows that have one, and these rows."""
    frame.columns = frame.columns.map(str)
    labels = read_labels(frame[target])
    there = labels.notna()
    return labels[there], frame[there]


def decimal_commas(columns: Mapping[str, Mapping[str, Any]]) -> dict[str, bool | None]:
    """How the numbers of columns are written, where it is known."""
    return {name: one.get("decimal_comma") for name, one in columns.items()}


def learn_columns(source: Any, roles: Roles, notes: Notes) -> Learned:
    """Read a table twice: kinds of columns and classes first, then scales and categories.

    Kinds and medians come from rows at equal distances, 50 000 at most; all else from all rows.
    """
    target, drop, numbers, categories = roles
    sample, labels, unlabelled = look(source, roles)
    sample = named_columns(sample, notes)
    if not labels:
        bad_data(f"column {target!r} (--target) has no values")
    if unlabelled:
        notes.add(f"{count(unlabelled, 'row')} without a value in {target!r} left out")
    n_rows = sum(labels.values())
    if len(sample) < n_rows:
        notes.add(f"columns are judged by {len(sample)} of {n_rows} rows")
    is_text = any(isinstance(label, str) for label in labels)
    counts: Counter = Counter()
    for label, n in labels.items():
        counts[str(label) if is_text else label] += n
    check_classes(counts, target)
    features = sample.drop(columns=[target, *dict.fromkeys(drop)])
    kinds = sort_columns(features, notes, numbers, categories)
    formats = {name: column_format(features[name], kind) for name, kind in kinds.items()}
    X = prepare(features, kinds, Notes(aloud=False), decimal_commas(formats))
    columns = {name: {**formats[name], **one} for name, one in profile(X).items()}
    medians = X[[name for name, kind in kinds.items() if kind == NUMBER]].median()
    totals = Totals(source, target, kinds, medians, decimal_commas(formats), notes)
    return Learned(
        target, is_text, kinds, totals.transformer(), n_rows, totals.missing,
        dict(sorted(counts.items())), columns,
    )  # fmt: skip


def look(source: Any, roles: Roles) -> tuple[pd.DataFrame, Counter, int]:
    """Rows at equal distances, how often each label occurs, and how many rows have none."""
    target, drop, numbers, categories = roles
    labels: Counter = Counter()
    kept, before, unlabelled, n_read = [], 0, 0, 0
    step = 1
    for k in range(len(source)):
        frame = source.frame(k)
        if k == 0:
            frame.columns = frame.columns.map(str)
            check_roles(
                frame, {"target": [target], "drop": drop, "number": numbers, "category": categories}
            )
            step = max(1, len(frame) * len(source) // SAMPLE)
        n = len(frame)
        frame.index = pd.RangeIndex(n_read, n_read := n_read + n)  # rows of the file
        own, frame = with_labels(frame, target)
        labels.update(own)
        unlabelled += n - len(own)
        kept.append(frame.iloc[-before % step :: step])
        before += len(frame)
    return pd.concat(kept), labels, unlabelled


class Totals:
    """Scales of numbers and counts of categories, from all rows."""

    def __init__(
        self,
        source: Any,
        target: str,
        kinds: dict[str, str],
        medians: pd.Series,
        commas: Mapping[str, bool | None],
        notes: Notes,
    ) -> None:
        self.kinds, self.medians = kinds, medians
        self.numbers = list(medians.index)
        self.scaler = StandardScaler()
        self.categories: dict[str, Counter] = {
            name: Counter() for name, kind in kinds.items() if kind == CATEGORY
        }
        self.missing: Counter = Counter()
        remarks: dict[str, None] = {}
        before = 0
        for k in range(len(source)):
            rows = source.frame(k)
            rows.index = pd.RangeIndex(before, before := before + len(rows))  # those of the file
            own, frame = with_labels(rows, target)
            quiet = Notes(aloud=False)
            if len(own):
                self._add(prepare(frame, kinds, quiet, commas))
            remarks |= dict.fromkeys(quiet)
        for words in list(remarks)[:MANY_REMARKS]:
            notes.add(words)
        stand_ins = {NUMBER: "the median stands in", CATEGORY: "a category of its own stands in"}
        for kind, words in stand_ins.items():
            some = [f"{n} in {name!r}" for name, n in self.missing.items() if kinds[name] == kind]
            if some:
                notes.add(f"missing values: {', '.join(some)}; {words}")

    def _add(self, X: pd.DataFrame) -> None:
        """Count one block."""
        self.missing.update({name: int(n) for name, n in X.isna().sum().items() if n})
        if self.numbers:
            self.scaler.partial_fit(X[self.numbers].fillna(self.medians).to_numpy(np.float64))
        for name, seen in self.categories.items():
            seen.update(X[name].fillna(MISSING))
            if len(seen) > DIFFERENT:
                bad_data(
                    f"column {name!r} has more than {DIFFERENT} different texts; --drop it, or "
                    "make fewer categories of them"
                )

    def transformer(self) -> ColumnTransformer:
        """The transformer that a fit in memory would have found."""
        columns = make_columns(self.kinds)
        columns.fit(example(self.kinds, {name: ranked(seen) for name, seen in
                                         self.categories.items()}))  # fmt: skip
        if self.numbers:
            imputer, scaler = (step for _, step in columns.named_transformers_["numbers"].steps)
            imputer.statistics_ = self.medians.to_numpy(np.float64)
            for name in ("mean_", "var_", "scale_", "n_samples_seen_"):
                setattr(scaler, name, getattr(self.scaler, name))
        return columns


def ranked(seen: Counter) -> list[str]:
    """Categories, of which more frequent ones occur more often, as short as possible.

    An encoder that takes the most frequent ones takes the same of these. Beyond those the order
    does not matter.
    """
    frequent = sorted(set(seen.values()), reverse=True)[: MANY_CATEGORIES + 1]
    times = {n: len(frequent) - place for place, n in enumerate(frequent)}
    return [word for word, n in sorted(seen.items()) for _ in range(times.get(n, 1))]


def example(kinds: dict[str, str], categories: dict[str, list[str]]) -> pd.DataFrame:
    """A table with such columns: its categories, and any numbers."""
    n = max([2, *map(len, categories.values())])
    columns: dict[str, NDArray] = {}
    for name, kind in kinds.items():
        words = categories.get(name, [MISSING])
        top = Counter(words).most_common(1)[0][0]  # which more of do not change the order
        of_words = np.array([*words, *[top] * (n - len(words))], dtype=object)
        columns[name] = of_words if kind == CATEGORY else np.arange(n) % 2.0
    return pd.DataFrame(columns)

"""``bayespoint query``: the rows whose labels are worth most."""

from __future__ import annotations

from typing import Annotated

from bayespoint.cli import options
from bayespoint.cli.options import option
from bayespoint.cli.output.printing import NumbersTable, TableNotes, count

if not options.ONLY_HELP:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from bayespoint import active
    from bayespoint.active.strategies import STRATEGIES
    from bayespoint.cli.models import Model, model_errors, read_model, read_rows
    from bayespoint.cli.output.errors import bad_data, bad_usage, check_name
    from bayespoint.cli.tables.training import read_labels
    from bayespoint.cli.tables.writing import check_output, write_output
    from bayespoint.tools.pipelines import split_pipeline

SHOWN = 20  # rows that the terminal shows
N_DRAWS = 200  # classifiers that vote


def query(
    data: options.Data,
    model: options.ModelFile,
    n: Annotated[int, option("N", "How many rows.", min=1)] = 10,
    strategy: Annotated[
        str, option("NAME", f"One of {', '.join(options.STRATEGY_NAMES)}.")
    ] = "entropy",
    seed: options.Seed = 0,
    *,
    output: options.Output,
    notes: TableNotes,
) -> None:
    """Choose the rows of a table whose labels would teach the model most.

    Rows that have a value in the target column are left out. Several rows are chosen together, so
    that none repeats another. Writes their numbers (the first row below the header is 1), the
    score of each row alone, and its columns, the highest score first.

    Example: bayespoint query unlabelled.csv --model loans.bpm --n 20 --out ask.csv
    """
    check_name("strategy", strategy, STRATEGIES)
    check_output(output, data, model, as_json=notes.as_json)
    read = read_model(model, notes)
    frame = read_rows(data, read, notes)
    X, _ = read.prepare(frame, notes)
    pool = unlabelled(frame, read, notes)
    if n > len(pool):
        bad_usage(f"--n {n} is more than the {count(len(pool), 'row')} to choose from")
    draws = {"n_draws": N_DRAWS, "random_state": seed}
    with notes.progress("choosing"), model_errors(model):
        chosen = active.query(read.pipeline, X.iloc[pool], n, strategy=strategy, **draws)
        points = split_pipeline(read.pipeline).transform(X.iloc[pool[chosen]])
        scores = STRATEGIES[strategy].worth(read.machine, points, **draws)
    order = np.argsort(-scores, kind="stable")
    rows = pool[chosen[order]]
    answer = pd.DataFrame({"row": rows + 1, "score": scores[order]})
    columns = frame.iloc[rows].reset_index(drop=True)
    write_output(pd.concat([answer, columns], axis=1), output)
    document = {"strategy": strategy, **answer.to_dict("list")}
    lines = [
        (str(row), f"{score:.3f}") for row, score in answer.head(SHOWN).itertuples(index=False)
    ]
    more = [f"{n - SHOWN} more."] if n > SHOWN else []
    notes.end(document, NumbersTable(["row", strategy], lines), *more, output=output)


def unlabelled(frame: pd.DataFrame, model: Model, notes: TableNotes) -> NDArray[np.intp]:
    """Positions of the rows that have no label yet."""
    if model.target not in frame:
        return np.arange(len(frame))
    has_label = read_labels(frame[model.target]).notna().to_numpy()
    if has_label.all():
        bad_data(f"every row has a value in {model.target!r} already")
    if has_label.any():
        notes.add(f"{count(int(has_label.sum()), 'row')} with a value in {model.target!r} left out")
    return np.flatnonzero(~has_label)

"""``bayespoint suspects``: labels of a table that are probably wrong."""

from __future__ import annotations

from typing import Annotated, Any

from bayespoint.cli import options
from bayespoint.cli.options import option
from bayespoint.cli.output.printing import NumbersTable, TableNotes, collect_warnings, count

if not options.ONLY_HELP:
    import pandas as pd

    from bayespoint.active import suspect_labels
    from bayespoint.cli.pipelines import make_classifier, make_model
    from bayespoint.cli.tables.training import read_training_data
    from bayespoint.cli.tables.writing import check_output, write_output


def suspects(
    data: options.Data,
    target: options.Target,
    n: Annotated[int, option("N", "How many rows to show.", min=1)] = 20,
    kernel: options.Kernel = "auto",
    seed: options.Seed = 0,
    *,
    columns: options.Columns,
    output: options.Output,
    notes: TableNotes,
) -> None:
    """Find labels of a table that are probably wrong.

    A classifier is trained on the table, and each label is predicted from all other rows. Rows are
    listed by the probability that their label is wrong, the largest first. Labels above 50 % are
    suspect; a second table shows the next ones, which are more probably right. The file has all
    rows.

    Example: bayespoint suspects loans.csv --target repaid --out suspects.csv
    """
    check_output(output, data, as_json=notes.as_json)
    machine = make_classifier(options.Classifier("ep", kernel, seed=seed))
    rows = read_training_data(data, target, columns, notes)
    with notes.progress("training"), collect_warnings() as warned:
        found = suspect_labels(make_model(rows.kinds, machine).fit(rows.X, rows.y), rows.X, rows.y)
    notes.warn(warned)
    table = pd.DataFrame(
        {
            "row": rows.X.index + 1,
            "label": rows.y,
            "suggested": found.suggested,
            "p_label": found.own,
            "p_wrong": found.probability,
            "score": found.score,
            "suspect": found.is_suspect,
        }
    ).iloc[found.order]
    write_output(table, output)
    n_suspect, head = int(found.is_suspect.sum()), table.head(n)
    document = {
        "rows": len(table),
        "suspect": n_suspect,
        "flip_rate": found.flip_rate,
        "first": head.to_dict("list"),
    }
    n_shown = min(n_suspect, len(head))
    parts = [
        rows_table(head.iloc[:n_shown], "Suspect: more probably wrong than right"),
        rows_table(head.iloc[n_shown:], "Not suspect: more probably right than wrong"),
    ]
    expected = f"about {found.flip_rate * len(table):.0f} are expected to be wrong"
    end = f"{count(n_suspect, 'suspect label')} among {len(table)}; {expected}."
    notes.end(document, *(part for part in parts if part.rows), end, output=output)


def rows_table(rows: Any, title: str) -> NumbersTable:
    """Some rows and what is said of their labels."""
    lines = [
        (
            str(one.row),
            str(one.label),
            str(one.suggested),
            f"{one.p_wrong:.3f}",
            f"{one.p_label:.3f}",
            f"{one.score:.1f}",
        )
        for one in rows.itertuples(index=False)
    ]
    heads = ["row", "label", "suggested", "p wrong", "p of label", "evidence"]
    return NumbersTable(heads, lines, title=title)

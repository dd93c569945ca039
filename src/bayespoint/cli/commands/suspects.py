"""``bayespoint suspects``: labels of a table that are probably wrong."""

from __future__ import annotations

from typing import Annotated

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
    listed by the probability of their label, the least probable first; suspect are those below 10 %
    where another label has more than 70 %. The file has all rows.

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
    lines = [
        (str(one.row), str(one.label), str(one.suggested), f"{one.p_label:.3f}", f"{one.score:.1f}")
        for one in head.itertuples(index=False)
    ]
    shown = NumbersTable(["row", "label", "suggested", "p of label", "evidence"], lines)
    end = f"{count(n_suspect, 'suspect label')} among {len(table)}."
    notes.end(document, shown, end, output=output)

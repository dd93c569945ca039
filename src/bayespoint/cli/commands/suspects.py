"""``bayespoint suspects``: labels of a table that are probably wrong."""

from __future__ import annotations

from typing import Annotated, Any

from bayespoint.cli import options
from bayespoint.cli.options import option

if not options.ONLY_HELP:
    import pandas as pd

    from bayespoint.active import suspect_labels
    from bayespoint.cli.output.messages import Notes, collect_warnings, count
    from bayespoint.cli.output.printing import NumbersTable
    from bayespoint.cli.pipelines import make_classifier, make_model
    from bayespoint.cli.tables.training import Roles, read_training_data
    from bayespoint.cli.tables.writing import STDOUT, check_output, write_table, written_to


def suspects(
    data: options.Data,
    target: options.Target,
    n: Annotated[int, option("N", "How many rows to show.", min=1)] = 20,
    out: options.OptionalOut = None,
    kernel: options.Kernel = "auto",
    drop: options.Drop = None,
    number: options.Number = None,
    category: options.Category = None,
    seed: options.Seed = 0,
    for_spreadsheet: options.ForSpreadsheet = False,
    force: options.Force = False,
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
) -> None:
    """Find labels of a table that are probably wrong.

    A classifier is trained on the table, and each label is predicted from all other rows. Rows are
    listed by the probability of their label, the least probable first; suspect are those below 10 %
    where another label has more than 70 %. The file has all rows.

    Example: bayespoint suspects loans.csv --target repaid --out suspects.csv
    """
    check_output(out, data, as_json=as_json, force=force)
    notes = Notes(silent=as_json)
    machine = make_classifier("ep", kernel, [], seed, None, None)
    rows = read_training_data(data, Roles.of(target, drop, number, category), encoding, notes)
    with notes.progress("training"), collect_warnings() as warned:
        found = suspect_labels(make_model(rows.kinds, machine).fit(rows.X, rows.y), rows.X, rows.y)
    notes.warn(warned)
    table = pd.DataFrame({
        "row": rows.X.index + 1, "label": rows.y, "suggested": found.suggested,
        "p_label": found.own, "p_wrong": found.probability, "score": found.score,
        "suspect": found.is_suspect,
    }).iloc[found.order]  # fmt: skip
    if out is not None:
        write_table(table, out, for_spreadsheet=for_spreadsheet)
    n_suspect, head = int(found.is_suspect.sum()), table.head(n)
    document: dict[str, Any] = {"out": out and str(out), "rows": len(table), "suspect": n_suspect}
    document |= {"flip_rate": found.flip_rate, "first": head.to_dict("list")}
    lines = [
        (str(one.row), str(one.label), str(one.suggested), f"{one.p_label:.3f}", f"{one.score:.1f}")
        for one in head.itertuples(index=False)
    ]
    shown = NumbersTable(["row", "label", "suggested", "p of label", "evidence"], lines)
    end = [f"{count(n_suspect, 'suspect label')} among {len(table)}."]
    end += [] if out is None else [written_to(out)]
    notes.end(document, shown, *end, to_stderr=out == STDOUT)

"""What came out, claim by claim of the slides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from papers.base import HOLDS, PARTLY, REFUTED, Finding, Table, find


def findings(tables: Sequence[Table]) -> Iterator[Finding]:
    """The exact posterior, log-loss in the plane, and the scale of the prior."""
    exact = find(tables, "Two weights")
    off = {
        kind: [
            max(float(row.values[k]) for row in exact.rows if row.name.endswith(kind))  # type: ignore[arg-type]
            for k in (0, 1)
        ]
        for kind in ("EP", "Laplace")
    }
    (mean, covariance), (mean_of_mode, _) = off["EP"], off["Laplace"]
    close = all("agrees" in row.verdict for row in exact.rows if row.name.endswith("EP"))
    yield Finding(
        "EP finds mean and variance of the posterior",
        f"On two weights, where the exact posterior is known, EP's mean is off by at most "
        f"{mean:.1f} %, its covariance by {covariance:.0f} %; Laplace's mean by "
        f"{mean_of_mode:.0f} %.",
        HOLDS if close else PARTLY,
    )
    plane = [table for table in tables if table.title.startswith("The plane")]
    errors = [table.number("densities, EP", "error %") for table in plane]
    pairs = [
        (table.number(f"{kind}, EP", "log-loss"), table.number(f"{kind}, Laplace", "log-loss"))
        for table in plane
        for kind in ("densities", "bumps")
    ]
    wins = sum(ep < laplace for ep, laplace in pairs)
    yield Finding(
        "EP learns a curved border in the plane from 225 features",
        f"From 100 points it errs on {errors[0]:.1f} %, from 500 on {errors[-1]:.1f} %. Its "
        f"log-loss is lower than Laplace's in {wins} of {len(pairs)} cases.",
        HOLDS if errors[-1] < errors[0] < 20 else REFUTED,
    )
    for table in (one for one in tables if one.title.startswith("Digits")):
        yield choice(table)


def choice(table: Table) -> Finding:
    """What the choice of the prior's scale by EP's evidence costs."""
    rows = [row for row in table.rows if row.name.startswith("EP")]
    chosen = max(rows, key=lambda row: table.number(row.name, "log Z"))
    error = table.number(chosen.name, "error %")
    least = min(table.number(row.name, "error %") for row in rows)
    spread = float(chosen.standard_errors[0] or 0.0)
    pair = table.title.removeprefix("Digits: ")
    return Finding(
        f"The evidence chooses the scale of the prior ({pair})",
        f"It chooses {chosen.name.removeprefix('EP, ')}, with an error of {error:.2f} %; the "
        f"lowest of all is {least:.2f} % (standard error {spread:.2f}).",
        HOLDS if error <= least + 2 * spread else REFUTED,
    )

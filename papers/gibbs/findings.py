"""What came out, claim by claim of the paper on the kernel Gibbs sampler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from papers.base import HOLDS, OPEN, PARTLY, REFUTED, Finding, Table, find


def findings(tables: Sequence[Table]) -> Iterator[Finding]:
    """The posterior, diversity, label noise, votes, queries and evidence."""
    posterior = find(tables, "Figure 1")
    agree = all(row.verdict == "agrees" for row in posterior.rows)
    angle = max(posterior.numbers("angle, degrees"))
    yield Finding(
        "The chain samples the posterior (Figure 1)",
        f"Integrals over the sphere {'agree with' if agree else 'differ from'} the samples; the "
        f"two Bayes points are at most {angle:.2f} degrees apart.",
        HOLDS if agree else REFUTED,
    )
    diversity = find(tables, "Figure 3")
    shares = diversity.numbers("disagreement")
    grows = shares == sorted(shares)
    yield Finding(
        "More label noise makes samples more diverse (Figure 3)",
        f"Pairs of samples differ on {listed(shares)} % of the training points, from the least to "
        "the most noise.",
        HOLDS if grows else REFUTED,
    )
    yield noise(find(tables, "Figure 4"))
    votes = find(tables, "Transduction").row("vote, by its majority")
    first, *_, last = (float(value) for value in votes.values if isinstance(value, (int, float)))
    yield Finding(
        "Votes show which points to reject",
        f"The error falls from {first:.1f} to {last:.1f} %, if the closest half of the votes is "
        "rejected.",
        HOLDS if votes.verdict == "better" else REFUTED,
    )
    yield queries(find(tables, "Active learning"))
    yield evidence(find(tables, "Model selection"))


def noise(table: Table) -> Finding:
    """The Bayes point and the SVM with wrong labels."""
    gaps = {row.name: float(row.values[2]) for row in table.rows}  # type: ignore[arg-type]
    wins = sum(gap > 0 for gap in gaps.values())
    listing = ", ".join(f"{gap:+.1f} ({name})" for name, gap in gaps.items())
    return Finding(
        "With wrong labels the Bayes point beats the SVM at every λ (Figure 4)",
        f"The best SVM errs on this many per cent more: {listing}. The paper does not say which "
        "distribution of points is meant.",
        HOLDS if wins == len(gaps) else PARTLY if wins else REFUTED,
    )


def queries(table: Table) -> Finding:
    """Labels that are asked for, and random ones."""
    rows = [row for row in table.rows if row.name.endswith("random minus entropy")]
    gaps = ", ".join(f"{float(row.values[-1]):.1f}" for row in rows)  # type: ignore[arg-type]
    flips = " and ".join(row.name.split(",")[0] for row in rows)
    verdicts = {row.verdict for row in rows}
    clear = all("the claim holds" in words for words in verdicts)
    few = "too few data sets to tell" in verdicts
    return Finding(
        "The entropy of the vote shows which labels to ask for",
        f"After {table.columns[-1].name} the error is lower than with random ones by {gaps} "
        f"percentage points ({flips}){', but these are too few data sets to tell' * few}.",
        HOLDS if clear else OPEN if few else REFUTED,
    )


def evidence(table: Table) -> Finding:
    """Whether the width of the largest evidence is a good one."""
    errors = table.numbers("error %")
    chosen = next(row for row in table.rows if row.verdict == "largest evidence")
    error = table.number(chosen.name, "error %")
    return Finding(
        "The evidence chooses the model",
        f"The largest evidence has {chosen.name}, with a test error of {error:.1f} %; the lowest "
        f"of all is {min(errors):.1f} %. The paper gives no estimator; this one is ours.",
        HOLDS if error < min(errors) + 0.6 else REFUTED,  # two standard errors
    )


def listed(values: Sequence[float]) -> str:
    """Numbers with commas."""
    return ", ".join(f"{value:.1f}" for value in values)

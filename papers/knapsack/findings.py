"""What came out, claim by claim of the knapsack paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from papers.base import HOLDS, OPEN, PARTLY, REFUTED, Finding, Table, find
from papers.cells import verdict_word
from papers.knapsack.splits import EP, KNAP, ONE, SETS, SVM


def findings(tables: Sequence[Table]) -> Iterator[Finding]:
    """Table 1, who is better, the outlier, and the mode."""
    errors = [table for table in tables if table.title.startswith("Table 1")]
    for claim, methods in (
        ("SVM and EP have the printed errors (Table 1)", (SVM, EP)),
        ("Knapsack propagation has the printed errors (Table 1)", (KNAP,)),
    ):
        words = [verdict_word(table.row(method).verdict) for table in errors for method in methods]
        agree = sum(word in ("agrees", "better") for word in words)
        pairs = (f"{table.number(KNAP, 'measured'):.1f} ({name(table)})" for table in errors)
        yield Finding(
            claim,
            f"As printed, within two standard errors, or better, in {agree} of {len(words)} cases."
            + (f" In %: {', '.join(pairs)}." if methods == (KNAP,) else ""),
            HOLDS if agree == len(words) else PARTLY if agree else REFUTED,
        )
    tests = [find(tables, f"{KNAP} − {rival}") for rival in (SVM, EP)]
    words = [verdict_word(row.verdict) for table in tests for row in table.rows]
    wins = words.count("better")
    few = len(words) < 2 * len(SETS)
    yield Finding(
        "Knapsack propagation is better than SVM and EP on six of seven sets (Table 1)",
        f"It is better in {wins} of {len(words)} comparisons, if tests are corrected for the "
        f"overlap of the splits, and worse in {words.count('worse')}. The paper tests without "
        f"correction.{' These are too few splits to tell.' * few}",
        OPEN if few else HOLDS if wins > 0.8 * len(words) else PARTLY if wins else REFUTED,
    )
    outlier = find(tables, "Section 5")
    svm, knapsack = (
        outlier.number(f"{method}, with the outlier", "measured")
        - outlier.number(f"{method}, without", "measured")
        for method in (SVM, ONE)
    )
    yield Finding(
        "An outlier moves the SVM, but not the knapsack classifier (section 5)",
        f"It adds {svm:.2f} percentage points to the error of the SVM, and {knapsack:+.2f} to that "
        "of the knapsack classifier.",
        HOLDS if abs(knapsack) < svm / 4 else REFUTED,
    )
    toy = find(tables, "Figure 1")
    mode, mean = (toy.number(row, "true error %") for row in ("MAP", "exact Bayes point"))
    yield Finding(
        "The mean of the posterior is nearer to the least error than its mode (Figure 1)",
        f"In the toy problem the mode errs on {mode:.2f} %, the mean on {mean:.2f} %, and the best "
        f"line on {toy.number('optimum', 'true error %'):.2f} %.",
        HOLDS if mean < mode else REFUTED,
    )


def name(table: Table) -> str:
    """The data set of a part of Table 1."""
    return table.title.removeprefix("Table 1: ").removesuffix(", in %")

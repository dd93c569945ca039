"""What came out, claim by claim of the large-scale paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from papers.base import HOLDS, PARTLY, REFUTED, Finding, Table, find
from papers.cells import verdict_word

RATES = ("0 % rejected", "10 % rejected")
CLOSE = 0.2  # Kolmogorov-Smirnov distance of similar distributions


def findings(tables: Sequence[Table]) -> Iterator[Finding]:
    """Rejection, the number of samples, and what the samples are samples of."""
    rejection = find(tables, "Figure 2")
    all_points, tenth = (rejection.number(row, "measured") for row in RATES)
    found = f"The error falls from {all_points:.2f} to {tenth:.2f} %, if a tenth is rejected."
    words = [verdict_word(row.verdict) for row in rejection.rows]
    if rejection.number(RATES[0], "printed") is None:
        claim = "The error falls quickly if uncertain digits are rejected (Figure 2)"
        yield Finding(claim, found, HOLDS if tenth < all_points / 2 else REFUTED)
    else:
        agree = sum(word in ("agrees", "better") for word in words)
        claim = "An error of 1.46 % on MNIST, and 0.11 % if a tenth is rejected (Figure 2)"
        found += f" It is as printed, or better, at {agree} of {len(words)} rates."
        yield Finding(claim, found, HOLDS if agree == len(words) else PARTLY)

    anytime = find(tables, "Anytime")
    three, ten, single = (
        anytime.number(row, "measured") for row in ("N = 3", "N = 10", "mean sample")
    )
    yield Finding(
        "A few perceptrons are nearly as good as many",
        f"The mean of three errs on {three:.2f} %, that of ten on {ten:.2f} %, and single ones "
        f"on {single:.2f} % on average.",
        HOLDS if max(three, ten) < single else PARTLY,
    )

    samples = find(tables, "Figure 1")
    mean, gibbs = (samples.number(row, "mean") for row in ("perceptron", "Gibbs"))
    same = samples.row("perceptron").verdict == "the same distribution"
    close = samples.number("perceptron", "KS") < CLOSE
    how = "agree" if same else "are similar, not the same" if close else "differ"
    yield Finding(
        "Perceptrons have the errors of Gibbs samples of version space (Figure 1)",
        f"Single perceptrons err on {mean:.1f} % of ones and twos on average, Gibbs samples on "
        f"{gibbs:.1f} %: the distributions {how}.",
        HOLDS if same else PARTLY if close else REFUTED,
    )

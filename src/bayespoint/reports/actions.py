"""Sections of the report about what to do with single rows: sets of labels."""

from __future__ import annotations

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.label_sets import left_out_sets
from bayespoint.reports.answers import of_class
from bayespoint.reports.evaluation import Report
from bayespoint.reports.html import in_percent, number, percent, table
from bayespoint.reports.intervals import score_interval
from bayespoint.tools.pipelines import split_pipeline

COVERAGES = (0.8, 0.9, 0.95, 0.99)


def sets(report: Report) -> str:
    """Observed coverage and sizes of sets of labels."""
    machine = split_pipeline(report.evaluation.classifier).last
    if not isinstance(machine, BayesPointClassifier):
        return ""
    answers, rows = report.evaluation.answers, []
    for coverage in COVERAGES:
        try:
            found = left_out_sets(machine.model_, answers.probabilities, coverage)
        except ValueError:  # too few training rows for this coverage
            continue
        if found is None:
            return ""
        seen = float(answers.weight @ of_class(found, answers.truth)) / answers.total
        sizes = found.sum(axis=1)
        shares = (float(answers.weight @ (sizes == k)) / answers.total for k in (0, 1))
        rows.append([
            percent(coverage, 0), percent(seen), in_percent(score_interval(seen, answers.total)),
            number(float(answers.weight @ sizes) / answers.total), *map(percent, shares),
        ])  # fmt: skip
    heads = ["wanted", "observed", "95 % interval", "mean size", "empty", "one label"]
    words = (
        "Sets of the labels that cannot be ruled out, from leave-one-out predictions of the "
        "training rows. Observed: how many sets contain the true label. Empty sets are rows that "
        "are like no label."
    )
    shown = table(heads, rows, label="Coverage and sizes of label sets")
    return f'<p class="quiet">{words}</p>{shown}' if rows else ""

"""Sections of the report about what to do with single rows: sets, explanations, suspects."""

from __future__ import annotations

from bayespoint.active import SuspectLabels
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.label_sets import left_out_sets
from bayespoint.reports.answers import of_class
from bayespoint.reports.evaluation import Report
from bayespoint.reports.examples import most_uncertain, numbering, row_name, short
from bayespoint.reports.explanation import explain
from bayespoint.reports.html import in_percent, number, percent, table, text
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
        mean, *shares = (float(answers.weight @ k) / answers.total for k in
                         (sizes, sizes == 0, sizes == 1))  # fmt: skip
        interval = in_percent(score_interval(seen, answers.total))
        line = [percent(coverage, 0), percent(seen), interval, number(mean), *map(percent, shares)]
        rows.append(line)
    heads = ["wanted", "observed", "95 % interval", "mean size", "empty", "one label"]
    without = "group" if machine.model_.fact("n_groups") else "one"
    words = (
        f"Sets of the labels that cannot be ruled out, from leave-{without}-out predictions of the "
        "training rows. Observed: how many sets contain the true label. Empty sets are rows that "
        "are like no label."
    )
    shown = table(heads, rows, label="Coverage and sizes of label sets")
    return f'<p class="quiet">{words}</p>{shown}' if rows else ""


def explanations(report: Report) -> str:
    """The least certain predictions, explained."""
    evaluation = report.evaluation
    if not isinstance(split_pipeline(evaluation.classifier).last, BayesPointClassifier):
        return ""
    told = explain(evaluation.classifier, evaluation.uncertain)
    places = evaluation.positions[most_uncertain(evaluation, len(told))]
    words = (
        "The least certain predictions. Interval: 5 to 95 % of the posterior. Numbers before "
        "columns: what these add to the log-odds of the label, compared with typical values. Rows "
        "for and against: training rows, counted from 0, and what they add to the output."
    )
    shown = "".join(
        f"<h3>Row {text(row_name(report.rows, int(place)))}</h3><pre>{text(one)}</pre>"
        for place, one in zip(places, told, strict=True)
    )
    return f'<p class="quiet">{words}</p>{shown}'


def suspects(report: Report) -> str:
    """Labels of test points that are probably wrong."""
    evaluation = report.evaluation
    answers, classes = evaluation.answers, evaluation.classes
    found = SuspectLabels.of(answers.probabilities, answers.truth)
    chosen = found.order[found.is_suspect[found.order]]
    if not len(chosen):
        return ""
    rows = [
        [
            row_name(report.rows, int(evaluation.positions[one])),
            short(classes[answers.truth[one]]), short(classes[found.suggested[one]]),
            number(float(found.own[one])), f"{found.score[one]:.1f}",
        ]
        for one in chosen[: report.n_examples]
    ]  # fmt: skip
    words = (
        f"{len(chosen)} labels have less than 10 % where another has more than 70 %: look whether "
        "they are right. Evidence: the logarithm of the ratio of both probabilities. "
        f"{numbering(report.rows)}"
    )
    heads = ["row", "label", "suggested", "p of label", "evidence"]
    return f'<p class="quiet">{text(words)}</p>{table(heads, rows, label="Suspect labels")}'

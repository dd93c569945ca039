"""Curves, thresholds and costs."""

import numpy as np
import pytest
from tests.helpers.reports import ask, random_answers

from bayespoint.reports import figures, sections
from bayespoint.reports.costs import at_thresholds


def test_a_class_without_points_has_no_curve():
    p, _, classes, _ = random_answers(20, 2)
    found = ask(p, ["a"] * 20, classes)
    assert figures.drawn_scores(found) == {}
    assert "one class only" in sections.curves(found)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_thresholds_by_counting(n_classes):
    p, y, classes, weight = random_answers(100, n_classes)
    rng = np.random.default_rng(0)
    costs = rng.uniform(0, 5, (n_classes, n_classes))
    found = ask(p, y, classes, sample_weight=weight, costs=costs)
    truth = np.searchsorted(classes, y)
    for one in at_thresholds(found.answers, 1, costs, [0.1, 0.37, 0.6]):
        answers, total = [], 0.0
        for row, true, copies in zip(p, truth, weight, strict=True):
            others = [k for k in range(n_classes) if k != 1]
            expected = {k: sum(row[c] * costs[c, k] for c in range(n_classes)) for k in others}
            answer = 1 if row[1] >= one.threshold else min(others, key=expected.get)
            answers.append(answer)
            total += copies * costs[true, answer]
        chosen = np.array(answers) == 1
        assert one.cost == pytest.approx(total / weight.sum())
        assert one.answered == pytest.approx(weight[chosen].sum() / weight.sum())
        hits = weight[chosen & (truth == 1)].sum()
        assert one.precision == pytest.approx(hits / weight[chosen].sum())
        assert one.recall == pytest.approx(hits / weight[truth == 1].sum())
        alarms = weight[chosen & (truth != 1)].sum()
        assert one.false_alarms == pytest.approx(alarms / weight[truth != 1].sum())


def test_least_expected_cost_is_least_where_probabilities_are_true():
    """And it is not where they are those of other classes."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=20_000)
    y = np.array(["a", "b", "c"])[[rng.choice(3, p=row) for row in p]]
    costs = np.array([[0.0, 1, 1], [10, 0, 1], [1, 1, 0]])
    given, least, constant = ask(p, y, ["a", "b", "c"], costs=costs).expected_costs
    assert least.interval[1] < given.interval[0]
    assert least.interval[1] < constant.interval[0]
    _, wrong, _ = ask(p[:, ::-1], y, ["a", "b", "c"], costs=costs).expected_costs
    assert wrong.cost > least.interval[1]


def test_the_threshold_that_theory_gives_costs_least():
    """With two classes: answer b from the probability C(a, b) / (C(a, b) + C(b, a)) on."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=50_000)
    y = np.where(rng.uniform(size=50_000) < p, "b", "a")
    costs = np.array([[0.0, 1.0], [4.0, 0.0]])
    found = ask(np.column_stack([1 - p, p]), y, ["a", "b"], costs=costs)
    rows = at_thresholds(found.answers, 1, costs, np.linspace(0.05, 0.95, 19))
    assert min(rows, key=lambda one: one.cost).threshold == pytest.approx(0.2, abs=0.051)
    (at,) = at_thresholds(found.answers, 1, costs, [0.2])
    assert at.cost == pytest.approx(found.expected_costs[1].cost)


def test_mistakes_cost_1_unless_others_are_given():
    p, y, classes, _ = random_answers(100, 4)
    found = ask(p, y, classes)
    error = 1 - found.metrics["accuracy"].value
    assert found.expected_costs[0].cost == pytest.approx(error)
    assert "Every error costs 1" in sections.cost_words(found)
    for bad, message in ((np.ones((3, 3)), r"shape \(4, 4\)"), (np.full((4, 4), np.inf), "finite")):
        with pytest.raises(ValueError, match=message):
            ask(p, y, classes, costs=bad)


def test_baseline_knows_only_the_classes():
    p, y, classes, weight = random_answers(200, 4)
    found = ask(p, y, classes, sample_weight=weight)
    shares = np.array([weight[y == label].sum() for label in classes]) / weight.sum()
    assert found.baseline["accuracy"] == pytest.approx(shares.max())
    assert found.baseline["balanced_accuracy"] == pytest.approx(0.25)
    assert found.baseline["log_loss"] == pytest.approx(-(shares * np.log(shares)).sum())
    assert found.baseline["auc"] == pytest.approx(0.5)


def test_at_most_ten_classes_are_drawn():
    p = np.full((60, 12), 1 / 12)
    y = np.arange(60) % 12
    y[:20] = 7
    found = ask(p, y, np.arange(12))
    assert len(figures.drawn_classes(found)) == 10
    assert 7 in figures.drawn_classes(found)
    assert "The 10 most frequent classes" in sections.curves(found)

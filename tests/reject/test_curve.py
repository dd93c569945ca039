"""The rejection curve against the slow, obvious version, and its invariances."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bayespoint.reject import RejectionCurve, rejection_curve

quick = settings(max_examples=60, deadline=None)
# Few distinct values, so that ties are the rule.
points = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        hnp.arrays(float, n, elements=st.sampled_from([-1.5, -0.25, 0.0, 0.5, 3.0])),
        hnp.arrays(bool, n),
    )
)


def curve_by_loops(scores, wrong):
    """One entry for each threshold that makes a difference: count, and divide."""
    rows = []
    for value in sorted(set(scores)):
        accepted = [w for s, w in zip(scores, wrong, strict=True) if s >= value]
        rows.append((1 - len(accepted) / len(scores), sum(accepted) / len(accepted)))
    return np.array(rows).T


def expected_error_by_enumeration(scores, wrong, n_accepted):
    """Mean over all orders of the points, each breaking the ties in its own way."""
    errors = []
    for order in itertools.permutations(range(len(scores))):
        surest = sorted(order, key=lambda i: -scores[i])[:n_accepted]
        errors.append(np.mean([wrong[i] for i in surest]))
    return np.mean(errors)


def same(first, second):
    np.testing.assert_allclose(first.rate, second.rate, atol=1e-12)
    np.testing.assert_allclose(first.error, second.error, atol=1e-12)
    assert first.aurc == pytest.approx(second.aurc, abs=1e-12)


@quick
@given(points)
def test_curve_is_that_of_the_loops(data):
    scores, wrong = data
    curve = RejectionCurve.from_confidence(scores, wrong)
    rate, error = curve_by_loops(scores, wrong)
    np.testing.assert_allclose(curve.rate, rate, atol=1e-12)
    np.testing.assert_allclose(curve.error, error, atol=1e-12)
    np.testing.assert_allclose(curve.error_at(curve.rate), curve.error, atol=1e-12)


@quick
@given(points)
def test_thresholds_reject_what_they_say(data):
    scores, wrong = data
    curve = RejectionCurve.from_confidence(scores, wrong)
    for rate, error, threshold in zip(curve.rate, curve.error, curve.threshold, strict=True):
        assert np.mean(scores < threshold) == pytest.approx(rate)
        assert np.mean(wrong[scores >= threshold]) == pytest.approx(error)


def test_thresholds_lie_between_neighbouring_floats_and_extreme_scores():
    for low, high in [(1.0, np.nextafter(1.0, 2)), (0.0, 5e-324), (-1.7e308, 1.7e308)]:
        threshold = RejectionCurve.from_confidence([low, high], [1, 0]).threshold[1]
        assert low < threshold <= high


@pytest.mark.parametrize("seed", range(4))
def test_ties_give_the_expectation_over_random_orders(seed):
    rng = np.random.default_rng(seed)
    scores, wrong = rng.integers(0, 3, 6), rng.integers(0, 2, 6)
    curve = RejectionCurve.from_confidence(scores, wrong)
    expected = [expected_error_by_enumeration(scores, wrong, k) for k in range(1, 7)]
    np.testing.assert_allclose(curve.error_at(1 - np.arange(1, 7) / 6), expected, atol=1e-12)
    # The definition of the AURC, word for word.
    assert curve.aurc == pytest.approx(np.mean(expected))


def test_aurc_by_hand():
    # From the surest down: right, wrong, right. R_1 = 0, R_2 = 1/2, R_3 = 1/3.
    curve = RejectionCurve.from_confidence([3.0, 2.0, 1.0], [False, True, False])
    assert curve.aurc == pytest.approx((0 + 1 / 2 + 1 / 3) / 3)


@quick
@given(points, st.randoms(use_true_random=False))
def test_the_order_of_the_samples_does_not_matter(data, random):
    scores, wrong = data
    order = list(range(len(scores)))
    random.shuffle(order)
    first = RejectionCurve.from_confidence(scores, wrong)
    second = RejectionCurve.from_confidence(scores[order], wrong[order])
    np.testing.assert_array_equal(first.threshold, second.threshold)
    same(first, second)


@quick
@given(points, st.sampled_from([np.exp, np.arctan, lambda s: 5 * s - 3, lambda s: s**3]))
def test_monotone_transforms_of_the_score_do_not_matter(data, transform):
    scores, wrong = data
    same(
        RejectionCurve.from_confidence(scores, wrong),
        RejectionCurve.from_confidence(transform(scores), wrong),
    )


def test_a_decreasing_transform_does_matter():
    scores, wrong = np.array([1.0, 2.0, 3.0]), np.array([True, False, False])
    assert RejectionCurve.from_confidence(scores, wrong).aurc == pytest.approx(1 / 9)
    assert RejectionCurve.from_confidence(-scores, wrong).aurc == pytest.approx(
        (1 + 1 / 2 + 1 / 3) / 3
    )


@quick
@given(points, st.data())
def test_weight_k_is_k_copies(data, more):
    scores, wrong = data
    weight = more.draw(hnp.arrays(int, len(scores), elements=st.integers(0, 3)))
    weight[0] = 2
    weighted = RejectionCurve.from_confidence(scores, wrong, weight)
    copies = RejectionCurve.from_confidence(np.repeat(scores, weight), np.repeat(wrong, weight))
    np.testing.assert_array_equal(weighted.threshold, copies.threshold)
    np.testing.assert_allclose(weighted.rate, copies.rate, atol=1e-12)
    np.testing.assert_allclose(weighted.error, copies.error, atol=1e-12)
    rates = np.linspace(0, 0.95, 9)
    np.testing.assert_allclose(weighted.error_at(rates), copies.error_at(rates), atol=1e-12)


@quick
@given(points, st.sampled_from([0.0, 0.1, 0.25, 1 - 0.9, 1 / 3, 0.75, 0.99]))
def test_at_rate_is_the_largest_fraction_not_above(data, rate):
    curve = RejectionCurve.from_confidence(*data)
    assert curve.at_rate(rate).rate == max(r for r in curve.rate if r <= rate + 1e-9)


@quick
@given(points, st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.9]))
def test_at_cost_is_the_least_over_all_thresholds(data, cost):
    scores, wrong = data
    point = RejectionCurve.from_confidence(scores, wrong).at_cost(cost)
    costs = {}
    for threshold in [-np.inf, *sorted(set(scores)), np.inf]:
        rejected = scores < threshold
        costs[rejected.mean()] = np.mean(np.where(rejected, cost, wrong))
    least = min(costs.values())
    assert costs[point.rate] == pytest.approx(least)
    assert point.rate == min(rate for rate, value in costs.items() if value <= least + 1e-12)


def test_rounding_of_a_rate_does_not_lose_a_point():
    curve = RejectionCurve.from_confidence(np.arange(10), np.zeros(10))
    assert 1 - 0.9 < 0.1
    assert curve.at_rate(1 - 0.9).rate == 0.1


def test_among_equal_costs_the_fewest_are_rejected():
    # Nothing rejected: one error. The tied two rejected: twice one half.
    assert RejectionCurve.from_confidence([1, 1, 2], [True, False, False]).at_cost(0.5).rate == 0


def test_prediction_is_the_class_of_the_largest_output():
    outputs = [[3.0, 1.0, 0.0], [0.0, 0.5, 0.2], [0.0, 1.0, 2.0]]
    classes = ["a", "b", "c"]
    curve = rejection_curve(["a", "c", "c"], outputs, classes=classes)
    np.testing.assert_allclose(curve.rate, [0, 1 / 3, 2 / 3])
    np.testing.assert_allclose(curve.error, [1 / 3, 0, 0])
    np.testing.assert_allclose(curve.threshold, [-np.inf, 1.25, 2.5])
    # Columns in another order than the sorted labels.
    same(curve, rejection_curve(["c", "a", "a"], outputs, classes=["c", "b", "a"]))
    # Another rule: the predictions are given, the order is that of the outputs.
    other = rejection_curve(["a", "c", "c"], outputs, classes=classes, y_pred=["b", "c", "c"])
    np.testing.assert_allclose(other.error, [1 / 3, 1 / 2, 1])


def test_binary_decision_values_are_scored_by_their_size():
    y, decisions = [0, 1, 1, 0], np.array([-2.0, 1.0, -0.5, 0.1])
    curve = rejection_curve(y, decisions)
    np.testing.assert_allclose(curve.error, [2 / 4, 1 / 3, 0, 0])
    for score in ("max", "gap"):
        same(curve, rejection_curve(y, np.column_stack([-decisions, decisions]), score=score))
    # One-dimensional probabilities are those of the second class.
    probabilities = 1 / (1 + np.exp(-decisions))
    same(curve, rejection_curve(y, probabilities, score="proba"))


def test_the_arrays_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        rejection_curve([0, 1], [-1.0, 1.0]).rate[0] = 1


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1, 1], [-1.0, 1.0]), {}, r"one label for each row.*\(3,\) for 2 rows"),
        (([[0, 1]], [-1.0, 1.0]), {}, "y_true must be one-dimensional"),
        (([0, 1], [np.nan, 1.0]), {}, "must be finite. Got NaN or infinity in 1 of 2 rows.*row 0"),
        (([0, 1], [[0.0, 1.0], [np.inf, 0.0]]), {}, "first in row 1"),
        (([], []), {}, r"at least one sample. Got shape \(0,\)"),
        (([0, 0], [[1.0], [2.0]]), {}, "at least two columns"),
        (([0, 1], np.zeros((2, 2, 2))), {}, r"Got shape \(2, 2, 2\)"),
        (([0, 1], np.zeros((2, 3))), {}, "3 classes, but there are 2 labels in y_true.*classes_"),
        (([0, 1], np.zeros((2, 3))), {"classes": [0, 1, 1]}, "one distinct label for each"),
        (([0, 7], [1.0, 2.0]), {"classes": [0, 1]}, r"y_true contains labels.*\[7\].*\[0, 1\]"),
        ((["0", "1"], [1.0, 2.0]), {"classes": [0, 1]}, "y_true contains labels"),
        (([0, 1], [1.0, 2.0]), {"y_pred": [0, -1]}, "y_pred contains labels.*before rejection"),
        (([0, 1], [1.0, 2.0]), {"y_pred": [0]}, "y_pred must have the shape of y_true"),
        (([0, 1], [1.0, 2.0]), {"score": "best"}, "'score' parameter of rejection_curve must be"),
        (([0, 1], [1.0, 2.0]), {"score": "proba"}, r"must lie in \[0, 1\].*from 1 to 2"),
        (([0, 1], [1.0, 2.0]), {"sample_weight": [1.0]}, "must have shape"),
        (([0, 1], [1.0, 2.0]), {"sample_weight": [-1.0, 2.0]}, "not negative"),
        (([0, 1], [1.0, 2.0]), {"sample_weight": [0.0, 0.0]}, "not zero everywhere"),
    ],
)
def test_bad_input_says_what_is_wrong(arguments, options, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        rejection_curve(*arguments, **options)


def test_bad_places_on_the_curve():
    curve = RejectionCurve.from_confidence([1.0, 2.0], [True, False])
    for rates in (1.0, [-0.1, 0.5], np.nan):
        with pytest.raises(ValueError, match=r"rates must lie in \[0, 1\)"):
            curve.error_at(rates)
    with pytest.raises(ValueError, match=r"rate must lie in \[0, 1\)"):
        curve.at_rate(-0.1)
    with pytest.raises(ValueError, match=r"cost must lie in \(0, 1\)"):
        curve.at_cost(1.0)
    with pytest.raises(ValueError, match="Got 1 NaN"):
        RejectionCurve.from_confidence([np.nan, 2.0], [True, False])

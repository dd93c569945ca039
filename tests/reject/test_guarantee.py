"""The guaranteed error: exact bounds, the fixed sequence of tests, and that the promise is kept."""

import math

import numpy as np
import pytest
from scipy import stats

from bayespoint.exceptions import RiskNotReachedError
from bayespoint.reject import Guarantee, RejectionCurve, error_bound
from bayespoint.reject.guarantee import START, first_test, points_needed

# The bound.


def test_anchor_of_mnist():
    assert error_bound(32, 9600) == pytest.approx(0.00447, abs=5e-6)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_bound_is_that_of_scipy(level):
    for errors, points in [(0, 1), (0, 299), (1, 1), (1, 10), (32, 9600), (499, 500), (500, 500)]:
        exact = stats.binomtest(errors, points, alternative="less").proportion_ci(level).high
        assert error_bound(errors, points, level) == pytest.approx(exact, rel=1e-9)


def test_bound_solves_its_equation():
    errors, points = np.array([0, 3, 17]), np.array([40, 50, 20])
    bounds = error_bound(errors, points, 0.9)
    np.testing.assert_allclose(stats.binom.cdf(errors, points, bounds), 0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2), "n_errors from 0 to n_points"),
        ((-1, 2), "n_errors from 0"),
        ((0, 0), "n_points must be at least 1"),
        ((0, 9, 1.0), r"confidence_level must lie in \(0, 1\). Got 1.0"),
    ],
)
def test_impossible_counts(arguments, message):
    with pytest.raises(ValueError, match=message):
        error_bound(*arguments)


@pytest.mark.parametrize(("risk", "level"), [(0.01, 0.95), (0.1, 0.9), (0.5, 0.75), (0.002, 0.99)])
def test_fewest_points_without_an_error(risk, level):
    needed = points_needed(risk, level)
    assert needed == math.ceil(round(math.log(1 - level) / math.log(1 - risk), 9))
    assert error_bound(0, needed, level) <= risk + 1e-12 < error_bound(0, needed - 1, level)


def test_points_needed_with_errors():
    assert points_needed(0.01, 0.95) == 299
    needed = points_needed(0.01, 0.95, 1 / 299)
    assert error_bound(math.ceil(needed / 299), needed) <= 0.01
    assert points_needed(0.01, 0.95, 0.01) is None


def test_first_test():
    assert first_test(500, 0.01, 0.95) == 299
    assert first_test(3000, 0.01, 0.95) == 900 == START * 3000


# The walk.


def walk(scores, wrong, risk, level):
    """The accepted points, by a plain loop over the thresholds."""
    n, delta, accepted = len(scores), 1 - level, None
    start = max(math.ceil(math.log(delta) / math.log(1 - risk)), math.ceil(0.3 * n))
    for threshold in sorted(set(scores), reverse=True):
        above = scores >= threshold
        if above.sum() < start:
            continue
        if stats.binom.cdf(wrong[above].sum(), above.sum(), risk) > delta:
            break
        accepted = above
    return accepted


def reached(curve, risk, level):
    try:
        return curve.at_risk(risk, level)
    except RiskNotReachedError:
        return None


@pytest.mark.parametrize("digits", [1, 2, 9])
def test_walk_by_a_plain_loop(digits):
    rng, found = np.random.default_rng(digits), 0
    for _ in range(60):
        n = rng.integers(30, 200)
        scores = rng.uniform(size=n).round(digits)  # few digits: many ties
        wrong = rng.uniform(size=n) < 0.4 * (1 - scores) ** 2
        point = reached(RejectionCurve.from_confidence(scores, wrong), 0.1, 0.9)
        expected = walk(scores, wrong, 0.1, 0.9)
        assert (point is None) == (expected is None)
        if point is not None:
            np.testing.assert_array_equal(scores >= point.threshold, expected)
            assert point.rate == pytest.approx(1 - expected.mean())
            assert point.error == pytest.approx(wrong[expected].mean())
            found += 1
    assert 10 < found < 60


def test_promised_error_is_the_risk_that_reaches_each_threshold():
    rng = np.random.default_rng(0)
    scores = rng.uniform(size=400)
    curve = RejectionCurve.from_confidence(scores, rng.uniform(size=400) < 0.2 * (1 - scores))
    promised = curve.promised_error(0.05)
    tested = np.isfinite(promised)
    assert tested.sum() == 400 - 120 + 1
    assert (np.diff(promised[tested]) <= 0).all()
    for index in (0, 100, 200, 280):
        assert curve.at_risk(promised[index]).rate <= curve.rate[index]
        if promised[index] > promised[tested].min():
            stricter = reached(curve, 0.9999 * promised[index], 0.95)
            assert stricter.rate > curve.rate[index]


# The promise: `risk(t)` is the true error on scores of at least t.


def constant(rng, n):
    return rng.uniform(size=n), np.full(n, 0.1 + 1e-9)


def rising(rng, n):
    scores = rng.uniform(size=n)
    return scores, 0.3 * (1 - scores)


def coarse(rng, n):
    """Votes of ten classifiers; the risk is 0.095 at seven votes and 0.116 at six."""
    scores = rng.integers(5, 11, size=n) / 10
    return scores, np.where(scores >= 0.8, 0.06, 0.2)


def misleading(rng, n):
    """The most certain are the worst: the risk is 0.1 at the start, 0.07, and 0.12 at the end."""
    scores = rng.uniform(size=n)
    levels = [scores > 0.9, scores > 0.7, scores > 0.3]
    return scores, np.select(levels, [0.2, 0.05, 0.04], 0.25)


def true_error(draw, thresholds):
    """The risk at each threshold, over many points."""
    scores, probability = draw(np.random.default_rng(99), 1_000_000)
    order = np.argsort(-scores)
    mean = np.cumsum(probability[order]) / np.arange(1, len(scores) + 1)
    return mean[np.searchsorted(-scores[order], -np.asarray(thresholds), side="right") - 1]


def greedy(curve, risk, level):
    """A wrong way: the lowest threshold that passes, whatever happened at the others."""
    accepted = np.rint(curve.n_samples * (1 - curve.rate))
    bounds = error_bound(np.rint(accepted * curve.error), accepted, level)
    passing = (bounds <= risk) & (accepted >= first_test(curve.n_samples, risk, level))
    return curve._point(int(np.argmax(passing))) if passing.any() else None


# The first test accepts 46 of 153 points and passes with one error: probability 0.048 at risk 0.1.
def broken_promises(choose, draw, runs, n=153, risk=0.1, level=0.95, seed=0):
    """Share of calibrations after which the true error is above the risk, and mean coverage."""
    rng, thresholds, coverage = np.random.default_rng(seed), [], []
    for _ in range(runs):
        scores, probability = draw(rng, n)
        curve = RejectionCurve.from_confidence(scores, rng.uniform(size=n) < probability)
        point = choose(curve, risk, level)
        if point is not None:
            thresholds.append(point.threshold)
            coverage.append(1 - point.rate)
    share = np.sum(true_error(draw, thresholds) > risk) / runs if thresholds else 0.0
    return share, np.sum(coverage) / runs


def test_the_promise_is_kept_in_ten_thousand_calibrations():
    runs = 10_000
    share, _ = broken_promises(reached, constant, runs)
    assert 0.03 < share <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_choosing_in_hindsight_breaks_the_promise():
    runs = 2000
    share, _ = broken_promises(greedy, constant, runs)
    assert share > 0.05 + 5 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("draw", [rising, coarse, misleading])
def test_the_promise_is_kept_for_other_scores(draw):
    runs = 2000
    share, coverage = broken_promises(reached, draw, runs)
    assert share <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    assert coverage > 0.03


# What is not possible.


def test_too_few_points():
    curve = RejectionCurve.from_confidence(np.arange(100.0), np.zeros(100))
    with pytest.raises(RiskNotReachedError, match="takes at least 299 calibration rows") as info:
        curve.at_risk(0.01)
    assert info.value.n_needed == 299
    assert info.value.n_points == 100
    enough = RejectionCurve.from_confidence(np.arange(299.0), np.zeros(299))
    assert enough.at_risk(0.01).rate == 0


def test_an_error_at_the_start_says_how_many_points_are_needed():
    scores = np.arange(400.0)
    wrong = scores == 399  # the most certain one
    with pytest.raises(RiskNotReachedError, match="1 of the 299 most certain") as info:
        RejectionCurve.from_confidence(scores, wrong).at_risk(0.01)
    needed = info.value.n_needed
    assert f"about {needed} calibration rows are needed" in str(info.value)
    # So many points with the same share of errors among the first are enough.
    accepted = needed * 299 // 400
    assert error_bound(math.ceil(accepted / 299), accepted) <= 0.0101
    with pytest.raises(RiskNotReachedError, match="more rows may not help") as info:
        RejectionCurve.from_confidence(scores, scores >= 395).at_risk(0.01)
    assert info.value.n_needed is None


def test_weights_and_bad_numbers():
    curve = RejectionCurve.from_confidence([1.0, 2.0, 3.0], [0, 1, 0], [1.0, 2.0, 4.0])
    with pytest.raises(ValueError, match="without sample_weight"):
        curve.at_risk(0.5, 0.5)
    with pytest.raises(ValueError, match=r"risk must lie in \(0, 1\). Got 0 instead"):
        curve.at_risk(0)


def test_guarantee_in_words():
    kept = Guarantee(0.01, 0.9, n_points=500, n_accepted=400, n_errors=1)
    assert kept.summary == "error on the accepted rows at most 1 % with confidence 90 %"
    assert kept.details.startswith("400 of 500 calibration rows accepted, with 1 error: exact")
    assert kept.to_dict()["kind"] == "guarantee"
    assert kept.to_dict()["bound"] == kept.bound == error_bound(1, 400, 0.9)
    estimate = Guarantee(0.01, 0.9, 500, 400, 1, held_out=False)
    assert estimate.summary.startswith("estimated, not guaranteed: error")

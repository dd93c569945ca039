"""What leave-one-out predictions teach."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax
from scipy.stats import norm, t
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss
from sklearn.preprocessing import scale

from bayespoint import BayesPointClassifier
from bayespoint.classifier.calibration import (
    DEPENDENCE,
    Estimate,
    best_temperature,
    expected_scores,
    temperature_losses,
    temperature_of_losses,
)
from bayespoint.classifier.kernel_choice import blending
from bayespoint.classifier.kernel_choice.blending import blended, mixture_weights, plausibility
from bayespoint.classifier.problem import Problem


def forecasts(n=4000, temperature=2.0, seed=0):
    """Scores of three classes, and labels drawn from their softmax at a temperature."""
    rng = np.random.default_rng(seed)
    scores = 3 * rng.normal(size=(n, 3))
    p = np.exp(log_softmax(scores / temperature, axis=1))
    return scores, np.array([rng.choice(3, p=row) for row in p])


@pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
def test_the_temperature_of_the_labels_is_found(temperature):
    scores, codes = forecasts(temperature=temperature)
    assert best_temperature(scores, codes) == pytest.approx(temperature, rel=0.1)


def test_few_points_stay_near_1():
    scores, codes = forecasts(4000, temperature=3.0)
    near = best_temperature(scores[:10], codes[:10])
    assert abs(np.log(near)) < 0.4 < np.log(best_temperature(scores, codes))


@pytest.mark.parametrize("temperature", [0.2, 1.0, 3.0])
def test_losses_of_batches_add_up(temperature):
    scores, codes = forecasts(1000, temperature)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=1000)
    parts = np.split(np.arange(1000), [1, 8, 300])
    losses = [temperature_losses(scores[own], codes[own], weight[own]) for own in parts]
    together = best_temperature(scores, codes, weight)
    assert temperature_of_losses(sum(losses)) == pytest.approx(together, rel=1e-3)
    assert temperature_of_losses(losses[1]) != pytest.approx(together, rel=0.03)


def test_a_weight_is_a_number_of_copies():
    scores, codes = forecasts(200)
    weight = np.random.default_rng(1).integers(1, 4, size=200)
    copies = np.repeat(np.arange(200), weight)
    by_weight = best_temperature(scores, codes, weight.astype(float))
    assert by_weight == pytest.approx(best_temperature(scores[copies], codes[copies]), rel=1e-4)
    log_p = log_softmax(scores, axis=1)[np.arange(200), codes]
    both = np.stack([log_p, np.full(200, np.log(1 / 3))])
    np.testing.assert_allclose(
        mixture_weights(both, weight.astype(float)), mixture_weights(both[:, copies]), atol=1e-10
    )
    chances = plausibility(both, weight.astype(float)), plausibility(both[:, copies])
    np.testing.assert_allclose(*chances, atol=1e-10)


def test_weights_of_mixtures_against_a_plain_optimiser():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 1, size=(3, 100))

    def loss(free):
        v = np.exp(log_softmax(np.append(free, 0.0)))
        return -np.log(v @ p).sum()

    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-9}).x
    expected = np.exp(log_softmax(np.append(best, 0.0)))
    np.testing.assert_allclose(mixture_weights(np.log(p)), expected, atol=0.02)
    assert -np.log(mixture_weights(np.log(p)) @ p).sum() < loss(best) + 1e-3
    assert -np.log(np.full(3, 1 / 3) @ p).sum() > loss(best) + 1e-3  # equal weights are worse


def test_intervals_hold_as_often_as_they_say():
    rng, hits = np.random.default_rng(0), np.zeros(2)
    for _ in range(400):
        p = rng.uniform(size=200)
        forecast = np.column_stack([1 - p, p])
        found = expected_scores(forecast, (rng.uniform(size=200) < p).astype(int))
        hits += [
            found["error"].low <= 0.25 <= found["error"].high,  # the mean of min(p, 1 - p)
            found["log_loss"].low <= 0.5 <= found["log_loss"].high,  # the mean of the entropy
        ]
    # Exact intervals are rather too wide; and these losses are independent, unlike left-out ones.
    wide = 2 * norm.cdf(1.96 * DEPENDENCE) - 1
    for share, expected in zip(hits / 400, (0.95, wide), strict=True):
        assert share >= expected - 5 * np.sqrt(expected * (1 - expected) / 400)
    assert hits[1] < 400


@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_a_temperature_makes_several_classes_better(engine):
    X, y = load_digits(n_class=5, return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))  # writers come one after another
    X, y = X[order] / 16, y[order]
    losses = {}
    for temperature in (1.0, "auto"):
        clf = BayesPointClassifier(kernel="linear", engine=engine, temperature=temperature)
        p = clf.fit(X[:150], y[:150]).predict_proba(X[150:])
        losses[temperature] = -np.log(p[np.arange(len(p)), y[150:]]).mean()
        assert np.array_equal(clf.predict(X[150:]), p.argmax(axis=1))
    assert losses["auto"] < losses[1.0]


def test_a_temperature_that_is_given_is_used():
    X, y = load_breast_cancer(return_X_y=True)
    plain, warm = (
        BayesPointClassifier(kernel="linear", temperature=t).fit(scale(X), y) for t in (1.0, 2.0)
    )
    odds = [np.log(c.predict_proba(scale(X)[:9])) @ [-1, 1] for c in (plain, warm)]
    np.testing.assert_allclose(odds[1], odds[0] / 2, rtol=1e-9)
    np.testing.assert_allclose(warm.predict_log_proba(scale(X)[:9]) @ [-1, 1], odds[1], rtol=1e-9)


def test_the_interval_of_the_log_loss_knows_of_surprises_that_did_not_happen():
    # All forecasts of 99 % came true; one that does not would cost log 100.
    forecast = np.tile([[0.01, 0.99]], (50, 1))
    lucky = expected_scores(forecast, np.ones(50, dtype=int))["log_loss"]
    assert lucky.value == pytest.approx(-np.log(0.99))
    assert lucky.high > 0.01 * np.log(100)  # the expected loss of what is not yet seen
    certain = expected_scores(np.tile([[0.0, 1.0]], (50, 1)), np.ones(50, dtype=int))["log_loss"]
    assert certain.high == 0.0


def test_the_interval_of_few_losses_that_are_larger_than_expected_begins_lower():
    """Of 40 rows, 40 / (40 + 50) of what losses exceed the entropy of the forecasts is believed."""
    for n, share in ((40, 50 / 90), (4000, 50 / 4050)):
        codes = np.repeat([0, 1], n // 2)
        forecast = np.tile([[0.3, 0.7]], (n, 1))
        found = expected_scores(forecast, codes)["log_loss"]
        entropy = -0.3 * np.log(0.3) - 0.7 * np.log(0.7)
        variance = np.log(7 / 3) ** 2 / 4
        half = DEPENDENCE * t.ppf(0.975, n - 1) * np.sqrt(variance / n)
        assert found.low == pytest.approx(found.value - half - share * (found.value - entropy))
        right = expected_scores(np.full((n, 2), 0.5), codes)
        assert right["log_loss"].low == pytest.approx(np.log(2))  # nothing exceeds anything


def test_intervals_cover_the_log_loss_of_rows_without_a_pattern():
    below = []
    for k in range(150):
        rng = np.random.default_rng([4, k])
        X, y = made_up(rng, 40, np.full(3, 0.25))
        clf = BayesPointClassifier(kernel="rbf").fit(X, y)
        X, y = made_up(rng, 2000, np.full(3, 0.25))
        true, loss = log_loss(y, clf.predict_proba(X)), clf.expected_scores_["log_loss"]
        seen = -np.log(clf.model_.fact("label_scores")[:, 0])
        narrow = seen.mean() - DEPENDENCE * t.ppf(0.975, 39) * seen.std() / np.sqrt(40)
        below.append([true < loss.low, true < narrow])
    now, plain = np.mean(below, axis=0)
    assert now < 0.025 + 5 * np.sqrt(0.025 * 0.975 / 150)
    assert plain > now + 0.02  # the wrong variant: all of what losses say is believed


@pytest.mark.parametrize("clip", [0.0, 1e-3])  # the second is wrong
def test_no_loss_of_a_surprise_is_cut_off(clip):
    sure = np.tile([[1 - 1e-6, 1e-6]], (10, 1))
    codes = np.arange(10) // 9  # one of them is of the other class
    found = expected_scores(np.maximum(sure, clip), codes)["log_loss"].value
    is_right = found == pytest.approx((-np.log(1e-6) - 9 * np.log1p(-1e-6)) / 10)
    assert is_right == (clip == 0)


def test_equal_estimates_have_equal_hashes():
    one, number = Estimate(0.1, 0.05, 0.2), 0.1
    assert one == number and number == one and one == float(one) and one == np.float64(0.1)
    assert (one != number) is False
    assert one == Estimate(0.1, 0.05, 0.2) and one != Estimate(0.1, 0.05, 0.3) and one != 0.2
    assert one != (0.1, 0.05, 0.2) and one != "0.1" and one != None  # noqa: E711
    for equal in (Estimate(0.1, 0.05, 0.2), 0.1, np.float64(0.1)):
        assert hash(equal) == hash(one)
    assert {one: 1}[0.1] == 1 and {0.1: 1}[one] == 1
    # Wrong: an estimate that is a tuple is equal to one, and hashes differ.
    assert hash((0.1, 0.05, 0.2)) != hash(one)


def test_estimates_do_not_change_and_have_no_arithmetic():
    one = Estimate(0.1, 0.05, 0.2)
    with pytest.raises(FrozenInstanceError):
        one.value = 0.2
    for operation in (lambda: 1 - one, lambda: one + one, lambda: np.float64(1) - one):
        with pytest.raises(TypeError, match="unsupported operand"):
            operation()
    for wrong in ("0.2", (0.2,), None):
        with pytest.raises(TypeError, match="not supported"):
            one < wrong  # noqa: B015


def test_estimates_are_numbers():
    small, large = Estimate(0.1, 0.05, 0.2), Estimate(0.3, 0.2, 0.4)
    assert float(small) == 0.1 and np.mean([float(small), float(large)]) == 0.2
    assert small < large and small <= large and large > small and large >= small
    assert small < 0.2 and small >= 0.1 and not small > 0.1
    assert np.float64(0.2) > small and small >= 0.1 and not small > 0.1
    assert sorted([large, small]) == [small, large]
    assert (f"{small:.0%}", f"{small}", str(small)) == (
        "10% (5% to 20%)",
        "0.100 (0.050 to 0.200)",
        "0.100 (0.050 to 0.200)",
    )
    assert str(Estimate(0.0246, 0.00691, 0.0612)) == "0.0246 (0.0069 to 0.0612)"
    assert str(Estimate(234.0, 0.7, 1234.5)) == "234 (1 to 1234)"
    assert str(Estimate(0.0, 0.0, 0.0)) == "0.00 (0.00 to 0.00)"
    assert str(Estimate(2.0, 1.0, np.inf)) == "2.00 (1.00 to inf)"


def made_up(rng, n, direction):
    X = rng.normal(size=(n, len(direction)))
    return X, (X @ direction + rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize(("kernel", "d"), [("linear", 20), ("rbf", 3)])
def test_intervals_cover_the_scores_of_new_points_where_points_are_few(kernel, d):
    found = []
    for k in range(100):
        rng = np.random.default_rng([2, k, d])
        direction = 2 * rng.normal(size=d) / np.sqrt(d)
        clf = BayesPointClassifier(kernel=kernel).fit(*made_up(rng, 40, direction))
        X, y = made_up(rng, 2000, direction)
        p = clf.predict_proba(X)
        true, wrong = -np.log(p[np.arange(len(y)), y]).mean(), (p.argmax(axis=1) != y).mean()
        seen = -np.log(clf.model_.fact("label_scores")[:, 0])
        # Independent losses of a normal distribution, by predictions that have learned nothing.
        narrow = abs(true - seen.mean()) <= 1.96 * seen.std() / np.sqrt(40)
        expected, error = clf.expected_scores_["log_loss"], clf.expected_scores_["error"]
        within = expected.low <= true <= expected.high
        covers = error.low <= wrong <= error.high
        found.append([within, narrow, expected.value - true, seen.mean() - true, covers])
    covered, too_narrow, off, plainly_off, of_errors = np.mean(found, axis=0)
    assert covered >= 0.93 and of_errors >= 0.93
    assert too_narrow < 0.88
    assert abs(off) < 5 * np.std(found, axis=0)[2] / np.sqrt(len(found))
    assert abs(off) < abs(plainly_off)  # without what was learned it is too small


def test_errors_of_left_out_points_depend_on_each_other():
    away, share = [], []
    for k in range(400):
        rng = np.random.default_rng([3, k])
        direction = 10 * rng.normal(size=20) / np.sqrt(20)
        clf = BayesPointClassifier(kernel="linear").fit(*made_up(rng, 40, direction))
        X, y = made_up(rng, 4000, direction)
        share.append(1 - clf.score(X, y))
        away.append(clf.left_out_error_ - share[-1])
    binomial = np.mean(share) * (1 - np.mean(share)) / 40
    ratio, error = np.mean(np.square(away)) / binomial, np.sqrt(2 / 400)
    assert ratio / DEPENDENCE**2 < 1 + 5 * error
    assert ratio > 1 + 5 * error  # the wrong variant: independent errors


def test_what_was_learned_from_all_labels_costs_a_share_of_a_nat():
    p, codes = np.tile([[0.3, 0.7]], (50, 1)), np.repeat([0, 1], [15, 35])
    plain, learned = (expected_scores(p, codes, n_learned=k)["log_loss"] for k in (0.0, 2.0))
    assert learned.value == pytest.approx(plain.value + 2 / 50)
    assert learned.low == plain.low and learned.high > plain.high


def test_points_that_members_are_given_are_like_points_that_were_seen():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 1, size=(3, 30))
    prior = np.array([5.0, 1.0, 0.0])
    own = np.where(np.eye(3) > 0, 1.0, 1e-300)  # points that only one member can explain
    seen = np.log(np.concatenate([p, np.repeat(own, prior.astype(int), axis=1)], axis=1))
    np.testing.assert_allclose(mixture_weights(np.log(p), None, prior), mixture_weights(seen))


def test_few_rows_share_weights_with_candidates_that_may_be_as_good(monkeypatch):
    rng = np.random.default_rng(0)
    codes = np.arange(12) % 2
    own = np.clip(0.7 + 0.1 * rng.normal(size=12), 0.05, 0.95)
    own = np.stack([own, own - 0.01 + 0.05 * rng.normal(size=12), 0.1 * own])
    # The second is a little worse: by the labels alone it would have no weight.
    everyone = np.where(np.eye(2)[codes] > 0, own[..., None], 1 - own[..., None])
    problem = Problem.pose(np.zeros((12, 1)), codes, None, None)
    chance = plausibility(np.log(own[:2]))
    assert chance[0] > chance[1] > 0.05

    def penalty(v):
        return -np.log([v, 1 - v] @ own[:2]).sum() - 5 * chance @ np.log([v, 1 - v])

    best = minimize_scalar(penalty, bounds=(0.01, 0.99), method="bounded", options={"xatol": 1e-9})
    found = blended(everyone, problem, 1.0, 4)
    np.testing.assert_allclose(found.share, [best.x, 1 - best.x, 0], atol=1e-3)
    monkeypatch.setattr(blending, "PRIOR_POINTS", 0.0)  # wrong
    np.testing.assert_array_equal(blended(everyone, problem, 1.0, 4).share, [1, 0, 0])


def test_plausibility_falls_with_the_standard_errors_that_a_member_is_behind():
    rng = np.random.default_rng(0)
    first = rng.normal(size=50)
    away = rng.normal(size=50)
    away -= away.mean()
    away *= np.sqrt(50) / away.std()  # the mean has the standard error 1
    chance = plausibility(np.stack([first, first - away - 1, first - away - 3]))
    np.testing.assert_allclose(chance[1:] / chance[0], np.exp([-0.5, -4.5]))
    assert plausibility(np.stack([first, first])).tolist() == [0.5, 0.5]


def test_doubt_bounds_the_temperature_of_forecasts_that_are_all_right():
    scores = np.tile([[0.0, 3.0]], (40, 1))
    codes = np.ones(40, dtype=int)
    sure = best_temperature(scores, codes, caution=0.0)
    assert sure == pytest.approx(np.exp(-2), rel=1e-3)  # the bound
    wrong = 0.5 / 41  # half a point of 40, and of another half that is right
    found = best_temperature(scores, codes, caution=0.0, doubt=0.5)
    assert found == pytest.approx(3 / np.log((1 - wrong) / wrong), rel=1e-3)
    heavy = best_temperature(scores[:20], codes[:20], np.full(20, 2.0), caution=0.0, doubt=0.5)
    assert heavy == pytest.approx(found, rel=1e-6)

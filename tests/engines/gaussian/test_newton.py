"""The line search and the rule to stop of Newton's method."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from bayespoint.engines.gaussian.newton import FLAT, TRIALS, Descent, LineSearch, Local
from bayespoint.engines.gaussian.tasks import ACTIVE, EXHAUSTED, STOPPED

ENGINE = SimpleNamespace(tol=1e-6, max_iter=3)


def shares(slope, bend, **params):
    """All shares that a search along a line tries."""
    search, tried = LineSearch(slope(0.0)), []
    while search is not None:
        tried.append(search.t)
        search = search.next(slope(search.t), bend(search.t), **params)
    return tried


@pytest.mark.parametrize("best", [0.01, 0.3, 1.0, 7.0, 1e4])
def test_a_quadratic_function_is_solved_at_once(best):
    tried = shares(lambda t: t - best, lambda t: 1.0)
    assert len(tried) <= 2
    assert tried[-1] == pytest.approx(best, rel=2 * FLAT)


@pytest.mark.parametrize("best", [0.003, 0.4, 30.0])
def test_a_newton_step_that_overshoots_stays_in_the_bracket(best):
    """Curvatures vanish far from the minimum, as those of the logistic do."""

    def slope(t):
        return expit(10 * (t - best)) - 0.5 + 1e-3 * (t - best)

    def bend(t):
        p = expit(10 * (t - best))
        return 10 * p * (1 - p) + 1e-3

    tried = shares(slope, bend)
    assert len(tried) < 20
    assert abs(slope(tried[-1])) <= -FLAT * slope(0.0)


def test_short_steps_will_do_where_trials_are_expensive():
    assert shares(lambda t: t - 7.0, lambda t: 1.0, may_be_short=True) == [1.0]
    assert shares(lambda t: t - 0.5, lambda t: 1.0, may_be_short=True) == [1.0, 0.5]


@pytest.mark.parametrize("slope", [np.nan, 1.0, -1.0])
def test_a_search_without_end_ends(slope):
    assert len(shares(lambda t: slope if t else -1e-9, lambda t: 1.0)) == TRIALS + 1


@pytest.mark.parametrize(
    ("found", "should_stop", "reason"),
    [
        ([Local(1e-7, 1e-7, False)], False, ""),
        ([Local(1e-2, 1e-2, False)], False, ACTIVE),
        ([Local(1e-2, 1e-2, False)], True, STOPPED),
        ([None], True, STOPPED),
        ([Local(1.0, 1.0, False)] * 3, False, EXHAUSTED),
        ([None, None, None], False, ACTIVE),
        # The decrement falls no more though the last step was small: rounding errors.
        ([Local(1e-4, 1e-4, False), Local(1e-4, 1e-4, True)], False, ""),
        # A step that was made: the next is smaller by as much as the decrement is.
        ([Local(0.1, 1.0, False), Local(1e-4, 1e-2, False, is_ahead=False)], False, ACTIVE),
        ([Local(0.1, 1.0, False), Local(1e-4, 1e-4, False, is_ahead=False)], False, ""),
    ],
)
def test_when_a_task_ends(found, should_stop, reason):
    task = Descent()
    for here in found:
        task.here = here
        task.go_on(ENGINE, should_stop)
    assert task.reason == reason
    assert task.changes == [here.largest for here in found if here is not None]

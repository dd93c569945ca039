"""The loop of expectation propagation, with sites that only pretend to move."""

import pytest
from numpy.linalg import LinAlgError

from bayespoint.engines import ExpectationPropagation
from bayespoint.engines.gaussian.tasks import (
    COLLAPSE,
    EXHAUSTED,
    HESITANT,
    PATIENCE,
    STOPPED,
    Sweeps,
    iterate,
)


class Shrinking:
    """Sites whose moves shrink by a factor, or whose posterior collapses."""

    def __init__(self, factor=0.1, collapses=None):
        self.left, self.factor, self.collapses, self.shares = 1.0, factor, collapses, []

    def sweep(self, share):
        if len(self.shares) == self.collapses:
            raise LinAlgError("no posterior")
        self.shares.append(share)
        before, self.left = self.left, self.factor * self.left
        return before

    def moves_left(self, tol):
        return self.left


def swept(sites, *, stop_after=10**9, in_turn=True, **parameters):
    """The sweeps over sites, and how often the loop advanced."""
    engine = ExpectationPropagation(**parameters)
    tasks = [Sweeps.of(engine, one, in_turn=in_turn) for one in sites]
    rounds, visits = [], []

    def advance():
        if not any(task.changes for task in tasks):
            return False  # before the first sweep
        rounds.append(1)
        return len(rounds) >= stop_after

    iterate(tasks, engine, advance, lambda active: visits.append([*active]))
    return tasks, len(rounds), visits


def test_sweeps_end_when_no_site_would_move():
    (task,), rounds, _ = swept([Shrinking()], tol=2e-3)
    assert task.reason == ""
    assert task.changes == pytest.approx([1, 0.1, 0.01])
    assert rounds == 3


@pytest.mark.parametrize(
    ("parameters", "reason", "n_sweeps"),
    [
        ({"max_iter": 4, "tol": 1e-30}, EXHAUSTED, 4),
        ({"stop_after": 2, "tol": 1e-30}, STOPPED, 2),
        ({"max_iter": 1}, "", 1),  # a single pass, as asked
    ],
)
def test_other_ends(parameters, reason, n_sweeps):
    (task,), rounds, _ = swept([Shrinking(0.9)], **parameters)
    assert (task.reason, len(task.changes), rounds) == (reason, n_sweeps, n_sweeps)


def test_a_collapse_ends_its_own_task_only():
    tasks, _, visits = swept([Shrinking(collapses=2), Shrinking()], tol=2e-5)
    assert [task.reason for task in tasks] == [COLLAPSE, ""]
    assert [len(task.changes) for task in tasks] == [2, 5]
    assert [len(active) for active in visits] == [2, 2, 2, 1, 1, 1]  # once for all that go on


def test_moves_below_rounding_are_no_moves():
    (task,), _, _ = swept([Shrinking()], tol=1e-300)
    assert task.reason == ""


def test_shares_of_steps():
    """At once: more while moves shrink, less if not. In turn: less after many sweeps."""
    at_once, in_turn = Shrinking(0.99), Shrinking(1.01)
    swept([at_once], in_turn=False, max_iter=7)
    assert at_once.shares == pytest.approx([0.5, 0.5, 0.6, 0.72, 0.864, 1, 1])
    swept([in_turn], max_iter=3 * PATIENCE)
    assert in_turn.shares == [1.0] * 2 * PATIENCE + [0.5] * PATIENCE
    hesitant = Shrinking(1.01)
    swept([hesitant], in_turn=False, max_iter=10)
    assert min(hesitant.shares) == HESITANT
    damped = Shrinking(0.9)
    swept([damped], in_turn=False, max_iter=5, damping=0.3)
    assert damped.shares == [0.3] * 5

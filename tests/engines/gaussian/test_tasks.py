"""The loop of all tasks, with sites that only pretend to move."""

import pytest
from numpy.linalg import LinAlgError

from bayespoint.engines import ExpectationPropagation
from bayespoint.engines.gaussian.tasks import (
    ACTIVE,
    COLLAPSE,
    EXHAUSTED,
    MANY,
    PATIENCE,
    STOPPED,
    Iterations,
    iterate,
)


class Shrinking(Iterations):
    """Moves shrink by a factor, or the posterior collapses."""

    has_cavities = True

    def __init__(self, factor=0.1, collapses=None, patience=PATIENCE):
        super().__init__()
        self.next, self.factor, self.collapses = 1.0, factor, collapses
        self.patience, self.share, self.shares = patience, 1.0, []

    def visit(self):
        if len(self.shares) == self.collapses:
            raise LinAlgError("no posterior")
        self.shares.append(self.share)
        self.left, self.next = self.next, self.factor * self.next

    def agrees(self, tol):
        self.share = self.share_after(self.share, self.patience)
        return self.left <= tol


def swept(tasks, *, stop_after=10**9, **parameters):
    """The tasks at the end, how often the loop advanced, and who was visited."""
    engine = ExpectationPropagation(**parameters)
    rounds, visits, kept = [], [], []

    def advance():
        rounds.append(1)
        return len(rounds) >= stop_after

    def visit(active):
        visits.append([*active])
        for task in active:
            try:
                task.visit()
            except LinAlgError:
                task.reason = COLLAPSE

    iterate(tasks, engine, advance, visit, lambda: kept.append(1))
    assert len(kept) == len(rounds)
    return tasks, len(rounds), visits


def test_rounds_end_when_no_site_would_move():
    (task,), rounds, _ = swept([Shrinking()], tol=2e-2)
    assert task.reason == ""
    assert task.changes == pytest.approx([1, 0.1, 0.01])
    assert rounds == 3


@pytest.mark.parametrize(
    ("parameters", "reason", "n_rounds"),
    [
        ({"max_iter": 4, "tol": 1e-30}, EXHAUSTED, 4),
        ({"stop_after": 2, "tol": 1e-30}, STOPPED, 2),
        ({"max_iter": 1}, "", 1),  # a single pass, as asked
    ],
)
def test_other_ends(parameters, reason, n_rounds):
    (task,), rounds, _ = swept([Shrinking(0.9)], **parameters)
    assert (task.reason, len(task.changes), rounds) == (reason, n_rounds, n_rounds)


def test_one_step_to_a_mode_is_no_single_pass():
    task = Shrinking(0.9)
    task.has_cavities = False
    swept([task], max_iter=1)
    assert task.reason == EXHAUSTED


def test_a_collapse_ends_its_own_task_only():
    tasks, _, visits = swept([Shrinking(collapses=2), Shrinking()], tol=2e-4)
    assert [task.reason for task in tasks] == [COLLAPSE, ""]
    assert [len(task.changes) for task in tasks] == [2, 5]
    assert [len(active) for active in visits] == [2, 2, 2, 1, 1]  # once for all that go on


def test_moves_below_rounding_are_no_moves():
    (task,), _, _ = swept([Shrinking()], tol=1e-300)
    assert task.reason == ""


@pytest.mark.parametrize("patience", [PATIENCE, MANY])
def test_shares_of_steps(patience):
    """Less where moves have not become smaller than half of the smallest before."""
    task = Shrinking(1.01, patience=patience)
    swept([task], max_iter=4 * patience)
    assert task.shares == [1.0] * 2 * patience + [0.5] * patience + [0.25] * patience
    faster = Shrinking(0.5 ** (1 / (patience - 1)), patience=patience)
    swept([faster], max_iter=4 * patience, tol=1e-30)
    assert set(faster.shares) == {1.0}


def test_moves_before_a_likelihood_has_changed_do_not_count():
    task = Shrinking(0.1)
    swept([task], tol=1e-8)
    task.go_on_anew()
    assert task.reason == ACTIVE
    task.next, task.factor = 1.0, 0.9  # larger moves than before, which do shrink
    swept([task], max_iter=30, tol=1e-30)
    assert set(task.shares) == {1.0}
    task.reason, task.n_before = ACTIVE, 0
    swept([task], max_iter=50, tol=1e-30)
    assert min(task.shares) < 1.0

"""Advice for a person who labels: whether to continue."""

from __future__ import annotations

from bayespoint.active.stopping import EARLY, fall_ahead, is_enough


def recommendation(
    n_labels: int, n_classes: int, n_open: int, rest: float | None, fall: float | None
) -> str:
    """Whether to continue, as a sentence.

    ``n_classes`` is how many classes have labels, ``rest`` and ``fall`` are those of
    :func:`~bayespoint.active.stopping.expected_fall`.
    """
    if n_open == 0:
        return "Every row has an answer."
    if n_classes < 2:
        return "The model starts when two classes have labels."
    if rest is None or fall is None:
        return "The model is learning."
    if n_labels < EARLY:
        return f"Continue: with fewer than {EARLY} labels it is too early to say."
    ahead, total = fall_ahead(rest, fall, n_open)
    if is_enough(n_labels, rest, total):
        return f"You can stop: the next {ahead} labels would hardly lower the error."
    points = f"{100 * total:.1f} percentage points"
    return f"Continue: the next {ahead} labels may lower the error by up to {points}."

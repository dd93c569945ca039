"""The columns of a table that a fit uses."""

from __future__ import annotations

from collections.abc import Sequence


def chosen(
    names: Sequence[str],
    target: str | None,
    features: Sequence[str] | None,
    weight: str | None,
    path: str,
) -> list[str]:
    """The columns to learn from: those given, or all but labels and weights."""
    for name in (*(features or ()), target, weight):
        if name is not None and name not in names:
            raise ValueError(
                f"{path} has no column {name!r}. It has {', '.join(map(repr, names[:12]))}"
                f"{' and more' if len(names) > 12 else ''}."
            )
    found = list(features) if features is not None else [
        name for name in names if name not in (target, weight)
    ]  # fmt: skip
    if target in found or weight in found:
        raise ValueError("features must name neither the labels (target) nor the weights.")
    if not found:
        raise ValueError(f"{path} has no column to learn from besides {target!r}.")
    return found

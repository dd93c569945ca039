"""The mark of what may still change."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Marked = TypeVar("Marked", bound=Callable[..., Any])


# The note of what only those need who extend the package.
EXTENDING = "It is for extensions of the package, and may change in a minor version."


def unstable(note: str) -> Callable[[Marked], Marked]:
    """Mark a public class or function that may change in a minor version.

    Parameters
    ----------
    note : str
        Since when it exists, and what may change.

    Returns
    -------
    callable
        A decorator that adds the note to the docstring, and as attribute ``__unstable__``.

    Examples
    --------
    >>> from bayespoint.tools.stability import unstable
    >>> @unstable("New in 1.0; the result may get other fields.")
    ... def guess():
    ...     '''Guess the label.'''
    >>> print(guess.__doc__)
    Guess the label.
    <BLANKLINE>
    .. note:: **Unstable.** New in 1.0; the result may get other fields.
    """

    def mark(thing: Marked) -> Marked:
        thing.__unstable__ = note  # type: ignore[attr-defined]
        summary, _, rest = (inspect.getdoc(thing) or "").partition("\n\n")
        words = f".. note:: **Unstable.** {note}"
        thing.__doc__ = "\n\n".join(part for part in (summary, words, rest) if part)
        return thing

    return mark

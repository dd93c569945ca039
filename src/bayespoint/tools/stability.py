"""Marks of what may still change, and of what will be removed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from bayespoint.exceptions.issuing import warn_user

Marked = TypeVar("Marked", bound=Callable[..., Any])


# The note of what only those need who extend the package.
EXTENDING = "It is for extensions of the package, and may change in a minor version."
# Everything that is deprecated: its public path, such as "bayespoint.reject.label_sets", or that of
# a parameter, "bayespoint.reject.label_sets(level)" -> the first version that warns, the first
# without it, and the name to use instead. A test fails as soon as the second version is there.
DEPRECATIONS: dict[str, tuple[str, str, str]] = {}


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
        return noted(thing, f"**Unstable.** {note}")

    return mark


def deprecated(name: str) -> Callable[[Marked], Marked]:
    """Warn those who call a class or function, or set a parameter, that will be removed.

    Parameters
    ----------
    name : str
        A key of ``DEPRECATIONS``. The value of a parameter is passed on as the
        parameter that replaces it.

    Returns
    -------
    callable
        A decorator. Classes are changed in place, functions are wrapped.
    """
    since, until, replacement = DEPRECATIONS[name]
    _, _, parameter = name.rstrip(")").partition("(")
    words = (
        f"{name} is deprecated since version {since}, and will be removed in version {until}. "
        f"Use {replacement} instead."
    )

    def mark(thing: Marked) -> Marked:
        called = vars(thing)["__init__"] if inspect.isclass(thing) else thing

        @functools.wraps(called)
        def call(*args: Any, **named: Any) -> Any:
            if not parameter or parameter in named:
                warn_user(FutureWarning(words))
            if parameter in named:
                named[replacement] = named.pop(parameter)
            return called(*args, **named)

        if called is thing:
            return noted(call, words)  # type: ignore[return-value]
        thing.__init__ = call  # type: ignore[method-assign]
        return noted(thing, words)

    return mark


def noted(thing: Marked, words: str) -> Marked:
    """The same thing with a note after the first line of its docstring."""
    summary, _, rest = (inspect.getdoc(thing) or "").partition("\n\n")
    thing.__doc__ = "\n\n".join(part for part in (summary, f".. note:: {words}", rest) if part)
    return thing

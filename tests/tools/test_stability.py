"""Marks of what may change and of what will be removed."""

import inspect

import pytest
from sklearn.base import BaseEstimator, clone

from bayespoint import __version__
from bayespoint.tools import stability
from bayespoint.tools.stability import DEPRECATIONS, deprecated, unstable

OLD = {
    "made.up": ("1.1", "2.0", "made.better"),
    "made.Machine(scale)": ("1.1", "2.0", "prior_scale"),
}


@pytest.fixture
def made_up(monkeypatch):
    monkeypatch.setattr(stability, "DEPRECATIONS", OLD)


def test_a_mark_is_of_the_class_alone():
    @unstable("It may change.")
    class Base:
        """A base."""

    class Derived(Base):
        """Derived."""

    assert vars(Base)["__unstable__"] == "It may change."
    assert "**Unstable.** It may change." in Base.__doc__
    assert "__unstable__" not in vars(Derived) and "Unstable" not in Derived.__doc__


def test_the_note_follows_the_summary():
    @unstable("It may change.")
    def answer(x):
        """Answer.

        Parameters
        ----------
        x : int
            A number.
        """

    lines = answer.__doc__.splitlines()
    assert lines[:4] == ["Answer.", "", ".. note:: **Unstable.** It may change.", ""]
    assert lines[4] == "Parameters"


def test_a_deprecated_function(made_up):
    @deprecated("made.up")
    def up(x, *, by=1):
        """Count up."""
        return x + by

    words = "made.up is deprecated since version 1.1, and will be removed in version 2.0"
    with pytest.warns(FutureWarning, match=f"{words}. Use made.better instead") as seen:
        assert up(1, by=2) == 3
    assert seen[0].filename == __file__  # it points at the user's line
    assert words in up.__doc__ and up.__name__ == "up"
    assert list(inspect.signature(up).parameters) == ["x", "by"]


@pytest.mark.filterwarnings("error")
def test_a_deprecated_parameter(made_up):
    @deprecated("made.Machine(scale)")
    class Machine(BaseEstimator):
        """A machine."""

        def __init__(self, *, prior_scale=1.0):
            self.prior_scale = prior_scale

    assert clone(Machine(prior_scale=3.0)).get_params() == {"prior_scale": 3.0}  # no warning
    with pytest.warns(FutureWarning, match="Use prior_scale instead"):
        assert Machine(scale=2.0).prior_scale == 2.0


def test_only_what_is_listed_can_be_marked(made_up):
    with pytest.raises(KeyError, match=r"made\.else"):
        deprecated("made.else")


def numbers(version):
    return [int(part) for part in version.split(".")]


def test_nothing_is_kept_longer_than_it_was_promised():
    until = {name: numbers(until) for name, (_, until, _) in DEPRECATIONS.items()}
    assert [name for name, version in until.items() if version <= numbers(__version__)] == []

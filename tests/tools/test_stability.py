"""The mark of what may change."""

from bayespoint.tools.stability import unstable


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

"""Tables on terminals of all widths, and in pipes."""

import io
import re

import pytest
from rich.console import Console
from tests.helpers.running import succeed

from bayespoint.cli.output.printing import NumbersTable, facts, show

NAMES = ["knapsack, l2, averaged", "knapsack, l2, averaged, no folds", "SVM"]
HEADS = ["", "printed", "measured", "interval", "standard error of the mean", "verdict"]
ROWS = [
    [name, "17.0 ± 1.25", "16.93 ± 0.02", "16.85–16.97", "0.0123", "other data, not comparable"]
    for name in NAMES
]
NUMBERS = [cell for row in ROWS for cell in row[1:5]]


def printed(table, width):
    screen = io.StringIO()
    Console(file=screen, force_terminal=True, no_color=True, width=width).print(table, crop=False)
    return re.sub(r"\x1b\[[\d;]*m", "", screen.getvalue())


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_no_cell_is_cut(width):
    table = NumbersTable(HEADS, ROWS, words_last=True, title="A title", caption="A caption.")
    shown = printed(table, width)
    assert "…" not in shown
    for number in NUMBERS:
        assert shown.count(number) >= len(NAMES)
    for name in NAMES:  # wrapped, so that their words stand somewhere
        assert all(word in shown for word in name.split())
    assert max(map(len, shown.splitlines())) <= max(width, 110)
    if width == 200:
        assert "knapsack, l2, averaged, no folds  17.0 ± 1.25  16.93 ± 0.02" in shown


def test_in_a_pipe_lines_are_as_long_as_needed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    show(facts([("engine", "many words " * 20)]), NumbersTable(HEADS, ROWS, words_last=True))
    lines = capsys.readouterr().out.splitlines()
    assert ("many words " * 20).strip() in lines[0]
    assert sum("16.93 ± 0.02" in line and "comparable" in line for line in lines) == len(ROWS)
    assert all(line == line.rstrip() for line in lines)


def test_help_is_not_cut_on_a_narrow_terminal(monkeypatch):
    for command in ("train", "query", "evaluate"):
        assert "…" not in succeed(command, "--help").stdout

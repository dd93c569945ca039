"""No file uses a private name of another file."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKER = ROOT / "tools" / "check_private.py"

FINE = """
from bayespoint import _core
from bayespoint.rows.base import Blocks

class Rows(Blocks):
    def __init__(self, pair):
        super().__init__()
        self._begin, self.__class__._count = pair._replace(x=1), 0

    def same(self, other):
        return self._begin == other._begin and self._inherited and super()._inherited

def first(rows):
    return rows._begin
"""


def run(*arguments):
    command = [sys.executable, str(CHECKER), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_this_repository():
    status, output = run(ROOT / "src" / "bayespoint")
    assert status == 0, output


def test_names_of_the_file_itself(tmp_path):
    (tmp_path / "fine.py").write_text(FINE)
    assert run(tmp_path) == (0, "private names: all stay in their files\n")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("from a import _x", "_x"),
        ("def f(classifier): return classifier._space", "_space"),
        ("class A:\n    def f(self): return self.engine._run()", "_run"),
    ],
)
def test_names_of_others(tmp_path, code, name):
    (tmp_path / "wrong.py").write_text(code)
    status, output = run(tmp_path)
    assert status == 1 and f"{name} is private to another file" in output


def test_not_a_folder(tmp_path):
    assert run()[0] == 2
    assert run(tmp_path / "nowhere")[0] == 2

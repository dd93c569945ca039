"""The package stays within its limits of lines and rooms."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHECKER = ROOT / "tools" / "check_size.py"


def run(folder):
    command = [sys.executable, str(CHECKER), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def package(folder, text, n_rooms=1):
    """A package with rooms of this text."""
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for number in range(n_rooms):
        (folder / f"room{number}.py").write_text(text)
    return folder


def test_this_repository():
    status, output = run(ROOT / "src" / "bayespoint")
    assert status == 0, output


def test_what_counts_as_code(tmp_path):
    text = '"""A docstring\nof two lines."""\n\n# why\nx = [\n    1,  # a comment\n]\ny = "text"\n'
    text += 'def f():\n    """What it does."""\n    return """a\nvalue"""\n'
    assert "size: 7 lines of code" in run(package(tmp_path / "one", text))[1]


def test_too_much(tmp_path):
    most = int(re.search(r"MOST_LINES = ([0-9_]+)", CHECKER.read_text())[1])
    status, output = run(package(tmp_path / "long", "x = 1\n" * (most + 1)))
    assert status == 1 and f"  {most + 1} room0.py\n" in output
    assert run(package(tmp_path / "fits", "x = 1\n" * most))[0] == 0
    assert run(package(tmp_path / "wide", "", n_rooms=21))[0] == 1
    assert run(package(tmp_path / "narrow", "", n_rooms=20))[0] == 0


def test_not_a_package(tmp_path):
    assert run(tmp_path)[0] == 2

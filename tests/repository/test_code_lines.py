"""Lines of code are counted by the syntax tree."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COUNTER = ROOT / "tools" / "code_lines.py"

TEXT = '''"""A docstring
of two lines."""

# why
x = [
    1,  # a comment
]
y = (
    "a text"
    " in two lines"
)


def f():
    """What it does."""
    return x
'''


def run(folder):
    command = [sys.executable, str(COUNTER), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_counts_as_code(tmp_path):
    (tmp_path / "room.py").write_text(TEXT)
    output = run(tmp_path).stdout
    assert "9 lines of code" in output and "room.py" in output


def test_rooms_are_counted_apart(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "some.py").write_text("x = 1\n")
    (tmp_path / "two" / "more.py").write_text("y = 2\nz = 3\n")
    lines = run(tmp_path).stdout.split("\n")
    assert lines[0].split() == ["3", "two"] and lines[1].split() == ["1", "one"]


def test_not_a_package(tmp_path):
    assert run(tmp_path).returncode == 2

"""No file is longer than the house allows."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKER = ROOT / "tools" / "check_length.py"
FOLDERS = ("src", "tests", "tools", "benchmarks", "examples")


def run(*arguments):
    command = [sys.executable, str(CHECKER), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_this_repository():
    status, output = run(*(ROOT / folder for folder in FOLDERS))
    assert status == 0, output


@pytest.mark.parametrize("end", ["\n", ""])
def test_one_line_too_many(tmp_path, end):
    deep = tmp_path / "a" / "b" / "c.py"
    deep.parent.mkdir(parents=True)
    deep.write_text("\n".join(["x = 1"] * 400) + end)
    assert run(tmp_path)[0] == 0
    deep.write_text("\n".join(["x = 1"] * 401) + end)
    assert run(tmp_path) == (1, f"{deep}: 401 lines; split it, 400 are the most\n")


def test_not_a_folder(tmp_path):
    assert run()[0] == 2
    assert run(tmp_path, tmp_path / "nowhere")[0] == 2

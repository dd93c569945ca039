"""How many files a reader has to open who follows a fit or a prediction."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Ceilings, to be lowered when a path becomes shorter.
MOST = {"fit": 32, "predict_proba": 10}


@pytest.fixture(scope="module")
def entered():
    """Number of files by the name of the call, in a process of its own."""
    command = [sys.executable, str(ROOT / "tools" / "files_entered.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    return {name: int(rest.split()[0]) for name, rest in (line.split(": ") for line in lines)}


@pytest.mark.parametrize("call", MOST)
def test_paths_stay_short(entered, call):
    assert 1 < entered[call] <= MOST[call], "run tools/files_entered.py"

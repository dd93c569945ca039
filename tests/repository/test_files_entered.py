"""How much of the package a reader has to open who follows a fit or a prediction."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from bayespoint.classifier.calibration import temperature_of_least, trusted

TOOL = Path(__file__).resolve().parents[2] / "tools" / "files_entered.py"
# Ceilings for files and functions, to be lowered when a path becomes shorter.
MOST = {
    "rbf fit": (34, 345),
    "default fit": (52, 541),
    "predict_proba": (21, 90),
    "fit over blocks": (41, 315),
}


@pytest.fixture(scope="module")
def counts():
    """Numbers of files, functions and frames by the name of the path, in a process of its own."""
    command = [sys.executable, str(TOOL)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    pairs = [line.split(": ") for line in lines]
    return {name: [int(word) for word in rest.split() if word.isdigit()] for name, rest in pairs}


@pytest.mark.parametrize("path", MOST)
def test_paths_stay_short(counts, path):
    n_files, n_functions, n_frames = counts[path]
    assert 1 < n_files <= MOST[path][0], "run tools/files_entered.py"
    assert n_files < n_functions <= MOST[path][1], "run tools/files_entered.py"
    assert 1 < n_frames < n_functions


def test_each_function_counts_once():
    spec = importlib.util.spec_from_file_location("files_entered", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)

    def call():
        trusted(3.0)
        sum(range(3))  # not of the package
        temperature_of_least(lambda x: x**2, 5.0)

    path, file = tool.entered(call), "classifier/calibration.py"
    assert path.functions == [(file, "trusted"), (file, "temperature_of_least")]
    assert path.stack == [(file, "temperature_of_least"), (file, "trusted")]
    assert path.files == [file]
    assert path.summary == "1 files, 2 functions, 2 frames deep"

"""The public API passes a type checker from a user's side, and mistakes do not."""

import os
import subprocess
import sys
from pathlib import Path

import bayespoint

PROGRAM = Path(__file__).with_name("program.py")
MISTAKES = """
from bayespoint import BayesPointClassifier

clf = BayesPointClassifier(kernel="rbf")
clf.fit([[0.0], [1.0]], [0, 1]).predict_proba()
clf.run_.convergd
clf.expected_scores_.upper()
"""


def check(path, cache):
    """What mypy says of a program of somebody who has installed the package."""
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--config-file",
        os.devnull,
        "--cache-dir",
        str(cache),
        str(path),
    ]
    source = str(Path(bayespoint.__file__).parents[1])
    environment = {**os.environ, "MYPYPATH": source}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return done.stdout.splitlines()


def test_types_from_a_users_side(tmp_path):
    *errors, summary = check(PROGRAM, tmp_path / "cache")
    assert not errors, errors
    assert summary.startswith("Success")
    tmp_path.joinpath("mistakes.py").write_text(MISTAKES)
    *errors, _ = check(tmp_path / "mistakes.py", tmp_path / "cache")
    kinds = [error.rpartition("[")[2].rstrip("]") for error in errors if ": error:" in error]
    assert kinds == ["call-arg", "attr-defined", "attr-defined"], errors

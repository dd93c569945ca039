"""The command as a process of its own."""

import os
import signal
import subprocess
import sys

import pytest
from tests.cli.running import loans, write


def test_python_m_bayespoint(trained, tmp_path):
    command = [sys.executable, "-m", "bayespoint", "diagnose", "--model", trained / "loans.bpm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "converged after" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for a single process")
def test_control_c_leaves_nothing_behind(tmp_path):
    data = write(loans(), tmp_path / "data.csv")
    # A fit that sleeps. A process started in the background may ignore SIGINT, hence the reset.
    script = (
        "import signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from bayespoint import BayesPointClassifier\n"
        "def fit(self, X, y): print('asleep', file=sys.stderr, flush=True); time.sleep(60)\n"
        "BayesPointClassifier.fit = fit\n"
        "from bayespoint.cli import main; main()"
    )
    arguments = ["train", data, "--target", "repaid", "--model", tmp_path / "m.bpm", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr.readline() == "asleep\n"
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert (printed, said) == ("", "error: interrupted\n")
    assert list(tmp_path.iterdir()) == [data]

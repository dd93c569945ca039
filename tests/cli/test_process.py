"""The command as a process of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from tests.helpers.running import loans, write

from bayespoint.cli import ExitCode
from bayespoint.cli.output.errors import errors_in_words

# A process that is started in the background may ignore SIGINT, hence the reset.
RESET = "import signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
MAIN = "from bayespoint.cli import main; main()"
ASLEEP = (
    "def sleep(*args, **kwargs): print('asleep', file=sys.stderr, flush=True); time.sleep(60)\n"
)

needs_sigint = pytest.mark.skipif(
    os.name == "nt", reason="Windows has no SIGINT for a single process"
)


def test_python_m_bayespoint(trained, tmp_path):
    command = [sys.executable, "-m", "bayespoint", "info", trained / "loans.bpm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "converged after" in done.stdout


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["--version"], ["train", "--help"], ["info", "-h"]]
)
def test_help_that_cannot_be_written(arguments):
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == ExitCode.FAILED
    assert done.stderr == b"error: cannot write to standard output: No space left on device\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no broken pipes")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"]])
def test_help_that_nobody_reads(arguments):
    """As with ``| head -0``: nothing is said."""
    reads, writes = os.pipe()
    os.close(reads)
    with open(writes, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *arguments],
            stdout=pipe,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (ExitCode.FAILED, b"")


def interrupt(script, arguments, sign, after=0.0):
    """Send SIGINT when a line that begins with the sign is on standard error.

    Returns the process, what it printed, and what it said after the sign.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not process.stderr.readline().startswith(sign):
            assert process.poll() is None
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        return process, *process.communicate(timeout=300)
    finally:
        process.kill()


@needs_sigint
@pytest.mark.parametrize(
    ("patch", "arguments"),
    [
        ("from bayespoint import BayesPointClassifier as c; c.fit = sleep\n", ["train"]),
        ("from bayespoint import BayesPointClassifier as c; c.fit = sleep\n", ["cross-validate"]),
        (
            "from bayespoint import BayesPointClassifier as c; c.partial_fit = sleep\n",
            ["train-incremental"],
        ),
        # While the commands are loaded.
        ("import typer; typer.Typer.command = sleep\n", ["train"]),
    ],
)
def test_control_c_leaves_nothing_behind(tmp_path, patch, arguments):
    data = write(loans(), tmp_path / "data.csv")
    arguments = [*arguments, data, "--target", "repaid", "--json"]
    if arguments[0] != "cross-validate":
        arguments += ["--model", tmp_path / "m.bpm"]
    process, printed, said = interrupt(RESET + ASLEEP + patch + MAIN, arguments, "asleep")
    assert process.returncode == ExitCode.INTERRUPTED
    assert (printed, said) == ("", "error: interrupted\n")
    assert list(tmp_path.iterdir()) == [data]


@needs_sigint
def test_control_c_in_compiled_code(tmp_path):
    data = write(loans().drop(columns=["customer", "joined"]), tmp_path / "data.csv")
    arguments = ["cross-validate", data, "--target", "repaid", "--engine", "gibbs"]
    arguments += ["--param", "n_samples=20000", "--param", "thin=100"]
    sign = "note: missing values: 1 in 'city'"  # the last before the fits
    process, printed, said = interrupt(RESET + MAIN, arguments, sign, after=1.0)
    assert process.returncode == ExitCode.INTERRUPTED
    assert (printed, said) == ("", "error: interrupted\n")


def raise_from(error, cause):
    raise error from cause


def raise_while(error, handled):
    try:
        raise handled
    except type(handled):
        raise error  # noqa: B904


@pytest.mark.parametrize(
    ("how", "arguments", "code"),
    [
        (raise_from, (SystemError("returned a result"), KeyboardInterrupt()), 130),
        (raise_from, (RuntimeError("a"), SystemError("b")), None),
        (raise_while, (ValueError("in a worker"), KeyboardInterrupt()), 130),
        (raise_while, (ValueError("bad"), KeyError("other")), 1),
    ],
)
def test_an_interrupt_in_disguise(how, arguments, code, capsys):
    with pytest.raises(RuntimeError) as ended, errors_in_words():
        how(*arguments)
    if code is None:
        assert ended.value is arguments[0]
    else:
        assert isinstance(ended.value, typer.Exit)
        assert ended.value.exit_code == code
        expected = "error: interrupted\n" if code == 130 else "error: bad\n"
        assert capsys.readouterr() == ("", expected)


@needs_sigint
@pytest.mark.parametrize("module", ["numpy", "sklearn", "pandas"])
def test_control_c_while_libraries_are_imported(module):
    """``bayespoint`` imports nothing large before it can handle an interrupt."""
    patch = f"""
class Asleep:
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            sleep()

sys.meta_path.insert(0, Asleep)
"""
    process, printed, said = interrupt(RESET + ASLEEP + patch + MAIN, ["info"], "asleep")
    assert process.returncode == ExitCode.INTERRUPTED
    assert (printed, said) == ("", "error: interrupted\n")

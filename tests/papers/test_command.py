"""``python -m papers``: what it prints, and how it ends."""

import json
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from tests.helpers.running import error_line, run_python
from typer.testing import CliRunner

from bayespoint.cli import ExitCode
from bayespoint.tools import extras
from papers import EXPERIMENTS, command
from papers.cells import table_rows
from papers.datasets import DataUnavailableError


def invoke(*arguments):
    return CliRunner().invoke(command.app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def no_named_folder(monkeypatch):
    monkeypatch.delenv("BAYESPOINT_DATA", raising=False)


@pytest.fixture
def swap(monkeypatch):
    """Let an experiment do something else."""

    def with_run(run, name="large-scale"):
        monkeypatch.setitem(EXPERIMENTS, name, replace(EXPERIMENTS["large-scale"], parts=run))

    return with_run


def test_list(tmp_path, monkeypatch):
    shown = invoke("--list")
    assert shown.exit_code == 0
    assert all(f"{name} " in shown.stdout for name in EXPERIMENTS)
    assert "BAYESPOINT_DATA is not set: OpenML" in shown.stdout
    (tmp_path / "mnist.npz").touch()
    shown = invoke("--list", "--data", tmp_path)
    assert str(tmp_path) in shown.stdout
    assert "mnist" in shown.stdout
    monkeypatch.setenv("BAYESPOINT_DATA", str(tmp_path / "gone"))
    result = invoke("--list")
    assert result.exit_code == ExitCode.NO_DATA
    assert "no such folder" in error_line(result)


def test_output_for_people(tmp_path):
    result = invoke("large-scale", "--quick", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].endswith(str(tmp_path / "index.html"))
    assert (tmp_path / "index.html").is_file()
    path = tmp_path / "large-scale" / "quick" / "results.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    for table in document["tables"]:
        assert table["title"] in " ".join(result.stdout.split())
        for *cells, _ in table_rows(table):  # a long verdict is broken into lines
            assert " ".join(cells) in " ".join(result.stdout.split())


def test_the_page_lists_all_experiments():
    page = Path(__file__).parents[2] / "docs" / "papers" / "index.md"
    rows = [line.split("|") for line in page.read_text(encoding="utf-8").splitlines()]
    named = [cells[2].strip() for cells in rows if len(cells) == 7]
    assert [f"`{name}`" for name in EXPERIMENTS] == named[2:]


def test_all_means_all():
    assert command.choose(["ep", "all"]) == list(EXPERIMENTS)
    assert command.choose(["ep", "large-scale", "ep"]) == ["ep", "large-scale"]


def test_output_for_programs(tmp_path):
    result = invoke("large-scale", "large-scale", "--out", tmp_path / "new", "--json")
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    assert content["index"] == str(tmp_path / "new" / "index.html")
    path = tmp_path / "new" / "large-scale" / "quick" / "results.json"
    assert content["runs"] == [json.loads(path.read_text(encoding="utf-8"))]


def test_the_command_itself(tmp_path):
    script = "from bayespoint.cli import main; main('papers.command')"
    done = run_python(script, "large-scale", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "index.html") in done.stdout
    assert "large-scale: plain kernel" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "name an experiment: large-scale"),
        (["large-scal"], 2, "Did you mean large-scale?"),
        (["Large-Scale"], 2, "Did you mean large-scale?"),
        (["xyz"], 2, "there is no experiment 'xyz'. Choose from"),
        (["all", "--quick", "--full"], 2, "exclude each other"),
        (["all", "--data", "{folder}/gone"], 3, "gone: no such folder"),
        (["all", "--data", "{folder}/file"], 3, "file: not a folder"),
        (["ep", "--full", "--data", "{folder}"], 3, "mnist.npz: no such file"),
        (["ep", "--full", "--data", "{folder}/broken"], 3, "Cannot load mnist.npz"),
        (["all", "--out", "{folder}/file"], 2, "file: it is not a folder"),
        (["all", "--out", "{folder}/file/below"], 2, "cannot write to --out"),
    ],
)
def test_mistakes(tmp_path, monkeypatch, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "mnist.npz").write_bytes(b"PK\x03\x04 and no more")
    result = invoke(*(argument.format(folder=tmp_path) for argument in arguments))
    assert result.exit_code == code
    assert message in error_line(result)
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ZeroDivisionError("division\nby zero"), 1, "ZeroDivisionError: division by zero"),
        (MemoryError(), 1, "error: large-scale: MemoryError"),
        (DataUnavailableError("data set x", "here", "this"), 3, "Tried here. Remedy: this."),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_runs_that_end_early(tmp_path, swap, error, code, message):
    def run(context):
        raise error

    swap(run)
    result = invoke("large-scale", "--out", tmp_path)
    assert result.exit_code == code
    assert message in error_line(result)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for a single process")
def test_control_c(tmp_path):
    # A sleeping experiment. A process started in the background may ignore SIGINT, hence the reset.
    script = (
        "import signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from dataclasses import replace\n"
        "from papers import EXPERIMENTS\n"
        "def run(context): context.tell('asleep'); time.sleep(60)\n"
        "EXPERIMENTS['large-scale'] = replace(EXPERIMENTS['large-scale'], parts=run)\n"
        "from bayespoint.cli import main; main('papers.command')"
    )
    command = [sys.executable, "-c", script, "large-scale", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr.readline() == "large-scale: asleep\n"
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == ExitCode.INTERRUPTED
    assert (printed, said) == ("", "error: interrupted\n")


def test_one_failure_does_not_stop_the_others(tmp_path, swap):
    def run(context):
        raise ValueError("no")

    swap(run, "a-failure")
    result = invoke("a-failure", "large-scale", "--out", tmp_path, "--json")
    assert result.exit_code == ExitCode.FAILED
    assert [run["name"] for run in json.loads(result.stdout)["runs"]] == ["large-scale"]
    assert "a-failure: ValueError: no" in error_line(result)


def test_traceback_on_request(tmp_path, swap):
    def run(context):
        raise ValueError("no")

    swap(run)
    result = invoke("large-scale", "--out", tmp_path, "--traceback")
    assert result.exit_code == ExitCode.FAILED
    assert "Traceback" in result.stderr
    assert "in run" in result.stderr
    assert "error: large-scale: ValueError: no" in result.stderr


def test_warnings_are_shown(tmp_path, swap):
    experiment = EXPERIMENTS["large-scale"]

    def run(context):
        warnings.warn("odd", UserWarning, stacklevel=1)
        return experiment.parts(context)

    swap(run)
    assert "warning: odd" in invoke("large-scale", "--out", tmp_path).stdout


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    result = invoke("large-scale", "--out", tmp_path)
    assert result.exit_code == ExitCode.NO_EXTRA
    assert 'pip install "bayespoint[plot]"' in error_line(result)

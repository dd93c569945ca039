"""The command: what it prints, and how it ends."""

import io
import json
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import replace

import pytest
from papers.cells import table_rows
from rich.console import Console
from tests.helpers.running import error_line, invoke

from bayespoint import BayesPointClassifier, __version__, cli, save
from bayespoint.active.strategies import STRATEGIES
from bayespoint.cli import options, recipe, reproduction
from bayespoint.cli.app import EXIT_CODES, app
from bayespoint.cli.errors import ExitCode
from bayespoint.cli.progress import ProgressMonitor
from bayespoint.exceptions import DataUnavailableError
from bayespoint.tools import extras
from papers import EXPERIMENTS


@pytest.fixture(autouse=True)
def no_named_folder(monkeypatch):
    monkeypatch.delenv("BAYESPOINT_DATA", raising=False)


@pytest.fixture
def swap(monkeypatch):
    """Let an experiment do something else."""

    def with_run(run, name="large-scale"):
        monkeypatch.setitem(EXPERIMENTS, name, replace(EXPERIMENTS["large-scale"], parts=run))

    return with_run


def run_python(script, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


# info ------------------------------------------------------------------------------------------


def test_info_for_programs(tmp_path, monkeypatch):
    (tmp_path / "mnist.npz").touch()
    monkeypatch.setenv("BAYESPOINT_DATA", str(tmp_path))
    result = invoke("info", "--json")
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    libraries = {"python", "bayespoint", "numpy", "scipy", "scikit-learn", "numba", "joblib"}
    assert facts["versions"].keys() == libraries
    assert all(facts["versions"].values())
    assert facts["blas"]
    assert facts["data"] == {"folder": str(tmp_path), "sets": ["mnist"], "problem": None}
    assert facts["experiments"] == list(EXPERIMENTS)


def test_info_for_people(tmp_path, monkeypatch):
    result = invoke("info")
    assert result.exit_code == 0
    for words in (__version__, "BLAS", "compiled code", "BAYESPOINT_DATA is not set"):
        assert words in result.stdout
    monkeypatch.setenv("BAYESPOINT_DATA", str(tmp_path / "gone"))
    result = invoke("info")
    assert result.exit_code == 0
    assert "no such folder" in " ".join(result.stdout.split())


def test_info_of_a_model(trained):
    path = trained / "loans.bpm"
    found = json.loads(invoke("info", path, "--json").stdout)
    assert found["target"] == "repaid"
    assert found["rows"] == 60
    assert found["engine"]["name"] == "laplace"
    assert found["columns"]["city"]["kind"] == "category"
    assert "Berlin" in found["columns"]["city"]["training"]
    assert any("'joined' is left out" in sentence for sentence in found["preparation"])
    shown = invoke("info", path).stdout
    for words in ("baseline error", "expected error", "written by", "scaled to mean 0", "member"):
        assert words in shown
    result = invoke("info", trained / "loans.csv")
    assert result.exit_code == ExitCode.NO_DATA
    assert "loans.csv" in error_line(result)


def test_info_of_a_model_from_python(tmp_path):
    machine = BayesPointClassifier(kernel="linear").fit([[0.0], [1.0]], ["a", "b"])
    save(machine, tmp_path / "m.bpm")
    shown = invoke("info", tmp_path / "m.bpm")
    assert shown.exit_code == 0
    assert "it was not trained by this command" in shown.stdout


# reproduce -------------------------------------------------------------------------------------


def test_reproduce_for_people(tmp_path):
    result = invoke("reproduce", "large-scale", "--quick", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].endswith(str(tmp_path / "index.html"))
    assert (tmp_path / "index.html").is_file()
    path = tmp_path / "large-scale" / "quick" / "results.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    for table in document["tables"]:
        assert table["title"] in " ".join(result.stdout.split())
        for *cells, _ in table_rows(table):  # a long verdict is broken into lines
            assert " ".join(cells) in " ".join(result.stdout.split())


def test_all_means_all():
    assert reproduction.choose(["ep", "all"]) == list(EXPERIMENTS)
    assert reproduction.choose(["ep", "large-scale", "ep"]) == ["ep", "large-scale"]


def test_reproduce_for_programs(tmp_path):
    result = invoke("reproduce", "large-scale", "large-scale", "--out", tmp_path / "new", "--json")
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    assert content["index"] == str(tmp_path / "new" / "index.html")
    path = tmp_path / "new" / "large-scale" / "quick" / "results.json"
    assert content["runs"] == [json.loads(path.read_text(encoding="utf-8"))]


def test_the_command_itself(tmp_path):
    script = "from bayespoint.cli import main; main()"
    done = run_python(script, "reproduce", "large-scale", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "index.html") in done.stdout
    assert "large-scale: plain kernel" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["reproduce"], 2, "name an experiment. There are large-scale"),
        (["reproduce", "large-scal"], 2, "Did you mean large-scale?"),
        (["reproduce", "Large-Scale"], 2, "Did you mean large-scale?"),
        (["reproduce", "xyz"], 2, "no experiment is named 'xyz'. There are"),
        (["reproduce", "all", "--quick", "--full"], 2, "exclude each other"),
        (["reproduce", "all", "--data", "{folder}/gone"], 3, "gone: no such folder"),
        (["reproduce", "all", "--data", "{folder}/file"], 3, "file: not a folder"),
        (["reproduce", "ep", "--full", "--data", "{folder}"], 3, "mnist.npz: no such file"),
        (["reproduce", "ep", "--full", "--data", "{folder}/broken"], 3, "Cannot load mnist.npz"),
        (["reproduce", "all", "--out", "{folder}/file"], 2, "file: it is not a folder"),
        (["reproduce", "all", "--out", "{folder}/file/below"], 2, "cannot write to --out"),
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


@pytest.mark.parametrize("arguments", [["trian"], ["--bogus"], ["reproduce", "all", "--outt", "x"]])
def test_mistakes_that_typer_finds(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bayespoint", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: No such ")
    command = "bayespoint reproduce" if arguments[0] == "reproduce" else "bayespoint"
    assert line.endswith(f"{'?' if 'Did you mean' in line else '.'} See {command} --help.")


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
    result = invoke("reproduce", "large-scale", "--out", tmp_path)
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
        "from bayespoint.cli import main; main()"
    )
    command = [sys.executable, "-c", script, "reproduce", "large-scale", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr.readline() == "large-scale: asleep\n"
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == ExitCode.INTERRUPTED
    assert (printed, said) == ("", "error: interrupted\n")


def test_one_failure_does_not_stop_the_others(tmp_path, swap):
    def run(context):
        raise ValueError("no")

    swap(run, "a-failure")
    result = invoke("reproduce", "a-failure", "large-scale", "--out", tmp_path, "--json")
    assert result.exit_code == ExitCode.FAILED
    assert [run["name"] for run in json.loads(result.stdout)["runs"]] == ["large-scale"]
    assert "a-failure: ValueError: no" in error_line(result)


def test_traceback_on_request(tmp_path, swap):
    def run(context):
        raise ValueError("no")

    swap(run)
    result = invoke("reproduce", "large-scale", "--out", tmp_path, "--traceback")
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
    assert "warning: odd" in invoke("reproduce", "large-scale", "--out", tmp_path).stdout


# Extras, help, progress ------------------------------------------------------------------------


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    result = invoke("reproduce", "large-scale", "--out", tmp_path)
    assert result.exit_code == ExitCode.NO_EXTRA
    assert 'pip install "bayespoint[plot]"' in error_line(result)


@pytest.mark.parametrize("library", ["typer", "rich", "pandas"])
def test_without_the_extra(library):
    script = (
        "import sys; name = sys.argv.pop(1); sys.modules[name] = None\n"
        "from bayespoint.cli import main; main()"
    )
    done = run_python(script, library, "info")
    assert done.returncode == ExitCode.NO_EXTRA
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line == f'error: the command needs {library}: pip install "bayespoint[cli]"'


def test_help_shows_examples_and_exit_codes():
    assert all(str(int(code)) in EXIT_CODES for code in ExitCode)
    for arguments in ([], ["--help"]):
        result = invoke(*arguments)
        assert result.exit_code == 0
        assert "reproduce" in result.stdout
    for command in app.registered_commands:
        name = command.name
        shown = " ".join(invoke(name, "--help").stdout.split())
        assert f"Example: bayespoint {name}" in shown
        assert "Exit codes" in shown
    assert invoke("--version").stdout == f"bayespoint {__version__}\n"


LARGE = {"numpy", "scipy", "sklearn", "pandas", "numba", "matplotlib"}


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["--version"]])
def test_help_waits_for_no_large_library(arguments):
    script = (
        "import sys\nfrom bayespoint.cli import app\n"
        "try: app.run()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = run_python(script, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert LARGE.isdisjoint(done.stderr.split())


def test_names_in_help_are_those_that_there_are():
    assert options.ENGINES == recipe.ENGINE_NAMES
    assert options.KERNELS == recipe.KERNEL_NAMES
    assert tuple(STRATEGIES) == options.STRATEGIES
    assert tuple(EXPERIMENTS) == options.EXPERIMENTS


def test_progress_bar_moves():
    screen = io.StringIO()
    with ProgressMonitor("title", Console(file=screen, force_terminal=True, width=80)) as monitor:
        monitor.tell("fitting")
        monitor.begin(4, "samples")
        monitor.update(1.0)
        monitor._progress.refresh()
        assert "title: fitting" in screen.getvalue()
        assert "25%" in screen.getvalue()
        assert "0:00:00 left" in screen.getvalue()
        monitor.end()
        assert monitor._progress.finished  # there may be less to do than was expected
        assert not monitor.should_stop()

"""The command: what it prints, and how it ends."""

import inspect
import io
import json
import sys
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console
from tests.helpers.running import error_line, invoke, loans, run_python, write

from bayespoint import BayesPointClassifier, __version__, cli, save
from bayespoint.active.strategies import STRATEGIES
from bayespoint.cli import options
from bayespoint.cli.app import COMMANDS, EXIT_CODES, flat, flowing
from bayespoint.cli.output.errors import ExitCode
from bayespoint.cli.output.printing import ProgressMonitor
from bayespoint.engines.base import ENGINES
from bayespoint.kernels import NAMES

# info ------------------------------------------------------------------------------------------


def test_info_for_programs():
    result = invoke("info", "--json")
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    libraries = {"python", "bayespoint", "numpy", "scipy", "scikit-learn", "numba", "joblib"}
    assert facts["versions"].keys() == libraries
    assert all(facts["versions"].values())
    assert facts["blas"]
    assert facts["compiled_code"]


def test_info_for_people():
    result = invoke("info")
    assert result.exit_code == 0
    for words in (__version__, "BLAS", "compiled code"):
        assert words in result.stdout


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


# Mistakes, extras, help, progress --------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["trian"], ["--bogus"], ["info", "--jsom"]])
def test_mistakes_that_typer_finds(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bayespoint", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: No such ")
    command = "bayespoint info" if arguments[0] == "info" else "bayespoint"
    assert line.endswith(f"{'?' if 'Did you mean' in line else '.'} See {command} --help.")


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
        assert all(name in result.stdout for name in COMMANDS) and "<bool>" not in result.stdout
    for name, sentence in COMMANDS.items():
        function = name.replace("-", "_")
        module = import_module(f"bayespoint.cli.commands.{function}")
        assert flowing(getattr(module, function).__doc__).split("\n")[0] == sentence
        shown = " ".join(invoke(name, "--help").stdout.split())
        assert f"Example: bayespoint {name}" in shown
        assert "Exit codes" in shown and "<bool>" not in shown
        assert " ".join(invoke(name, "-h").stdout.split()) == shown
    assert invoke("--version").stdout == f"bayespoint {__version__}\n"


LARGE = {"numpy", "scipy", "sklearn", "pandas", "numba", "matplotlib"}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_room_for_words_on_a_narrow_terminal(name, monkeypatch):
    """At 80 columns: a range such as [0<=x<=4294967295] beside an option would leave 28."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    shown = invoke(name, "--help").stdout.splitlines()
    (line,) = [line for line in shown if "Show this message and exit" in line]
    assert line.index("Show") <= 50


@pytest.mark.parametrize(
    ("command", "option", "value", "most"),
    [
        ("train", "--seed", -1, 2**32 - 1),
        ("train", "--seed", 2**32, 2**32 - 1),
        ("label", "--port", 65536, 65535),
    ],
)
def test_numbers_out_of_range(command, option, value, most, tmp_path, monkeypatch, capsys):
    table = write(loans(), tmp_path / "loans.csv")
    more = ["--target", "repaid", "--model", tmp_path / "m.bpm"] if command == "train" else []
    arguments = [command, table, *more, option, value]
    monkeypatch.setattr(sys, "argv", ["bayespoint", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == ExitCode.USAGE
    assert f"'{option}': must be from 0 to {most}. See" in capsys.readouterr().err


EMPTY = [
    ["train", "--target", "", "--model", "m.bpm"],
    ["train-incremental", "--target", "", "--model", "m.bpm"],
    ["cross-validate", "--target", ""],
    ["suspects", "--target", ""],
    ["evaluate", "--target", "", "--model", "m.bpm"],
    ["label", "--target", "", "--classes", "a,b"],
    ["label", "--classes", ""],
    ["label", "--classes", "a,b", "--text", ""],
    ["train", "--target", "repaid", "--model", "m.bpm", "--drop", "age", "--drop", ""],
    ["train", "--target", "repaid", "--model", "m.bpm", "--group-column", ""],
    ["train", "--target", "repaid", "--model", "m.bpm", "--engine", ""],
]


@pytest.mark.parametrize("arguments", EMPTY, ids=" ".join)
def test_an_option_that_is_empty_is_named(arguments, tmp_path, monkeypatch, capsys):
    """As of a variable of a shell that is not set: --target "$TARGET"."""
    table = write(loans(), tmp_path / "loans.csv")
    name, *options = arguments
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["bayespoint", name, str(table), *options])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == ExitCode.USAGE
    empty = options[options.index("") - 1]
    line = f"error: Invalid value for '{empty}': must not be empty. See bayespoint {name} --help."
    assert capsys.readouterr().err.splitlines() == [line]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]
)
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


def test_names_in_help_are_those_of_the_library():
    assert ("auto", *sorted(ENGINES)) == options.ENGINE_NAMES
    updated = [name for name, engine in sorted(ENGINES.items()) if engine.can_update]
    assert (*updated,) == options.UPDATED_ENGINES
    kernels = [name for name, make in NAMES.items() if not make().is_precomputed]
    assert ("auto", *kernels) == options.KERNEL_NAMES
    assert (*STRATEGIES,) == options.STRATEGY_NAMES
    train, query = (invoke(name, "--help").stdout for name in ("train", "query"))
    assert all(name in train for name in ("auto", *ENGINES))
    assert all((name in train) == (name != "precomputed") for name in NAMES)
    assert all(name in query for name in STRATEGIES)


def test_groups_of_options():
    given = []

    def command(n: int, columns: options.Columns, *, output: options.RequiredOutput) -> None:
        given.append((n, columns, output))

    call = flat(command)
    names = ["n", "drop", "number", "category", "out", "for_spreadsheet", "force"]
    assert list(inspect.signature(call).parameters) == list(call.__annotations__) == names
    call(n=3, drop=["a"], number=None, category=[], out=Path("b"), for_spreadsheet=0, force=1)
    [(n, columns, output)] = given
    assert (n, vars(columns)) == (3, {"drop": ["a"], "number": [], "category": []})
    assert output == options.RequiredOutput(Path("b"), False, True)


def test_a_table_must_be_named():
    result = invoke("predict", "x", "--model", "m.bpm")
    assert result.exit_code == 2
    assert "Missing option '--out'" in result.stderr


def test_progress_bar_moves():
    screen = io.StringIO()
    with ProgressMonitor("title", Console(file=screen, force_terminal=True, width=80)) as monitor:
        monitor.tell("fitting")
        monitor.begin(4, "samples")
        monitor.update(1.0)
        monitor._progress.refresh()
        assert "title: fitting" in screen.getvalue()
        assert "25%" in screen.getvalue()
        monitor.end()
        assert monitor._progress.finished  # there may be less to do than was expected
        assert not monitor.should_stop()

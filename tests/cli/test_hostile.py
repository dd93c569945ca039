"""Names and contents of tables that attack the terminal, a spreadsheet or the command itself."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.model_files import forged, members
from tests.helpers.running import error_line, invoke, succeed, write

from bayespoint.cli.output.errors import printable
from bayespoint.cli.tables.writing import without_formula

EVIL = "\x1b[31mred\x07", "\x9b2J", "\u202egnp.exe", "a\rb"
FORMULA = "=cmd|' /C calc'!A0"


def table(labels, n=30):
    """A table whose classes and categories have these names."""
    rng = np.random.default_rng(0)
    which = rng.integers(len(labels), size=n)
    column = np.array(labels, dtype=object)[which]
    return pd.DataFrame({"x": rng.normal(size=n) + which, "word": column, "kind": column})


def train(frame, folder, *more):
    data = write(frame, folder / "data.csv")
    model = folder / "model.bpm"
    fit = ["--engine", "laplace", "--kernel", "linear"]
    return data, model, succeed("train", data, "--target", "kind", "--model", model, *fit, *more)


# Terminals ---------------------------------------------------------------------------------------


@given(st.text(st.characters()))  # surrogates included
def test_printable_text_controls_nothing(text):
    shown = printable(text)
    assert all(char == "\n" or char.isprintable() or char.isspace() for char in shown)
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in shown.replace("\n", ""))
    shown.encode("utf-8")
    if text.isprintable():
        assert shown == text


def test_escape_sequences_do_not_reach_the_terminal(tmp_path):
    data, model, trained = train(table(EVIL[:3]), tmp_path)
    shown = [
        trained,
        succeed("info", model),
        succeed("evaluate", data, "--model", model),
    ]
    shown.append(succeed("predict", data, "--model", model, "--out", tmp_path / "out.csv"))
    shown.append(invoke("train", data, "--target", EVIL[0], "--model", model, "--force"))
    for result in shown:
        assert "\\x1b[31mred\\x07" in result.output
        for evil in ("\x1b", "\x07", "\x9b", "\u202e"):
            assert evil not in result.output
    document = succeed("info", model, "--json").stdout
    assert document.isascii() and sorted(json.loads(document)["classes"]) == sorted(EVIL[:3])


# Spreadsheets ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", FORMULA])
def test_formulas_get_an_apostrophe(cell):
    assert without_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "a=1", "1", -1.5, 3, None, True])
def test_other_cells_stay(cell):
    assert without_formula(cell) == cell


def test_formulas_in_tables(tmp_path):
    data, model, _ = train(table([FORMULA, "fine"]).rename(columns={"word": "@word"}), tmp_path)
    out = tmp_path / "out.csv"
    command = ["predict", data, "--model", model, "--out", out, "--keep", "@word"]
    succeed(*command)
    rows = list(csv.reader(out.open(encoding="utf-8")))
    assert rows[0][:2] == ["@word", "label"] and FORMULA in {row[1] for row in rows}  # for programs
    succeed(*command, "--for-spreadsheet", "--force")
    rows = list(csv.reader(out.open(encoding="utf-8")))
    assert rows[0][:2] == ["'@word", "label"]
    assert {row[1] for row in rows[1:]} == {"'" + FORMULA, "fine"}
    numbers = [float(cell) for row in rows[1:] for cell in row[2:]]
    assert np.isfinite(numbers).all()
    attack = table([FORMULA, "fine"]).assign(kind=None).rename(columns={"word": "@word"})
    unlabelled = write(attack, tmp_path / "new.csv")
    command = ["query", unlabelled, "--model", model, "--n", "3", "--out", out]
    succeed(*command, "--for-spreadsheet", "--force")
    cells = [cell for row in csv.reader(out.open(encoding="utf-8")) for cell in row]
    assert not any(cell.startswith(("=", "@", "+")) for cell in cells)


# Outputs -----------------------------------------------------------------------------------------


def run(*arguments, shell_end="", **environment):
    """The command as a process, perhaps with a closed output."""
    words = [sys.executable, "-m", "bayespoint", *map(str, arguments)]
    command = ["sh", "-c", f'"$@" {shell_end}', "sh", *words] if shell_end else words
    variables = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, env=variables, check=False)


@pytest.fixture(scope="module")
def accented(tmp_path_factory):
    """A model whose classes an ASCII terminal cannot show."""
    folder = tmp_path_factory.mktemp("accented")
    data, model, _ = train(table(["süß", "日本"]), folder)
    return data, model


ASCII = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}


def test_ascii_output(accented, tmp_path):
    data, model = accented
    new = tmp_path / "new.bpm"
    done = run("train", data, "--target", "kind", "--model", new, "--engine", "laplace", **ASCII)
    assert done.returncode == 0, done.stderr
    assert rb"s\xfc\xdf" in done.stdout and done.stdout.isascii()
    done = run("predict", data, "--model", model, "--out", "-", **ASCII)
    assert done.returncode == 0, done.stderr
    assert "süß" in done.stdout.decode("utf-8")  # a table is UTF-8, whatever the terminal is
    done = run("info", model, "--json", **ASCII)
    assert list(json.loads(done.stdout)["classes"]) == ["süß", "日本"]


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_closed_and_full_outputs(accented):
    data, model = accented
    predict = ["predict", data, "--model", model, "--out", "-"]
    for command in (predict, ["info", model, "--json"]):
        done = run(*command, shell_end=">&-")
        assert done.returncode in (1, 2)
        assert b"error: " in done.stderr and b"closed" in done.stderr
        assert b"Traceback" not in done.stderr
    if os.path.exists("/dev/full"):
        for command in (predict, ["info", model], ["info", "--json"]):
            done = run(*command, shell_end="> /dev/full")
            assert done.returncode == 1, command
            assert done.stderr.count(b"error: ") == 1 and b"Traceback" not in done.stderr
        gone = ["predict", "gone.csv", "--model", model, "--out", "-"]
        for command, code in ((gone, 3), (["query"], 2), (predict, 0)):
            assert run(*command, shell_end="2> /dev/full").returncode == code, command


@pytest.mark.skipif(sys.platform != "linux", reason="needs file names that are any bytes")
def test_file_names_that_are_not_unicode(trained, tmp_path):
    data = os.path.join(os.fsencode(tmp_path), b"t\xff.csv")
    with open(data, "wb") as file:
        file.write((trained / "loans.csv").read_bytes())
    page = tmp_path / "page.html"
    model = trained / "loans.bpm"
    words = [
        sys.executable,
        "-m",
        "bayespoint",
        "evaluate",
        data,
        "--model",
        model,
        "--report",
        page,
    ]
    done = subprocess.run(words, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert r"t\udcff.csv" in page.read_text(encoding="utf-8")
    done = subprocess.run(
        [*words[:5], "--model", model, "--json"], capture_output=True, check=False
    )
    assert done.returncode == 0 and json.loads(done.stdout)


# Model files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "about",
    [
        3,
        "a",
        [],
        [1],
        True,
        {"kinds": 3},
        {"kinds": []},
        {"kinds": {"age": 1}},
        {"kinds": {"age": "word"}},
        {"kinds": {"age": "number"}, "target": 3},
        {"kinds": {"age": "number"}, "summary": []},
        {"kinds": {"age": "number"}, "summary": {"batches": "a"}},
        {"kinds": {"age": "number", "nowhere": "category"}, "target": "repaid"},
        {"kinds": {"age": "category"}, "target": "repaid", "summary": {}},
    ],
)
def test_descriptions_of_a_table_that_are_wrong(trained, tmp_path, about):
    contents = members((trained / "loans.bpm").read_bytes())
    manifest = json.loads(contents["manifest.json"])
    manifest["metadata"]["table"] = about
    model = tmp_path / "model.bpm"
    model.write_bytes(forged(contents, manifest))
    data, target = trained / "loans.csv", ["--target", "repaid"]
    commands = (
        ["predict", data, "--out", tmp_path / "out.csv"],
        ["evaluate", data],
        ["query", data],
        ["train-incremental", data, *target],
    )
    for command in commands:
        result = invoke(*command, "--model", model)
        assert result.exit_code in (1, 3), result.output
        error_line(result)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("columns", 3),
        ("columns", {"age": 3}),
        ("columns", {"age": {}}),
        ("columns", {"age": {"kind": "number", "rows": 3, "missing": 0, "edges": "a"}}),
        (
            "columns",
            {
                "age": {
                    "kind": "number",
                    "rows": 3,
                    "missing": 0,
                    "edges": [1, 2],
                    "counts": [1],
                    "mean": 1,
                    "deviation": 1,
                }
            },
        ),
        (
            "columns",
            {"city": {"kind": "category", "rows": "a", "missing": 0, "counts": {}, "other": 0}},
        ),
        ("notes", 3),
        ("baseline", 3),
        ("baseline", {"error": "a", "class": 3}),
        ("classes", {"a": "b"}),
        ("training_error", "a"),
    ],
)
def test_profiles_and_summaries_that_are_wrong(trained, tmp_path, part, value):
    contents = members((trained / "loans.bpm").read_bytes())
    manifest = json.loads(contents["manifest.json"])
    about = manifest["metadata"]["table"]
    (about if part == "columns" else about["summary"])[part] = value
    model = tmp_path / "model.bpm"
    model.write_bytes(forged(contents, manifest))
    result = invoke("info", model)
    assert result.exit_code in (1, 3), result.output
    error_line(result)
    for command in (["evaluate", trained / "new.csv", "--model", model], ["info", model]):
        result = invoke(*command)
        assert isinstance(result.exception, SystemExit | None), result.exception
        assert result.exit_code in (0, 1, 3), result.output


def test_a_model_that_does_not_fit_its_columns(trained, tmp_path):
    """Its table is said to have columns that it does not have."""
    contents = members((trained / "loans.bpm").read_bytes())
    manifest = json.loads(contents["manifest.json"])
    manifest["metadata"]["table"]["kinds"]["customer"] = "category"
    model = tmp_path / "model.bpm"
    model.write_bytes(forged(contents, manifest))
    result = invoke("predict", trained / "new.csv", "--model", model, "--out", tmp_path / "o.csv")
    assert result.exit_code == 3
    assert "does not work" in error_line(result)

"""Hostile commands: tables, names, options and outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.attack.judge import CLEAR, FINE, WRONG, Outcome, Slow, time_limit
from tests.helpers.running import invoke

SECONDS = 60  # of computing
LONGEST = 900  # seconds for a process of its own, on a busy machine
NAMES = [
    "a",
    "b c",
    "ü",
    "日本",
    "\x1b[31mred",
    "=cmd|' /C calc'!A0",
    "@x",
    "-1",
    "a" * 300,
    "x\ny",
    "",
    " ",
    "label",
    "p_1",
    "rejected",
    "row",
    "intercept",
    "1",
    "nan",
    "\u202egnp",
    "a,b",
    'q"uote',
    "\x00n",
]
CELLS = [
    "",
    "?",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "1e400",
    "1e308",
    "-1e-320",
    "0",
    "1",
    "2",
    "3.5",
    "1,5",
    "1.234,5",
    "True",
    "false",
    "x",
    "y",
    "z",
    "ü",
    "\x1b[2J",
    "=1+1",
    "+1",
    "@a",
    "2024-01-02",
    "a\nb",
    'q"',
    " ",
    "\t",
    "0x10",
    "1_000",
    "٣",
    "½",
    "\ufeff",
    "a" * 2000,
]
LABELS = [
    ["yes", "no"],
    ["0", "1"],
    ["1.5", "2.5"],
    ["a", "b", "c"],
    ["\x1b[31m", "\x9b2J"],
    ["=1", "@2"],
    ["", "x"],
    ["nan", "x"],
    ["only"],
    ["ß", "日本", "\u202ex"],
    [str(n) for n in range(40)],
    ["1", "1.0", "01"],
    ["True", "False"],
    ["x" * 500, "y"],
    ["'", '"'],
]
OPTIONS: list[list[str]] = [
    [],
    ["--json"],
    ["--json"],
    ["--engine", "laplace"],
    ["--engine", "perceptron"],
    ["--engine", "nothing"],
    ["--kernel", "rbf"],
    ["--kernel", "linear"],
    ["--kernel", "\x1b[1m"],
    ["--param", "noise=nan"],
    ["--param", "noise=1e400"],
    ["--param", "gamma=-1"],
    ["--param", "x"],
    ["--param", "=1"],
    ["--param", "degree=99999"],
    ["--seed", "-1"],
    ["--seed", "4294967295"],
    ["--jobs", "0"],
    ["--drop", "a"],
    ["--encoding", "latin-1"],
    ["--encoding", "utf-16"],
    ["--encoding", "klingon"],
    ["--n", "3"],
    ["--reject-rate", "0.5"],
    ["--reject-rate", "nan"],
    ["--reject-below", "2"],
    ["--max-error", "0.4"],
    ["--for-spreadsheet"],
    ["--keep", "a"],
    ["--strategy", "entropy"],
    ["--force"],
    ["--folds", "2"],
    ["--classes", "yes,no"],
    ["--confidence", "0.5"],
    ["--nonsense"],
    ["--target", "\x1b[0m"],
]
ENDS = [*[""] * 18, ">&-", "2>&-", "> /dev/full", "| head -c 5", "< /dev/null"]
ENVIRONMENTS: list[dict[str, str]] = [
    *[{}] * 20,
    {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    {"LC_ALL": "C", "PYTHONUTF8": "0"},
    {"PYTHONIOENCODING": "utf-16"},
    {"TERM": "dumb", "COLUMNS": "5"},
    {"COLUMNS": "0"},
]
COMMANDS = ["train", "predict", "evaluate", "query", "info", "cross-validate", "train-incremental"]


def pick(items: list, rng: np.random.Generator) -> Any:
    """One of them."""
    return items[rng.integers(len(items))]


def quoted(cell: str) -> str:
    """A cell of a CSV file."""
    return '"' + cell.replace('"', '""') + '"' if any(c in cell for c in ',"\n') else cell


def hostile_table(rng: np.random.Generator) -> bytes:
    """A table of a class column and some others, with odd names and cells."""
    n = int(rng.integers(1, 40)) if rng.random() < 0.3 else 30
    labels = pick(LABELS, rng)
    target = rng.integers(len(labels), size=n)
    heads, columns = ["kind", "a"], [[labels[k] for k in target], None]
    columns[1] = [f"{k + value:.3f}" for k, value in zip(target, rng.normal(size=n), strict=True)]
    for _ in range(rng.integers(4)):
        heads.append(pick(NAMES, rng))
        few = [pick(CELLS, rng) for _ in range(int(rng.integers(1, 6)))]
        columns.append([pick(few, rng) for _ in range(n)])
    rows = [heads, *zip(*columns, strict=True)]
    text = "\n".join(
        pick([",", ",", ",", ";", "\t"], np.random.default_rng(n)).join(map(quoted, row))
        for row in rows
    )
    data = text.encode("utf-8")
    odd = rng.integers(14)
    if odd == 0:
        data = text.encode("utf-16")
    elif odd == 1:
        data = text.encode("latin-1", "replace")
    elif odd == 2:
        data = data[: rng.integers(len(data))]
    elif odd == 3:
        data = rng.bytes(200)
    elif odd == 4:
        place = rng.integers(len(data))
        data = data[:place] + rng.bytes(3) + data[place:]
    elif odd == 5:
        data = b"\xef\xbb\xbf" + data
    return data


def arguments(command: str, data: bytes, folder: bytes, rng: np.random.Generator) -> list:
    """A command line."""
    model = os.path.join(folder, b"model.bpm")
    words: list = [command]
    alone = command == "info"
    words.append(model if alone else data)
    if command in ("train", "cross-validate", "train-incremental"):
        words += ["--target", "kind" if rng.random() < 0.9 else pick(NAMES, rng)]
        if rng.random() < 0.8:
            words += ["--engine", "laplace"]
    if command != "cross-validate" and not alone:
        words += ["--model", model]
    if command == "predict":
        out = pick(
            [b"-", b"out.csv", b"o\xff.csv", b"out.csv.gz", b"none/out.csv", b"out.txt"], rng
        )
        words += ["--out", out if out == b"-" else os.path.join(folder, out)]
    if command == "evaluate" and rng.random() < 0.3:
        words += ["--report", os.path.join(folder, b"page.html")]
    for _ in range(rng.integers(3)):
        words += pick(OPTIONS, rng)
    return words


def attack(kind: str, seed: int) -> tuple[str, Outcome]:
    """A model that is trained on one table, and a command on another, as a process each."""
    rng = np.random.default_rng([seed, 99])
    with tempfile.TemporaryDirectory() as place:
        folder = os.fsencode(place)
        data = os.path.join(
            folder, pick([b"t.csv", b"t.csv", b"t\xff.csv", b"\xc3\xbc \x1b.csv"], rng)
        )
        Path(os.fsdecode(data)).write_bytes(hostile_table(rng))
        command = pick(COMMANDS, rng)
        if command not in ("train", "cross-validate", "train-incremental"):
            fit = ["train", data, "--target", "kind", "--model", os.path.join(folder, b"model.bpm")]
            run([*fit, "--engine", "laplace", "--kernel", "linear"], "", {})
            if rng.random() < 0.5:
                Path(os.fsdecode(data)).write_bytes(hostile_table(rng))
        words = arguments(command, data, folder, rng)
        end, environment = pick(ENDS, rng), pick(ENVIRONMENTS, rng)
        name = f"{[os.fsdecode(word)[-40:] for word in words]!a} {end} {environment}"
        done = run(words, end, environment)
        return name, judge(done, "--json" in words and not end, "head" in end)


def run(words: list, end: str, environment: dict[str, str]) -> subprocess.CompletedProcess | None:
    """What came of a command, in this process if that is possible; None if it took too long."""
    if not end and not environment:
        try:
            with time_limit(SECONDS):
                result = invoke(*map(os.fsdecode, words))
        except Slow:
            return None
        said = result.stderr_bytes
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            said += b"Traceback: " + repr(result.exception).encode("utf-8", "replace")
        return subprocess.CompletedProcess(words, result.exit_code, result.stdout_bytes, said)
    passed = [os.fsencode(word).replace(b"\0", b"\1") for word in words]  # no system passes a null
    command = [sys.executable, "-m", "bayespoint", *passed]
    if end:
        command = ["bash", "-o", "pipefail", "-c", f'"$@" {end}', "bash", *command]
    variables = {**os.environ, **environment}
    try:
        return subprocess.run(
            command, capture_output=True, env=variables, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return None


def judge(done: subprocess.CompletedProcess | None, is_json: bool, is_cut: bool) -> Outcome:
    """Whether the command ended as it promises; without a word where nobody reads on."""
    if done is None:
        return Outcome(WRONG, f"more than {SECONDS} s")
    said, printed = done.stderr, done.stdout
    if b"Traceback" in said or b"Traceback" in printed:
        return Outcome(WRONG, f"traceback: {said[-300:]!r}")
    if any(byte in said for byte in (b"\x1b", b"\x07", b"\x9b2J")):
        return Outcome(WRONG, f"control characters on standard error: {said[-200:]!r}")
    if done.returncode in (1, 2, 3, 4, 5):
        n_errors = sum(line.startswith(b"error: ") for line in without_utf16(said).splitlines())
        closed = not said or is_cut or said.startswith(b"Usage: ")  # in this process
        if n_errors == 1 or closed:
            return Outcome(
                CLEAR, without_utf16(said).splitlines()[-1].decode(errors="replace") if said else ""
            )
        return Outcome(WRONG, f"{n_errors} error lines, exit {done.returncode}: {said[-200:]!r}")
    if done.returncode != 0:
        return Outcome(WRONG, f"exit code {done.returncode}: {said[-200:]!r}")
    if is_json:
        try:
            json.loads(printed)
        except ValueError:
            return Outcome(WRONG, f"no JSON: {printed[:100]!r}")
    return Outcome(FINE)


def without_utf16(text: bytes) -> bytes:
    """The same in one byte a letter, for comparisons."""
    return text.replace(b"\x00", b"").replace(b"\xff\xfe", b"")

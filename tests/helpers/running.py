"""Running the command in tests, and small tables for it."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from bayespoint.cli.app import app


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeed(*arguments):
    """The result of a command that ends well."""
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result


def ask_json(*arguments):
    """What a command tells programs: standard output is JSON, and standard error empty."""
    result = succeed(*arguments, "--json")
    assert result.stderr == ""
    return json.loads(result.stdout)


def error_line(result):
    """The one line on standard error that says what is wrong."""
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, result.output
    assert "Traceback" not in result.output
    return lines[0]


def loans(n=60, seed=0):
    """A table with columns of all kinds, and some missing values."""
    rng = np.random.default_rng(seed)
    age = rng.normal(45, 12, n).round(1)
    city = rng.choice(["Berlin", "Kiel", "Potsdam"], n)
    member = rng.random(n) < 0.5
    output = (age - 45) / 12 + 1.5 * (city == "Berlin") - 0.5 + member + 0.5 * rng.normal(size=n)
    table = pd.DataFrame(
        {
            "customer": [f"c{seed}-{i}" for i in range(n)],
            "joined": pd.date_range("2024-02-27", periods=n).strftime("%Y-%m-%d"),
            "age": age,
            "city": city,
            "member": member,
            "country": "DE",
            "repaid": np.where(output > 0.5, "yes", "no"),
        }
    )
    table.loc[[3, 5], "age"] = np.nan
    table.loc[7, "city"] = np.nan
    return table


def write(table, path):
    table.to_csv(path, index=False)
    return path


def run_python(script, *arguments, **environment):
    """Run a script in a new interpreter."""
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def train(folder, *options, table=None):
    """The path of a model of loans, or of another table."""
    data = write(loans() if table is None else table, folder / "data.csv")
    succeed("train", data, "--target", "repaid", "--model", folder / "m.bpm", *options)
    return folder / "m.bpm"

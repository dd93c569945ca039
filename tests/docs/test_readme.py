"""The README's commands print what it says; for its Python see ``test_pages.py``."""

import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from bayespoint.cli.app import app

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")
NUMBER = re.compile(r"-?\d+\.?\d*")


def test_commands(tmp_path, monkeypatch):
    (block,) = re.findall(r"```sh\n(python -c.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    make_tables, *commands = (shlex.split(line) for line in block[0].splitlines())
    exec(make_tables[-1], {})
    printed = ""
    for name, *arguments in commands:
        assert name == "bayespoint"
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        printed += result.stdout
    # The words of every line are there, with nearly its numbers.
    lines = {words(line): numbers(line) for line in printed.splitlines()}
    for line in block[1].splitlines():
        np.testing.assert_allclose(lines[words(line)], numbers(line), rtol=0.02, atol=2e-3)
    answers = pd.read_csv("answers.csv")
    assert list(answers) == ["label", "p_benign", "p_malignant", "rejected"]
    assert answers["rejected"].mean() == pytest.approx(0.05, abs=0.005)


def words(line):
    return " ".join(NUMBER.sub("#", line).split())


def numbers(line):
    return np.array(NUMBER.findall(line), float)


def test_install_lines_agree():
    """The same two lines in README, front page and getting started; extras that exist."""
    root = README.parent
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    known = set(extras["project"]["optional-dependencies"])
    lines = re.compile(r"^pip install .*$", re.MULTILINE)
    pages = [README, root / "docs" / "index.md", root / "docs" / "getting-started.md"]
    (first, *others) = [lines.findall(page.read_text(encoding="utf-8")) for page in pages]
    assert len(first) == 2
    assert all(one == first for one in others)
    on_pypi = lines.findall((root / "docs" / "pypi.md").read_text(encoding="utf-8"))
    for here, there in zip(first, on_pypi, strict=True):
        assert (
            here.replace(" .", " bayespoint").replace('".', '"bayespoint').split() == there.split()
        )
    for path in [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("src/**/*.py")]:
        for names in re.findall(r"pip install \W*[\w.]*\[([\w,]+)\]", path.read_text("utf-8")):
            assert set(names.split(",")) - {"rare"} <= known, path

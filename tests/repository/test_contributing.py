"""What CONTRIBUTING.md says of the code is true: files, methods, rooms and lists."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "bayespoint"
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
CODE = re.compile(r"`([^`]+)`")
DATA = {"uci/*.csv"}  # of the data folder, which is elsewhere
PATH = re.compile(r"[\w.-]+(/[\w.*-]*)+|[\w.-]+\.(py|md|cu|css|js|toml|txt)|Makefile")


def tables(text):
    """Every table of a page: its header, and its rows of cells."""
    found, rows = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split(" | ")])
        elif rows:
            found.append((rows[0], rows[2:]))
            rows = []
    return found


def table(*header):
    """The rows of the table with this header."""
    (rows,) = [rows for names, rows in tables(TEXT) if names == list(header)]
    return rows


def paths(cell):
    """The paths among the words in code style."""
    return [word for word in CODE.findall(cell) if PATH.fullmatch(word)]


def exists(path):
    """Whether a path of the package, or else of the repository, is there; it may have a star."""
    return any(any(folder.glob(path.rstrip("/"))) for folder in (PACKAGE, ROOT))


def module_of(path):
    parts = Path(path.removesuffix("/").removesuffix(".py")).parts
    return importlib.import_module(".".join(("bayespoint", *parts)))


@pytest.mark.parametrize("path", sorted(set(paths(TEXT)) - DATA))
def test_paths_exist(path):
    assert exists(path), f"CONTRIBUTING.md names {path}, which does not exist"


@pytest.mark.parametrize("row", table("class", "where", "methods"), ids=lambda row: row[0])
def test_verbs_are_methods(row):
    names, where, methods = row
    module = module_of(paths(where)[0])
    cls = getattr(module, CODE.findall(names)[0])
    for method in CODE.findall(methods):
        fields = getattr(cls, "__dataclass_fields__", {})
        assert hasattr(cls, method) or method in fields, f"{cls.__name__} has no {method}"


def test_every_room_has_a_row():
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name[:2] != "__"}
    rows = table("room", "what it holds")
    assert {CODE.findall(row[0])[0].removesuffix("/") for row in rows} == rooms


@pytest.mark.parametrize("row", table("list", "where", "who reads it"), ids=lambda row: row[0])
def test_lists_are_there(row):
    name, (where,) = CODE.findall(row[0])[0], paths(row[1])
    source = PACKAGE / where if (PACKAGE / where).exists() else ROOT / where
    tree = ast.parse(source.read_text())
    nodes = [node for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
    names = {
        ast.unparse(target)
        for node in nodes
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    }
    assert name in names, f"{where} defines no {name}"


def test_what_to_change_where():
    """Each row names at least one file that is there, and every test file that it names is."""
    rows = table("to change", "edit", "tests")
    assert len(rows) >= 20
    for change, edit, tests in rows:
        assert paths(edit), f"no file for: {change}"
        assert all(path.startswith("tests/") for path in paths(tests)) and paths(tests), change


def test_a_wrong_path_is_seen():
    assert exists("engines/base.py") and exists("tests/repository/")
    assert not exists("engines/nowhere.py")
    assert paths("edit `kernels/nowhere.py`, then `run`") == ["kernels/nowhere.py"]

"""Everything public is documented, and the documentation builds without a warning."""

import doctest
import importlib
import inspect
import re
import shutil
import subprocess
import sys
from dataclasses import is_dataclass
from pathlib import Path
from pkgutil import iter_modules

import pytest

import bayespoint

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "sphinx",
    "myst_parser",
    "numpydoc",
    "pydata_sphinx_theme",
    "sphinx_gallery",
    "sphinx-mathjax-offline",
)
API, EXTENDING, STABILITY = (
    (ROOT / "docs" / "api" / f"{page}.md").read_text(encoding="utf-8")
    for page in ("index", "extending", "stability")
)


def rooms():
    """The package, and its modules that say what is public in them."""
    names = [f"bayespoint.{module.name}" for module in iter_modules(bayespoint.__path__)]
    modules = [bayespoint, *map(importlib.import_module, sorted(names))]
    return [module for module in modules if hasattr(module, "__all__")]


PUBLIC = {
    f"{room.__name__}.{name}": getattr(room, name)
    for room in rooms()
    for name in room.__all__
    if inspect.isclass(getattr(room, name)) or inspect.isfunction(getattr(room, name))
}


def listed(page):
    """The names that a page of the API documents."""
    found = re.findall(r"currentmodule:: (\S+)\n.*?\n\n(.*?)```", page, re.DOTALL)
    return [f"{room}.{name}" for room, names in found for name in names.split()]


def mark(name):
    """What may change of a public name, if it is marked."""
    room, _, last = name.rpartition(".")
    thing = getattr(importlib.import_module(room), last)
    return getattr(thing, "__dict__", {}).get("__unstable__")


def test_the_rooms():
    assert {"bayespoint", "bayespoint.engines", "bayespoint.reject"} <= {
        r.__name__ for r in rooms()
    }
    assert len(PUBLIC) > 60


def test_api_lists_what_is_public():
    names = listed(API) + listed(EXTENDING)
    assert set(PUBLIC) - set(names) == set(), "add these to a page of docs/api"
    assert len(names) == len(set(names))


def test_the_page_on_stability_names_what_is_marked():
    marked = {name: mark(name) for name in listed(API) if mark(name)}
    assert dict(re.findall(r"\| `(bayespoint\S+)` \| (.*?) \|", STABILITY)) == marked
    assert {"bayespoint.engines.Engine", "bayespoint.kernels.Kernel"} <= {
        name for name in listed(EXTENDING) if mark(name)
    }


def sections(thing):
    """The docstring's parts, as numpydoc reads them."""
    docscrape = pytest.importorskip("numpydoc.docscrape", reason="numpydoc is not installed")
    return docscrape.get_doc_object(
        thing, doc=inspect.getdoc(thing), config={"show_class_members": False}
    )


def names(section):
    """The names that a section explains."""
    return [name.strip().lstrip("*") for entry in section for name in entry.name.split(",")]


def parameters(thing):
    """The names of the parameters; an error without a constructor of its own has none."""
    if inspect.isclass(thing) and issubclass(thing, Exception) and "__init__" not in vars(thing):
        return []
    return list(inspect.signature(thing).parameters)


def fields_are_attributes(thing):
    """Records and errors keep what they are given, and may explain it among their attributes."""
    return inspect.isclass(thing) and (
        is_dataclass(thing) or issubclass(thing, tuple) or issubclass(thing, Exception)
    )


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring_of(name):
    thing = PUBLIC[name]
    doc = sections(thing)
    assert len(doc["Summary"]) == 1, "a summary is one line"
    explained = doc["Parameters"]
    if not explained and fields_are_attributes(thing):
        explained = doc["Attributes"]
    assert names(explained) == parameters(thing)
    if inspect.isfunction(thing):
        returns = inspect.signature(thing).return_annotation
        assert bool(doc["Returns"]) == (returns not in (None, "None"))
    found = doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")
    assert any(example.want for example in found), "an example that shows what comes out"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_gallery_compiles(path):
    code = path.read_text(encoding="utf-8")
    compile(code, path.name, "exec")
    title, line = code.splitlines()[1:3]
    assert re.fullmatch("=+", line) and len(line) >= len(title), "a title, underlined"


def test_pages_build_without_warnings(tmp_path):
    """All but the run of the gallery, which is left to ``make docs``."""
    for package in PACKAGES:
        pytest.importorskip(package, reason='pip install "bayespoint[docs]"')
    source = tmp_path / "docs"
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-n",
        "-q",
        "-D",
        "plot_gallery=0",
        str(source),
        str(tmp_path / "built"),
    ]
    copy_sources(source)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def copy_sources(folder):
    """The pages and what they include, away from what other builds have left."""
    built = shutil.ignore_patterns("_build", "gallery", "generated", "__pycache__")
    shutil.copytree(ROOT / "docs", folder, ignore=built)
    shutil.copytree(ROOT / "examples", folder.parent / "examples")
    for path in ROOT.glob("*.md"):
        shutil.copy(path, folder.parent)

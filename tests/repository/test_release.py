"""A release: the checks, and what has to be the same in several files."""

import importlib
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from bayespoint import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
OURS = "{}.{}".format(*sys.version_info)


@pytest.fixture
def tools(monkeypatch):
    """The programs in tools/, which import each other."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("check_release")


@pytest.fixture
def release(tools, tmp_path):
    """A wheel and a source archive with empty files of the right names."""
    wheel = tmp_path / f"bayespoint-{__version__}-py3-none-any.whl"
    package = ROOT / "src"
    names = [
        p.relative_to(package).as_posix() for p in package.rglob("*") if p.suffix in tools.KINDS
    ]
    names += [f"bayespoint-{__version__}.dist-info/{name}" for name in tools.INFO]
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    sources = tmp_path / f"bayespoint-{__version__}.tar.gz"
    with tarfile.open(sources, "w:gz") as archive:
        for name in [*tools.MUST_BE_IN_SOURCES, "papers/data/heart.csv.gz"]:
            archive.addfile(tarfile.TarInfo(f"bayespoint-{__version__}/{name}"))
    return tools.Release(wheel, sources, PROJECT, None, [])


def test_the_list_of_checks(tools):
    """RELEASING.md and the program name the same checks."""
    table = (ROOT / "RELEASING.md").read_text(encoding="utf-8").partition("|---|---|\n")[2]
    rows = table.partition("\n\n")[0].splitlines()
    assert [row.split("|")[1].strip() for row in rows] == list(tools.checks(PROJECT))


def test_checks_pass(tools, release):
    assert tools.check_version(release) == f"{__version__} everywhere"
    assert "files in the wheel" in tools.check_contents(release)
    assert "MB" in tools.check_size(release)


@pytest.mark.parametrize("name", ["tests/test_x.py", "papers/base.py", "bayespoint/data/heart.csv"])
def test_what_a_wheel_must_not_have(tools, release, name):
    with zipfile.ZipFile(release.wheel, "a") as archive:
        archive.writestr(name, "")
    with pytest.raises(tools.FailedError, match=f"must not have {name}"):
        tools.check_contents(release)


def test_data_without_a_licence(tools, release):
    with tarfile.open(release.sources, "w:gz") as archive:
        for name in [*tools.MUST_BE_IN_SOURCES, "papers/data/other.csv.gz"]:
            archive.addfile(tarfile.TarInfo(f"bayespoint-{__version__}/{name}"))
    with pytest.raises(tools.FailedError, match=r"no licence \['papers/data/other.csv.gz'\]"):
        tools.check_contents(release)


def test_too_large(tools, release, monkeypatch):
    monkeypatch.setitem(tools.LARGEST, ".whl", 0.0)
    with pytest.raises(tools.FailedError, match=r"0\.0 are the most"):
        tools.check_size(release)


def test_another_tag(tools, release):
    with pytest.raises(tools.FailedError, match=r"unreleased|the tag has 0\.0\.1"):
        tools.check_version(release._replace(tag="v0.0.1"))


def test_interpreters(tools):
    assert tools.find_python(OURS, [])
    with pytest.raises(tools.SkippedError, match=r"no Python 3\.99 here"):
        tools.find_python("3.99", [sys.executable, "/nowhere/python"])


def test_lowest_versions(tools):
    project = {
        "name": "x",
        "dependencies": ["numpy>=2.0"],
        "optional-dependencies": {
            "cli": ["typer>=0.16"],
            "all": ["x[cli]", "dask[array]>=2025.1; python_version > '3'"],
            "dev": ["ruff"],
        },
    }
    expected = ["dask==2025.1; python_version > '3'", "numpy==2.0", "typer==0.16"]
    assert tools.lowest(project) == expected
    project["dependencies"] = ["numpy"]
    with pytest.raises(ValueError, match="no lowest version"):
        tools.lowest(project)
    assert len(tools.lowest(PROJECT)) > 10


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ModuleNotFoundError("No module named 'rich'", name="rich.table"), True),
        (ImportError("A plot needs matplotlib: pip install 'bayespoint[plot]'"), True),
        (ImportError("load_iris with as_frame=True requires pandas."), True),
        (ModuleNotFoundError("No module named 'papers'", name="papers"), False),
        (ImportError("cannot import name 'dask' from 'bayespoint'", name="bayespoint"), False),
        (ValueError("pandas"), False),
    ],
)
@pytest.mark.usefixtures("tools")
def test_imports_that_may_fail(error, expected):
    """In a bare environment: those of extras, and not those of files that the wheel lacks."""
    assert importlib.import_module("check_wheel").needs_extra(error) == expected


# Files that say the same -----------------------------------------------------------------------


def test_versions_of_python(tools):
    """Classifiers, the lowest version, and the versions that workflows use."""
    supported = tools.versions(PROJECT)
    assert PROJECT["requires-python"] == f">={supported[0]}"
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    matrix = re.search(r"^ +python: \[(.*)\]$", workflow, re.MULTILINE)
    assert re.findall(r"3\.\d+", matrix[1]) == supported
    publish = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^ +(3\.\d+)$", publish, re.MULTILINE)) == supported


def test_the_conda_recipe():
    """It requires what the package and its command require, in the same version."""
    assert f'\n  version: "{__version__}"\n' in RECIPE
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in RECIPE
    required = re.findall(
        r"^    - ([\w-]+) (>=[\d.]+)$", RECIPE.partition("  run:")[2], re.MULTILINE
    )
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["cli"]]
    assert ["".join(parts) for parts in required] == wanted
    assert PROJECT["description"] in RECIPE

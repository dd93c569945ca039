"""Check the wheel and the source archive in dist/, as the table of RELEASING.md says.

    python tools/check_release.py                # what can be checked on this computer
    python tools/check_release.py --tag v1.0.0   # before publishing: nothing may be skipped

The checks run one after another, each in environments of its own below .venv-release, and all of
them run even if one fails. Exit status: 0 all passed or were skipped, 1 some failed (with --tag:
or were skipped), 2 there is nothing to check.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from lowest_versions import lowest

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".venv-release"
BIN = "Scripts" if os.name == "nt" else "bin"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
MEGABYTE = 1_000_000
LARGEST = {".whl": 1.0, ".gz": 3.0}  # megabytes; 0.74 and 1.9 at version 1.0
KINDS = {".py", ".typed", ".css", ".html", ".js", ".svg", ".cu"}  # files of the package
INFO = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
MUST_BE_IN_SOURCES = ("pyproject.toml", "LICENSE", "README.md", "docs/pypi.md", "tests/conftest.py")


class FailedError(Exception):
    """A check that failed, with the reason."""


class SkippedError(Exception):
    """A check that cannot run here, with the reason."""


class Release(NamedTuple):
    """What is checked."""

    wheel: Path
    sources: Path
    project: dict[str, Any]  # the table of that name in pyproject.toml
    tag: str | None
    pythons: list[str]  # interpreters that were named

    @property
    def version(self) -> str:
        """The version in the name of the wheel."""
        return self.wheel.name.split("-")[1]


# Checks ----------------------------------------------------------------------------------------


def check_version(release: Release) -> str:
    """One version everywhere; a tag also needs a changelog that is finished."""
    version = release.version
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+) \((.*)\)$", changelog, re.MULTILINE)
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    found = {
        "the source archive": release.sources.name.split("-")[1].removesuffix(".tar.gz"),
        "CHANGELOG.md": newest[1] if newest else "none",
        "recipe/recipe.yaml": "".join(re.findall(r'^  version: "(.*)"$', recipe, re.MULTILINE)),
        "CITATION.cff": "".join(re.findall(r"^version: (.*)$", citation, re.MULTILINE)),
    }
    if release.tag is not None:
        found["the tag"] = release.tag.removeprefix("v")
        if newest and newest[2] == "unreleased":
            raise FailedError("CHANGELOG.md calls it unreleased: write the date")
    wrong = [f"{place} has {other}" for place, other in found.items() if other != version]
    if wrong:
        raise FailedError(f"the wheel has version {version}, but " + ", ".join(wrong))
    return f"{version} everywhere"


def check_metadata(release: Release) -> str:
    """Twine accepts both files, as the index would."""
    python = environment("tools", sys.executable, "twine")
    run(python, "-m", "twine", "check", "--strict", str(release.wheel), str(release.sources))
    return "accepted by twine"


def check_contents(release: Release) -> str:
    """The wheel has the package and nothing else; the source archive what is needed to build it."""
    with zipfile.ZipFile(release.wheel) as archive:
        names = set(archive.namelist())
    info = f"bayespoint-{release.version}.dist-info/"
    expected = {f"{info}{name}" for name in INFO}
    package = ROOT / "src" / "bayespoint"
    for path in package.rglob("*"):
        if path.suffix in KINDS:
            expected.add(f"bayespoint/{path.relative_to(package).as_posix()}")
    compare("the wheel", names, expected)
    with tarfile.open(release.sources) as tar:
        files = {name.partition("/")[2] for name in tar.getnames()}
    missing = [name for name in MUST_BE_IN_SOURCES if name not in files]
    # Data come with their origin and licence, and in the source archive only.
    kinds = (".csv", ".gz", ".npz", ".parquet")
    own = "docs/results/"  # what our programs measured
    data = {name for name in files if name.endswith(kinds) and not name.startswith(own)}
    stated = (ROOT / "papers" / "data" / "ATTRIBUTION.md").read_text(encoding="utf-8")
    unknown = [name for name in sorted(data) if f"`{Path(name).name}`" not in stated]
    if missing or unknown:
        raise FailedError(f"the source archive lacks {missing}, has data of no licence {unknown}")
    return f"{len(names)} files in the wheel, {len(files)} in the source archive"


def check_size(release: Release) -> str:
    """Neither file is larger than expected."""
    sizes = []
    for path in (release.wheel, release.sources):
        size, most = path.stat().st_size / MEGABYTE, LARGEST[path.suffix]
        if size > most:
            raise FailedError(f"{path.name} has {size:.2f} MB, {most} are the most")
        sizes.append(f"{size:.2f} MB")
    return f"wheel {sizes[0]}, source archive {sizes[1]}"


def check_recipe(_: Release) -> str:
    """rattler-build reads and renders the conda recipe."""
    try:
        python = environment("conda", sys.executable, "py-rattler-build")
    except FailedError as error:
        raise SkippedError(f"rattler-build cannot be installed: {error}") from error
    script = (
        "import sys, rattler_build as r; "
        "print(len(r.Stage0Recipe.from_file(sys.argv[1]).render(r.VariantConfig())))"
    )
    count = run(python, "-c", script, str(ROOT / "recipe" / "recipe.yaml")).strip()
    if count != "1":
        raise FailedError(f"the recipe makes {count} packages instead of one")
    return "rendered; not built"


def check_python(release: Release, version: str) -> str:
    """The doctests of the wheel pass in an environment with nothing else."""
    interpreter = find_python(version, release.pythons)
    return doctests(
        environment(version, interpreter, "-c", str(ROOT / "constraints.txt"), str(release.wheel))
    )


def check_lowest(release: Release) -> str:
    """The same with the lowest versions of what the package requires, on the oldest Python."""
    interpreter = find_python(versions(release.project)[0], release.pythons)
    FOLDER.mkdir(exist_ok=True)
    constraints = FOLDER / "lowest.txt"
    constraints.write_text("\n".join(lowest(release.project)) + "\n", encoding="utf-8")
    return doctests(environment("lowest", interpreter, "-c", str(constraints), str(release.wheel)))


def checks(project: dict[str, Any]) -> dict[str, Callable[[Release], str]]:
    """All checks by their names in RELEASING.md."""
    bare = {
        f"Python {version}": lambda release, version=version: check_python(release, version)
        for version in versions(project)
    }
    return {
        "version": check_version,
        "metadata": check_metadata,
        "contents": check_contents,
        "size": check_size,
        "recipe": check_recipe,
        **bare,
        "lowest versions": check_lowest,
    }


# Tools -----------------------------------------------------------------------------------------


def versions(project: dict[str, Any]) -> list[str]:
    """The versions of Python that the classifiers name, such as 3.11, in their order."""
    pattern = re.compile(r"Programming Language :: Python :: (3\.\d+)")
    return [match[1] for match in map(pattern.fullmatch, project["classifiers"]) if match]


def find_python(version: str, named: Iterable[str]) -> str:
    """An interpreter of this version: one that was named, on the path, or of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    installed = sorted(pyenv.glob(f"{version}.*/{BIN}/python*"))
    question = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    candidates = [*named, f"python{version}", sys.executable, *map(str, installed)]
    for candidate in filter(None, map(shutil.which, candidates)):
        command = [candidate, "-c", question]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == version:
            return candidate
    raise SkippedError(f"there is no Python {version} here")


def environment(name: str, interpreter: str, *packages: str) -> str:
    """Make an environment with these packages and return its interpreter."""
    folder = FOLDER / name
    run(interpreter, "-m", "venv", "--clear", str(folder))
    python = str(folder / BIN / "python")
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    run(python, "-m", "pip", "install", *quiet, *packages)
    return python


def doctests(python: str) -> str:
    """Run the doctests of the installed wheel and return their last line."""
    output = run(python, str(ROOT / "tools" / "check_wheel.py"), **ONE_THREAD)
    return output.strip().splitlines()[-1].partition(": ")[2]


def run(*command: str, **variables: str) -> str:
    """What a command prints; an error if it fails. It does not see what PYTHONPATH names."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=FOLDER.parent,
        env={**inherited, **variables},
    )
    if done.returncode:
        raise FailedError(f"{' '.join(command)}\n{done.stdout.strip()}")
    return done.stdout


def compare(place: str, found: set[str], expected: set[str]) -> None:
    """Raise an error unless the names are those that are expected."""
    reasons = []
    if more := sorted(found - expected):
        reasons.append(f"{place} must not have {', '.join(more)}")
    if less := sorted(expected - found):
        reasons.append(f"{place} lacks {', '.join(less)}")
    if reasons:
        raise FailedError("; ".join(reasons))


def main() -> int:
    """Run all checks and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", help="the tag that is published, such as v1.0.0")
    parser.add_argument("--pythons", nargs="*", default=[], help="interpreters to use")
    options = parser.parse_args()
    wheels, archives = (sorted((ROOT / "dist").glob(kind)) for kind in ("*.whl", "*.tar.gz"))
    if len(wheels) != 1 or len(archives) != 1:
        print("error: dist/ must have one wheel and one source archive: run make build")
        return 2
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    release = Release(wheels[0], archives[0], project, options.tag or None, options.pythons)
    bad = {"failed"} if release.tag is None else {"failed", "skipped"}
    outcomes = []
    for name, check in checks(project).items():
        start = time.monotonic()
        try:
            outcome, text = "passed", check(release)
        except FailedError as error:
            outcome, text = "failed", str(error)
        except SkippedError as error:
            outcome, text = "skipped", str(error)
        outcomes.append(outcome)
        print(f"{outcome:8}{name:16}{time.monotonic() - start:5.0f} s  {text}", flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    return 1 if bad.intersection(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())

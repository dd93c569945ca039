"""Run the doctests of the installed package, as someone gets it who installs the wheel.

    python tools/check_wheel.py

Only the package and what it requires need be installed. Modules and examples that need a library
of an extra are counted and passed over; other imports that fail, such as those of a module that the
wheel lacks, are failures. Exit status: 0 all passed, 1 some failed, 2 the package is
imported from a source tree.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import sys
from collections import Counter
from importlib.metadata import requires
from pathlib import Path
from types import ModuleType

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PASSED, FAILED, SKIPPED = "passed", "failed", "need an extra"
MODULES = {"pillow": "PIL", "cuda-core": "cuda"}  # where the module has another name


def of_extras() -> set[str]:
    """Names of the modules that only extras bring."""
    optional = [one for one in requires("bayespoint") or () if "extra ==" in one]
    names = {re.split(r"[^\w-]", requirement)[0] for requirement in optional} - {"bayespoint"}
    return {MODULES.get(name, name) for name in names}


def needs_extra(error: BaseException | None) -> bool:
    """Whether an error says that a library of an extra is missing."""
    if not isinstance(error, ImportError) or (error.name or "").startswith("bayespoint"):
        return False
    words = {*re.findall(r"[\w-]+", str(error)), *(error.name or "").split(".")}
    return not words.isdisjoint(of_extras())


def modules(package: ModuleType) -> list[str]:
    """Names of the package and of all its modules, apart from the one that runs the command."""
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=lambda _: None)
    return [package.__name__, *(one.name for one in found if not one.name.endswith("__main__"))]


def run(test: doctest.DocTest) -> tuple[str, str]:
    """What became of one docstring's examples, and why."""
    try:
        doctest.DebugRunner(optionflags=FLAGS).run(test)
    except doctest.UnexpectedException as error:
        reason = error.exc_info[1]
        return SKIPPED if needs_extra(reason) else FAILED, repr(reason)
    except doctest.DocTestFailure as error:
        return FAILED, f"expected {error.example.want!r}, got {error.got!r}"
    return PASSED, ""


def main() -> int:
    """Run all examples and print how many passed."""
    package = importlib.import_module("bayespoint")
    place = Path(str(package.__file__)).parent
    if (place.parents[1] / "pyproject.toml").is_file():
        print(f"error: {place} is a source tree. Install the wheel, and run this elsewhere.")
        return 2
    counts: Counter[str] = Counter()
    for name in modules(package):
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            counts[SKIPPED if needs_extra(error) else FAILED] += 1
            print(f"{name}: {error}")
            continue
        for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
            if test.examples:
                outcome, why = run(test)
                counts[outcome] += 1
                if outcome != PASSED:
                    print(f"{test.name}: {outcome}: {why}")
    print(f"{place}: " + ", ".join(f"{counts[one]} {one}" for one in (PASSED, FAILED, SKIPPED)))
    return 1 if counts[FAILED] or not counts[PASSED] else 0


if __name__ == "__main__":
    sys.exit(main())

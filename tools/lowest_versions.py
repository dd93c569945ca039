"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

    python tools/lowest_versions.py > lowest.txt
    python -m pip install -c lowest.txt dist/*.whl

``numpy>=2.0`` becomes ``numpy==2.0``: of what the package requires, and of the extras for users.
The packages that only developers need (``dev``, ``docs``, ``downstream``) stay free, and so do the
packages that pip adds by itself.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
FOR_DEVELOPERS = {"dev", "docs", "downstream"}
# name, extras in brackets, the lowest version, and a marker
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)\s*(;.*)?")


def lowest(project: dict) -> list[str]:
    """Constraints such as ``numpy==2.0``, sorted, for a parsed pyproject.toml."""
    wanted = list(project["dependencies"])
    for extra, requirements in project["optional-dependencies"].items():
        if extra not in FOR_DEVELOPERS:
            wanted += requirements
    found = set()
    for requirement in wanted:
        if requirement.startswith(f"{project['name']}["):
            continue  # an extra that contains another one
        parts = REQUIREMENT.fullmatch(requirement)
        if parts is None:
            raise ValueError(f"{requirement!r} in pyproject.toml has no lowest version: write >=")
        name, version, marker = parts.groups()
        found.add(f"{name}=={version}{marker or ''}")
    return sorted(found)


def main() -> int:
    """Print them."""
    print("\n".join(lowest(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Check that no Python file is too long to be read at one sitting.

    python tools/check_length.py FOLDER...

Prints ``file: message`` for each that is longer than ``LONGEST``. Exit status: 0 none, 1 some,
2 not a folder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

LONGEST = 400  # lines


def check(folders: Iterable[Path]) -> list[str]:
    """Return ``file: message`` for each file of the folders that is too long."""
    problems = []
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        n_lines = len(path.read_bytes().splitlines())
        if n_lines > LONGEST:
            problems.append(f"{path}: {n_lines} lines; split it, {LONGEST} are the most")
    return problems


def main(arguments: list[str]) -> int:
    """Run the check as a command and return its exit status."""
    folders = [Path(argument) for argument in arguments]
    if not folders or not all(folder.is_dir() for folder in folders):
        print("usage: check_length.py FOLDER...", file=sys.stderr)
        return 2
    problems = check(folders)
    print("\n".join(problems) if problems else f"lengths: no file over {LONGEST} lines")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

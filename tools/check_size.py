"""Check that the package stays small enough to hold in one's head.

    python tools/check_size.py src/bayespoint

Counts lines of code (docstrings, comments and blank lines apart) by room, and the rooms. Exit
status: 0 within the limits, 1 beyond, 2 not a package folder.
"""

from __future__ import annotations

import sys
import tokenize
from collections import Counter
from pathlib import Path

MOST_LINES = 27_000  # of code, in the whole package; the plan is 26 000 with all that is open
MOST_ROOMS = 20  # files and folders at the top of the package, __init__ and __main__ apart

LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(path: Path) -> int:
    """Number of lines of a file that hold code: a string that is a statement is a docstring."""
    lines: set[int] = set()
    before = tokenize.NEWLINE
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            is_docstring = token.type == tokenize.STRING and before in LAYOUT
            if token.type not in LAYOUT and not is_docstring:
                lines.update(range(token.start[0], token.end[0] + 1))
            before = token.type
    return len(lines)


def rooms(package: Path) -> Counter[str]:
    """Lines of code of each file or folder at the top of the package."""
    sizes: Counter[str] = Counter()
    for path in sorted(package.iterdir()):
        if path.name.startswith("__"):
            continue
        files = path.rglob("*.py") if path.is_dir() else [path] if path.suffix == ".py" else []
        sizes[path.name] = sum(map(code_lines, files))
    return sizes


def main(arguments: list[str]) -> int:
    """Run the check as a command and return its exit status."""
    package = Path(arguments[0]) if len(arguments) == 1 else Path()
    if not (package / "__init__.py").is_file():
        print("usage: check_size.py FOLDER, the folder of the package", file=sys.stderr)
        return 2
    sizes = rooms(package)
    total = sum(sizes.values()) + sum(map(code_lines, package.glob("__*.py")))
    fits = total <= MOST_LINES and len(sizes) <= MOST_ROOMS
    if not fits:
        print("\n".join(f"{size:7d} {room}" for room, size in sizes.items()))
    print(
        f"size: {total} lines of code (at most {MOST_LINES}) in {len(sizes)} rooms "
        f"(at most {MOST_ROOMS})"
    )
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

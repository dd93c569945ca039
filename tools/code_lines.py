"""Count the lines of code of the package, by room.

    python tools/code_lines.py src/bayespoint

Counted are all lines but blank ones, comments and docstrings, which the syntax tree tells apart.
Nothing is refused: clear code may be longer.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(tree: ast.AST) -> Iterator[ast.stmt]:
    """The statements that are docstrings, of the module, its classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            yield node.body[0]


def code_lines(source: str) -> int:
    """Number of lines of a file that hold code."""
    lines = source.splitlines()
    documentation = {
        line
        for text in docstrings(ast.parse(source))
        for line in range(text.lineno, (text.end_lineno or text.lineno) + 1)
    }
    return sum(is_code(line) for n, line in enumerate(lines, 1) if n not in documentation)


def is_code(line: str) -> bool:
    """Whether a line is neither blank nor a comment."""
    return bool(line.strip()) and not line.lstrip().startswith("#")


def rooms(package: Path) -> Counter[str]:
    """Lines of code of each file or folder at the top of the package."""
    sizes: Counter[str] = Counter()
    for path in sorted(package.rglob("*.py")):
        sizes[path.relative_to(package).parts[0]] += code_lines(path.read_text(encoding="utf-8"))
    return sizes


def main(arguments: list[str]) -> int:
    """Print the lines of each room and of all together."""
    package = Path(arguments[0]) if len(arguments) == 1 else Path()
    if not package.is_dir() or not any(package.rglob("*.py")):
        print("usage: code_lines.py FOLDER, a folder with Python files", file=sys.stderr)
        return 2
    sizes = rooms(package)
    print("\n".join(f"{size:7d} {room}" for room, size in sizes.most_common()))
    print(f"{sizes.total():7d} lines of code")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

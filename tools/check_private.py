"""Check that no file of the package uses a private name of another file.

    python tools/check_private.py src/bayespoint

A name with a leading underscore belongs to the file that defines it: methods and attributes of a
class that is defined there, and names of the module. ``self._name`` and ``super()._name`` may be
inherited. Prints ``file:line: message`` for each violation. Exit status: 0 none, 1 some, 2 not a
folder.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

# Public methods and attributes of named tuples, and the folder of compiled code.
PUBLIC = {"_asdict", "_core", "_fields", "_make", "_replace"}
# What other libraries ask for, as (file, name).
ALLOWED = {("tools/monitor.py", "_init_callback_context")}  # how scikit-learn's callbacks begin


def is_private(name: str) -> bool:
    """Whether a name is private to a file."""
    return name.startswith("_") and not name.endswith("__") and name not in PUBLIC and name != "_"


def defined(tree: ast.AST) -> set[str]:
    """All names that a file defines: functions, classes, variables and attributes."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def is_own(base: ast.expr) -> bool:
    """Whether an attribute is one of the object itself: of ``self``, ``cls`` or ``super()``."""
    if isinstance(base, ast.Call):
        return isinstance(base.func, ast.Name) and base.func.id == "super"
    return isinstance(base, ast.Name) and base.id in ("self", "cls")


def violations(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a file, and the private names of others that they use."""
    tree = ast.parse(path.read_bytes(), filename=str(path))
    own = defined(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if node.attr not in own and not is_own(node.value):
                yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if is_private(alias.name):
                    yield node.lineno, alias.name


def check(package: Path) -> list[str]:
    """Return ``file:line: message`` for each violation in the package folder."""
    return [
        f"{path}:{line}: {name} is private to another file"
        for path in sorted(package.rglob("*.py"))
        for line, name in sorted(violations(path))
        if (path.relative_to(package).as_posix(), name) not in ALLOWED
    ]


def main(arguments: list[str]) -> int:
    """Run the check as a command and return its exit status."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: check_private.py FOLDER, the folder of the package", file=sys.stderr)
        return 2
    problems = check(Path(arguments[0]))
    print("\n".join(problems) if problems else "private names: all stay in their files")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

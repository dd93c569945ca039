"""Check the import directions of the package: down the layers only.

    python tools/check_imports.py src/bayespoint

Every import statement counts, wherever it stands: at the top, in a function, under
``TYPE_CHECKING``; so does ``import_module("a literal")``. Prints ``file:line: message`` for each
violation. Exit status: 0 none, 1 some, 2 not a package folder.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "bayespoint"

# Top to bottom. A room (one file or folder of the package) may import the rooms of lower lines.
LAYERS = (
    ("cli", "reports", "testing"),
    ("storage",),
    ("reject", "active", "selection"),
    ("classifier",),
    ("rows",),
    ("engines",),
    ("posteriors", "likelihoods", "codings"),
    ("spaces", "gpu", "kernels"),
    ("_core",),
)
# Within one layer, who may import whom.
SIDEWAYS = {
    "cli": {"reports"},
    "posteriors": {"codings", "likelihoods"},
    "codings": {"likelihoods"},
    "gpu": {"kernels"},
    "spaces": {"gpu", "kernels"},
}
# Anyone may import these; they import nothing of the package but each other.
LEAVES = {"exceptions", "tools"}
# The package itself and `python -m`: above all layers.
ROOT = {"__init__", "__main__"}
# What is beside the package in the repository, and not in the wheel.
BESIDE = {"papers", "tests", "tools", "benchmarks", "examples"}
# Libraries that a room must not know.
FORBIDDEN = {"_core": {"sklearn"}}
# Private names of other libraries that may be imported, as "library.module._name". Keep it empty.
PRIVATE_ALLOWED: frozenset[str] = frozenset()

DEPTH = {room: depth for depth, layer in enumerate(LAYERS) for room in layer}


def is_private(dotted: str) -> bool:
    """Whether a part of the dotted name has a leading underscore (``__future__`` has not)."""
    return any(part.startswith("_") and not part.endswith("__") for part in dotted.split("."))


def imported(tree: ast.AST, parent: str) -> Iterator[tuple[int, str]]:
    """Yield (line, absolute dotted name) of all that a module imports.

    ``parent`` is the dotted package that relative imports of this module start from.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = absolute("." * node.level + (node.module or ""), parent)
            for alias in node.names:
                yield node.lineno, base if alias.name == "*" else f"{base}.{alias.name}"
        elif isinstance(node, ast.Call) and node.args:
            called = getattr(node.func, "attr", getattr(node.func, "id", None))
            first = node.args[0]
            if called in {"import_module", "__import__"} and isinstance(first, ast.Constant):
                yield node.lineno, absolute(str(first.value), parent)


def absolute(name: str, parent: str) -> str:
    """Resolve leading dots against the package ``parent``."""
    bare = name.lstrip(".")
    level = len(name) - len(bare)
    if level == 0:
        return bare
    above = parent.split(".")
    return ".".join([*above[: len(above) - level + 1], *filter(None, [bare])])


def private_attributes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of private attributes reached through an imported library."""
    libraries: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                libraries[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                libraries[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    libraries = {name: full for name, full in libraries.items() if full.split(".")[0] != PACKAGE}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            path, inner = [node.attr], node.value
            while isinstance(inner, ast.Attribute):
                path, inner = [inner.attr, *path], inner.value
            if isinstance(inner, ast.Name) and inner.id in libraries:
                yield node.lineno, ".".join([libraries[inner.id], *path])


def complaint(room: str, target: str) -> str | None:
    """Say what is wrong when ``room`` imports the room ``target``; None when nothing is."""
    if room in ROOT or target == room or target in LEAVES:
        return None
    if room in LEAVES:
        return f"{room} is a leaf: it must import nothing of {PACKAGE} but leaves, not {target}"
    if target in ROOT:
        if DEPTH[room] == 0:
            return None
        return f"{room} must not import from {PACKAGE} itself: import from the room that defines it"
    if target not in DEPTH:
        return f"{PACKAGE}.{target} is in no layer: put it in a layer of {Path(__file__).name}"
    if DEPTH[target] < DEPTH[room]:
        return f"{room} must not import {target}: imports go down only"
    if DEPTH[target] == DEPTH[room] and target not in SIDEWAYS.get(room, ()):
        return f"{room} must not import {target}: same layer, and not declared in SIDEWAYS"
    return None


def check_file(path: Path, package: Path, rooms: set[str]) -> Iterator[tuple[int, str]]:
    """Yield (line, message) for each violation in one file."""
    inside = path.relative_to(package)
    room = inside.parts[0].removesuffix(".py")
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except SyntaxError as error:
        yield error.lineno or 1, f"syntax error: {error.msg}"
        return

    for line, name in imported(tree, parent=".".join([PACKAGE, *inside.parts[:-1]])):
        library, *rest = name.split(".")
        if library == PACKAGE:
            # `import bayespoint.x` and `from bayespoint import x` name a room, or else the root.
            target = rest[0] if rest and rest[0] in rooms | DEPTH.keys() | LEAVES else "__init__"
            message = complaint(room, target)
            if message:
                yield line, message
        else:
            if library in BESIDE:
                yield line, f"{library} is beside the package: {PACKAGE} must not import it"
            if library in FORBIDDEN.get(room, ()):
                yield line, f"{room} must not import {library}"
            if is_private(name) and name not in PRIVATE_ALLOWED:
                yield line, f"{name} is private to {library}"
    for line, name in private_attributes(tree):
        if name not in PRIVATE_ALLOWED:
            yield line, f"{name} is private to {name.split('.')[0]}"


def check(package: Path) -> list[str]:
    """Return ``file:line: message`` for each violation in the package folder."""
    files = sorted(package.rglob("*.py"))
    rooms = {path.relative_to(package).parts[0].removesuffix(".py") for path in files}
    problems = []
    for path in files:
        room = path.relative_to(package).parts[0].removesuffix(".py")
        if room in DEPTH or room in LEAVES or room in ROOT:
            found = sorted(set(check_file(path, package, rooms)))
        else:
            found = [(1, f"{room} is in no layer: put it in a layer of {Path(__file__).name}")]
        problems += [f"{path}:{line}: {message}" for line, message in found]
    return problems


def main(arguments: list[str]) -> int:
    """Run the check as a command and return its exit status."""
    if len(arguments) != 1 or not Path(arguments[0], "__init__.py").is_file():
        print("usage: check_imports.py FOLDER, the folder of the package", file=sys.stderr)
        return 2
    problems = check(Path(arguments[0]))
    print("\n".join(problems) if problems else "imports: directions are right")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Codings, likelihoods and engines are plugs: elsewhere, code asks what they can, not their names.

A subclass with another name, or a new coding, then works as what it derives from.
"""

import ast
from pathlib import Path

import pytest

from bayespoint.codings import CODINGS
from bayespoint.engines.base import ENGINES

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "bayespoint"
ROOMS = ("codings", "likelihoods")  # where codings and likelihoods are at home
NAMES = {*CODINGS, *ENGINES}


def compared_names(source):
    """Lines in which a name of a coding or an alias of an engine is compared.

    Values of the parameter ``multi_class`` are what users write, and may be.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare):
            continue
        sides = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
        attributes = {part.attr for part in sides if isinstance(part, ast.Attribute)}
        constants = {part.value for part in sides if isinstance(part, ast.Constant)}
        owners = {
            part.value.id if isinstance(part.value, ast.Name) else getattr(part.value, "attr", "")
            for part in sides
            if isinstance(part, ast.Attribute) and part.attr == "name"
        }
        of_coding = any("coding" in owner.lower() for owner in owners)
        is_given = attributes == {"multi_class"} or "multi_class" in {
            part.id for part in sides if isinstance(part, ast.Name)
        }
        if "alias" in attributes or of_coding or (constants & NAMES and not is_given):
            found.append(node.lineno)
    return found


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_no_name_is_compared(path):
    place = path.relative_to(PACKAGE)
    if place.parts[0] in ROOMS or place.as_posix() == "engines/base.py":  # has the lists
        return
    assert compared_names(path.read_text()) == [], "ask for what a coding or an engine can do"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('if engine.alias == "mine":\n    pass', [1]),
        ("x = 1\ny = engine.alias in CONVERGING", [2]),
        ('is_joint = request.kind2 == "joint"', [1]),
        ('is_task = problem.coding.name in ("binary", "one_vs_rest")', [1]),
        ("problem.name == OrdinalCoding.name", [1]),
        ('is_joint = problem.coding.kind == "class"', []),
        ('parameters.multi_class not in ("auto", "one_vs_rest")', []),
    ],
)
def test_what_counts(source, lines):
    assert compared_names(source) == lines

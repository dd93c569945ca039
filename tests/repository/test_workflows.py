"""Workflows, forms and settings of services are valid, safe, and call make targets that exist."""

import importlib.util
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
pytestmark = pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="not in a clone")

spec = importlib.util.spec_from_file_location("check_workflows", ROOT / "tools/check_workflows.py")
check_workflows = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_workflows)


def test_this_repository():
    assert not check_workflows.unknown_targets(ROOT)
    assert not check_workflows.problems_of_files(ROOT)


@pytest.fixture
def copy(tmp_path):
    """Everything that is checked, to be damaged."""
    shutil.copytree(ROOT / ".github", tmp_path / ".github")
    for name in (".readthedocs.yaml", "CITATION.cff", "Makefile"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


DAMAGES = [  # file, what is right, what is put there, a word of the complaint
    (".github/workflows/docs.yml", "runs-on:", "run-on:", "run-on"),
    (".github/workflows/lint.yml", "timeout-minutes: 20", "name: x", "timeout-minutes"),
    (".github/workflows/lint.yml", r"checkout@\w+", "checkout@v6", "unpinned-uses"),
    (".github/workflows/tests.yml", r'"\$PACKAGES"', "${{ github.head_ref }}", "injection"),
    (".github/ISSUE_TEMPLATE/bug.yml", "type: textarea", "type: text", "textarea"),
    (".github/dependabot.yml", "interval: monthly", "interval: never", "never"),
    (".readthedocs.yaml", "version: 2", "version: two", "two"),
    ("CITATION.cff", "type: software", "type: program", "program"),
]


def test_what_is_not_allowed(copy):
    for name, right, wrong, _ in DAMAGES:
        path = copy / name
        text, count = re.subn(right, wrong, path.read_text(encoding="utf-8"))
        assert count
        path.write_text(text, encoding="utf-8")
    found = "\n".join(check_workflows.problems_of_files(copy))
    assert not [problem for *_, problem in DAMAGES if problem not in found]


def test_targets(tmp_path):
    (tmp_path / "Makefile").write_text("test: x  ## Tests\n\techo\n\ntest-all:\n\techo\n")
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    (folder / "a.yml").write_text('- run: make PYTHON=python test\n- run: make A="b c" tests\n')
    (tmp_path / "README.md").write_text(
        "We make sure that `make test-all` and `make X=1 no` run.\n"
    )
    assert check_workflows.unknown_targets(tmp_path) == [
        f"{Path('.github', 'workflows', 'a.yml')}:2: make tests is no target",
        "README.md:1: make no is no target",
    ]

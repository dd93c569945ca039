"""Check what only runs on other people's computers: workflows, forms, settings of services.

    python tools/check_workflows.py

Every file must follow the schema of the service that reads it (check-jsonschema, which has copies
of the schemas), workflows must be safe (zizmor), and every ``make`` target that is called must
exist. Nothing is loaded from a network. Exit status: 0 all is right, 1 something is wrong.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = {
    "vendor.github-workflows": ".github/workflows/*.yml",
    "custom.github-workflows-require-timeout": ".github/workflows/*.yml",
    "vendor.github-issue-forms": ".github/ISSUE_TEMPLATE/[!c]*.yml",
    "vendor.github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "vendor.dependabot": ".github/dependabot.yml",
    "vendor.readthedocs": ".readthedocs.yaml",
    "vendor.citation-file-format": "CITATION.cff",
}
CALLERS = (".github/**/*.yml", ".github/*.md", ".*.yaml", ".ci/*", "*.md", "docs/**/*.md")
# A command, or code in a text: make PYTHON=python test
CALL = re.compile(
    r"(?:^|run: |entry: |- |`)make((?: \w+=(?:\"[^\"]*\"|\S+))*) ([a-z][a-z-]*)", re.M
)
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)


def unknown_targets(root: Path) -> list[str]:
    """Calls of make targets that the Makefile does not have, each with its file and line."""
    known = set(TARGET.findall((root / "Makefile").read_text(encoding="utf-8")))
    wrong = []
    for path in sorted({path for pattern in CALLERS for path in root.glob(pattern)}):
        text = path.read_text(encoding="utf-8")
        for call in CALL.finditer(text):
            if call[2] not in known:
                line = text.count("\n", 0, call.start()) + 1
                wrong.append(f"{path.relative_to(root)}:{line}: make {call[2]} is no target")
    return wrong


def problems_of_files(root: Path) -> list[str]:
    """What the linters say."""
    # CITATION.cff is YAML under another name.
    validate = [sys.executable, "-m", "check_jsonschema", "--default-filetype", "yaml"]
    commands = [
        [*validate, "--builtin-schema", schema, *map(str, sorted(root.glob(files)))]
        for schema, files in SCHEMAS.items()
    ]
    zizmor = Path(sys.executable).with_name("zizmor")  # a program, not a module
    commands.append([str(zizmor), "--offline", "--quiet", str(root / ".github")])
    found = []
    for command in commands:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode:
            found.append(done.stdout.strip())
    return found


def main() -> int:
    """Print what is wrong."""
    problems = [*unknown_targets(ROOT), *problems_of_files(ROOT)]
    print("\n".join(problems) if problems else "workflows and settings: all is right")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""The tests that are found are the same in every process, which share them by their names."""

import os
import subprocess
import sys

import pytest


def test_bytes_are_numbered(request):
    hook = request.config.hook.pytest_make_parametrize_id
    ids = [hook(config=request.config, val=b, argname="content") for b in (b"\x1f\x8b", b"PK")]
    assert ids == ["content", "content"]


def test_names_are_equal_in_another_process(request):
    """Later, and with sets in another order. Doctests have the names of modules: they are equal."""
    root = request.config.rootpath
    here = [
        item.nodeid for item in request.session.items if item.path.is_relative_to(root / "tests")
    ]
    files = sorted({name.partition("::")[0] for name in here})
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    options = ["-q", "--collect-only", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command = [sys.executable, "-m", "pytest", *options, *files]
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    there = {line for line in done.stdout.splitlines() if "::" in line}
    changed = [name for name in here if name not in there]
    assert not changed


@pytest.mark.parametrize("content", [b"PK\x03", b"BZh"])
def test_an_id_of_bytes(request, content):
    assert request.node.callspec.id in ("content0", "content1")

"""What ``import bayespoint`` gives."""

import subprocess
import sys

import pytest

import bayespoint
from bayespoint import PARTS

WITHOUT_EXTRAS = """
import sys
for name in ("matplotlib", "pandas", "typer", "rich", "pyarrow", "PIL", "onnx"):
    sys.modules[name] = None
import bayespoint
assert "numpy" not in sys.modules
for name in dir(bayespoint):
    getattr(bayespoint, name)
"""


def test_parts_are_attributes_that_need_no_extra():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(dir(bayespoint)) == {*bayespoint.__all__, *PARTS}


def test_what_is_not_there():
    with pytest.raises(AttributeError, match="module 'bayespoint' has no attribute 'SVC'"):
        bayespoint.SVC  # noqa: B018

"""Imports go down the layers only, and `import bayespoint` is light."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKER = ROOT / "tools" / "check_imports.py"

spec = importlib.util.spec_from_file_location("check_imports", CHECKER)
check_imports = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_imports)


# The checker -----------------------------------------------------------------------------------


def violations(folder, files):
    """Write a made-up package (relative path -> source), check it, return the messages."""
    package = folder / "bayespoint"
    for name, source in {"__init__.py": "", **files}.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return [problem.removeprefix(f"{package}{os.sep}") for problem in check_imports.check(package)]


def test_this_package_keeps_its_layers():
    problems = check_imports.check(ROOT / "src" / "bayespoint")
    assert not problems, "\n".join(problems)


def test_what_is_allowed(tmp_path):
    assert not violations(
        tmp_path,
        {
            "__init__.py": "from .cli import main\nfrom .classifier import C\n",
            "__main__.py": "from .cli import main\n",
            "cli.py": "from bayespoint import __version__, reports\n",
            "testing/__init__.py": "from ..tools import plots\nfrom . import one\n",
            "testing/one.py": "from .two import x\n",
            "testing/two.py": "import bayespoint.classifier.estimator as c\n",
            "reports.py": "from .tools import plots\nfrom .reject import rejection_curve\n",
            "storage/__init__.py": "from ..reject import S\nfrom ..tools.version import v\n",
            "reject.py": "from .classifier import C\n",
            "classifier.py": "from .engines.perceptron import P\nfrom .exceptions import E\n",
            "engines/__init__.py": "from .perceptron import P\n",
            "engines/perceptron.py": "from bayespoint._core import loops\n",
            "spaces.py": "from .kernels import rbf\nimport sklearn.base\n",
            "kernels.py": "import numpy as np\nnp.exp(self._gamma)\nnp.__version__\n",
            "_core/__init__.py": "",
            "_core/loops.py": "import numba\nfrom ..tools.monitor import M\nfrom . import _jit\n",
            "_core/_jit.py": "",
            "exceptions.py": "class E(Exception): ...\n",
            "tools/monitor.py": "from ..exceptions import E\n",
            "tools/plots.py": "def f():\n    import matplotlib.pyplot as plt\n",
            "tools/version.py": "",
        },
    )


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        # Up, in every way of writing it.
        ("kernels.py", "from bayespoint.engines import P", "kernels must not import engines"),
        ("kernels.py", "from .engines import P", "kernels must not import engines"),
        ("kernels.py", "from . import engines", "kernels must not import engines"),
        ("kernels.py", "import bayespoint.engines.x as e", "kernels must not import engines"),
        ("engines/a.py", "from ..classifier import C", "engines must not import classifier"),
        ("engines/a.py", "from .. import classifier", "engines must not import classifier"),
        ("cli.py", "from papers import EXPERIMENTS", "papers is beside the package"),
        ("cli.py", "def f():\n    import tests.x", "tests is beside the package"),
        ("_core/a.py", "from ..kernels import rbf", "_core must not import kernels"),
        # Late: in a function, for the type checker, by name.
        ("posteriors.py", "def f():\n    from .engines import P", "posteriors must not import"),
        ("posteriors.py", "if TYPE_CHECKING:\n    from .engines import P", "posteriors must not"),
        ("posteriors.py", "import_module('bayespoint.engines')", "posteriors must not import"),
        ("posteriors.py", "il.import_module('.engines', __package__)", "posteriors must not"),
        # Sideways.
        ("kernels.py", "from .spaces import DualSpace", "kernels must not import spaces"),
        ("active.py", "from .reject import S", "active must not import reject"),
        ("reject.py", "from .storage import save", "reject must not import storage"),
        ("storage.py", "from .cli import main", "storage must not import cli"),
        ("testing.py", "from .reports import measure", "testing must not import reports"),
        ("reports.py", "from .cli import main", "reports must not import cli"),
        # Through the package itself.
        ("engines/a.py", "from bayespoint import BayesPointClassifier", "bayespoint itself"),
        ("engines/a.py", "import bayespoint", "bayespoint itself"),
        ("engines/a.py", "from .. import __version__", "bayespoint itself"),
        # Leaves.
        ("exceptions.py", "from .kernels import rbf", "exceptions is a leaf"),
        ("tools/monitor.py", "import bayespoint", "tools is a leaf"),
        # Other libraries.
        ("_core/a.py", "def f():\n    from sklearn.utils import x", "must not import sklearn"),
        ("kernels.py", "from sklearn.utils import _x", "sklearn.utils._x is private to sklearn"),
        ("kernels.py", "from sklearn._loss import x", "sklearn._loss.x is private to sklearn"),
        ("kernels.py", "import scipy._lib.x", "scipy._lib.x is private to scipy"),
        ("kernels.py", "import sklearn as s\ns.utils._x", "sklearn.utils._x is private to sklearn"),
        ("kernels.py", "from sklearn import utils\nutils._x.y", "sklearn.utils._x is private"),
        ("cli.py", "import_module('sklearn._loss')", "sklearn._loss is private to sklearn"),
        # Files that have no place, or no sense.
        ("helpers.py", "", "helpers is in no layer: put it in a layer"),
        ("misc/deep/a.py", "", "misc is in no layer: put it in a layer"),
        ("kernels.py", "def", "syntax error"),
    ],
)
def test_what_is_not_allowed(tmp_path, name, source, message):
    found = violations(tmp_path, {name: source})
    assert len(found) == 1, found
    line = len(source.splitlines()) or 1
    assert found[0].startswith(f"{Path(name)}:{line}: ")
    assert message in found[0]


def test_command(tmp_path):
    def run(*arguments):
        command = [sys.executable, str(CHECKER), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    violations(tmp_path / "right", {"kernels.py": ""})
    violations(tmp_path / "wrong", {"kernels.py": "\nimport bayespoint.cli\n"})
    assert run(tmp_path / "right" / "bayespoint")[0] == 0
    status, output = run(tmp_path / "wrong" / "bayespoint")
    assert status == 1
    assert f"{Path('bayespoint', 'kernels.py')}:2: kernels must not import cli" in output
    assert run(tmp_path / "nowhere")[0] == 2


# The package -----------------------------------------------------------------------------------


def in_fresh_python(script):
    """Run a script in a new interpreter on this tree, return what it prints as JSON."""
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_import_needs_no_extra_and_no_compiler():
    # scikit-learn itself loads pandas and rich where it finds them, so it is not enough to look
    # at sys.modules: refuse these libraries, and note which modules ask for them.
    askers = in_fresh_python(
        """
import json, sys

class Refuse:
    askers = []
    def find_spec(self, name, path=None, target=None):
        if name in {"matplotlib", "typer", "rich", "pandas", "numba", "llvmlite"}:
            frame = sys._getframe(1)
            while "importlib" in frame.f_code.co_filename:
                frame = frame.f_back
            self.askers.append([frame.f_globals["__name__"], name])
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
import bayespoint
print(json.dumps(Refuse.askers))
"""
    )
    assert not [asked for asked in askers if asked[0].split(".")[0] == "bayespoint"]


def test_import_is_light():
    # The budget is 0.3 s on top of scikit-learn. A module costs about 1 ms (scikit-learn: 1410
    # modules in 1.3 s), so 200 modules stay within it; numba alone would be 190.
    added = in_fresh_python(
        """
import json, sys
import sklearn
before = set(sys.modules)
import bayespoint
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    )
    assert "bayespoint" in added
    assert not {"numba", "llvmlite", "matplotlib", "typer"}.intersection(added)
    assert len(added) < 200, added

"""Compiled code on disk: never older than its source, and no reason to fail."""

import ast
import gc
import importlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numba
import pytest

import bayespoint
from bayespoint._core import compiler
from bayespoint._core.compiler import compiled
from bayespoint.tools.monitor import Monitor, watch

PACKAGE = Path(bayespoint.__file__).parent
CALLEE = """
from bayespoint._core.compiler import compiled

TIMES = 2


@compiled
def value(x):
    return x + 1
"""
CALLER = """
from bayespoint._core.compiler import compiled
from {package}.{module} import (
    {names},
)


@compiled
def {function}(x):
    return {value}
"""
CALL = """
from bayespoint._core.outer import outer
print(outer(1.0), sum(outer.stats.cache_hits.values()))
"""


def write_files(folder, package):
    """Write outer.py, which calls inner.py, which calls callee.py."""
    inner = ("inner", "callee", "TIMES,\n    value", "TIMES * value(x)")
    outer = ("outer", "inner", "inner", "inner(x)")
    folder.joinpath("callee.py").write_text(CALLEE)
    for function, module, names, value in (inner, outer):
        parts = {"function": function, "module": module, "names": names, "value": value}
        text = CALLER.format(**parts, package=package)
        folder.joinpath(f"{function}.py").write_text(text)


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


# A copy of the package, in processes of its own ---------------------------------------------------


@pytest.fixture
def copy(tmp_path):
    """The folder of the compiled layer in a copy of the package, with three files more."""
    core = tmp_path / "copy" / "bayespoint" / "_core"
    shutil.copytree(PACKAGE, core.parent, ignore=shutil.ignore_patterns("__pycache__", "data"))
    write_files(core, "bayespoint._core")
    return core


def start(core):
    """Start a process that calls the function of outer.py."""
    environment = {**os.environ, "PYTHONPATH": str(core.parent.parent), "NUMBA_CACHE_DIR": ""}
    command = [sys.executable, "-c", CALL]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=environment, **pipes)


def end(process):
    """Return what outer.py made of 1, and how many functions were on disk."""
    printed, errors = process.communicate()
    assert process.returncode == 0, errors
    result, hits = printed.split()
    return float(result), int(hits)


def test_a_changed_callee_changes_the_caller_in_the_package(copy):
    assert end(start(copy)) == (4, 0)
    edit(copy / "callee.py", "x + 1", "x + 2")
    assert end(start(copy)) == (6, 0)


def test_processes_that_compile_at_once(copy):
    processes = [start(copy) for _ in range(2)]
    assert [end(process)[0] for process in processes] == [4, 4]
    assert end(start(copy)) == (4, 1)


# A folder of loops that is loaded again and again in this process ---------------------------------


class Loops:
    """A package of three files that can be loaded anew."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder / "loops"
        self.folder.mkdir()
        write_files(self.folder, "loops")
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it knows whole seconds only
        monkeypatch.setattr(numba.config, "CACHE_DIR", "")

    def edit(self, old, new):
        edit(self.folder / "callee.py", old, new)

    def call(self):
        """Load outer.py; return what it makes of 1, and how many functions were on disk."""
        compiler.cache_folder.cache_clear()
        for name in ["loops", *(f"loops.{file}" for file in ("outer", "inner", "callee"))]:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        outer = importlib.import_module("loops.outer").outer
        return outer(1.0), sum(outer.stats.cache_hits.values())


@pytest.fixture
def loops(tmp_path, monkeypatch):
    return Loops(tmp_path, monkeypatch)


def keys(folder, name):
    return sorted(path.name for path in folder.glob(f"bayespoint-{name}-*"))


@pytest.mark.parametrize("given", [True, False])
def test_a_changed_callee_changes_the_caller(loops, tmp_path, monkeypatch, given):
    if given:
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "given"))
    assert loops.call() == (4, 0)
    assert loops.call() == (4, 1)
    loops.edit("x + 1", "x + 2")  # two files away
    assert loops.call() == (6, 0)
    loops.edit("TIMES = 2", "TIMES = 3")  # a constant
    assert loops.call() == (9, 0)
    loops.edit("TIMES = 3", "TIMES = 2")
    assert loops.call() == (6, 1)  # the code of before is still there
    folder = tmp_path / "given" if given else loops.folder / "__pycache__"
    assert len(keys(folder, "outer")) == 3


def test_folders_that_cannot_be_written(loops, tmp_path, monkeypatch):
    """A file stands where the folder would be: this holds for root too."""
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(file / "given"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert loops.call() == (4, 0)
    assert loops.call() == (4, 1)
    assert keys(loops.folder / "__pycache__", "outer")
    shutil.rmtree(loops.folder / "__pycache__")
    (loops.folder / "__pycache__").write_text("")
    if sys.platform != "linux":
        pytest.skip("the user's cache folder of this system is not a test's to write to")
    assert loops.call() == (4, 0)
    assert loops.call() == (4, 1)
    assert keys(tmp_path / "user" / "numba", "outer")
    monkeypatch.setenv("XDG_CACHE_HOME", str(file / "user"))
    assert loops.call() == (4, 0)
    assert loops.call() == (4, 0)  # nowhere


def test_a_cache_of_another_numba(loops):
    assert loops.call() == (4, 0)
    indices = list((loops.folder / "__pycache__").rglob("*.nbi"))
    assert len(indices) == 3
    for path in indices:
        path.write_bytes(pickle.dumps("0.1") + b"what no other version can read")
    assert loops.call() == (4, 0)
    assert loops.call() == (4, 1)


def test_a_cache_of_before_there_were_states(loops, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(compiler, "digest", refuse := Mock(side_effect=OSError))
        assert loops.call() == (4, 0)
        assert refuse.called
    assert list((loops.folder / "__pycache__").glob("*.nbi"))
    loops.edit("x + 1", "x + 2")
    assert loops.call() == (6, 0)


# Folders and their names --------------------------------------------------------------------------


def test_a_state_is_a_file_and_what_it_imports(tmp_path):
    """What each file of the compiled layer imports, as Python's own parser sees it."""
    folder = tmp_path / "_core"
    shutil.copytree(PACKAGE / "_core", folder, ignore=shutil.ignore_patterns("__pycache__"))
    files = sorted(folder.glob("*.py"))
    words = {path.stem: set() for path in files}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                dotted = [alias.name for alias in node.names] + [getattr(node, "module", "")]
                words[path.stem] |= {name.rpartition(".")[2] for name in dotted}

    def closure(name, found):
        found.add(name)
        for other in words[name] & set(words) - found:
            closure(other, found)
        return found

    before = {path: compiler.digest(path) for path in files}
    for changed in files:
        text = changed.read_text()
        changed.write_text(text + "# a comment\n")
        for path in files:
            if changed.stem in closure(path.stem, set()):
                assert compiler.digest(path) != before[path], (path.stem, changed.stem)
        changed.write_text(text)
    assert {path: compiler.digest(path) for path in files} == before
    assert closure("joint", set()) == {"joint", "ep", "compiler", "calls"}


def test_code_with_checked_bounds_is_other_code(tmp_path, monkeypatch):
    path = tmp_path / "loops.py"
    path.write_text("x = 1\n")
    before = compiler.digest(path)
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    assert compiler.digest(path) != before


def test_old_states_are_removed(tmp_path):
    path, cache = tmp_path / "loops.py", tmp_path / "cache"
    others = [cache / "bayespoint-loops-of-another-file", cache / "loops_of_another_package"]
    for folder in others:
        folder.mkdir(parents=True)
    made = []
    for state in range(compiler.KEPT + 3):
        path.write_text(f"x = {state}\n")
        compiler.cache_folder.cache_clear()
        made.append(Path(compiler.cache_folder(str(path), str(cache))))
        os.utime(made[-1], (state, state))  # clocks of file systems are coarse
        path.write_text("x = 0\n")
        compiler.cache_folder.cache_clear()
        compiler.cache_folder(str(path), str(cache))
        os.utime(made[0], (state + 0.5, state + 0.5))  # the first one is used all the time
    kept = [folder for folder in made if folder.exists()]
    assert kept == [made[0], *made[1 - compiler.KEPT :]]
    assert all(folder.exists() for folder in others)


def test_an_archive_is_left_to_numba(tmp_path):
    """Source that cannot be read as a file has Numba's own cache."""
    file = str(tmp_path / "package.zip" / "loops.py")
    assert compiler.cache_folder(file, "given") == "given"


def test_the_setting_of_others_stays(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @compiled
    def double(x):
        return 2 * x

    assert str(tmp_path) == numba.config.CACHE_DIR
    assert double(21) == 42
    assert list(tmp_path.rglob("*double*.nbi"))


def test_where_no_cache_can_be_written_functions_are_compiled_all_the_same(monkeypatch):
    njit, calls = numba.njit, []

    def refuse_to_cache(**options):
        calls.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available for file")
        return njit(**options)

    with monkeypatch.context() as patch:  # Numba itself uses njit when it compiles
        patch.setattr(numba, "njit", refuse_to_cache)

        @compiled
        def double(x):
            return 2 * x

    assert double(21) == 42
    plain = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": False}
    plain["no_cfunc_wrapper"] = True
    assert calls == [{"cache": True, **plain}, plain]


# Interrupts while code is compiled ----------------------------------------------------------------

INTERRUPTED = """
import json, os, signal, sys, threading
import numpy as np
from numba.core import event
from bayespoint import BayesPointClassifier
from bayespoint.tools.monitor import Monitor, watch

signal.signal(signal.SIGINT, signal.default_int_handler)
X = np.random.default_rng(0).normal(size=(40, 3))
clf = BayesPointClassifier(kernel="linear", engine="perceptron", random_state=0)

class Interrupt(event.Listener):
    passes = 0

    def on_start(self, event):
        self.passes += 1
        if self.passes in (3, 30):  # a signal that arrives during a pass
            os.kill(os.getpid(), signal.SIGINT)

    def on_end(self, event):
        pass

class Told(Monitor):
    messages = []

    def tell(self, message):
        self.messages.append(message)

listener = Interrupt()
event.register("numba:run_pass", listener)
ends = []
with watch(Told()):
    for _ in range(3):
        try:
            ends.append(clf.fit(X, X[:, 0] > 0).coef_.tolist())
        except KeyboardInterrupt:
            ends.append(listener.passes)
print(json.dumps([ends, [words for words in Told.messages if "compil" in words]]))
"""


def dispatched(module):
    """The event of a function of this module."""
    function = SimpleNamespace(__module__=module)
    return Mock(data={"dispatcher": Mock(py_func=function)})


def test_a_slow_compilation_is_told_once_without_a_monitor(monkeypatch, capsys):
    """On standard error; the time between two compilations does not count."""
    now = 0.0
    monkeypatch.setattr(compiler.time, "monotonic", lambda: now)
    listener, ours = compiler.Compilations(), dispatched("bayespoint._core.ep")
    listener.has_told = False  # as in the process of a user
    text = "bayespoint: compiling; compiled code is kept for later fits\n"
    with watch(Monitor()):
        for _ in range(3):
            now += 10.0
            listener.on_start(ours)
            now += 0.3 * compiler.SLOW
            listener.on_end(ours)
        listener.on_start(ours)
        now += compiler.SLOW
        listener.on_start(dispatched("somebody.else"))
        assert capsys.readouterr().err == ""
        for _ in range(2):
            listener.on_start(ours)
    assert capsys.readouterr().err == text
    for _ in range(4):  # until the outermost function is compiled Python looks for no cycles
        assert not gc.isenabled()
        listener.on_end(ours)
    assert gc.isenabled()


def test_a_compilation_can_be_left_and_says_that_it_goes_on(tmp_path):
    """An interrupt ends it with the pass of the compiler, and the next fit is as ever."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", INTERRUPTED]
    first, again = (
        json.loads(subprocess.run(command, env=environment, check=True, stdout=-1).stdout)
        for _ in range(2)
    )
    (early, late, coef), messages = first
    assert early <= 4
    assert late <= 31
    assert messages == ["compiling; compiled code is kept for later fits"]
    assert again[0][-1] == coef

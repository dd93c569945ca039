"""Checkpoints: fits go on from them to the same bits."""

import numpy as np
import pytest
from tests.helpers.blocks import machine, noisy, same_bits

from bayespoint.engines import ExpectationPropagation
from bayespoint.engines.gaussian.rounds import LineSearch
from bayespoint.exceptions import CheckpointError
from bayespoint.rows import checkpoints, from_arrays
from bayespoint.rows.checkpoint import seal, unpacked

ENGINES = ("ep", "laplace", "diagonal")
X, Y = noisy(n_classes=3)


class Crash(Exception):
    """The machine stops."""


def blocks(crash_after=np.inf, points=X, block_rows=200):
    """Blocks that fail after some readings."""
    made = from_arrays(points, Y, block_rows=block_rows)

    class Failing(type(made)):
        reads = 0

        def read(self, k):
            Failing.reads += 1
            if Failing.reads > crash_after:
                raise Crash
            return super().read(k)

    made.__class__ = Failing
    return made


def crash(path, engine="ep", **params):
    """Fit until the fourth round."""
    with checkpoints(path, seconds=0), pytest.raises(Exception, match="Crash"):
        machine(engine, **params).fit(blocks(crash_after=3 * 4 + 1, **{}))
    assert path.exists()


def rewrite(path, changes, *, is_sealed=True):
    """Change arrays of a checkpoint, and seal it again."""
    with np.load(path) as file:
        arrays = {name: array for name, array in {**file, **changes}.items() if array is not None}
    del arrays["seal"]
    with path.open("wb") as file:
        np.savez(file, **arrays, seal=np.array(seal(arrays if is_sealed else {})))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_crash_changes_no_bits(tmp_path, engine):
    path = tmp_path / "fit.checkpoint"
    crash(path, engine)
    again = blocks()
    with checkpoints(path):
        resumed = machine(engine, n_jobs=2).fit(again)
    whole_blocks = blocks()
    whole = machine(engine).fit(whole_blocks)
    assert same_bits(resumed, whole)
    assert resumed.run_.history == whole.run_.history
    assert type(again).reads < type(whole_blocks).reads  # it did not start again
    assert not path.exists()


@pytest.mark.parametrize(
    ("engine", "name", "value"),
    [("ep", "share", 0.3), ("laplace", "search", LineSearch(-np.inf))],
)
def test_a_checkpoint_that_forgets_is_noticed(tmp_path, engine, name, value):
    """The negative control: without the damping, or the slope, the bits are others."""
    path = tmp_path / "fit.checkpoint"
    crash(path, engine)
    rewrite(path, {f"task{i}_{name}": np.array(value) for i in range(3)})
    with checkpoints(path):
        resumed = machine(engine).fit(blocks())
    assert resumed.run_.history != machine(engine).fit(blocks()).run_.history


def test_an_interrupt_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    before = blocks()
    read = type(before).read

    def interrupted(self, k):
        if type(before).reads == 3 * 3 + 1:
            raise KeyboardInterrupt
        return read(self, k)

    monkeypatch.setattr(type(before), "read", interrupted)
    with checkpoints(path, seconds=1e9), pytest.raises(KeyboardInterrupt):
        machine().fit(before)
    assert path.exists()  # though the last round was not due
    with checkpoints(path):
        assert same_bits(machine().fit(blocks()), machine().fit(blocks()))


def test_more_rounds_may_follow(tmp_path):
    path = tmp_path / "fit.checkpoint"
    few = ExpectationPropagation(tol=1e-9, max_iter=3)
    with checkpoints(path, seconds=0), pytest.warns(match="max_iter was reached"):
        machine(few).fit(blocks())
    with checkpoints(path):
        resumed = machine().fit(blocks())
    assert same_bits(resumed, machine().fit(blocks()))


@pytest.mark.parametrize(
    ("params", "how", "words"),
    [
        ({"engine": ExpectationPropagation(noise=2.0)}, {}, "another engine or kernel"),
        ({}, {"points": X + 1}, "other data, or data that have changed"),
        ({}, {"block_rows": 100}, "another division into blocks"),
        ({"class_weight": {0: 2, 1: 1, 2: 1}}, {}, "another scaling or set of classes"),
    ],
)
def test_checkpoints_of_other_fits(tmp_path, params, how, words):
    path = tmp_path / "fit.checkpoint"
    crash(path)
    with checkpoints(path), pytest.raises(CheckpointError, match=words):
        machine(**params).fit(blocks(**how))
    with checkpoints(path, resume=False):  # starts again
        machine(**params).fit(blocks(**how))


def test_a_broken_file(tmp_path):
    path = tmp_path / "fit.checkpoint"
    crash(path)
    path.write_bytes(path.read_bytes()[:1000])
    with checkpoints(path), pytest.raises(CheckpointError, match="it cannot be read"):
        machine().fit(blocks())


def test_none_without_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    machine().fit(blocks())
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_an_error_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such directory"), checkpoints(tmp_path / "a/b"):
        pytest.fail("the fit has begun")


@pytest.mark.parametrize("engine", ENGINES)
def test_damaged_checkpoints_are_refused_in_words(tmp_path, engine):
    path = tmp_path / "fit.checkpoint"
    crash(path, engine)
    whole, expected = path.read_bytes(), machine(engine).fit(blocks())
    rng = np.random.default_rng(0)
    for _ in range(60):
        data = bytearray(whole)
        kind, place = rng.integers(3), int(rng.integers(len(data)))
        if kind == 0:
            del data[place:]
        elif kind == 1:
            data[place] ^= 1 << int(rng.integers(8))
        else:
            data[place : place + 8] = rng.bytes(8)
        path.write_bytes(data)
        with checkpoints(path):
            try:
                resumed = machine(engine).fit(blocks())
            except CheckpointError as error:
                assert "Remove the file" in str(error)
                continue
        assert same_bits(resumed, expected)  # a bit that says nothing, such as a time


@pytest.mark.parametrize(
    ("changes", "is_sealed", "words"),
    [
        ({"round": np.array(2)}, False, "changed or damaged"),
        ({"round": None}, True, "does not contain what this fit needs"),
        ({"round": np.array("three")}, True, "does not contain what this fit needs"),
        ({"task0_share": np.ones((2, 2))}, True, "does not contain what this fit needs"),
        ({"identity": np.array("data=1")}, True, "belongs to a fit with"),
        ({"identity": np.array("no equals sign")}, True, "cannot be read"),
    ],
    ids=["unsealed", "missing", "text", "shape", "identity", "no-identity"],
)
def test_forged_checkpoints_are_refused_in_words(tmp_path, changes, is_sealed, words):
    path = tmp_path / "fit.checkpoint"
    crash(path)
    rewrite(path, changes, is_sealed=is_sealed)
    with checkpoints(path), pytest.raises(CheckpointError, match=words):
        machine().fit(blocks())


def test_a_checkpoint_of_another_version(tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    crash(path)
    monkeypatch.setattr("bayespoint.rows.checkpoint.__version__", "0.0.1")
    with checkpoints(path), pytest.raises(CheckpointError, match="another version of bayespoint"):
        machine().fit(blocks())


def test_infinite_weights_are_refused():
    """A search may begin at infinity, which is no array."""
    forged = {"weights": np.array([np.inf, 0.0])}
    with pytest.raises(TypeError, match="lost numbers"):
        unpacked("weights", np.zeros(2), forged)
    assert unpacked("one", 0.0, {"one": np.array(np.inf)}) == np.inf

"""Hostile files of fits over blocks: checkpoints, and data that change while they are read."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.attack.judge import Outcome, judged
from tests.helpers.blocks import machine, noisy, same_bits
from tests.storage.test_mutations import DAMAGE

from bayespoint.rows import Blocks, checkpoints, from_arrays, from_csv, from_npy, from_parquet
from bayespoint.rows.checkpoint import SEAL, seal

N_ROWS, BLOCK = 90, 30
ENGINES = ("ep", "laplace", "diagonal")
FORGED = ("drop", "type", "shape", "nan", "swap", "identity")


class Crash(Exception):
    """The machine stops."""


@cache
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Data of all cases."""
    return noisy(N_ROWS, n_classes=3)


@cache
def crashed(engine: str) -> tuple[bytes, Any]:
    """A checkpoint of the third round, and the fit that nothing interrupts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fit.checkpoint")
        try:
            with checkpoints(path, seconds=0):
                machine(engine).fit(failing(from_arrays(*rows(), block_rows=BLOCK), 10, Crash))
        except Exception as error:
            assert "Crash" in repr(error) + repr(error.__cause__)
        return path.read_bytes(), machine(engine).fit(from_arrays(*rows(), block_rows=BLOCK))


def failing(blocks: Blocks, when: int, what: Any) -> Blocks:
    """Blocks to which something happens at a reading; an exception is raised."""

    class Failing(type(blocks)):  # type: ignore[misc]
        reads = 0

        def read(self, k: int) -> Any:
            Failing.reads += 1
            if Failing.reads == when:
                if isinstance(what, type):
                    raise what
                what()
            return super().read(k)

    blocks.__class__ = Failing
    return blocks


def attack_checkpoint(kind: str, seed: int) -> tuple[str, Outcome]:
    """A changed checkpoint, by its number: refused, or of no consequence."""
    rng = np.random.default_rng([seed, 5])
    engine = str(rng.choice(ENGINES))
    data, expected = crashed(engine)
    is_damage = rng.random() < 0.5
    how = DAMAGE[rng.integers(len(DAMAGE))] if is_damage else str(rng.choice(FORGED))

    def case() -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "fit.checkpoint")
            if callable(how):
                path.write_bytes(how(data, rng))
            else:
                path.write_bytes(data)
                forge(path, how, rng)
            with checkpoints(path):
                found = machine(engine).fit(from_arrays(*rows(), block_rows=BLOCK))
        if is_damage and not same_bits(found, expected):
            return "a damaged checkpoint changed the result"
        return "" if np.isfinite(found.coef_).all() else "weights are not finite"

    return f"{engine}, {getattr(how, '__name__', how)}", judged(case)


def forge(path: Path, how: str, rng: np.random.Generator) -> None:
    """Change an array, and seal the file again as somebody would who knows how."""
    with np.load(path) as file:
        arrays = dict(file)
    del arrays[SEAL]
    name, other = rng.choice(sorted(set(arrays) - {"identity"}), 2, replace=False)
    if how == "drop":
        del arrays[name]
    elif how == "type":
        arrays[name] = arrays[name].astype(str)
    elif how == "shape":
        arrays[name] = np.stack([arrays[name]] * 2)
    elif how == "nan" and arrays[name].dtype.kind == "f":
        arrays[name] = np.full_like(arrays[name], np.nan)
    elif how == "swap":
        arrays[name], arrays[other] = arrays[other], arrays[name]
    else:
        arrays["identity"] = np.array("data=1\nengine")
    with path.open("wb") as file:
        np.savez(file, **arrays, **{SEAL: np.array(seal(arrays))})


def attack_data(kind: str, seed: int) -> tuple[str, Outcome]:
    """A file that is cut, changed or deleted at some reading of a fit."""
    rng = np.random.default_rng([seed, 6])
    suffix, how = (
        str(rng.choice(["npy", "csv", "parquet"])),
        str(rng.choice(["cut", "change", "gone"])),
    )
    X, y = rows()

    def case() -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"X.{suffix}")
            write(path, X, y)
            make = {"npy": lambda: from_npy(path, y, block_rows=BLOCK)}.get(
                suffix, lambda: read(suffix)(path, target="y", block_rows=BLOCK)
            )

            def spoil() -> None:
                if how == "cut":
                    os.truncate(path, int(rng.integers(path.stat().st_size)))
                elif how == "gone":
                    path.unlink()
                else:
                    write(path, X + 1, y)

            found = machine().fit(failing(make(), int(rng.integers(1, 12)), spoil))
        return "" if np.isfinite(found.coef_).all() else "weights are not finite"

    return f"{suffix}, {how}", judged(case)


def read(suffix: str) -> Any:
    """The function that divides such files into blocks."""
    return {"csv": from_csv, "parquet": from_parquet}[suffix]


def write(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    """Write a table of a type that its name says."""
    import pandas as pd

    if path.suffix == ".npy":
        np.save(path, X)
        return
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, row_group_size=BLOCK)

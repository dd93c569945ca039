"""Many splits, side by side, that survive an interruption: each is written down when it is done."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from bayespoint.experiments.knapsack.splits import VARIANT, DataSet, Grids, SplitErrors, solve_split


def settings(seed: int, grids: Grids) -> str:
    """What must be the same for splits of two runs to be put together."""
    return json.dumps([seed, dict(VARIANT), *map(list, grids)])


def solve_splits(
    sets: Sequence[DataSet],
    n_splits: int,
    seed: int,
    grids: Grids,
    *,
    state: Path | None = None,
    n_jobs: int | None = None,
    tell: Callable[[str], None],
) -> list[SplitErrors]:
    """All splits of all sets; those that ``state`` holds already are not done again."""
    key = settings(seed, grids)
    done = {} if state is None else read_state(state, key)
    jobs = [(data, split) for split in range(n_splits) for data in sets]
    missing = [(data, split) for data, split in jobs if (data.name, split) not in done]
    finished = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(solve_split)(data, split, seed, grids) for data, split in missing
    )
    for number, errors in enumerate(finished, start=len(jobs) - len(missing) + 1):
        done[errors.data, errors.split] = errors
        tell(f"{number} of {len(jobs)} splits")
        if state is not None:
            write_state(state, key, errors)
    return [done[data.name, split] for data, split in jobs]


def read_state(path: Path, key: str) -> dict[tuple[str, int], SplitErrors]:
    """Splits of an earlier run with the same settings; a line cut short is passed over."""
    done: dict[tuple[str, int], SplitErrors] = {}
    if not path.is_file():
        return done
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            own_key, *fields = json.loads(line)
            errors = SplitErrors(*fields)
        except (ValueError, TypeError):
            continue
        if own_key == key:
            done[errors.data, errors.split] = errors
    return done


def write_state(path: Path, key: str, errors: SplitErrors) -> None:
    """Add a line for one split."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps([key, *errors], default=float) + "\n")


def error_matrix(results: Sequence[SplitErrors], data: str, methods: Sequence[str]) -> np.ndarray:
    """Errors of one set in per cent, shape (n_splits, n_methods)."""
    own = [errors for errors in results if errors.data == data]
    return 100 * np.array([[errors.errors[method] for method in methods] for errors in own])

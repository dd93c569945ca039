"""The kernel perceptron on a permutation, which rests where a kernel row is missing."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled, inner

# What the entries of `Machines.progress` count.
POSITION = 0  # next place in the permutation
EPOCHS = 1  # completed passes
EPOCH_MISTAKES = 2  # mistakes since the pass began
MISTAKES = 3  # mistakes in all
STATE = 4  # one of the three states
N_COUNTERS = 5
RUNNING, SEPARATED, GAVE_UP = 0, 1, 2
ENDED, PAUSED = -1, -2  # what `advance` returns instead of a point whose kernel row is missing


class Rows(NamedTuple):
    """Kernel rows at hand: k(x_i, .) is ``values[slot_of[i]]``; it is missing where that is < 0."""

    values: NDArray  # (slots, m)
    slot_of: NDArray[np.int64]  # (m,)
    slot_used: NDArray[np.int64]  # (slots,) the round in which a row was last used


class Machines(NamedTuple):
    """Classifiers in training: c works on task ``task_of[c]`` in the order ``order_of[c]``."""

    orders: NDArray[np.int32]  # (orders, m) permutations
    order_of: NDArray[np.int64]  # (c,)
    targets: NDArray[np.int8]  # (tasks, m) labels -1, +1
    task_of: NDArray[np.int64]  # (c,)
    step: NDArray[np.float64]  # (m,) how far a mistake moves the coefficient
    ridge: NDArray[np.float64]  # (m,) lambda of k_lambda at each point
    alphas: NDArray[np.float64]  # (c, m) coefficients
    outputs: NDArray[np.float64]  # (c, m) o_j = sum_i alpha_i k(x_i, x_j)
    squares: NDArray[np.float64]  # (c,) |w|^2 = sum_i alpha_i (o_i + ridge_i alpha_i)
    first_outputs: NDArray[np.float64]  # (c, m - m // 2) o_i / |w| where points come first
    progress: NDArray[np.int64]  # (c, N_COUNTERS)


def samples_done(progress: NDArray, n_points: int, n_tasks: int) -> float:
    """Samples done; the first pass, which needs most rows, counts for nine tenths of one."""
    first_pass = np.where(progress[:, EPOCHS] > 0, 1.0, progress[:, POSITION] / n_points)
    done = np.where(progress[:, STATE] != RUNNING, 1.0, 0.9 * first_pass)
    return float(done.sum() / n_tasks)


def n_complete(progress: NDArray) -> int:
    """Samples up to the first that has not ended; axes are samples, tasks and counters."""
    ended = (progress[:, :, STATE] != RUNNING).all(axis=1)
    return len(ended) if ended.all() else int(ended.argmin())


@inner
def is_wrong(target: int, output: float, ridge: float, alpha: float) -> bool:
    """Whether t (o + ridge alpha) <= 0: a mistake, ties included. The ridge acts on the point."""
    return target * (output + ridge * alpha) <= 0


@compiled
def advance(
    machines: Machines, c: int, rows: Rows, max_epochs: int, now: int, most_work: int
) -> int:
    """Run one classifier until it ends or errs on a point whose kernel row is missing.

    Returns that point, or ENDED; or PAUSED after ``most_work`` corrections and passes, to be called
    again. ``now`` counts the rounds.
    """
    order = machines.orders[machines.order_of[c]]
    target = machines.targets[machines.task_of[c]]
    alpha, output, progress = machines.alphas[c], machines.outputs[c], machines.progress[c]
    ridge = machines.ridge
    m = order.shape[0]
    position, work, half = progress[POSITION], 0, m // 2
    while True:
        # In the second half of its first pass it knows much, but not the point that comes next.
        honest_from = half if progress[EPOCHS] == 0 else m
        while position < m:
            i = order[position]
            if position >= honest_from:
                square = machines.squares[c]
                first = output[i] / np.sqrt(square) if square > 0 else 0.0
                machines.first_outputs[c, position - half] = first
            # Step 2. As alpha_i has the sign of t_i the ridge can only help: where t_i o_i is
            # positive, which is nearly everywhere, it need not be fetched from memory.
            if target[i] * output[i] <= 0 and is_wrong(target[i], output[i], ridge[i], alpha[i]):
                slot = rows.slot_of[i]
                if slot < 0:
                    progress[POSITION] = position
                    return i
                rows.slot_used[slot] = now
                row = rows.values[slot]
                change = target[i] * machines.step[i]
                machines.squares[c] += change * (
                    2 * (output[i] + ridge[i] * alpha[i]) + change * (row[i] + ridge[i])
                )
                alpha[i] += change
                for j in range(m):
                    output[j] += change * row[j]
                progress[EPOCH_MISTAKES] += 1
                progress[MISTAKES] += 1
                work += 1
                if work >= most_work:
                    progress[POSITION] = position + 1
                    return PAUSED
            position += 1
        position = 0
        progress[POSITION] = 0
        progress[EPOCHS] += 1
        if progress[EPOCH_MISTAKES] == 0:  # step 3
            progress[STATE] = SEPARATED
            return ENDED
        progress[EPOCH_MISTAKES] = 0
        if progress[EPOCHS] >= max_epochs:
            progress[STATE] = GAVE_UP
            return ENDED
        work += 1
        if work >= most_work:
            return PAUSED


@compiled
def look_ahead(machines: Machines, c: int, rows: Rows, reach: int, ahead: NDArray) -> None:
    """Fill ``ahead`` with the next points that look wrong now and whose rows are missing.

    Scans ``reach`` places beyond the one where the classifier waits; unused entries become -1.
    """
    order = machines.orders[machines.order_of[c]]
    target = machines.targets[machines.task_of[c]]
    alpha, output, ridge = machines.alphas[c], machines.outputs[c], machines.ridge
    m = order.shape[0]
    place = machines.progress[c, POSITION]
    found = 0
    for _ in range(min(reach, m - 1)):
        place += 1
        if place == m:
            place = 0
        i = order[place]
        if (
            target[i] * output[i] <= 0
            and rows.slot_of[i] < 0
            and is_wrong(target[i], output[i], ridge[i], alpha[i])
        ):
            ahead[found] = i
            found += 1
            if found == ahead.shape[0]:
                return
    ahead[found:] = -1


@compiled
def advance_some(
    members: NDArray,
    machines: Machines,
    rows: Rows,
    max_epochs: int,
    now: int,
    most_work: int,
    reach: int,
    missing: NDArray,
    ahead: NDArray,
) -> None:
    """Advance the classifiers ``members``; note for each what it waits for and may want next.

    They work one after another, since the rows of each are then in the processor's cache, and share
    ``most_work``: those that find none of it left are paused.
    """
    for c in members:
        before = machines.progress[c, MISTAKES] + machines.progress[c, EPOCHS]
        missing[c] = PAUSED
        if most_work > 0:
            missing[c] = advance(machines, c, rows, max_epochs, now, most_work)
        most_work -= machines.progress[c, MISTAKES] + machines.progress[c, EPOCHS] - before
        if missing[c] >= 0:
            look_ahead(machines, c, rows, reach, ahead[c])

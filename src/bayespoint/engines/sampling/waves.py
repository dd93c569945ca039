"""Samples that are trained side by side, on the CPU or on a device, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint.engines.sampling.rounds import Clock, Rounds, Setting, Trained, check_definite
from bayespoint.gpu.arrays import threads, to_device
from bayespoint.gpu.perceptrons import STATE_BYTES as DEVICE_BYTES
from bayespoint.gpu.perceptrons import DeviceRounds
from bayespoint.gpu.windows import WINDOW_BYTES
from bayespoint.posteriors.sampled import FirstVisits
from bayespoint.spaces import DualSpace
from bayespoint.tools.arrays import to_host
from bayespoint.tools.threads import ThreadPool

STATE_BYTES = 20  # per point and classifier: a coefficient, an output, half of the first outputs
LARGEST = 1e150  # output of a ridge, whose square is finite; outliers make other points that small
STATE_SIZE = 256e6  # bytes of coefficients and outputs held at a time; more samples go in waves
DEVICE_SHARE = 0.15  # of the device memory, for the same
TOGETHER = 50  # samples whose first visits are summed up at a time


class Part(NamedTuple):
    """Some samples, scaled to length 1."""

    support: NDArray[np.int64]  # the points that carry weight
    weights: Any  # (points, samples, tasks), or a function that fetches them
    mean: NDArray[np.float64] | None = None  # (points, tasks), if it is known

    def array(self) -> NDArray[np.float64]:
        """The weights."""
        return self.weights() if callable(self.weights) else self.weights


class Wave(NamedTuple):
    """What the samples so far have become."""

    parts: list[Part]
    visits: Any  # FirstVisits; None if there are no samples
    n_samples: int  # that have ended
    n_failed: Any = 0  # (n_tasks,) those that gave up
    n_epochs: int = 0
    margins: Any = 0.0  # (n_tasks, m) sums of t o / |w|; not computed if none has failed

    def plus(self, more: Wave) -> Wave:
        """These samples and more."""
        parts, visits, n_samples, n_failed, n_epochs, margins = more
        return Wave(
            self.parts + parts,
            visits if self.visits is None else self.visits + visits,
            self.n_samples + n_samples,
            self.n_failed + n_failed,
            max(self.n_epochs, n_epochs),
            self.margins + margins,
        )


class HostTrainer:
    """Trains samples with the compiled loop.

    Parameters
    ----------
    space : DualSpace
        Where the training points are.
    setting : Setting
        What is learned.
    pool : ThreadPool
        Threads.
    """

    def __init__(self, space: DualSpace, setting: Setting, pool: ThreadPool) -> None:
        self.targets, self._setting = setting.targets, setting
        self._pool, self._lengths = pool, space.lengths
        self._cache = space.rows(setting.cache_size, pool)
        self.wave_size = max(1, int(STATE_SIZE / (STATE_BYTES * setting.targets.size)))

    def run(self, seeds: Sequence[np.random.Generator], clock: Clock, before: Wave) -> Wave:
        """The samples before, and one for each seed of an order of the points."""
        setting = self._setting
        orders = permutations(seeds, len(setting.targets), self._pool.map, setting.groups)
        trained = Rounds(orders, setting).run(self._cache, self._pool, clock, before.n_samples)
        for n, lengths in enumerate(trained.lengths):
            sample = Wave(
                [unit_weights(trained, n)],
                first_visits(trained, n, orders[n], self._lengths, setting),
                1,
                (~trained.separated[n]).astype(np.int64),
                int(trained.epochs[n].max()),
                setting.targets.T * (trained.outputs[n] / lengths[:, None]),
            )
            before = before.plus(sample)
        return before


def permutations(
    seeds: Sequence[np.random.Generator], m: int, apply: Callable, groups: NDArray | None = None
) -> NDArray[np.int32]:
    """The orders in which samples meet the points, one for each seed; ``apply`` maps.

    Groups come in random order, and so do the points within each.
    """
    orders = np.empty((len(seeds), m), dtype=np.int32)

    def draw(n: int) -> None:
        order = seeds[n].permutation(m)
        if groups is not None:
            place = seeds[n].permutation(groups.max() + 1)
            order = order[np.argsort(place[groups[order]], kind="stable")]
        orders[n] = order

    list(apply(draw, range(len(seeds))))
    return orders


def unit_weights(trained: Trained, n: int) -> Part:
    """Coefficients of w_n / |w_n| of all tasks, where there are any."""
    alphas = (trained.alphas[n] / trained.lengths[n, :, None]).T  # (m, n_tasks)
    support = np.flatnonzero(alphas.any(axis=1))
    return Part(support, alphas[support][:, None])


def first_visits(
    trained: Trained, n: int, order: NDArray, norm: NDArray, setting: Setting
) -> FirstVisits:
    """What sample n says of the points in the second half of its order, which it meets late.

    Of a group only the first point counts: the others are met after it.
    """
    length = trained.lengths[n, :, None]
    inverse = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)
    half = len(order) // 2
    is_first = np.ones(len(order), dtype=bool)
    if setting.groups is not None:
        is_first[1:] = np.diff(setting.groups[order]) != 0
    late, is_first = order[half:][is_first[half:]], is_first[half:]
    first = trained.first_outputs[n][:, is_first] * inverse[late]  # (n_tasks, late points)
    final = trained.outputs[n][:, late] / length * inverse[late]
    unlearned = trained.alphas[n][:, late] == 0
    private = np.minimum(np.abs(setting.ridge * inverse * trained.alphas[n] / length), LARGEST)
    outputs, counts = np.zeros((len(order), len(length))), np.zeros(len(order), dtype=np.int64)
    outputs[late], counts[late] = first.T, 1
    before, after = (float(np.square(one[unlearned]).sum()) for one in (first, final))
    return FirstVisits(outputs, counts, before, after, np.square(private).mean(axis=1))


class DeviceTrainer:
    """Trains samples on a device; parameters as in :class:`HostTrainer`."""

    def __init__(self, space: Any, setting: Setting, pool: None) -> None:
        self._lengths = space.device_lengths
        self._rows = space.device_rows(setting.cache_size)
        self._rows.prepare()  # the device works while labels are copied and orders are drawn
        self.targets = to_device(setting.targets, space.device)
        self._labels, self._setting = self.targets.T.contiguous(), setting
        room = DEVICE_SHARE * space.device_memory
        of_sample = DEVICE_BYTES * setting.targets.size
        of_sample += 0 if self._rows.holds_all else WINDOW_BYTES
        self.wave_size = max(1, int(room / of_sample))

    def run(self, seeds: Sequence[np.random.Generator], clock: Clock, before: Wave) -> Wave:
        """The samples before, and one for each seed of an order of the points."""
        core = _core.perceptron
        orders = permutations(seeds, len(self._lengths), threads().map)
        rounds = DeviceRounds(orders, self._labels, self._setting, self._rows)
        rounds.run(clock, before.n_samples)
        a, (_, n_tasks) = rounds.machines, rounds.shape
        progress = rounds.progress.reshape(*rounds.shape, -1)
        n, m = core.n_complete(progress), len(self._lengths)
        counts, margins, square = (
            one[: n * n_tasks].reshape(n, n_tasks, -1)[:, :, :m]
            for one in (a.counts, a.margins, a.squares[:, None])
        )
        sizes = (counts * counts).sum(dim=2, dtype=square.dtype)
        on_host = to_host(square)  # the CPU's roots: torch rounds some of them otherwise
        check_definite(on_host[:, :, 0], to_host(sizes))
        length = to_device(np.sqrt(np.where(on_host > 0, on_host, 1.0)), square.device)
        failed = progress[:n, :, core.STATE] == core.GAVE_UP
        first = a.first[: n * n_tasks].view(n, n_tasks, -1)
        late = a.orders[:n, m // 2 :].long()
        wave = Wave(
            [self._unit_weights(counts, length)] if n else [],
            self._first_visits(late, first, counts, margins, 1 / length),
            n,
            failed.sum(axis=0),
            int(progress[:n, :, core.EPOCHS].max(initial=0)),
            to_host((margins / length).sum(dim=0)) if failed.any() else 0.0,
        )
        return before.plus(wave)

    def _unit_weights(self, counts: Any, length: Any) -> Part:
        """Coefficients of all w / |w|, at the points where there are any; fetched when needed."""
        support = counts.any(dim=0).any(dim=0).nonzero()[:, 0]
        alphas = counts[:, :, support].double() * self._labels[:, support] / length
        mean = to_host(alphas.mean(dim=0).T)
        return Part(to_host(support), lambda: to_host(alphas.permute(2, 0, 1)), mean)

    def _first_visits(
        self, late: Any, first: Any, counts: Any, margins: Any, inverse: Any
    ) -> FirstVisits:
        """What the samples say of points in the second half of their orders."""
        import torch

        (n, n_tasks, m), device = counts.shape, counts.device
        over = torch.where(self._lengths > 0, 1 / self._lengths, 0.0).float()
        total = torch.zeros((n_tasks, m), dtype=torch.float64, device=device)
        noise = torch.zeros(n_tasks, dtype=torch.float64, device=device)
        squares = torch.zeros(2, dtype=torch.float64, device=device)
        for i in range(0, n, TOGETHER):
            some = slice(i, i + TOGETHER)
            where = late[some, None].expand(-1, n_tasks, -1)
            visit = torch.zeros_like(counts[some]).scatter_(2, where, first[some]) * over
            total += visit.sum(dim=0, dtype=torch.float64)
            unlearned = torch.zeros((len(where), 1, m), dtype=torch.bool, device=device)
            unlearned = unlearned.scatter_(2, where[:, :1], True) & (counts[some] == 0)
            final = margins[some] * (inverse[some].float() * over)
            for k, outputs in enumerate((visit, final)):
                squares[k] += (outputs.square() * unlearned).sum(dtype=torch.float64)
            if self._setting.ridge.any():
                slack = to_device(self._setting.ridge, device) * over
                noise += (slack * counts[some] * inverse[some]).square().mean(dim=2).sum(dim=0)
        first_square, final_square = to_host(squares).tolist()
        return FirstVisits(
            (total * self._labels).T,
            torch.bincount(late.reshape(-1), minlength=m),
            first_square,
            final_square,
            noise,
        )

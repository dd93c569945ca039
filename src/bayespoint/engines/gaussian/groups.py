"""Predictions of training rows without the labels of their group: leave-group-out.

Rows of a group, such as those of one patient, reveal each other's labels. The messages of all of
them are therefore removed from the posterior together, whereas leave-one-out removes one. A group
of nearly equal rows has much influence: without it, the messages of other rows change as well, and
are updated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from bayespoint.engines.gaussian.joint.gaussians import precisions
from bayespoint.engines.gaussian.sites import matched
from bayespoint.posteriors import JointPosterior
from bayespoint.posteriors.joint import contrasts
from bayespoint.tools.numbers import EPSILON, TINY

BYTES = 2**26  # memory for factors of some groups
WORK = 5e8  # n d^2 of all groups whose neighbours follow, of those with most influence: about .2 s
DEPTH = 5  # differences of moves that are combined
PRECISE = 1e-3  # singular value of the differences, as a share of the largest, that still counts
STEPS = 30  # of the messages of other rows; four or five are usual
REST, STILL = 1e-2, 1e-3  # largest move of a message at the end, and of the outputs of the group
TOUCHED = 3e-3  # move from which on a message follows
NEGLIGIBLE = 1e-4  # mean variance of outputs, over the noise's, in coordinates that do not matter


def leave_groups_out(
    posterior: Any,
    space: Any,
    targets: NDArray[np.int8],
    groups: NDArray[np.intp],
    weight: NDArray[np.float64] | None = None,
) -> None:
    """Let the left-out predictions of a posterior be those without the group of each row.

    Parameters
    ----------
    posterior : GaussianPosterior or JointPosterior
        With messages of the training rows.
    space : Coordinates
        The training rows.
    targets : ndarray of shape (n, n_tasks)
        Their labels.
    groups : ndarray of int, shape (n,)
        Their groups, 0, 1, 2 ...
    weight : ndarray of shape (n,), optional
        How many copies each row counts for.
    """
    if isinstance(posterior, JointPosterior):
        posterior.cavities = joint_cavities(posterior, space, groups)
        return
    f, law, columns = space.outputs(posterior.mean), posterior.likelihood, []
    copies = np.ones(len(groups)) if weight is None else weight
    for task, factor in enumerate(posterior.factor):
        messages = np.stack(posterior.messages)[:, :, task]
        mean, variance = np.empty((2, len(groups)))
        for rows in alike(groups, factor.shape[1]):
            A = (space.rows(rows.ravel()) @ factor).reshape(*rows.shape, 1, -1)
            found, covariance = without(A, f[rows, task, None], *messages[:, rows, None])
            mean[rows], variance[rows] = found[..., 0], covariance[..., 0, 0]
        labels = targets[:, task]
        if groups.max() + 1 < len(groups):  # otherwise it is leave-one-out
            others = Others(law, labels, copies, f[:, task], messages)
            U = others.root(space.rows(), factor)
            for own, found in others.follow(U, groups, WORK / len(posterior.factor)):
                mean[own], variance[own] = found
        columns.append(law.forecast(labels, law.signs(labels) * mean, variance))
    posterior.left_out_log_probability = np.column_stack(columns)


class Others(NamedTuple):
    r"""The messages of the rows of one task, which are updated when a group is left out.

    With the posterior N(f, U U^T) of all outputs and changes H, D of the shifts and rates of
    messages, the outputs have the covariance :math:`U (I + U^T D U)^{-1} U^T`, and the mean f plus
    this times H - D f. The messages of a group change to 0, and those of the others, in a few
    steps, to what they would be in a fit without the group.

    Parameters
    ----------
    law : Likelihood
        What labels say.
    labels, copies : ndarray of shape (n,)
        The labels, and how often each counts.
    mean : ndarray of shape (n,)
        The means f of the outputs, given all labels.
    known : ndarray of shape (2, n)
        Shifts and rates of the messages.
    """

    law: Any
    labels: NDArray
    copies: NDArray[np.float64]
    mean: NDArray[np.float64]
    known: NDArray[np.float64]

    def root(self, Z: NDArray, factor: NDArray) -> NDArray[np.float64]:
        """U, from coordinates of the rows; the last that have next to no variance are left out."""
        left = np.cumsum(np.square(Z).mean(axis=0)[::-1])[::-1] * factor.diagonal().max() ** 2
        d = max(np.count_nonzero(left > NEGLIGIBLE * self.scales(0.0)[1]), 1)
        return np.asarray(Z[:, :d] @ cholesky(factor[:d] @ factor[:d].T, lower=True))

    def follow(self, U: NDArray, groups: NDArray[np.intp], work: float) -> Iterator[tuple]:
        """Rows of groups, and moments of their outputs after the messages of others followed.

        Groups that pull the mean of the weights furthest come first, as many as ``work`` allows.
        """
        pulls = np.zeros((groups.max() + 1, U.shape[1]))
        np.add.at(pulls, groups, (self.known[0] - self.known[1] * self.mean)[:, None] * U)
        for group in np.argsort(-np.square(pulls).sum(axis=1), kind="stable"):
            own = np.flatnonzero(groups == group)
            near = np.append(own, self.near(U, own))
            work -= len(near) * U.shape[1] ** 2
            if work < 0:
                return
            some = Others(*(one if one is self.law else one[..., near] for one in self))
            if len(near) > len(own) and (found := some.without(U[near], len(own))):
                yield own, found

    def near(self, U: NDArray, own: NDArray[np.intp]) -> NDArray[np.intp]:
        """The rows whose messages change when those of a group are taken out."""
        (shift, rate), C, now = self.known[:, own], U @ U[own].T, self.known.copy()
        try:
            held = np.linalg.inv(np.eye(len(own)) - rate[:, None] * C[own])
        except LinAlgError:
            return own[:0]
        e = np.square(U).sum(axis=1) + ((C @ held) * (rate * C)).sum(axis=1)
        if not (e >= 0).all():  # rounding errors: without the group little is left of a precision
            return own[:0]
        f = self.mean + C @ (held @ (rate * self.mean[own] - shift))
        now[:, own] = 0.0
        move, scale = self.wanted(f, e, now) - now, self.scales(e)
        move[:, own] = 0.0
        told = held.T @ (C.T @ (move[0] - move[1] * f)) / scale[0, own]
        if np.abs(told).max() < STILL:  # what they would change, to the first order
            return own[:0]
        return np.flatnonzero(np.abs(scale * move).max(axis=0) > TOUCHED)

    def without(self, U: NDArray, n_out: int) -> tuple[NDArray, NDArray] | None:
        """Moments of the first outputs without their labels; None if no messages are at rest."""
        now, extrapolation = self.known.copy(), Extrapolation()
        now[:, :n_out], told = 0.0, np.full(n_out, np.inf)
        last = now
        if len(U) < U.shape[1]:  # a square root of U U^T is enough
            U = np.asarray(np.linalg.qr(U.T, mode="r")).T
        for _ in range(STEPS):
            shift, rate = now - self.known
            try:
                L = cholesky(np.eye(U.shape[1]) + (U.T * rate) @ U, lower=True)
            except LinAlgError:  # too far: half the way back
                now = (now + last) / 2
                extrapolation.forget()
                continue
            spread = solve_triangular(L, U.T, lower=True)
            e = np.square(spread).sum(axis=0)
            f = self.mean + spread.T @ (spread @ (shift - rate * self.mean))
            scale, move, before = self.scales(e), self.wanted(f, e, now) - now, told
            move[:, :n_out], told = 0.0, f[:n_out] / scale[0, :n_out]
            if np.abs(told - before).max() < STILL and np.abs(scale * move).max() < REST:
                return f[:n_out], e[:n_out]
            last, now = now, extrapolation.after(now, move, scale)
        return None

    def wanted(self, f: NDArray, e: NDArray, messages: NDArray) -> NDArray[np.float64]:
        """What the messages should be, given the others."""
        if not self.law.offers("site"):  # Laplace's approximation, at the mode
            _, slope, bend = self.law.slopes(self.labels, f)
            return np.asarray(self.copies * [slope + bend * f, bend])
        a, b = messages / self.copies
        a, b, _ = matched(self.law, self.labels, (e, f), (a, b), np.ones(len(a)))
        return np.asarray(self.copies * [a, b])

    def scales(self, e: Any) -> NDArray[np.float64]:
        """How large moves of messages are, where outputs have the variance e."""
        total = np.maximum(e + float(getattr(self.law, "noise", 1.0)) ** 2, TINY)
        return np.stack([np.sqrt(total), total])


def joint_cavities(
    posterior: JointPosterior, space: Any, groups: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and covariances of the outputs of each row, without the labels of its group.

    Messages say nothing of what all classes have in common, whose variance can be so large that
    differences are lost beside it. So the outputs are those of contrasts.
    """
    shift, rate = posterior.messages  # type: ignore[misc]
    n_classes, _, k = posterior.own.shape
    H = contrasts(n_classes)
    f = space.outputs(posterior.mean)
    mean, covariance = np.empty(f.shape), np.empty((*f.shape, n_classes))
    for rows in alike(groups, n_classes * (n_classes * k + posterior.shared.shape[2])):
        Z = space.rows(rows.ravel())
        A = np.zeros((len(Z), n_classes, n_classes * k + posterior.shared.shape[2]))
        for c in range(n_classes):
            A[:, c, c * k : (c + 1) * k] = Z @ posterior.own[c]
            A[:, c, n_classes * k :] = Z @ posterior.shared[c]
        common = np.square(A.mean(axis=1)).sum(axis=1)
        own = H.T @ precisions(rate[rows.ravel()]) @ H
        shape = (*rows.shape, n_classes - 1, -1)
        found, spread = without(
            (H.T @ A).reshape(shape), f[rows] @ H, shift[rows] @ H, own.reshape(shape)
        )
        mean[rows] = found @ H.T + f[rows].mean(axis=2, keepdims=True)
        covariance[rows] = H @ spread @ H.T + common.reshape(*rows.shape, 1, 1)
    return mean, covariance


def in_turn(groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """All rows: the first of each group, then the second of each, and so on."""
    order = np.argsort(groups, kind="stable")
    begins = np.searchsorted(groups[order], groups[order])
    return order[np.argsort(np.arange(len(groups)) - begins, kind="stable")]


def alike(groups: NDArray[np.intp], width: int) -> Iterator[NDArray[np.intp]]:
    """Rows of groups of equal size, (n_groups, size), some groups at a time.

    ``width`` numbers of each row are in memory.
    """
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    begins = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        own = begins[sizes == size]
        step = max(1, BYTES // (8 * width * int(size)))
        for begin in range(0, len(own), step):
            yield order[own[begin : begin + step, None] + np.arange(size)]


def without(
    A: NDArray, mean: NDArray, shift: NDArray, rate: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Moments of the outputs of rows without all messages of their group.

    The outputs of a group have the covariance :math:`V = A A^T`, and the messages the precision T.
    Without these it is :math:`(V^{-1} - T)^{-1} = A (I - A^T T A)^{-1} A^T`, which needs no inverse
    of V, singular where rows are copies. A is made square first, by a QR decomposition.

    Parameters
    ----------
    A : ndarray of shape (n_groups, size, c, k)
        Factors of the covariances of c outputs of each row.
    mean, shift : ndarray of shape (n_groups, size, c)
        Means of the outputs, and shifts of their messages.
    rate : ndarray of shape (n_groups, size, c, c), or (n_groups, size, c)
        Precisions of the messages.

    Returns
    -------
    mean, covariance : ndarray of shape (n_groups, size, c) and (n_groups, size, c, c)
        Of each row.
    """
    n, size, c, _ = A.shape
    rate = rate.reshape(n, size, c, c)
    root = A.reshape(n, size * c, -1)
    if root.shape[2] > size * c:
        root = np.asarray(np.linalg.qr(root.mT, mode="r")).mT
    held = (rate @ root.reshape(n, size, c, -1)).reshape(root.shape)
    left, basis = np.linalg.eigh(np.eye(root.shape[2]) - root.mT @ held)
    spread = root @ basis / np.sqrt(np.maximum(left, EPSILON))[:, None, :]
    pull = (shift - (rate @ mean[..., None])[..., 0]).reshape(n, -1, 1)
    moved = mean - (spread @ (spread.mT @ pull)).reshape(mean.shape)
    spread = spread.reshape(n, size, c, -1)
    return moved, spread @ spread.mT


class Extrapolation:
    """Anderson's extrapolation of a fixed-point iteration x <- x + move(x).

    Near the fixed point moves are linear in x. The combination of the last points whose move would
    be the shortest is where the next one starts from.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.engines.gaussian.groups import Extrapolation
    >>> matrix, x = np.array([[-0.9, 0.3], [0.0, 0.8]]), np.ones(2)
    >>> extrapolation = Extrapolation()
    >>> for _ in range(5):
    ...     x = extrapolation.after(x, matrix @ x - x, scale=1.0)
    >>> bool(np.abs(x).max() < 1e-9)
    True
    """

    def __init__(self) -> None:
        self._points: deque[NDArray] = deque(maxlen=DEPTH + 1)
        self._moves: deque[NDArray] = deque(maxlen=DEPTH + 1)

    def forget(self) -> None:
        """Begin anew."""
        self._points.clear()
        self._moves.clear()

    def after(self, point: NDArray, move: NDArray, scale: NDArray | float) -> NDArray[np.float64]:
        """The next point; ``scale`` times a move is how long it is, entry by entry."""
        self._points.append(point)
        self._moves.append(move)
        ahead = point + move
        if len(self._moves) == 1:
            return ahead
        along = np.diff(self._points, axis=0)
        turns = np.diff(self._moves, axis=0)
        columns = (scale * turns).reshape(len(turns), -1).T
        share = np.linalg.lstsq(columns, (scale * move).ravel(), rcond=PRECISE)[0]
        return np.asarray(ahead - np.tensordot(share, along + turns, axes=1))

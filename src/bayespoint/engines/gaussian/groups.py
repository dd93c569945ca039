"""Predictions of training rows without the labels of their group: leave-group-out.

Rows of a group, such as those of one patient, know each other's labels. So the messages of all of
them are taken out of the posterior at once, where leave-one-out takes out one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.gaussian.joint.gaussians import precisions
from bayespoint.posteriors import JointPosterior
from bayespoint.posteriors.joint import contrasts
from bayespoint.tools.numbers import EPSILON

BYTES = 2**26  # memory for factors of some groups


def leave_groups_out(
    posterior: Any, space: Any, targets: NDArray[np.int8], groups: NDArray[np.intp]
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
    """
    if isinstance(posterior, JointPosterior):
        posterior.cavities = joint_cavities(posterior, space, groups)
        return
    shift, rate = posterior.messages
    f, law, columns = space.outputs(posterior.mean), posterior.likelihood, []
    for task, factor in enumerate(posterior.factor):
        mean, variance = np.empty((2, len(groups)))
        for rows in alike(groups, factor.shape[1]):
            A = (space.rows(rows.ravel()) @ factor).reshape(*rows.shape, 1, -1)
            found, covariance = without(A, *(one[rows, task, None] for one in (f, shift, rate)))
            mean[rows], variance[rows] = found[..., 0], covariance[..., 0, 0]
        labels = targets[:, task]
        columns.append(law.forecast(labels, law.signs(labels) * mean, variance))
    posterior.left_out_log_probability = np.column_stack(columns)


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

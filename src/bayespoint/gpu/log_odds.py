"""Log-odds from outputs, learned on a device; see ``bayespoint.posteriors.log_odds``.

The steps are those of the CPU. Here the matrices of a Newton step are sums over many points, done
on the device; the few numbers they come down to are solved for on the host. Both halves of the
points, which test each other, are one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from bayespoint.gpu.arrays import to_device
from bayespoint.gpu.source import LEFT, RIGHT, logistic_sums, scale_sums

PIECES = 60  # of the points: sums over many points are sums of pieces, on all multiprocessors
ENOUGH = {1: 0.01, 2: 0.1}  # gain of a last step in a sum of losses; halves only choose a form
SMALL_STEP = 1e-6  # of a logarithm: the next step of Newton's iteration would be far smaller


class Sums(NamedTuple):
    """Losses of a batch of problems, their slopes and curvatures, summed over the points."""

    losses: NDArray[np.float64]  # (n,)
    slopes: NDArray[np.float64]  # (n, t, k)
    curvatures: NDArray[np.float64]  # (n, t k, t k)


def learn(
    outputs: Any,
    targets: Any,
    weight: NDArray[np.float64] | None,
    most: int,
    allowed: Callable[[int], list[NDArray[np.bool_]]],
    prior: tuple[NDArray, NDArray],
    clearly: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Matrix and offset of the log-odds.

    Parameters
    ----------
    outputs, targets : tensor of shape (n_points, n_tasks)
        Honest outputs, and labels -1 and +1.
    weight : ndarray of shape (n_points,) or None
        Weights of the points.
    most : int
        Points to learn from.
    allowed : callable
        Takes the number of points; returns the numbers of (A, b) that each form learns, from the
        simplest on.
    prior : tuple of ndarray
        Centre and precision of (A, b).
    clearly : float
        Standard errors by which a form must be better.
    """
    import torch

    known = outputs.isfinite().all(dim=1).nonzero()[:, 0]
    known = known[:: max(1, -(-len(known) // most))]
    f, yes = outputs[known].double(), (targets[known] > 0).double()
    copies = torch.ones_like(f[:, 0])
    if weight is not None:
        copies = to_device(weight, f.device, torch.float64)[known]
    n_more = -len(known) % (2 * PIECES)  # points of weight 0 make halves and pieces equal
    f, yes = (torch.nn.functional.pad(one, (0, 0, 0, n_more)) for one in (f, yes))
    copies = torch.nn.functional.pad(copies, (0, n_more))
    scale = learn_scale(f, yes, copies)
    features = torch.cat([scale * f, torch.ones_like(f[:, :1])], dim=1)
    coefficients = prior[0].copy()
    losses = log_loss(features[:, :-1], yes)
    halves = in_halves(features, yes, copies)
    best, start, sums = None, np.stack([prior[0]] * 2), None
    for mask in allowed(len(known)):
        start, sums = newton(*halves, mask, prior, start, sums)
        swapped = to_device(start[::-1].copy(), f.device)  # each half is tested by the other
        tested = log_loss(halves[0] @ swapped.transpose(1, 2), halves[1])
        others = tested.T.reshape(-1)
        gain, total = losses - others, copies.sum()
        mean = copies @ gain / total
        error = (copies @ (gain - mean) ** 2).sqrt() / total
        if bool(mean > clearly * error):
            best, losses, coefficients = mask, others, start.mean(axis=0)
    if best is not None:
        whole = (features[None], yes[None], copies[None])
        coefficients = newton(*whole, best, prior, coefficients[None])[0][0]
    return scale * coefficients[:, :-1], coefficients[:, -1].copy()


def in_halves(features: Any, yes: Any, copies: Any) -> tuple[Any, Any, Any]:
    """Points of even and of odd number as a batch of two."""
    n = len(copies) // 2
    return (
        features.reshape(n, 2, -1).transpose(0, 1).contiguous(),
        yes.reshape(n, 2, -1).transpose(0, 1).contiguous(),
        copies.view(n, 2).T.contiguous(),
    )


def log_loss(scores: Any, yes: Any) -> Any:
    """Minus the log-probability of each point's class."""
    import torch

    if scores.shape[-1] == 1:
        return -torch.nn.functional.logsigmoid(scores * (2 * yes - 1))[..., 0]
    return torch.logsumexp(scores, dim=-1) - (scores * yes).sum(dim=-1)


def probabilities(scores: Any) -> Any:
    """Probability of "yes" of the only task, or of each class."""
    return scores.sigmoid() if scores.shape[-1] == 1 else scores.softmax(dim=-1)


def learn_scale(outputs: Any, yes: Any, copies: Any) -> float:
    """The lambda that minimises the log-loss of the points and of one typical error.

    Newton's iteration for the slope, in the logarithm of lambda, within a bracket that shrinks.
    """
    import torch

    if outputs.shape[1] == 1:
        margins = outputs[:, 0]
    else:
        margins = (outputs * yes).sum(1) - outputs.masked_fill(yes > 0, -torch.inf).amax(1)
    sums = torch.stack([copies @ margins**2, copies.sum(), copies @ (yes * outputs).sum(dim=1)])
    square, total, right = sums.tolist()
    size = np.sqrt(square / total)
    if size == 0:
        return 1.0
    unit, right = outputs / size, right / size
    low, high, x = -6.0, 6.0, 1.0
    for _ in range(100):
        scale, wrong = np.exp(x), 1 / (1 + np.exp(-np.exp(x)))
        along, spread = under_softmax(unit, copies, float(scale))
        slope = along - right + wrong
        low, high = (x, high) if slope < 0 else (low, x)
        step = slope / (scale * (spread + wrong * (1 - wrong)))
        x = x - step if low <= x - step <= high else (low + high) / 2
        if abs(step) < SMALL_STEP or high - low < SMALL_STEP:
            break
    return float(np.exp(x) / size)


def under_softmax(outputs: Any, copies: Any, scale: float) -> tuple[float, float]:
    """Sums over the points of the mean of their outputs under p, and of its variance."""
    if outputs.device.type == "cuda":
        return scale_sums(outputs, copies, scale)
    p = probabilities(scale * outputs)
    along = (p * outputs).sum(dim=1)
    spread = (p * outputs**2).sum(dim=1) - along**2
    return float(copies @ along), float(copies @ spread)


def newton(
    features: Any,
    yes: Any,
    copies: Any,
    mask: NDArray[np.bool_],
    prior: tuple[NDArray, NDArray],
    start: NDArray[np.float64],
    sums: Sums | None = None,
) -> tuple[NDArray[np.float64], Sums]:
    """Coefficients of a batch of problems; those outside the mask are those of the prior.

    ``sums`` are those at the start, if they are known. Returns the sums of the last step as well;
    what this changes is below the rounding of the loss.
    """
    centre, precision = prior
    chosen = np.flatnonzero(mask.ravel())
    square, diagonal = np.ix_(chosen, chosen), np.diag(precision.ravel()[chosen])
    at = np.where(mask, start, centre)
    sums = sums or sum_up(features, yes, copies, at)
    for _ in range(50):
        loss = sums.losses + (precision * (at - centre) ** 2).sum(axis=(1, 2)) / 2
        slopes = (sums.slopes + precision * (at - centre)).reshape(len(at), -1)[:, chosen]
        flat = np.zeros((len(at), mask.size))
        for i, curvature in enumerate(sums.curvatures):
            total = (curvature if mask.all() else curvature[square]) + diagonal
            flat[i, chosen] = dposv(total, slopes[i])[1]
        gain = np.einsum("nc,nc->n", slopes, flat[:, chosen]) / 2  # of a quadratic function
        steps = flat.reshape(at.shape)
        if gain.max() < ENOUGH[len(at)]:
            return at - steps, sums
        while True:
            sums = sum_up(features, yes, copies, at - steps)
            after = sums.losses + (precision * (at - steps - centre) ** 2).sum(axis=(1, 2)) / 2
            worse = after > loss + 1e-9 * np.abs(loss)
            if not worse.any():
                break
            steps[worse] /= 2  # the loss is convex: a step that is short enough makes it smaller
        at = at - steps
    return at, sums


def sum_up(features: Any, yes: Any, copies: Any, at: NDArray) -> Sums:
    """Loss, its slope and its curvature at some coefficients.

    Curvatures, which only decide how fast the steps converge, are sums of float32 products.
    """
    n_batch, _, k = features.shape
    t = yes.shape[2]
    there = to_device(at, features.device)
    if features.device.type == "cuda" and t > 1 and t * k <= LEFT and (t + 1) * k <= RIGHT:
        total = logistic_sums(features, codes_of(yes), copies, there)
    else:
        total = sums_by_products(features, yes, copies, there)
    host = total.cpu().numpy()  # the only wait for the device
    of_loss, of_slope, of_curvature = np.split(host, [1, 1 + t * k], axis=1)
    return Sums(
        of_loss[:, 0],
        of_slope.reshape(n_batch, t, k),
        of_curvature.reshape(n_batch, t * k, t * k),
    )


def codes_of(yes: Any) -> Any:
    """Index of the class of each point; kept with the labels, since all steps want it."""
    if not hasattr(yes, "codes"):
        yes.codes = yes.argmax(dim=-1)
    return yes.codes


def sums_by_products(features: Any, yes: Any, copies: Any, at: Any) -> Any:
    """What ``logistic_sums`` of the source gives, by matrix products."""
    import torch

    n_batch, n, k = features.shape
    t = yes.shape[2]
    scores = features @ at.transpose(1, 2)
    if t == 1:
        p, losses = scores.sigmoid(), log_loss(scores, yes)
    else:
        log_p = scores.log_softmax(dim=-1)
        p, losses = log_p.exp(), -(log_p * yes).sum(dim=-1)
    loss = torch.linalg.vecdot(copies, losses)
    slope = in_pieces(copies[..., None] * (p - yes), features)
    rows = (copies.sqrt()[..., None] * features).float()
    products = (p.float()[..., None] * rows[:, :, None, :]).view(n_batch, n, t * k)
    both = in_pieces(products, torch.cat([products, rows], dim=2)).double()
    curvature = -both[:, :, : t * k].reshape(n_batch, t, k, t, k)
    own = both[:, :, t * k :].reshape(n_batch, t, k, k)
    torch.diagonal(curvature, dim1=1, dim2=3).add_(own.permute(0, 2, 3, 1))
    flat = [loss[:, None], slope.reshape(n_batch, -1), curvature.view(n_batch, -1)]
    return torch.cat(flat, dim=1)


def in_pieces(left: Any, right: Any) -> Any:
    """left^T right for each problem, as a sum of products of pieces of the points."""
    n_batch = len(left)
    left, right = (one.reshape(n_batch * PIECES, -1, one.shape[-1]) for one in (left, right))
    product = left.transpose(1, 2) @ right
    return product.view(n_batch, PIECES, *product.shape[1:]).sum(dim=1)

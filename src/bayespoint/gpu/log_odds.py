"""Log-odds from outputs, learned on a device; see ``bayespoint.posteriors.log_odds``.

The steps are those of the CPU. Here the matrices of a Newton step are sums over many points, done
on the device; the few numbers they come down to are solved for on the host. Both halves of the
points, which test each other, are one batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.gpu.arrays import to_device

PIECES = 64  # of the points: sums over many points are sums of pieces, on all multiprocessors
N_STEPS = 25  # of a bracketed Newton iteration for the scale: more than it needs


def learn(
    outputs: NDArray[np.float64],
    is_yes: NDArray[np.bool_],
    copies: NDArray[np.float64],
    masks: list[NDArray[np.bool_]],
    prior: tuple[NDArray, NDArray],
    clearly: float,
    device: Any,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Matrix and offset of the log-odds.

    Parameters
    ----------
    outputs, is_yes, copies : ndarray of shape (n_points, n_tasks) and (n_points,)
        Honest outputs, labels and weights.
    masks : list of ndarray
        The numbers of (A, b) that each form learns, from the simplest on.
    prior : tuple of ndarray
        Centre and precision of (A, b).
    clearly : float
        Standard errors by which a form must be better.
    device : torch.device
        Where the points are summed over.
    """
    import torch

    f, yes, weight = (
        to_device(array, device, torch.float64)
        for array in (outputs, is_yes.astype(np.int8), copies)
    )
    scale = learn_scale(f, yes, weight)
    features = torch.cat([scale * f, torch.ones_like(f[:, :1])], dim=1)
    coefficients = prior[0].copy()
    losses = log_loss(features @ to_device(coefficients, device).T, yes)
    halves = in_halves(features, yes, weight)
    best, start = None, np.stack([prior[0]] * 2)
    for mask in masks:
        start = newton(*halves, mask, prior, start)
        swapped = to_device(start[::-1].copy(), device)  # each half is tested by the other
        tested = log_loss(halves[0] @ swapped.transpose(1, 2), halves[1])
        others = tested.T.reshape(-1)[: len(losses)]
        gain = losses - others
        mean = (weight * gain).sum() / weight.sum()
        error = ((weight * (gain - mean) ** 2).sum() / weight.sum() / weight.sum()).sqrt()
        if bool(mean > clearly * error):
            best, losses, coefficients = mask, others, start.mean(axis=0)
    if best is not None:
        whole = (features[None], yes[None], weight[None])
        coefficients = newton(*whole, best, prior, coefficients[None])[0]
    unit = float(scale)
    return unit * coefficients[:, :-1], coefficients[:, -1].copy()


def in_halves(features: Any, yes: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Points of even and of odd number as a batch of two; a point of weight 0 may fill it up."""
    import torch

    if len(weight) % 2:
        features, yes = (torch.cat([one, one[-1:]]) for one in (features, yes))
        weight = torch.cat([weight, 0 * weight[-1:]])
    n = len(weight) // 2
    return tuple(
        one.reshape(n, 2, -1).transpose(0, 1).contiguous() if one.ndim == 2 else one.view(n, 2).T
        for one in (features, yes, weight)
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


def learn_scale(outputs: Any, yes: Any, weight: Any) -> Any:
    """The lambda that minimises the log-loss of the points and of one typical error.

    Newton's iteration for the slope, in the logarithm of lambda, within a bracket that shrinks; all
    on the device.
    """
    import torch

    if outputs.shape[1] == 1:
        margins = outputs[:, 0]
    else:
        margins = (outputs * yes).sum(1) - outputs.masked_fill(yes > 0, -torch.inf).amax(1)
    size = ((weight * margins**2).sum() / weight.sum()).sqrt()
    size = torch.where(size > 0, size, torch.inf)
    unit = outputs / size
    low, high = unit.new_full((), -6.0), unit.new_full((), 6.0)
    x = low
    for _ in range(N_STEPS):
        scale = x.exp()
        p, wrong = probabilities(scale * unit), scale.sigmoid()
        slope = (weight * ((p - yes) * unit).sum(dim=1)).sum() + wrong
        if outputs.shape[1] == 1:
            spread = (p * (1 - p) * unit**2).sum(dim=1)
        else:
            spread = (p * unit**2).sum(dim=1) - (p * unit).sum(dim=1) ** 2
        curvature = (weight * spread).sum() + wrong * (1 - wrong)
        low, high = torch.where(slope < 0, x, low), torch.where(slope >= 0, x, high)
        newton_step = x - slope / (scale * curvature)
        inside = (newton_step > low) & (newton_step < high)
        x = torch.where(inside, newton_step, (low + high) / 2)
    return torch.where(size.isinf(), 1.0, x.exp() / size)


def newton(
    features: Any,
    yes: Any,
    weight: Any,
    mask: NDArray[np.bool_],
    prior: tuple[NDArray, NDArray],
    start: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Coefficients of a batch of problems; those outside the mask stay as the prior has them."""
    centre, precision = prior
    size = mask.size
    chosen = np.flatnonzero(mask.ravel())
    at = np.where(mask, start, centre)
    losses, slopes, curvatures = sums(features, yes, weight, at)
    before = losses + (precision * (at - centre) ** 2).sum(axis=(1, 2)) / 2
    for _ in range(50):
        slopes = slopes + precision * (at - centre)
        steps = np.zeros_like(at)
        for one, slope, curvature in zip(steps, slopes, curvatures, strict=True):
            total = curvature + np.diag(precision.ravel())
            solved = np.linalg.solve(total[np.ix_(chosen, chosen)], slope.ravel()[chosen])
            one.reshape(size)[chosen] = solved
        while True:
            losses, slopes, curvatures = sums(features, yes, weight, at - steps)
            after = losses + (precision * (at - steps - centre) ** 2).sum(axis=(1, 2)) / 2
            worse = after > before
            if not worse.any():
                break
            steps[worse] /= 2  # the loss is convex: a step that is short enough makes it smaller
            if np.abs(steps[worse]).max() < 1e-12:
                steps[worse] = 0
        at = at - steps
        gained = before - after
        if (gained < 1e-3).all():  # of a sum over all points; the next step would be far smaller
            break
        before = after
    return at


def sums(features: Any, yes: Any, weight: Any, at: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Loss, its slope and its curvature, summed over the points of each problem."""
    import torch

    n_batch, n, k = features.shape
    t = yes.shape[2]
    scores = features @ to_device(at, features.device).transpose(1, 2)
    p = probabilities(scores)
    loss = (weight * log_loss(scores, yes)).sum(dim=1)
    slope = in_pieces(weight[..., None] * (p - yes), features)
    products = (p[..., None] * features[:, :, None, :]).reshape(n_batch, n, t * k)
    weighted = weight[..., None] * products
    own = in_pieces(weighted, features).reshape(n_batch, t, k, k)
    curvature = -in_pieces(weighted, products).reshape(n_batch, t, k, t, k)
    for task in range(t):
        curvature[:, task, :, task, :] += own[:, task]
    flat = torch.cat(
        [loss[:, None], slope.reshape(n_batch, -1), curvature.reshape(n_batch, -1)], dim=1
    )
    host = flat.cpu().numpy()  # the only wait for the device
    return (
        host[:, 0],
        host[:, 1 : 1 + t * k].reshape(n_batch, t, k),
        host[:, 1 + t * k :].reshape(n_batch, t * k, t * k),
    )


def in_pieces(left: Any, right: Any) -> Any:
    """left^T right for each problem, as a sum of products of pieces."""
    import torch

    n_batch, n, _ = left.shape
    missing = -n % PIECES
    if missing:
        left, right = (torch.nn.functional.pad(one, (0, 0, 0, missing)) for one in (left, right))
    left, right = (one.reshape(n_batch * PIECES, -1, one.shape[-1]) for one in (left, right))
    product = left.transpose(1, 2) @ right
    return product.reshape(n_batch, PIECES, *product.shape[1:]).sum(dim=1)

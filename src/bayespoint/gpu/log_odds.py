"""Log-odds from outputs, learned on a device; see ``bayespoint.posteriors.log_odds``.

All numbers stay on the device, but for a few by which the host decides whether to go on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bayespoint.gpu import source
from bayespoint.gpu.arrays import to_device
from bayespoint.tools.arrays import is_tensor, softmax, to_host

PIECES = 60  # of the points: sums over many points are sums of pieces, on all multiprocessors
ENOUGH = 1e-3  # gain of a last step in a sum of losses
SMALL_STEP = 1e-6  # of a logarithm: the next step of Newton's iteration would be far smaller


def in_whole_pieces(f: Any, yes: Any, copies: Any) -> tuple[Any, Any, Any]:
    """The same, labels as numbers, and points of weight 0 that make pieces of equal size."""
    from torch.nn.functional import pad

    n_more = -len(f) % PIECES
    f, yes = (pad(one.double(), (0, 0, 0, n_more)) for one in (f, yes))
    return f, yes, pad(copies, (0, n_more))


def log_loss(scores: Any, yes: Any) -> Any:
    """Minus the log-probability of each point's class."""
    import torch

    if scores.shape[-1] == 1:
        return -torch.nn.functional.logsigmoid(scores * (2 * yes - 1))[..., 0]
    return -(scores.log_softmax(dim=-1) * yes).sum(dim=-1)


def probabilities(scores: Any) -> Any:
    """Probability of "yes" of the only task, or of each class."""
    if scores.shape[-1] > 1:
        return softmax(scores)
    return scores.sigmoid() if is_tensor(scores) else expit(scores)


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
    size = np.sqrt(square / total) if total else 0.0
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
        return source.scale_sums(outputs, copies, scale)
    p = probabilities(scale * outputs)
    along = (p * outputs).sum(dim=1)
    spread = (p * outputs**2).sum(dim=1) - along**2
    return float(copies @ along), float(copies @ spread)


def logistic(
    features: Any,
    yes: Any,
    copies: Any,
    mask: NDArray[np.bool_],
    start: Any,
    prior: tuple[NDArray, NDArray],
) -> tuple[Any, Any]:
    """Coefficients, by Newton steps from ``start``, and the inverse of their Hessian."""
    import torch

    chosen = to_device(np.flatnonzero(mask).astype(np.int32), features.device)
    there = tuple(to_device(one, features.device) for one in prior)
    problem = features[None], yes[None], copies[None]
    ahead, sums = newton(*problem, chosen, there, start[None])
    return ahead[0], torch.cholesky_inverse(factors(sums, chosen.long(), there[1])[0])


def newton(
    features: Any, yes: Any, copies: Any, chosen: Any, prior: tuple[Any, Any], start: Any
) -> tuple[Any, Any]:
    """Coefficients of a batch of problems; those that are not chosen are those of the prior.

    Returns the sums of the last step as well; what this changes is below the rounding of the loss.
    """
    import torch

    at, index = prior[0].repeat(len(start), 1, 1), chosen.long()
    at.flatten(1)[:, index] = start.flatten(1)[:, index]
    sums = sum_up(features, yes, copies, at)
    ahead, loss, gain = step_from(sums, at, chosen, prior)
    for _ in range(50):
        if gain.max() < ENOUGH:
            return ahead, sums
        there = sum_up(features, yes, copies, ahead)
        further, after, next_gain = step_from(there, ahead, chosen, prior)
        worse = after > loss + 1e-9 * np.abs(loss)
        if worse.any():  # the loss is convex: a step that is short enough makes it smaller
            halfway = torch.as_tensor(worse, device=at.device)[:, None, None]
            ahead = torch.where(halfway, (at + ahead) / 2, ahead)
            continue
        at, ahead, sums, loss, gain = ahead, further, there, after, next_gain
    return at, sums


def step_from(
    sums: Any, at: Any, chosen: Any, prior: tuple[Any, Any]
) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
    """Where a Newton step leads, the losses before it, and what it gains of a quadratic one."""
    if uses_source(at):
        ahead, numbers = source.newton_step(sums, at, chosen, prior)
    else:
        ahead, numbers = step_by_factors(sums, at, chosen.long(), prior)
    loss, gain = to_host(numbers).T  # the only wait for the device
    return ahead, loss, gain


def step_by_factors(sums: Any, at: Any, chosen: Any, prior: tuple[Any, Any]) -> tuple[Any, Any]:
    """What ``newton_step`` of the source gives, by functions of torch."""
    import torch

    centre, precision = prior
    size = centre.numel()
    loss, slope, _ = sums.split([1, size, size**2], dim=1)
    pull = precision * (at - centre)
    slope = (slope + pull.flatten(1))[:, chosen]
    steps = torch.cholesky_solve(slope[:, :, None], factors(sums, chosen, precision))[:, :, 0]
    ahead = at.clone()
    ahead.flatten(1)[:, chosen] -= steps
    of_prior = (pull * (at - centre)).sum(dim=(1, 2))
    gain = torch.linalg.vecdot(slope, steps)
    return ahead, torch.stack([loss[:, 0] + of_prior / 2, gain / 2], dim=1)


def factors(sums: Any, chosen: Any, precision: Any) -> Any:
    """Triangular factors of the Hessians of the coefficients that are chosen."""
    import torch

    size = precision.numel()
    curvature = sums[:, 1 + size :].view(-1, size, size)[:, chosen][:, :, chosen]
    return torch.linalg.cholesky_ex(curvature + torch.diag(precision.flatten()[chosen]))[0]


def sum_up(features: Any, yes: Any, copies: Any, at: Any) -> Any:
    """Loss, its slope and its curvature at some coefficients: a row for each problem.

    Curvatures, which only decide how fast the steps converge, are sums of float32 products.
    """
    if uses_source(at):
        return source.logistic_sums(features, codes_of(yes), copies, at)
    return sums_by_products(features, yes, copies, at)


def uses_source(at: Any) -> bool:
    """Whether the CUDA source is made for coefficients of this shape."""
    _, t, k = at.shape
    fits = t > 1 and t * k < source.LEFT and (t + 1) * k <= source.RIGHT
    return at.device.type == "cuda" and fits


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
    p, loss = probabilities(scores), torch.linalg.vecdot(copies, log_loss(scores, yes))
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

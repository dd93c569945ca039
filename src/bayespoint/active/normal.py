r"""Expectations over Gaussian outputs, by quadrature.

The trapezoidal rule converges exponentially for analytic functions that die out at both ends, and
needs no more than equal steps: :math:`E[F(t)] \approx h \sum_k \varphi(t_k) F(t_k)`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

STEP = 0.25  # right to 1e-8 for functions as steep as Phi(4 t)
NODES = np.arange(-7.5, 7.5 + STEP, STEP)  # beyond lie 6e-14 of a standard normal
WEIGHTS = STEP * np.exp(-(NODES**2) / 2) / np.sqrt(2 * np.pi)
TINY = np.finfo(np.float64).tiny  # stands for the variance of an output that is always 0


def share_of_largest(mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
    r"""Probability that each of several independent Gaussian outputs is the largest.

    .. math:: P(y) = E_t \prod_{z \ne y} \Phi\left( \frac{m_y + s_y t - m_z}{s_z} \right),
        \quad t \sim N(0, 1)

    Right to 1e-8 where the standard deviations at a point differ by a factor of up to four, as
    those of one machine do; to 1e-3 at a factor of ten.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_points, n_classes)
        Of the outputs.

    Returns
    -------
    ndarray of shape (n_points, n_classes)
        Rows sum to one.
    """
    s = np.sqrt(np.maximum(variance, TINY))
    shares = np.empty(mean.shape)
    for y in range(mean.shape[1]):
        output = mean[:, [y]] + s[:, [y]] * NODES
        below = np.ones_like(output)
        for z in range(mean.shape[1]):
            if z != y:
                below *= ndtr((output - mean[:, [z]]) / s[:, [z]])
        shares[:, y] = below @ WEIGHTS
    return shares / shares.sum(axis=1, keepdims=True)


def probit_information(
    mean: NDArray, variance: NDArray, noise: float, flips: float = 0.0
) -> NDArray[np.float64]:
    r"""Mutual information between a Gaussian output and a label that is a noisy sign of it.

    With :math:`f \sim N(m, s^2)`, :math:`p(\text{yes} | f) = \epsilon + (1 - 2 \epsilon)
    \Phi(f / \beta)` and the entropy :math:`g(u)` of the label at :math:`f = \beta u`, this is
    :math:`g(z) - E[g(f / \beta)]`, where :math:`z = m / \sqrt{\beta^2 + s^2}`. The second term is
    an integral of a bump as narrow as the noise. But g falls to :math:`g(\infty)`, the entropy of a
    flip, like :math:`e^{-u^2/2}`; we put this factor to the Gaussian,

    .. math:: E[g(f/\beta) - g(\infty)] =
        b\,e^{-z^2/2}\,E_t\left[ \tilde g(b z + \sqrt{1 - b^2}\,t) \right],
        \quad \tilde g(u) = e^{u^2/2} (g(u) - g(\infty)), \quad b = \beta / \sqrt{\beta^2 + s^2}

    and are left with a smooth function, for any noise.
    """
    total = np.sqrt(np.maximum(variance + noise**2, TINY))
    z = np.clip(mean / total, -100, 100)  # beyond 40 nothing is left, and squares overflow
    b, spread = noise / total, np.sqrt(variance) / total  # spread^2 = 1 - b^2
    inner = (b * z)[:, None] + spread[:, None] * NODES
    conditional = b * (flat_entropy(inner, flips) @ WEIGHTS)
    return np.exp(-(z**2) / 2) * np.maximum(flat_entropy(z, flips) - conditional, 0)


def flat_entropy(u: NDArray, flips: float = 0.0) -> NDArray[np.float64]:
    r"""Entropy of a label less that of a flip, times exp(u^2 / 2): grows no faster than \|u\|.

    With q the rarer side of a coin of bias Phi(u), and without flips, the entropy is
    :math:`q (-\log q + (1 - q)/q \cdot -\log(1 - q))`. With flips it is the difference of the
    entropies of biases :math:`\epsilon + \delta` and :math:`\epsilon`, :math:`\delta =
    (1 - 2\epsilon) q`, written without the logarithms that would cancel.
    """
    log_q, log_rest = log_ndtr(-np.abs(u)), log_ndtr(np.abs(u))
    q = np.maximum(np.exp(log_q), TINY)
    if flips == 0:
        # The last term tends to 1; both parts of its ratio are rounded to 0 long after that.
        over_q = np.where(q > TINY, (1 - q) / q * -log_rest, 1.0) - log_q
    else:
        delta, honest = (1 - 2 * flips) * q, 1 - flips
        less = (flips + delta) * np.log1p(delta / flips)
        more = (honest - delta) * np.log1p(-delta / honest)
        over_q = (1 - 2 * flips) * np.log(honest / flips) - (less + more) / q
    return np.exp(log_q + u**2 / 2) * over_q

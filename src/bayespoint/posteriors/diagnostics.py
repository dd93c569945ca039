"""How far chains agree, and what their samples are worth.

A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC, Bayesian Analysis 16, 2021.
Arrays of draws have the shape (n_chains, n_draws, ...), as in ArviZ; every number of the further
axes is looked at by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

FEWEST = 4  # draws of a chain, below which half a chain has no variance


def r_hat(draws: NDArray) -> NDArray[np.float64]:
    """Rank-normalised split R-hat: 1 where chains agree, NaN where they are too short to tell.

    The larger of two: for where the draws are, and (folded) for how far they spread.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.posteriors.diagnostics import r_hat
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> print(f"{r_hat(draws):.2f}, {r_hat(draws + [[0], [0], [0], [1]]):.2f}")
    1.00, 1.09
    """
    split = halves(draws)
    if split.shape[1] < FEWEST // 2:
        return np.full(draws.shape[2:], np.nan)
    folded = np.abs(split - np.median(split, axis=(0, 1)))
    return np.fmax(_r_hat(normal_scores(split)), _r_hat(normal_scores(folded)))


def effective_sample_size(draws: NDArray) -> NDArray[np.float64]:
    """Bulk effective sample size: independent draws that tell as much about the middle.

    Examples
    --------
    A chain whose neighbours are correlated with 0.5 is worth (1 - 0.5) / (1 + 0.5) of its length:

    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> from bayespoint.posteriors.diagnostics import effective_sample_size
    >>> noise = np.random.default_rng(0).normal(size=(4, 2500))
    >>> print(f"{effective_sample_size(lfilter([1], [1, -0.5], noise)):.0f}")
    3080
    """
    split = halves(draws)
    if split.shape[1] < FEWEST // 2:
        return np.full(draws.shape[2:], np.nan)
    return _effective(normal_scores(split))


def halves(draws: NDArray) -> NDArray:
    """Every chain cut into two; the middle draw of an odd number is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def normal_scores(draws: NDArray) -> NDArray[np.float64]:
    """Normal quantiles of the ranks among the draws of all chains (Blom's formula)."""
    flat = draws.reshape(draws.shape[0] * draws.shape[1], -1)
    ranks = rankdata(flat, axis=0)
    return ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(draws.shape)


def _variances(draws: NDArray) -> tuple[NDArray, NDArray]:
    """Mean variance within chains, and the pooled estimate that also sees their means."""
    n = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    return within, within * (n - 1) / n + between


def _r_hat(draws: NDArray) -> NDArray[np.float64]:
    within, pooled = _variances(draws)
    # Draws that never change agree if all chains have the same one, else nothing does.
    ratio = np.divide(pooled, within, out=np.full_like(pooled, np.inf), where=within > 0)
    return np.sqrt(np.where(pooled == 0, 1.0, ratio))


def _effective(draws: NDArray) -> NDArray[np.float64]:
    """Size of a sample by the autocorrelations, summed in pairs while these are positive.

    As Stan and ArviZ compute it: after the last positive pair, half of the next even lag counts,
    which helps where the signs of the autocorrelations alternate.
    """
    n_chains, n = draws.shape[:2]
    within, pooled = _variances(draws)
    safe = np.where(pooled > 0, pooled, 1.0)
    rho = 1 - (within - autocovariance(draws).mean(axis=0)) / safe
    rho[0] = 1
    n_pairs = max((n - 1) // 2, 1)
    pairs = rho[: 2 * n_pairs].reshape(n_pairs, 2, *rho.shape[1:]).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    positive[-1] = False  # so that there is a next lag
    monotone = np.minimum.accumulate(np.where(positive, pairs, 0), axis=0)  # Geyer 1992
    following = np.take_along_axis(rho, 2 * positive.sum(axis=0, keepdims=True), axis=0)[0]
    time = -1 + 2 * monotone.sum(axis=0) + np.maximum(following, 0)
    size = n_chains * n / np.maximum(time, 1 / np.log10(n_chains * n))
    return np.where(pooled > 0, size, n_chains * n)


def autocovariance(draws: NDArray) -> NDArray[np.float64]:
    """Sums of products of draws a lag apart, over n, for all lags, by Fourier transform."""
    n = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    length = next_fast_len(2 * n)
    spectrum = rfft(centred, length, axis=1)
    return irfft(np.abs(spectrum) ** 2, length, axis=1)[:, :n] / n

"""Convergence diagnostics of Markov chains: R-hat and effective sample size.

A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC, Bayesian Analysis 16, 2021.
Arrays of draws have the shape (n_chains, n_draws, ...), as in ArviZ. Every element of the further
axes is treated separately.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

FEWEST = 4  # draws per chain; with fewer, half a chain has no variance


def r_hat(draws: NDArray) -> NDArray[np.float64]:
    """Rank-normalised split R-hat: 1 if the chains agree, NaN if they are too short to tell.

    The larger of two values: one for the location of the draws, one (folded) for their spread.

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
    """Bulk effective sample size: the number of independent draws of equal worth for the centre.

    Examples
    --------
    Neighbouring draws with correlation 0.5 are worth (1 - 0.5) / (1 + 0.5) of their number:

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
    """Each chain split in two; the middle draw of an odd number is dropped."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def normal_scores(draws: NDArray) -> NDArray[np.float64]:
    """Normal quantiles of the ranks among the draws of all chains (Blom's formula)."""
    flat = draws.reshape(draws.shape[0] * draws.shape[1], -1)
    ranks = rankdata(flat, axis=0)
    return ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(draws.shape)


def _variances(draws: NDArray) -> tuple[NDArray, NDArray]:
    """Mean variance within chains, and the pooled estimate that includes that of their means."""
    n = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    return within, within * (n - 1) / n + between


def _r_hat(draws: NDArray) -> NDArray[np.float64]:
    within, pooled = _variances(draws)
    # Constant chains agree if all have the same value; otherwise R-hat is infinite.
    ratio = np.divide(pooled, within, out=np.full_like(pooled, np.inf), where=within > 0)
    return np.sqrt(np.where(pooled == 0, 1.0, ratio))


def _effective(draws: NDArray) -> NDArray[np.float64]:
    """Effective sample size from the autocorrelations, summed in pairs while these are positive.

    As Stan and ArviZ compute it: after the last positive pair, half of the next even lag is added,
    which helps if the autocorrelations alternate in sign.
    """
    n_chains, n = draws.shape[:2]
    within, pooled = _variances(draws)
    safe = np.where(pooled > 0, pooled, 1.0)
    rho = 1 - (within - autocovariance(draws).mean(axis=0)) / safe
    rho[0] = 1
    n_pairs = max((n - 1) // 2, 1)
    pairs = rho[: 2 * n_pairs].reshape(n_pairs, 2, *rho.shape[1:]).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    positive[-1] = False  # so that a next lag exists
    monotone = np.minimum.accumulate(np.where(positive, pairs, 0), axis=0)  # Geyer 1992
    following = np.take_along_axis(rho, 2 * positive.sum(axis=0, keepdims=True), axis=0)[0]
    time = -1 + 2 * monotone.sum(axis=0) + np.maximum(following, 0)
    size = n_chains * n / np.maximum(time, 1 / np.log10(n_chains * n))
    return np.where(pooled > 0, size, n_chains * n)


def autocovariance(draws: NDArray) -> NDArray[np.float64]:
    """Autocovariances at all lags, divided by n, by Fourier transform."""
    n = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    length = next_fast_len(2 * n)
    spectrum = rfft(centred, length, axis=1)
    return irfft(np.abs(spectrum) ** 2, length, axis=1)[:, :n] / n

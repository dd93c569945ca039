"""R-hat and effective sample sizes: closed forms, and ArviZ."""

import numpy as np
import pytest
from scipy.signal import lfilter

from bayespoint.posteriors.diagnostics import autocovariance, effective_sample_size, r_hat


def autoregressive(rho, n_chains=4, n_draws=5000, n_numbers=3, seed=0):
    """Stationary chains x_t = rho x_(t-1) + noise."""
    noise = np.random.default_rng(seed).normal(size=(n_chains, n_draws, n_numbers))
    noise[:, 0] /= np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=1)


@pytest.mark.parametrize("rho", [-0.4, 0.0, 0.5, 0.9])
def test_effective_sample_size_of_autoregressive_chains(rho):
    """N (1 - rho) / (1 + rho)."""
    expected = 20_000 * (1 - rho) / (1 + rho)
    np.testing.assert_allclose(effective_sample_size(autoregressive(rho)), expected, rtol=0.2)


def test_r_hat_of_chains_that_agree_and_disagree():
    draws = autoregressive(0.5)
    assert (np.abs(r_hat(draws) - 1) < 0.01).all()
    # One chain of four is elsewhere, or as wide again: where and how far are both seen.
    shifted, wide, drifting = draws.copy(), draws.copy(), draws.copy()
    shifted[0] += 2
    wide[0] *= 4
    drifting += np.linspace(0, 4, draws.shape[1])[:, None]
    for wrong in (shifted, wide, drifting):
        assert (r_hat(wrong) > 1.05).all()
        assert (effective_sample_size(shifted) < 100).all()


def test_ranks_do_not_mind_monotone_functions():
    draws = autoregressive(0.3, n_draws=200)
    np.testing.assert_allclose(effective_sample_size(draws), effective_sample_size(np.exp(draws)))


def test_autocovariance_is_a_sum_of_products():
    draws = autoregressive(0.7, n_draws=31)
    centred = draws - draws.mean(axis=1, keepdims=True)
    slow = [(centred[:, lag:] * centred[:, : 31 - lag]).sum(axis=1) / 31 for lag in range(31)]
    np.testing.assert_allclose(autocovariance(draws), np.stack(slow, axis=1), atol=1e-12)


def test_chains_that_do_not_move():
    still = np.zeros((4, 100, 2))
    still[:, :, 1] = np.arange(4)[:, None]
    assert r_hat(still)[0] == 1
    assert r_hat(still)[1] > 1e6
    assert effective_sample_size(still)[0] == 400
    assert effective_sample_size(still)[1] < 10


def test_chains_too_short_to_tell():
    assert np.isnan(r_hat(np.zeros((4, 3, 2)))).all()
    assert np.isnan(effective_sample_size(np.zeros((4, 3, 2)))).all()
    assert np.isfinite(r_hat(autoregressive(0.1, n_draws=4))).all()


@pytest.mark.parametrize("n_draws", [4, 5, 6, 9, 101, 1000])
@pytest.mark.parametrize("rho", [-0.9, -0.3, 0.0, 0.9, 0.999])
def test_against_arviz(rho, n_draws):
    arviz = pytest.importorskip("arviz", reason="ArviZ is not installed")
    draws = autoregressive(rho, n_draws=n_draws)
    data = arviz.convert_to_dataset(draws)
    np.testing.assert_allclose(r_hat(draws), arviz.rhat(data)["x"].values, rtol=1e-10)
    size = arviz.ess(data)["x"].values
    np.testing.assert_allclose(effective_sample_size(draws), size, rtol=1e-10)

"""Compiled loops of several classes on sparse rows, against plain formulas."""

import numpy as np
import pytest
from scipy.special import log_ndtr

from bayespoint import _core
from bayespoint.posteriors.joint import contrasts, in_classes

NOISE = 0.7


def cavity_of_contrasts(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n_classes - 1), rng.uniform(0.2, 3.0, n_classes - 1)


def settled(m, v, label):
    """The sites of one point that starts without any."""
    shift, rate = np.zeros((2, len(m) + 1))
    for _ in range(5):
        moved = _core.joint_rows.wanted_site(m, v, contrasts(len(m) + 1), label, NOISE, shift, rate)
    assert moved < 1e-10
    return shift, rate


def with_message(m, v, label, shift, rate):
    """Mean and covariance of contrasts with the message of a site, and the message's precision."""
    H, rates = contrasts(len(m) + 1), rate.copy()
    rates[label] = 1 / NOISE
    precision = H.T @ (np.diag(rates) - np.outer(rates, rates) / rates.sum()) @ H
    h = rates * shift.sum() / rates.sum() - shift
    S = np.linalg.inv(np.diag(1 / v) + precision)
    return S @ (m / v + H.T @ h), S, precision


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_sites_are_those_of_dense_covariances(n_classes):
    """There they come from the posterior, which contains them, and not from the cavity."""
    m, v = cavity_of_contrasts(n_classes)
    H, label = contrasts(n_classes), n_classes - 1
    shift, rate = settled(m, v, label)
    mean, S, _ = with_message(m, v, label, shift, rate)
    f, covariance = H @ mean, H @ S @ H.T
    new_shift, new_rate, moved = _core.joint.wanted_sites(
        f[None], covariance[None], np.array([label]), shift[None], rate[None], np.ones(1), NOISE,
        10, 1e-12,
    )  # fmt: skip
    assert moved[0] < 1e-9
    np.testing.assert_allclose(new_shift[0], shift, atol=1e-9)
    np.testing.assert_allclose(new_rate[0], rate, atol=1e-9)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])  # of the variances: weak and strong messages
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_what_is_told_of_each_contrast_gives_its_mean_and_variance(n_classes, size):
    m, v = cavity_of_contrasts(n_classes)
    v = size * v
    H, label = contrasts(n_classes), 1
    rng = np.random.default_rng(1)
    shift, rate = rng.normal(size=n_classes), rng.uniform(0.1, 2.0, n_classes)
    shift[label] = rate[label] = 0.0
    mean, S, precision = with_message(m, v, label, shift, rate)
    e, share, rate_to = _core.joint_rows.told(m, v, H, label, NOISE, shift, rate)
    np.testing.assert_allclose(m + v * e, mean, rtol=1e-7)
    np.testing.assert_allclose(share * v, np.diag(S), rtol=1e-8)
    np.testing.assert_allclose(1 / (1 / v + rate_to), np.diag(S), rtol=1e-8)
    if size == 1e-6:  # hardly anything is known, so the message is that of the contrast alone
        np.testing.assert_allclose(rate_to, np.diag(precision), rtol=1e-4)


def test_the_probability_of_one_of_two_classes_is_exact():
    m, v = np.array([0.4]), np.array([1.7])
    for label, sign in ((0, 1), (1, -1)):  # the contrast is f_0 - f_1 over the root of 2
        found = _core.joint_rows.log_probability(
            m, v, contrasts(2), label, NOISE, *settled(m, v, label)
        )
        assert found == pytest.approx(log_ndtr(sign * m[0] / np.sqrt(v[0] + NOISE)), abs=1e-12)


@pytest.mark.parametrize("n_classes", [3, 6])
def test_the_probability_of_one_of_several_is_near(n_classes):
    m, v = cavity_of_contrasts(n_classes)
    H = contrasts(n_classes)
    exact = _core.orthants.largest(
        (H @ m)[None], in_classes(v[None]) + NOISE * np.eye(n_classes),
        np.random.default_rng(0).random((20_000, n_classes - 2)), np.empty((0, n_classes)),
    )[0]  # fmt: skip
    sites = [settled(m, v, label) for label in range(n_classes)]
    found = [
        _core.joint_rows.log_probability(m, v, H, label, NOISE, *sites[label])
        for label in range(n_classes)
    ]
    np.testing.assert_allclose(np.exp(found), exact, atol=0.02)
    wrong = [
        _core.joint_rows.log_probability(m, v, H, label, NOISE, *np.zeros((2, n_classes)))
        for label in range(n_classes)
    ]
    assert np.abs(np.exp(wrong) - exact).max() > 0.04  # without sites, rivals are independent

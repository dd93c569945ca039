"""Log-odds that are learned on a device are those of NumPy."""

import numpy as np
import pytest

from bayespoint.gpu.forecasts import oob_summary
from bayespoint.left_out import DEPENDENCE, expected_scores
from bayespoint.posteriors.log_odds import learn_log_odds

torch = pytest.importorskip("torch", reason="torch is not installed")


def problem(n, t, seed=0):
    rng = np.random.default_rng(seed)
    outputs = 0.3 * rng.normal(size=(n, t))
    if t == 1:
        yes = rng.random((n, 1)) < 1 / (1 + np.exp(-4 * outputs - 0.3))
    else:
        scores = outputs @ (7 * np.eye(t) + 0.7 * rng.normal(size=(t, t))).T
        noise = -np.log(-np.log(rng.random((n, t))))
        yes = (scores + noise).argmax(axis=1)[:, None] == np.arange(t)
    outputs[::50] = np.nan
    return outputs, np.where(yes, 1, -1), rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "t"), [(301, 1), (60, 3), (4001, 3), (3000, 4)])
def test_the_same_log_odds(n, t, weighted, device):
    outputs, targets, weight = problem(n, t)
    weight = weight if weighted else None
    there = [torch.tensor(array, device=device) for array in (outputs, targets)]
    expected, found = learn_log_odds(outputs, targets, weight), learn_log_odds(*there, weight)
    assert np.allclose(found.matrix, expected.matrix, rtol=1e-5, atol=1e-5)
    assert np.allclose(found.offset, expected.offset, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sign", [1, -1])
def test_outputs_that_say_nothing_or_the_opposite(sign, device):
    targets = np.where(np.arange(40) % 2, 1, -1)[:, None]
    for outputs in (np.zeros((40, 1)), -sign * 0.5 * targets):
        expected = learn_log_odds(outputs, targets)
        found = learn_log_odds(*(torch.tensor(a, device=device) for a in (outputs, targets)))
        assert np.allclose(found.matrix, expected.matrix, rtol=1e-3)  # the loss is flat


@pytest.mark.parametrize("t", [1, 3])
def test_what_they_are_expected_to_score(t, device):
    outputs, targets, weight = problem(500, t)
    log_odds = learn_log_odds(outputs, targets, weight)
    codes = (targets[:, 0] > 0).astype(int) if t == 1 else targets.argmax(axis=1)
    scores, (n, wrong, loss, spread) = oob_summary(
        torch.tensor(outputs, device=device), log_odds.matrix, log_odds.offset, codes, weight, 1.0
    )
    decision = log_odds(outputs)
    assert np.allclose(scores.cpu(), decision, equal_nan=True)
    known = np.isfinite(decision).all(axis=1)
    both = np.concatenate([0 * decision, decision], axis=1) if t == 1 else decision
    p = np.exp(both[known]) / np.exp(both[known]).sum(axis=1, keepdims=True)
    expected = expected_scores(p, codes[known], weight[known])
    assert np.isclose(wrong, expected["error"].value) and np.isclose(loss, expected["log_loss"][0])
    half = 1.959964 * DEPENDENCE * spread
    assert np.isclose(loss + half, expected["log_loss"].high)
    assert n < known.sum()

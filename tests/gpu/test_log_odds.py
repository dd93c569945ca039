"""Log-odds that are learned on a device are those of NumPy."""

import numpy as np
import pytest

from bayespoint.classifier.calibration import expected_scores
from bayespoint.codings import make_coding
from bayespoint.posteriors import FirstVisits, SampledPosterior
from bayespoint.posteriors.log_odds import learn_log_odds
from bayespoint.tools import arrays

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
    posterior = SampledPosterior(np.zeros((1, 1, t)), FirstVisits.none(500, t), log_odds)
    coding = make_coding(np.arange(max(2, t)))
    decision, there = log_odds(outputs), log_odds(torch.tensor(outputs, device=device))
    known = np.isfinite(decision).all(axis=1)
    found = []
    for one in (decision, there):
        answers = posterior.log_probability(one, "bayes_point")
        scores, p = coding.scores(one, *answers), coding.probabilities(*answers)
        assert np.allclose(arrays.to_host(scores), decision, equal_nan=True)
        which, labels, copies = (arrays.beside(one, part) for part in (known, codes, weight))
        found.append(expected_scores(p[which], labels[which], 1e-200 * copies[which]))
    both = np.concatenate([0 * decision, decision], axis=1) if t == 1 else decision
    p = np.exp(both[known]) / np.exp(both[known]).sum(axis=1, keepdims=True)
    expected = expected_scores(p, codes[known], weight[known])
    for name in ("error", "log_loss"):
        assert np.allclose(found[0][name], expected[name])
        assert np.allclose(found[1][name], expected[name])

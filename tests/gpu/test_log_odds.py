"""Log-odds that are learned on a device are those of NumPy."""

from dataclasses import astuple

import numpy as np
import pytest
from tests.posteriors.test_log_odds import lopsided
from tests.posteriors.test_random_labels import random_labels

from bayespoint.classifier.calibration import expected_scores
from bayespoint.codings import make_coding
from bayespoint.gpu import log_odds as on_device
from bayespoint.gpu import source
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
    assert found.follows == expected.follows
    assert found.random_share == pytest.approx(expected.random_share, rel=1e-3)


@pytest.mark.parametrize("n_tasks", [1, 3])
def test_random_labels_on_a_device_as_on_the_cpu(n_tasks, device):
    outputs, targets = random_labels(6000, n_tasks, 0.15)
    expected = learn_log_odds(outputs, targets)
    found = learn_log_odds(*(torch.tensor(a, device=device) for a in (outputs, targets)))
    assert found.random_share == pytest.approx(expected.random_share, rel=1e-3)
    assert expected.random_share > 0.1
    there = found(torch.tensor(outputs, device=device)).cpu().numpy()
    np.testing.assert_allclose(there, expected(outputs), atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_outputs_decide_on_a_device_as_on_the_cpu(n_classes, device):
    outputs, targets = lopsided(6000, n_classes, seed=0)
    found = learn_log_odds(*(torch.tensor(a, device=device) for a in (outputs, targets)))
    assert found.follows
    there = found(torch.tensor(outputs, device=device)).cpu().numpy()
    np.testing.assert_allclose(there, found(outputs), atol=1e-9)


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
        assert np.allclose(astuple(found[0][name]), astuple(expected[name]))
        assert np.allclose(astuple(found[1][name]), astuple(expected[name]))


def logistic_problem(t, device, n=1200):
    """Two problems of multinomial logistic regression, somewhere on their way."""
    outputs, targets, weight = (np.nan_to_num(one) for one in problem(2 * n, t))
    features = np.concatenate([outputs, np.ones((2 * n, 1))], axis=1).reshape(2, n, t + 1)
    at = np.eye(t, t + 1) + 0.1 * np.random.default_rng(1).normal(size=(2, t, t + 1))
    yes, copies = (targets > 0).astype(float).reshape(2, n, t), weight.reshape(2, n)
    return [torch.tensor(one, device=device) for one in (features, yes, copies, at)]


@pytest.mark.parametrize("t", [1, 4])
def test_sums_are_slopes_and_curvatures_of_the_loss(t, device):
    features, yes, copies, at = logistic_problem(t, device, n=on_device.PIECES)

    def loss(at, one):
        return copies[one] @ on_device.log_loss(features[one] @ at.T, yes[one])

    sums = on_device.sum_up(features, yes, copies, at)
    for one in (0, 1):
        there = at[one].clone().requires_grad_(True)
        (slope,) = torch.autograd.grad(loss(there, one), there)
        curvature = torch.autograd.functional.hessian(lambda a, one=one: loss(a, one), at[one])
        size = slope.numel()
        total, found_slope, found_curvature = sums[one].split([1, size, size**2])
        assert torch.isclose(total[0], loss(at[one], one))
        assert torch.allclose(found_slope, slope.flatten())
        assert torch.allclose(found_curvature, curvature.flatten(), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("t", [2, 3, 10])
def test_the_source_of_a_newton_step(t, gpu):
    features, yes, copies, at = logistic_problem(t, gpu)
    prior = (
        torch.eye(t, t + 1, device=gpu).double(),
        torch.full((t, t + 1), 3.0, device=gpu).double(),
    )
    sums = source.logistic_sums(features, yes.argmax(dim=-1), copies, at)
    expected = on_device.sums_by_products(features, yes, copies, at)
    assert torch.allclose(sums, expected, rtol=1e-5, atol=1e-3)
    for chosen in (torch.arange(t * (t + 1)), torch.arange(0, t * (t + 1), 3)):
        ahead, numbers = source.newton_step(expected, at, chosen.int().to(gpu), prior)
        there, others = on_device.step_by_factors(expected, at, chosen.to(gpu), prior)
        assert torch.allclose(ahead, there, rtol=1e-9) and torch.allclose(numbers, others)
    outputs, scale = features[0, :, :-1].contiguous(), 3.0
    on_cpu = on_device.under_softmax(outputs.cpu(), copies[0].cpu(), scale)
    assert np.allclose(source.scale_sums(outputs, copies[0], scale), on_cpu)

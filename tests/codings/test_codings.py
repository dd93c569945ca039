"""Classes as tasks and back: one rule for decisions and probabilities, leave-one-out errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from bayespoint.classifier.calibration import expected_scores
from bayespoint.codings import BinaryCoding, OneVersusRest, make_coding
from bayespoint.likelihoods import ProbitLikelihood

LETTERS = np.array(list("abcde"))


def probabilities(decisions, scale):
    """Of decisions (n, n_tasks) whose tasks have these scales."""
    coding = make_coding(np.arange(max(2, decisions.shape[1])))
    return coding.probabilities(*ProbitLikelihood(scale).log_likelihood(decisions))


def test_two_classes_reduce_to_phi():
    decisions = np.linspace(-3, 3, 50)[:, None]
    found = probabilities(decisions, 0.7)
    np.testing.assert_allclose(found[:, 1], norm.cdf(decisions[:, 0] / 0.7), atol=1e-14)
    np.testing.assert_allclose(found[:, 0], norm.cdf(-decisions[:, 0] / 0.7), atol=1e-14)


@settings(deadline=None)
@given(
    decisions=st.sampled_from([1, 3, 4, 5]).flatmap(
        lambda n: arrays(float, (4, n), elements=st.floats(-1e9, 1e9))
    ),
    scale=st.sampled_from([0.0, 1e-12, 0.3, 1e6]),
)
def test_any_decisions_give_probabilities(decisions, scale):
    found = probabilities(decisions, scale)
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-9)


@settings(deadline=None)
@given(
    decisions=st.sampled_from([1, 3, 5]).flatmap(
        lambda n: arrays(float, (6, n), elements=st.floats(-1e3, 1e3))
    ),
    seed=st.integers(0, 1000),
)
def test_the_decided_class_is_the_most_probable_one_whatever_the_scales(decisions, seed):
    """Tasks of unequal scales and flip rates: the rule that argmax of outputs would break."""
    rng, n_tasks = np.random.default_rng(seed), decisions.shape[1]
    coding = make_coding(np.arange(max(2, n_tasks)))
    likelihood = ProbitLikelihood(10 ** rng.uniform(-3, 3, n_tasks), rng.uniform(0, 0.4, n_tasks))
    logs = likelihood.log_likelihood(decisions)
    decided, found = coding.decide(coding.scores(decisions, *logs)), coding.probabilities(*logs)
    assert (np.take_along_axis(found, decided[:, None], axis=1)[:, 0] == found.max(axis=1)).all()


def test_the_largest_output_is_another_rule():
    """The negative control of the test above."""
    decisions = np.array([[1.0, 0.5, -1.0]])
    found = probabilities(decisions, np.array([10.0, 0.1, 1.0]))
    assert decisions.argmax() != found.argmax()


def by_odds(q):
    return OneVersusRest(np.arange(len(q))).probabilities(np.log(q), np.log1p(-q))


def by_normalising(q):
    """A wrong rule."""
    return q / q.sum()


@pytest.mark.parametrize(("rule", "is_right"), [(by_odds, True), (by_normalising, False)])
def test_exactly_one_yes(rule, is_right):
    """p_y is the share of y where independent answers of chances q happen to have one yes."""
    q = np.array([0.85, 0.5, 0.3, 0.05])
    rng = np.random.default_rng(0)
    yes = rng.random((200_000, 4)) < q
    alone = yes[yes.sum(axis=1) == 1]
    share = alone.mean(axis=0)
    error = np.sqrt(share * (1 - share) / len(alone))
    assert (np.abs(share - rule(q)) < 5 * error).all() == is_right


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_encoded_labels_are_decided_as_they_were(n_classes):
    coding, codes = make_coding(LETTERS[:n_classes]), np.arange(40) % n_classes
    targets = coding.encode(codes)
    assert targets.shape == (40, coding.n_tasks)
    assert set(np.unique(targets)) == {-1, 1}
    assert np.array_equal(coding.decide(targets), codes)
    assert len(coding.task_names) == coding.n_tasks


@pytest.mark.parametrize("n_classes", [2, 4])
def test_left_out_error_by_a_loop(n_classes):
    rng, coding = np.random.default_rng(0), make_coding(LETTERS[:n_classes])
    codes = rng.integers(n_classes, size=50)
    targets, weight = coding.encode(codes), rng.integers(1, 4, size=50)
    p = rng.uniform(0.05, 0.95, size=targets.shape)  # of the label that each point has
    wrong = 0.0
    for i, code in enumerate(codes):
        odds = [(q if t > 0 else 1 - q) for q, t in zip(p[i], targets[i], strict=True)]
        answer = int(odds[0] > 0.5) if n_classes == 2 else int(np.argmax(odds))
        wrong += weight[i] * (answer != code)
    answers = coding.left_out(np.log(p), codes)
    found = expected_scores(coding.probabilities(*answers), codes, weight)["error"].value
    assert found == pytest.approx(wrong / weight.sum())
    # The largest error of a task against the rest is something else.
    if n_classes > 2:
        assert found > (weight @ (p < 0.5) / weight.sum()).max()


def test_certain_labels_have_a_left_out_error_too():
    coding = OneVersusRest(LETTERS[:3])
    log_p = np.array([[0.0, 0.0, 0.0], [-np.inf, -np.inf, 0.0]])
    codes = np.array([0, 1])
    p = coding.probabilities(*coding.left_out(log_p, codes))
    assert expected_scores(p, codes)["error"].value == 0.5


def test_shares_of_samples():
    outputs = np.array([[[1.0], [-2.0], [0.0], [3.0]]])
    shares = BinaryCoding(LETTERS[:2]).sample_shares(outputs)
    np.testing.assert_allclose(shares, [[0.375, 0.625]])
    outputs = np.array([[[1.0, 2.0, 0.0], [-1.0, -3.0, -2.0], [0.0, 0.1, 0.05], [5.0, 6.0, 7.0]]])
    np.testing.assert_allclose(
        OneVersusRest(LETTERS[:3]).sample_shares(outputs), [[0.25, 0.5, 0.25]]
    )

"""Mixtures of posteriors against their members."""

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.active import bald, entropy
from bayespoint.kernels import RadialKernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
NEW = RNG.normal(size=(20, 2))
LABELS = {2: (X[:, 0] > 0).astype(int), 3: (X @ RNG.normal(size=(2, 3))).argmax(axis=1)}
PARTS = [
    (0.3, {"kernel": "linear", "temperature": 2.0}),
    (0.7, {"kernel": RadialKernel(gamma=0.5), "temperature": 0.7}),
]


@pytest.fixture(scope="module", params=[2, 3])
def machines(request):
    y = LABELS[request.param]
    whole = BayesPointClassifier(mixture=PARTS, multi_class="one_vs_rest", temperature=1.0)
    whole.fit(X, y)
    return whole, [
        (w, BayesPointClassifier(**params, multi_class="one_vs_rest").fit(X, y))
        for w, params in PARTS
    ]


def mixed(parts, function):
    return sum(weight * function(machine) for weight, machine in parts)


def test_probabilities_votes_and_shares(machines):
    whole, parts = machines
    for name in ("predict_proba", "vote_shares", "class_shares"):
        expected = mixed(parts, lambda machine, name=name: getattr(machine, name)(NEW))
        np.testing.assert_allclose(getattr(whole, name)(NEW), expected, atol=1e-12)
    equal = sum(machine.predict_proba(NEW) for _, machine in parts) / 2
    assert np.abs(whole.predict_proba(NEW) - equal).max() > 0.01  # weights matter


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("multi_class", ["joint", "one_vs_rest"])
def test_one_temperature_for_the_whole(n_classes, multi_class):
    y = LABELS[n_classes]

    def fitted(temperature, parts=PARTS):
        clf = BayesPointClassifier(mixture=parts, multi_class=multi_class, temperature=temperature)
        return clf.fit(X, y)

    def warmed(p, temperature):
        warm = p ** (1 / temperature)
        return warm / warm.sum(axis=1, keepdims=True)

    one, three, best = (fitted(temperature) for temperature in (1.0, 3.0, "auto"))
    np.testing.assert_allclose(
        three.predict_proba(NEW), warmed(one.predict_proba(NEW), 3.0), atol=1e-9
    )
    found = best.coding_.temperature
    losses = [
        fitted(found**power).expected_scores_["log_loss"].value for power in (0.8, 1, 110 / 60, 2.5)
    ]  # log T is worth 60 / (60 + 50) of that of the best
    assert losses[2] == min(losses) < losses[3]
    own = fitted(1.0, [(1.0, PARTS[0][1])])  # of a single machine: its own and that of the whole
    both = fitted(1.5, [(1.0, PARTS[0][1])])
    np.testing.assert_allclose(
        both.predict_proba(NEW), warmed(own.predict_proba(NEW), 1.5), atol=1e-9
    )


def test_moments_are_those_of_draws(machines):
    whole, _ = machines
    mean, variance = whole.latent_mean_and_variance(NEW)
    drawn = whole.draw_outputs(NEW, 20_000, random_state=0)
    drawn = drawn if mean.ndim == 2 else drawn[:, :, 0]
    error = np.sqrt(variance / 20_000)
    assert (np.abs(drawn.mean(axis=1) - mean) < 5 * error).all()
    np.testing.assert_allclose(drawn.var(axis=1), variance, rtol=0.15)


def test_the_mean_is_the_bayes_point(machines):
    whole, _ = machines
    outputs = whole.model_.space.transform(NEW) @ whole.posterior_.mean
    mean = whole.latent_mean_and_variance(NEW)[0].reshape(outputs.shape)
    np.testing.assert_allclose(outputs, mean, atol=1e-10)


def test_active_learning(machines):
    whole, _ = machines
    assert np.isfinite(bald(whole, NEW, random_state=0)).all()
    assert (entropy(whole, NEW) >= 0).all()


def test_left_out_error_of_linear_members_alone():
    """All members linear: the mixture has coefficients."""
    parts = [(0.5, {"kernel": "linear", "temperature": t}) for t in (1.0, 3.0)]
    clf = BayesPointClassifier(mixture=parts).fit(X, LABELS[2])
    single = BayesPointClassifier(kernel="linear").fit(X, LABELS[2])
    np.testing.assert_allclose(clf.coef_, single.coef_, rtol=1e-9)
    assert clf.left_out_error_ == single.left_out_error_

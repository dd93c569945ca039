"""Gaussian posteriors by kernel values against those by coordinates."""

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.classifier import model
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.kernels import (
    AdditiveKernel,
    ConstantKernel,
    ExponentialKernel,
    MaternKernel,
    PolynomialKernel,
    RadialKernel,
)
from bayespoint.posteriors import GaussianPosterior
from bayespoint.posteriors.gaussian import ValuePosterior, by_values, told

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
X[:5] = X[5:10]  # the basis has fewer points
NEW = np.vstack([1.5 * RNG.normal(size=(40, 3)), X[:10], np.full((1, 3), 50.0)])
LABELS = {2: (X[:, 0] * X[:, 1] > 0).astype(int), 3: (X @ RNG.normal(size=(3, 3))).argmax(axis=1)}
KERNELS = {
    "rbf": RadialKernel(gamma=0.5),
    "sum": 30.0 * RadialKernel(gamma=0.3) + 3 * PolynomialKernel(gamma=0.3) + ConstantKernel(),
    "rough": 9.0 * ExponentialKernel(gamma=1.0, ranks=True) + AdditiveKernel() + ConstantKernel(),
    "cubic": PolynomialKernel(degree=3, coef0=1.0),
    "normalised": MaternKernel() + PolynomialKernel(coef0=1.0, normalize=True),
    "constant": ConstantKernel(),
}


def fitted(kernel, n_classes=2, engine=None, **settings):
    engine = engine or ExpectationPropagation(prior_scale=2.0)
    clf = BayesPointClassifier(
        kernel=kernel, engine=engine, multi_class="one_vs_rest", temperature=1.0, **settings
    )
    return clf.fit(X, LABELS[n_classes]).model_


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_moments(name, n_classes):
    machine = fitted(KERNELS[name], n_classes)
    view, posterior = by_values(machine.space, machine.posterior)
    assert isinstance(posterior, ValuePosterior)
    expected = machine.posterior.latent(machine.space.transform(NEW))
    for some in (slice(None), slice(3, 4)):  # many rows, and one
        found = posterior.latent(view(NEW[some]))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b[some], rtol=1e-7, atol=1e-7)
    values, square = view(NEW)
    told = [np.square(values @ factor).sum(axis=1) for factor in posterior.factor]
    wrong = square[:, None] - np.stack(told, axis=1)  # without the scale of the prior
    assert np.abs(wrong - expected[1]).max() > 0.1


def test_other_engines_of_gaussians():
    machine = fitted(KERNELS["sum"], engine=LaplaceApproximation(prior_scale=2.0))
    view, posterior = by_values(machine.space, machine.posterior)
    assert isinstance(posterior, ValuePosterior)
    expected = machine.posterior.decision(machine.space.transform(NEW), "bayes_point")
    np.testing.assert_allclose(
        posterior.decision(view(NEW), "bayes_point"), expected, rtol=1e-7, atol=1e-9
    )


def test_where_values_do_not_tell_the_same():
    """A basis that neglects something, and labels that make outputs less certain."""
    small = fitted(RadialKernel(gamma=0.5), n_components=20)
    assert small.space.left > 0.01
    assert by_values(small.space, small.posterior) == (small.space.transform, small.posterior)
    linear = fitted("linear")
    assert by_values(linear.space, linear.posterior) == (linear.space.transform, linear.posterior)
    machine = fitted(RadialKernel(gamma=0.5))
    factor = machine.posterior.factor.copy()
    factor[0, 0, 0] = 3.0  # more than the scale of the prior
    vague = GaussianPosterior(machine.posterior.mean, factor, machine.posterior.likelihood)
    assert by_values(machine.space, vague) == (machine.space.transform, vague)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_mixtures_predict_by_values(n_classes):
    parts = [(0.3, {"kernel": "linear"}), (0.7, {"kernel": KERNELS["sum"]})]
    settings = {"mixture": parts, "multi_class": "one_vs_rest"}
    machine = BayesPointClassifier(**settings).fit(X, LABELS[n_classes]).model_
    assert isinstance(machine.quick[1].members[1], ValuePosterior)
    names = ("predict_proba", "vote_shares", "class_shares", "decision_function")
    quick = [getattr(machine, name)(NEW) for name in names]
    vars(machine)["quick"] = None, machine.posterior  # by coordinates
    for name, found in zip(names, quick, strict=True):
        np.testing.assert_allclose(found, getattr(machine, name)(NEW), rtol=1e-7, atol=1e-8)


def test_parts_of_rows_are_put_together(monkeypatch):
    parts = [(0.3, {"kernel": "linear"}), (0.7, {"kernel": KERNELS["sum"]})]
    machine = BayesPointClassifier(mixture=parts).fit(X, LABELS[3]).model_
    expected = machine.predict_proba(NEW)
    monkeypatch.setattr(model, "FEW", 7)
    monkeypatch.setattr(model, "CACHED", 1)
    np.testing.assert_allclose(machine.predict_proba(NEW), expected, rtol=1e-12)


def test_another_decision_after_the_fit_uses_the_same_form(monkeypatch):
    parts = [(0.3, {"kernel": "linear"}), (0.7, {"kernel": KERNELS["sum"]})]
    clf = BayesPointClassifier(mixture=parts, decision="vote").fit(X, LABELS[2])
    expected = clf.predict_proba(NEW)
    clf = BayesPointClassifier(mixture=parts, temperature=1.0).fit(X, LABELS[2])
    monkeypatch.setattr(model, "by_values", None)  # what finds the form
    clf.decision = "vote"
    np.testing.assert_allclose(clf.predict_proba(NEW), expected, rtol=1e-12)


def test_what_labels_tell_follows_from_any_factor():
    """Triangular factors have a quicker square, which would be wrong of others."""
    F = np.triu(RNG.uniform(-1, 1, (90, 90))) / 90 + 0.5 * np.eye(90)
    turned = F @ np.linalg.qr(RNG.normal(size=F.shape))[0]
    for factor in (F, turned):
        D = told(factor)
        assert not np.tril(D, -1).any()
        np.testing.assert_allclose(D @ D.T, np.eye(90) - F @ F.T, atol=1e-11)

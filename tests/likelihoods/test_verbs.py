"""What likelihoods offer to engines: sites by quadrature, slopes by differences, for each one."""

import numpy as np
import pytest
from scipy.stats import norm

from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.likelihoods import (
    LIKELIHOODS,
    Likelihood,
    LogisticLikelihood,
    OrdinalLogisticLikelihood,
    OrdinalProbitLikelihood,
    ProbitLikelihood,
    StudentLikelihood,
)
from bayespoint.likelihoods.base import find_likelihood, names_with

THRESHOLDS = np.array([-1.0, 0.2, 1.5])
LAWS = {
    "probit": ProbitLikelihood(0.7),
    "flips": ProbitLikelihood(0.7, 0.1),
    "logistic": LogisticLikelihood(),
    "student": StudentLikelihood(0.7),
    "student with flips": StudentLikelihood(0.7, 0.1),
    "ordered probit": OrdinalProbitLikelihood(THRESHOLDS, 0.7),
    "ordered logistic": OrdinalLogisticLikelihood(THRESHOLDS),
}
CAVITIES = [(0.3, 1.0), (-2.0, 0.5), (-1.0, 4.0), (5.0, 0.01), (-9.0, 2.0), (3.0, 100.0)]


def labels_of(law):
    """All labels of a likelihood's kind."""
    return np.array([-1, 1]) if law.kind == "sign" else np.arange(len(THRESHOLDS) + 1)


def log_p(law, label, outputs):
    """Logarithms of p(label | outputs), from what predictions use."""
    yes, no = law.log_likelihood(law.margins(outputs[:, None]))
    if law.kind == "sign":
        return (yes if label > 0 else no)[:, 0]
    return yes[:, label]


def tilted(law, label, mean, variance):
    """Logarithm of the probability of a label, and mean and variance of f given it.

    By the trapezoidal rule, which is exact to rounding for smooth functions that vanish at both
    ends; most of the mass lies between the mean and the mode.
    """
    s = np.sqrt(variance)
    f = np.linspace(mean - 20 * s, mean + 20 * s, 100_001)
    logs = log_p(law, label, f) + norm.logpdf(f, mean, s)
    mass = np.exp(logs - logs.max())
    total, first = mass.sum(), f @ mass / mass.sum()
    log_total = np.log(total * (f[1] - f[0])) + logs.max()
    return log_total, first, np.square(f - first) @ mass / total


def with_verb(verb):
    return pytest.mark.parametrize(
        "law", [pytest.param(law, id=name) for name, law in LAWS.items() if law.offers(verb)]
    )


def test_all_likelihoods_of_single_outputs_are_here():
    single = {one for one in LIKELIHOODS if issubclass(one, Likelihood)}
    assert {type(law) for law in LAWS.values()} == single
    assert all(one.offers("site") or one.offers("slopes") for one in single)


def misfit(law, label, mean, variance):
    """The largest error of a site: log p, mean and deviation, in deviations of the cavity."""
    label, m, v = np.array([label]), np.array([mean]), np.array([variance])
    found, a, b = (float(one[0]) for one in law.site(label, m, v))
    narrowed = variance / (1 + variance * b)
    expected = tilted(law, label[0], mean, variance)
    s = np.sqrt(variance)
    return max(
        abs(found - expected[0]) / max(1, abs(found)),
        abs(narrowed * (mean / variance + a) - expected[1]) / s,
        abs(narrowed / expected[2] - 1),
    )


@with_verb("site")
@pytest.mark.parametrize(("mean", "variance"), CAVITIES)
def test_sites_match_moments(law, mean, variance):
    for label in labels_of(law):
        assert misfit(law, label, mean, variance) < 1e-7


@with_verb("site")
def test_a_site_of_another_cavity_does_not_match(law):
    class Wrong(type(law)):
        def site(self, labels, mean, variance):
            return super().site(labels, mean + 0.01, variance)

    wrong = Wrong.__new__(Wrong)
    vars(wrong).update(vars(law))
    assert max(misfit(wrong, label, 0.3, 1.0) for label in labels_of(law)) > 1e-3


@with_verb("site")
def test_precisions_are_negative_only_where_the_likelihood_is_not_concave(law):
    labels, mean, variance = np.meshgrid(
        labels_of(law), np.linspace(-12, 12, 49), [0.01, 1.0, 50.0], indexing="ij"
    )
    log_label, a, b = law.site(labels, mean, variance)
    assert log_label.shape == a.shape == b.shape == mean.shape
    assert np.isfinite([log_label, a, b]).all() and (log_label <= 0).all()
    assert (b.min() >= 0) == law.is_log_concave
    assert (1 + variance * b > 0).all()  # a variance is left


@with_verb("site")
def test_arguments_are_broadcast(law):
    labels, mean = labels_of(law), np.linspace(-2, 2, 5)[:, None]
    together = law.site(labels, mean, np.array(1.5))
    for one in range(len(labels)):
        alone = law.site(np.full(5, labels[one]), mean[:, 0], np.full(5, 1.5))
        np.testing.assert_array_equal([part[:, one] for part in together], alone)


@with_verb("slopes")
def test_slopes_are_those_of_differences(law):
    f, h = np.linspace(-30, 30, 121), 1e-5
    for label in labels_of(law):
        labels = np.full(len(f), label)
        log_label, slope, bend = law.slopes(labels, f)
        np.testing.assert_allclose(log_label, log_p(law, label, f), rtol=1e-12, atol=1e-14)
        ahead, behind = law.slopes(labels, f + h), law.slopes(labels, f - h)
        np.testing.assert_allclose(slope, (ahead[0] - behind[0]) / (2 * h), atol=1e-8)
        np.testing.assert_allclose(bend, (behind[1] - ahead[1]) / (2 * h), atol=1e-8)
        assert np.abs(bend - (ahead[1] - behind[1]) / (2 * h)).max() > 0.1  # the other sign
        assert (bend.min() >= 0) == law.is_log_concave


def test_engines_say_what_they_need():
    assert "probit" in names_with(ExpectationPropagation.needs)
    assert names_with(LaplaceApproximation.needs) == ("logistic",)
    assert names_with(("site", "slopes")) == ()
    assert find_likelihood("logistic", "interval") is OrdinalLogisticLikelihood
    with pytest.raises(NotImplementedError, match="ProbitLikelihood has no slopes"):
        LAWS["probit"].slopes(np.array([1]), np.array([0.0]))


@pytest.mark.parametrize(
    ("engine", "name"), [(ExpectationPropagation, "logistic"), (LaplaceApproximation, "probit")]
)
def test_a_likelihood_without_what_an_engine_needs(engine, name):
    with pytest.raises(ValueError, match=f"The 'likelihood' parameter .* Got '{name}' instead"):
        engine(likelihood=name).check()

"""Data that are hard on arithmetic: an answer, a clear error or a warning with a remedy."""

import warnings

import numpy as np
import pytest
from tests.helpers.probit import machine, problem

from bayespoint.exceptions import FactorisedWarning, NotConvergedWarning

KINDS = pytest.mark.parametrize(
    "kind",
    [{}, {"schedule": "sequential"}, {"engine": "factorised-ep"}],
    ids=["rounds", "sequential", "diagonal"],
)


def not_separable(noise):
    X, y = problem(40, 3, noise=2.0)
    return X, y, {"noise": noise}


def far_outlier(noise):
    X, y = problem(40, 3)
    X[0] *= 1e4
    return X, -y, {"noise": noise}


def zero_and_rare_features(noise):
    X, y = problem(40, 4, noise=0.3)
    X[:, 1] = 0
    X[:, 2] = 0
    X[7, 2] = 1e3
    return X, y, {"noise": noise}


def scale_of_features(unit, noise):
    X, y = problem(40, 4)
    X[:, 0] *= unit
    return X, y, {"noise": noise}


def more_features_than_samples(noise):
    X, y = problem(8, 80)
    return X, y, {"noise": noise}


def wide_of_low_rank(noise):
    """Outputs, of which there are fewer than weights, lose nearly all of their variance."""
    X, y = problem(12, 2, noise=3.0)
    return np.column_stack([X, np.zeros((12, 18))]), y, {"noise": noise}


def wide_with_a_large_feature(noise):
    X, y = problem(12, 20)
    X[:, 0] *= 1e8
    return X, y, {"noise": noise}


def opposite_labels(noise):
    X, y = problem(20, 3)
    return np.vstack([X, X]), np.append(y, -y), {"noise": noise}


def one_sample_a_class(noise):
    return np.array([[1.0, 2.0], [1.0, 2.1]]), np.array([-1, 1]), {"noise": noise}


def scales_of_the_prior(scale, noise):
    X, y = problem(40, 3)
    return X, y, {"prior_scale": scale, "noise": noise}


def prior_far_away(mean, noise):
    X, y = problem(20, 3)
    return X, y, {"prior_mean": np.full(3, mean), "noise": noise}


CASES = [
    pytest.param(make, arguments, id=f"{make.__name__}{arguments}")
    for make, *many in [
        (not_separable, (1e-3,), (1e-6,), (1e-12,), (0,)),
        (far_outlier, (1.0,), (1e-3,), (0,)),
        (zero_and_rare_features, (1.0,), (1e-6,), (0,)),
        (scale_of_features, (1e-8, 1.0), (1e8, 1.0), (1e8, 0), (1e-8, 0)),
        (more_features_than_samples, (1.0,), (0,)),
        (wide_of_low_rank, (1.0,), (1e-6,), (0,)),
        (wide_with_a_large_feature, (1.0,), (1e-6,)),
        (opposite_labels, (1.0,), (1e-3,), (0,)),
        (one_sample_a_class, (1.0,), (1e-9,), (0,)),
        (scales_of_the_prior, (1e-6, 1.0), (1e6, 1.0), (1e6, 0), (1e-6, 0)),
        (prior_far_away, (1e2, 1.0), (-1e4, 1.0), (1e4, 0), (1e8, 1.0)),
    ]
    for arguments in many
]


def answers(X, y, parameters, sample_weight=None):
    """Fit, and check that whatever comes out is sound; the warnings on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = machine(**{"tol": 1e-6, "max_iter": 60} | parameters)
        clf.fit(X, y, sample_weight=sample_weight)
    for warning in caught:
        assert issubclass(warning.category, (NotConvergedWarning, FactorisedWarning)), warning
        assert "Remedy: " in str(warning.message)
    posterior = clf.posterior_
    for values in (
        posterior.mean,
        posterior.factor,
        clf.log_evidence_,
        clf.predict_proba(X),
        posterior.left_out_log_probability,
        clf.left_out_error_,
    ):
        assert np.isfinite(values).all()
    assert (posterior.covariance.diagonal(axis1=1, axis2=2) > 0).all()
    return clf, caught


@KINDS
@pytest.mark.parametrize("flip", [0.0, 0.02])
@pytest.mark.parametrize(("make", "arguments"), CASES)
def test_sound_answers(make, arguments, kind, flip):
    X, y, parameters = make(*arguments)
    answers(X, y, parameters | kind | {"label_noise": flip})


@pytest.mark.parametrize(("make", "arguments"), CASES)
def test_schedules_that_come_to_rest_agree(make, arguments):
    X, y, parameters = make(*arguments)
    one, other = (
        answers(X, y, parameters | {"schedule": schedule}) for schedule in ("sequential", "rounds")
    )
    assert bool(reason(one)) == bool(reason(other))
    if not reason(one):
        np.testing.assert_allclose(one[0].predict_proba(X), other[0].predict_proba(X), atol=1e-6)
        np.testing.assert_allclose(one[0].log_evidence_, other[0].log_evidence_, rtol=1e-12)


def reason(answer):
    """Why a run did not come to rest."""
    return "".join(
        warning.message.reason
        for warning in answer[1]
        if issubclass(warning.category, NotConvergedWarning)
    )


@KINDS
def test_only_the_ratio_of_prior_and_noise_matters(kind):
    """And a run that shrinks on and on is not at rest."""
    X, y = problem(30, 3)
    X[0, 2] = 1e8
    fits = [
        answers(X, y, kind | {"noise": unit, "prior_scale": 1e4 * unit}) for unit in (1, 1e-3, 1e-6)
    ]
    for clf, caught in fits:
        assert not any(issubclass(w.category, NotConvergedWarning) for w in caught)
        np.testing.assert_allclose(clf.predict_proba(X), fits[0][0].predict_proba(X), rtol=1e-6)
        np.testing.assert_allclose(clf.log_evidence_, fits[0][0].log_evidence_, rtol=1e-8)


@KINDS
@pytest.mark.parametrize("make", [not_separable, far_outlier, opposite_labels])
def test_hard_labels_that_cannot_be_had_are_reported(make, kind):
    X, y, _ = make(0)
    _, caught = answers(X, y, kind | {"noise": 0})
    found = [warning.message for warning in caught if "Not converged" in str(warning.message)]
    assert len(found) == 1
    assert found[0].reason == "the posterior collapsed"
    assert "or more, these classes cannot be separated" in found[0].remedy


@KINDS
@pytest.mark.parametrize("noise", [1.0, 0.1])
def test_weights_over_twelve_decades(kind, noise):
    X, y = problem(40, 3)
    answers(X, y, kind | {"noise": noise}, sample_weight=np.where(np.arange(40) % 2, 1e6, 1e-6))

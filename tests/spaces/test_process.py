"""The space of a Gaussian process: variances where no training point is near."""

import pickle

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.kernels import (
    ConstantKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RadialKernel,
)
from bayespoint.spaces import PrincipalSpace, ProcessSpace, basis
from bayespoint.storage import load, save

EP = ExpectationPropagation(prior_scale=1.0)
KERNELS = {
    "rbf": lambda A, B: rbf_kernel(A, B, gamma=0.5),
    "poly": lambda A, B: polynomial_kernel(A, B, degree=2, gamma=0.5, coef0=1),
}


@pytest.mark.parametrize("engine", [EP, LaplaceApproximation(prior_scale=1.0)], ids=str)
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_outputs_have_the_law_of_the_process(kernel, ridge, engine):
    """Rasmussen and Williams, equations 3.24 and 3.60: messages stand for observed outputs."""
    X, y = problem(30, 2)
    new = np.random.default_rng(1).normal(scale=3, size=(40, 2))
    clf = BayesPointClassifier(
        temperature=1.0, kernel=kernel, degree=2, gamma=0.5, coef0=1, ridge=ridge, engine=engine
    ).fit(X, y)
    k = KERNELS[kernel]
    shift, rate = (part[:, 0] for part in clf.posterior_.messages)
    noisy = k(X, X) + ridge * np.eye(30) + np.diag(1 / rate)
    cross = k(new, X)
    mean, variance = clf.latent_mean_and_variance(new)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(noisy, shift / rate), atol=1e-7)
    explained = np.einsum("ni,in->n", cross, np.linalg.solve(noisy, cross.T))
    np.testing.assert_allclose(variance, np.diag(k(new, new)) - explained, atol=1e-6)


def sparse_prior(X, gamma, n_components):
    """What the kernel matrix becomes: a projection on the basis, and its own diagonal."""
    pivots = ProcessSpace(RadialKernel(gamma=gamma), n_components=n_components).fit(X).pivots
    cross = rbf_kernel(X, X[pivots], gamma=gamma)
    K = cross @ np.linalg.solve(rbf_kernel(X[pivots], gamma=gamma), cross.T)
    K[np.diag_indices(len(X))] = 1.0
    return K, pivots


@pytest.mark.parametrize("noise, scale", [(1.0, 1.0), (0.5, 2.0)])
def test_what_a_basis_leaves_is_noise_of_labels_and_of_new_rows(noise, scale):
    """E. Snelson and Z. Ghahramani (2006): as a process whose prior keeps all variances."""
    X, y = problem(60, 2)
    gamma, engine = 3.0, ExpectationPropagation(noise=noise, prior_scale=scale, tol=1e-10)
    clf = BayesPointClassifier(temperature=1.0, kernel="rbf", gamma=gamma, engine=engine)
    clf.set_params(n_components=30).fit(X, y)
    assert clf.model_.space.noise == noise / scale
    K, pivots = sparse_prior(X, gamma, 30)
    assert len(pivots) == 30 and (K - rbf_kernel(X, gamma=gamma)).std() > 1e-3
    whole = BayesPointClassifier(temperature=1.0, kernel="precomputed", engine=engine).fit(K, y)
    left_out = [one.posterior_.left_out_log_probability for one in (clf, whole)]
    np.testing.assert_allclose(*left_out, atol=1e-6)
    np.testing.assert_allclose(clf.log_evidence_, whole.log_evidence_, atol=1e-6)
    new = np.random.default_rng(1).normal(size=(40, 2))
    shift, rate = (part[:, 0] for part in whole.posterior_.messages)
    basis = scale**2 * rbf_kernel(X[pivots], gamma=gamma)
    cross = scale**2 * rbf_kernel(np.vstack([X, new]), X[pivots], gamma=gamma)
    cross = cross[60:] @ np.linalg.solve(basis, cross[:60].T)
    noisy = scale**2 * K + np.diag(1 / rate)
    mean, variance = clf.latent_mean_and_variance(new)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(noisy, shift / rate), atol=1e-5)
    explained = np.einsum("ni,in->n", cross, np.linalg.solve(noisy, cross.T))
    np.testing.assert_allclose(variance, scale**2 - explained, atol=1e-5)


def test_labels_of_a_small_basis_have_no_noise_of_rests():
    X, y = problem(60, 2)
    clf = BayesPointClassifier(temperature=1.0, kernel="rbf", gamma=3.0, engine=EP)
    assert clf.set_params(n_components=23).fit(X, y).model_.space.noise is None
    assert clf.model_.space.left > 0
    assert clf.set_params(n_components=24).fit(X, y).model_.space.noise == 1
    assert clf.model_.space.left == 0
    for other in (LaplaceApproximation(prior_scale=1.0), ExpectationPropagation()):
        assert clf.set_params(engine=other).fit(X, y).model_.space.noise is None
    three = clf.set_params(engine=EP, multi_class="ordinal").fit(X, y + (X[:, 0] > 1))
    assert three.model_.space.noise is None


def test_messages_are_about_coordinates_of_rows_with_labels():
    X, y = problem(60, 2)
    clf = BayesPointClassifier(temperature=1.0, kernel="rbf", gamma=3.0, engine=EP)
    model = clf.set_params(n_components=30).fit(X, y).model_
    shift, rate = model.posterior.messages

    def mean(Z):
        return np.linalg.solve(np.eye(Z.shape[1]) + (Z * rate).T @ Z, Z.T @ shift)

    found = model.posterior.mean
    np.testing.assert_allclose(mean(model.space.labelled(X)), found, atol=1e-4)
    assert np.abs(mean(model.space.transform(X)) - found).max() > 1e-2


def test_files_have_the_noise_of_a_basis(tmp_path):
    X, y = problem(60, 2)
    clf = BayesPointClassifier(temperature=1.0, kernel="rbf", gamma=3.0, engine=EP)
    save(clf.set_params(n_components=30).fit(X, y), tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.model_.space.noise == 1
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
    again.model_.space.noise = 0.0
    with pytest.raises(ValueError, match="not a number from"):
        again.model_.space.check_state()


def test_far_away_the_prior_remains():
    X, y = problem(30, 2)
    clf = BayesPointClassifier(temperature=1.0, kernel="rbf", gamma=1, engine=EP).fit(X, y)
    mean, variance = clf.latent_mean_and_variance([[50.0, 50.0]])
    assert mean == pytest.approx(0)
    assert variance == pytest.approx(1)
    assert clf.predict_proba([[50.0, 50.0]]) == pytest.approx(0.5)


def test_rows_of_a_matrix_do_not_tell_what_lies_outside():
    X, _ = problem(30, 2)
    K = rbf_kernel(X)
    space = ProcessSpace(PrecomputedKernel()).fit(K)
    assert space.Z_.shape[1] <= 30
    np.testing.assert_allclose(space.transform(K[:5]), space.Z_[:5], atol=1e-6)


def test_principal_axes_do_not_depend_on_the_order():
    X, _ = problem(20, 2)
    order = np.random.default_rng(0).permutation(20)
    one, other = (PrincipalSpace(RadialKernel(gamma=0.5)).fit(points) for points in (X, X[order]))
    np.testing.assert_allclose(np.abs(one.Z_[order]), np.abs(other.Z_), atol=1e-6)
    np.testing.assert_allclose(one.Z_ @ one.Z_.T, rbf_kernel(X, gamma=0.5), atol=1e-8)
    np.testing.assert_allclose(one.transform(X), one.Z_, atol=1e-6)
    gram = other.Z_.T @ other.Z_
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10)


def test_a_fitted_machine_does_not_carry_its_training_points():
    X, y = problem(5000, 10)
    assert (
        len(pickle.dumps(BayesPointClassifier(kernel="linear", temperature=1.0).fit(X, y)))
        < X.nbytes
    )


SUMS = [
    RadialKernel(gamma=0.5),
    PolynomialKernel(degree=2, gamma=3.0, coef0=1.0),
    2.5 * RadialKernel(gamma=0.2) + 1e6 * PolynomialKernel() + 0.5 * ConstantKernel(),
    ConstantKernel(),
]


@pytest.mark.parametrize("kernel", SUMS, ids=range(4))
def test_values_are_those_of_the_kernel(kernel):
    X, new = np.random.default_rng(0).normal(size=(2, 12, 3))
    space = ProcessSpace(kernel).fit(X)
    values, square = space.values()(new)
    z = space.transform(new)[:, : len(space.lower)]
    np.testing.assert_allclose(values, z @ space.lower.T, rtol=1e-9, atol=1e-9 * square.max())
    nearest = np.abs(values[:, :, None] - kernel(new, X)[:, None]).max(axis=0).min(axis=1)
    assert nearest.max() < 1e-9 * square.max()  # each is the value at one of the points
    np.testing.assert_allclose(square, kernel.diag(new), rtol=1e-12)


def test_what_rounding_leaves_of_a_row_does_not_count(monkeypatch):
    """Rows far from 0 and a polynomial: rounding errors of k(x, x) are larger than the noise."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(40, 3)) + 1e4, rng.normal(size=(20, 3)) + 1e4

    def difference():
        clf = BayesPointClassifier(kernel="poly", random_state=0).fit(X, X[:, 0] > 1e4)
        alone = np.vstack([clf.predict_proba(row[None]) for row in new])
        return np.abs(clf.predict_proba(new) - alone).max()

    assert difference() < 1e-6
    monkeypatch.setattr(basis, "ROUNDED", 0.0)
    assert difference() > 0.01

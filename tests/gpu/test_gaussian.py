"""EP and Laplace on a device: the same fixed points, from sums over the points there."""

import pickle
import warnings

import numpy as np
import pytest

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, FactorisedPropagation, LaplaceApproximation
from bayespoint.engines.gaussian.joint.gaussians import WeightJoint, precisions
from bayespoint.engines.gaussian.prior import GaussianPrior, IndependentPrior
from bayespoint.exceptions import KernelError
from bayespoint.gpu import devices
from bayespoint.kernels import RadialKernel, SumKernel
from bayespoint.spaces import BasisSpace, Coordinates, ProcessSpace

torch = pytest.importorskip("torch", reason="torch is not installed")

rng = np.random.default_rng(3)
X = rng.normal(size=(150, 5)).astype(np.float32)
y = (X @ rng.normal(size=(5, 3)) + rng.normal(size=(150, 3))).argmax(axis=1)
weight = rng.integers(1, 3, size=150).astype(float)
BY_CLASS = SumKernel([RadialKernel(gamma=gamma) for gamma in (0.1, 0.2, 0.4)], by_class=True)
KERNELS = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf", "gamma": 0.2},
    "basis": {"kernel": "rbf", "gamma": 0.2, "n_components": 40},
    "by class": {"kernel": BY_CLASS},
    "poly, ridge": {"kernel": "poly", "degree": 2, "gamma": 0.2, "normalize": True, "ridge": 0.1},
}
METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "vote_shares",
    "class_shares",
    "latent_mean_and_variance",
)
ENGINES = {
    "ep": ExpectationPropagation(prior_scale=1.0, tol=1e-9),
    "ep, noise and flips": ExpectationPropagation(
        noise=2.0, label_noise=0.05, prior_scale=1.0, tol=1e-9
    ),
    "laplace": LaplaceApproximation(prior_scale=1.0, tol=1e-9),
}


@pytest.mark.parametrize("name", ["ep", "laplace"])
def test_thresholds_of_ordered_classes_are_those_of_the_cpu(name, device):
    params = {"kernel": "rbf", "gamma": 0.2, "multi_class": "ordinal", "temperature": 1.0}
    here, there = (
        BayesPointClassifier(engine=ENGINES[name], device=where, **params).fit(X, y, weight)
        for where in (None, "cuda")
    )
    thresholds = [one.posterior_.likelihood.thresholds for one in (here, there)]
    np.testing.assert_allclose(*thresholds, rtol=1e-5)
    np.testing.assert_allclose(here.predict_proba(X), there.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(here.log_evidence_, there.log_evidence_, rtol=1e-6)


@pytest.mark.parametrize("params", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("labels", [y, y > 0], ids=["three classes", "two classes"])
@pytest.mark.parametrize("name", ENGINES)
def test_the_fixed_point_is_that_of_the_cpu(name, labels, params, device):
    here, there = (
        BayesPointClassifier(
            engine=ENGINES[name], temperature=1.0, multi_class="one_vs_rest", device=where, **params
        ).fit(X, labels, weight)
        for where in (None, "cuda")
    )
    assert there.run_.converged
    new = rng.normal(size=(30, 5)).astype(np.float32)
    for one, other in zip(
        here.latent_mean_and_variance(new), there.latent_mean_and_variance(new), strict=True
    ):
        assert np.allclose(one, other, rtol=1e-6, atol=1e-6)
    assert np.allclose(here.log_evidence_, there.log_evidence_, rtol=1e-6)
    assert np.allclose(here.predict_proba(new), there.predict_proba(new), atol=1e-6)
    assert np.isclose(here.left_out_error_, there.left_out_error_)
    assert hasattr(here, "feature_relevance_") == hasattr(there, "feature_relevance_")
    if hasattr(here, "feature_relevance_"):
        assert np.allclose(here.feature_relevance_, there.feature_relevance_, atol=1e-6)


@pytest.mark.parametrize("params", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("name", ["ep", "laplace"])
def test_classes_together_have_the_fixed_point_of_the_cpu(name, params, device):
    here, there = (
        BayesPointClassifier(
            engine=ENGINES[name], temperature=1.0, multi_class="joint", device=where, **params
        ).fit(X, y, weight)
        for where in (None, "cuda")
    )
    assert there.coding_.name == "joint" and there.run_.converged
    new = rng.normal(size=(30, 5)).astype(np.float32)
    # Coordinates depend on the order of the points of a basis, outputs do not.
    outputs = [clf.posterior_.outputs(clf.model_.space.transform(new)) for clf in (here, there)]
    for one, other in zip(*outputs, strict=True):
        assert np.allclose(one, other, atol=1e-6)
    assert np.allclose(here.log_evidence_, there.log_evidence_, rtol=1e-6)
    assert np.allclose(here.predict_proba(new), there.predict_proba(new), atol=1e-6)
    assert np.isclose(here.left_out_error_, there.left_out_error_)


def test_a_rate_far_above_the_others_loses_no_digits(device):
    Z = rng.normal(size=(40, 3))
    rate = rng.uniform(0.5, 2, size=(40, 3)) * [1e17, 1, 1]  # a sum of them is the first alone
    prior = IndependentPrior([GaussianPrior(np.zeros(3), np.eye(3))] * 3)
    found = []
    for rows in (Z, torch.from_numpy(Z).to(device)):
        gaussian = WeightJoint(Coordinates(rows), prior)
        gaussian.factorise(rate)
        found.append((gaussian.log_determinant, gaussian.moments()))
    for here, there in zip(*found, strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-9)
    # Rates less the part that they share: a difference of large numbers, which loses all digits.
    plain = rate[:, 0] - rate[:, 0] ** 2 / rate.sum(axis=1)
    assert not np.allclose(plain, precisions(rate)[:, 0, 0], rtol=0.1)


def test_a_named_linear_kernel_joins_classes_as_transform_tensors(device):
    here, there = (
        BayesPointClassifier(kernel="linear", engine="ep", device=where).fit(X, y)
        for where in (None, "cuda")
    )
    assert here.coding_.name == there.coding_.name == "joint"
    scales = [clf.run_.measures["prior_scale"] for clf in (here, there)]
    assert np.allclose(*scales, rtol=1e-5)
    assert np.allclose(here.predict_proba(X), there.predict_proba(X), atol=1e-5)


def test_more_weights_than_points(device):
    few = X[:4]
    here, there = (
        BayesPointClassifier(
            kernel="linear", engine=ENGINES["ep"], multi_class="one_vs_rest", device=where
        ).fit(few, y[:4])
        for where in (None, "cuda")
    )
    assert np.allclose(here.coef_, there.coef_, atol=1e-6)


def test_the_scale_of_the_largest_evidence(device):
    here, there = (
        BayesPointClassifier(
            kernel="rbf", engine="ep", multi_class="one_vs_rest", device=where
        ).fit(X, y)
        for where in (None, "cuda")
    )
    assert np.allclose(here.run_.measures["prior_scale"], there.run_.measures["prior_scale"])
    assert np.allclose(here.predict_proba(X), there.predict_proba(X), atol=1e-5)


def test_what_stays_transform_tensors(device):
    diagonal = FactorisedPropagation()
    with pytest.raises(ValueError, match="has no GPU path"):
        BayesPointClassifier(kernel="linear", engine=diagonal, device="cuda").fit(X, y)
    with pytest.raises(ValueError, match="Name a kernel"):
        BayesPointClassifier(device="cuda").fit(X, y)


def transform_tensors(self, points, transform=BasisSpace.transform):
    assert torch.is_tensor(points), "points were transformed on the CPU"
    return transform(self, points)


def check_predictions(clf, device, monkeypatch):
    """Compare the predictions of a device with those of the CPU."""
    new = rng.normal(size=(150, 5)).astype(np.float32)
    clf.set_params(device="cpu")
    expected = {method: getattr(clf, method)(new) for method in METHODS}
    drawn = clf.sample_proba(new, 3, random_state=0)
    monkeypatch.setattr(BasisSpace, "transform", transform_tensors)
    monkeypatch.setattr(ProcessSpace, "device_chunk", lambda self, n_features: 64)
    clf.set_params(device="cuda")
    for method in METHODS:
        plain, tensor = (getattr(clf, method)(one) for one in (new, torch.tensor(new).to(device)))
        alike = [plain, tensor, expected[method]]
        triples = zip(*alike, strict=True) if isinstance(plain, tuple) else [alike]
        for one, other, exact in triples:
            assert isinstance(one, np.ndarray) and other.device == device
            assert np.allclose(one, exact, atol=1e-6, rtol=1e-6)
            assert np.allclose(one, other.cpu(), atol=1e-12)
    assert np.allclose(clf.sample_proba(new, 3, random_state=0), drawn, atol=1e-6)


@pytest.mark.parametrize("fitted_on", [None, "cuda"])
@pytest.mark.parametrize("multi_class", ["joint", "one_vs_rest"])
@pytest.mark.parametrize("params", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("name", ["ep", "laplace"])
def test_predictions_on_a_device(name, params, multi_class, fitted_on, device, monkeypatch):
    params = {"engine": ENGINES[name], "multi_class": multi_class, **params}
    clf = BayesPointClassifier(device=fitted_on, **params).fit(X, y)
    check_predictions(clf, device, monkeypatch)


@pytest.mark.parametrize("labels", [y, y > 0], ids=["three classes", "two classes"])
def test_predictions_of_a_mixture_on_a_device(labels, device, monkeypatch):
    machines = [(0.3, KERNELS["linear"]), (0.4, KERNELS["basis"]), (0.3, KERNELS["by class"])]
    settings = {"mixture": machines, "multi_class": "one_vs_rest"}
    clf = BayesPointClassifier(engine=ENGINES["ep"], **settings).fit(X, labels)
    check_predictions(clf, device, monkeypatch)


@pytest.mark.parametrize("params", [{}, {"n_components": 40}, {"ridge": 0.3}], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["ep", "laplace"])
def test_a_kernel_matrix_on_a_device(name, dtype, params, device, monkeypatch):
    weights = np.where(np.arange(150) % 10, weight, 0.0)  # points and columns that do not count
    new = rng.normal(size=(30, 5))
    kernel = RadialKernel(gamma=0.2)
    K, K_new = kernel(X.astype(float), X.astype(float)), kernel(new, X.astype(float))
    K, K_new = K.astype(dtype), K_new.astype(dtype)
    here, there = (
        BayesPointClassifier(
            kernel="precomputed", engine=ENGINES[name], temperature=1.0, device=where, **params
        ).fit(K, y, weights)
        for where in (None, "cuda")
    )
    before = K_new.copy(), torch.tensor(K, device=device)
    expected, accuracy = here.predict_proba(K_new), 1e-6 if dtype is np.float64 else 1e-4
    assert np.allclose(here.log_evidence_, there.log_evidence_, rtol=accuracy)
    assert np.allclose(there.set_params(device="cpu").predict_proba(K_new), expected, atol=accuracy)
    there.set_params(device="cuda")
    monkeypatch.setattr(BasisSpace, "transform", transform_tensors)
    assert np.allclose(there.predict_proba(K_new), expected, atol=accuracy)
    tensor = there.predict_proba(torch.tensor(K_new, device=device))
    assert np.allclose(tensor.cpu(), expected, atol=accuracy)
    assert np.allclose(here.set_params(device="cuda").predict_proba(K_new), expected, atol=1e-6)
    there.fit(before[1], y)  # which is not changed
    assert np.array_equal(before[1].cpu(), K) and np.array_equal(before[0], K_new)


def test_matrices_that_are_no_kernels(device):
    K = X.astype(float) @ X.T
    clf = BayesPointClassifier(kernel="precomputed", engine="laplace", device="cuda")
    with pytest.raises(KernelError, match="must be square"):
        clf.fit(K[:, :100], y)
    for params in ({}, {"n_components": 20}):
        with pytest.raises(KernelError, match="must be symmetric"):
            clf.set_params(**params).fit(K + np.arange(150), y)
        with pytest.raises(KernelError, match="not positive semi-definite"):
            clf.fit(2 - np.eye(150), y)


def test_float64_points_are_not_rounded(device):
    far = X.astype(np.float64) * 1e-3 + 50  # of which float32 keeps three digits
    params = {"kernel": "rbf", "gamma": 2e5, "engine": ENGINES["ep"], "temperature": 1.0}
    here, there = (
        BayesPointClassifier(**params, device=where).fit(far, y) for where in (None, "cuda")
    )
    new = far[:30] + 1e-4
    exact = here.predict_proba(new)
    assert np.allclose(exact, there.predict_proba(new), atol=1e-6)
    tensor = there.predict_proba(torch.tensor(new, device=device))
    assert np.allclose(exact, tensor.cpu(), atol=1e-6)
    assert not np.allclose(exact, there.predict_proba(new.astype(np.float32)), atol=1e-4)


def test_independent_weights_and_overflow(device):
    diagonal = FactorisedPropagation()
    clf = BayesPointClassifier(kernel="linear", engine=diagonal).fit(X, y)
    expected = clf.predict_proba(X)
    assert np.array_equal(clf.set_params(device="cuda").predict_proba(X), expected)  # on the CPU
    clf = BayesPointClassifier(kernel="rbf", engine="laplace", device="cuda").fit(X, y)
    with pytest.raises(KernelError, match="overflow"):
        clf.predict(np.full((2, 5), 1e200))


@pytest.mark.parametrize("params", KERNELS.values(), ids=KERNELS)
def test_pickles_and_model_files_need_no_device(params, device, monkeypatch, tmp_path):
    clf = BayesPointClassifier(engine="laplace", device="cuda", **params).fit(X, y)
    expected = clf.predict_proba(X)
    bayespoint.save(clf, tmp_path / "model.bpm")
    copies = [pickle.loads(pickle.dumps(clf)), bayespoint.load(tmp_path / "model.bpm")]
    monkeypatch.setattr(devices, "STAND_IN", None)
    monkeypatch.setattr(devices, "is_installed", lambda library: False)
    for copy in copies:
        assert np.allclose(copy.predict_proba(X), expected, atol=1e-6)


def test_a_chunk_of_points_fits_a_device():
    space = ProcessSpace(RadialKernel(gamma=0.2)).fit(X)
    sizes = [space.device_chunk(n) * n for n in (1, 1000, 100_000)]
    assert max(sizes) <= 2**30 / 8 and space.device_chunk(1) == 65_536
    assert space.device_chunk(10**9) == 1024


def test_the_space_leaves_the_device(device):
    clf = BayesPointClassifier(kernel="linear", engine="laplace", device="cuda").fit(X, y)
    assert not hasattr(clf.model_.space, "Z_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clf.predict(torch.tensor(X, device=device)).shape == (150,)

"""Classifiers with kernels that are instances: sums, nested parameters, linear ones."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict
from tests.helpers.model_files import ENGINES
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import FactorisedPropagation
from bayespoint.kernels import (
    ConstantKernel,
    FunctionKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RadialKernel,
    SumKernel,
)

SUM = 2 * RadialKernel(gamma=0.5) + 0.5 * PolynomialKernel() + 3 * ConstantKernel()
NEW = np.random.default_rng(1).normal(size=(30, 4))


def values(A, B):
    """The sum by its formula."""
    return 2 * rbf_kernel(A, B, gamma=0.5) + 0.5 * linear_kernel(A, B) + 3


def scores(kernel, engine="ep", X=None, new=NEW, **parameters):
    points, y = problem(n=50)
    algorithm, ridge = ENGINES[engine]
    clf = BayesPointClassifier(
        temperature=1.0, kernel=kernel, engine=algorithm, ridge=ridge, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few samples, few steps
        clf.set_params(**parameters).fit(points if X is None else X, y)
    return clf.decision_function(new)


@pytest.mark.parametrize(
    ("name", "instance"),
    [
        ("linear", PolynomialKernel(coef0=1.0)),
        ("linear", PolynomialKernel() + ConstantKernel()),
        ("rbf", RadialKernel(gamma="scale")),
        ("poly", PolynomialKernel(degree=3, gamma="scale", coef0=1.0)),
    ],
)
@pytest.mark.parametrize("engine", ["ep", "perceptron"])
def test_an_instance_does_what_the_name_does(name, instance, engine):
    assert np.array_equal(scores(instance, engine), scores(name, engine))
    normalised = scores(instance, engine, normalize=True)
    assert np.array_equal(normalised, scores(name, engine, normalize=True))


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_takes_sums(engine, normalize):
    found = scores(SUM, engine, normalize=normalize)
    slow = scores(values, engine, normalize=normalize)
    if engine in ("ep", "laplace", "perceptron"):
        assert_allclose(found, slow, atol=1e-6)
    # Rounding decides about the basis where all points have the same length, and so about samples.
    assert np.corrcoef(found, slow)[0, 1] > 0.8


@pytest.mark.parametrize("engine", ["ep", "perceptron"])
def test_sums_in_float32(engine):
    X = problem(n=50)[0].astype(np.float32)
    narrow = scores(SUM, engine, X=X, new=NEW.astype(np.float32))
    assert_allclose(narrow, scores(SUM, engine, X=X.astype(float)), atol=1e-3)


def test_the_matrix_of_a_kernel_as_an_instance():
    X, y = problem(n=60)
    by_kernel, by_matrix = (
        cross_val_predict(
            BayesPointClassifier(temperature=1.0, kernel=kernel),
            data,
            y,
            cv=4,
            method="decision_function",
        )
        for kernel, data in ((SUM, X), (PrecomputedKernel(), values(X, X)))
    )
    # The variance outside of the span is not known of rows of a matrix; signs are the same.
    assert np.array_equal(by_kernel > 0, by_matrix > 0)


# Parameters ------------------------------------------------------------------------------------


def test_parameters_of_an_instance_have_names():
    clf = BayesPointClassifier(temperature=1.0, kernel=clone(SUM))
    clf.set_params(kernel__weights__0=5.0, kernel__terms__0__gamma="scale", kernel__normalize=True)
    assert clf.kernel.weights == [5.0, 0.5, 3.0]
    assert clf.kernel.terms[0].gamma == "scale"
    assert clone(clf).get_params()["kernel__weights__0"] == 5.0
    with pytest.raises(ValueError, match="Invalid parameter 'weights__3' for SumKernel"):
        clf.set_params(kernel__weights__3=1.0)


@pytest.mark.parametrize(
    "grid",
    [
        {"kernel": [RadialKernel(gamma=9.0)], "kernel__gamma": [1e-3, 0.3]},
        {"kernel": [SUM], "kernel__weights__0": [1e-6, 2.0], "kernel__terms__1__degree": [1, 2]},
        {"kernel": ["linear", RadialKernel(gamma="scale"), SUM]},
    ],
)
def test_grid_search(grid):
    X, y = problem(n=60)
    search = GridSearchCV(BayesPointClassifier(kernel="linear", temperature=1.0), grid, cv=3).fit(
        X, y
    )
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    best = search.best_estimator_
    assert {name: best.get_params()[name] for name in search.best_params_}.keys() == grid.keys()


def test_fit_changes_no_parameter_and_tells_what_was_read_off_data():
    X, y = problem(n=50)
    kernel = RadialKernel(gamma="scale") + PolynomialKernel(degree=2, gamma="features")
    clf = BayesPointClassifier(temperature=1.0, kernel=kernel)
    assert not hasattr(clf, "kernel_")
    before = repr(clf.get_params())
    clf.fit(X, y)
    assert repr(clf.get_params()) == before
    assert clf.kernel is kernel
    assert clf.kernel_.terms[0].gamma == pytest.approx(1 / (X.shape[1] * X.var()))
    assert clf.kernel_.terms[1].gamma == 1 / X.shape[1]


def test_warm_start_notices_another_kernel():
    X, y = problem(n=50)
    clf = BayesPointClassifier(
        kernel=clone(SUM), ridge="mean", engine="perceptron", warm_start=True, random_state=0
    ).fit(X, y)
    clf.fit(X, y)
    with pytest.raises(ValueError, match="some of these have changed"):
        clf.set_params(kernel__weights__0=2.5).fit(X, y)


# Linear kernels --------------------------------------------------------------------------------

LINEAR = [
    PolynomialKernel(gamma=0.3, coef0=4.0),
    PolynomialKernel(gamma="scale"),
    0.3 * PolynomialKernel() + 4 * ConstantKernel(),
    SumKernel([PolynomialKernel(), ConstantKernel()], normalize=True),
]


@pytest.mark.parametrize("kernel", LINEAR)
@pytest.mark.parametrize("engine", ["ep", "perceptron", "gibbs"])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_coefficients_of_a_linear_kernel(kernel, engine, ridge):
    X, y = problem(n=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = BayesPointClassifier(
            temperature=1.0, kernel=kernel, engine=ENGINES[engine][0], ridge=ridge, random_state=0
        ).fit(X, y)
    assert clf.coef_.shape == (1, 4) and clf.intercept_.shape == (1,)
    assert clf.intercept_[0] == 0 or clf.kernel_.linear_form.coef0 > 0
    outputs = NEW @ clf.coef_[0] + clf.intercept_[0]
    assert np.array_equal(outputs > 0, clf.decision_function(NEW) > 0)
    if engine == "ep" and not clf.kernel_.normalize:
        assert_allclose(outputs, clf.latent_mean_and_variance(NEW)[0], atol=1e-10)
    assert clf.draw_weights(3, random_state=0).shape[2] in (4, 5)


@pytest.mark.parametrize(
    "kernel", [SUM, ConstantKernel(), FunctionKernel(linear_kernel), PolynomialKernel(degree=2)]
)
def test_other_kernels_have_no_coefficients(kernel):
    clf = BayesPointClassifier(temperature=1.0, kernel=kernel).fit(*problem(n=50))
    assert not hasattr(clf, "coef_") and not hasattr(clf, "intercept_")
    assert not hasattr(clf, "partial_fit")


def test_poly_of_degree_1_is_linear():
    X, y = problem(n=50)
    clf = BayesPointClassifier(temperature=1.0, kernel="poly", degree=1, gamma=0.5, coef0=2.0).fit(
        X, y
    )
    outputs = NEW @ clf.coef_[0] + clf.intercept_[0]
    assert_allclose(outputs, clf.latent_mean_and_variance(NEW)[0], atol=1e-10)


def test_batches_with_a_linear_sum():
    X, y = problem(n=60)
    kernel = 0.5 * PolynomialKernel() + 2 * ConstantKernel()
    clf = BayesPointClassifier(temperature=1.0, kernel=kernel)
    whole = clone(clf).fit(X, y)
    at_once = clone(clf).partial_fit(X, y, classes=[-1, 1])
    assert_allclose(at_once.coef_, whole.coef_, atol=1e-8)
    assert not hasattr(
        BayesPointClassifier(temperature=1.0, kernel=PolynomialKernel(gamma="scale")), "partial_fit"
    )


def test_sparse_points_with_a_linear_sum():
    X, y = problem(n=60)
    X[X < 0.3] = 0
    engine = FactorisedPropagation(max_iter=1)
    kernel = 0.5 * PolynomialKernel(gamma=0.3) + 2 * ConstantKernel()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense = BayesPointClassifier(temperature=1.0, kernel=kernel, engine=engine).fit(X, y)
        thin = clone(dense).fit(sparse.csr_array(X), y)
    assert_allclose(thin.coef_, dense.coef_, atol=1e-10)
    assert_allclose(thin.intercept_, dense.intercept_, atol=1e-10)

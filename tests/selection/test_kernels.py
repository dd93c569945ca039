"""The evidence of sums of kernels: gradients against differences, and searches."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.helpers.gradients import assert_gradient, log_evidence_gradient
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.kernels import ConstantKernel, PolynomialKernel, RadialKernel, SumKernel
from bayespoint.selection import EvidenceSearch
from bayespoint.selection.objective import is_differentiable

ENGINES = {
    "ep": ExpectationPropagation(prior_scale=1.0, tol=1e-10),
    "laplace": LaplaceApproximation(prior_scale=1.0, tol=1e-10),
}
KERNELS = {
    "rbf": RadialKernel(gamma=0.3),
    "rbf + linear + constant": 2 * RadialKernel(gamma=0.3)
    + 0.5 * PolynomialKernel(gamma=0.7)
    + 3 * ConstantKernel(),
    "normalised": SumKernel(
        [RadialKernel(gamma=0.3), PolynomialKernel(degree=2, coef0=0.4), ConstantKernel()],
        weights=[2.0, 0.5, 0.3],
        normalize=True,
    ),
    "linear": 0.5 * PolynomialKernel(gamma=0.7, coef0=0.2) + 3 * ConstantKernel(),
    "linear normalised": SumKernel([PolynomialKernel(), ConstantKernel()], normalize=True),
}


def names(kernel):
    return [f"kernel__{name}" for name in kernel.positive_parameters]


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("engine", ENGINES)
def test_gradient_of_kernel_instances(engine, kernel, ridge):
    clf = BayesPointClassifier(temperature=1.0, kernel=kernel, engine=ENGINES[engine], ridge=ridge)
    wanted = [name for name in names(kernel) if clf.get_params()[name] > 0]
    assert all(is_differentiable(clf.kernel, clf.engine, name) for name in wanted)
    assert_gradient(clf, *problem(n=40), ["engine__prior_scale", *wanted])


def test_gradient_with_weights_and_several_classes():
    X, _ = problem(n=45, seed=2)
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1] ** 2, [-0.3, 0.6])
    weight = np.random.default_rng(1).uniform(0.5, 3, len(y))
    kernel = KERNELS["rbf + linear + constant"]
    clf = BayesPointClassifier(temperature=1.0, kernel=kernel, engine=ENGINES["ep"])
    assert_gradient(clf, X, y, names(kernel)[:4], weight)


def test_scaling_all_weights_is_scaling_the_prior():
    """K -> c K and tau^2 -> tau^2 / c is the same model."""
    X, y = problem(n=40)
    kernel = KERNELS["rbf + linear + constant"]
    fitted = BayesPointClassifier(temperature=1.0, kernel=kernel, engine=ENGINES["ep"]).fit(X, y)
    weights = [name for name in names(kernel) if "weights" in name]
    gradient = log_evidence_gradient(fitted, X, y, ["engine__prior_scale", *weights])
    assert 2 * gradient[1:].sum() == pytest.approx(gradient[0], rel=1e-6)
    assert abs(gradient[0]) > 0.1


def test_a_search_finds_the_term_that_made_the_labels():
    """Labels of a straight line: the linear term keeps its weight, the Gaussian loses its own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X @ [3.0, -2.0, 1.0] + rng.normal(size=150) > 0
    clf = BayesPointClassifier(
        temperature=1.0,
        kernel=RadialKernel(gamma=0.5) + PolynomialKernel() + ConstantKernel(),
        engine=ExpectationPropagation(),
    )
    bounds = {f"kernel__weights__{i}": (1e-3, 1e3) for i in range(3)}
    search = EvidenceSearch(clf, param_bounds=bounds).fit(X, y)
    radial, linear, _ = (search.best_params_[name] for name in bounds)
    assert linear > 30 * radial
    assert search.best_score_ > clone(clf).fit(X, y).log_evidence_[0] + 1
    assert len(search.cv_results_["rank"]) < 40  # each one fit: no differences were needed


def test_a_search_starts_from_what_is_read_off_data():
    X, y = problem(n=40)
    clf = BayesPointClassifier(
        temperature=1.0,
        kernel=RadialKernel(gamma="scale") + ConstantKernel(),
        engine=ExpectationPropagation(),
    )
    search = EvidenceSearch(
        clf, param_bounds={"kernel__terms__0__gamma": (1e-4, 1e4)}, max_iter=1, refit=False
    )
    with pytest.warns(match="max_iter=1"):
        search.fit(X, y)
    first = search.cv_results_["params"][0]["kernel__terms__0__gamma"]
    assert first == pytest.approx(1 / (X.shape[1] * X.var()))


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (RadialKernel(), "gamma"),  # it has its own
        (PolynomialKernel(degree=2), "kernel__degree"),
        (RadialKernel() + ConstantKernel(), "kernel__weights"),
    ],
)
def test_only_positive_numbers_of_the_kernel_can_be_bounded(kernel, name):
    search = EvidenceSearch(
        BayesPointClassifier(temperature=1.0, kernel=kernel), param_bounds={name: (0.1, 1.0)}
    )
    with pytest.raises(ValueError, match=f"'{name}' cannot be searched .*kernel__.*Use param_grid"):
        search.fit(*problem(n=20))


def test_kernels_by_name_share_parameters_in_a_grid():
    X, y = problem(n=40)
    search = EvidenceSearch(
        BayesPointClassifier(kernel="linear", temperature=1.0, engine=ExpectationPropagation()),
        {"kernel": ["linear", "rbf"]},
        param_bounds={"gamma": (0.01, 10.0)},
    ).fit(X, y)
    assert set(search.cv_results_["param_kernel"]) == {"linear", "rbf"}

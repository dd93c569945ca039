"""scikit-learn's own checks, for the classifier with every engine."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespoint import BayesPointClassifier
from bayespoint.engines import (
    BilliardSampler,
    ExpectationPropagation,
    FactorisedPropagation,
    GibbsSampler,
    KnapsackPropagation,
    LaplaceApproximation,
    PermutedPerceptron,
)
from bayespoint.kernels import ConstantKernel, PolynomialKernel, RadialKernel

# A weight of k stands for k copies that err together; the check repeats points and lets each copy
# take its own place in the permutation, and asks for equality to the last digits.
NOT_COPIES = (
    "a perceptron sees weighted and repeated points in different permutations, in which the copies "
    "err one by one; each sample of the posterior is another one"
)
# Repeated points have another kernel matrix, whose eigenvectors are other coordinates.
OTHER_BASIS = (
    "max-marginals are those of the coordinates of a basis, and with a kernel that is not linear "
    "repeated points have another basis than weighted ones"
)

MACHINES = [
    BayesPointClassifier(ridge="mean", engine="perceptron"),
    BayesPointClassifier(ridge="mean", engine="perceptron", decision="vote"),
    BayesPointClassifier(kernel="rbf", ridge=1.0, engine="perceptron"),
    BayesPointClassifier(
        kernel="poly", normalize=True, ridge=0.1, engine=PermutedPerceptron(n_samples=5)
    ),
    # At rest to more than the seven digits that the check of sample weights compares, and with a
    # gamma that does not depend on how often a point is there.
    BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=ExpectationPropagation(prior_scale=1.0, tol=1e-10)
    ),
    BayesPointClassifier(
        kernel="linear",
        temperature=1.0,
        decision="vote",
        engine=ExpectationPropagation(prior_scale=1.0, tol=1e-10),
    ),
    BayesPointClassifier(
        kernel="linear",
        temperature=1.0,
        engine=FactorisedPropagation(tol=1e-10, max_iter=1000),
    ),
    BayesPointClassifier(
        kernel="linear",
        temperature=1.0,
        engine=FactorisedPropagation(max_iter=1, decay="auto"),
    ),
    BayesPointClassifier(
        temperature=1.0,
        kernel="rbf",
        gamma=0.01,
        engine=ExpectationPropagation(prior_scale=1.0, tol=1e-10),
    ),
    BayesPointClassifier(
        temperature=1.0,
        kernel=RadialKernel(gamma=0.01) + 0.1 * PolynomialKernel() + ConstantKernel(),
        engine=ExpectationPropagation(prior_scale=1.0, tol=1e-10),
    ),
    BayesPointClassifier(kernel="linear", temperature=1.0, engine=LaplaceApproximation()),
    BayesPointClassifier(temperature=1.0, kernel="rbf", gamma=0.01, engine=LaplaceApproximation()),
    BayesPointClassifier(engine=KnapsackPropagation(bins=32)),
    BayesPointClassifier(engine=KnapsackPropagation(bins=32, prior="l1"), decision="vote"),
    BayesPointClassifier(kernel="rbf", engine=KnapsackPropagation(bins=16, n_iter=5)),
    BayesPointClassifier(kernel="poly", degree=2, engine=GibbsSampler(n_samples=100)),
    BayesPointClassifier(
        kernel="rbf",
        decision="vote",
        engine=GibbsSampler(n_samples=100, label_noise=0.01),
    ),
    BayesPointClassifier(kernel="rbf", ridge=1.0, engine=BilliardSampler(n_samples=100)),
]


# The law of the samples is the same for weights and for copies, but coordinates of a kernel space
# turn with the number of copies, and so do the samples.
OTHER_SAMPLES = "weighted and repeated points have the same posterior, but other samples of it"
NO_WEIGHTS = "copies of a point do not change version space, and weights that differ are refused"
IN_ORDER = "a single pass visits a point and its copies at different times"
NO_BASIS = "the check sets n_components=1, which contradicts the ridge of this machine"

GAUSSIAN = ExpectationPropagation | FactorisedPropagation | LaplaceApproximation


def excused(estimator):
    weights = "check_sample_weight_equivalence_on_dense_data"
    if isinstance(estimator.engine, FactorisedPropagation) and estimator.engine.max_iter == 1:
        return {weights: IN_ORDER, weights.replace("dense", "sparse"): IN_ORDER}
    if isinstance(estimator.engine, GAUSSIAN):
        return {}
    if isinstance(estimator.engine, KnapsackPropagation):
        return {weights: OTHER_BASIS} if estimator.kernel == "rbf" else {}
    if isinstance(estimator.engine, GibbsSampler):
        return {weights: OTHER_SAMPLES}
    if isinstance(estimator.engine, BilliardSampler):
        names = ("check_class_weight_classifiers", "check_sample_weights_not_overwritten", weights)
        few = (
            "check_dont_overwrite_parameters",
            "check_methods_sample_order_invariance",
            "check_methods_subset_invariance",
            "check_fit2d_1feature",
            "check_fit2d_predict1d",
        )
        return dict.fromkeys(names, NO_WEIGHTS) | dict.fromkeys(few, NO_BASIS)
    return {weights: NOT_COPIES}


# Chains are as short as a check can bear.
@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.ChainsDisagreeWarning")
@parametrize_with_checks(MACHINES, expected_failed_checks=excused)
def test_scikit_learn(estimator, check):
    check(estimator)

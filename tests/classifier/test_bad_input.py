"""What cannot work is refused: the message says what is wrong, what was given and what to do."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, FactorisedPropagation, PermutedPerceptron
from bayespoint.exceptions import KernelError, NotSeparableWarning, SparseInputWarning
from bayespoint.kernels import ConstantKernel, PrecomputedKernel, RadialKernel, SumKernel

X = np.random.default_rng(0).normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)


def refused(match, error=ValueError):
    return pytest.raises(error, match=re.compile(match, re.DOTALL))


def fails(match, X=X, y=Y, error=ValueError, sample_weight=None, **parameters):
    """The fit is refused with such a message, and leaves no machine that seems fitted."""
    clf = BayesPointClassifier(**parameters)
    with refused(match, error):
        clf.fit(X, y, sample_weight=sample_weight)
    with pytest.raises(NotFittedError):
        clf.predict(X)


# Data ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "match"),
    [
        (np.empty((0, 2)), r"0 sample\(s\) \(shape=\(0, 2\)\) while a minimum of 1 is required"),
        (np.empty((60, 0)), r"0 feature\(s\) \(shape=\(60, 0\)\) while a minimum of 1 is required"),
        (X[:, 0], "Expected 2D array, got 1D array.*Reshape your data"),
        (X[:, :, None], "dim 3, while dim <= 2 is required by BayesPointClassifier"),
        (np.where(X > 2, np.inf, X), "contains infinity"),
        ([["red", "blue"]] * 60, "could not convert string to float: 'red'"),
        (X * 1j, "Complex data not supported"),
    ],
    ids=["no samples", "no features", "1-D", "3-D", "inf", "words", "complex"],
)
def test_points(points, match):
    fails(match, points, Y[: len(points)])


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"kernel": "linear", "engine": ExpectationPropagation()}, "engine='factorised-ep'"),
        (
            {"kernel": "linear", "engine": "laplace"},
            r"LaplaceApproximation\(\) does not.*engine='factorised-ep'",
        ),
        ({"kernel": "rbf"}, r"kernel='linear'.*X.toarray\(\)"),
    ],
)
def test_sparse_points(parameters, match):
    with pytest.raises(TypeError, match=match):
        BayesPointClassifier(**parameters).fit(sparse.csr_array(X), Y)


def test_an_engine_that_is_only_named_takes_sparse_points():
    with pytest.warns(SparseInputWarning, match="FactorisedPropagation.*keeps rows sparse"):
        clf = make_pipeline(
            OneHotEncoder(), BayesPointClassifier(kernel="linear", engine="ep")
        ).fit(X.round(), Y)
    assert clf[-1].posterior_.is_diagonal
    assert clf.score(X.round(), Y) > 0.8
    clf.set_params(bayespointclassifier__engine=FactorisedPropagation())
    with warnings.catch_warnings():
        warnings.simplefilter("error", SparseInputWarning)
        clf.fit(X.round(), Y)


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (Y[:-1], r"inconsistent numbers of samples: \[60, 59\]"),
        (X[:, 0], "Unknown label type: continuous.*expects discrete classes"),
        (np.c_[Y, Y], r"y should be a 1d array, got an array of shape \(60, 2\)"),
        (np.where(Y, 1.0, np.nan), "Input y contains NaN"),
        (np.array([1, "a"] * 30, dtype=object), "Unknown label type: unknown"),
        (np.zeros(60, dtype=int), "at least two classes. Got one class, 0, in 60 rows"),
        (["a"] * 60, "at least two classes. Got one class, 'a', in 60 rows"),
    ],
    ids=["None", "length", "continuous", "2-D", "NaN", "mixed", "one class", "one word"],
)
def test_labels(labels, match):
    fails(match, y=labels)


def test_one_sample():
    fails("needs rows of at least two classes. Got one class, 1, in 1 rows", X[:1], [1])


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        (np.where(np.arange(60) < 3, -1.5, 1), r"not negative\. Got -1\.5 at row 0 \(3 invalid"),
        (np.where(np.arange(60) == 7, np.nan, 1), r"finite.* Got nan at row 7 \(1 invalid"),
        (np.where(np.arange(60) == 7, np.inf, 1), r"finite.* Got inf at row 7 \(1 invalid"),
        (np.where(np.arange(60) == 7, 1e100, 1), r"at most 1e\+12.*Got 1e\+100 at row 7"),
        (np.ones((60, 1)), r"must be 1D array\. Got shape \(60, 1\)"),
        (1.0, r"must be 1D array\. Got shape \(\)"),
        (np.zeros(60), "must not be all zero: rows of weight 0 are ignored"),
        (np.ones(60) + 0j, "must be real numbers"),
        (np.ones(59), r"inconsistent numbers of samples: \[60, 59\]"),
        (["a"] * 60, r"must be real numbers\. Got 'a' \(str\) at row 0"),
        (Y.astype(float), r"Got one class, 1, in \d+ rows of positive weight"),
    ],
    ids=[
        "negative",
        "NaN",
        "inf",
        "huge",
        "2-D",
        "number",
        "zero",
        "complex",
        "length",
        "words",
        "one class left",
    ],
)
def test_sample_weights(weight, match):
    fails(match, sample_weight=weight)


@pytest.mark.parametrize(
    ("class_weight", "match"),
    [
        ({0: -1.0, 1: 1.0}, r"Class weights must be .* not negative\. Got -1\.0 at row \d+"),
        ({0: np.nan, 1: 1.0}, r"Class weights must be finite.* Got nan at row \d+"),
        ({0: 0.0, 1: 0.0}, "Class weights must not be all zero"),
        ({0: 0.0, 1: 1.0}, "at least two classes. Got one class, 1"),
        ({5: 1.0}, r"The classes, \[0, 1\], are not in class_weight"),
        ("even", r"must be a str among \{'balanced'\} or a dict or None\. Got 'even' instead"),
        ([1, 2], r"must be a str among \{'balanced'\} or a dict or None\. Got \[1, 2\] instead"),
    ],
)
def test_class_weights(class_weight, match):
    fails(match, class_weight=class_weight)


def test_weights_that_leave_nothing_together():
    fails(
        "Sample weights times class weights must not be all zero",
        class_weight={0: 0.0, 1: 1.0},
        sample_weight=1.0 - Y,
    )


# Parameters ------------------------------------------------------------------------------------

GAMMA = r"'auto', 'scale', 'features', an array or a float in the range \(0, inf\)"
KERNEL_NAMES = (
    r"a str among \{'auto', 'linear', 'poly', 'rbf', 'matern32', 'matern52', 'exponential', "
    r"'additive', 'precomputed'\}, "
    r"a kernel such as .*callable"
)
ENGINES = (
    r"an engine instance, such as PermutedPerceptron\(\), or one of the names \{auto, .*perceptron"
)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("kernel", "gauss", KERNEL_NAMES),
        ("kernel", None, KERNEL_NAMES),
        ("kernel", RadialKernel, KERNEL_NAMES),
        ("engine", "svm", ENGINES),
        ("engine", PermutedPerceptron, ENGINES),
        ("degree", 0, r"an int in the range \[1, inf\)"),
        ("degree", 2.5, r"an int in the range \[1, inf\)"),
        ("degree", True, r"an int in the range \[1, inf\)"),
        ("gamma", -1.0, GAMMA),
        ("gamma", 0.0, GAMMA),
        ("gamma", np.nan, GAMMA),
        ("gamma", "foo", GAMMA),
        ("gamma", np.array([1.0, -2.0]), r"a positive number or an array of them"),
        ("coef0", -0.1, r"a float in the range \[0, inf\)"),
        ("coef0", np.inf, r"a float in the range \[0, inf\)"),
        ("ridge", -1, r"'mean' or a float in the range \[0, inf\)"),
        ("ridge", "foo", r"'mean' or a float in the range \[0, inf\)"),
        ("ridge", np.array([1.0, 2.0]), r"'mean' or a float in the range \[0, inf\)"),
        ("decision", "mean", r"a str among \{'bayes_point', 'vote', 'median'\}"),
        ("standardize", "no", "'auto' or a bool"),
        ("max_time", 0, r"None or a float in the range \(0, inf\)"),
        ("normalize", "no", "a bool"),
        ("fit_intercept", 1, "a bool"),
        ("warm_start", None, "a bool"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_parameters(name, value, allowed):
    given = re.escape(repr(value))
    fails(
        f"The '{name}' parameter of BayesPointClassifier must be {allowed}.*Got {given} instead",
        **{name: value},
    )


@pytest.mark.parametrize("n_samples", [0, -1, 2.5])
def test_number_of_draws(n_samples):
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, random_state=0).fit(X, Y)
    with refused(rf"n_samples must be an int in the range \[1, inf\)\. Got {n_samples} instead"):
        clf.sample_proba(X, n_samples=n_samples)


# Kernels that are none -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "match"),
    [
        (RadialKernel(gamma=-1.0), "'gamma' parameter of RadialKernel must be .*Got -1.0 instead"),
        (RadialKernel() + -2 * ConstantKernel(), "'weights' parameter of SumKernel .*2 positive"),
        (SumKernel([PrecomputedKernel()]), "'terms' parameter .*sum kernel matrices yourself"),
        (ConstantKernel(normalize="yes"), "'normalize' parameter of ConstantKernel must be a bool"),
    ],
)
def test_parameters_of_kernels(kernel, match):
    fails(match, kernel=kernel)


def gram():
    return X @ X.T + 1


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda K: K[:, :5], r"must be square for training\. Got shape \(60, 5\): pass k\(x_i"),
        (
            lambda K: K + np.eye(60)[3][:, None] * np.eye(60)[7],
            r"symmetric\. Got K\[3, 7\] = .*but",
        ),
        (lambda K: K - 9 * np.eye(60), r"k\(x, x\) must not be negative\. Got -.* at row \d+"),
    ],
    ids=["not square", "not symmetric", "negative"],
)
def test_precomputed(change, match):
    fails(match, change(gram()), kernel="precomputed", error=KernelError)


def test_precomputed_with_points_of_weight_0():
    weight = np.arange(60) % 4  # their rows and columns are left out
    fails("must be square", gram()[:, :5], kernel="precomputed", sample_weight=weight)


def test_precomputed_normalised():
    for kernel in ("precomputed", PrecomputedKernel()):
        fails("Divide the matrix by", gram(), kernel=kernel, normalize=True, error=KernelError)


def test_precomputed_with_the_wrong_width_of_new_rows():
    clf = BayesPointClassifier(temperature=1.0, kernel="precomputed").fit(gram(), Y)
    with refused("X has 59 features, but BayesPointClassifier is expecting 60 features"):
        clf.predict(gram()[:, :-1])


def test_indefinite_kernels():
    """k(x, x) is positive, but some weight vectors would have a negative squared length."""
    matrix = np.array([[1.0, 2.0], [2.0, 1.0]])
    remedy = "not positive semi-definite: .* negative squared length.*or a larger ridge"
    parameters = {"kernel": "precomputed", "engine": "perceptron"}
    fails(remedy, matrix, [0, 1], error=KernelError, **parameters)
    clf = silent(matrix, [0, 1], **parameters, ridge=1.5)
    assert np.isfinite(clf.predict_proba(matrix)).all()


def test_function_of_the_wrong_shape():
    fails(r"returned shape \(60,\) .*must return the matrix", kernel=lambda A, B: A @ B[0])


def test_features_out_of_range():
    fails(r"gamma='scale' .*out of range.*Scale the features", 1e200 * X, kernel="rbf")
    fails(r"overflow.*Scale the features or lower gamma", 1e200 * X, kernel="rbf", gamma=1.0)
    fails(r"squares overflow.*Scale the features", 1e160 * X, kernel="linear", engine="gibbs")


# Prediction ------------------------------------------------------------------------------------

METHODS = [
    "predict",
    "predict_proba",
    "decision_function",
    "vote_shares",
    "latent_mean_and_variance",
    "sample_proba",
]


@pytest.mark.parametrize("method", METHODS)
def test_not_fitted(method):
    with refused(
        "This BayesPointClassifier instance is not fitted yet. Call 'fit'", NotFittedError
    ):
        getattr(BayesPointClassifier(kernel="linear", temperature=1.0), method)(X)


@pytest.mark.parametrize("method", METHODS)
def test_wrong_number_of_features(method):
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, random_state=0).fit(X, Y)
    with refused("X has 1 features, but BayesPointClassifier is expecting 2 features as input"):
        getattr(clf, method)(X[:, :1])


def test_new_points_that_are_not_finite():
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, random_state=0).fit(X, Y)
    with refused("Input X contains infinity"):
        clf.predict([[0.0, np.inf]])
    mean = [[0.0, X[:, 1].mean()]]  # a missing cell
    np.testing.assert_allclose(clf.predict_proba([[0.0, np.nan]]), clf.predict_proba(mean))


# Odd, but possible -----------------------------------------------------------------------------


def silent(X=X, y=Y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return BayesPointClassifier(random_state=0, **parameters).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_constant_features_follow_the_majority(kernel):
    """All points are one point: the classifier can only count labels."""
    constant = np.full((60, 2), 0.1)
    labels = np.arange(60) % 3 > 0  # two thirds are True
    clf = silent(constant, labels, kernel=kernel)
    assert clf.predict(constant).all()
    assert 0.5 < clf.predict_proba(constant)[0, 1] < 0.999


def test_constant_features_without_a_ridge_cannot_be_separated():
    with pytest.warns(NotSeparableWarning, match="Remedy: set a ridge"):
        clf = BayesPointClassifier(engine="perceptron").fit(np.ones((60, 2)), Y)
    assert np.isfinite(clf.predict_proba(X)).all()


def test_one_constant_feature_changes_nothing_of_importance():
    clf = silent(np.c_[X, np.full(60, 3.0)], Y)
    assert clf.score(np.c_[X, np.full(60, 3.0)], Y) > 0.9


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-308, 1e-250])
@pytest.mark.parametrize(
    "parameters", [{}, {"standardize": False}, {"kernel": "rbf"}, {"engine": "laplace"}], ids=str
)
def test_a_column_of_numbers_near_zero(size, parameters):
    """No warning of NumPy, and no error about a gamma that nobody set."""
    rng = np.random.default_rng(0)
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    for y, column in ((Y, rng.normal(size=60)), (labels, np.arange(60) == 3)):
        points = np.c_[X, column * size]
        clf = silent(points, y, **parameters)
        assert clf.score(points, y) > 0.6


def test_zero_rows():
    zeros = np.where(np.arange(60)[:, None] < 5, 0, X)
    fails(
        r"Training row 0 \(5 in all\) is zero in feature space.*fit_intercept=True.*or drop",
        zeros,
        engine="perceptron",
        fit_intercept=False,
    )
    clf = silent(zeros, fit_intercept=False, ridge=1.0, engine="perceptron")
    assert np.array_equal(clf.decision_function(zeros[:5]), np.zeros(5))
    assert np.array_equal(clf.predict_proba(zeros[:5]), np.full((5, 2), 0.5))
    assert clf.score(X, Y) > 0.9


def test_nothing_but_zeros():
    """Even the mean of k(x, x) is zero then. A machine with label noise falls back on its prior."""
    zeros = np.zeros((60, 2))
    fails(
        r"Training row 0 \(60 in all\) is zero",
        zeros,
        fit_intercept=False,
        ridge="mean",
        engine="perceptron",
    )
    clf = silent(zeros, kernel="linear", fit_intercept=False)
    assert np.array_equal(clf.predict_proba(zeros), np.full((60, 2), 0.5))
    assert clf.log_evidence_ == pytest.approx(60 * np.log(0.5))


def test_duplicates_with_opposite_labels():
    twice, both = np.vstack([X, X]), np.r_[Y, 1 - Y]
    clf = silent(twice, both)
    assert np.abs(clf.predict_proba(X) - 0.5).max() < 0.5
    assert np.isfinite(clf.predict_proba(X)).all()
    with pytest.warns(NotSeparableWarning, match="training error of the Bayes point: [4-6].*%"):
        BayesPointClassifier(engine="perceptron", random_state=0).fit(twice, both)

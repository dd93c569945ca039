"""ONNX models predict what the classifiers they were written from predict."""

import warnings

import numpy as np
import pytest
from scipy import special
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, FactorisedPropagation, GibbsSampler
from bayespoint.engines.base import ENGINES as NAMED
from bayespoint.kernels import (
    NAMES,
    AdditiveKernel,
    ConstantKernel,
    ExponentialKernel,
    PolynomialKernel,
    RadialKernel,
    SumKernel,
)
from bayespoint.reject import SelectiveClassifier

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")

from bayespoint.storage.onnx import graph, to_onnx  # noqa: E402

ENGINES = {
    "ep": ExpectationPropagation(),
    "ep with flips": ExpectationPropagation(label_noise=0.05),
    "student": ExpectationPropagation(likelihood="student", label_noise=0.05),
    "laplace": "laplace",
    "perceptron": "perceptron",
    "gibbs": GibbsSampler(label_noise=0.05, n_samples=40, n_chains=2),
    "billiard": "billiard",
}
KERNELS = {
    "linear": {"kernel": "linear"},
    "normalised linear": {"kernel": "linear", "normalize": True},
    "poly": {"kernel": "poly", "degree": 3, "standardize": True},
    "normalised poly": {"kernel": "poly", "degree": 4, "normalize": True},
    "rbf": {"kernel": "rbf"},
    "matern32": {"kernel": "matern32"},
    "matern52": {"kernel": "matern52", "gamma": [0.1, 0.2, 0.3, 0.4]},
    "exponential": {"kernel": "exponential", "gamma": [0.1, 0.2, 0.3, 0.4]},
    "additive": {"kernel": "additive"},
    "ranks": {"kernel": ExponentialKernel(gamma=2.0, ranks=True) + AdditiveKernel()},
    "widths": {"kernel": RadialKernel(gamma=[0.1, 0.2, 0.3, 0.4])},
    "sum": {"kernel": 0.7 * RadialKernel() + PolynomialKernel(degree=2) + ConstantKernel()},
    "linear sum": {"kernel": PolynomialKernel() + 2.0 * ConstantKernel()},
    "normalised sum": {
        "kernel": SumKernel([RadialKernel(gamma=0.3), PolynomialKernel()], normalize=True)
    },
}


def points(n_classes):
    """Training points, their labels, and new points, near and far, in float32."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    train = rng.permutation(len(X))[:60]
    new = np.concatenate([X, X + rng.normal(scale=2.0, size=X.shape)]).astype(np.float32)
    labels = np.array(["one", "two", "three"])[y] if n_classes == 3 else y == 1
    return X[train], labels[train], new


def fitted(n_classes, **parameters):
    X, y, new = points(n_classes)
    clf = BayesPointClassifier(multi_class="one_vs_rest", random_state=0, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short chains
        return clf.fit(X, y), new


def run(model, X):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(["label", "probabilities"], {"X": X})


def check_equal(clf, new, **options):
    label, probabilities = run(to_onnx(clf, **options), new)
    expected = clf.predict_proba(new)
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-5)
    first, second = np.sort(expected, axis=1)[:, ::-1][:, :2].T
    clear = first - second > 1e-5
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(label[clear], clf.predict(new)[clear])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_and_kernels(engine, kernel, n_classes):
    ridge = 1.0 if engine in ("perceptron", "billiard") else 0.0
    check_equal(*fitted(n_classes, engine=ENGINES[engine], ridge=ridge, **KERNELS[kernel]))


def test_every_name_is_tested():
    """As the page on other tools says: all engines, and all kernels that have a name."""
    assert set(NAMED) - set(ENGINES) == {"knapsack", "factorised-ep"}  # below
    kernels = {parameters["kernel"] for parameters in KERNELS.values()}
    assert set(NAMES) - kernels == {"precomputed"}  # refused


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_knapsack(kernel):
    check_equal(*fitted(2, engine="knapsack", kernel=kernel))


@pytest.mark.parametrize("decision", ["bayes_point", "median"])
@pytest.mark.parametrize("multi_class", ["ordinal", "cumulative"])
@pytest.mark.parametrize("kernel", ["linear", "auto"])
def test_ordered_classes(kernel, multi_class, decision):
    X, y, new = points(3)
    _, codes = np.unique(y, return_inverse=True)
    clf = BayesPointClassifier(kernel=kernel, multi_class=multi_class, decision=decision)
    clf.fit(X, codes)
    label, probabilities = run(to_onnx(clf), new)
    expected = clf.predict_proba(new)
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-5)
    assert (label == clf.predict(new)).mean() > 0.99  # some are ties in single precision


def test_diagonal_covariance():
    check_equal(*fitted(3, engine=FactorisedPropagation(), kernel="linear"))


@pytest.mark.parametrize("engine", ["ep", "gibbs", "perceptron", "knapsack"])
def test_votes(engine):
    ridge = 1.0 if engine == "perceptron" else 0.0
    clf, new = fitted(2, engine=engine, kernel="linear", ridge=ridge, decision="vote")
    check_equal(clf, new.astype(np.float64), dtype="float64")  # a rounding error can cost a vote


def ties(dtype):
    """By how much probabilities differ: votes on integers, where outputs are often exactly 0."""
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, (248, 3)).astype(dtype)
    y = np.digitize(X.sum(axis=1) + 0.3 * rng.normal(size=248), [-1, 1])
    clf = BayesPointClassifier(
        kernel="linear", engine="perceptron", decision="vote", ridge="mean", random_state=0
    ).fit(X[:124], y[:124])
    _, probabilities = run(to_onnx(clf, dtype=dtype), X[124:])
    return abs(probabilities - clf.predict_proba(X[124:])).max()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_votes_at_ties(dtype, monkeypatch):
    assert ties(dtype) < 1e-5
    for module in ("bayespoint.posteriors.base", "bayespoint.storage.onnx.posteriors"):
        monkeypatch.setattr(f"{module}.TIE", 0.0)  # each processor decides by itself
    assert ties(dtype) > 0.1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_default_classifier(n_classes):
    clf, new = fitted(n_classes)
    assert type(clf.posterior_).__name__ == "MixturePosterior"
    check_equal(clf, new)


def test_basis_of_some_points_from_a_model_file(tmp_path):
    clf, new = fitted(2, kernel="rbf", n_components=20)
    bayespoint.save(clf, tmp_path / "model.bpm")
    check_equal(bayespoint.load(tmp_path / "model.bpm"), new)


def test_temperature_counts():
    clf, new = fitted(2, kernel="rbf", temperature=1.0)
    model = to_onnx(clf)
    clf.coding_.temperature = 1.5
    assert np.abs(run(model, new)[1] - clf.predict_proba(new)).max() > 0.01
    check_equal(clf, new)


@pytest.mark.parametrize("scaler", [StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler])
def test_pipelines(scaler):
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline("passthrough", scaler(), BayesPointClassifier(kernel="linear"))
    pipeline.fit(X[::2], y[::2])
    check_equal(pipeline, X[1::2].astype(np.float32))


def test_differences_of_the_largest_numbers():
    """x less its mean overflows; half of both does not."""
    X, y, _ = points(2)
    X[:, 0] = np.where(np.arange(len(X)) % 3, 1.7e308, -1.7e308)
    clf = BayesPointClassifier(kernel="linear", standardize=True).fit(X, y)
    label, p = run(to_onnx(clf, dtype="float64"), X.astype(np.float64))
    np.testing.assert_array_equal(label, clf.predict(X))
    np.testing.assert_allclose(p, clf.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("labels", [[0, 1], [-7, 300], [False, True], [1.0, 2.0], ["no", "yes"]])
def test_types_of_labels(labels):
    X, y, new = points(2)
    clf = BayesPointClassifier(kernel="linear").fit(X, np.array(labels)[y.astype(int)])
    label, _ = run(to_onnx(clf), new)
    assert set(label.tolist()) == set(labels)
    np.testing.assert_array_equal(label, clf.predict(new))


def test_form_of_the_model():
    model = to_onnx(fitted(3)[0])
    onnx.checker.check_model(model, full_check=True)
    assert [one.name for one in model.graph.input] == ["X"]
    assert [one.name for one in model.graph.output] == ["label", "probabilities"]
    assert {one.domain for one in model.opset_import} == {""}  # the standard operators only
    assert model.producer_name == "bayespoint"


def test_log_ndtr_in_both_tails():
    x = np.concatenate([np.linspace(-40, 40, 801), [-1e200, 0.0, 1e200]])
    nodes = graph.Graph(1)
    answer = graph.Value(nodes, "X").log_ndtr()
    kind = onnx.TensorProto.DOUBLE
    info = [onnx.helper.make_tensor_value_info(name, kind, None) for name in ("X", answer.name)]
    made = onnx.helper.make_graph(nodes.nodes, "g", info[:1], info[1:], nodes.constants)
    opset = onnx.helper.make_opsetid("", 17)
    model = onnx.helper.make_model(made, opset_imports=[opset], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = session.run(None, {"X": x[:, None]})[0][:, 0]
    np.testing.assert_allclose(found[:-3], special.log_ndtr(x[:-3]), rtol=1e-12, atol=1e-15)
    assert found[-3] < -1e199 and found[-1] == 0.0


def test_what_is_refused():
    X, y, _ = points(3)
    with pytest.raises(ValueError, match="multi_class='one_vs_rest'"):
        to_onnx(BayesPointClassifier(kernel="linear").fit(X, y))
    with pytest.raises(ValueError, match="the kernel is precomputed"):
        to_onnx(BayesPointClassifier(kernel="precomputed").fit(X @ X.T, y))
    with pytest.raises(ValueError, match="cannot write a FunctionKernel"):
        to_onnx(BayesPointClassifier(kernel=lambda A, B: A @ B.T).fit(X, y))
    with pytest.raises(ValueError, match=r"the step PCA\(\).*skl2onnx"):
        to_onnx(make_pipeline(PCA(), BayesPointClassifier(kernel="rbf")).fit(X, y))
    with pytest.raises(ValueError, match="without clipping"):
        to_onnx(make_pipeline(MinMaxScaler(clip=True), BayesPointClassifier()).fit(X, y))
    with pytest.raises(TypeError, match="Got a LogisticRegression"):
        to_onnx(LogisticRegression().fit(X, y))
    with pytest.raises(TypeError, match=r"Pass the estimator_ of the SelectiveClassifier"):
        to_onnx(SelectiveClassifier(BayesPointClassifier(kernel="rbf"), rate=0.1).fit(X, y))
    with pytest.raises(ValueError, match="dtype must be"):
        to_onnx(BayesPointClassifier(kernel="rbf").fit(X, y), dtype="float16")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_streams_of_one_rate(n_classes):
    one_pass = {"max_iter": 1}
    parameters = {"kernel": "linear", "temperature": 1.0}
    engine = FactorisedPropagation(decay=0.99, **one_pass)
    check_equal(*fitted(n_classes, engine=engine, **parameters))
    engine = FactorisedPropagation(decay="auto", **one_pass)
    with pytest.raises(ValueError, match="with one decay"):
        to_onnx(fitted(n_classes, engine=engine, **parameters)[0])


@pytest.mark.parametrize("random_share", [0.0, 0.2])
@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_log_odds_with_random_labels_and_in_the_order_of_the_outputs(
    n_classes, follows, random_share
):
    clf, new = fitted(n_classes, engine="perceptron", kernel="rbf", ridge=1.0)
    plain = clf.predict_proba(new)
    log_odds = clf.posterior_.log_odds
    log_odds.offset, log_odds.follows = log_odds.offset.copy(), follows
    log_odds.random_share = random_share
    log_odds.offset[0] += 1.0
    assert np.abs(clf.predict_proba(new) - plain).max() > 0.05
    label, probabilities = run(to_onnx(clf, dtype="float64"), new.astype(np.float64))
    np.testing.assert_allclose(probabilities, clf.predict_proba(new.astype(np.float64)), atol=1e-6)
    np.testing.assert_array_equal(label, clf.predict(new.astype(np.float64)))

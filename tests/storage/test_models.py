"""Models in files: what comes back is what was kept, to the bit."""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    LabelEncoder,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
)
from tests.helpers.model_files import (
    ENGINES,
    differences,
    fitted,
    points,
    preprocessing,
    table,
)

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, FactorisedPropagation
from bayespoint.engines.base import ENGINES as ALIASES
from bayespoint.posteriors import Posterior
from bayespoint.posteriors.gaussian import ValuePosterior
from bayespoint.reject import SelectiveClassifier
from bayespoint.storage import encode
from bayespoint.storage.registry import CLASSES


@pytest.fixture
def there_and_back(tmp_path):
    def travel(model):
        path = tmp_path / "model.bpm"
        bayespoint.save(model, path)
        again = bayespoint.load(path)
        assert not differences(model, again)
        # What is read and written again has the same bytes.
        bayespoint.save(again, tmp_path / "copy.bpm")
        assert path.read_bytes() == (tmp_path / "copy.bpm").read_bytes()
        return again

    return travel


def assert_same(mine, yours):
    """Equal; numbers to the last bits, for which some BLAS look where an array lies in memory."""
    if mine.dtype.kind == "f":
        assert_allclose(mine, yours, rtol=1e-13, atol=1e-15)
    else:
        assert_array_equal(mine, yours)


# There and back --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("engine", ENGINES)
def test_machines(there_and_back, engine, kernel, n_classes):
    machine, X = fitted(engine, kernel, n_classes)
    again = there_and_back(machine)
    for method in ("predict", "predict_proba", "decision_function", "vote_shares"):
        assert_same(getattr(again, method)(X), getattr(machine, method)(X))
    for mine, yours in zip(
        again.latent_mean_and_variance(X), machine.latent_mean_and_variance(X), strict=True
    ):
        assert_same(mine, yours)
    assert_same(again.sample_proba(X, 5, 0), machine.sample_proba(X, 5, 0))
    assert clone(again).get_params().keys() == machine.get_params().keys()


def test_every_engine_and_posterior_is_known():
    def leaves(cls):
        return {cls} if not cls.__subclasses__() else set.union(*map(leaves, cls.__subclasses__()))

    known = {*CLASSES.values(), ValuePosterior}  # which is computed from one that is stored
    ours = {
        one for one in {*ALIASES.values(), *leaves(Posterior)} if one.__module__.startswith("bayes")
    }
    assert ours and ours <= known, "name these in storage/registry.py"
    assert {type(engine) for engine, _ in ENGINES.values()} == {
        one for one in ALIASES.values() if one.__module__.startswith("bayes")
    }


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "poly", "degree": 2, "normalize": True},
        {"kernel": "poly", "coef0": 0.0, "normalize": True, "engine": "perceptron"},
        {"kernel": "precomputed"},
        {"kernel": "precomputed", "engine": "perceptron", "ridge": "mean"},
        {
            "kernel": "linear",
            "fit_intercept": False,
            "decision": "vote",
            "class_weight": {0: 2, 1: 1},
        },
        {"kernel": "linear", "engine": FactorisedPropagation()},
        {
            "kernel": "linear",
            "engine": ExpectationPropagation(prior_scale=[1, 2.0, 3]),
        },
        {"kernel": "poly", "engine": "perceptron"},
    ],
)
def test_parameters(there_and_back, parameters):
    X, y = points(2)
    X = X @ X.T + 1 if parameters["kernel"] == "precomputed" else X
    weight = np.ones(len(X))
    weight[3] = 0  # a precomputed kernel then has columns of its own
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = BayesPointClassifier(random_state=0, **parameters).fit(X, y, weight)
    again = there_and_back(machine)
    assert_same(again.predict_proba(X), machine.predict_proba(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_and_short_floats(there_and_back, dtype):
    X, y = points(2)
    X[X < 0.5] = 0
    X = sparse.csr_array(X.astype(dtype))
    machine = BayesPointClassifier(
        kernel="linear",
        temperature=1.0,
        engine=FactorisedPropagation(max_iter=1),
    )
    assert_same(there_and_back(machine.fit(X, y)).predict_proba(X), machine.predict_proba(X))


def test_machines_that_go_on(there_and_back):
    X, y = points(3)
    machine = BayesPointClassifier(kernel="linear", temperature=1.0).partial_fit(
        X[:12], y[:12], classes=[0, 1, 2]
    )
    again = there_and_back(machine)
    for one in (machine, again):
        one.partial_fit(X[12:], y[12:])
    places = [place.split(":")[0] for place in differences(machine, again)]
    assert places == ["model.model_.run.seconds"]
    perceptron, X_new = fitted("perceptron", "rbf", 2, warm_start=True)
    again = there_and_back(perceptron)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in (perceptron, again):
            one.set_params(engine__n_samples=6).fit(*points(2))
    assert again.posterior_.n_samples == 6
    assert_same(again.predict_proba(X_new), perceptron.predict_proba(X_new))


@pytest.mark.parametrize("cv", [StratifiedKFold(2, shuffle=True, random_state=0), "prefit"])
def test_tables(there_and_back, cv):
    frame, y = table()
    pipeline = make_pipeline(
        preprocessing(), BayesPointClassifier(temperature=1.0, kernel="rbf")
    ).fit(frame, y)
    careful = SelectiveClassifier(pipeline, rate=0.2, cv=cv).fit(frame, y)
    again = there_and_back(careful)
    assert_array_equal(again.predict(frame), careful.predict(frame))
    assert_same(again.predict_proba(frame), careful.predict_proba(frame))
    assert (again.estimator_ is again.estimator) == (cv == "prefit")
    assert not again.rejection_curve_.rate.flags.writeable
    names = again.estimator_[0].get_feature_names_out()
    assert_array_equal(names, pipeline[0].get_feature_names_out())


@pytest.mark.parametrize(
    "step",
    [
        PCA(2),
        MinMaxScaler(),
        MaxAbsScaler(),
        RobustScaler(),
        Normalizer(),
        FunctionTransformer(),
        FeatureUnion([("a", PCA(1)), ("b", "passthrough")]),
        OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist", sparse_output=False),
        OneHotEncoder(max_categories=2, drop="first", handle_unknown="ignore", sparse_output=False),
        "passthrough",
    ],
    ids=str,
)
def test_steps(there_and_back, step):
    X, y = points(2)
    X = X.round() if isinstance(step, OneHotEncoder) else X
    pipeline = make_pipeline(step, BayesPointClassifier(kernel="linear", temperature=1.0)).fit(X, y)
    again = there_and_back(pipeline)
    assert_same(again.predict_proba(X[::2]), pipeline.predict_proba(X[::2]))


@pytest.mark.parametrize(
    "model",
    [
        BayesPointClassifier(
            kernel="linear",
            temperature=1.0,
            class_weight={"a": np.float32(0.1), "b": np.inf},
            gamma=np.float64(2),
        ),
        BayesPointClassifier(
            kernel="linear",
            temperature=1.0,
            engine=ExpectationPropagation(prior_mean=(1, 2.5), prior_scale=[1.0]),
        ),
        LabelEncoder().fit(["b", "a"]),
        OneHotEncoder(dtype=np.float32, categories=[np.array(["ä", "\ud800"]), [1, None, np.nan]]),
        FunctionTransformer(kw_args={3: slice(1, None), "x": (np.int8(3), np.str_("y"), True)}),
        FunctionTransformer(
            kw_args={"a": np.array(2.5), "b": np.zeros((0, 3)), "c": np.dtype("<f4")}
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_values(there_and_back, model):
    assert repr(there_and_back(model)) == repr(model)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 3, 4), (3, 1, 4), (2, 3, 1), (1, 1, 1)])
def test_memory_order(there_and_back, shape, order):
    array = np.random.default_rng(0).normal(size=shape).transpose(order)
    model = FunctionTransformer(kw_args={"whole": array, "part": array[..., ::-1][:, :1]})
    again = there_and_back(model).kw_args["whole"]
    long = [axis for axis in range(3) if array.shape[axis] > 1]
    assert [again.strides[i] for i in long] == [array.strides[i] for i in long]


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0)])
@pytest.mark.parametrize("triangle", [np.tril, np.triu])
def test_triangles(there_and_back, tmp_path, triangle, order):
    half = triangle(np.random.default_rng(0).normal(size=(2, 60, 60))).transpose(order)
    there_and_back(FunctionTransformer(kw_args={"half": half}))
    assert (tmp_path / "model.bpm").stat().st_size < 0.6 * half.nbytes
    half[half == 0] = -0.0  # which has other bits, so that the whole is stored
    there_and_back(FunctionTransformer(kw_args={"half": half}))
    assert (tmp_path / "model.bpm").stat().st_size > half.nbytes


def test_triangles_take_half_of_the_room(tmp_path, monkeypatch):
    machine, X = fitted("ep", "rbf", 3)
    bayespoint.save(machine, tmp_path / "new")
    with monkeypatch.context() as whole:
        whole.setattr(encode, "triangle_of", lambda array: None)
        bayespoint.save(machine, tmp_path / "whole")
    models = [bayespoint.load(tmp_path / name) for name in ("whole", "new")]
    assert not differences(*models)
    assert models[0].predict_proba(X).tobytes() == models[1].predict_proba(X).tobytes()
    sizes = [(tmp_path / name).stat().st_size for name in ("whole", "new")]
    n = len(machine.posterior_.mean)
    matrices = 8 * (3 * n**2 + (n - 1) ** 2)
    assert_allclose(sizes[0] - sizes[1], matrices / 2, rtol=0.1)


# Whatever is made of the values that files know comes back.
SINGLES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from([np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("y")]),
)
ARRAYS = arrays(
    st.sampled_from(["?", "<i8", ">u2", "<f2", "<f4", "<f8", "<U3"]),
    array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
VALUES = st.recursive(
    st.one_of(SINGLES, ARRAYS, st.slices(5)),
    lambda some: st.one_of(
        st.lists(some, max_size=3),
        st.lists(some, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), some, max_size=3),
    ),
    max_leaves=8,
)


@given(VALUES)
@settings(max_examples=50)
def test_any_value(value):
    with TemporaryDirectory() as folder:
        path = Path(folder, "model")
        bayespoint.save(FunctionTransformer(kw_args={"value": value}), path)
        assert not differences(bayespoint.load(path).kw_args["value"], value)


def test_callbacks_are_not_kept(tmp_path):
    callback = pytest.importorskip("sklearn.callback")
    machine = (
        BayesPointClassifier(kernel="linear", temperature=1.0)
        .set_callbacks(callback.ProgressBar())
        .fit(*points(2))
    )
    bayespoint.save(machine, tmp_path / "model")
    X, _ = points(2)
    assert_array_equal(bayespoint.load(tmp_path / "model").predict(X), machine.predict(X))


def test_output_in_frames(there_and_back):
    frame, y = table()
    scaler = MinMaxScaler().set_output(transform="pandas").fit(frame[["b", "rank"]], y)
    again = there_and_back(scaler)
    assert again.transform(frame[["b", "rank"]]).equals(scaler.transform(frame[["b", "rank"]]))

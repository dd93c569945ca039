"""ONNX models of tables: categories, missing cells, and what ``bayespoint train`` makes."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.helpers.running import succeed

import bayespoint
from bayespoint import BayesPointClassifier

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")

from bayespoint.storage.onnx import to_onnx  # noqa: E402

N = 240
TYPES = {"tensor(string)": object, "tensor(bool)": bool, "tensor(float)": np.float32}


def table(*, with_missing=True):
    """Rows of numbers, texts, and true and false, and their labels."""
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "blue", "green", 'ünusual, "one"'], N).astype(object)
    member, age, size = rng.random(N) < 0.5, rng.normal(size=N), rng.normal(size=N)
    score = size + 2.0 * (colour == "red") - member + rng.normal(scale=0.5, size=N)
    if with_missing:
        age[::7], colour[::11], score[::7] = np.nan, None, score[::7] + 1
    frame = pd.DataFrame({"age": age, "colour": colour, "member": member, "size": size})
    frame["colour"] = frame["colour"].astype("category")
    return frame.astype({"age": np.float32, "size": np.float32}), np.where(score > 0, "yes", "no")


def run(model, frame):
    """Labels and probabilities; a missing text is the empty one."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    given = {}
    for one in session.get_inputs():
        column = frame[one.name].astype(object)
        if one.type == "tensor(string)":
            column = column.where(column.notna(), "")
        given[one.name] = column.to_numpy().astype(TYPES[one.type])[:, None]
    return session.run(["label", "probabilities"], given)


def check_equal(model, frame):
    label, probabilities = run(to_onnx(model), frame)
    np.testing.assert_allclose(probabilities, model.predict_proba(frame), rtol=0, atol=1e-5)
    np.testing.assert_array_equal(label, model.predict(frame))
    return probabilities


@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("kernel", ["auto", "linear", "rbf", "exponential", "additive"])
def test_categories_and_missing_cells(kernel, with_missing):
    frame, y = table(with_missing=with_missing)
    half = N // 2
    clf = BayesPointClassifier(kernel=kernel, standardize=True).fit(frame[:half], y[:half])
    new = frame[half:].astype({"colour": object})
    new.iloc[:9, 1] = "violet"  # unknown to the model
    new.iloc[9:12, 1] = None
    new.iloc[3:6, 0] = np.nan
    found = check_equal(clf, new)
    wrong = run(to_onnx(clf), new.assign(colour="red"))[1]
    assert np.abs(wrong - found).max() > 0.1  # the category counts


def test_inputs_of_columns():
    frame, y = table()
    model = to_onnx(BayesPointClassifier(kernel="rbf").fit(frame, y))
    onnx.checker.check_model(model, full_check=True)
    kinds = {one.name: one.type.tensor_type.elem_type for one in model.graph.input}
    number = onnx.TensorProto.FLOAT
    text, flag = onnx.TensorProto.STRING, onnx.TensorProto.BOOL
    assert kinds == {"age": number, "colour": text, "member": flag, "size": number}
    assert {one.domain for one in model.opset_import} == {"", "ai.onnx.ml"}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_categories_of_numbers_keep_one_input(dtype):
    rng = np.random.default_rng(0)
    codes = rng.choice([0.1, 0.2, 0.3, np.nan], N)
    X = np.column_stack([codes, rng.normal(size=N), rng.choice([1.0, 2.0], N)]).astype(dtype)
    y = np.isin(X[:, 0], X[:, 0][np.isclose(X[:, 0], 0.2)]) ^ (X[:, 1] > 1)
    clf = BayesPointClassifier(kernel="rbf", categorical_features=[0, 2]).fit(X, y)
    session = onnxruntime.InferenceSession(to_onnx(clf, dtype=dtype).SerializeToString())
    label, probabilities = session.run(None, {"X": X})
    np.testing.assert_allclose(probabilities, clf.predict_proba(X), rtol=0, atol=1e-5)
    np.testing.assert_array_equal(label, clf.predict(X))


@pytest.mark.parametrize("numbers_only", [False, True])
def test_what_the_command_trains(tmp_path, numbers_only):
    frame, y = table()
    frame = frame[["age", "size"]] if numbers_only else frame
    path, model = tmp_path / "rows.csv", tmp_path / "model.bpm"
    frame.assign(unused=range(N), label=y).to_csv(path, index=False)
    succeed("train", path, "--target", "label", "--drop", "unused", "--model", model)
    pipeline = bayespoint.load(model)
    if not numbers_only:
        frame = frame.astype({"colour": object, "member": float})  # as the command reads them
        check_equal(pipeline, frame.assign(unused=0))
        return
    session = onnxruntime.InferenceSession(to_onnx(pipeline).SerializeToString())
    _, found = session.run(None, {"X": frame[["age", "size"]].to_numpy()})
    np.testing.assert_allclose(found, pipeline.predict_proba(frame.assign(unused=0)), atol=1e-5)


@pytest.mark.parametrize("name", ["label", "labelencoder_0", "constant_0", ""])
def test_columns_that_are_called_like_a_part_of_the_model(name):
    frame, y = table()
    clf = BayesPointClassifier(kernel="linear").fit(frame.rename(columns={"age": name}), y)
    with pytest.raises(ValueError, match=f"cannot name an input '{name}'.*Rename the column"):
        to_onnx(clf)


def test_text_that_is_not_unicode():
    frame, y = table()
    for rows, labels in (
        (frame.assign(colour=pd.Series(["\ud800"] * N, dtype=object)), y),
        (frame, np.where(y == "no", "\ud800", y)),
    ):
        with pytest.raises(ValueError, match="not valid Unicode"):
            to_onnx(BayesPointClassifier(kernel="linear").fit(rows, labels))


def test_a_selection_after_another_step_is_refused():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    scaler = StandardScaler().set_output(transform="pandas")
    chosen = ColumnTransformer([("chosen", "passthrough", ["c", "a"])])
    clf = BayesPointClassifier(kernel="linear")
    model = make_pipeline(chosen, clf).fit(X, X["a"] > 0)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    _, found = session.run(None, {"X": X[["c", "a"]].to_numpy(np.float32)})
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match="cannot write the step ColumnTransformer"):
        to_onnx(make_pipeline(scaler, chosen, clf).fit(X, X["a"] > 0))

"""Writing a fitted classifier as an ONNX model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.tools.extras import require
from bayespoint.tools.pipelines import split_pipeline
from bayespoint.tools.version import __version__

if TYPE_CHECKING:
    from onnx import ModelProto

    from bayespoint.storage.onnx.graph import Value

OPSET, IR_VERSION = 17, 8  # of 2022: ONNX Runtime 1.12 and later run it
TYPES = ("float32", "float64")


def to_onnx(model: Any, *, dtype: str = "float32") -> ModelProto:
    """Write a fitted classifier as an ONNX model.

    The model has the input ``X``, of shape (n, n_features), and the outputs ``label``, of shape
    (n,), and ``probabilities``, of shape (n, n_classes), in the order of ``classes_``. These are
    the names of skl2onnx without its ``ZipMap``. Everything is computed in float64, by standard
    operators of ONNX. Input that overflows is not refused, unlike in Python.

    If some columns are categories of text or of true and false, each column is an input of its own
    instead, of shape (n, 1), with the name of the column. A missing number is NaN, and a missing
    text is the empty one. What ``bayespoint train`` makes of a table is written like this.

    All engines and decisions are written, with all kernels that have a name, their sums, scaled
    features, temperatures, ordered classes, and the mixture of the automatic choice.

    Parameters
    ----------
    model : BayesPointClassifier or Pipeline
        Fitted. The steps before the classifier may be StandardScaler, MinMaxScaler, MaxAbsScaler
        and RobustScaler, and a selection of columns, which are then the inputs. For others,
        convert the steps with skl2onnx, and join both models with ``onnx.compose.merge_models``.
    dtype : {"float32", "float64"}, default="float32"
        Type of the input and of the probabilities.

    Returns
    -------
    onnx.ModelProto
        The model; ``onnx.save`` writes it to a file.

    Raises
    ------
    ValueError
        If several classes have one posterior (``multi_class="joint"``, and the default of
        ``kernel="linear"``): their probabilities are integrals that ONNX has no operator for. Also
        for precomputed kernels and functions, ``decay="auto"``, and other steps.

    Examples
    --------
    >>> import onnxruntime
    >>> from sklearn.datasets import load_breast_cancer
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.storage.onnx import to_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = BayesPointClassifier().fit(X[:300], y[:300])
    >>> model = to_onnx(clf)
    >>> session = onnxruntime.InferenceSession(model.SerializeToString())
    >>> label, probabilities = session.run(None, {"X": X[300:].astype("float32")})
    >>> abs(probabilities - clf.predict_proba(X[300:])).max() < 1e-5
    np.True_
    """
    require("onnx", "onnx", "to_onnx")
    before, classifier, _ = split_pipeline(model)
    if hasattr(classifier, "threshold_"):
        raise TypeError(
            "to_onnx does not write rejection. Pass the estimator_ of the "
            f"{type(classifier).__name__}, and compare what the model returns with its threshold_."
        )
    if not isinstance(classifier, BayesPointClassifier):
        raise TypeError(
            f"to_onnx needs a BayesPointClassifier, or a pipeline that ends with one. Got a "
            f"{type(classifier).__name__}."
        )
    if dtype not in TYPES:
        raise ValueError(f"dtype must be 'float32' or 'float64'. Got {dtype!r} instead.")
    check_is_fitted(model)
    from onnx import TensorProto, checker, helper

    from bayespoint.storage.onnx.columns import DOMAIN, VERSION, cells, features, inputs
    from bayespoint.storage.onnx.graph import Graph
    from bayespoint.storage.onnx.posteriors import answers, log_odds, probabilities

    fitted = classifier.model_
    if fitted.kernel.is_precomputed:
        raise ValueError(
            "to_onnx needs features, but the kernel is precomputed: new rows are rows of a "
            "kernel matrix. Use a kernel of features."
        )
    graph, table = Graph(fitted.n_features), fitted.table
    for texts in (fitted.classes, *(table.levels if table else ())):
        if any("\ud800" <= char <= "\udfff" for char in "".join(map(str, texts))):
            raise ValueError("to_onnx cannot write a label or level that is not valid Unicode.")
    kind = getattr(TensorProto, "FLOAT" if dtype == "float32" else "DOUBLE")
    given = inputs(table, classifier.n_features_in_, kind)
    X = cells(graph, given, table)
    steps = [] if before is None else [one for _, one in before.steps]
    for step in steps[1:] if steps and is_selection(steps[0]) else steps:
        X = scaled(X, *affine(step))
    if table is not None:
        X = features(X, table, dtype)
    if fitted.scaling is not None:
        X = scaled(X, fitted.scaling.mean, fitted.scaling.scale)
    coding, labels = fitted.coding, label_array(fitted.classes)
    found = answers(fitted.posterior, fitted.space, X, classifier.decision)
    graph.add("Cast", probabilities(coding, found), to=kind, output="probabilities")
    index = coding.onnx_class(found.decision, log_odds(coding, found), classifier.decision)
    graph.add("Gather", labels, index, axis=0, output="label")
    made = {name for node in graph.nodes for name in node.output}
    for one in given:
        if not one.name or one.name in made | {constant.name for constant in graph.constants}:
            raise ValueError(
                f"to_onnx cannot name an input {one.name!r}, as the column is called: it is empty, "
                "or the model has something else of this name. Rename the column, and fit again."
            )
    label_kind = helper.np_dtype_to_tensor_dtype(labels.dtype)
    written = helper.make_graph(
        graph.nodes,
        "BayesPointClassifier",
        given,
        [
            helper.make_tensor_value_info("label", label_kind, ["n"]),
            helper.make_tensor_value_info("probabilities", kind, ["n", len(labels)]),
        ],
        graph.constants,
    )
    uses_text = any(node.domain == DOMAIN for node in graph.nodes)
    more = [helper.make_opsetid(DOMAIN, VERSION)] if uses_text else []
    result = helper.make_model(
        written,
        producer_name="bayespoint",
        producer_version=__version__,
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET), *more],
    )
    checker.check_model(result)
    return result


def scaled(X: Value, offset: NDArray, scale: NDArray) -> Value:
    """Features less an offset, over a scale; a difference of large numbers may overflow."""
    return (X * 0.5 - offset * 0.5) / (scale * 0.5)


def is_selection(step: Any) -> bool:
    """Whether a step only selects columns, as in what the command ``bayespoint train`` makes."""
    return (
        isinstance(step, ColumnTransformer)
        and step.remainder == "drop"
        and [one for _, one, _ in step.transformers] == ["passthrough"]
    )


def affine(step: Any) -> tuple[NDArray, NDArray]:
    """Offset and scale of a step before the classifier."""
    ones = np.ones(step.n_features_in_) if hasattr(step, "n_features_in_") else np.ones(1)
    if step == "passthrough":
        return 0 * ones, ones
    if isinstance(step, StandardScaler):
        centre = step.mean_ if step.with_mean else 0 * ones
        return centre, (step.scale_ if step.with_std else ones)
    if isinstance(step, RobustScaler):
        centre = step.center_ if step.with_centering else 0 * ones
        return centre, (step.scale_ if step.with_scaling else ones)
    if isinstance(step, MaxAbsScaler) and not getattr(step, "clip", False):
        return 0 * ones, step.scale_
    if isinstance(step, MinMaxScaler) and not step.clip:
        return -step.min_ / step.scale_, 1 / step.scale_
    raise ValueError(
        f"to_onnx cannot write the step {step}: only StandardScaler, MinMaxScaler, MaxAbsScaler "
        "and RobustScaler, without clipping. Convert the steps before the classifier with "
        "skl2onnx, the classifier alone with to_onnx, and join both with onnx.compose.merge_models."
    )


def label_array(classes: NDArray) -> NDArray:
    """Labels as ONNX has them: int64, bool, float64 or strings."""
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind in "OU" and all(isinstance(one, str) for one in classes.tolist()):
        return classes.astype(object)
    if classes.dtype.kind in "bf":
        return classes
    raise ValueError(
        f"to_onnx writes labels that are numbers or strings. Got {classes.dtype} labels, such as "
        f"{classes[0]!r}."
    )

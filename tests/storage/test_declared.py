"""States are checked against what classes declare: one mechanism for all classes."""

import copy
import io
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import load_iris
from sklearn.preprocessing import LabelEncoder
from tests.helpers.model_files import careful, fitted, forged, members, table
from tests.helpers.running import invoke

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.classifier.attributes import ATTRIBUTES, FittedAttributes
from bayespoint.cli import ExitCode
from bayespoint.engines import ExpectationPropagation, FactorisedPropagation
from bayespoint.exceptions import ModelFileError
from bayespoint.kernels import PolynomialKernel, RadialKernel
from bayespoint.storage.archive import MANIFEST
from bayespoint.storage.declared import (
    check_names,
    declared,
    evaluated,
    fits,
    in_words,
    required,
)
from bayespoint.storage.registry import CLASSES, MODULES
from bayespoint.tools.attributes import ContentError

TYPES = evaluated(FittedAttributes)


def ordinal():
    X, y = load_iris(return_X_y=True)
    return BayesPointClassifier(multi_class="ordinal", kernel="rbf").fit(X, y), X


def automatic():
    X, y = load_iris(return_X_y=True)
    return BayesPointClassifier().fit(X[::2], y[::2]), X


def frame():
    X, y = table()
    return BayesPointClassifier(kernel="linear").fit(X, y), X


def stream():
    X, y = load_iris(return_X_y=True)
    clf = BayesPointClassifier(kernel="linear", engine=FactorisedPropagation(max_iter=1))
    return clf.partial_fit(X, y, classes=[0, 1, 2]), X


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "linear": lambda: fitted("ep", "linear", 3),
    "sum": lambda: fitted("perceptron", 2 * RadialKernel() + PolynomialKernel(degree=2), 2),
    "gibbs": lambda: fitted("gibbs", "rbf", 2),
    "knapsack": lambda: fitted("knapsack", "rbf", 2),
    "careful": careful,
    "ordinal": ordinal,
    "automatic": automatic,
    "frame": frame,
    "stream": stream,
}


@pytest.fixture(scope="module", params=MODELS)
def model(request, tmp_path_factory):
    """A file, and data to predict."""
    fitted_model, X = MODELS[request.param]()
    path = tmp_path_factory.mktemp("models") / "model"
    bayespoint.save(fitted_model, path)
    return path.read_bytes(), X


def objects(node):
    """All objects of a manifest."""
    if isinstance(node, dict) and "object" in node:
        yield node
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for part in parts:
        yield from objects(part)


def outcome(path, contents, manifest, X):
    """What comes of a file: "refused", "fine", or what is wrong with the model."""
    path.write_bytes(forged(contents, manifest))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = bayespoint.load(path)
        except ModelFileError:
            return "refused"
        return used(found, X)


def used(model, X):
    """What is wrong with answers and attributes of a model, if anything is."""
    if not hasattr(model, "classes_"):
        return "fine"
    try:
        p = model.predict_proba(X[:5])
        model.predict(X[:5])
    except ValueError:  # in words
        p = np.ones((1, 1))
    except Exception:
        if hasattr(model, "model_"):
            raise
        return "refused"  # by a transformer of scikit-learn, which is not looked into
    if not np.isfinite(p).all() or not np.allclose(p.sum(axis=1), 1, atol=1e-6):
        return "probabilities are none"
    for name in ATTRIBUTES if isinstance(model, BayesPointClassifier) else ():
        value = getattr(model, name, None)
        if value is not None and not fits(value, TYPES[name]):
            return f"{name} is {value!r}"
    return "fine"


# Names -----------------------------------------------------------------------------------------


def test_classes_are_where_files_say():
    for name, cls in CLASSES.items():
        module, _, short = name.rpartition(".")
        assert module in MODULES
        assert getattr(__import__(module, fromlist=[short]), short) is cls


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_no_attribute_hides_that_of_the_model(name, tmp_path):
    clf, _ = fitted("ep", "linear", 2)
    bayespoint.save(clf, tmp_path / "m")
    contents = members((tmp_path / "m").read_bytes())
    manifest = json.loads(contents[MANIFEST])
    manifest["model"]["state"][name] = 0.5
    (tmp_path / "m").write_bytes(forged(contents, manifest))
    with pytest.raises(ModelFileError, match=f"the attribute '{name}', which is not allowed"):
        bayespoint.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        ("bayespoint.classifier.model.Model", "stream"),  # of a fit, not stored
        ("bayespoint.classifier.model.Model", "quick"),
        ("bayespoint.classifier.model.Model", "predict"),
        ("bayespoint.posteriors.GaussianPosterior", "is_gaussian"),  # a constant of the class
        ("bayespoint.posteriors.GaussianPosterior", "not_stored"),
        ("bayespoint.codings.BinaryCoding", "n_tasks"),
        ("bayespoint.engines.ExpectationPropagation", "link"),
        ("bayespoint.engines.ExpectationPropagation", "fitted"),
        ("bayespoint.kernels.RadialKernel", "weights"),
        ("sklearn.frozen.FrozenEstimator", "classes_"),  # that of its estimator
        ("sklearn.frozen.FrozenEstimator", "predict"),
        ("sklearn.preprocessing.StandardScaler", "transform"),
        ("sklearn.preprocessing.StandardScaler", "strange"),
    ],
)
def test_names_that_are_not_declared(cls, name):
    assert CLASSES[cls]
    with pytest.raises(ContentError, match="which is not allowed"):
        check_names(CLASSES[cls], [name], "x")


def test_every_class_declares_something():
    for name, cls in CLASSES.items():
        without_parameters = name.endswith(("SoftmaxLikelihood", "LogisticLikelihood"))
        assert declared(cls) or without_parameters or cls is LabelEncoder, name
        assert required(cls) <= declared(cls).keys()
        assert all(in_words(hint) for hint in declared(cls).values())


# Types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, [3, np.int64(3), True], [3.0, "3", None, 2**64]),
        (float, [3, 3.5, np.float32(1), np.nan], ["3", None, 1j, 10**400]),
        (bool, [True, np.False_], [1, "True", None]),
        (str, ["a", np.str_("a")], [1, None, b"a"]),
        (int | None, [3, None], [3.5]),
        (list[str], [["a"], []], [("a",), [1], "a", None]),
        (tuple[int, ...], [(1, 2), ()], [[1], ("a",)]),
        (tuple[int, str], [(1, "a")], [(1,), ("a", 1), (1, "a", 2)]),
        (Sequence[int], [[1], (1,), np.array([1])], ["ab", 1, [1.5], np.array([1.5])]),
        (Mapping[str, float], [{"a": 1.0}, {}], [{1: 1.0}, {"a": "b"}, []]),
        (dict[str, Any], [{"a": None}], [{1: 1}, 3]),
        (NDArray[np.float64], [np.ones(1), np.ones(1, "f4")], [np.ones(1, int), [1.0], 1.0]),
        (NDArray[np.int64], [np.ones(1, "i1"), np.ones(1, "u8")], [np.ones(1), np.ones(1, bool)]),
        (NDArray[np.bool_], [np.ones(1, bool)], [np.ones(1, int)]),
        (NDArray[Any], [np.ones(1), np.array(["a"])], [[1.0], None]),
        (NDArray, [np.ones(1)], [1.0]),
        (ArrayLike, [1.0, [1.0, [2]], np.ones(1), "a"], [None, {"a": 1}, RadialKernel()]),
        (ArrayLike | None, [1.0, None], [{}]),
        (RadialKernel, [RadialKernel()], [PolynomialKernel(), RadialKernel, None]),
        (str | Callable[[NDArray], NDArray], ["a"], [float, np.log, None]),
        (Any, [None, 1], []),
    ],
)
def test_values_of_a_type(hint, good, bad):
    assert all(fits(value, hint) for value in good)
    assert not any(fits(value, hint) for value in bad)


def test_parameters_of_a_wrong_type_are_not_saved(tmp_path):
    clf = BayesPointClassifier(engine=ExpectationPropagation(max_iter=[3]))
    with pytest.raises(ModelFileError, match=r"model.engine is invalid: its max_iter is \[3\] of"):
        bayespoint.save(clf, tmp_path / "m")


# Forged states ---------------------------------------------------------------------------------

WRONG = [
    None,
    True,
    "x",
    -1,
    1e155,
    10**30,
    {"float": "nan"},
    [],
    {"tuple": []},
    {"dict": [["a", 1]]},
    {"array": "arrays/0.npy"},
    {"objects": ["a"], "shape": [1]},
    {"type": "builtins.float"},
    {"same": 0},
]


def test_attributes_without_and_with_other_values(model, tmp_path):
    """Refused, or a model that works."""
    data, X = model
    contents = members(data)
    original = json.loads(contents[MANIFEST])
    rng, seen = np.random.default_rng(0), []
    for _ in range(80):
        manifest = copy.deepcopy(original)
        every = [one for one in objects(manifest["model"]) if one["state"]]
        found = every[rng.integers(len(every))]
        name = str(rng.choice(list(found["state"])))
        if rng.random() < 0.3:
            value = found["state"].pop(name)
        else:
            value = found["state"][name] = copy.deepcopy(WRONG[rng.integers(len(WRONG))])
        said = outcome(tmp_path / "mutant", contents, manifest, X)
        assert said in ("refused", "fine"), (found["object"], name, value, said)
        seen.append(said)
    assert seen.count("refused") > 0.3 * len(seen)


def test_numbers_that_overflow(model, tmp_path):
    """In an array, all of it or one of its numbers: refused, or numbers as answers."""
    data, X = model
    contents = members(data)
    rng = np.random.default_rng(1)
    for name in rng.permutation(sorted(contents.keys() - {MANIFEST}))[:15]:
        array = np.load(io.BytesIO(contents[name]))
        if array.dtype != float or not array.size:
            continue
        for whole in (True, False):
            changed = array.copy()
            value = rng.choice([1e155, -1e155, 1e300, 1e-300, 5e-324, 1e20])
            changed.flat[slice(None) if whole else rng.integers(array.size)] = value
            buffer = io.BytesIO()
            np.save(buffer, changed)
            changed_contents = {**contents, name: buffer.getvalue()}
            said = outcome(tmp_path / "mutant", changed_contents, None, X)
            assert said in ("refused", "fine"), (name, array.shape, whole, said)


def test_thresholds_that_overflow_are_refused(tmp_path):
    """Both tails of a normal distribution are 0 there, and their quotient is NaN."""
    clf, X = ordinal()
    bayespoint.save(clf, tmp_path / "m")  # all that is computed when it is first read is there
    likelihood = clf.posterior_.likelihood
    likelihood.thresholds = likelihood.thresholds * 1e155
    with pytest.raises(ValueError, match="overflow"):
        clf.predict_proba(X)
    with pytest.raises(ModelFileError, match="NaN"):
        bayespoint.save(clf, tmp_path / "m")


FACTS = {
    "expected_scores": {"dict": [["error", 3]]},
    "left_out_error": "x",
    "feature_relevance": [0.5],
    "chosen_params": {"dict": [["engine", 3]]},
    "label_scores": [1],
    "n_groups": 1,
    "oob_score": [],
    "strange": 1,
}


@pytest.mark.parametrize("name", FACTS)
def test_what_a_fit_has_found_is_checked(name, tmp_path):
    clf, _ = automatic()
    bayespoint.save(clf, tmp_path / "m")
    contents = members((tmp_path / "m").read_bytes())
    manifest = json.loads(contents[MANIFEST])
    (model,) = (one for one in objects(manifest["model"]) if one["object"].endswith(".Model"))
    pairs = [pair for pair in model["state"]["facts"]["dict"] if pair[0] != name]
    model["state"]["facts"]["dict"] = [*pairs, [name, FACTS[name]]]
    (tmp_path / "m").write_bytes(forged(contents, manifest))
    with pytest.raises(ModelFileError, match=r"model_ is invalid"):
        bayespoint.load(tmp_path / "m")


def test_the_command_line_describes_what_loads(tmp_path):
    """``info`` of files with a changed attribute: words or a description, never a traceback."""
    clf, _ = fitted("ep", "linear", 3)
    path = tmp_path / "m.bpm"
    bayespoint.save(clf, path)
    contents = members(path.read_bytes())
    original = json.loads(contents[MANIFEST])
    rng, codes = np.random.default_rng(2), []
    for _ in range(60):
        manifest = copy.deepcopy(original)
        every = [one["state"] for one in objects(manifest["model"]) if one["state"]]
        state = every[rng.integers(len(every))]
        state[str(rng.choice(list(state)))] = copy.deepcopy(WRONG[rng.integers(len(WRONG))])
        path.write_bytes(forged(contents, manifest))
        result = invoke("info", str(path))
        assert result.exception is None or isinstance(result.exception, SystemExit)
        codes.append(result.exit_code)
    assert set(codes) == {0, ExitCode.NO_DATA}

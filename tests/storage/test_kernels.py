"""Kernels in model files."""

import json

import numpy as np
import pytest
from tests.helpers.model_files import differences, fitted, forged, members

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.exceptions import ModelFileError
from bayespoint.kernels import (
    ConstantKernel,
    FunctionKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RadialKernel,
    SumKernel,
)
from bayespoint.storage.archive import MANIFEST

SUM = 2 * RadialKernel(gamma="scale") + 0.5 * PolynomialKernel(degree=2) + ConstantKernel()
KERNELS = {
    "rbf": RadialKernel(gamma=0.3),
    "linear": PolynomialKernel(coef0=1.0),
    "sum": SUM,
    "sum in a sum": SumKernel([SUM, PolynomialKernel(normalize=True)], normalize=True),
    "linear sum": PolynomialKernel() + ConstantKernel(),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("engine", ["ep", "perceptron", "knapsack"])
def test_there_and_back(engine, kernel, tmp_path):
    clf, X = fitted(engine, kernel, 3)
    bayespoint.save(clf, tmp_path / "model")
    again = bayespoint.load(tmp_path / "model")
    assert not differences(clf, again)
    np.testing.assert_allclose(again.predict_proba(X), clf.predict_proba(X), rtol=1e-13)
    assert repr(again.kernel) == repr(kernel)
    assert repr(again.kernel_) == repr(clf.kernel_)


def test_a_classifier_that_is_not_fitted(tmp_path):
    clf = BayesPointClassifier(temperature=1.0, kernel=SUM)
    bayespoint.save(clf, tmp_path / "model")
    assert repr(bayespoint.load(tmp_path / "model")) == repr(clf)


def test_functions_are_refused(tmp_path):
    clf, _ = fitted("ep", FunctionKernel(lambda A, B: A @ B.T), 2)
    with pytest.raises(ModelFileError, match=r"model\.kernel .*A model file contains no code"):
        bayespoint.save(clf, tmp_path / "model")


def states(node, name):
    """States of the objects of a class in a manifest."""
    if isinstance(node, dict) and node.get("object") == f"bayespoint.kernels.{name}":
        yield node["state"]
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for part in parts:
        yield from states(part, name)


@pytest.mark.parametrize(
    ("name", "attribute", "value", "match"),
    [
        ("RadialKernel", "gamma", -1.0, "'gamma' parameter of RadialKernel"),
        ("RadialKernel", "gamma", "scale", "depends on the training rows"),
        ("RadialKernel", "centre_", 3, "its centre_ is 3 of type int, not an array or None"),
        ("RadialKernel", "is_precomputed", True, "'is_precomputed', which is not allowed"),
        ("RadialKernel", "works_on_devices", False, "which is not allowed"),
        ("PolynomialKernel", "degree", 0, "'degree' parameter of PolynomialKernel"),
        ("PolynomialKernel", "columns_", 3, "its columns_ is 3 of type int"),
        ("ConstantKernel", "normalize", 3, "its normalize is 3 of type int, not bool"),
        ("SumKernel", "terms", [], "'terms' parameter of SumKernel"),
        ("SumKernel", "weights", [1.0], "'weights' parameter of SumKernel"),
        ("Points", "parts", {"tuple": []}, "is invalid"),
        ("Points", "parts", {"tuple": [3]}, "not tuple of Points"),
        ("Points", "log_unit", 1e6, "1000000"),
    ],
)
def test_nonsense_is_refused(name, attribute, value, match, tmp_path):
    clf, _ = fitted("ep", SUM, 2)
    path = tmp_path / "model"
    bayespoint.save(clf, path)
    contents = members(path.read_bytes())
    manifest = json.loads(contents[MANIFEST])
    found = list(states(manifest["model"], name))
    found[0 if name == "Points" else -1][attribute] = value  # of the space, and of the whole sum
    path.write_bytes(forged(contents, manifest))
    with pytest.raises(ModelFileError, match=match):
        bayespoint.load(path)


def test_a_length_that_is_no_number_is_refused():
    kernel = PrecomputedKernel().fitted(np.eye(3))
    kernel.check_state()
    kernel.typical_length_ = "long"
    with pytest.raises(ValueError, match="'long' is not a number"):
        kernel.check_state()

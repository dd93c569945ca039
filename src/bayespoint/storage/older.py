"""What earlier formats of model files have in other places."""

from __future__ import annotations

from typing import Any

from bayespoint.classifier.attributes import FACTS
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.model import Model
from bayespoint.engines import ExpectationPropagation, FactorisedPropagation, KnapsackPropagation

# Field of a Model -> attribute of a classifier of format 3. Others follow from these.
FORMAT_3 = {
    "space": "_space",
    "posterior": "posterior_",
    "coding": "coding_",
    "run": "run_",
    "n_features": "n_features_in_",
    "scaling": "_scaling",
    "columns": "_columns",
    "accepts_sparse": "_accepts_sparse",
    "decision": "decision",
    "seed": "_seed",
    "fingerprint": "_fingerprint",
    "losses": "_temperature_losses",
}
DERIVED = ("classes_", "coef_", "intercept_", "log_evidence_", "n_iter_")
FULL_ONLY = ("schedule", "prior_covariance")  # of one engine with the parameters of two
SHARED = ("decision", "n_features_in_")  # that the classifier keeps


def up_to_date(cls: type, state: dict[str, Any]) -> tuple[type, dict[str, Any]]:
    """The class and the attributes of an object as the newest format has them."""
    if cls is BayesPointClassifier and "posterior_" in state:
        return cls, of_model(state)
    if cls is ExpectationPropagation and state.pop("covariance", "full") == "diagonal":
        own = {name: value for name, value in state.items() if name not in FULL_ONLY}
        return FactorisedPropagation, own
    if cls is ExpectationPropagation:
        state.pop("decay", None)
    if cls is KnapsackPropagation:
        state.pop("nonconcave", None)  # how messages were computed
    return cls, state


def of_model(state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a classifier of format 3, with a model."""
    fields = {field: state[name] for field, name in FORMAT_3.items() if name in state}
    if isinstance(fields.get("columns"), slice):
        fields["columns"] = None
    fields["facts"] = {name: state[f"{name}_"] for name in FACTS if f"{name}_" in state}
    old = {*FORMAT_3.values(), *DERIVED, *(f"{name}_" for name in FACTS)} - {*SHARED}
    kept = {name: value for name, value in state.items() if name not in old}
    return {**kept, "model_": Model(**fields)}

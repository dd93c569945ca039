"""What earlier formats of model files have in other places."""

from __future__ import annotations

from typing import Any

from bayespoint.classifier.attributes import FACTS
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.model import Model

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
SHARED = ("decision", "n_features_in_")  # that the classifier keeps


def up_to_date(cls: type, state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an object as the newest format has them."""
    if cls is not BayesPointClassifier or "posterior_" not in state:
        return state
    fields = {field: state[name] for field, name in FORMAT_3.items() if name in state}
    if isinstance(fields.get("columns"), slice):
        fields["columns"] = None
    fields["facts"] = {name: state[f"{name}_"] for name in FACTS if f"{name}_" in state}
    old = {*FORMAT_3.values(), *DERIVED, *(f"{name}_" for name in FACTS)} - {*SHARED}
    kept = {name: value for name, value in state.items() if name not in old}
    return {**kept, "model_": Model(**fields)}

"""Choosing parameters by the evidence."""

from bayespoint.selection.gradient import log_evidence_gradient
from bayespoint.selection.search import EvidenceSearch

__all__ = ["EvidenceSearch", "log_evidence_gradient"]

"""Choosing parameters by the evidence."""

from bayespoint.selection.gradient import log_evidence_gradient

__all__ = ["log_evidence_gradient"]

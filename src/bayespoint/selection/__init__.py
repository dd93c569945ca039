"""Choosing parameters by the evidence."""

from bayespoint.selection.search import EvidenceSearch

__all__ = ["EvidenceSearch"]

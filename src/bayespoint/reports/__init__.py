"""How good a classifier is, as numbers (:func:`measure`) and as a page (:func:`write_evaluation`).

The page is a single HTML file without scripts, which needs no network.
"""

from bayespoint.reports.answers import Answers, Bin
from bayespoint.reports.costs import Expense, Threshold
from bayespoint.reports.drift import Shift, compare, profile
from bayespoint.reports.evaluation import ClassScores, Evaluation, Selective
from bayespoint.reports.explanation import Explanation, ExplanationDisplay, Push, Voice, explain
from bayespoint.reports.features import Features
from bayespoint.reports.measurement import measure
from bayespoint.reports.metrics import METRICS, Measured, Metric
from bayespoint.reports.page import write_evaluation

__all__ = [
    "METRICS",
    "Answers",
    "Bin",
    "ClassScores",
    "Evaluation",
    "Expense",
    "Explanation",
    "ExplanationDisplay",
    "Features",
    "Measured",
    "Metric",
    "Push",
    "Selective",
    "Shift",
    "Threshold",
    "Voice",
    "compare",
    "explain",
    "measure",
    "profile",
    "write_evaluation",
]

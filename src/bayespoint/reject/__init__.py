"""Classification with rejection: rejection curves, and classifiers with a reject option.

The outputs of a Bayes point machine say how certain each prediction is. Most errors are at rows
with small outputs, so rejecting these lowers the error on the accepted rows.

>>> from bayespoint.reject import rejection_curve
>>> curve = rejection_curve(["a", "b", "b", "a"], [-2.0, 1.0, -0.1, -0.5])
>>> curve.error_at([0.0, 0.25])  # the only error is the least certain answer
array([0.25, 0.  ])
"""

from bayespoint.classifier.label_sets import LabelSets
from bayespoint.reject.confusion import RejectionConfusionDisplay, rejection_confusion
from bayespoint.reject.curve import OperatingPoint, RejectionCurve, rejection_curve
from bayespoint.reject.display import RejectionCurveDisplay
from bayespoint.reject.guarantee import Guarantee, error_bound
from bayespoint.reject.scores import SCORES, Score, confidence, estimator_outputs
from bayespoint.reject.selective import SelectiveClassifier
from bayespoint.reject.sets import label_sets

__all__ = [
    "SCORES",
    "Guarantee",
    "LabelSets",
    "OperatingPoint",
    "RejectionConfusionDisplay",
    "RejectionCurve",
    "RejectionCurveDisplay",
    "Score",
    "SelectiveClassifier",
    "confidence",
    "error_bound",
    "estimator_outputs",
    "label_sets",
    "rejection_confusion",
    "rejection_curve",
]

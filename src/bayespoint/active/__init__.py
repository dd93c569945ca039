"""Active learning: scores of rows, query strategies, and the learning loop.

A Bayes point machine knows how much the classifiers of its posterior disagree on a row. If all
agree, the label of the row adds little. If half say yes and half say no, the label rules out half
of them.

>>> import numpy as np
>>> from bayespoint import BayesPointClassifier
>>> from bayespoint.active import entropy, query
>>> clf = BayesPointClassifier(kernel="linear").fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
>>> pool = np.array([[-3.0], [-0.2], [1.5]])
>>> entropy(clf, pool).round(3)
array([0.147, 0.66 , 0.23 ])
>>> query(clf, pool, 1)
array([1])
"""

from bayespoint.active.curve import LearningCurve, LearningCurveDisplay
from bayespoint.active.loop import learn_actively
from bayespoint.active.scores import bald, entropy
from bayespoint.active.strategies import query
from bayespoint.active.suspects import SuspectLabels, suspect_labels

__all__ = [
    "LearningCurve",
    "LearningCurveDisplay",
    "SuspectLabels",
    "bald",
    "entropy",
    "learn_actively",
    "query",
    "suspect_labels",
]

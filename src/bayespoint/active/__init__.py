"""Asking for the labels that teach most: scores of points, batches of them, and the loop.

A Bayes point machine knows how far the classifiers that the data allow disagree on a point. Where
they agree a label teaches nothing; where half of them say yes and half say no, its label rules out
half of them, whatever it is.

>>> import numpy as np
>>> from bayespoint import BayesPointClassifier
>>> from bayespoint.active import entropy, query
>>> clf = BayesPointClassifier(engine="ep").fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
>>> pool = np.array([[-3.0], [-0.2], [1.5]])
>>> entropy(clf, pool).round(3)
array([0.147, 0.66 , 0.23 ])
>>> query(clf, pool, 1)
array([1])
"""

from bayespoint.active.curve import LearningCurve
from bayespoint.active.display import LearningCurveDisplay
from bayespoint.active.loop import learn_actively
from bayespoint.active.scores import bald, entropy
from bayespoint.active.strategies import query

__all__ = ["LearningCurve", "LearningCurveDisplay", "bald", "entropy", "learn_actively", "query"]

"""Bayes point machines: classifiers that average over all classifiers the data allow."""

__version__ = "0.1.0"

from bayespoint.classifier import BayesPointClassifier

__all__ = ["BayesPointClassifier", "__version__"]

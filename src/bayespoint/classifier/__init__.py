"""The classifier: parameters, problem, fit, model, predictions."""

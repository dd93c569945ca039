"""Gaussian posteriors of several classes together."""

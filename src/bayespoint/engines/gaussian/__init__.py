"""Gaussian posteriors: expectation propagation and Laplace's approximation."""

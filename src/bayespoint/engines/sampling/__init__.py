"""Samples of the posterior: permuted perceptrons, the kernel Gibbs sampler and the billiard."""

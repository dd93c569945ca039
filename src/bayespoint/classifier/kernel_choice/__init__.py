"""The automatic choice of kernels, their numbers, and how much to trust each."""

"""Gaussian engines on rows in blocks that are read again in every round."""

"""The choices that nobody made: kernels, their numbers, and how much to trust each."""

from bayespoint.automatic.choice import Choice, choose

__all__ = ["Choice", "choose"]

"""Errors of computing clusters."""

from __future__ import annotations

from dataclasses import dataclass

from bayespoint.exceptions.base import Attributes


@dataclass(eq=False)
class ClusterError(Attributes, RuntimeError):
    """A cluster is lost, or cannot do its work.

    Attributes
    ----------
    address : str
        Where its scheduler is.
    reason : str
        What is wrong.
    remedy : str
        What to do.

    Examples
    --------
    >>> from bayespoint.exceptions import ClusterError
    >>> print(ClusterError("tcp://node1:8786", "it has no workers", "start workers"))
    The Dask cluster at tcp://node1:8786 failed: it has no workers. Remedy: start workers.
    """

    address: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"The Dask cluster at {self.address} failed: {self.reason}. Remedy: {self.remedy}."

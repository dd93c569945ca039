"""How an engine found a posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bayespoint.tools.attributes import integer, need


@dataclass(frozen=True)
class Run:
    """What happened while an engine searched: how long, how it ended, and what to do about it.

    Attributes
    ----------
    unit : str
        What an iteration is called, in the plural: "sweeps", "steps", "epochs".
    n_iter : int
        Most iterations of a task.
    summary : str
        How it ended, in a few words.
    converged : bool, default=True
        Whether the result is what the engine was asked for. If not, there is a warning.
    remedy : str, default=""
        What would make the result better.
    history : sequence of sequences of float, optional
        For each task the largest change in each of its iterations, as ``tol`` measures it.
    measures : mapping of str to ndarray, optional
        What is known of each task, by name: arrays of shape (n_tasks,), or (n_tasks, n) where there
        are several numbers of a task, such as one for each chain.
    warnings : sequence of Warning, optional
        What the classifier warns of. They are not kept in model files.
    seconds : float
        Time of the run; measured by the classifier.
    choice : sequence of str, optional
        What was chosen automatically, and why.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BayesPointClassifier(kernel="linear", engine="laplace", multi_class="one_vs_rest")
    >>> run = clf.fit(X, y).run_
    >>> run.converged, run.summary
    (True, 'converged after 6 steps')
    >>> [len(changes) for changes in run.history]  # of each class against the rest
    [6, 5, 6]
    """

    not_stored: ClassVar = ("warnings",)

    unit: str
    n_iter: int
    summary: str
    converged: bool = True
    remedy: str = ""
    history: Sequence[Sequence[float]] = ()
    measures: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    warnings: Sequence[Warning] = ()
    seconds: float = np.nan
    choice: Sequence[str] = ()

    def check_state(self) -> None:
        """Raise an error if the stored attributes make no sense."""
        integer(self.n_iter, 0)
        need(type(self.converged) is bool, "converged is not a bool")
        for words in (self.unit, self.summary, self.remedy):
            need(isinstance(words, str), "its words are not text")
        need(all(isinstance(line, str) for line in self.choice), "its choice is not text")
        need(isinstance(self.history, (list, tuple)), "its history is not a sequence")
        need(isinstance(self.measures, dict), "its measures are not a dict")

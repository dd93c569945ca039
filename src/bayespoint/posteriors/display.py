"""Plots of max-marginals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.posteriors import MarginalPosterior
from bayespoint.tools.pipelines import split_pipeline
from bayespoint.tools.plots import BLUE, INK, VERMILION, Axes, new_panels


@dataclass(eq=False, repr=False)
class MarginalDisplay:
    """Plot of the max-marginals of some weights, with their means and modes.

    As Figure 1 e-g of the paper. Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    posterior : MarginalPosterior
        The max-marginals.
    features : sequence of int, default=(0, 1, 2)
        Indices of the weights.
    names : sequence of str or None, default=None
        Names of the weights, for the titles.
    task : int, default=0
        Index of the task: 0 for two classes, else that of a class against the rest.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each weight.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.posteriors.display import MarginalDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = BayesPointClassifier(engine="knapsack").fit(scale(X[:, :4]), y)
    >>> display = MarginalDisplay.from_estimator(clf, features=[0, 3])
    >>> [ax.get_title() for ax in display.axes_]
    ['weight of x0', 'weight of x3']
    """

    posterior: MarginalPosterior
    _: KW_ONLY
    features: Sequence[int] = (0, 1, 2)
    names: Sequence[str] | None = None
    task: int = 0

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, features: Sequence[int] = (0, 1, 2), task: int = 0,
        axes: Sequence[Axes] | None = None,
    ) -> MarginalDisplay:  # fmt: skip
        """Plot the marginals of a fitted classifier, alone or as the last step of a pipeline.

        Parameters
        ----------
        estimator : BayesPointClassifier or Pipeline
            Fitted with the engine ``KnapsackPropagation``.
        features, task
            See the class. Titles have the names of the features, if the classifier has them.
        axes : sequence of matplotlib Axes, optional
            See :meth:`plot`.

        Returns
        -------
        MarginalDisplay
        """
        classifier = split_pipeline(estimator).last
        posterior = getattr(classifier, "posterior_", None)
        if not isinstance(posterior, MarginalPosterior):
            raise ValueError(
                "MarginalDisplay needs a classifier that is fitted with the engine "
                f"KnapsackPropagation. Got {classifier!r}."
            )
        known = getattr(classifier, "feature_names_in_", None)
        names = None
        if known is not None:
            names = [known[d] if d < len(known) else "intercept" for d in features]
        return cls(posterior, features=features, names=names, task=task).plot(axes)

    def plot(self, axes: Sequence[Axes] | None = None) -> MarginalDisplay:
        """Draw each marginal, with its mean as a line and its mode as a cross.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, optional
            One for each weight. By default a new figure.

        Returns
        -------
        self
        """
        self._check()
        if axes is None:
            n = len(self.features)
            axes = list(new_panels(1, n, 3.2 * n, 2.6)[1][0])
        for number, (ax, d) in enumerate(zip(axes, self.features, strict=True)):
            name = f"x{d}" if self.names is None else self.names[number]
            self._draw(ax, d)
            ax.set_title(f"weight of {name}")
        axes[0].set_ylabel("max-marginal")
        axes[0].legend(fontsize="small")
        self.axes_, self.figure_ = list(axes), axes[0].figure
        return self

    def _check(self) -> None:
        n_tasks, n_weights, _ = self.posterior.grids.shape
        if not len(self.features) or not all(0 <= d < n_weights for d in self.features):
            raise ValueError(
                f"features must be indices of weights, from 0 to {n_weights - 1}. "
                f"Got {list(self.features)!r}."
            )
        if not 0 <= self.task < n_tasks:
            raise ValueError(f"task must be in the range 0 to {n_tasks - 1}. Got {self.task!r}.")

    def _draw(self, ax: Axes, d: int) -> None:
        both = self.posterior.grids, self.posterior.log_marginals
        grid, log_p = (array[self.task, d] for array in both)
        beta = self.posterior.beta if np.isfinite(self.posterior.beta) else 1.0
        density: NDArray = np.exp(np.maximum(beta * log_p, -700.0))
        shown = density > 1e-3
        ax.plot(grid[shown], density[shown], color=INK)
        mean, mode = self.posterior.mean[d, self.task], self.posterior.mode[d, self.task]
        ax.axvline(mean, color=BLUE, label=f"mean, beta = {self.posterior.beta:g}")
        ax.plot(mode, 1.0, "x", color=VERMILION, markersize=9, label="mode", clip_on=False)
        ax.set_ylim(bottom=0)

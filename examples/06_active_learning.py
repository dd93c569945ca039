"""
Active learning
================

Where half of the posterior's classifiers say yes and half say no, the label rules out half of them.
A classifier that chooses such points needs fewer labels.
"""

# %%
# A pool of unlabelled points in the plane. The classifier starts with six labels and queries 24
# more, one after another, where the vote is closest (``"entropy"``), or at random.

import matplotlib.pyplot as plt
import numpy as np

from bayespoint import BayesPointClassifier
from bayespoint.active import LearningCurveDisplay, learn_actively
from bayespoint.engines import ExpectationPropagation
from bayespoint.tools.plots import BLUE, INK, VERMILION


def label(X):
    """The true labels."""
    return (X[:, 1] > 0.6 * np.sin(2.5 * X[:, 0])).astype(int)


rng = np.random.default_rng(0)
pool, test = rng.uniform(-2, 2, size=(300, 2)), rng.uniform(-2, 2, size=(2000, 2))
clf = BayesPointClassifier(
    kernel="rbf", gamma=1.0, engine=ExpectationPropagation(prior_scale=10.0, noise=0.3)
)
curves = {
    strategy: [
        learn_actively(
            clf,
            pool,
            lambda i: label(pool[i]),
            start=6,
            n_queries=24,
            strategy=strategy,
            X_test=test,
            y_test=label(test),
            random_state=seed,
        )
        for seed in range(5)
    ]
    for strategy in ("entropy", "random")
}

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
across = np.linspace(-2, 2, 200)
for ax, (strategy, runs) in zip(axes, curves.items(), strict=True):
    asked, answers = pool[runs[0].indices], runs[0].labels
    ax.scatter(*pool.T, color=INK, alpha=0.12, s=8)
    ax.plot(across, 0.6 * np.sin(2.5 * across), color=INK, linestyle=":", label="truth")
    grid = np.stack(np.meshgrid(across, across), axis=-1).reshape(-1, 2)
    p = runs[0].estimator.predict_proba(grid)[:, 1].reshape(200, 200)
    ax.contour(across, across, p, levels=[0.5], colors=INK, linewidths=1.5)
    ax.scatter(*asked.T, c=np.where(answers == 1, BLUE, VERMILION), s=34, edgecolor="white")
    accuracy = np.mean([run.scores[-1] for run in runs])
    ax.set(title=f"{strategy}: mean accuracy {accuracy:.1%}", aspect="equal", xlabel="$x_1$")
    ax.grid(False)
axes[0].set_ylabel("$x_2$")

# %%
# The learning curves, means of five runs with standard errors:

fig, ax = plt.subplots(figsize=(6.4, 4))
for strategy, runs in curves.items():
    LearningCurveDisplay.from_curves(runs, name=strategy, ax=ax)

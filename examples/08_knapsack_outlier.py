"""
Max-marginals and an outlier
=============================

Knapsack propagation uses the 0-1 loss: a training point on the wrong side costs C, however far away
it is. Its messages are functions instead of Gaussians, so the marginals of the weights can be
skewed or have several peaks.
"""

# %%
# Two Gaussians around (1, 1) and (-1, -1), and one more point of the second class at (10, 0). The
# best line is the diagonal.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from bayespoint.tools.plots import BLUE, INK, VERMILION


def draw(rng):
    """Fifty points of each class, without and with the outlier."""
    y = np.repeat([1, -1], 50)
    X = rng.normal(size=(100, 2)) + y[:, None]
    return (X, y), (np.vstack([X, (10, 0)]), np.append(y, -1))


def fit(X, y):
    """Both classifiers."""
    knapsack = BayesPointClassifier(
        kernel="linear", engine=KnapsackPropagation(C=1.0, n_iter=30, bins=64)
    )
    return knapsack.fit(X, y), SVC(kernel="linear").fit(X, y)


clean, spoilt = draw(np.random.default_rng(1))
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharex=True, sharey=True)
for ax, (X, y), title in zip(axes, (clean, spoilt), ("without", "with the outlier"), strict=True):
    knapsack, svm = fit(X, y)
    across = np.array([-4.0, 11.0])
    for clf, colour, name in ((knapsack, BLUE, "knapsack"), (svm, VERMILION, "SVM, C = 1")):
        (w1, w2), w0 = clf.coef_[0], clf.intercept_[0]
        ax.plot(across, -(w0 + w1 * across) / w2, color=colour, label=name)
    ax.plot(across, -across, color=INK, linestyle=":", label="best")
    ax.scatter(*X[y == 1].T, color=BLUE, s=12, alpha=0.6)
    ax.scatter(*X[y == -1].T, color=VERMILION, s=12, alpha=0.6)
    ax.set(xlim=(-4, 11), ylim=(-4, 4), title=title, xlabel="$x_1$")
axes[0].set_ylabel("$x_2$")
axes[1].legend(loc="upper right")

# %%
# The max-marginals of the three weights with the outlier, their means (the Bayes point) and modes:

knapsack, _ = fit(*spoilt)
fig, axes = plt.subplots(1, 3, figsize=(10, 3))
posterior = knapsack.posterior_
for d, (ax, name) in enumerate(zip(axes, ("x0", "x1", "intercept"), strict=True)):
    density = np.exp(posterior.beta * posterior.log_marginals[0, d])
    shown = density > 1e-3
    ax.plot(posterior.grids[0, d, shown], density[shown], color=INK)
    ax.axvline(posterior.mean[d, 0], color=BLUE, label=f"mean, beta = {posterior.beta:g}")
    ax.plot(posterior.mode[d, 0], 1, "x", color=VERMILION, markersize=9, label="mode")
    ax.set(title=f"weight of {name}", ylim=(0, 1.05))
axes[0].set_ylabel("max-marginal")
axes[0].legend(fontsize="small")

# %%
# The true error in percent without and with the outlier, mean over 20 data sets:


def true_error(clf):
    """Error in % on the two Gaussians."""
    (w1, w2), w0 = clf.coef_[0], clf.intercept_[0]
    length = np.hypot(w1, w2)
    return 50 * (ndtr(-(w1 + w2 + w0) / length) + ndtr((w0 - w1 - w2) / length))


errors = np.array(
    [
        [[true_error(clf) for clf in fit(X, y)] for X, y in draw(np.random.default_rng(s))]
        for s in range(20)
    ]
)  # data sets, without or with the outlier, classifiers
for name, (before, after) in zip(("knapsack", "SVM"), errors.mean(axis=0).T, strict=True):
    print(f"{name}: {before:.2f} without, {after:.2f} with the outlier")

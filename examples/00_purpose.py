"""
What it is for
===============

A classifier that averages over all classifiers that fit the data knows where these disagree. It is
uncertain there, and can refuse to decide.
"""

# %%
# Left: two half moons. The lines are the boundaries of twelve classifiers from the posterior, the
# colour is the probability that all of them give together. Right: the error on digits that are
# accepted, against the share of digits that is rejected, least certain first.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.reject import RejectionCurveDisplay
from bayespoint.tools.plots import BLUE, INK, VERMILION, colours

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=[1.2, 1])

X, y = make_moons(60, noise=0.2, random_state=3)
clf = BayesPointClassifier(random_state=0).fit(X, y)
steps = np.linspace(-3, 4, 141), np.linspace(-2.5, 3, 111)
plane = np.stack(np.meshgrid(*steps), axis=-1).reshape(-1, 2)
shape = len(steps[1]), len(steps[0])
probability = clf.predict_proba(plane)[:, 1].reshape(shape)
left.pcolormesh(*steps, probability, cmap=colours(VERMILION, "white", BLUE), alpha=0.7)
for outputs in clf.draw_outputs(plane, 12, random_state=0)[:, :, 0].T:
    left.contour(*steps, outputs.reshape(shape), [0.0], colors=INK, linewidths=0.6, alpha=0.6)
for label, colour, marker in ((0, VERMILION, "s"), (1, BLUE, "o")):
    left.scatter(*X[y == label].T, color=colour, marker=marker, s=28, edgecolor="white", zorder=3)
left.set(title="Where classifiers disagree", xticks=[], yticks=[])
left.grid(False)

X, y = load_digits(return_X_y=True)
split = train_test_split(X, y, test_size=0.5, random_state=0)
X_train, X_test, y_train, y_test = split
machines = {
    "BayesPointClassifier()": BayesPointClassifier(random_state=0),
    "LogisticRegression()": make_pipeline(StandardScaler(), LogisticRegression()),
}
for (name, machine), colour in zip(machines.items(), (BLUE, VERMILION), strict=True):
    machine.fit(X_train, y_train)
    RejectionCurveDisplay.from_estimator(
        machine, X_test, y_test, score="proba", ax=right, max_rate=0.2, label=name, color=colour
    )
    print(f"{name}: error {1 - machine.score(X_test, y_test):.1%}, nothing rejected")
right.set(title="Refusing to decide", xticks=[0, 0.05, 0.1, 0.15, 0.2], ylim=(0, 0.04))
right.legend(loc="upper right")

# %%
# The boundaries agree among the points and part where there are none. With the same points and no
# argument set, :class:`~bayespoint.BayesPointClassifier` errs less than logistic regression, and
# what errors it makes are among those that it is least certain of.

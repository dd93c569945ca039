"""
Bayes point and support vector machine
=======================================

Many lines separate a dozen points. The support vector machine is the one with the largest margin,
which depends on two or three of the points. The Bayes point is the mean of all of them.
"""

# %%
# Two classes are separated by an unknown line. There are twelve points, and 60 of the lines that
# separate them, sampled by a billiard in version space.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier
from bayespoint.engines import BilliardSampler
from bayespoint.tools.plots import BLUE, GREEN, INK, VERMILION

TRUTH, OFFSET = np.array([1.0, -0.6]), 0.15
ENGINE = BilliardSampler(n_samples=480, thin=50)


def draw(n_points, rng):
    """Points in a square, labelled by the true line."""
    X = rng.uniform(-1, 1, size=(n_points, 2))
    return X, np.where(X @ TRUTH + OFFSET > 0, 1, -1)


def fit(X, y):
    """The Bayes point machine and the hard-margin support vector machine."""
    bayes = BayesPointClassifier(kernel="linear", engine=ENGINE, random_state=0).fit(X, y)
    return bayes, SVC(kernel="linear", C=1e6).fit(X, y)


def draw_line(ax, weights, offset, **style):
    """The line on which w.x + offset = 0."""
    foot = -offset * weights / (weights @ weights)
    along = np.array([-weights[1], weights[0]]) / np.linalg.norm(weights)
    ax.plot(*(foot[:, None] + np.outer(along, [-3, 3])), **style)


X, y = draw(12, np.random.default_rng(58))
bayes, svm = fit(X, y)

fig, ax = plt.subplots(figsize=(7.6, 4.4))
for w1, w2, offset in bayes.posterior_.weights[:, ::8, 0].T:
    draw_line(ax, np.array([w1, w2]), offset, color=BLUE, alpha=0.15, linewidth=0.8)
draw_line(ax, TRUTH, OFFSET, color=INK, linewidth=1.4, linestyle=":", label="truth")
draw_line(ax, svm.coef_[0], svm.intercept_[0], color=VERMILION, label="support vector machine")
draw_line(ax, bayes.coef_[0], bayes.intercept_[0], color=BLUE, label="Bayes point of all lines")
for label, colour, marker in ((1, GREEN, "o"), (-1, INK, "s")):
    ax.scatter(*X[y == label].T, color=colour, marker=marker, s=45, zorder=3, edgecolor="white")
ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
ax.grid(False)
fig.legend(loc="outside right upper")

# %%
# The same for 60 data sets of each size. The error is the share of the square that is classified
# wrongly.

grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 200)] * 2), axis=-1).reshape(-1, 2)
truth = grid @ TRUTH + OFFSET > 0


def error(clf):
    """Share of the square that is classified wrongly."""
    return np.mean((grid @ clf.coef_[0] + clf.intercept_[0] > 0) != truth)


for n_points in (8, 16, 32):
    errors = []
    for seed in range(60):
        X, y = draw(n_points, np.random.default_rng(seed))
        if abs(y.sum()) < n_points:  # both classes are present
            errors.append([error(clf) for clf in fit(X, y)])
    bayes_error, svm_error = np.mean(errors, axis=0)
    gain = np.diff(errors, axis=1)
    print(
        f"{n_points} points: Bayes point {bayes_error:.1%}, SVM {svm_error:.1%}, "
        f"difference {gain.mean():.2%} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.2%}"
    )

"""
Label noise
============

If some labels are wrong, no classifier may fit all of them, and version space is empty. The kernel
Gibbs sampler weights every classifier by its errors instead: with k errors on m points its weight
is :math:`q^k (1 - q)^{m - k}`, where q is the rate of wrong labels.
"""

# %%
# Two clouds of 60 points, eight of them with a wrong label. The lines are the decision boundaries
# of eight classifiers from the posterior; the colour is the mean of all votes. The more noise is
# assumed, the smoother the classifiers become, and the more they differ.

import matplotlib.pyplot as plt
import numpy as np

from bayespoint import BayesPointClassifier
from bayespoint.engines import GibbsSampler
from bayespoint.tools.plots import BLUE, INK, VERMILION, colours

rng = np.random.default_rng(3)
y = np.repeat([0, 1], 30)
X = rng.normal(size=(60, 2)) * 0.7 + np.where(y[:, None] == 1, [0.9, -0.4], [-0.9, 0.4])
wrong = rng.choice(60, size=8, replace=False)
y[wrong] = 1 - y[wrong]

first, second = np.linspace(-3, 3, 90), np.linspace(-2.5, 2.5, 75)
plane = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)

fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), sharey=True)
for ax, q in zip(axes, (0.1, 0.2, 0.3), strict=True):
    engine = GibbsSampler(label_noise=q, n_samples=400, burn_in=4000, thin=200)
    clf = BayesPointClassifier(kernel="rbf", gamma=0.2, engine=engine, random_state=0).fit(X, y)
    outputs = clf.sample_outputs(plane)[:, :, 0]
    votes = np.sign(outputs).mean(axis=1).reshape(75, 90)
    ax.contourf(
        first,
        second,
        votes,
        levels=np.linspace(-1, 1, 21),
        cmap=colours(VERMILION, "white", BLUE),
        alpha=0.45,
    )
    for output in outputs[:, ::50].T:
        ax.contour(
            first, second, output.reshape(75, 90), levels=[0], colors=INK, linewidths=0.6, alpha=0.6
        )
    ax.scatter(*X[y == 1].T, color=BLUE, s=16, edgecolor="white", linewidth=0.5)
    ax.scatter(*X[y == 0].T, color=VERMILION, s=16, edgecolor="white", linewidth=0.5)
    ax.set(title=f"q = {q:g}", xlim=(-3, 3), ylim=(-2.5, 2.5), xlabel="$x_1$")
    ax.grid(False)
axes[0].set_ylabel("$x_2$")

# %%
# The evidence estimates the noise, for every q from one run. Eight of 60 is 0.13.

engine = GibbsSampler(label_noise="auto", n_samples=400, burn_in=4000, thin=200)
clf = BayesPointClassifier(kernel="rbf", gamma=0.2, engine=engine, random_state=0).fit(X, y)
evidence = clf.posterior_.evidence[0]
rates = np.geomspace(0.002, 0.5, 100)
values = np.array([evidence.at(q) for q in rates])
errors = np.array([evidence.error_at(q) for q in rates])

fig, ax = plt.subplots(figsize=(6, 3.4))
ax.fill_between(rates, values - 2 * errors, values + 2 * errors, color=BLUE, alpha=0.2)
ax.plot(rates, values, color=BLUE)
ax.axvline(8 / 60, color=INK, linestyle=":", label="share of wrong labels")
ax.set(xscale="log", xlabel="q", ylabel="log evidence, ± two standard errors")
ax.legend(loc="lower center")
print(f"maximum at q = {clf.posterior_.label_noise[0]:.2f}")

"""
Two kinds of uncertainty
=========================

A classifier can be uncertain for two reasons: the data are noisy, or there are no data nearby.
Expectation propagation separates the two, since it computes the posterior variance of the output
and models the noise of the labels.
"""

# %%
# Two half moons and a kernel. The probability is one half between the moons, where more data would
# change little, and far away from all points, where more data would change everything.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import entr
from sklearn.datasets import make_moons

from bayespoint import BayesPointClassifier
from bayespoint.active import bald
from bayespoint.engines import ExpectationPropagation
from bayespoint.tools.plots import BLUE, GREEN, PURPLE, VERMILION, colours

X, y = make_moons(120, noise=0.25, random_state=1)
clf = BayesPointClassifier(
    kernel="rbf", gamma=1.0, temperature=1.0, engine=ExpectationPropagation(prior_scale=3.0)
).fit(X, y)

first, second = np.linspace(-3.5, 4.5, 100), np.linspace(-3, 3.5, 80)
plane = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
probability = clf.predict_proba(plane)[:, 1]
total = entr(probability) + entr(1 - probability)  # entropy of the label
model = bald(clf, plane)  # information of the label about the weights
data = total - model  # the entropy if the weights were known

fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.5), sharey=True)
panels = (
    ("probability of the blue class", probability, colours(VERMILION, "white", BLUE), (0, 1)),
    ("model uncertainty", model, colours("white", PURPLE), (0, np.log(2))),
    ("data uncertainty", data, colours("white", GREEN), (0, np.log(2))),
)
for ax, (title, values, cmap, (low, high)) in zip(axes, panels, strict=True):
    image = ax.pcolormesh(
        first,
        second,
        values.reshape(80, 100),
        cmap=cmap,
        vmin=low,
        vmax=high,
        shading="gouraud",
        rasterized=True,
    )
    ax.scatter(*X.T, c=np.where(y == 1, BLUE, VERMILION), s=9, edgecolor="white", linewidth=0.4)
    ax.set(title=title, xlabel="$x_1$")
    ax.grid(False)
    fig.colorbar(image, shrink=0.8)
axes[0].set_ylabel("$x_2$")

# %%
# The values at three points:

for name, place in (("inside a moon", (-1, 0.5)), ("between", (0.5, 0.25)), ("far away", (4, 3))):
    nearest = np.argmin(np.abs(plane - place).sum(axis=1))
    print(
        f"{name}: p = {probability[nearest]:.2f}, model uncertainty {model[nearest]:.2f}, "
        f"data uncertainty {data[nearest]:.2f}"
    )

"""
Version space on the sphere
============================

Classifiers through the origin are directions, that is, points on a sphere. Every training point
cuts the sphere in two along a great circle. The classifiers without training errors are
*version space*. Its centre of mass is the Bayes point.
"""

# %%
# The sphere is seen from above the Bayes point. Colours show the number of training errors. A
# billiard samples version space uniformly; its mean over the arc length is the centre of mass.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier
from bayespoint.engines import BilliardSampler
from bayespoint.tools.plots import BLUE, INK, VERMILION, colours

rng = np.random.default_rng(5)
X = rng.normal(size=(12, 3))
y = np.where(X @ rng.normal(size=3) > 0, 1, -1)

clf = BayesPointClassifier(
    kernel="linear",
    fit_intercept=False,
    engine=BilliardSampler(n_samples=400, thin=1),
    random_state=0,
).fit(X, y)
samples = clf.posterior_.weights[:, :, 0].T
centre = clf.coef_[0] / np.linalg.norm(clf.coef_[0])
svm = SVC(kernel="linear", C=1e9).fit(np.vstack([X, -X]), np.append(y, -y)).coef_[0]
svm = svm / np.linalg.norm(svm)

# %%
# Two directions orthogonal to the Bayes point are the axes of the map.

across = np.linalg.svd(centre[None])[2][1:]
grid = np.linspace(-1, 1, 500)
east, north = np.meshgrid(grid, grid)
up = np.sqrt(np.maximum(1 - east**2 - north**2, 0))
directions = east[..., None] * across[0] + north[..., None] * across[1] + up[..., None] * centre
n_wrong = (y * (directions @ X.T) <= 0).sum(axis=-1).astype(float)
n_wrong[east**2 + north**2 > 1] = np.nan

fig, ax = plt.subplots(figsize=(6.2, 5.2))
image = ax.imshow(
    n_wrong, origin="lower", extent=(-1, 1, -1, 1), cmap=colours("#ffffff", "#b8cad8", "#50708a")
)
ax.plot(*(samples @ across.T).T, ".", color=BLUE, markersize=2.5, label="400 samples")
ax.plot(*(across @ svm), "D", color=VERMILION, markersize=7, label="support vector machine")
ax.plot(0, 0, "o", color=INK, markersize=7, label="Bayes point")
ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="#888888", linewidth=0.8))
ax.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02))
ax.axis("off")
fig.colorbar(image, label="training errors", shrink=0.7)
ax.legend(loc="lower left", frameon=True, framealpha=0.9, edgecolor="white")

# %%
# Version space is the white cell. As a check, draw random directions and keep those without
# training errors.

random = rng.normal(size=(400_000, 3))
inside = random[(y * (random @ X.T) > 0).all(axis=1)]
inside /= np.linalg.norm(inside, axis=1, keepdims=True)
exact = inside.mean(axis=0)
angle = np.degrees(np.arccos(centre @ exact / np.linalg.norm(exact)))
print(f"version space is {len(inside) / len(random):.2%} of the sphere")
print(f"the billiard's centre is {angle:.2f} degrees from that of {len(inside)} random directions")

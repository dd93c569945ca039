"""
Anytime learning
=================

Perceptrons on permutations of the training set are samples of the posterior. A single one is a
valid classifier, and every further sample improves the mean. Training can stop at any time and
continue later.
"""

# %%
# With ``warm_start`` a fit adds samples to those of the previous fit. Five seeds, 1 to 50 samples.

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.exceptions import StoppedEarlyWarning
from bayespoint.tools.plots import BLUE, INK

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    (X / 16).astype(np.float32), y, test_size=0.5, random_state=0
)
sizes = [1, 2, 3, 5, 10, 20, 50]
errors = np.empty((5, len(sizes)))
for seed in range(5):
    clf = BayesPointClassifier(
        kernel="poly", degree=5, gamma=1, normalize=True, warm_start=True, random_state=seed
    )
    for i, n_samples in enumerate(sizes):
        clf.set_params(engine=PermutedPerceptron(n_samples=n_samples)).fit(X_train, y_train)
        errors[seed, i] = 100 * (1 - clf.score(X_test, y_test))

fig, ax = plt.subplots(figsize=(6.4, 4))
ax.plot(sizes, errors.T, color=INK, alpha=0.25, linewidth=0.8)
ax.plot(sizes, errors.mean(axis=0), "o-", color=BLUE, label="mean of five seeds")
ax.set(xscale="log", xlabel="samples N", ylabel="test error, %", xticks=sizes, xticklabels=sizes)
ax.minorticks_off()
ax.legend()

# %%
# With ``max_time`` a fit stops at a time limit. The classifier is valid, and a warning says how
# many samples it has.

clf = BayesPointClassifier(
    kernel="poly",
    degree=5,
    gamma=1,
    normalize=True,
    random_state=0,
    engine=PermutedPerceptron(n_samples=10_000, max_time=0.3),
)
start = time.perf_counter()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", StoppedEarlyWarning)
    clf.fit(X_train, y_train)
for warning in caught:
    print(f"{time.perf_counter() - start:.1f} s: {warning.message}")

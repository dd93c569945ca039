"""
Rejecting uncertain rows
=========================

The output of a Bayes point machine measures its certainty. If it may reject the digits it is least
certain of, it makes fewer errors on the others.
"""

# %%
# Half of the digits are for training, half for testing. The curve shows the error on the accepted
# digits against the share that is rejected. The faint lines are single samples of the posterior:
# they have larger errors, and their outputs are worse measures of certainty.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.reject import RejectionCurveDisplay, SelectiveClassifier, rejection_curve
from bayespoint.tools.plots import BLUE, INK

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=0)
clf = BayesPointClassifier(
    kernel="poly",
    degree=5,
    gamma=1,
    normalize=True,
    engine=PermutedPerceptron(n_samples=20),
    random_state=0,
).fit(X_train, y_train)

fig, ax = plt.subplots(figsize=(6.4, 4))
outputs = clf.sample_outputs(X_test)
for n in range(10):
    curve = rejection_curve(y_test, outputs[:, n])
    ax.plot(100 * curve.rate, 100 * curve.error, color=INK, alpha=0.2, linewidth=0.8)
curve = rejection_curve(y_test, clf.decision_function(X_test))
ax.plot(100 * curve.rate, 100 * curve.error, color=BLUE, label="Bayes point of 20 samples")
ax.plot([], [], color=INK, alpha=0.3, linewidth=0.8, label="single samples")
ax.set(xlim=(0, 15), ylim=(0, None), xlabel="rejected, %", ylabel="error on the others, %")
ax.legend()

# %%
# The test digits with the least certain predictions. Wrong predictions are in brackets.

certainty = clf.decision_function(X_test).max(axis=1)
predictions = clf.predict(X_test)
fig, axes = plt.subplots(2, 8, figsize=(8, 2.5))
for ax, i in zip(axes.flat, certainty.argsort(), strict=False):
    wrong = f" ({predictions[i]})" if predictions[i] != y_test[i] else ""
    ax.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{y_test[i]}{wrong}", size=10)
    ax.axis("off")

# %%
# For a given rejection rate, the threshold must be set without the test data.
# :class:`~bayespoint.reject.SelectiveClassifier` sets it by cross-validation on the training data.

selective = SelectiveClassifier(clf, rate=0.05).fit(X_train, y_train)
print(f"rejected: {selective.rejects(X_test).mean():.1%}")
print(f"error on the others: {1 - selective.score(X_test, y_test):.2%}")
print(f"error on all: {1 - clf.score(X_test, y_test):.2%}")

# %%
# One line draws the curve of any fitted classifier:

display = RejectionCurveDisplay.from_estimator(clf, X_test, y_test, max_rate=0.15)

# %%
# Instead of a rate, an error can be given. With ``risk=0.02`` the error on the accepted digits is
# at most 2 %, with a confidence of 95 %. Half of the training digits are held out to set the
# threshold. The dashed line is the error that could be promised at each rate, before any test digit
# was seen.

guaranteed = SelectiveClassifier(clf, risk=0.02, calibration_size=0.5, random_state=0)
guaranteed.fit(X_train, y_train)
print(guaranteed.guarantee_.summary)
print(guaranteed.guarantee_.details)
display = RejectionCurveDisplay.from_estimator(guaranteed, X_test, y_test, max_rate=0.5)

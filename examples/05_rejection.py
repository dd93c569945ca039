"""
Refusing to answer
===================

The output of a Bayes point machine says how sure it is. If it may refuse the digits it is least
sure of, it makes fewer errors on the others.
"""

# %%
# Half of the digits to learn from, half to test on. The curve shows the error on those that are
# answered against the share that is refused. The faint lines are single samples of the posterior:
# one classifier alone is worse, and knows less of how sure it may be.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.plots import BLUE, INK
from bayespoint.reject import RejectionCurveDisplay, SelectiveClassifier, rejection_curve

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=0)
clf = BayesPointClassifier(
    kernel="poly", degree=5, gamma=1, normalize=True, engine=PermutedPerceptron(n_samples=20),
    random_state=0,
).fit(X_train, y_train)  # fmt: skip

fig, ax = plt.subplots(figsize=(6.4, 4))
outputs = clf.sample_outputs(X_test)
for n in range(10):
    curve = rejection_curve(y_test, outputs[:, n])
    ax.plot(100 * curve.rate, 100 * curve.error, color=INK, alpha=0.2, linewidth=0.8)
curve = rejection_curve(y_test, clf.decision_function(X_test))
ax.plot(100 * curve.rate, 100 * curve.error, color=BLUE, label="Bayes point of 20 samples")
ax.plot([], [], color=INK, alpha=0.3, linewidth=0.8, label="single samples")
ax.set(xlim=(0, 15), ylim=(0, None), xlabel="refused, %", ylabel="error on the others, %")
ax.legend()

# %%
# These are the test digits that it is least sure of. Where it would have been wrong, its answer is
# in brackets.

sure = clf.decision_function(X_test).max(axis=1)
answers = clf.predict(X_test)
fig, axes = plt.subplots(2, 8, figsize=(8, 2.5))
for ax, i in zip(axes.flat, sure.argsort(), strict=False):
    ax.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{y_test[i]}" + (f" ({answers[i]})" if answers[i] != y_test[i] else ""), size=10)
    ax.axis("off")

# %%
# To refuse at a given rate, the threshold has to be known before the test data are seen.
# :class:`~bayespoint.reject.SelectiveClassifier` sets it by cross-validation on the training data.

careful = SelectiveClassifier(clf, rate=0.05).fit(X_train, y_train)
print(f"refused: {careful.rejects(X_test).mean():.1%}")
print(f"errors on the others: {1 - careful.score(X_test, y_test):.2%}")
print(f"errors on all: {1 - clf.score(X_test, y_test):.2%}")

# %%
# One line draws such a curve for any fitted classifier:

display = RejectionCurveDisplay.from_estimator(clf, X_test, y_test, max_rate=0.15)

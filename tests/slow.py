"""Slow, obvious versions of what the library does fast."""

import numpy as np


def perceptron(K, target, order, ridge=0.0, max_epochs=100):
    """The paper's steps 1 to 3, with the whole kernel matrix. Returns alpha and the mistakes."""
    K_lambda = K + np.diag(np.broadcast_to(ridge, len(K)))
    alpha = np.zeros(len(K))
    mistakes = 0
    for _ in range(max_epochs):
        right = True
        for i in order:
            if target[i] * (K_lambda[i] @ alpha) <= 0:
                alpha[i] += target[i]
                mistakes += 1
                right = False
        if right:
            return alpha, mistakes
    return alpha, mistakes


def lockstep_perceptron(K, target, order, copies, ridge, max_epochs=100):
    """The perceptron on copies of points (``copies[a]`` is the point of copy a) that err together.

    Every copy has a private feature of its own. Returns the coefficients of the copies.
    """
    K_lambda = K[np.ix_(copies, copies)] + ridge * np.eye(len(copies))
    alpha = np.zeros(len(copies))
    for _ in range(max_epochs):
        right = True
        for i in order:
            group = np.flatnonzero(copies == i)
            if target[i] * (K_lambda[group[0]] @ alpha) <= 0:
                alpha[group] += target[i]
                right = False
        if right:
            break
    return alpha


def unit_weights(K, alpha, ridge=0.0):
    """The coefficients of w / |w| in the space of k_lambda."""
    K_lambda = K + np.diag(np.broadcast_to(ridge, len(K)))
    return alpha / np.sqrt(alpha @ K_lambda @ alpha)

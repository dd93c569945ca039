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


def unit_weights(K, alpha, ridge=0.0):
    """The coefficients of w / |w| in the space of k_lambda."""
    K_lambda = K + np.diag(np.broadcast_to(ridge, len(K)))
    return alpha / np.sqrt(alpha @ K_lambda @ alpha)

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


def honest_outputs(K, targets, orders, ridge=0.0, weight=None):
    """Outputs at first visits, averaged over the orders in which a point is in the second half.

    All with the whole matrix of k_lambda, |w| from its definition. A point of weight s moves its
    coefficient by s, and its ridge is lambda / s. Returns an array like ``targets``, (m, n_tasks),
    in the unit of the final outputs: that of those that are not learned from.
    """
    m, n_tasks = targets.shape
    step = np.ones(m) if weight is None else weight
    K_lambda, norm = K + np.diag(ridge / step * np.ones(m)), np.sqrt(np.diag(K))
    found = [[[] for _ in range(n_tasks)] for _ in range(m)]
    first_squares, final_squares = [], []
    for order in orders:
        for task in range(n_tasks):
            target, alpha, first, mistakes = targets[:, task], np.zeros(m), {}, 1
            while mistakes:
                mistakes = 0
                for place, i in enumerate(order):
                    if place >= m // 2 and i not in first:
                        length = np.sqrt(alpha @ K_lambda @ alpha)
                        first[i] = (K[i] @ alpha) / (length * norm[i])
                    if target[i] * (K_lambda[i] @ alpha) <= 0:
                        alpha[i] += target[i] * step[i]
                        mistakes += 1
            length = np.sqrt(alpha @ K_lambda @ alpha)
            for i, output in first.items():
                found[i][task].append(output)
                if alpha[i] == 0:
                    first_squares.append(output**2)
                    final_squares.append(((K[i] @ alpha) / (length * norm[i])) ** 2)
    unit = np.sqrt(sum(final_squares) / sum(first_squares))
    return unit * np.array(
        [[np.mean(some) if some else np.nan for some in tasks] for tasks in found]
    )


def unit_weights(K, alpha, ridge=0.0):
    """The coefficients of w / |w| in the space of k_lambda."""
    K_lambda = K + np.diag(np.broadcast_to(ridge, len(K)))
    return alpha / np.sqrt(alpha @ K_lambda @ alpha)


def kernel_gibbs(X, y, q, n_steps, n_chains, rng, iid_coefficients=False):
    """The nine steps of the paper for many chains side by side; returns all w's after each step.

    R_emp is evaluated anew in all 2 m intervals. With ``iid_coefficients`` the direction is
    sum_i nu_i x_i with independent nu_i, as the paper may be read: not isotropic.
    """
    m, d = X.shape
    w = rng.normal(size=(n_chains, d))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    everything = np.empty((n_steps, n_chains, d))
    for step in range(n_steps):
        v = rng.normal(size=(n_chains, m)) @ X if iid_coefficients else rng.normal(size=w.shape)
        v -= (v * w).sum(axis=1, keepdims=True) * w
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        zeta = np.arctan2(-(w @ X.T), v @ X.T)
        zeta = np.sort(np.hstack([zeta, zeta + np.pi]) % (2 * np.pi), axis=1)
        ends = np.hstack([zeta[:, 1:], zeta[:, :1] + 2 * np.pi])
        middle = (zeta + ends) / 2
        points = np.cos(middle)[..., None] * w[:, None] + np.sin(middle)[..., None] * v[:, None]
        errors = (y * (points @ X.T) <= 0).sum(axis=2)
        mass = np.cumsum((ends - zeta) * q**errors * (1 - q) ** (m - errors), axis=1)
        arc = (mass < rng.random((n_chains, 1)) * mass[:, -1:]).sum(axis=1)
        own = np.arange(n_chains)
        z = zeta[own, arc] + rng.random(n_chains) * (ends - zeta)[own, arc]
        w = np.cos(z)[:, None] * w + np.sin(z)[:, None] * v
        everything[step] = w
    return everything

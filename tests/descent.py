"""Independent descents for problems with orthonormal factors."""

import numpy as np


def orthonormal(rng, n, d):
    return np.linalg.qr(rng.standard_normal((n, d)))[0]


def random_graph(rng, n, share=0.4):
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < share), 1)
    for i in range(n - 1):  # a path, so that it is connected
        A[i, i + 1] = max(A[i, i + 1], 0.3)
    return A + A.T


def centered(rng, n, p):
    """Centered data of about rank three, and a graph between them."""
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, p))
    X += 0.3 * rng.standard_normal((n, p))
    return X - X.mean(axis=0), random_graph(rng, n)


def descend(objective, gradient, Q, steps=3000):
    """Projected gradient descent on Q^T Q = I with a backtracking step."""
    value, step = objective(Q), 1.0
    for _ in range(steps):
        G = gradient(Q)
        G = G - Q @ (Q.T @ G + G.T @ Q) / 2  # along the manifold
        if np.linalg.norm(G) < 1e-10 * max(abs(value), 1):
            break
        while step > 1e-14:
            R, T = np.linalg.qr(Q - step * G)
            new = R * np.sign(np.diag(T))
            if objective(new) <= value - 0.1 * step * np.sum(G * G):
                break
            step /= 2
        else:
            break
        Q, value, step = new, objective(new), step * 2
    return value, Q


def same_span(A, B):
    """Largest sine of an angle between the column spaces."""
    A, B = np.linalg.qr(A)[0], np.linalg.qr(B)[0]
    return np.linalg.norm(A - B @ (B.T @ A), 2)

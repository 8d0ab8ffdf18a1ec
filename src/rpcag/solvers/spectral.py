"""The smoothest vectors on a graph, component by component."""

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from rpcag.linalg.eigen import column_signs, eigenvectors
from rpcag.linalg.shifted import Laplacian


def smoothest(
    Phi: Laplacian, root: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Minimize tr(Q^T Phi Q) subject to Q^T Q = I: the k lowest eigenpairs of Phi.

    Phi is a normalized Laplacian, `root` the square roots of the degrees. Phi acts on
    every connected component separately, and vanishes on D^1/2 1 of each. So the null
    space is known exactly, in a fixed basis. Only the other eigenpairs are computed,
    separately for each component. The first vector is D^1/2 1 of the whole graph.

    Returns eigenvalues, ascending, and Q.
    """
    n = len(root)
    root = root / (root.max(initial=0.0) or 1.0)  # so that squares do not overflow
    # A pattern: of a dense matrix small entries would not count as edges.
    n_parts, label = connected_components(sparse.csr_array(Phi != 0), directed=False)
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(label, minlength=n_parts))[:-1])
    parts.sort(key=lambda part: (-float(np.sum(root[part] ** 2)), part[0]))
    values = [np.zeros(min(k, n_parts))]
    vectors = [_null_space(parts, root, min(k, n_parts))]
    wanted = k - n_parts
    if wanted > 0:
        for part in parts:
            if len(part) > 1:
                found, V = _above_zero(Phi[part][:, part], root[part], wanted)
                whole = np.zeros((n, len(found)))
                whole[part] = V
                values.append(found)
                vectors.append(whole)
    merged = np.concatenate(values)
    lowest = np.argsort(merged, kind="stable")[:k]
    return merged[lowest], np.hstack(vectors)[:, lowest]


def _above_zero(Phi: Laplacian, root: np.ndarray, wanted: int):
    """Lowest eigenpairs of a connected component that are orthogonal to its root.

    One more is computed and the root projected out of all: where links are so weak that
    other eigenvalues are rounding too, the root is no single one of them.
    """
    k = min(wanted, len(root) - 1)
    _, V = eigenvectors(Phi, k + 1)
    unit = root / np.linalg.norm(root)
    V = V - np.outer(unit, unit @ V)
    V = linalg.svd(V, full_matrices=False)[0][:, :k]  # drops what the root was
    V -= np.outer(unit, unit @ V)
    values, R = linalg.eigh(V.T @ (Phi @ V))
    V = V @ R
    return np.maximum(values, 0.0), V * column_signs(V)


def _null_space(parts, root: np.ndarray, k: int) -> np.ndarray:
    """The whole graph, then every component against all larger ones."""
    Q = np.zeros((len(root), k))
    masses = np.array([np.linalg.norm(root[part]) for part in parts])
    if masses[0] == 0:  # no edge at all
        masses[:] = 1.0
    units = []
    for part in parts:
        norm = np.linalg.norm(root[part])
        # A vertex without neighbors is a component of its own.
        units.append(root[part] / norm if norm > 0 else np.ones(1))
    total = np.linalg.norm(masses)
    for part, unit, mass in zip(parts, units, masses, strict=True):
        Q[part, 0] = unit * mass / total
    for j in range(1, k):
        before = np.linalg.norm(masses[:j])
        both = np.hypot(before, masses[j])
        for i in range(j):
            Q[parts[i], j] = units[i] * masses[i] * masses[j] / (before * both)
        Q[parts[j], j] = -units[j] * before / both
    return Q * column_signs(Q)

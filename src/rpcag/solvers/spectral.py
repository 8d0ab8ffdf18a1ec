"""The smoothest vectors on a graph, component by component."""

import numpy as np
from scipy import linalg

from rpcag.linalg.eigen import column_signs, eigenvectors
from rpcag.linalg.null_space import NullSpace
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
    label = NullSpace(Phi).label
    masses = np.bincount(label, root**2)
    label = np.argsort(np.argsort(-masses, kind="stable"))[label]  # the largest first
    order = np.argsort(label, kind="stable")
    n_zeros = min(k, len(masses))
    values, vectors = [np.zeros(n_zeros)], [_null_space(label, root, n_zeros)]
    for part in np.split(order, np.cumsum(np.bincount(label))[:-1]):
        if k > n_zeros and len(part) > 1:
            found, V = _above_zero(Phi[part][:, part], root[part], k - n_zeros)
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


def _null_space(label: np.ndarray, root: np.ndarray, k: int) -> np.ndarray:
    """k orthonormal null vectors: first the root, then contrasts of its components."""
    if not root.any():  # no edge at all
        root = np.ones_like(root)
    m = np.sqrt(np.bincount(label, root**2))
    # In the basis of unit vectors of the components, the root is m. That of the first
    # component, the largest, is left out.
    C, _ = linalg.qr(np.column_stack([m, np.eye(len(m), k)[:, 1:]]), mode="economic")
    # A vertex without neighbors is a component of its own.
    unit = np.divide(root, m[label], out=np.ones_like(root), where=root > 0)
    Q = unit[:, None] * C[label]
    return Q * column_signs(Q)

"""Other packages' Robust PCA, each with its best settings and the same lam."""

import contextlib
import io

import numpy as np


def tensorly(X, lam):
    from tensorly.decomposition import robust_pca

    # A matrix is unfolded twice: half the weight for each nuclear norm.
    L, _ = robust_pca(X, reg_E=lam, reg_J=0.5, tol=1e-7, n_iter_max=300, verbose=0)
    return L


def pyrpca(X, lam):
    from pyrpca import rpca_pcp_ialm

    return rpca_pcp_ialm(X, lam, verbose=False)[0]


def skpcp(X, lam):
    from skpcp.pcp import pcp

    return pcp(X, alpha=lam, max_iter=200)[0]


def sporco(X, lam):
    from sporco.admm.rpca import RobustPCA

    options = RobustPCA.Options(
        {"MaxMainIter": 200, "RelStopTol": 1e-6, "Verbose": False}
    )
    with contextlib.redirect_stdout(io.StringIO()):
        return np.asarray(RobustPCA(X, lam, options).solve()[0])


PEERS = {"pyrpca": pyrpca, "tensorly": tensorly, "skpcp": skpcp, "sporco": sporco}

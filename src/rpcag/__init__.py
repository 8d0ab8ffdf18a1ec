"""Robust PCA on graphs: low-rank, smooth and sparse parts of a matrix, certified."""

from rpcag.models import RPCA, RPCAG, RPCAGCV

__version__ = "0.1.0"
__all__ = ["RPCA", "RPCAG", "RPCAGCV", "__version__"]

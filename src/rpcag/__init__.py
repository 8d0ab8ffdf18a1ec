"""Robust PCA on graphs: low-rank, smooth and sparse parts of a matrix, certified."""

from rpcag.models import (
    FRPCAG,
    GLPCA,
    GNMF,
    MHMF,
    MMF,
    MMMF,
    RGLPCA,
    RPCA,
    RPCAG,
    RPCAGCV,
    LaplacianEigenmaps,
    NCuts,
    list_models,
)

__version__ = "0.1.0"
__all__ = [
    "FRPCAG",
    "GLPCA",
    "GNMF",
    "MHMF",
    "MMF",
    "MMMF",
    "RGLPCA",
    "RPCA",
    "RPCAG",
    "RPCAGCV",
    "LaplacianEigenmaps",
    "NCuts",
    "__version__",
    "list_models",
]

"""Scikit-learn estimators."""

from rpcag.models.cv import RPCAGCV
from rpcag.models.rpca import RPCA, RPCAG

__all__ = ["RPCA", "RPCAG", "RPCAGCV"]

"""Scikit-learn estimators."""

from rpcag.models.certificate import Certificate, certify
from rpcag.models.cv import RPCAGCV
from rpcag.models.diagnosis import PoorFitWarning
from rpcag.models.docstrings import complete_docstrings
from rpcag.models.frpcag import FRPCAG
from rpcag.models.glpca import GLPCA, RGLPCA
from rpcag.models.gnmf import GNMF
from rpcag.models.mmf import MHMF, MMF, MMMF
from rpcag.models.robust_graph import RobustGraph
from rpcag.models.rpca import RPCA
from rpcag.models.rpcag import RPCAG
from rpcag.models.rules import resolve_gamma, resolve_lam
from rpcag.models.spectral import LaplacianEigenmaps, NCuts

# In the order of the table: the paper's model and related ones, then the baselines.
MODELS = (
    RPCA,
    RPCAG,
    FRPCAG,
    GLPCA,
    RGLPCA,
    MMF,
    MMMF,
    MHMF,
    GNMF,
    NCuts,
    LaplacianEigenmaps,
)

complete_docstrings((*MODELS, RPCAGCV))

__all__ = [
    "FRPCAG",
    "GLPCA",
    "GNMF",
    "MHMF",
    "MMF",
    "MMMF",
    "MODELS",
    "RGLPCA",
    "RPCA",
    "RPCAG",
    "RPCAGCV",
    "Certificate",
    "LaplacianEigenmaps",
    "NCuts",
    "PoorFitWarning",
    "RobustGraph",
    "certify",
    "resolve_gamma",
    "resolve_lam",
]

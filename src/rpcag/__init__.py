"""Robust PCA on graphs: split a matrix into a low-rank and a sparse part."""

# Type checkers take this name for true. Nothing is imported here: Ctrl-C is handled
# only after this module is loaded.
TYPE_CHECKING = False
if TYPE_CHECKING:
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
        Certificate,
        LaplacianEigenmaps,
        NCuts,
        PoorFitWarning,
        certify,
    )
    from rpcag.versions import show_versions

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
    "Certificate",
    "LaplacianEigenmaps",
    "NCuts",
    "PoorFitWarning",
    "__version__",
    "certify",
    "show_versions",
]
_MODULES = (
    "clustering",
    "corruption",
    "datasets",
    "files",
    "graphs",
    "losses",
    "metrics",
    "models",
    "page",
    "plots",
    "plugins",
    "solvers",
    "tables",
    "penalties",
    "video",
)


def __getattr__(name: str):
    # Loaded on first use, so that `rpcag --help` does not import scikit-learn.
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"rpcag.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'rpcag' has no attribute {name!r}")
    home = "rpcag.versions" if name == "show_versions" else "rpcag.models"
    globals()[name] = getattr(import_module(home), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])

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


def __getattr__(name: str):
    # Loaded on first use, so that `rpcag --help` does not import scikit-learn.
    from importlib import import_module
    from importlib.util import find_spec

    if name not in __all__:
        if name.startswith("_") or find_spec(f"rpcag.{name}") is None:
            raise AttributeError(f"module 'rpcag' has no attribute {name!r}")
        return import_module(f"rpcag.{name}")
    home = "rpcag.versions" if name == "show_versions" else "rpcag.models"
    globals()[name] = getattr(import_module(home), name)
    return globals()[name]


def __dir__() -> list[str]:
    from pkgutil import iter_modules

    modules = (module.name for module in iter_modules(__path__))
    return sorted([*__all__, *(m for m in modules if not m.startswith("_"))])

"""Versions of the package and its dependencies, for bug reports."""

import platform
import re
import sys
from importlib import metadata

import rpcag


def show_versions() -> None:
    """Print the versions of Python, rpcag and its dependencies.

    Examples
    --------
    >>> import rpcag
    >>> rpcag.show_versions()  # doctest: +ELLIPSIS
    rpcag ...
    python ...
    """
    for name, version in versions().items():
        print(f"{name:<16}{version}")


def core_versions() -> dict[str, str]:
    """The versions that affect numerical results; recorded with every result."""
    return {
        "rpcag": rpcag.__version__,
        "python": sys.version.split()[0],
        **{name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")},
    }


def versions() -> dict[str, str]:
    """Versions of the package, the machine, the dependencies, extras and the BLAS."""
    found = core_versions() | {"machine": platform.platform()}
    for name in _dependencies():
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    # Only libraries that are loaded can be asked.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    for k, pool in enumerate(threadpool_info(), 1):
        library = f"{pool['internal_api']} {pool['version'] or ''}"
        found[f"threads {k}"] = f"{library}, {pool['num_threads']} threads"
    return found


def _dependencies() -> list[str]:
    """Names in the package's metadata, without versions, extras and conditions."""
    lines = metadata.requires("rpcag") or []
    names = [re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for line in lines]
    return [name for name in dict.fromkeys(names) if name != "rpcag"]

"""Libraries that only some formats need."""

import importlib
from types import ModuleType

READS = {"pyarrow": "Parquet", "h5py": "HDF5 and MATLAB 7.3", "openpyxl": "Excel"}
EXTRAS = {"openpyxl": "excel"}


def need(module: str) -> ModuleType:
    """The module, or an error that names the extra to install."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{READS[package]} files need {package}: pip install "
            f"'rpcag[{EXTRAS.get(package, 'files')}]'"
        ) from error

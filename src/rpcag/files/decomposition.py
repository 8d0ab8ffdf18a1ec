"""A decomposition as a folder: what ``rpcag decompose INPUT -o RESULT`` writes."""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rpcag.atomic import explained, replace_files, write_json
from rpcag.files.arrays import load_arrays
from rpcag.files.names import write_rows
from rpcag.files.place import check_folder
from rpcag.files.readable import readable
from rpcag.graphs.inputs import REAL, check_image_shape

FORMATS = ("npy", "csv")  # of the matrices
ROW = "sample"  # name of the column of row names
INDEX = "result.json"
# Version of the layout of the folder; a later one is refused.
LAYOUT = 1
# The axes of each matrix: samples (n), features (p) or directions of components (d).
MATRICES = {"low_rank": "np", "sparse": "np", "components": "dp", "embedding": "nd"}
AXES = MATRICES | {"missing": "np", "graph": "nn"}
OPTIONAL = {"missing": "missing.npy", "graph": "graph.npz"}
# Entries of the index itself.
ENTRIES = ("facts", "singular_values", "image_shape", "samples", "features", "labels")
# Pattern of the file names that an index may list.
NAMES = rf"({'|'.join(MATRICES)})\.({'|'.join(FORMATS)})|missing\.npy|graph\.npz"


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition:
    """The decomposition X = L + S and its results; samples are rows.

    Attributes
    ----------
    low_rank, sparse : ndarray of shape (n, p)
    missing : bool ndarray of shape (n, p), or None
        True where X was not observed; X = low_rank + sparse elsewhere.
    embedding : ndarray of shape (n, d)
    components : ndarray of shape (d, p)
    singular_values : ndarray
        Of the low-rank part, the largest first.
    graph : csr_array of shape (n, n), or None
        Adjacency.
    samples, features : list of str
    labels : list of str, or None
    image_shape : tuple of int, or None
        (height, width) or (height, width, 3) where rows are images.
    facts : dict
        Provenance and quality: ``versions``, ``input`` (``file``, ``sha256``,
        ``shape``), ``model``, ``parameters`` as given, ``resolved`` as used,
        ``objective``, ``lower_bound``, ``gap``, ``explained``, ``explained_error``,
        ``rank``, ``n_iter``, ``status``, ``seconds``, and ``history``: [iteration,
        objective, lower bound, gap] at every certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.files.decomposition import Decomposition
    >>> A = np.ones((3, 2))
    >>> Decomposition(
    ...     low_rank=A, sparse=0 * A, missing=None, embedding=A[:, :1],
    ...     components=A[:1], singular_values=np.array([6**0.5]), graph=None,
    ...     samples=["a", "b", "c"], features=["x", "y"], labels=None,
    ...     image_shape=None, facts={"model": "RPCA"},
    ... )
    Decomposition(3 samples x 2 features, RPCA)
    """

    low_rank: np.ndarray
    sparse: np.ndarray
    missing: np.ndarray | None
    embedding: np.ndarray
    components: np.ndarray
    singular_values: np.ndarray
    graph: Any
    samples: list[str]
    features: list[str]
    labels: list[str] | None
    image_shape: tuple[int, ...] | None
    facts: dict[str, Any]

    def __post_init__(self) -> None:
        n, p = len(self.samples), len(self.features)
        sides = {"n": n, "p": p, "d": self.embedding.shape[-1]}
        for name, axes in AXES.items():
            array, shape = getattr(self, name), tuple(sides[axis] for axis in axes)
            if array is not None and array.shape != shape:
                raise ValueError(
                    f"{name} must have shape {shape} for {n} samples and {p} features, "
                    f"got {array.shape}"
                )
        if self.labels is not None and len(self.labels) != n:
            raise ValueError(f"labels must have {n} entries, got {len(self.labels)}")
        if self.image_shape is not None:
            check_image_shape(self.image_shape, (n, p), channels=True)

    def __repr__(self) -> str:
        n, p = self.low_rank.shape
        model = self.facts.get("model", "unknown model")
        return f"Decomposition({n} samples x {p} features, {model})"

    def save(
        self, folder: Path | str, *, format: str = "npy", force: bool = False
    ) -> list[Path]:
        """Write the folder atomically, and return its files.

        Parameters
        ----------
        folder : path
        format : {"npy", "csv"}, default="npy"
            Format of the four matrices.
        force : bool, default=False
            Whether to replace an earlier result in this folder. Only its files are
            replaced; other files in the folder stay.
        """
        folder = Path(folder)
        check_format(format)
        check = partial(check_target, folder, force, format)
        check()
        directions = [f"component {k + 1}" for k in range(len(self.components))]
        names = {"n": self.samples, "p": self.features, "d": directions}
        files = {name: f"{name}.{format}" for name in MATRICES}
        if self.missing is not None and self.missing.any():
            files["missing"] = OPTIONAL["missing"]
        if self.graph is not None:
            files["graph"] = OPTIONAL["graph"]
        content = {"rpcag_result": LAYOUT, "files": files}
        content |= {name: getattr(self, name) for name in ENTRIES}
        with replace_files(folder, INDEX, check) as new:
            for name, file in files.items():
                with explained(folder / file):
                    if name == "graph":
                        sparse.save_npz(new / file, sparse.csr_matrix(self.graph))
                    else:
                        rows, columns = (names[axis] for axis in AXES[name])
                        write_matrix(new / file, getattr(self, name), rows, columns)
            with explained(folder / INDEX):
                write_json(new / INDEX, plain(content))
        return [folder / file for file in (*files.values(), INDEX)]

    @classmethod
    def load(cls, folder: Path | str) -> "Decomposition":
        """Read a folder that `save` wrote, in any format."""
        folder = Path(folder)
        index = _read_index(folder)
        values: dict[str, Any] = dict.fromkeys(OPTIONAL)
        values |= {name: _read(folder, file) for name, file in index["files"].items()}
        values |= {name: index[name] for name in ENTRIES}
        try:
            values["singular_values"] = np.array(index["singular_values"], dtype=float)
            if index["image_shape"] is not None:
                values["image_shape"] = tuple(index["image_shape"])
            return cls(**values)
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(
                f"{folder} is damaged: {error}; decompose again"
            ) from error


def check_target(
    folder: Path, force: bool, format: str = "npy", sources: Iterable[Any] = ()
) -> set[str]:
    """`check_folder` for the files of a decomposition."""
    names = [*OPTIONAL.values(), *(f"{name}.{format}" for name in MATRICES)]
    return check_folder(
        *(folder, INDEX, names, _names_in, NAMES, "result"),
        force=force,
        sources=sources,
        is_own=True,
    )


def _names_in(index: dict[str, Any]) -> list[str]:
    """The files that the index lists, if it is whole."""
    files = list(index["files"].values())
    # Only lists can be added to lists.
    words = files + index["samples"] + index["features"] + (index["labels"] or [])
    is_whole = {*ENTRIES} <= {*index} and {*MATRICES} <= {*index["files"]}
    is_whole &= isinstance(index["facts"], dict) and index["rpcag_result"] == LAYOUT
    if not is_whole or not all(isinstance(word, str) for word in words):
        raise ValueError("not an index of this layout")
    return files


def is_result(folder: Path) -> bool:
    """Whether the folder looks like one that `Decomposition.save` wrote."""
    return (folder / INDEX).is_file()


def plain(value: Any) -> Any:
    """For JSON: Python's own types, and null where a number is not finite."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _read_index(folder: Path) -> dict[str, Any]:
    path = folder / INDEX
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} is not a result of rpcag decompose: it has no {INDEX}"
        )
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
        layout = int(index["rpcag_result"])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is not the index of a result of rpcag") from error
    if layout > LAYOUT:
        raise ValueError(f"{path} is of a newer rpcag (layout {layout}); update rpcag")
    try:
        _names_in(index)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is damaged: its names, files or facts are not what rpcag writes; "
            "decompose again"
        ) from error
    return index


def _read(folder: Path, file: str) -> Any:
    """Read a file of the folder; refuse names that point outside of it."""
    path = folder / file
    if path.resolve() != folder.resolve() / path.name:
        raise ValueError(
            f"{INDEX} names {path}, which is not in this folder; copy it there"
        )
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; decompose again")
    with readable(path):
        if path.suffix != ".npz":
            return read_matrix(path)
        return sparse.csr_array(load_arrays(path)[path.stem])  # the graph


def check_format(format: str) -> None:
    """Refuse an unknown format."""
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")


def write_matrix(
    path: Path, A: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Write A as .npy, or as .csv with the names."""
    if path.suffix == ".npy":
        np.save(path, A)
        return
    lines = ([row, *a.tolist()] for row, a in zip(rows, A, strict=True))
    write_rows(path, [ROW, *columns], lines)


def read_matrix(path: Path) -> np.ndarray:
    """Read the matrix that `write_matrix` wrote."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            width = len(next(reader)) - 1
            rows = [np.array(row[1:], dtype=float) for row in reader]
        return np.array(rows, dtype=float).reshape(len(rows), width)
    A = load_arrays(path)[path.stem]
    if A.ndim != 2 or A.dtype.kind not in REAL:
        raise ValueError(f"it must be a matrix of numbers, got {A.dtype} of {A.shape}")
    return A

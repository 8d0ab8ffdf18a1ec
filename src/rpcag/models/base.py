"""Base classes of the models: validation, `transform` and `inverse_transform`."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from rpcag.graphs.builder import Estimator
from rpcag.graphs.inputs import as_numbers, is_dask, refuse_masked
from rpcag.linalg.blocks import row_blocks
from rpcag.linalg.threads import one_blas_thread_each
from rpcag.models.checks import OPTIONS, check_components, check_observed
from rpcag.models.graph import ModelGraph, check_edges
from rpcag.models.messages import Stage, warn


class Embedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A model that computes coordinates of every sample, `embedding_`."""

    embedding_: np.ndarray
    adjacency_: Any
    laplacian_: Any
    _graphs: list[ModelGraph] = []  # noqa: RUF012  (between samples)
    _takes_missing = False
    _needs_edges: Any = False  # whether new rows need them
    _dask_methods = frozenset[str]()  # those that support Dask arrays
    _parameter_constraints = OPTIONS
    _fit: Callable[..., None]  # sets the fitted attributes from X
    # Embedding of new rows, from their edges to every graph or None.
    _embed_rows: Callable[..., np.ndarray]

    def fit(self, X, y=None):
        """Fit the model to X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing entry, if the model supports missing values.
        y : ignored
        """
        X = self._validate(X, reset=True)
        check_observed(X)
        with one_blas_thread_each():
            self._fit(X)
        return self

    def fit_transform(self, X, y=None):
        """Fit the model to X and return the embedding of its rows."""
        return self.fit(X).embedding_.copy()

    def transform(self, X, *, adjacency=None):
        """Compute the embedding of new rows; the fitted model does not change.

        A row of `fit`, with the same neighbors as before, gets its fitted embedding
        (docs/new_data.md).

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            NaN marks a missing entry, if the model supports missing values.
        adjacency : array or sparse array of shape (n_new, n_samples), optional
            Weights between the new rows and those of `fit`; a list of arrays, or None,
            for a model with several graphs. By default the graph builder computes
            them. For a precomputed graph, pass them here. Otherwise new rows are
            embedded without neighbors, if the model can do that.

        Returns
        -------
        ndarray of shape (n_new, n_components)
            A Dask array if X is one, which `RPCA` and `RPCAG` support.
        """
        check_is_fitted(self, "embedding_")
        if is_dask(X) and "transform" in self._dask_methods:
            from rpcag.models import distributed

            return distributed.transform(self, X, adjacency)
        return self._transform(self._validate(X, reset=False), adjacency)

    def _validate(self, X, reset):
        name = type(self).__name__
        if is_dask(X):
            raise TypeError(
                f"X is a Dask array or data frame, but {name} needs it in memory; pass "
                "X.compute(). Only fit and transform of RPCA and RPCAG support Dask"
            )
        if not self._takes_missing:
            remedy = "fill them (X.filled(value)), or use RPCAG, which supports them"
            refuse_masked(f"{name} does not support missing values: {remedy}", X=X)
        return super()._validate(X, reset)

    def _transform(self, X: np.ndarray, adjacency) -> np.ndarray:
        """Embed rows in blocks, so that memory does not grow with their number."""
        edges = [
            graph.builder.connect(X) if A is None and graph.by_order else A
            for graph, A in zip(self._graphs, self._edges(X, adjacency), strict=True)
        ]
        fitted = [graph.adjacency for graph in self._graphs]
        dense = any(isinstance(A, np.ndarray) for A in edges + fitted)
        Z = np.empty((len(X), self._n_features_out), X.dtype)
        with one_blas_thread_each(), np.errstate(over="ignore", invalid="ignore"):
            for rows in row_blocks((len(X), self._row_width(X, dense))):
                some = [None if A is None else A[rows] for A in edges]
                Z[rows] = self._embed_rows(self._scaled(X[rows]), *some)
        if not np.isfinite(Z).all():
            raise ValueError(
                "X or adjacency has values far larger than those in fit; the largest "
                f"in X is {largest_entry(X):.3g}: check the units"
            )
        return Z

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        """X, scaled if the model scales it."""
        return X

    def _edges(self, X: np.ndarray, adjacency) -> list:
        """Checked weights between new rows and every graph; None if not given."""
        if adjacency is None:
            if self._needs_edges and self._graphs[0].builder is None:
                raise ValueError(
                    "the graph was precomputed, so new rows need adjacency=: their "
                    "weights to the rows of fit"
                )
            return [None] * len(self._graphs)
        if hasattr(self, "graph") and self.graph is None:
            raise ValueError(
                f"adjacency is for models with a graph; {type(self).__name__} has none"
            )
        # No graph was built if its weight is zero.
        checked = check_edges(adjacency, len(X), len(self.embedding_))
        return [checked] * len(self._graphs)

    def _ties(self, X: np.ndarray, edges, values: np.ndarray):
        """Curvature and pull of new rows by all graphs; see `ModelGraph.ties`."""
        curvature, pull = np.zeros(len(X)), np.zeros((len(X), values.shape[1]))
        weights = getattr(self, "graph_weights_", [1.0])  # of mixtures
        for graph, weight, A in zip(self._graphs, weights, edges, strict=False):
            c, part = graph.ties(X, A, values)
            curvature, pull = curvature + weight * c, pull + weight * part
        return curvature, pull

    def _row_width(self, X: np.ndarray, dense: bool) -> int:
        """Entries per row of the arrays (up to forty) that `_embed_rows` allocates."""
        # Dense weights to all fitted rows take ten arrays, not forty: a quarter.
        return max(X.shape[1], len(self.embedding_) // 4 if dense else 0)

    def _build_graph(self, X: np.ndarray, stage: Stage | None = None) -> ModelGraph:
        """The graph of the rows of X; sets the fitted attributes of the graph."""
        kind = getattr(self, "laplacian", "normalized")
        graph = ModelGraph.of(self.graph, X, kind, stage=stage)
        self._graphs = [graph]
        self.adjacency_, self.laplacian_ = graph.adjacency, graph.laplacian
        return graph

    def _set_embedding(self, Q: np.ndarray, dtype) -> None:
        self.embedding_ = np.ascontiguousarray(Q, dtype=dtype)
        self._n_features_out = Q.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class MatrixModel(Embedding):
    """A model that approximates X by ``embedding_ @ components_``."""

    components_: np.ndarray

    def inverse_transform(self, Z):
        """Rows of the low-rank matrix with the given embedding, in the unit of X.

        ``Z @ components_``, or ``Z @ components_ * scale_ + center_`` if X was scaled.
        For a Dask array, the result is a Dask array.
        """
        check_is_fitted(self, "components_")
        if not is_dask(Z):
            refuse_masked("an embedding has no missing values: fill them", Z=Z)
            Z = check_array(
                as_numbers(Z, "Z"),
                dtype=[np.float64, np.float32],
                input_name="Z",
                ensure_min_features=0,  # if the low-rank matrix is zero
            )
        if Z.ndim != 2 or Z.shape[1] != len(self.components_):
            raise ValueError(
                f"Z must have {len(self.components_)} columns, one per component, "
                f"got shape {Z.shape}"
            )
        return self._unscaled(Z @ self.components_)

    def _unscaled(self, L):
        """L in the unit of X, if the model scales X."""
        return L


class FactorModel(MatrixModel):
    """A model with two factors, X ~ Q U^T, computed in double precision."""

    _degree = 2  # of the objective in X
    _scales_embedding = True  # whether Q has the unit of X, and not U
    _factorize: Callable[..., None]  # sets the fitted attributes from X and X / unit
    # Embedding of new rows beside that of fitted ones, all in units of X, from `_ties`.
    _embed: Callable[..., np.ndarray]

    @property
    def low_rank_(self) -> np.ndarray:
        """Q U^T, computed on access."""
        return self.embedding_ @ self.components_

    def _fit(self, X):
        d = check_components(self, X)
        unit = self._unit = power_of_two(X)
        if self._degree * math.log2(unit) > 900:
            raise ValueError(
                f"X has entries of size {largest_entry(X):.3g}, whose squares are near "
                "overflow; rescale X"
            )
        try:
            self._factorize(X, X.astype(np.float64) / unit, d)
        except linalg.LinAlgError as error:
            raise ValueError(
                f"{type(self).__name__} cannot be computed for X with this graph and "
                f"these weights: {error}; try a smaller gamma or another graph"
            ) from error

    def _embed_rows(self, X, *edges):
        unit = self._unit if self._scales_embedding else 1.0
        Q = self.embedding_.astype(np.float64) / unit
        ties = self._ties(X, edges, Q)
        return self._embed(X.astype(np.float64) / self._unit, Q, *ties) * unit

    def _in_units(self, name: str, scaled: np.ndarray) -> float:
        """Convert an option in the unit of the objective to that of X / unit."""
        result = value = float(getattr(self, name))
        for _ in range(self._degree):
            result /= self._unit
        if not result < math.inf:
            raise ValueError(
                f"{name}={value:.3g} is out of range for X, whose entries reach "
                f"{self._unit * largest_entry(scaled):.3g}; rescale X"
            )
        return result

    def _set_factors(self, Q, U, X) -> None:
        """Fitted factors in the precision of X, if they and their product fit in it."""
        # |sum_k q_ik u_jk| <= d max |q| max |u|, also for a part of the sum.
        sizes = float(np.abs(Q).max()), float(np.abs(U).max())
        largest = max(*sizes, Q.shape[1] * sizes[0] * sizes[1])
        if not largest < float(np.finfo(X.dtype).max):
            raise ValueError(
                f"X has entries of size {largest_entry(X):.3g}: the factors or their "
                f"product overflow {X.dtype}; rescale X"
            )
        self._set_embedding(Q, X.dtype)
        self.components_ = np.ascontiguousarray(U.T, dtype=X.dtype)
        self.n_components_ = Q.shape[1]

    def _set_history(self, objectives: list[float], converged: bool) -> None:
        """Of X / unit, one per iteration, for an objective of degree two."""
        self.history_ = {"objective": np.array(objectives) * self._unit**2}
        self.objective_ = objectives[-1] * self._unit**2
        if not converged:
            before, last = objectives[-2:][0], objectives[-1]
            self._warn_max_iter(1 - last / before, "a relative decrease")

    def _warn_max_iter(self, change: float, what: str) -> None:
        warn(
            f"{type(self).__name__} stopped after {self.n_iter_} iterations with "
            f"{what} of {change:.1e} (tol {float(self.tol):.1e}). Increase max_iter or "
            "tol."
        )


def largest_entry(X: np.ndarray) -> float:
    """Size of the largest entry that is not missing."""
    return float(np.nanmax(np.abs(X), initial=0.0))


def power_of_two(X: np.ndarray) -> float:
    """About the largest size of an entry."""
    largest = largest_entry(X)
    # 2^1023 is the largest power of two in double precision.
    return 2.0 ** min(math.frexp(largest)[1], 1023) if largest > 0 else 1.0

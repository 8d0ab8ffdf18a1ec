"""Fast Robust PCA on graphs: two graphs instead of a nuclear norm."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from rpcag.linalg.rounding import in_unit, row_sizes
from rpcag.linalg.typical import typical_size
from rpcag.models.base import largest_entry, power_of_two
from rpcag.models.checks import auto_or
from rpcag.models.decomposition import DecompositionModel
from rpcag.models.feature_graph import build_feature_graph
from rpcag.models.graph import ModelGraph
from rpcag.models.hidden_entries import spread_of
from rpcag.models.messages import Callback, Stage
from rpcag.models.two_graph_weights import GAP, MAX_ITER, choose_gammas
from rpcag.penalties import TwoGraphSmoothness
from rpcag.solvers.fista import Centered, fista, fista_rows

# Above this Lipschitz constant steps are lost to rounding, and squares overflow.
STIFFEST = 1e100


@dataclass(eq=False, repr=False)
class FRPCAG(DecompositionModel):
    """Fast Robust PCA on graphs: smooth between samples and features, plus sparse.

    minimize ||M o (X - L)||_1 + gamma tr(L^T Phi_1 L)
    + gamma_features tr(L Phi_2 L^T) over L,   S = X - L

    Phi_1 and Phi_2 are Laplacians of a graph between the rows and one between the
    columns of X. M is one where X is observed and zero where it is NaN. A matrix that
    is smooth on both graphs has approximately a low rank, and no iteration needs a
    singular value decomposition. The problem is convex, and `gap_` bounds how far the
    objective at L is above its optimum. `explained_` and `score` measure how well the
    model fits the data.

    Parameters
    ----------
    n_components, scale, tol, verbose
        As in `RPCA`.
    gamma, gamma_features : float, "auto" or "unit", default="auto"
        Weights of the smoothness. "auto" hides some of the entries and chooses the
        weights that predict them best. "unit" is one over the typical size of an entry:
        the median absolute value of the entries that are not zero, divided by 0.6745.
        Larger values give lower ranks and take more iterations.
    graph : "knn", "robust", "complete", "chain", builder or adjacency, default="knn"
        Graph between samples, as in `RPCAG`.
    feature_graph : as `graph`, default="knn"
        Graph between features; builders get the transpose of X. Use "chain" if the
        features are ordered, such as wavelengths.
    laplacian : {"normalized", "combinatorial"}, default="normalized"
        Kind of both Laplacians.
    max_iter : int, default=2000
        Maximum number of iterations.
    callback : callable, optional
        Called after every iteration with a `rpcag.solvers.Progress`; a true value
        stops the fit. For robust graphs, see `RPCAG`.

    Attributes
    ----------
    gamma_, gamma_features_ : float
    adjacency_, laplacian_ : csr_array or ndarray of shape (n_samples, n_samples)
    feature_adjacency_, feature_laplacian_ : of shape (n_features, n_features)
    low_rank_, embedding_, components_, singular_values_, n_components_, rank_
        As in `RPCA`.
    center_, scale_ : ndarray of shape (n_features,) or None
        Center and scale of every feature. If `scale` is None, they are the medians and
        ones if a weight is "auto", so that offsets are not smoothed, and else None.
    weights_ : GammaChoice or None
        If a weight was "auto": the chosen weights, every candidate with its error at
        the hidden entries (`trials`), and how many entries were hidden.
    explained_, objective_, n_iter_, status_, n_features_in_, feature_names_in_
        As in `RPCA`.
    history_ : dict of ndarray
        One entry per certificate: ``n_iter``, ``objective``, ``lower_bound``, ``gap``,
        ``primal_residual`` (relative change of L), ``dual_residual`` (excess of the
        gradient).

    References
    ----------
    Shahid, Perraudin, Kalofolias, Puy, Vandergheynst, "Fast Robust PCA on Graphs",
    IEEE JSTSP 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag import FRPCAG
    >>> X = np.outer(np.repeat([1.0, 2.0], 20), np.repeat([1.0, -1.0], 15))
    >>> X[3, 4] = 50.0
    >>> model = FRPCAG().fit(X)
    >>> bool(model.sparse_[3, 4] > 45), bool(model.gap_ <= 1e-3)
    (True, True)
    """

    _parameter_constraints = DecompositionModel._parameter_constraints | {
        "gamma": auto_or("unit"),
        "gamma_features": auto_or("unit"),
    }

    n_components: int | None = None
    _: KW_ONLY
    gamma: float | str = "auto"
    gamma_features: float | str = "auto"
    graph: Any = "knn"
    feature_graph: Any = "knn"
    laplacian: str = "normalized"
    scale: str | None = None
    tol: float = 1e-3
    max_iter: int = 2000
    verbose: int = 0
    callback: Callback | None = None

    def _fit(self, X):
        X = self._learn_scale(X)
        # Means of distances overflow near the largest numbers. If the objective does
        # too, an error says so.
        with np.errstate(over="ignore", invalid="ignore"):
            graph = self._build_graph(X, Stage(self, "graph"))
            features = build_feature_graph(self, X, stage=Stage(self, "feature_graph"))
        self.feature_adjacency_ = features.adjacency
        self.feature_laplacian_ = features.laplacian
        gammas = self._gammas(X, graph, features)
        options = {"tol": float(self.tol), "max_iter": self.max_iter}
        result = self._solve(X, (graph, features), gammas, self._watch(), **options)
        self.gamma_, self.gamma_features_ = gammas
        self._unit = power_of_two(X)
        self._warn(result)
        with np.errstate(invalid="ignore"):
            S = np.nan_to_num(X - result.x, copy=False, nan=0.0)
        self._name_parts(result, S, self._factors(X, result))

    def _measure_scale(self, X):
        """Center the features if a weight is automatic: X + 1 m^T gives L + 1 m^T.

        A normalized Laplacian changes constants, and the feature graph would smooth
        the differences between offsets.
        """
        if self.scale is not None or "auto" not in (self.gamma, self.gamma_features):
            return super()._measure_scale(X)
        return spread_of(X).center, np.ones(X.shape[1])

    def _gammas(self, X, graph: ModelGraph, features: ModelGraph):
        """The two weights, as numbers; sets `weights_` and `explained_`."""
        typical = typical_size(X)
        rules: dict[Any, float | None] = {"auto": None, "unit": 1 / typical}
        first, second = (
            rules[gamma] if isinstance(gamma, str) else float(gamma)
            for gamma in (self.gamma, self.gamma_features)
        )
        if first is not None and second is not None:
            return first, second
        watch = Stage(self, "weights").watch
        rows = graph.some(X.shape)
        columns = features.some((X.shape[1], len(rows)))
        part = np.ascontiguousarray(X[np.ix_(rows, columns)])

        def prepare(Y):
            with np.errstate(over="ignore", invalid="ignore"):
                parts = graph.part(rows, Y), features.part(columns, Y.T)
            options = {"tol": GAP, "max_iter": MAX_ITER}
            return lambda gammas: self._solve(Y, parts, gammas, watch, **options).x

        choice = choose_gammas(part, typical, (first, second), prepare)
        chosen = choice.gamma, choice.gamma_features
        self._name_choice(X, choice, "gammas {:.3g} and {:.3g}".format(*chosen))
        return chosen

    def _solve(self, X, graphs, gammas, watch, **options):
        """With X in another unit c, L / c solves the problem with gamma c for gamma."""
        graph, features = graphs
        unit = power_of_two(X)
        _check_stiffness(X, gammas, graphs, unit)
        a, b = (gamma * unit for gamma in gammas)
        smooth = TwoGraphSmoothness(graph.laplacian, a, features.laplacian, b)
        self._top = smooth.top_columns
        data = Centered(in_unit(X, unit), graph.null, features.null)
        # Start from X, but not from gross errors: smoothing would spread them, and
        # every step takes back no more than one over the Lipschitz constant.
        reach = X.dtype.type(10 * typical_size(data.array))
        start = np.nan_to_num(np.clip(data.array, -reach, reach), nan=0.0)
        # Entries of L without an edge are those of X, however large.
        alone = np.logical_and.outer(
            a * graph.laplacian.diagonal() == 0, b * features.laplacian.diagonal() == 0
        )
        np.copyto(start, data.array, where=alone & ~np.isnan(data.array))
        relay = watch and (lambda progress: watch(progress.in_unit(unit)))
        result = fista(data, smooth, start, callback=relay, **options)
        return result.in_unit(unit, largest_entry(X))

    def _embed_rows(self, X, *edges):
        """The model of `fit` for one row x, with all other rows fixed.

        x is split into l, smooth between the features and toward its neighbors, and a
        sparse rest. The embedding is l in the directions of `components_`. Let m be one
        where x is observed, else zero. Then ||m o l||_1 <= 2 ||m o x||_1, or ||l|| is
        at most sqrt(2) times the norm of the longest neighbor.
        """
        values = self._scaled(self.low_rank_).astype(np.float64) / self._unit
        curvature, pull = self._ties(X, edges, values)
        L, unfinished = fista_rows(
            X.astype(np.float64) / self._unit,
            self.gamma_ * self._unit * curvature,
            self.gamma_ * self._unit * pull,
            self.feature_laplacian_,
            self.gamma_features_ * self._unit,
            self._top,
        )
        self._warn_unfinished(unfinished)
        return (L @ self.components_.T.astype(np.float64)) * self._unit


def _check_stiffness(X, gammas, graphs, unit: float) -> None:
    """Refuse weights for which gamma Phi X is out of range."""
    names = ("graph", "gamma"), ("feature_graph", "gamma_features")
    for (graph, option), gamma, part in zip(names, gammas, graphs, strict=True):
        top = float(row_sizes(part.laplacian).max(initial=0.0))
        if gamma > 0 and not top * (gamma * unit) < STIFFEST:
            typical, largest = typical_size(X), largest_entry(X)
            raise ValueError(
                f"{option}={gamma:.3g}, {graph} with degrees up to {top / 2:.3g} and X "
                f"with entries up to {largest:.3g} (typical size {typical:.3g}) are "
                f"out of range together; rescale X, divide the weights of {graph} by "
                f"a number, or use {option}='auto'"
            )

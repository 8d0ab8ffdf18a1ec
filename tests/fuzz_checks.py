"""What must hold for the answer of any model to any problem.

`examine` fits one problem and returns a `Report`: a refusal, or an answer and what is
wrong with it. Findings have one of these kinds:

exception     neither an answer nor an error that names an argument
warning       anything but a ConvergenceWarning or PoorFitWarning
nan           a fitted number that is not finite
shape         a fitted array of another shape or type than documented
structure     factors that are not orthonormal, parts that do not add up, ...
objective     objective_ is not the objective of the answer
optimum       an answer that is worse than one found by an independent method
bound         lower_bound_ above the objective of some matrix
status        no ConvergenceWarning although it did not converge, or the reverse
transform     fitted rows do not get their embedding back, new rows run away
modified      the data or the constructor's parameters changed
repeat        another answer in threads, after pickling, or from a clone
"""

import pickle
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import rpcag
from fuzz_oracles import EPS, Factors, Graph, Hypergraph, LowRank, dense
from fuzz_problems import CERTIFIED, Problem
from rpcag.graphs import KNNGraph, KNNHypergraph
from rpcag.models import PoorFitWarning

# A lower bound may be above the best objective by this share of it, and by the rounding
# of double precision: a proof that was computed, not derived.
BOUND = 1e-9
# Fitted rows get their embedding back within this share of the largest one: closed
# forms, in units of the precision of the data.
BACK = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 2e-3}
# New rows that resemble fitted ones may be this much longer than the longest of them.
LONG = 100.0
CLOSED = ("GLPCA", "MMF", "MMMF", "MHMF", "NCuts", "LaplacianEigenmaps")
SPECTRAL = ("NCuts", "LaplacianEigenmaps")


@dataclass
class Report:
    """What came of a problem."""

    seed: int
    model: str
    status: str = "refused"
    fits: int = 0
    refusal: str | None = None
    findings: list[tuple[str, str]] = field(default_factory=list)

    def add(self, kind: str, detail: str) -> None:
        self.findings.append((kind, detail))


def examine(problem: Problem) -> Report:
    report = Report(problem.seed, problem.model)
    frozen = deepcopy(problem.X)
    model = problem.estimator()
    before = {key: deepcopy(value) for key, value in model.get_params().items()}
    fitted, converged = _fit(problem, model, report)
    for key, value in model.get_params().items():
        if not _same(value, before[key]):
            report.add("modified", f"{key} changed")
    if not _same(problem.X, frozen):
        report.add("modified", "X changed")
    if not fitted:
        return report
    X = np.array(problem.X)
    X = X.astype(np.float32 if X.dtype == np.float32 else np.float64)
    report.status = getattr(model, "status_", "converged" if converged else "max_iter")
    if (report.status == "converged") != converged:
        report.add("status", f"{report.status}, warned: {not converged}")
    _check_arrays(report, model, X)
    if report.findings:
        return report  # nothing to compute with
    if getattr(model, "center_", None) is not None:
        problem, model, X = _centered(report, problem, model, X)
        if model is None:
            return report
    goal = _objective(problem, model, X)
    _check_structure(report, model, X)
    _check_objective(report, model, X, goal)
    _check_history(report, model)
    if problem.model in CERTIFIED:
        _check_bound(report, problem, model, X, goal)
    else:
        _check_optimum(report, model, X, goal)
    _check_transform(report, problem, model, X, goal, converged)
    if problem.pickles:
        _check_copies(report, problem, model, X)
    if problem.threads:
        _check_threads(report, problem, model)
    return report


# ---- fits ----


def _centered(report, problem, model, X):
    """The same problem with centered data and the weights that were chosen.

    Automatic weights of FRPCAG center the features; stated ones do not.
    """
    X = model._scaled(X)
    options = {
        "graph": model.adjacency_,
        "feature_graph": model.feature_adjacency_,
        "gamma": model.gamma_,
        "gamma_features": model.gamma_features_,
    }
    problem = replace(problem, X=X, options=problem.options | options)
    other = problem.estimator()
    if _call(lambda: other.fit(X), report)[0] is None:
        return problem, None, X
    same = other.objective_ == model.objective_
    if not (same and np.array_equal(model._unscaled(other.low_rank_), model.low_rank_)):
        report.add("repeat", "centered data and stated weights have another answer")
    return problem, other, X


def _fit(problem, model, report) -> tuple[bool, bool]:
    """Whether there is an answer, and whether no ConvergenceWarning came with it."""
    if problem.warm:
        first = {"lam": 3 * _lam(problem)}
        own = {key: model.get_params()[key] for key in first}
        ended, _ = _call(lambda: model.set_params(**first).fit(problem.X), report)
        model.set_params(**own)
        if ended is None:
            return False, False
    report.findings.clear()  # those of the last fit count
    ended, caught = _call(lambda: model.fit(problem.X), report)
    return ended is not None, not caught


def _lam(problem) -> float:
    lam = problem.options.get("lam", "auto")
    return 1 / max(np.shape(problem.X)) ** 0.5 if isinstance(lam, str) else lam


def _call(function, report, what="fit"):
    """Its answer or None, and the ConvergenceWarnings; other trouble is a finding."""
    report.fits += what == "fit"
    answer = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = function()
        except (ValueError, TypeError) as error:
            text = str(error)
            if _names_an_argument(text, report.model):
                report.refusal = re.sub(r"-?\d[\d.]*(e[+-]?\d+)?", "#", text)
            else:
                report.add("exception", f"{what}: {type(error).__name__}: {text}")
        except Exception as error:
            report.add("exception", f"{what}: {type(error).__name__}: {error}")
    convergence = []
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            convergence.append(warning)
        elif not issubclass(warning.category, PoorFitWarning):
            name = warning.category.__name__
            report.add("warning", f"{what}: {name}: {warning.message}")
    return answer, convergence


def _names_an_argument(text: str, model: str) -> bool:
    arguments = {"X", "adjacency", *getattr(rpcag, model)().get_params()}
    return any(re.search(rf"\b{name}\b", text) for name in arguments)


def _reloaded(value):
    return pickle.loads(pickle.dumps(value))


def _same(a, b) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if sparse.issparse(a):
        return a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(
            a, b, equal_nan=a.dtype.kind == "f"
        )
    if hasattr(a, "get_params"):
        return repr(a) == repr(b) and set(vars(a)) == set(vars(b))
    return bool(a == b) or (a != a and b != b)


# ---- the answer itself ----


def _check_arrays(report, model, X) -> None:
    n, p = X.shape
    d = model.embedding_.shape[1]
    shapes = {"embedding_": (n, d), "components_": (d, p)}
    if report.model in CERTIFIED:
        shapes |= {"low_rank_": X.shape, "sparse_": X.shape, "singular_values_": (d,)}
    if report.model in SPECTRAL:
        del shapes["components_"]
    asked = model.n_components
    if asked is not None and not (
        d <= asked if report.model in CERTIFIED else d == asked
    ):
        report.add("shape", f"{d} components, {asked} were asked for")
    for name, shape in shapes.items():
        array = getattr(model, name)
        if array.shape != shape or array.dtype != X.dtype:
            report.add("shape", f"{name} is {array.dtype} of shape {array.shape}")
    for name, value in vars(model).items():
        if (
            not name.endswith("_")
            or name.startswith("_")
            or name == "feature_names_in_"
        ):
            continue
        if name == "cv_results_":
            _check_dropped(report, model)
            continue
        values = value.values() if isinstance(value, dict) else [value]
        for part in values:
            if sparse.issparse(part):
                part = part.data
            if isinstance(part, (float, np.ndarray)) and not np.isfinite(part).all():
                report.add("nan", f"{name} is not finite")


def _check_dropped(report, model):
    """Only pairs that were dropped after a split have NaN, and in all later splits."""
    results = model.cv_results_
    splits = [results[f"split{k}_test_score"] for k in range(model.n_splits)]
    dropped = np.isnan(splits)
    if dropped[0].any() or (dropped[:-1] & ~dropped[1:]).any():
        report.add("nan", "cv_results_ has no score of a pair that was not dropped")
    for name, column in results.items():
        allowed = np.zeros(len(column), bool)
        if name in ("mean_test_score", "std_test_score"):
            allowed = dropped.any(axis=0)
        elif name.startswith("split"):
            allowed = np.isnan(column)
        if name != "params" and not (np.isfinite(column) | allowed).all():
            report.add("nan", f"cv_results_[{name!r}] is not finite")
    if not np.isfinite(results["mean_test_score"][model.best_index_]):
        report.add("nan", "the best pair has no score")


def _objective(problem, model, X):
    """The model's objective as an oracle, at the parameters that it reports."""
    name = problem.model
    kind = problem.options.get("laplacian", "normalized")
    if name == "RPCA":
        return LowRank(X, model.lam_, nuclear=True)
    if name in ("RPCAG", "RPCAGCV"):
        rows = None  # a graph that did not help was not built
        if model.adjacency_ is not None:
            rows = model.gamma_, Graph(model.adjacency_, kind)
        return LowRank(X, model.lam_, nuclear=True, rows=rows)
    if name == "FRPCAG":
        rows = model.gamma_, Graph(model.adjacency_, kind)
        columns = model.gamma_features_, Graph(model.feature_adjacency_, kind)
        return LowRank(X, 1.0, nuclear=False, rows=rows, columns=columns)
    if name in SPECTRAL:
        return Graph(
            model.adjacency_, "normalized" if name == "NCuts" else "combinatorial"
        )
    if name in ("MMMF", "MHMF"):
        alpha = model.graph_weights_
        graphs = _mixture(problem, X, kind)
        pairs = [(model.gamma_ * a, g) for a, g in zip(alpha, graphs, strict=True)]
        return Factors(X, pairs, more=model.weight_penalty_ * float(alpha @ alpha))
    graph = Graph(model.adjacency_, kind)
    constant = 0.0
    if problem.options.get("drop_constant"):
        top = np.linalg.eigvalsh(graph.matrix().astype(float))[-1]
        constant = model.gamma_ * max(top, 0.0)
    return Factors(X, [(model.gamma_, graph)], l21=name == "RGLPCA", constant=constant)


def _mixture(problem, X, kind):
    graphs = problem.options.get("graphs", "auto")
    if problem.model == "MHMF":
        if isinstance(graphs, str):
            graphs = [KNNHypergraph(k) for k in (5, 10, 20)]
        return [Hypergraph(g(X) if isinstance(g, KNNHypergraph) else g) for g in graphs]
    if isinstance(graphs, str):
        graphs = [KNNGraph(5), KNNGraph(10), KNNGraph(20)]
        graphs += [KNNGraph(10, weights="correlation")]
    # A model that is cheap to fit, for its adjacency.
    one = rpcag.NCuts
    return [Graph(one(1, graph=g).fit(X).adjacency_, kind) for g in graphs]


def _check_structure(report, model, X) -> None:
    eps = 64 * float(np.finfo(X.dtype).eps)
    Q = model.embedding_.astype(np.float64)
    d = Q.shape[1]

    def orthonormal(A, what):
        if np.abs(A - np.eye(d)).max(initial=0.0) > eps * 8:
            report.add("structure", f"{what} is not orthonormal")

    if report.model in SPECTRAL:
        D = dense(model.adjacency_).sum(axis=1)
        weights = D if report.model == "LaplacianEigenmaps" else np.ones(len(Q))
        orthonormal(Q.T @ (weights[:, None] * Q), "embedding_")
        return
    V = model.components_.astype(np.float64)
    if report.model in ("GLPCA", "RGLPCA"):
        orthonormal(Q.T @ Q, "embedding_")
    elif report.model == "GNMF":
        norms = np.linalg.norm(V, axis=1)
        if Q.min() < 0 or V.min() < 0 or (np.abs(norms - 1) > eps)[norms > 0].any():
            report.add("structure", "factors are negative, or not of unit norm")
    else:
        orthonormal(V @ V.T, "components_")
    if report.model in ("MMMF", "MHMF"):
        alpha = model.graph_weights_
        if alpha.min() < 0 or abs(alpha.sum() - 1) > 1e-12:
            report.add("structure", f"graph_weights_ are {alpha}")
    if report.model not in CERTIFIED:
        return
    L, S = model.low_rank_.astype(np.float64), model.sparse_.astype(np.float64)
    size = np.abs(L).max(initial=0.0)
    seen = ~np.isnan(X)
    rest = np.abs(L + S - X)[seen]
    if (rest > eps * np.maximum(np.abs(X[seen]), np.abs(L[seen]))).any():
        report.add("structure", "low_rank_ and sparse_ do not add up to X")
    if S[~seen].any():
        report.add("structure", "sparse_ is not zero where X is missing")
    s = model.singular_values_
    # Singular values up to this are cut off: rank_ is the numerical rank.
    cut = s.max(initial=0.0) * max(X.shape) * float(np.finfo(X.dtype).eps)
    rest = np.abs(Q @ V - L).max(initial=0.0)
    if d == model.rank_ and rest > eps * 8 * size + 2 * cut:
        report.add("structure", "embedding_ @ components_ is not low_rank_")
    if (np.diff(s) > eps * s.max(initial=0.0)).any():
        report.add("structure", "singular values are not descending")


def _value(model, goal):
    """The objective of the model's answer, and the rounding to allow."""
    if isinstance(goal, LowRank):
        return goal.value(model.low_rank_), goal.rounding(model.low_rank_)
    Q = model.embedding_
    eps = float(np.finfo(Q.dtype).eps)
    if isinstance(goal, Graph):
        return goal.value(Q), 16 * goal.rounding(Q) * (eps / EPS)
    U = model.components_.T
    return goal.value(Q, U), goal.rounding(Q, U, eps)


def _check_objective(report, model, X, goal) -> None:
    """As accurate as the type of the data, and as double precision allows.

    Solvers with a nuclear norm work in the unit of a typical entry: their L is rounded
    when it is multiplied by it.
    """
    value, rounding = _value(model, goal)
    eps = float(np.finfo(X.dtype).eps)
    # The objective is of factors, whose product is rounded once more.
    rounding += max(32 * eps, 1e-12) * value
    if isinstance(goal, LowRank) and goal.nuclear:
        rounding += eps * goal.lam * np.abs(model.low_rank_.astype(np.longdouble)).sum()
    if not abs(model.objective_ - value) <= rounding:
        report.add(
            "objective",
            f"objective_ is {model.objective_:.12g}, recomputed {value:.12g}, "
            f"allowed {rounding:.1g}",
        )


def _check_history(report, model) -> None:
    """Coordinate descent and alternations never increase the objective."""
    if report.model not in ("GNMF", "MMMF", "MHMF"):
        return
    values = model.history_["objective"]
    rise = np.diff(values).max(initial=0.0)
    size = float(np.sum(model.low_rank_.astype(np.float64) ** 2)) + values[0]
    if rise > 1e-9 * values[0] + 1e-12 * size:
        report.add("optimum", f"the objective rose by {rise:.3g} of {values[0]:.3g}")


# ---- against other methods ----


def _check_bound(report, problem, model, X, goal) -> None:
    """No matrix has an objective below lower_bound_; gap_ is what it says."""
    objective, bound = model.objective_, model.lower_bound_
    gap = max(objective - bound, 0.0) / objective if objective > 0 else 0.0
    if abs(gap - model.gap_) > 1e-9:
        report.add("bound", f"gap_ is {model.gap_:.3g}, from its parts {gap:.3g}")
    if model.status_ == "converged" and model.gap_ > problem.estimator().tol:
        report.add("status", f"converged with a gap of {model.gap_:.3g}")
    bounds = [("lower_bound_", bound)]
    matrices = [("the answer", model.low_rank_), *_simple(X, goal)]
    for name, refit in _refits(report, problem, model, X):
        bounds.append((f"lower_bound_ {name}", refit.lower_bound_))
        matrices.append((f"the answer {name}", refit.low_rank_))
    best = min(matrices, key=lambda pair: _roughly(goal, pair[1]))
    value, rounding = goal.value(best[1]), goal.rounding(best[1], sharp=True)
    for name, bound in bounds:
        if not bound <= value + BOUND * value + rounding:
            report.add(
                "bound",
                f"{name} = {bound:.12g} is above the objective {value:.12g} of "
                f"{best[0]} (by {float((bound - value) / max(value, 1e-300)):.1e})",
            )


def _roughly(goal, L) -> float:
    """In double precision: enough to tell which matrix is the best."""
    total = goal.lam * np.nansum(np.abs(goal.X.astype(np.float64) - L))
    if goal.nuclear:
        total += np.linalg.svd(np.float64(L), compute_uv=False).sum()
    return total + sum(float(g * graph.value(Q)) for g, graph, Q in goal._terms(L))


def _simple(X, goal):
    """Matrices that anybody would try."""
    X = X.astype(np.float64)
    seen = ~np.isnan(X)
    medians = np.zeros(X.shape[1])
    known = seen.any(axis=0)
    medians[known] = np.nanmedian(X[:, known], axis=0)
    yield "zero", np.zeros_like(X)
    yield "X", np.where(seen, X, medians)
    yield "the medians", np.broadcast_to(medians, X.shape)
    if goal.rows is None:
        return
    # As smooth as can be: constant on every component, in units of the root degrees.
    graph = goal.rows[1]
    root = graph.root.astype(np.float64)[:, None]
    L = np.zeros_like(X)
    parts = graph.components()
    for part in np.unique(parts):
        rows = parts == part
        ratios = (X / root)[rows]
        known = seen[rows].any(axis=0)
        center = np.zeros(X.shape[1])
        center[known] = np.nanmedian(ratios[:, known], axis=0)
        L[rows] = root[rows] * center
    yield "constant components", L


def _refits(report, problem, model, X):
    """Longer fits of the very same problem, in double precision."""
    X = X.astype(np.float64)
    options = {"tol": 1e-7, "max_iter": 2000}
    if problem.model == "FRPCAG":
        options |= {
            "graph": model.adjacency_,
            "feature_graph": model.feature_adjacency_,
            "gamma": model.gamma_,
            "gamma_features": model.gamma_features_,
            "laplacian": model.laplacian,
        }
        other = rpcag.FRPCAG(**options)
    else:
        options |= {"lam": model.lam_, "warm_start": True}
        kind = rpcag.RPCA
        if problem.model != "RPCA" and model.adjacency_ is not None:
            kind = rpcag.RPCAG
            options |= {"gamma": model.gamma_, "graph": model.adjacency_}
            options |= {"laplacian": model.laplacian}
        other = kind(**options)
    silent = Report(report.seed, report.model)
    if _call(lambda: other.fit(X), silent)[0] is not None:
        yield "with tol=1e-7", other
        if problem.model != "FRPCAG" and problem.pickles:
            other = _reloaded(other)
            if _call(lambda: other.fit(X), silent)[0] is not None:
                yield "with tol=1e-7 from there", other
    report.fits += silent.fits


def _check_optimum(report, model, X, goal) -> None:
    """Closed forms against dense eigenvalues, the others against a trivial answer."""
    d = model.embedding_.shape[1]
    eps = float(np.finfo(X.dtype).eps)
    if report.model in SPECTRAL:
        A = model.adjacency_
        values = np.linalg.eigvalsh(Graph(A).matrix().astype(float))
        if report.model == "LaplacianEigenmaps":
            used = dense(A).sum(axis=1) > 0
            Phi = Graph(A).matrix().astype(float)[used][:, used]
            values = np.linalg.eigvalsh(Phi)
        first = int(model.drop_first)
        best, rounding = values[first : first + d].sum(), 1e-8 * d
    else:
        size = float(np.abs(X).max(initial=0.0)) or 1.0
        Y = X.astype(np.float64) / size
        squares = float(np.sum(Y**2))
        n = len(Y)
        best, rounding = squares, 1e-9 * squares
        if report.model in ("GLPCA", "MMF"):
            gamma, graph = goal.graphs[0]
            Phi = graph.matrix().astype(float)
        if report.model == "GLPCA":
            gamma /= size**2
            G = Y @ Y.T - gamma * Phi - goal.constant / size**2 / n
            values = np.linalg.eigvalsh(G)
            best = squares - values[::-1][:d].sum()
            rounding = 8 * n * max(eps, 1e-9) * np.abs(values).max()
        elif report.model == "MMF":
            mu, W = np.linalg.eigh(Phi)
            C = (W.T @ Y) / np.sqrt(1 + gamma * np.maximum(mu, 0))[:, None]
            best = squares - np.sum(np.linalg.svd(C, compute_uv=False)[:d] ** 2)
            rounding += 64 * EPS * gamma * np.abs(mu).max() * squares
        elif report.model == "RGLPCA":
            return
        elif report.model in ("MMMF", "MHMF"):
            best += goal.more / size**2
        best, rounding = best * size**2, rounding * size**2
    if not model.objective_ <= best + rounding:
        report.add(
            "optimum",
            f"objective_ is {model.objective_:.9g}, the best {best:.9g}, "
            f"allowed {rounding:.1g}",
        )


# ---- transform ----


def _check_transform(report, problem, model, X, goal, converged) -> None:
    given = _adjacencies(model)
    rows = np.arange(len(X))
    extra = {} if given is None else {"adjacency": given(rows, 1.0)}
    again, unfinished = _call(
        lambda: model.transform(X, **extra), report, "transform of fit"
    )
    if again is None:
        if report.refusal:
            report.add("transform", f"rows of fit are refused: {report.refusal}")
        return
    Q = model.embedding_
    if again.shape != Q.shape or again.dtype != Q.dtype or not np.isfinite(again).all():
        report.add("transform", f"{again.dtype} of shape {again.shape}, or NaN")
        return
    largest = float(np.linalg.norm(Q.astype(np.float64), axis=1).max(initial=0.0))
    # Nothing joins rows to a hypergraph that was given as an incidence.
    given_edges = report.model == "MHMF" and any(map(_is_matrix, model.graphs))
    is_tied = given is None and bool((X == X[0]).all())  # any rows may be neighbors
    if report.model in CLOSED and not given_edges and not is_tied:
        first = np.array(_first_equal(X))
        expected = Q if given is not None else Q[first]
        difference = again.astype(np.float64) - expected
        if given is not None and report.model == "MMMF":
            difference[first != rows] = 0  # builders beside it take them for others
        if report.model in SPECTRAL:
            # Documented: rows without neighbors are at the origin, and Nyström's
            # formula divides by 1 - mu.
            difference[dense(model.adjacency_).sum(axis=1) == 0] = 0
            difference[:, np.abs(1 - model.eigenvalues_) < 1e-3] = 0
        elif report.model == "GLPCA":
            difference[_undetermined(model, goal)] = 0
        distance = np.linalg.norm(difference, axis=1)
        if distance.max(initial=0.0) > BACK[X.dtype] * largest:
            i = int(distance.argmax())
            report.add(
                "transform",
                f"row {i} of fit comes back {distance[i] / largest:.1e} of the "
                "longest away from its embedding",
            )
    elif report.model not in CLOSED and not unfinished:
        _check_rows(report, model, X, goal, again, given)
    _check_new_rows(report, problem, model, X, given, largest)


def _undetermined(model, goal):
    """Coordinates q_ik of GLPCA that its equations do not tell beside the others.

    Row i of X X^T Q - gamma Phi Q = Q Lambda divides by Lambda_k + gamma Phi_ii. The
    eigenvectors are accurate to rounding beside the norm of X X^T - gamma Phi.
    """
    Q = model.embedding_.astype(np.longdouble)
    V = model.components_.astype(np.longdouble)
    gamma, graph = goal.graphs[0]
    Phi = graph.matrix()
    smooth = gamma * (Q * (Phi @ Q)).sum(axis=0)
    constant = goal.constant * len(Q) * Q.mean(axis=0) ** 2
    Lambda = (V * V).sum(axis=1) - smooth - constant
    divisor = np.abs(Lambda + gamma * np.diag(Phi)[:, None])
    norm = np.abs(Lambda).max(initial=0.0) + gamma * np.abs(Phi).sum(axis=1).max()
    norm += np.abs(goal.constant)
    least = 1e-7 if model.embedding_.dtype == np.float64 else 1e-3
    return divisor <= least * norm


def _adjacencies(model):
    """For precomputed graphs: the weights of rows like the rows given, else None."""
    graphs = getattr(model, "graph", None), getattr(model, "graphs", None)
    listed = graphs[1] if isinstance(graphs[1], list) else None
    if listed is not None and type(model).__name__ == "MMMF":
        fixed = [dense(g) if _is_matrix(g) else None for g in listed]
        if all(A is None for A in fixed):
            return None
        return lambda rows, c: [A if A is None else c * _off(A)[rows] for A in fixed]
    if _is_matrix(graphs[0]):
        return lambda rows, c: c * _off(dense(graphs[0]))[rows]
    return None


def _off(A):
    """Without the diagonal."""
    return A - np.diag(np.diag(A))


def _is_matrix(graph) -> bool:
    return sparse.issparse(graph) or isinstance(graph, np.ndarray)


def _first_equal(X):
    """The first row that equals each row: that is what a builder takes it for."""
    first: dict[bytes, int] = {}
    keys = [row.tobytes() for row in np.where(np.isnan(X), np.nan, X) + 0.0]
    return [first.setdefault(key, i) for i, key in enumerate(keys)]


def _check_rows(report, model, X, goal, again, given) -> None:
    """A fitted row replaced by its transform has no larger objective.

    The row problem of `transform` is the model's own with all other rows fixed; for
    the nuclear norm it is a majorant that touches it there. Where U is cut, or a row
    is taken for another that equals it, this says nothing.
    """
    if report.model == "RGLPCA":
        return  # Q^T Q = I ties the rows together
    if report.model in CERTIFIED and model.n_components_ < model.rank_:
        return
    if report.model == "FRPCAG" and model.rank_ < X.shape[1]:
        return  # the new row is then projected on components_, which do not span it
    first = _first_equal(X) if given is None else list(range(len(X)))
    eps = float(np.finfo(X.dtype).eps)
    Q, V = model.embedding_, model.components_
    for i in range(0, len(X), max(1, len(X) // 3)):
        if first[i] != i:
            continue
        changed = Q.astype(np.float64)
        start = changed.copy()
        changed[i] = again[i]
        if report.model in CERTIFIED:
            V64 = V.astype(np.float64)
            values = [goal.value(Z @ V64) for Z in (start, changed)]
            rounding = goal.rounding(start @ V64) * (eps / EPS)
            # The row problem is solved to 1e-6 of its loss at zero.
            rounding += 2e-6 * goal.lam * np.nansum(np.abs(X[i].astype(np.longdouble)))
        else:
            values = [goal.value(Z, V.T) for Z in (start, changed)]
            rounding = goal.rounding(start, V.T, eps)
            rounding += 1e-12 * (X[i].astype(np.longdouble) ** 2).sum()
        allowed = 1e-6 * values[0] + rounding
        if values[1] > values[0] + allowed:
            rise = float((values[1] - values[0]) / max(values[0], 1e-300))
            report.add("transform", f"row {i} of fit comes back worse, by {rise:.1e}")
            return


def _check_new_rows(report, problem, model, X, given, largest) -> None:
    rng = np.random.default_rng([problem.seed, 7])
    rows = rng.integers(len(X), size=5)
    near = X[rows].astype(np.float64)
    size = np.nanmax(np.abs(near), initial=0.0)
    near *= 1 + 1e-3 * rng.standard_normal(near.shape)
    near[-1] = (near[0] + near[1]) / 2
    near[-2] += 1e-2 * size * rng.standard_normal(X.shape[1])
    if report.model == "GNMF":
        near = np.abs(near)
    near = near.astype(X.dtype)
    weak = float(10.0 ** rng.uniform(-12, 0)) if rng.random() < 0.5 else 1.0
    extra = {} if given is None else {"adjacency": given(rows, weak)}
    report.refusal = None
    Z, _ = _call(lambda: model.transform(near, **extra), report, "transform of new")
    if Z is None:
        if report.refusal:
            report.add("transform", f"rows near fit are refused: {report.refusal}")
        return
    if not np.isfinite(Z).all():
        report.add("transform", "NaN for new rows")
        return
    with np.errstate(over="ignore"):
        longest = np.linalg.norm(np.nan_to_num(X.astype(np.longdouble)), axis=1).max()
        lengths = np.linalg.norm(np.nan_to_num(near.astype(np.longdouble)), axis=1)
    relative = 1 + lengths / longest if longest > 0 else np.ones(len(near))
    allowed = LONG * largest * relative
    if report.model not in ("GLPCA", "RGLPCA", *SPECTRAL):
        allowed = np.maximum(allowed, LONG * lengths)  # the embedding is in units of X
    elif report.model not in SPECTRAL:
        # The columns of Q have unit length: a direction in which the fitted rows differ
        # little makes small differences long, also without a graph.
        U = model.components_.astype(np.float64)
        own = np.linalg.lstsq(U.T, np.nan_to_num(near.astype(float)).T, rcond=None)[0]
        allowed = np.maximum(allowed, 2 * np.linalg.norm(own, axis=0))
    too_long = np.linalg.norm(Z.astype(np.longdouble), axis=1) / np.maximum(
        allowed, np.finfo(X.dtype).tiny
    )
    if too_long.max() > 1:
        report.add(
            "transform",
            f"a new row is {float(too_long.max() * LONG):.1e} times as long as those "
            f"of fit (weights times {weak:.0e})",
        )


# ---- copies and threads ----


def _check_copies(report, problem, model, X) -> None:
    loaded = _reloaded(model)
    if not _equal_answers(model, loaded):
        report.add("repeat", "the pickled model differs")
    given = _adjacencies(model)
    extra = {} if given is None else {"adjacency": given(np.arange(len(X)), 1.0)}
    Z = [_call(lambda m=m: m.transform(X, **extra), report, "transform")[0]
         for m in (model, loaded)]  # fmt: skip
    if not np.array_equal(*Z):
        report.add("repeat", "the pickled model transforms differently")
    if not problem.warm:
        again = clone(model)
        _call(lambda: again.fit(problem.X), report)
        if not _equal_answers(model, again):
            report.add("repeat", "a clone gives another answer")


def _check_threads(report, problem, model) -> None:
    if problem.warm:
        return
    filters = list(warnings.filters)
    found: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inside = list(warnings.filters)
        with ThreadPoolExecutor(4) as pool:
            models = [problem.estimator() for _ in range(4)]
            for future in [pool.submit(m.fit, problem.X) for m in models]:
                try:
                    if not _equal_answers(model, future.result()):
                        found.append("another answer in a thread")
                except Exception as error:
                    found.append(f"in a thread: {type(error).__name__}: {error}")
        report.fits += 4
        # Scikit-learn's `check_array` turns ComplexWarnings into errors in threads too.
        left = [f for f in warnings.filters if f[2].__name__ != "ComplexWarning"]
        # Their modules are compiled to patterns when a warning comes.
        if [(f[0], f[2]) for f in left] != [(f[0], f[2]) for f in inside]:
            found.append("threads left other warning filters behind")
    warnings.filters[:] = filters
    for text in sorted(set(found)):
        report.add("repeat", text)


def _equal_answers(a, b) -> bool:
    return (
        np.array_equal(a.embedding_, b.embedding_)
        and a.objective_ == b.objective_
        and getattr(a, "lower_bound_", 0) == getattr(b, "lower_bound_", 0)
    )

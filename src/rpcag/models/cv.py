"""Choose lam and gamma without labels, by a grid search on hidden entries."""

import math
from dataclasses import dataclass, field
from itertools import chain, groupby
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from rpcag.graphs.options import COUNT, FRACTION
from rpcag.linalg.typical import typical_size
from rpcag.models.messages import Stage, tell
from rpcag.models.rpcag import RPCAG
from rpcag.models.rules import resolve_gamma, resolve_lam
from rpcag.models.trials import PLAIN, Cell, Trials

# The default grid, relative to the theory's lam and the gamma for clustering.
LAMS = (1.0, 2.0, 4.0, 8.0)
GAMMAS = (0.0, 1 / 256, 1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0)
# After a split, a cell is dropped if its mean squared error is above that of the best
# one by more than DEVIATIONS standard errors of their difference, plus a SHARE of the
# error, because the trials are short and do not converge.
DEVIATIONS, SHARE = 2.5, 0.02


@dataclass(eq=False, repr=False, kw_only=True)
class RPCAGCV(RPCAG):
    """Robust PCA on graphs with lam and gamma from a grid search on hidden entries.

    A share of the observed entries is hidden and predicted by L, for every pair of lam
    and gamma. The pair with the smallest root mean squared error is then fitted to all
    data. Large errors are truncated, so gross errors do not decide the choice.
    Predictions come from short trials and from graphs without the hidden entries.

    ``RPCAG(lam="auto", gamma="auto")`` makes a similar choice in less time. Use this
    class for a grid of your own, the errors of all pairs, or several splits. Sample
    weights count in the final fit only.

    Parameters
    ----------
    n_components
        As in `RPCAG`.
    lams : "auto", "theory" or sequence of float, default="auto"
        Candidates for lam. "auto" is 1, 2, 4 and 8 times the weight of the theory;
        "theory" is only that weight.
    gammas : "auto", "clustering" or sequence of float, default="auto"
        Candidates for gamma. "auto" is 0 and seven values from 1/256 to 16 times the
        weight for clustering; "clustering" is only that weight.
    holdout : float, default=0.1
        Share of the observed entries to hide.
    n_splits : int, default=3
        Number of random sets of hidden entries. More make the choice more stable.
    rule : {"best", "one_se"}, default="best"
        "best" takes the pair with the smallest mean error. "one_se" takes the simplest
        pair that is within one standard error of it: the smallest gamma, then the
        smallest lam. Neither weight is larger than that of the best pair. The standard
        error is that of paired differences, corrected for the entries that splits share
        (Nadeau and Bengio, 2003).
    n_jobs : int, optional
        Number of threads, each with one lam at a time. -1 uses all cores. The result
        does not depend on it.
    random_state : int, RandomState or None, default=0
        Random seed of the hidden entries.
    graph, laplacian, scale, tol, max_iter, verbose
        As in `RPCAG`.
    callback : callable, optional
        As in `RPCAG`, but only called in the final fit and for its graph.

    Attributes
    ----------
    lam_, gamma_ : float
        The chosen weights. If gamma is 0, no graph is built for the final fit, unless
        a matrix was given, and `adjacency_` is None.
    cv_results_ : dict
        For every pair, in the order of ``params``: ``param_lam``, ``param_gamma``,
        ``split0_test_score``, ``split1_test_score``, ..., ``mean_test_score``,
        ``std_test_score``, ``rank_test_score`` and ``mean_rank`` (of L). Scores are
        negative root mean squared errors in the unit of X. A pair that is clearly worse
        than the best is dropped: its mean and its scores in later splits are NaN.
    best_index_ : int
        The chosen pair in `cv_results_`.
    best_params_ : dict
    best_score_ : float
        Its ``mean_test_score``.
    n_splits_ : int
    **others**
        As in `RPCAG`.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag import RPCAGCV
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.standard_normal((4, 30)), 12, axis=0)
    >>> X += 0.7 * rng.standard_normal(X.shape)
    >>> model = RPCAGCV(gammas=[0.0, 0.1, 10.0], lams=[0.2, 0.4]).fit(X)
    >>> model.best_params_
    {'lam': 0.4, 'gamma': 0.1}
    """

    _parameter_constraints = RPCAG._parameter_constraints | {
        "holdout": [FRACTION],
        "n_splits": [COUNT],
        "rule": [StrOptions({"best", "one_se"})],
        "n_jobs": [Integral, None],
    }

    # Chosen, or not offered.
    lam: Any = field(default="auto", init=False)
    gamma: Any = field(default="auto", init=False)
    loss: str = field(default="entries", init=False)
    noise: None = field(default=None, init=False)
    feature_graph: None = field(default=None, init=False)
    gamma_features: Any = field(default="auto", init=False)
    image_shape: None = field(default=None, init=False)
    warm_start: bool = field(default=False, init=False)
    checkpoint: None = field(default=None, init=False)
    checkpoint_seconds: float = field(default=60.0, init=False)

    lams: Any = "auto"
    gammas: Any = "auto"
    holdout: float = 0.1
    n_splits: int = 3
    rule: str = "best"
    n_jobs: int | None = None
    random_state: Any = 0

    _dask_methods = frozenset({"transform"})

    def _fit(self, X, weight=None) -> None:
        units = resolve_lam("theory", X), resolve_gamma("clustering", X)
        lams = self._candidates("lams", "theory", units[0], LAMS)
        if 0 in lams:
            raise ValueError("lams must be positive, got 0")
        gammas = self._candidates("gammas", "clustering", units[1], GAMMAS)
        cells = [(lam, gamma) for lam in lams for gamma in gammas]
        errors, ranks = self._search(X, cells, units)
        mean = -errors.mean(axis=0)
        size = float(np.nanmax(errors)) or 1.0  # squares of errors may overflow
        lams, gammas = np.array(cells).T
        self.cv_results_ = {
            "param_lam": lams,
            "param_gamma": gammas,
            "params": [{"lam": lam, "gamma": gamma} for lam, gamma in cells],
            **{f"split{k}_test_score": -split for k, split in enumerate(errors)},
            "mean_test_score": mean,
            "std_test_score": size * (errors / size).std(axis=0),
            "rank_test_score": rankdata(
                np.nan_to_num(-mean, nan=np.inf), method="min"
            ).astype(np.int32),
            "mean_rank": np.nanmean(ranks, axis=0),
        }
        self.best_index_ = self._chosen(cells, errors / size)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(mean[self.best_index_])
        self.n_splits_ = self.n_splits
        super()._fit(X, weight)

    def _parameters(self, X, loss):
        return self.best_params_["lam"], self.best_params_["gamma"]

    def _check_options(self) -> None:
        super()._check_options()
        if self.rule == "one_se" and self.n_splits < 2:
            raise ValueError(
                "rule='one_se' needs n_splits of at least 2 for a standard error, got "
                f"n_splits={self.n_splits}"
            )

    def _candidates(self, name: str, word: str, unit: float, factors) -> list[float]:
        """Sorted candidates: multiples of the unit for "auto", or just the unit."""
        values = getattr(self, name)
        if isinstance(values, str) and values in ("auto", word):
            chosen = factors if values == "auto" else (1,)
            if not math.isfinite(chosen[-1] * unit):
                raise ValueError(
                    f"{name}={values!r} is out of range for X, whose entries are too "
                    "small; rescale X"
                )
            return [factor * unit for factor in chosen]
        try:
            with np.errstate(over="ignore"):
                found = np.unique(np.asarray(values, dtype=float))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"{name} must be 'auto', {word!r} or numbers: {error}"
            ) from error
        if found.size == 0 or not np.isfinite(found).all() or found[0] < 0:
            raise ValueError(
                f"{name} must be finite numbers of at least 0, got {found.tolist()}"
            )
        return found.tolist()

    def _masks(self, X) -> list[np.ndarray]:
        """The hidden entries of every split."""
        observed = np.flatnonzero(~np.isnan(X))
        n_hidden = round(self.holdout * len(observed))
        if n_hidden == 0 or n_hidden == len(observed):
            raise ValueError(
                f"holdout={self.holdout} of {len(observed)} observed entries hides "
                f"{n_hidden}: some must be hidden and some must stay"
            )
        rng = check_random_state(self.random_state)
        masks = np.zeros((self.n_splits, X.size), bool)
        for mask in masks:
            mask[rng.choice(observed, n_hidden, replace=False)] = True
        return list(masks.reshape(-1, *X.shape))

    def _search(self, X, cells, units) -> tuple[np.ndarray, np.ndarray]:
        """Errors of the sorted cells on every split, and ranks of L; NaN if dropped.

        Errors are root mean squares over the hidden entries, truncated.
        """
        self._graph_without_values(X, Stage(self, "graph"))
        splits = [Trials(X, self.trial_graph(), masks=[m]) for m in self._masks(X)]
        has_graph = any(gamma > 0 for _, gamma in cells)
        stiffness = splits[0].graph_stiffness() if has_graph else 1.0
        # `Trials` are in units of the rules.
        relative = [(a / units[0], b / units[1] * stiffness) for a, b in cells]
        errors, ranks = np.full((2, len(splits), len(cells)), np.nan)
        alive = np.arange(len(cells))
        for k, split in enumerate(splits):
            try:
                squares, ranks[k, alive] = _try_all(
                    split, [relative[i] for i in alive], self.n_jobs
                )
            except np.linalg.LinAlgError as error:
                raise ValueError(
                    f"gammas up to {cells[-1][1]:.3g} and X, whose typical size is "
                    f"{typical_size(X):.3g}, are out of range together ({error}); use "
                    "gammas='auto'"
                ) from error
            means = squares.mean(axis=1)
            errors[k, alive] = split.size * np.sqrt(means)
            tell(
                self.verbose,
                f"{type(self).__name__} split {k + 1}: {len(alive)} pairs, smallest "
                f"error {np.nanmin(errors[k]):.4g}",
            )
            worse = squares - squares[means.argmin()]
            noise = worse.std(axis=1) / max(squares.shape[1], 1) ** 0.5
            slack = DEVIATIONS * noise + SHARE * means.min()
            alive = alive[worse.mean(axis=1) <= slack]
        return errors, ranks

    def _chosen(self, cells: list[Cell], errors: np.ndarray) -> int:
        """Index of the best pair, or of the simplest within one standard error of it.

        The simplest has the smallest gamma, then the smallest lam.
        """

        def simplest(fits: np.ndarray) -> int:
            return min(np.flatnonzero(fits).tolist(), key=lambda i: cells[i][::-1])

        means = errors.mean(axis=0)
        best = simplest(means == np.nanmin(means))
        if self.rule == "best":
            return best
        worse = errors - errors[:, [best]]
        # Nadeau and Bengio: 1/n would hold if splits had no entries in common.
        shared = 1 / len(errors) + self.holdout / (1 - self.holdout)
        fits = worse.mean(axis=0) <= np.sqrt(shared * worse.var(axis=0, ddof=1))
        return simplest(fits & (np.array(cells) <= cells[best]).all(axis=1))


def _try_all(split: Trials, cells: list[Cell], n_jobs: int | None):
    """Squared errors of the hidden entries and rank of L, for all cells."""
    split.error(PLAIN)  # fixes where errors are truncated, for all paths
    if any(gamma > 0 for _, gamma in cells):
        split.graph()
    paths = groupby(cells, lambda cell: cell[0])
    jobs = (delayed(_try)(split.fork(), list(path)) for _, path in paths)
    found = chain.from_iterable(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))
    squares, ranks = zip(*found, strict=True)
    split.keep()
    return np.array(squares), ranks


def _try(trials: Trials, path: list[Cell]) -> list[tuple[np.ndarray, int]]:
    """Try one lam with increasing gammas, each from the result of the previous one."""
    near, found = None, []
    for cell in path:
        trials.error(cell, near)
        trials.keep(cell)
        found.append((trials.squares[cell], trials.ranks[cell]))
        near = cell
    return found

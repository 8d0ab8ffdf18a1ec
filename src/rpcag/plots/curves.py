"""Curves: convergence, the search for gamma."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from rpcag.plots.canvas import BLUE, RED, SMALL, axes_or_new, plain


def convergence(source, *, axes=None) -> np.ndarray:
    """Plot objective and lower bound, and the gap, against iterations.

    The optimum of the problem lies in the shaded band.

    Parameters
    ----------
    source : fitted model, or dict
        A model's `history_`.
    axes : two matplotlib axes, optional
        One if the model has no certificate, so that its history is only the objective.

    Returns
    -------
    ndarray of axes
    """
    wanted = "a fitted model with history_, or such a dict"
    history = _recorded(source, "history_", "objective", wanted)
    history = {name: np.asarray(h, dtype=float) for name, h in history.items()}
    objective = history["objective"]
    steps = history.get("n_iter", np.arange(1, len(objective) + 1))
    count, height = (2, 4.6) if "gap" in history else (1, 3.2)
    drawn = axes_or_new(axes, (count, 1), (5.5, height), sharex=True)[:, 0]
    above, below = drawn[0], drawn[-1]
    above.plot(steps, objective, "o-", color=BLUE, markersize=3, label="objective")
    if "gap" in history:
        bound = history["lower_bound"]
        above.plot(steps, bound, "o-", color=RED, markersize=3, label="lower bound")
        above.fill_between(steps, bound, objective, color=BLUE, alpha=0.12, linewidth=0)
        above.set_ylim(*_limits(objective, bound))
        above.legend(fontsize=SMALL, frameon=False)
        below.plot(steps, history["gap"], "o-", color=BLUE, markersize=3)
        # Zeros, which a logarithm cannot show, are below every axis.
        below.set_yscale("log", nonpositive="clip")
        tol = getattr(source, "tol", None)
        if tol:
            below.axhline(tol, color="#777777", linewidth=0.9, linestyle="--")
            place = {"xycoords": ("axes fraction", "data"), "fontsize": SMALL}
            below.annotate("tol", (1, tol), **place)
        below.set_ylabel("certified gap")
    above.set_ylabel("objective")
    for ax in drawn:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        if axes is not None or ax is below:  # else they share the axis of the lowest
            ax.set_xlabel("iteration")
        plain(ax)
    return drawn


def _limits(objective: np.ndarray, bound: np.ndarray) -> tuple[float, float]:
    """Axis limits that show the last values, without the far start."""
    end = objective[-1]
    high = np.max(objective, initial=end, where=objective <= 2 * end)
    low = np.min(bound, initial=end, where=bound >= end / 2)
    room = 0.08 * (high - low) or 0.05 * abs(end) or 1.0
    return low - room, high + room


def gamma_path(source, *, axes=None) -> np.ndarray:
    """Plot the search of `RPCAGCV`: error and rank by gamma; a ring marks the choice.

    Parameters
    ----------
    source : fitted RPCAGCV, or dict
        The model's `cv_results_`. With several values of lam there is a line for each.
    axes : two matplotlib axes, optional

    Returns
    -------
    ndarray of axes
        The first shows the truncated root mean squared error of hidden entries, with
        its standard deviation over the splits. The second shows the mean rank.
    """
    wanted = "a fitted RPCAGCV, or its cv_results_"
    results = _recorded(source, "cv_results_", "mean_test_score", wanted)
    above, below = axes = axes_or_new(axes, (2, 1), (5.5, 4.8), sharex=True)[:, 0]
    # Gammas are evenly spaced, because a logarithmic axis has no 0.
    gammas, places = np.unique(results["param_gamma"], return_inverse=True)
    # Pairs that were dropped have the score of the first split.
    scores = np.asarray(results["mean_test_score"])
    errors = -np.where(np.isnan(scores), results["split0_test_score"], scores)
    spreads = np.nan_to_num(results["std_test_score"])
    lows, highs = errors - spreads, errors + spreads
    for i, lam in enumerate(np.unique(results["param_lam"])):
        k, color = results["param_lam"] == lam, f"C{i}"
        style = {"color": color, "markersize": 4, "label": f"lam {lam:.3g}"}
        above.plot(places[k], errors[k], "o-", **style)
        above.fill_between(places[k], lows[k], highs[k], color=color, lw=0, alpha=0.15)
        below.plot(places[k], results["mean_rank"][k], "o-", **style)
    best = int(np.nanargmax(scores))
    ring = {"markersize": 11, "markerfacecolor": "none", "color": RED}
    above.plot(places[best], errors[best], "o", **ring, label="chosen")
    above.legend(fontsize=SMALL, frameon=False)
    above.set_ylabel("error of hidden entries")
    below.set_ylabel("rank")
    below.set_ylim(bottom=0)
    below.set_xticks(range(len(gammas)), [f"{g:.2g}" for g in gammas])
    below.set_xlabel("gamma (0: Robust PCA)" if gammas[0] == 0 else "gamma")
    for ax in axes:
        plain(ax)
    return axes


def _recorded(source, attribute: str, needed: str, wanted: str) -> dict:
    """The attribute of a model, or the dict that was given instead of a model."""
    found = getattr(source, attribute, source)
    if not isinstance(found, dict) or needed not in found:
        raise ValueError(f"source must be {wanted}, got {type(source).__name__}")
    return found

"""Curves: singular values, convergence, the search for gamma."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rpcag.plots.canvas import BLUE, RED, SMALL, many_axes, one_axes, plain


def singular_values(
    source, *, label: str | None = None, log: bool = False, ax: Axes | None = None
) -> Axes:
    """Plot singular values in descending order.

    Call it again on the same axes, each time with a `label`, to compare models.

    Parameters
    ----------
    source : fitted model, or array of shape (n_components,)
        A model's `singular_values_`.
    label : str, optional
        Name in the legend.
    log : bool, default=False
        Whether the vertical axis is logarithmic.
    ax : matplotlib axes, optional
    """
    if hasattr(source, "fit") and not hasattr(source, "singular_values_"):
        raise ValueError(
            f"{type(source).__name__} has no singular_values_: fit it, or pass "
            "np.linalg.svd(model.low_rank_, compute_uv=False)"
        )
    values = np.asarray(getattr(source, "singular_values_", source), dtype=float)
    if values.ndim != 1:
        raise ValueError(f"singular values must be a list, got shape {values.shape}")
    ax = one_axes(ax, (5.0, 3.2))
    ax.plot(range(1, len(values) + 1), values, "o-", markersize=4, label=label)
    if log:
        ax.set_yscale("log")
    else:
        tops = [np.max(line.get_ydata(), initial=0.0) for line in ax.lines]
        ax.set_ylim(0, 1.05 * max(tops) or 1.0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel="component", ylabel="singular value")
    plain(ax)
    if label is not None:
        ax.legend(fontsize=SMALL, frameon=False)
    return ax


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
    history = getattr(source, "history_", source)
    if not isinstance(history, dict) or "objective" not in history:
        raise ValueError(
            "source must be a fitted model with history_, or such a dict, got "
            f"{type(source).__name__}"
        )
    objective = np.asarray(history["objective"], dtype=float)
    steps = np.asarray(history.get("n_iter", np.arange(1, len(objective) + 1)))
    certified, given = "gap" in history, axes is not None
    axes = many_axes(
        axes,
        (1 + certified, 1),
        (5.5, 4.6 if certified else 3.2),
        layout="constrained",
        sharex=True,
    )[:, 0]
    above, below = axes[0], axes[-1]
    above.plot(steps, objective, "o-", color=BLUE, markersize=3, label="objective")
    if certified:
        bound = np.asarray(history["lower_bound"], dtype=float)
        above.plot(steps, bound, "o-", color=RED, markersize=3, label="lower bound")
        above.fill_between(steps, bound, objective, color=BLUE, alpha=0.12, linewidth=0)
        _around_the_end(above, objective, bound)
        above.legend(fontsize=SMALL, frameon=False)
        # Zeros, which a logarithm cannot show, are below every axis.
        gap = np.asarray(history["gap"], dtype=float)
        below.plot(steps, gap, "o-", color=BLUE, markersize=3)
        below.set_yscale("log", nonpositive="clip")
        tol = getattr(source, "tol", None)
        if tol:
            below.axhline(tol, color="#777777", linewidth=0.9, linestyle="--")
            below.annotate(
                "tol", (1, tol), xycoords=("axes fraction", "data"), fontsize=SMALL
            )
        below.set_ylabel("certified gap")
    above.set_ylabel("objective")
    for ax in axes:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        if given or ax is below:  # else they share the axis of the lowest
            ax.set_xlabel("iteration")
        plain(ax)
    return axes


def _around_the_end(ax: Axes, objective: np.ndarray, bound: np.ndarray) -> None:
    """Axis limits that show the last values, without the far start."""
    end = objective[-1]
    high = np.max(objective, initial=end, where=objective <= 2 * end)
    low = np.min(bound, initial=end, where=bound >= end / 2)
    room = 0.08 * (high - low) or 0.05 * abs(end) or 1.0
    ax.set_ylim(low - room, high + room)


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
    results = getattr(source, "cv_results_", source)
    if not isinstance(results, dict) or "mean_test_score" not in results:
        raise ValueError(
            "source must be a fitted RPCAGCV, or its cv_results_, got "
            f"{type(source).__name__}"
        )
    axes = many_axes(axes, (2, 1), (5.5, 4.8), layout="constrained", sharex=True)[:, 0]
    gammas = np.unique(results["param_gamma"])
    # Pairs that were dropped have the score of the first split.
    scores = np.array(results["mean_test_score"])
    dropped = np.isnan(scores)
    scores[dropped] = np.asarray(results["split0_test_score"])[dropped]
    errors = -scores
    for lam in np.unique(results["param_lam"]):
        _path(axes, results, errors, lam, gammas)
    best = int(np.nanargmax(results["mean_test_score"]))
    place = np.searchsorted(gammas, results["param_gamma"][best])
    axes[0].plot(
        place,
        errors[best],
        "o",
        markersize=11,
        markerfacecolor="none",
        color=RED,
        label="chosen",
    )
    axes[0].legend(fontsize=SMALL, frameon=False)
    for ax, name in zip(axes, ("error of hidden entries", "rank"), strict=True):
        ax.set_ylabel(name)
        plain(ax)
    axes[1].set_ylim(bottom=0)
    axes[1].set_xticks(range(len(gammas)), [f"{g:.2g}" for g in gammas])
    axes[1].set_xlabel("gamma (0: Robust PCA)" if gammas[0] == 0 else "gamma")
    return axes


def _path(axes: np.ndarray, results: dict, errors: np.ndarray, lam, gammas) -> None:
    """One lam; candidates at even distances, since 0 has no place on a logarithm."""
    chosen = results["param_lam"] == lam
    places = np.searchsorted(gammas, results["param_gamma"][chosen])
    error = errors[chosen]
    spread = np.nan_to_num(results["std_test_score"][chosen])
    (line,) = axes[0].plot(places, error, "o-", markersize=4, label=f"lam {lam:.3g}")
    color = line.get_color()
    axes[0].fill_between(
        places, error - spread, error + spread, color=color, alpha=0.15, linewidth=0
    )
    ranks = results["mean_rank"][chosen]
    axes[1].plot(places, ranks, "o-", markersize=4, color=color)

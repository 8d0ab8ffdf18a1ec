"""Choose the two gammas of FRPCAG from the data, by predicting hidden entries."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rpcag.models.hidden_entries import hide, spread_of

# Candidates, in units of one over the typical size of an entry. Zero is not among them:
# without one of the graphs, gross errors take many iterations.
LADDER = (1 / 256, 1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0)
FIRST = LADDER.index(1 / 4)
# Certified gap and iterations of a trial. More would change its error by little.
GAP, MAX_ITER = 2e-2, 150

Place = tuple[int, int]  # on the ladder, of both gammas


@dataclass(frozen=True)
class GammaChoice:
    """The gammas that predict hidden entries best; all else as in `weights.Choice`."""

    gamma: float
    gamma_features: float
    explained: float
    explained_error: float
    trials: dict[str, np.ndarray]  # ``gamma``, ``gamma_features`` and ``error``
    n_hidden: int
    n_rows: int


def choose_gammas(
    X: np.ndarray,
    size: float,
    given: tuple[float | None, float | None],
    prepare: Callable[[np.ndarray], Callable[[tuple[float, float]], np.ndarray]],
) -> GammaChoice:
    """Choose those of the two gammas that are not given.

    `prepare` builds the graphs of X without its hidden entries, and returns a function
    from gammas to L. From the middle of the ladder, one gamma at a time goes a step up
    or down as long as the error falls. `size` is that of a typical entry.
    """
    hidden = hide(X)
    _, columns = np.nonzero(hidden)
    truth = X[hidden].astype(np.float64)
    Y = np.where(hidden, X.dtype.type(np.nan), X)
    spread, solve = spread_of(Y), prepare(Y)
    limit = spread.limit[columns] / size
    trials: dict[Place, tuple[float, np.ndarray]] = {}  # errors and predictions

    def gammas(place: Place) -> tuple[float, float]:
        # For subnormal entries, those of the ladder would be infinite.
        steps = (min(LADDER[k] / size, sys.float_info.max) for k in place)
        a, b = (s if g is None else g for s, g in zip(steps, given, strict=True))
        return a, b

    def error(place: Place) -> float:
        if place not in trials:
            predicted = solve(gammas(place))[hidden].astype(np.float64)
            distances = np.minimum(np.abs(truth - predicted) / size, limit)
            mean = float(np.mean(distances**2)) if len(truth) else 0.0
            trials[place] = mean, predicted
        return trials[place][0]

    steps = [(s, 0) for s in (-1, 1) if given[0] is None]
    steps += [(0, s) for s in (-1, 1) if given[1] is None]
    rungs = range(len(LADDER))
    best = (FIRST, FIRST)
    error(best)
    while len(truth):
        moved = ((best[0] + a, best[1] + b) for a, b in steps)
        around = [place for place in moved if place[0] in rungs and place[1] in rungs]
        found = min(around, key=lambda place: (error(place), place), default=best)
        if error(found) >= error(best):
            break
        best = found
    tried = np.array([gammas(place) for place in trials])
    errors = size * np.sqrt([error(place) for place in trials])
    return GammaChoice(
        *gammas(best),
        *spread.explained(truth, trials[best][1], columns),
        trials={"gamma": tried[:, 0], "gamma_features": tried[:, 1], "error": errors},
        n_hidden=len(truth),
        n_rows=len(X),
    )

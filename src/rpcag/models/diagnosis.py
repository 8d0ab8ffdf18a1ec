"""Find out why a model predicts hidden entries no better than constants do."""

import math

import numpy as np

from rpcag.graphs.inputs import percent
from rpcag.models.data_loss import DataLoss
from rpcag.models.messages import warn
from rpcag.models.scaling import DIFFERENT, in_words, ratio_of_scales
from rpcag.models.two_graph_weights import GammaChoice
from rpcag.models.weights import Choice

# Standard errors above zero up to which the share that is predicted may be chance.
ERRORS = 2.0
# Share up to which it may come from choosing the weights with the same entries.
CHOSEN = 0.015
# Minimum number of hidden entries for a reliable standard error. With fewer, the
# shares vary so much that good fits would cause warnings.
FEWEST = 300
# Share of entries at the median of their feature from which the data are mostly
# zeros. The median then predicts them, and the other entries are too few.
MOSTLY = 0.6
# A fit warns if the offset of the features is more than OFFSET of the objective, and
# the certified gap more than UNSOLVED of what the deviations would cost in S. From
# about there on, the certificate allows for an L of too low a rank.
OFFSET, UNSOLVED = 0.5, 0.1
# Mean distance from the median over the standard deviation, of a normal variable.
MEAN_DISTANCE = 0.8


class PoorFitWarning(UserWarning):
    """The model may be no better than constants, by feature."""


def is_poor(choice: Choice | GammaChoice) -> bool:
    """Whether the share that is predicted is not clearly above zero."""
    # The only candidate is exact, or a callback stopped the choice.
    is_alone = len(choice.trials["error"]) == 1
    nothing_varies = choice.explained_error == 0
    if choice.n_hidden < FEWEST or is_alone or nothing_varies:
        return False
    return choice.explained < max(ERRORS * choice.explained_error, CHOSEN)


def why_poor(X: np.ndarray) -> str:
    """The likely cause, judged from X as the model scales it, and what to try."""
    seen = X[:, ~np.isnan(X).all(axis=0)]
    is_common = seen == np.nanmedian(seen, axis=0)
    common = float(is_common.sum() / (~np.isnan(seen)).sum())
    if common > MOSTLY:
        return (
            f"{percent(common)} of the entries equal the median of their feature, as "
            "in data that are mostly zeros; drop features that are nearly constant, "
            "or transform the data first, such as counts by a logarithm"
        )
    ratio = ratio_of_scales(X)
    if ratio > DIFFERENT:
        return (
            f"the scales of the features differ by a factor of {in_words(ratio)}, and "
            "the features with the smallest scales hardly count; try scale='robust'"
        )
    return (
        "no low-rank structure was found; check that rows are samples, and that the "
        "features are related to each other"
    )


def warn_if_poor(model, X: np.ndarray, choice: Choice | GammaChoice) -> None:
    """Warn of a poor fit, unless weights were given that may be the cause."""
    names = ("lam", "gamma", "gamma_features")
    weights = (getattr(model, name, 0) for name in names)
    if all(weight in ("auto", 0) for weight in weights) and is_poor(choice):
        warn(
            f"{type(model).__name__} predicts {choice.explained:.0%} (standard error "
            f"{choice.explained_error:.0%}) of the spread of hidden entries, which is "
            "not clearly better than the median of each feature or its mean. Likely "
            f"cause: {why_poor(X)}.",
            PoorFitWarning,
        )


def warn_if_offset(model, n_rows: int, loss: DataLoss) -> None:
    """Warn if the gap is small only relative to features far from zero."""
    objective, choice = model.objective_, model.weights_
    if model._part_of is not None or model.status_ != "converged" or objective == 0:
        return
    if choice is not None and is_poor(choice):  # medians are all that can be found
        return
    spread = model._spread_of_features
    center = spread.center / objective  # first, because squares may overflow
    offset = min(math.sqrt(n_rows) * float(np.linalg.norm(center)), 1.0)
    weight = loss.multiplier(len(center))
    if loss.weight is not None:
        weight *= float(loss.weight.mean())
    with np.errstate(over="ignore"):
        cost = MEAN_DISTANCE * weight * n_rows * float(spread.unit.sum())
    gap = objective - model.lower_bound_
    if offset > OFFSET and gap > UNSOLVED * cost > 0:
        warn(
            f"The offset of the features makes up {percent(offset)} of the "
            f"objective of {type(model).__name__}, so a certified gap of "
            f"{model.gap_:.1e} says little about the deviations from it: L may be "
            "hardly better than the median of each feature. Use scale='robust' or "
            "'standard', or subtract these medians from X.",
            PoorFitWarning,
        )

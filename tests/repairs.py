"""Repaired tables that need no model: the truth with a little noise."""

from dataclasses import dataclass

import numpy as np

from rpcag.datasets import make_sensors


@dataclass(frozen=True, eq=False)
class Repaired:
    """As `rpcag.page.repair` reads it."""

    values: np.ndarray
    filled: np.ndarray
    replaced: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    scores: np.ndarray
    explained: np.ndarray
    error: np.ndarray
    median_error: np.ndarray
    dead: np.ndarray
    coverage: float = 0.9


@dataclass(frozen=True, eq=False)
class Sheet:
    X: np.ndarray
    features: list[str]
    samples: list[str]
    name: str = "sensors.csv"


def repaired_sensors(n=300, p=8, seed=0, **options) -> tuple[Sheet, Repaired]:
    """Sensors with a constant and an empty column, and a column of mere noise."""
    truth = make_sensors(n, p, seed=seed, **options)
    rng = np.random.default_rng(seed)
    noise = 0.1 * truth.signal.std(axis=0)
    dead = np.zeros(p + 2, dtype=bool)
    dead[-2:] = True
    ones, none = np.ones((n, 1)), np.full((n, 1), np.nan)
    no = np.zeros((n, 2), dtype=bool)
    X = np.hstack([truth.X, ones, none])
    prediction = truth.signal + 0.5 * noise * rng.standard_normal((n, p))
    prediction = np.hstack([prediction, ones, none])
    filled, replaced = (np.hstack([A, no]) for A in (truth.is_gap, truth.is_spike))
    changed = filled | replaced
    error = np.append(1.1 * noise, [np.nan] * 2)
    explained = np.append(np.linspace(0.6, 0.99, p), [np.nan] * 2)
    explained[1] = -0.02
    median_error = error / np.sqrt(np.maximum(1 - explained, 0.01))
    half = 1.645 * error
    repaired = Repaired(
        values=np.where(changed, prediction, X),
        filled=filled,
        replaced=replaced,
        lower=np.where(changed, prediction - half, np.nan),
        upper=np.where(changed, prediction + half, np.nan),
        scores=np.abs(X - prediction) / error,
        explained=explained,
        error=error,
        median_error=median_error,
        dead=dead,
    )
    names = [*truth.names, "valve_1", "spare_1"]
    return Sheet(X, names, [str(time) for time in truth.times]), repaired

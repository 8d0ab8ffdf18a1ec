"""Synthetic sensor tables whose gaps and wrong values are known."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

__all__ = ["Sensors", "make_sensors"]

DAY, WEEK = 24, 168  # rows: there is one per hour
# Name, center and deviation.
QUANTITIES = (
    ("temperature", 20.0, 4.0),
    ("humidity", 50.0, 8.0),
    ("pressure", 1013.0, 6.0),
    ("co2", 600.0, 90.0),
    ("flow", 2.5, 0.4),
    ("power", 1500.0, 300.0),
    ("vibration", 1.5, 0.3),
)


@dataclass(frozen=True, eq=False)
class Sensors:
    """A table of sensors and the truth behind it; rows are times.

    Attributes
    ----------
    times : datetime64 ndarray of shape (n,)
    names : list of str
    X : ndarray of shape (n, p)
        The table, with NaN at gaps and wrong values at spikes.
    signal : ndarray of shape (n, p)
        Without noise.
    clean : ndarray of shape (n, p)
        With noise, but without gaps and wrong values.
    is_gap, is_spike : bool ndarray of shape (n, p)
        Missing cells, and observed cells with a wrong value.
    """

    times: np.ndarray
    names: list[str]
    X: np.ndarray
    signal: np.ndarray
    clean: np.ndarray
    is_gap: np.ndarray
    is_spike: np.ndarray


def make_sensors(
    n: int = 2000,
    p: int = 40,
    *,
    rank: int = 5,
    noise: float = 0.1,
    gaps: float = 0.07,
    spikes: float = 0.016,
    size: tuple[float, float] = (1.5, 5.0),
    seed: int = 0,
) -> Sensors:
    """Return a table of `p` correlated sensors with gaps and wrong values.

    The signal of every sensor is a mix of `rank` curves that are smooth in time: a
    daily cycle, a weekly cycle, and slow random walks.

    Parameters
    ----------
    n, p : int
        Number of rows, one per hour, and of sensors.
    rank : int, default=5
        Number of curves.
    noise : float, default=0.1
        Standard deviation of the noise, in standard deviations of the sensor's signal.
    gaps, spikes : float
        Shares of the cells that are missing and wrong.
    size : (float, float)
        Least and largest size of a spike, in standard deviations of the signal.
    seed : int
        Random seed.

    Examples
    --------
    >>> from rpcag.datasets import make_sensors
    >>> table = make_sensors(200, 10)
    >>> table.X.shape, table.names[0], str(table.times[0])
    ((200, 10), 'temperature_1', '2026-01-05T00:00')
    """
    rng, shape = np.random.default_rng(seed), (n, p)
    cycles = [_cycle(n, period, rng) for period in (DAY, WEEK)[:rank]]
    walks = rng.standard_normal((n, max(rank - 2, 0)))
    walks = gaussian_filter1d(np.cumsum(walks, axis=0), 6.0, axis=0)
    curves = _standardized(np.column_stack([*cycles, walks]))
    signal = _standardized(curves @ rng.standard_normal((rank, p)))
    clean = signal + noise * rng.standard_normal(shape)
    is_gap = rng.random(shape) < gaps
    is_spike = (rng.random(shape) < spikes / max(1 - gaps, 1e-9)) & ~is_gap
    wrong = rng.choice([-1.0, 1.0], shape) * rng.uniform(*size, shape)
    X = clean + np.where(is_spike, wrong, 0.0)
    X[is_gap] = np.nan

    words, centers, units = zip(*QUANTITIES, strict=True)
    count = len(QUANTITIES)
    names = [f"{words[j % count]}_{j // count + 1}" for j in range(p)]
    center, unit = np.resize(centers, p), np.resize(units, p)
    X, signal, clean = (center + unit * Z for Z in (X, signal, clean))
    times = np.datetime64("2026-01-05T00:00") + 60 * np.arange(n)
    return Sensors(times, names, X, signal, clean, is_gap, is_spike)


def _cycle(n: int, period: float, rng: np.random.Generator) -> np.ndarray:
    return np.sin(2 * np.pi * (np.arange(n) / period + rng.random()))


def _standardized(Z: np.ndarray) -> np.ndarray:
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)

"""Synthetic sensor tables whose gaps and wrong values are known."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

__all__ = ["Sensors", "make_sensors"]

# Rank and noise that a kind has by default.
KINDS = {
    "plain": (5, 0.1),
    "seasons": (8, 0.2),
    "drift": (3, 0.05),
    "stuck": (5, 0.1),
    "blocks": (10, 0.3),
}
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
    rank: int | None = None,
    noise: float | None = None,
    gaps: float = 0.07,
    spikes: float = 0.016,
    size: tuple[float, float] = (1.5, 5.0),
    kind: str = "plain",
    seed: int = 0,
) -> Sensors:
    """Return a table of `p` correlated sensors with gaps and wrong values.

    The signal of every sensor is a mix of `rank` curves that are smooth in time: a
    daily cycle, a weekly cycle, and slow random walks.

    Parameters
    ----------
    n, p : int
        Number of rows, one per hour, and of sensors.
    rank : int, optional
        Number of curves. Default: 5 if `kind` is "plain".
    noise : float, optional
        Standard deviation of the noise, in standard deviations of the sensor's signal.
        Default: 0.1 if `kind` is "plain".
    gaps, spikes : float
        Shares of the cells that are missing and wrong.
    size : (float, float)
        Least and largest size of a spike, in standard deviations of the signal.
    kind : {"plain", "seasons", "drift", "stuck", "blocks"}
        "seasons": cycles only, with amplitudes that change. "drift": every third sensor
        drifts on its own; the drift is part of the signal. "stuck": in addition to the
        spikes, as many cells are in stretches that repeat the last value; `is_spike`
        includes them. "blocks": gaps are blocks of hours and neighboring sensors.
    seed : int
        Random seed.

    Examples
    --------
    >>> from rpcag.datasets import make_sensors
    >>> table = make_sensors(200, 10)
    >>> table.X.shape, table.names[0], str(table.times[0])
    ((200, 10), 'temperature_1', '2026-01-05T00:00')
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    rng, shape = np.random.default_rng(seed), (n, p)
    rank = KINDS[kind][0] if rank is None else rank
    noise = KINDS[kind][1] if noise is None else noise

    curves = _cycles(n, rank, rng) if kind == "seasons" else _curves(n, rank, rng)
    signal = _standardized(curves @ rng.standard_normal((rank, p)))
    if kind == "drift":
        signal[:, ::3] += _standardized(_walks(n, signal[:, ::3].shape[1], n / 20, rng))
    clean = signal + noise * rng.standard_normal(shape)

    if kind == "blocks":
        is_gap = _stretches(shape, gaps, (12, 120), (1, 6), rng)
    else:
        is_gap = rng.random(shape) < gaps
    is_spike = (rng.random(shape) < spikes / max(1 - gaps, 1e-9)) & ~is_gap
    wrong = rng.choice([-1.0, 1.0], shape) * rng.uniform(*size, shape)
    X = clean + np.where(is_spike, wrong, 0.0)
    if kind == "stuck":
        is_stuck = _stretches(shape, spikes, (10, 60), (1, 2), rng) & ~is_spike
        row = np.arange(n)[:, None]
        last = np.maximum.accumulate(np.where(is_stuck, 0, row), axis=0)
        is_stuck &= last != row  # the first row repeats nothing
        X = np.where(is_stuck, np.take_along_axis(clean, last, axis=0), X)
        is_spike |= is_stuck & ~is_gap
    X[is_gap] = np.nan

    words, centers, units = zip(*QUANTITIES, strict=True)
    count = len(QUANTITIES)
    names = [f"{words[j % count]}_{j // count + 1}" for j in range(p)]
    center, unit = np.resize(centers, p), np.resize(units, p)
    X, signal, clean = (center + unit * Z for Z in (X, signal, clean))
    times = np.datetime64("2026-01-05T00:00") + 60 * np.arange(n)
    return Sensors(times, names, X, signal, clean, is_gap, is_spike)


def _curves(n: int, rank: int, rng: np.random.Generator) -> np.ndarray:
    cycles = [_cycle(n, period, rng) for period in (DAY, WEEK)[:rank]]
    walks = _walks(n, max(rank - 2, 0), 6.0, rng)
    return _standardized(np.column_stack([*cycles, walks]))


def _cycles(n: int, rank: int, rng: np.random.Generator) -> np.ndarray:
    """Cycles of several lengths, whose amplitudes follow slower cycles."""
    lengths = (DAY, WEEK, DAY / 2, WEEK / 2)
    curves = [
        _cycle(n, lengths[k % 4], rng) * (1 + 0.8 * _cycle(n, n / (1 + k // 4), rng))
        for k in range(rank)
    ]
    return _standardized(np.column_stack(curves))


def _cycle(n: int, period: float, rng: np.random.Generator) -> np.ndarray:
    return np.sin(2 * np.pi * (np.arange(n) / period + rng.random()))


def _walks(n: int, count: int, width: float, rng: np.random.Generator) -> np.ndarray:
    steps = rng.standard_normal((n, count))
    return gaussian_filter1d(np.cumsum(steps, axis=0), width, axis=0)


def _standardized(Z: np.ndarray) -> np.ndarray:
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


def _stretches(shape, share: float, heights, widths, rng) -> np.ndarray:
    """Return a mask of random blocks, with sides in these ranges, for some cells."""
    mask = np.zeros(shape, dtype=bool)
    covered = 0
    while covered < share * mask.size:
        i, j = rng.integers(shape[0]), rng.integers(shape[1])
        block = mask[i : i + rng.integers(*heights), j : j + rng.integers(*widths)]
        covered += int((~block).sum())
        block[...] = True
    return mask

"""Sensor tables of several kinds, whose gaps and wrong values are known.

"plain" is `rpcag.datasets.make_sensors`. "seasons": cycles only, with amplitudes that
change. "drift": every third sensor drifts on its own; the drift is part of the signal.
"stuck": in addition to the spikes, as many cells are in stretches that repeat the last
value; `is_spike` includes them. "blocks": gaps are blocks of hours and neighboring
sensors.
"""

import numpy as np
from scipy.ndimage import gaussian_filter1d

from rpcag.datasets import Sensors, make_sensors

N, P = 2000, 40
GAPS = 0.07
DAY, WEEK = 24, 168  # rows: there is one per hour


def sensors(
    kind: str,
    rank: int = 5,
    noise: float = 0.1,
    spikes: float = 0.016,
    size: tuple[float, float] = (1.5, 5.0),
) -> Sensors:
    """A table of this kind, in standard deviations of the signal."""
    if kind == "plain":
        return make_sensors(rank=rank, noise=noise, spikes=spikes, size=size)
    rng, shape = np.random.default_rng(0), (N, P)
    curves = _cycles(rank, rng) if kind == "seasons" else _curves(rank, rng)
    signal = _standardized(curves @ rng.standard_normal((rank, P)))
    if kind == "drift":
        signal[:, ::3] += _standardized(_walks(signal[:, ::3].shape[1], N / 20, rng))
    clean = signal + noise * rng.standard_normal(shape)

    if kind == "blocks":
        is_gap = _stretches(shape, GAPS, (12, 120), (1, 6), rng)
    else:
        is_gap = rng.random(shape) < GAPS
    is_spike = (rng.random(shape) < spikes / (1 - GAPS)) & ~is_gap
    wrong = rng.choice([-1.0, 1.0], shape) * rng.uniform(*size, shape)
    X = clean + np.where(is_spike, wrong, 0.0)
    if kind == "stuck":
        is_stuck = _stretches(shape, spikes, (10, 60), (1, 2), rng) & ~is_spike
        row = np.arange(N)[:, None]
        last = np.maximum.accumulate(np.where(is_stuck, 0, row), axis=0)
        is_stuck &= last != row  # the first row repeats nothing
        X = np.where(is_stuck, np.take_along_axis(clean, last, axis=0), X)
        is_spike |= is_stuck & ~is_gap
    X[is_gap] = np.nan
    names = [str(j) for j in range(P)]
    return Sensors(np.arange(N), names, X, signal, clean, is_gap, is_spike)


def _curves(rank: int, rng: np.random.Generator) -> np.ndarray:
    cycles = [_cycle(period, rng) for period in (DAY, WEEK)[:rank]]
    return _standardized(np.column_stack([*cycles, _walks(max(rank - 2, 0), 6.0, rng)]))


def _cycles(rank: int, rng: np.random.Generator) -> np.ndarray:
    """Cycles of several lengths, whose amplitudes follow slower cycles."""
    lengths = (DAY, WEEK, DAY / 2, WEEK / 2)
    curves = [
        _cycle(lengths[k % 4], rng) * (1 + 0.8 * _cycle(N / (1 + k // 4), rng))
        for k in range(rank)
    ]
    return _standardized(np.column_stack(curves))


def _cycle(period: float, rng: np.random.Generator) -> np.ndarray:
    return np.sin(2 * np.pi * (np.arange(N) / period + rng.random()))


def _walks(count: int, width: float, rng: np.random.Generator) -> np.ndarray:
    steps = rng.standard_normal((N, count))
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

"""
A table of sensors, with dropouts
=================================

Restore the temperatures of sixty weather stations over two weeks, with a graph that
joins nearby stations. **The table is synthetic**, with the faults of real ones:
stations that are silent for hours, spikes, and a thermometer that is stuck at one
value.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import KNNImputer

from rpcag import RPCA, RPCAG, plots
from rpcag.graphs import KNNGraph

rng = np.random.default_rng(7)
stations, hours = 60, 24 * 14
places = rng.uniform(0, 100, (stations, 2))  # km
height = 0.5 + 0.4 * np.sin(places[:, 0] / 25) * np.cos(places[:, 1] / 30)  # km
time = np.arange(hours)
day = np.sin(2 * np.pi * (time - 9) / 24)
centers = rng.uniform(0, 100, (25, 2))  # of local weather, each with its own course
memory = np.exp(-np.arange(24) / 6)
noise = rng.standard_normal((25, hours + 48))
weather = np.array([np.convolve(line, memory)[24 : 24 + hours] for line in noise])
reach = np.exp(-((places[:, None] - centers) ** 2).sum(axis=2) / (2 * 18**2))
truth = 15 - 6.5 * height[:, None] + np.outer(5 - 2 * height, day)
truth += 1.2 * reach @ weather

# %%
# Add the faults. Silent hours are NaN. Spikes and the stuck thermometer are not marked.
# All instruments are a little noisy.

table = truth + 0.4 * rng.standard_normal(truth.shape)
for station in range(stations):
    for start in rng.integers(hours, size=3):
        table[station, start : start + rng.integers(6, 60)] = np.nan
silent = np.isnan(table)
faulty = ~silent & (rng.random(table.shape) < 0.02)
table[faulty] += rng.choice([-15, 15], faulty.sum())
table[12, 264:] = 8.0
silent[12, 264:], faulty[12, 264:] = False, True
print(f"silent {silent.mean():.1%}, wrong {faulty.mean():.1%}")

# %%
# The level of each station is subtracted first. The default weights are chosen to
# predict single hidden entries, for which the other hours of a station are enough. To
# restore whole days from the neighbors, set the weights yourself.

level = np.nanmedian(table, axis=1, keepdims=True)
graph = KNNGraph(5)(places)
rule = RPCAG(lam="theory", gamma="clustering", graph=graph).fit(table - level)
plain = RPCA(lam=1.5 * rule.lam_).fit(table - level)
model = RPCAG(lam=1.5 * rule.lam_, gamma=rule.gamma_ / 4, graph=graph)
cleaned = model.fit(table - level).low_rank_ + level
print(f"rank {model.rank_}, certified gap {model.gap_:.1e}")
plots.graph(graph, places)

# %%
# The upper plot has a station with silent hours and spikes. The lower plot has the
# stuck thermometer.

figure, axes = plt.subplots(2, 1, figsize=(8, 4.6), layout="constrained", sharex=True)
for ax, station in zip(axes, (3, 12), strict=True):
    ax.plot(time / 24, truth[station], color="0.75", lw=3, label="truth")
    ax.plot(time / 24, table[station], ".", ms=3, color="#c8553d", label="measured")
    ax.plot(time / 24, cleaned[station], lw=1, color="#1f5fa8", label="low-rank")
    ax.set(ylabel=f"station {station}, °C", ylim=(-4, 32))
axes[0].legend(ncols=3, fontsize=8, frameon=False)
axes[1].set_xlabel("day")

# %%
# The table compares the mean absolute errors in degrees with those of the station's
# median and of scikit-learn's ``KNNImputer``.

answers = {
    "median": np.broadcast_to(level, table.shape),
    "KNNImputer": KNNImputer().fit_transform(table),
    "RPCAG, auto": RPCAG(graph=graph).fit(table - level).low_rank_ + level,
    "RPCA": plain.low_rank_ + level,
    "RPCAG": cleaned,
}
print(f"{'':12} silent  wrong  stuck")
for name, answer in answers.items():
    error = np.abs(answer - truth)
    wrong, stuck = error[faulty].mean(), error[12, 264:].mean()
    print(f"{name:12} {error[silent].mean():6.2f} {wrong:6.2f} {stuck:6.2f}")

# %%
# The graph helps most at the stuck thermometer, which has no good data of its own, and
# costs a little elsewhere. Entries of the sparse part beyond three degrees can serve as
# an alarm:

found = np.abs(model.sparse_) > 3
print(f"recall {found[faulty].mean():.0%}, precision {faulty[found].mean():.0%}")

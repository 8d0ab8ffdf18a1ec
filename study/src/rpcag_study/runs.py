"""What is run: a small frozen record, and what comes out of it."""

import hashlib
import itertools
import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rpcag_study.datasets import Data
from rpcag_study.grids import Method
from rpcag_study.kmeans import errors
from rpcag_study.model_input import CorruptedData, Graph, Mask, ModelInput

PROTOCOLS = ("oracle", "fair", "fresh")
# Runs of k-means per embedding, and starts of which each takes the best.
KMEANS = {"oracle": (10, 1), "fair": (10, 10), "fresh": (10, 10)}


@dataclass(frozen=True)
class Run:
    """One model on one column, on all combinations of its parameters."""

    protocol: str
    dataset: str
    corruption: str
    seed: int
    model: str
    graph: Graph | None
    mask: Mask
    parameters: tuple[tuple[str, tuple], ...] = ()

    def record(self) -> dict[str, Any]:
        """As in the store."""
        return asdict(self) | {"parameters": [[n, list(v)] for n, v in self.parameters]}

    @property
    def grid(self) -> dict[str, list]:
        return {name: list(values) for name, values in self.parameters}


@dataclass(frozen=True)
class Task:
    """A run and what is needed for it in another process."""

    run: Run
    method: Method
    load: Callable[[int], Data]  # from a seed to the data

    def __call__(self) -> dict:
        """The record of the run: its trials in the order of the grid.

        A trial is [columns of the embedding, least and mean error by matching, least
        and mean error by majority], over the runs of k-means; None where the model
        has no answer for these values. "gap" is the worst certified one of its solves.
        """
        run = self.run
        start = time.perf_counter()
        with quietly():
            sample = _sample(self.load, run.corruption, run.seed)
            inputs = ModelInput(sample, run.graph or "uniform", run.mask)
            repeats, starts = KMEANS[run.protocol]
            found, gaps = {}, []
            for values, Q, gap in self.method.trials(inputs, run.grid, run.protocol):
                gaps += [gap] if gap is not None else []
                Q = _checked(Q, run.model, len(inputs.y))
                seed = seed_of(run.record() | {"parameters": None}, values)
                pair = errors(Q, inputs.y, inputs.n_classes, repeats, starts, seed)
                least, mean = pair.min(axis=0), pair.mean(axis=0)
                numbers = least[0], mean[0], least[1], mean[1]
                at = tuple(values[name] for name in run.grid)
                found[at] = [Q.shape[1], *(round(float(n), 4) for n in numbers)]
        trials = [found.get(at) for at in itertools.product(*run.grid.values())]
        seconds = round(time.perf_counter() - start, 2)
        record = {"run": run.record(), "trials": trials, "seconds": seconds}
        return record | {"gap": float(f"{max(gaps):.3g}")} if gaps else record


@lru_cache(3)
def _sample(load: Callable[[int], Data], corruption: str, seed: int) -> CorruptedData:
    """Shared by all runs of a process on the same column; the last few are kept."""
    return CorruptedData(load(seed), corruption, seed)


def _checked(Q: Any, model: str, n: int) -> np.ndarray:
    Q = np.asarray(Q)
    if Q.ndim != 2 or len(Q) != n or Q.dtype.kind not in "fiu":
        got = f"{Q.dtype} of shape {Q.shape}"
    elif not np.isfinite(Q).all():
        got = "NaN or infinity"
    else:
        return Q
    raise ValueError(
        f"{model} must give an embedding of finite numbers with {n} rows, one per "
        f"sample, got {got}"
    )


@contextmanager
def quietly() -> Iterator[None]:
    """One BLAS thread, and no word of models that stop early, as they are meant to."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def known_names(kind: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    """The names as they are known, whatever the case of their letters; each once."""
    spelled = {name.lower(): name for name in known}
    names = list(names)
    for name in names:
        if name.lower() not in spelled:
            raise ValueError(
                f"unknown {kind} {name!r}; there are {', '.join(spelled.values())}"
            )
    return list(dict.fromkeys(spelled[name.lower()] for name in names))


def seed_of(*parts: Any) -> int:
    """The same for the same parts, in whatever order things are done."""
    text = json.dumps(parts, sort_keys=True).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big")

"""From the lines of a store to the cells of a table."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

# What the fair protocol takes of a grid; the rest is printed beside it.
CHOSEN = {"gamma": "clustering", "components": "k"}


# Models whose solves are certified.
CERTIFIED = ("RPCA", "RPCAG", "FRPCAG")


class Errors(NamedTuple):
    """Of one embedding, over the runs of k-means."""

    columns: int  # of the embedding
    least: float  # by one-to-one matching
    mean: float
    least_majority: float
    mean_majority: float


@dataclass(frozen=True)
class Trial:
    """One combination of parameters of a run, and its errors."""

    protocol: str
    dataset: str
    corruption: str
    seed: int
    model: str
    graph: str | None
    mask: str
    values: dict[str, Any]
    errors: Errors
    run: int = 0  # which line of the store

    @property
    def column(self) -> tuple[str, str]:
        return self.dataset, self.corruption


def trials(records: Iterable[dict]) -> list[Trial]:
    found: list[Trial] = []
    for line, record in enumerate(records):
        if "protocol" not in record["run"]:  # of another experiment
            continue
        try:
            found += _trials(record, line)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"the store has a record that is not whole ({error!r}): "
                f"{str(record['run'])[:100]}; delete its line"
            ) from error
    return found


def _trials(record: dict, line: int) -> Iterator[Trial]:
    run = dict(record["run"])
    names = [name for name, _ in run["parameters"]]
    grid = [values for _, values in run.pop("parameters")]
    for values, numbers in zip(itertools.product(*grid), record["trials"], strict=True):
        if numbers is not None:
            assigned = dict(zip(names, values, strict=True))
            yield Trial(**run, values=assigned, errors=Errors(*numbers), run=line)


def gaps(records: Iterable[dict]) -> dict[str, list[float | None]]:
    """The worst certified gap of every record of a convex model; None: not kept."""
    found: dict[str, list[float | None]] = defaultdict(list)
    for record in records:
        run = record["run"]
        if "protocol" in run and run.get("model") in CERTIFIED:
            found[run["model"]].append(record.get("gap"))
    return dict(found)


Cell = dict[tuple[str, str, str], float]  # by data set, corruption and model
BySeed = dict[tuple[str, str, str], dict[int, float]]


def oracle(
    found: Iterable[Trial],
    graph: str,
    mask: str,
    *,
    where: Callable[[Trial], bool] = lambda trial: True,
) -> Cell:
    """The least error over the grid and the runs of k-means: labels choose.

    All components are used, as in the paper; `where` leaves out more of the grid.
    """
    cells: Cell = {}
    for trial in found:
        if trial.protocol != "oracle" or not fits(trial, graph, mask):
            continue
        if trial.values.get("components", "all") == "all" and where(trial):
            key = (*trial.column, trial.model)
            cells[key] = min(least_error(trial), cells.get(key, np.inf))
    return cells


def least_error(trial: Trial) -> float:
    """What the oracle counts; of k-means itself the mean, as in the paper."""
    return trial.errors.mean if trial.model == "k-means" else trial.errors.least


def fair(
    found: Iterable[Trial],
    graph: str,
    mask: str,
    chosen: dict[str, Any] = CHOSEN,
    *,
    protocol: str = "fair",
) -> BySeed:
    """The mean error of k-means by seed, at the values chosen without labels."""
    cells: BySeed = defaultdict(dict)
    for trial in found:
        if trial.protocol != protocol or not fits(trial, graph, mask):
            continue
        if all(
            trial.values.get(name, value) == value
            for name, value in chosen.items()
            if name != "gamma" or trial.model == "RPCAG"  # others have one of their own
        ):
            cells[*trial.column, trial.model][trial.seed] = trial.errors.mean
    return dict(cells)


def over_seeds(cells: BySeed) -> Cell:
    return {key: float(np.mean(list(by.values()))) for key, by in cells.items()}


def mean_over(
    cells: Cell, model: str, columns: Iterable[tuple[str, str]]
) -> float | None:
    """None unless every cell is there."""
    found = [cells.get((*column, model)) for column in columns]
    known = [error for error in found if error is not None]
    # fmean does not depend on the order of columns, which may be a set.
    return fmean(known) if known and len(known) == len(found) else None


def fits(trial: Trial, graph: str, mask: str) -> bool:
    """Whether a trial belongs to a setup: no graph suits all, clean data no mask."""
    if trial.graph not in (None, graph):
        return False
    return trial.mask == ("zeros" if trial.corruption == "none" else mask)


def _columns(cells: Cell) -> dict[tuple[str, str], dict[str, float]]:
    """The errors of every column, by model, to what can be told apart."""
    columns: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for (dataset, corruption, name), error in cells.items():
        columns[dataset, corruption][name] = round(error, 9)
    return columns


def ranks(cells: Cell, model: str = "RPCAG") -> dict[tuple[str, str], int]:
    """One for the lowest error of a column; ties share the better rank."""
    return {
        column: 1 + sum(error < by[model] for error in by.values())
        for column, by in _columns(cells).items()
        if model in by
    }


def below(cells: Cell, others: Cell, model: str = "RPCA") -> set[tuple[str, str]]:
    """The columns in which RPCAG is below another model, which `others` has."""
    return {
        key[:2]
        for key, error in cells.items()
        if key[2] == "RPCAG"
        and round(error, 9) < round(others.get((*key[:2], model), -1.0), 9)
    }


def winners(cells: Cell) -> dict[tuple[str, str], str]:
    """The model of the lowest error of every column; RPCAG where it ties."""
    return {
        column: min(by, key=lambda name: (by[name], name != "RPCAG"))
        for column, by in _columns(cells).items()
    }

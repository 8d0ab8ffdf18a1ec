"""What a store says about the paper's tables."""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from rpcag_study.corruptions import CORRUPTIONS, GROUPS, PATTERN
from rpcag_study.grids import METHODS
from rpcag_study.plan import CONTROL, DATASETS, DEFAULT, IMAGES, SETUPS
from rpcag_study.printed import clustering_errors
from rpcag_study.table_cells import (
    BySeed,
    Cell,
    Trial,
    fair,
    fits,
    gaps,
    mean_over,
    oracle,
    over_seeds,
    ranks,
    trials,
    winners,
)
from rpcag_study.tables import Table, best_cells, percent, signed

Setup = tuple[str, str]  # graph and knowledge of the mask
SETUP_NAMES: dict[Setup, str] = {
    ("complete", "zeros"): "the paper's graph, zeros as data",
    ("knn", "zeros"): "10 nearest neighbors (masked distances), zeros as data",
    ("knn", "known"): "10 nearest neighbors (masked distances), mask known",
    ("uniform", "zeros"): "uniform graph, zeros as data",
    ("uniform", "known"): "uniform graph, mask known",
    ("complete", "known"): "the paper's graph, mask known",
    ("robust", "zeros"): "neighbors in the low-rank part of RPCA, zeros as data",
    ("robust", "known"): "neighbors in the low-rank part of RPCA, mask known",
}
OWN_GRAPH = "mask known, RPCAG with its robust graph"


def short(corruption: str) -> str:
    """A corruption, the paper's or another, as the head of a column."""
    match = PATTERN.fullmatch(corruption)
    if match is None:
        return corruption
    samples, kind, share = match.groups()
    of = {None: "", "25": "a quarter "}.get(samples, f"{samples} % of samples ")
    return f"{of}{'occluded' if kind == 'occlusion' else kind} {share} %"


def corruptions_of(cells: Iterable[tuple], dataset: str | None = None) -> list[str]:
    """Those there are, of one data set or of all: the paper's first, then others."""
    present = {key[1] for key in cells if dataset in (None, key[0])}
    others = sorted(present - set(CORRUPTIONS), key=_by_share)
    return [c for c in CORRUPTIONS if c in present] + others


def _by_share(corruption: str) -> tuple:
    """missing9 before missing33."""
    parts = re.split(r"(\d+)", corruption)
    return tuple(int(part) if part.isdecimal() else part for part in parts)


class Report:
    """All tables of the clustering study, from its records."""

    def __init__(self, records: Iterable[dict]) -> None:
        records = list(records)
        self.trials: list[Trial] = trials(records)
        self.gaps = gaps(records)
        self.printed = {key: error / 100 for key, error in clustering_errors().items()}
        self.own_models = sorted({t.model for t in self.trials} - set(METHODS))
        present = {trial.dataset for trial in self.trials}
        self.datasets = [name for name in DATASETS if name in present]
        self.datasets += sorted(present - set(DATASETS))

    def oracle(self, graph: str, mask: str, **options) -> Cell:
        return oracle(self.trials, graph, mask, **options)

    def fair(self, graph: str, mask: str, **options) -> Cell:
        return over_seeds(fair(self.trials, graph, mask, **options))

    def trials_of(self, protocol: str, setup: Setup) -> list[Trial]:
        return [t for t in self.trials if t.protocol == protocol and fits(t, *setup)]

    def setups(self, protocol: str) -> Iterator[tuple[Setup, Cell]]:
        """Every graph and mask that was run, with its errors.

        Without a graph or without corruption several are the same: these come once.
        """
        seen: list[set[int]] = []
        planned: list[Setup] = list(SETUPS[protocol])
        if self.is_shared(DEFAULT[0], protocol):
            planned.append(DEFAULT)
        for setup in dict.fromkeys(planned):
            runs = {trial.run for trial in self.trials_of(protocol, setup)}
            if protocol == "oracle":
                cells = self.oracle(*setup)
            else:
                cells = self.fair(*setup, protocol=protocol)
            if cells and not any(runs <= before for before in seen):
                seen.append(runs)
                yield setup, cells

    def is_shared(self, graph: str, protocol: str) -> bool:
        """Whether other models than RPCAG have been run on a graph."""
        return any(
            t.protocol == protocol and t.graph == graph and t.model != "RPCAG"
            for t in self.trials
        )

    def defaults(self, protocol: str = "fair") -> BySeed:
        """Errors by seed: RPCAG on the robust graph, the others on 10 neighbors."""
        ours = fair(self.trials, *DEFAULT, protocol=protocol)
        others = fair(self.trials, "knn", "known", protocol=protocol)
        found = {key: by for key, by in others.items() if key[2] != "RPCAG"}
        return found | {key: by for key, by in ours.items() if key[2] == "RPCAG"}

    def wins(self) -> Table:
        """In how many columns each model has the lowest error."""
        counted: dict[str, Counter] = {}
        for protocol in SETUPS:
            for setup, cells in self.setups(protocol):
                counted[f"{protocol}, {SETUP_NAMES[setup]}"] = self._wins(cells)
        for protocol in ("fair", "fresh"):
            cells = over_seeds(self.defaults(protocol))
            counted[f"{protocol}, {OWN_GRAPH}"] = self._wins(cells)
        counted = {name: count for name, count in counted.items() if count}
        if counted:
            counted = {"the paper": self._wins(self.printed)} | counted
        models = [m for m in METHODS if any(m in c for c in counted.values())]
        models = ["RPCAG", *(m for m in models if m != "RPCAG"), *self.own_models]
        rows = [
            [name, str(count.total()), *(str(count[model]) for model in models)]
            for name, count in counted.items()
        ]
        title = "columns in which a model has the lowest error (ties count for RPCAG)"
        return Table(title, ["", "columns", *models], rows)

    def _wins(self, cells: Cell) -> Counter:
        """Of the columns that RPCAG has been run on."""
        best = winners(cells)
        return Counter(best[column] for column in ranks(cells))

    # -- without labels ----------------------------------------------------------------

    def means(self) -> Table:
        """Mean error over the image sets, by model, graph, mask and gamma."""
        rows = []
        for name, model, setup, options in self._forms():
            cells = self.fair(*setup, **options)
            columns = [itertools.product(IMAGES, c) for c in GROUPS.values()]
            row = [percent(mean_over(cells, model, c)) for c in columns]
            if set(row) != {"-"}:
                rows.append([name, *row])
        bold = best_cells(rows, range(1, len(GROUPS) + 1))
        title = "fair protocol: mean error over the image sets, in %"
        return Table(title, ["model", *GROUPS], rows, bold)

    def _forms(self) -> Iterator[tuple[str, str, Setup, dict]]:
        """Names, models, setups and options of the lines of `means`."""
        known = ("knn", "known")
        for model in (*METHODS, *self.own_models):
            on_graph = model not in METHODS or METHODS[model].uses_graph
            yield (f"{model}, 10 neighbors" if on_graph else model), model, known, {}
            if on_graph:
                yield f"{model}, robust graph", model, DEFAULT, {}
        for gamma in (0.02, 0.125, 1.0):
            chosen = {"chosen": {"gamma": gamma, "components": "k"}}
            yield f"RPCAG, 10 neighbors, gamma {gamma:g}", "RPCAG", known, chosen
        yield "RPCAG, uniform graph", "RPCAG", CONTROL["fair"], {}
        for model in ("RPCA", "RPCAG"):
            yield f"{model}, zeros as data", model, ("knn", "zeros"), {}

    def paired(self) -> Table:
        """RPCAG minus RPCA on the same seeds."""
        setups = [s for s, _ in self.setups("fair") if s != DEFAULT]
        found = {SETUP_NAMES[s]: fair(self.trials, *s) for s in setups}
        rows = []
        for setup, cells in (found | {OWN_GRAPH: self.defaults()}).items():
            apart: dict[str, list[float]] = defaultdict(list)
            for (dataset, corruption, model), by_seed in cells.items():
                other = cells.get((dataset, corruption, "RPCA"), {})
                for seed in by_seed.keys() & other.keys() if model == "RPCAG" else ():
                    for name in (dataset, "all"):
                        apart[name].append(100 * (by_seed[seed] - other[seed]))
            for name in [n for n in (*self.datasets, "all") if n in apart]:
                values = np.array(apart[name])
                spread = f"{values.std(ddof=1):.1f}" if len(values) > 1 else "-"
                lower = f"{100 * np.mean(values < 0):.0f} %"
                mean = signed(float(values.mean()))
                rows.append([setup, name, str(len(values)), mean, spread, lower])
        header = ["", "data", "pairs", "mean", "standard deviation", "RPCAG lower"]
        return Table("fair protocol: RPCAG minus RPCA, points", header, rows)

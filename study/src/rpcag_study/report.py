"""What a store says about the paper's tables."""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from rpcag_study.corruptions import CORRUPTIONS, GROUPS, PATTERN
from rpcag_study.grids import METHODS, PRINTED
from rpcag_study.plan import CONTROL, DATASETS, DEFAULT, IMAGES, SETUPS
from rpcag_study.printed import clustering_errors
from rpcag_study.table_cells import (
    Cell,
    Trial,
    fair,
    fits,
    gaps,
    mean_over,
    oracle,
    over_seeds,
    ranks,
    spreads,
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

    def _cells(self, protocol: str, setup: Setup) -> Cell:
        if protocol == "oracle":
            return self.oracle(*setup)
        return self.fair(*setup, protocol=protocol)

    def setups(self, protocol: str) -> Iterator[tuple[Setup, Cell]]:
        """Every graph and mask that was run, with its errors.

        Without a graph or without corruption several are the same: these come once.
        """
        seen: list[set[int]] = []
        planned: list[Setup] = list(SETUPS[protocol])
        if self.is_shared(DEFAULT[0], protocol):
            planned.append(DEFAULT)
        for setup in dict.fromkeys(planned):
            runs = {
                trial.run
                for trial in self.trials
                if trial.protocol == protocol and fits(trial, *setup)
            }
            cells = self._cells(protocol, setup)
            if cells and not any(runs <= before for before in seen):
                seen.append(runs)
                yield setup, cells

    def is_shared(self, graph: str, protocol: str) -> bool:
        """Whether other models than RPCAG have been run on a graph."""
        return any(
            t.protocol == protocol and t.graph == graph and t.model != "RPCAG"
            for t in self.trials
        )

    def spreads(self, graph: str, mask: str, protocol: str = "fair") -> Cell:
        """Over seeds; the oracle's least errors have none."""
        if protocol == "oracle":
            return {}
        return spreads(fair(self.trials, graph, mask, protocol=protocol))

    def defaults(
        self, protocol: str = "fair"
    ) -> dict[tuple[str, str, str], dict[int, float]]:
        """Errors by seed: RPCAG on the robust graph, the others on 10 neighbors."""
        ours = fair(self.trials, *DEFAULT, protocol=protocol)
        others = fair(self.trials, "knn", "known", protocol=protocol)
        return {
            key: by_seed for key, by_seed in others.items() if key[2] != "RPCAG"
        } | {key: by_seed for key, by_seed in ours.items() if key[2] == "RPCAG"}

    # -- beside the paper --------------------------------------------------------------

    def beside(
        self, dataset: str, cells: Cell, name: str, spread: Cell | None = None
    ) -> Table:
        """One data set: ours, and in brackets the printed number and the difference."""
        columns = corruptions_of(cells, dataset)
        models = _models(cells, dataset)
        rows, bold = [], set()
        for j, corruption in enumerate(columns):
            best = min(
                (cells.get((dataset, corruption, m), np.inf) for m in models),
                default=np.inf,
            )
            bold |= {
                (i, j + 1)
                for i, m in enumerate(models)
                if cells.get((dataset, corruption, m), np.inf) <= best + 1e-9
            }
        for model in models:
            row = [model]
            for corruption in columns:
                key = dataset, corruption, model
                row.append(self._beside(key, cells, spread or {}))
            rows.append(row)
        if dataset in DATASETS and "RPCAG" in models:
            place = ranks(cells)
            rows.append(
                ["rank of RPCAG"] + [str(place.get((dataset, c), "-")) for c in columns]
            )
        deviation = " ± deviation over seeds" if spread else ""
        title = (
            f"{dataset}, {name}: clustering error{deviation} in %, in brackets the "
            "paper's and ours minus it"
        )
        header = ["model", *(short(c) for c in columns)]
        return Table(title, header, rows, frozenset(bold))

    def _beside(self, key: tuple[str, str, str], cells: Cell, spread: Cell) -> str:
        ours, theirs = cells.get(key), self.printed.get(key)
        text = percent(ours)
        if key in spread:
            text += f" ± {percent(spread[key])}"
        if theirs is not None:
            apart = "" if ours is None else f", {signed(100 * (ours - theirs))}"
            text += f" ({percent(theirs)}{apart})"
        return text

    def deviations(self, cells: Cell, name: str) -> Table:
        """Ours minus the paper's, by model."""
        rows = []
        for model in PRINTED:
            pairs = [
                (cells[key], self.printed[key])
                for key in cells
                if key[2] == model and key in self.printed
            ]
            if not pairs:
                continue
            ours, theirs = 100 * np.array(pairs).T
            apart = ours - theirs
            correlation = np.corrcoef(ours, theirs)[0, 1] if len(pairs) > 2 else np.nan
            rows.append(
                [
                    model,
                    str(len(pairs)),
                    signed(apart.mean()),
                    f"{np.abs(apart).mean():.1f}",
                    f"{correlation:.2f}",
                ]
            )
        header = ["model", "columns", "mean", "mean size", "correlation"]
        return Table(f"{name}: ours minus the paper's, points", header, rows)

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
        columns = ranks(cells)
        best = winners(cells)
        return Counter(best[column] for column in columns)

    # -- without labels ----------------------------------------------------------------

    def means(self) -> Table:
        """Mean error over the image sets, with and without PIE."""
        groups = GROUPS | {
            short(c): [c]
            for c in corruptions_of(t.column for t in self.trials)
            if c not in CORRUPTIONS and self._is_whole(c)
        }
        rows = []
        for (graph, mask), models, options in self._lines():
            cells = self.fair(graph, mask, **options)
            for model, name in models:
                row = [name]
                for datasets in (IMAGES, [d for d in IMAGES if d != "PIE"]):
                    for corruptions in groups.values():
                        columns = itertools.product(datasets, corruptions)
                        row.append(percent(mean_over(cells, model, columns)))
                if set(row[1:]) != {"-"}:
                    rows.append(row)
        header = ["model", *groups, *(f"{g}, no PIE" for g in groups)]
        bold = best_cells(rows, range(1, len(header)))
        title = "fair protocol: mean error over the image sets, in %"
        return Table(title, header, rows, bold)

    def _is_run(self, model: str, graph: str) -> bool:
        return any(
            (t.protocol, t.model, t.graph) == ("fair", model, graph)
            for t in self.trials
        )

    def _is_whole(self, corruption: str) -> bool:
        """Whether all image sets have been corrupted so."""
        found = {t.dataset for t in self.trials if t.corruption == corruption}
        return found >= set(IMAGES[1:])

    def _lines(self):
        known = ("knn", "known")
        for model in (*METHODS, *self.own_models):
            name = f"{model}, same graph" if model == "RPCAG" else model
            yield known, [(model, name)], {}
            if model != "RPCAG" and self._is_run(model, DEFAULT[0]):
                yield DEFAULT, [(model, f"{model}, graph of RPCAG")], {}
            if model == "RPCAG":
                yield DEFAULT, [(model, "RPCAG, robust graph")], {}
                for gamma in (0.02, 0.125, 1.0):
                    chosen = {"gamma": gamma, "components": "k"}
                    label = [(model, f"RPCAG, gamma {gamma:g}")]
                    yield known, label, {"chosen": chosen}
                yield CONTROL["fair"], [(model, "RPCAG, uniform graph")], {}
        zeros = [("RPCA", "RPCA, zeros as data"), ("RPCAG", "RPCAG, zeros as data")]
        yield ("knn", "zeros"), zeros, {}

    def paired(self) -> Table:
        """RPCAG minus RPCA on the same seeds."""
        rows = []
        found = {
            SETUP_NAMES[s]: fair(self.trials, *s)
            for s, _ in self.setups("fair")
            if s != DEFAULT  # the last one
        }
        for setup, cells in (found | {OWN_GRAPH: self.defaults()}).items():
            apart: dict[str, dict[int, list[float]]] = defaultdict(
                lambda: defaultdict(list)
            )
            for (dataset, corruption, model), by_seed in cells.items():
                if model != "RPCAG":
                    continue
                other = cells.get((dataset, corruption, "RPCA"), {})
                for seed in by_seed.keys() & other.keys():
                    difference = 100 * (by_seed[seed] - other[seed])
                    apart[dataset][seed].append(difference)
                    apart["all"][seed].append(difference)
            for name in [*self.datasets, "all"]:
                if name in apart:
                    rows.append([setup, name, *_paired(apart[name])])
        header = [
            *("", "data", "pairs", "mean", "over seeds", "over pairs", "RPCAG lower")
        ]
        title = "fair protocol: RPCAG minus RPCA, points, with standard deviations"
        return Table(title, header, rows)


def _paired(by_seed: dict[int, list[float]]) -> list[str]:
    values = np.concatenate([np.array(v) for v in by_seed.values()])
    seeds = [float(np.mean(v)) for v in by_seed.values()]

    def deviation(numbers) -> str:
        return f"{np.std(numbers, ddof=1):.1f}" if len(numbers) > 1 else "-"

    return [
        str(len(values)),
        signed(float(values.mean())),
        deviation(seeds),
        deviation(values),
        f"{100 * np.mean(values < 0):.0f} %",
    ]


def _models(cells: Cell, dataset: str) -> list[str]:
    present = {model for name, _, model in cells if name == dataset}
    return [m for m in METHODS if m in present] + sorted(present - set(METHODS))

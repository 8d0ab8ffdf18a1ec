"""Where RPCAG stands among the models, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from rpcag.study.corruptions import GROUPS
from rpcag.study.methods import METHODS, PRINTED
from rpcag.study.plan import CONTROL, DEFAULT, FRESH, IMAGES, SETUPS
from rpcag.study.report import SETUP_NAMES, Report
from rpcag.study.results import Cell, fair, mean_over, over_seeds, ranks
from rpcag.study.tables import Table, listed, percent, signed

BySeed = dict[tuple[str, str, str], dict[int, float]]


@dataclass(frozen=True)
class Lead:
    """RPCAG beside the best of the other models, over a group of columns."""

    group: str
    error: float
    best: str  # of the others
    difference: float  # points, ours minus its error
    deviation: float | None  # standard error over seeds; None: there is one seed

    @property
    def is_clear(self) -> bool:
        return self.deviation is not None and abs(self.difference) > 2 * self.deviation

    def __str__(self) -> str:
        over = "" if self.deviation is None else f" ± {self.deviation:.2f}"
        return f"{self.best} {self.difference:+.2f}{over}"


def comparisons(report: Report, protocol: str = "fair") -> dict[str, list[Lead]]:
    """RPCAG beside the others in six groups, by which graph it and they have.

    Models without a graph are as they are, and those of several graphs have their own.
    """
    forms: dict[str, BySeed] = {
        "RPCAG with its robust graph, the others with 10 neighbours": report.defaults(
            protocol
        ),
        "all with 10 neighbours": fair(
            report.trials, "knn", "known", protocol=protocol
        ),
        "all with the graph of RPCAG": fair(report.trials, *DEFAULT, protocol=protocol),
    }
    # With the graph of RPCAG only its own runs and those without any graph say nothing.
    models = {
        graph: {
            trial.model
            for trial in report.trials
            if trial.protocol == protocol and trial.graph == graph
        }
        & set(METHODS)
        for graph in ("knn", DEFAULT[0])
    }
    if not models["knn"] <= models[DEFAULT[0]]:
        del forms["all with the graph of RPCAG"]
    sets = FRESH if protocol == "fresh" else IMAGES
    found = {name: _leads(cells, sets) for name, cells in forms.items()}
    return {name: leads for name, leads in found.items() if leads is not None}


def _leads(by_seed: BySeed, sets: Sequence[str]) -> list[Lead] | None:
    """All six groups, or nothing."""
    every = groups_of(by_seed, sets)
    others = groups_of(by_seed, [s for s in sets if s != "PIE"], ", no PIE")
    return None if every is None or others is None else every + others


def groups_of(
    by_seed: BySeed, sets: Sequence[str], label: str = ""
) -> list[Lead] | None:
    """Clean, occluded and missing columns of these sets, or nothing."""
    cells = over_seeds(by_seed)
    leads = []
    for group, corruptions in GROUPS.items():
        columns = list(product(sets, corruptions))
        models = {m for *column, m in cells if tuple(column) in columns}
        means = {m: mean_over(cells, m, columns) for m in sorted(models)}
        ours = means.pop("RPCAG", None)
        whole = {m: error for m, error in means.items() if error is not None}
        # One that is not run everywhere yet might be the best.
        if ours is None or not whole or len(whole) < len(means):
            return None
        best = min(whole, key=lambda m: whole[m])
        apart = _by_seed(by_seed, best, columns)
        deviation = None
        if len(apart) > 1:
            deviation = float(np.std(apart, ddof=1) / np.sqrt(len(apart)))
        difference = 100 * (ours - whole[best])
        leads.append(Lead(group + label, ours, best, difference, deviation))
    return leads


def _by_seed(by_seed: BySeed, model: str, columns: list[tuple[str, str]]) -> list:
    """RPCAG minus another model, mean over columns, in points."""
    seeds = set.intersection(
        *(set(by_seed[*c, m]) for c in columns for m in ("RPCAG", model))
    )
    return [
        100
        * np.mean([by_seed[*c, "RPCAG"][s] - by_seed[*c, model][s] for c in columns])
        for s in sorted(seeds)
    ]


def leads(report: Report, protocol: str = "fair") -> Table:
    """The six groups: RPCAG, and what the best of the others is from it."""
    found = comparisons(report, protocol)
    rows = []
    for at in zip(*found.values(), strict=True):
        row = [at[0].group]
        for lead in at:
            row += [percent(lead.error), str(lead)]
        rows.append(row)
    if rows:
        for name, test in (
            ("groups it leads", lambda lead: True),
            ("by more than two standard errors", lambda lead: lead.is_clear),
        ):
            row = [name]
            for group in found.values():
                count = sum(lead.difference < 0 and test(lead) for lead in group)
                row += [f"{count} of {len(group)}", ""]
            rows.append(row)
    header = ["group"]
    for name in found:
        header += [name, "best other, RPCAG minus it ± s.e."]
    sets = "the image sets"
    if protocol == "fresh":
        sets = f"{listed(FRESH)}, from images that had no say in its graph"
    title = (
        f"{protocol} protocol, mask known: mean error of RPCAG over {sets}, in %, and "
        "points to the best other model with standard errors over seeds"
    )
    return Table(title, header, rows)


def by_dataset(report: Report) -> Table:
    """Without the graph, by the graph alone, with both: means over the corruptions."""
    cells = over_seeds(report.defaults())
    same = report.fair("knn", "known")
    place = ranks(cells)
    rows = []
    for dataset in report.datasets:
        columns = [column for column in place if column[0] == dataset]
        if not columns:
            continue
        models = {model for name, _, model in cells if name == dataset} - {"RPCAG"}
        means = {m: mean_over(cells, m, columns) for m in models | {"RPCAG"}}
        whole = {m: e for m, e in means.items() if m != "RPCAG" and e is not None}
        if not whole or means["RPCAG"] is None:
            continue
        best = min(whole, key=lambda m: whole[m])
        rows.append(
            [
                dataset,
                str(len(columns)),
                percent(means.get("RPCA")),
                percent(means.get("NCuts")),
                percent(means["RPCAG"]),
                percent(mean_over(same, "RPCAG", columns)),
                f"{best} {percent(whole[best])}",
                signed(100 * (means["RPCAG"] - whole[best])),
                str(sum(place[column] == 1 for column in columns)),
                str(max(place[column] for column in columns)),
            ]
        )
    header = [
        "data",
        "columns",
        "no graph: RPCA",
        "graph alone: NCuts",
        "RPCAG, robust graph",
        "RPCAG, same graph",
        "best other model",
        "RPCAG minus it",
        "columns it leads",
        "worst rank",
    ]
    title = "fair protocol, mask known: mean error over the corruptions, in %"
    return Table(title, header, rows)


def oracle_means(report: Report) -> Table:
    """Over the image sets, by graph and knowledge, and by either error."""
    setups = [*SETUPS["oracle"], CONTROL["oracle"]]
    columns: list[tuple[str, Cell]] = [("the paper", report.printed)]
    for setup in setups:
        columns.append((SETUP_NAMES[setup], report.oracle(*setup)))
    first, name = setups[0], SETUP_NAMES[setups[0]]
    majority = report.oracle(*first, majority=True)
    columns.append((f"{name}, by majority", majority))
    k = report.oracle(*first, components="k")
    columns.append((f"{name}, k components", k))
    rows = []
    for model in PRINTED:
        row = [
            percent(mean_over(cells, model, _image_columns(report)))
            for _, cells in columns
        ]
        if set(row[1:]) != {"-"}:
            rows.append([model, *row])
    bold = set()
    for j in range(1, len(columns) + 1):
        numbers = {i: float(row[j]) for i, row in enumerate(rows) if row[j] != "-"}
        # Without RPCAG, as while a setup is not yet run, nobody has won.
        if any(rows[i][0] == "RPCAG" for i in numbers):
            least = min(numbers.values())
            bold |= {(i, j) for i, number in numbers.items() if number == least}
    title = "oracle: mean error over the columns of the image sets, in %"
    return Table(title, ["model", *(n for n, _ in columns)], rows, frozenset(bold))


def _image_columns(report: Report) -> list[tuple[str, str]]:
    return sorted({key[:2] for key in report.printed if key[0] in IMAGES})

"""The result of the clustering study on one screen: sentences, two tables, a figure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import binomtest

from rpcag_study.corruptions import GROUPS
from rpcag_study.grids import METHODS
from rpcag_study.models import GAP
from rpcag_study.plan import CONTROL, DEFAULT, FRESH, IMAGES, SETUPS
from rpcag_study.report import SETUP_NAMES, Report, corruptions_of, short
from rpcag_study.table_cells import (
    BySeed,
    Cell,
    Trial,
    below,
    fair,
    mean_over,
    over_seeds,
    ranks,
)
from rpcag_study.tables import Table, best_cells, listed, percent, signed

Column = tuple[str, str]  # data set and corruption
AS_PRINTED = SETUPS["oracle"][0]
# Points: mean difference up to which printed errors count as reproduced.
NEAR = 5.0
# Two counts differ clearly if chance alone sets them so far apart this seldom.
LEVEL = 0.05

# Filled in from the stored results; a sentence with a missing value is left out.
DIRECTION = (
    "**{reproduced}: the direction.** With labels and the paper's graph, RPCAG has a "
    "lower error than RPCA in {below} of {columns} columns. At the same settings, the "
    "difference from a graph without information is {clear}."
)
SIZE = (
    "**{reproduced}: the size.** On average, our errors of RPCAG are {apart} points "
    "{higher} than the printed ones. RPCAG is the best model in {first} columns "
    "(paper: {printed})."
)
ADVICE = (
    "**What it means for you:** RPCAG has the lowest mean error without labels on "
    "{wins}. Another model is better on {losses}. Mark missing entries with NaN: this "
    "lowers the error of RPCAG by {gain} points."
)


def sentences(report: Report) -> list[str]:
    """What was reproduced, what was not, and what it means for a user."""
    return [*_direction(report), *_size(report), *_advice(report)]


def _direction(report: Report) -> Iterator[str]:
    cells = report.oracle(*AS_PRINTED)
    columns = with_both(cells, cells)
    if columns:
        count = len(below(cells, cells))
        clear = _chance(*_at_shared_settings(report), cells) <= LEVEL
        verdict = "Reproduced" if clear else "Reproduced in part"
        yield DIRECTION.format(
            reproduced=verdict if count > len(columns) / 2 else "Not reproduced",
            below=count,
            columns=len(columns),
            clear="significant" if clear else "not significant",
        )


def _size(report: Report) -> Iterator[str]:
    cells = report.oracle(*AS_PRINTED)
    apart = [
        100 * (error - report.printed[key])
        for key, error in cells.items()
        if key[2] == "RPCAG" and key in report.printed
    ]
    if apart:
        mean = float(np.mean(apart))
        yield SIZE.format(
            reproduced="Reproduced" if abs(mean) <= NEAR else "Not reproduced",
            apart=f"{abs(mean):.1f}",
            higher="higher" if mean > 0 else "lower",
            first=sum(rank == 1 for rank in ranks(cells).values()),
            printed=sum(rank == 1 for rank in ranks(report.printed).values()),
        )


def _advice(report: Report) -> Iterator[str]:
    rows = standings(over_seeds(report.defaults()), report.datasets)
    sets = [row for row in rows if row.group in report.datasets]
    columns = list(product(IMAGES, GROUPS["occluded"] + GROUPS["missing"]))
    known, zeros = (
        mean_over(report.fair("knn", mask), "RPCAG", columns)
        for mask in ("known", "zeros")
    )
    if rows and known is not None and zeros is not None:
        yield ADVICE.format(
            wins=listed([row.group for row in sets if row.difference <= 0]),
            losses=listed([row.group for row in sets if row.difference > 0]),
            gain=f"{100 * (zeros - known):.1f}",
        )


# -- the two tables of the first screen ------------------------------------------------


def model_means(report: Report) -> Table:
    """Mean error per model: the paper, ours with labels, ours without labels."""
    labels = report.oracle(*AS_PRINTED)
    without = over_seeds(report.defaults())
    sources = report.printed, labels, without
    rows = []
    for model in (*METHODS, *report.own_models):
        of_model = [{key[:2] for key in cells if key[2] == model} for cells in sources]
        found = [columns for columns in of_model if columns]
        columns = set.intersection(*found) if found else set()
        row = [percent(mean_over(cells, model, columns)) for cells in sources]
        if set(row[1:]) != {"-"}:
            rows.append([model, str(len(columns)), *row])
    header = ["model", "columns", "paper", "ours, with labels", "ours, without labels"]
    title = "Mean clustering error in %"
    note = (
        "A column is a data set with one kind of corruption. With labels: the paper's "
        "graph and protocol, where labels choose parameters. Without labels: fixed "
        "parameters, missing entries marked, mean of five draws. RPCAG then uses its "
        "robust graph, and the others use 10 nearest neighbors."
    )
    return Table(title, header, rows, best_cells(rows, range(2, 5)), note)


@dataclass(frozen=True)
class Standing:
    """RPCAG beside the best of the other models, over a group of columns."""

    group: str
    columns: int
    error: float
    best: str  # of the others
    difference: float  # points, RPCAG minus its error
    first: int  # columns in which RPCAG is best


def standings(cells: Cell, groups: Sequence[str]) -> list[Standing]:
    """By data set, and by kind of corruption over all image sets."""
    place = ranks(cells)
    kinds = {f"images, {name}": list(product(IMAGES, GROUPS[name])) for name in GROUPS}
    kinds = {name.replace("none", "clean"): found for name, found in kinds.items()}
    chosen = {d: [c for c in place if c[0] == d] for d in groups} | kinds
    found = []
    for group, columns in chosen.items():
        rival = best_other(cells, columns)
        if rival is not None:
            ours, best, theirs = rival
            first = sum(place[column] == 1 for column in columns)
            apart = 100 * (ours - theirs)
            found.append(Standing(group, len(columns), ours, best, apart, first))
    return found


def best_other(
    cells: Cell, columns: Sequence[Column]
) -> tuple[float, str, float] | None:
    """The mean error of RPCAG, the best of the other models, and its error.

    None while some model lacks some of the columns: it might be the best.
    """
    models = {key[2] for key in cells if key[:2] in columns}
    means = {m: mean_over(cells, m, columns) for m in sorted(models)}
    known = {m: error for m, error in means.items() if error is not None}
    ours = known.pop("RPCAG", None)
    if ours is None or not known or len(known) + 1 < len(means):
        return None
    best = min(known, key=lambda m: known[m])
    return ours, best, known[best]


def wins_and_losses(report: Report) -> Table:
    """Where RPCAG wins and loses without labels, by data set and corruption."""
    cells = over_seeds(report.defaults())
    found = standings(cells, report.datasets)
    rows = [
        [
            row.group,
            "wins" if row.difference <= 0 else "loses",
            percent(row.error),
            f"{percent(row.error - row.difference / 100)} ({row.best})",
            signed(row.difference),
            f"{row.first} of {row.columns}",
        ]
        for row in found
    ]
    bold = {(i, 1) for i, row in enumerate(found) if row.difference <= 0}
    header = ["columns of", "RPCAG", "RPCAG, %", "best other model, %"]
    header += ["difference, points", "columns it leads"]
    title = "Where RPCAG wins and loses without labels: mean clustering error"
    note = "Standard errors, and results on unseen images, are in a folded table below."
    return Table(title, header, rows, frozenset(bold), note)


def every_column(report: Report) -> Table:
    """Errors of a small store, a column each; in brackets the printed ones."""
    forms = [("fair", over_seeds(report.defaults()))]
    forms += [(p, found) for p in SETUPS for _, found in report.setups(p)]
    protocol, cells = next((form for form in forms if form[1]), forms[0])
    columns = [
        (dataset, corruption)
        for dataset in report.datasets
        for corruption in corruptions_of(cells, dataset)
    ]
    rows = []
    for model in (*METHODS, *report.own_models):
        keys = [(*column, model) for column in columns]
        if any(key in cells for key in keys):
            rows.append([model, *(_beside(key, cells, report.printed) for key in keys)])
    header = [
        "model",
        *(f"{d} {short(c)}".replace("none", "clean") for d, c in columns),
    ]
    chosen = "with" if protocol == "oracle" else "without"
    title = (
        f"Clustering error in %, {chosen} labels (in brackets: the paper, with labels)"
    )
    return Table(title, header, rows)


def _beside(key: tuple[str, str, str], ours: Cell, printed: Cell) -> str:
    text = percent(ours.get(key))
    return f"{text} ({percent(printed[key])})" if key in printed else text


# -- folded tables ---------------------------------------------------------------------


def comparisons(report: Report) -> Table:
    """RPCAG minus the best other model, by graph and by protocol, with standard errors.

    The robust graph was chosen by clustering errors on draws 11 to 13. The protocol
    "fresh" leaves out every image of those draws.
    """
    rows = []
    for protocol, sets in (("fair", IMAGES), ("fresh", FRESH)):
        forms: dict[str, BySeed] = {
            "RPCAG robust, others 10 neighbors": report.defaults(protocol),
            "all 10 neighbors": fair(report.trials, "knn", "known", protocol=protocol),
            "all robust": fair(report.trials, *DEFAULT, protocol=protocol),
        }
        if not report.is_shared(DEFAULT[0], protocol):  # RPCAG alone has run on it
            del forms["all robust"]
        for name, by_seed in forms.items():
            cells = [_lead(by_seed, list(product(sets, c))) for c in GROUPS.values()]
            if set(cells) != {"-"}:
                rows.append([protocol, name, *cells])
    title = (
        "RPCAG minus the best other model, points ± standard error over seeds "
        "(negative: RPCAG is better)"
    )
    note = (
        "The robust graph was chosen by labels on other draws of these data sets. "
        f"The fresh protocol leaves out every image of those draws ({listed(FRESH)})."
    )
    return Table(title, ["protocol", "graphs", *GROUPS], rows, note=note)


def _lead(by_seed: BySeed, columns: list[Column]) -> str:
    rival = best_other(over_seeds(by_seed), columns)
    if rival is None:
        return "-"
    ours, best, theirs = rival
    text = signed(100 * (ours - theirs))
    seeds = set.intersection(
        *(set(by_seed[*c, m]) for c in columns for m in ("RPCAG", best))
    )
    if len(seeds) > 1:
        apart = [
            np.mean([by_seed[*c, "RPCAG"][s] - by_seed[*c, best][s] for c in columns])
            for s in seeds
        ]
        text += f" ± {100 * np.std(apart, ddof=1) / np.sqrt(len(apart)):.1f}"
    return f"{text} ({best})"


def graph_control(report: Report) -> Table:
    """How often RPCAG is below RPCA, beside a uniform graph that has no information."""
    cells = report.oracle(*AS_PRINTED)
    control = report.oracle(*CONTROL["oracle"])
    at_same = _at_shared_settings(report)
    lines: list[tuple[str, Cell, Cell]] = [
        ("paper", report.printed, report.printed),
        ("with labels, the paper's graph", cells, cells),
        ("with labels, uniform graph", control, cells),
        ("with labels, the paper's graph, shared settings", at_same[0], cells),
        ("with labels, uniform graph, shared settings", at_same[1], cells),
    ]
    for name, setup in (
        ("10 neighbors", ("knn", "known")),
        ("uniform graph", CONTROL["fair"]),
    ):
        errors = report.fair(*setup)
        lines.append((f"without labels, {name}", errors, errors))
    rows = [
        [name, str(len(columns)), str(len(below(ours, others) & columns))]
        for name, ours, others in lines
        if (columns := with_both(ours, others))
    ]
    title = "In how many columns RPCAG has a lower error than RPCA"
    note = (
        "With labels, RPCAG has many more settings to choose from than RPCA. A uniform "
        "graph has no information about the samples, so it shows what the extra "
        f"settings are worth. Sign test: p = {_chance(*at_same, cells):.2g}."
    )
    rows = rows if len(rows) > 1 else []  # more than the paper's
    return Table(title, ["", "columns", "RPCAG below RPCA"], rows, note=note)


def _chance(graph: Cell, control: Cell, rpca: Cell) -> float:
    """Sign test on the columns in which just one of the graphs is below RPCA."""
    ours, theirs = below(graph, rpca), below(control, rpca)
    more, less = len(ours - theirs), len(theirs - ours)
    return float(binomtest(more, more + less).pvalue) if more + less else 1.0


def _at_shared_settings(report: Report) -> tuple[Cell, Cell]:
    """RPCAG with the paper's graph and with the control, at settings both have."""
    setups = AS_PRINTED, CONTROL["oracle"]
    shared = set.intersection(
        *(
            {_setting(t) for t in report.trials_of("oracle", s) if t.model == "RPCAG"}
            for s in setups
        )
    )
    graph, control = (
        report.oracle(*setup, where=lambda trial: _setting(trial) in shared)
        for setup in setups
    )
    return graph, control


def with_both(cells: Cell, others: Cell) -> set[Column]:
    """Columns that have RPCAG, and RPCA among others."""
    return {
        key[:2] for key in cells if key[2] == "RPCAG" and (*key[:2], "RPCA") in others
    }


def _setting(trial: Trial) -> tuple:
    return (*trial.column, *sorted(trial.values.items()))


def certificates(report: Report) -> Table:
    """How many records of the convex models reached the certified gap."""
    rows = []
    for model, gaps in report.gaps.items():
        known = [gap for gap in gaps if gap is not None]
        if known:
            reached = sum(gap <= GAP for gap in known)
            rows.append([model, str(len(known)), str(reached), f"{max(known):.1e}"])
    header = ["model", "records with a gap", f"gap at most {GAP:g}", "largest gap"]
    return Table("Certified gap of the convex models", header, rows)


def coverage(report: Report) -> Table:
    """How much of the study is there: columns, seeds, and embeddings clustered."""
    rows = []
    for protocol in SETUPS:
        for setup, cells in report.setups(protocol):
            members = report.trials_of(protocol, setup)
            counts = [
                len({key[:2] for key in cells}),
                len({trial.model for trial in members}),
                len({trial.seed for trial in members}),
                len(members),
            ]
            name = f"{protocol}, {SETUP_NAMES[setup]}"
            rows.append([name, *(f"{count:,}" for count in counts)])
    header = ["setup", "columns", "models", "seeds", "embeddings clustered"]
    return Table("What was run", header, rows)

"""Where RPCAG loses, and what of it hangs on: graph, range, components, the mask."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from rpcag.study.plan import CONTROL, DEFAULT, SETUPS
from rpcag.study.report import Report
from rpcag.study.results import CHOSEN, Cell, best, over_seeds, ranks
from rpcag.study.tables import Table, listed, signed

# What the models that win look at.
KINDS = {
    "the graph alone": ("NCuts", "LE"),
    "graph and data": ("GLPCA", "RGLPCA", "MMF", "GNMF", "MMMF", "MHMF", "FRPCAG"),
    "no graph": ("k-means", "PCA", "NMF", "RPCA"),
}


def changes(report: Report, protocol: str) -> dict[str, Cell]:
    """RPCAG with one thing changed."""
    if protocol == "oracle":
        first = SETUPS["oracle"][0]
        return {
            "graph: 10 neighbours": report.oracle("knn", "zeros"),
            "graph: uniform": report.oracle(*CONTROL["oracle"]),
            "graph and mask: 10 neighbours, mask known": report.oracle("knn", "known"),
            "components: one per class": report.oracle(*first, components="k"),
        }
    found = {
        "graph: 10 neighbours": report.fair("knn", "known"),
        "graph: uniform": report.fair(*CONTROL["fair"]),
        "mask: 10 neighbours, zeros as data": report.fair("knn", "zeros"),
        "components: all": report.fair(*DEFAULT, chosen=CHOSEN | {"components": "all"}),
    }
    for gamma in (0.02, 0.125, 1.0):
        chosen = CHOSEN | {"gamma": gamma}
        name = f"range: 10 neighbours, γ = {gamma:g}"
        found[name] = report.fair("knn", "known", chosen=chosen)
    return found


def _as_it_is(report: Report, protocol: str) -> Cell:
    if protocol == "oracle":
        return report.oracle(*SETUPS["oracle"][0])
    return over_seeds(report.defaults())


def lost(cells: Cell) -> dict[tuple[str, str], float]:
    """The columns that another model leads, and its error."""
    return {
        column: min(error for key, error in cells.items() if key[:2] == column)
        for column, rank in ranks(cells).items()
        if rank > 1
    }


def losses(report: Report) -> Table:
    """In the columns that RPCAG loses, what one change of it alone would do."""
    rows = []
    for protocol in ("oracle", "fair"):
        cells = _as_it_is(report, protocol)
        behind = lost(cells)
        for name, changed in changes(report, protocol).items():
            columns = [c for c in behind if (*c, "RPCAG") in changed]
            if not columns:
                continue
            ours, other = (
                np.array([found[*c, "RPCAG"] for c in columns])
                for found in (cells, changed)
            )
            least = np.array([behind[c] for c in columns])
            rows.append(
                [
                    protocol,
                    name,
                    str(len(columns)),
                    signed(float(100 * (ours - least).mean())),
                    signed(float(100 * (other - least).mean())),
                    str(int((other < ours - 1e-9).sum())),
                    str(int((other < least + 1e-9).sum())),
                ]
            )
    header = [
        "",
        "changed for RPCAG alone",
        "columns it loses",
        "behind the best",
        "then",
        "better in",
        "level with the best in",
    ]
    title = "where RPCAG loses: mean distance to the lowest error of a column, points"
    return Table(title, header, rows)


def where_it_loses(report: Report) -> Iterator[str]:
    """Who wins instead, what would have helped, and what has not been varied."""
    table = losses(report)
    for protocol, name in (
        ("oracle", "with labels and the paper's graph"),
        ("fair", "without labels, with its robust graph and the γ for clustering"),
    ):
        cells = _as_it_is(report, protocol)
        behind = lost(cells)
        rows = [row for row in table.rows if row[0] == protocol]
        if not rows:
            continue
        ours = np.array([cells[*column, "RPCAG"] for column in behind])
        apart = 100 * (ours - np.array(list(behind.values())))
        yield (
            f"**Where RPCAG loses, {name}.** It is behind in {len(behind)} of "
            f"{len(ranks(cells))} columns, by {apart.mean():.1f} points on average: "
            f"{_by_set(behind, apart)}. {_leaders(cells, behind)}. {_nearest(rows)}"
        )
    if table.rows:
        yield (
            "The scaling of features and of singular vectors, and other ways to make "
            "an embedding of L than its left singular vectors, are the same in all "
            "records: what they cost or gain is not known from these."
        )


def _nearest(rows: list[Sequence[str]]) -> str:
    """Which of the changes brings RPCAG nearest to the lowest errors, if any."""
    helps = sorted(
        (float(row[4]), row) for row in rows if float(row[4]) < float(row[3])
    )
    if not helps:
        return "None of the changes in a table below, made for RPCAG alone, helps."
    each = ", ".join(
        f"{row[1]} ({row[3]} becomes {row[4]}, level with the best in {row[6]})"
        for _, row in helps
    )
    return f"Of the changes in a table below, made for RPCAG alone, these help: {each}."


def _by_set(behind: dict[tuple[str, str], float], apart: np.ndarray) -> str:
    points: dict[str, list[float]] = {}
    for (dataset, _), value in zip(behind, apart, strict=True):
        points.setdefault(dataset, []).append(value)
    order = sorted(points, key=lambda name: -np.mean(points[name]))
    return ", ".join(
        f"{name} {np.mean(points[name]):.1f} in {len(points[name])}" for name in order
    )


def _leaders(cells: Cell, behind: dict[tuple[str, str], float]) -> str:
    """What the models look at that are in front; of equals all count."""
    count: Counter = Counter()
    for column, least in behind.items():
        models = {
            key[2] for key, e in cells.items() if key[:2] == column and e <= least
        }
        kinds = [kind for kind, names in KINDS.items() if models & set(names)]
        count.update(kinds or ["a model of one's own"])
    shown = listed([f"{kind} in {n}" for kind, n in count.most_common()])
    return f"In front are models that look at {shown} (of equals all count)"


def range_of_grid(report: Report) -> Iterator[str]:
    """Whether the best values of RPCAG are at the ends of what was tried."""
    setup = SETUPS["oracle"][0]
    found = best(report.trials, *setup)
    at = {key[:2]: trial for key, (_, trial) in found.items() if key[2] == "RPCAG"}
    tried: dict[str, dict[tuple, set]] = {"lam": {}, "gamma": {}}
    for trial in report.trials:
        if (trial.protocol, trial.model) != ("oracle", "RPCAG"):
            continue
        if (trial.graph, trial.mask) == setup:
            for name, columns in tried.items():
                if name in trial.values:
                    columns.setdefault(trial.column, set()).add(trial.values[name])
    parts = []
    for name, sign in (("lam", "λ"), ("gamma", "γ")):
        ends = [
            (at[column].values[name], values)
            for column, values in tried[name].items()
            if column in at and name in at[column].values and len(values) > 1
        ]
        if ends:
            low = sum(value == min(values) for value, values in ends)
            high = sum(value == max(values) for value, values in ends)
            parts.append(
                f"{sign} the least tried in {low} and the largest in {high} of "
                f"{len(ends)} columns (median {np.median([v for v, _ in ends]):.3g})"
            )
    if parts:
        yield (
            "**Ends of the grid.** At its lowest error, with the paper's graph, RPCAG "
            f"has of {'; of '.join(parts)}."
        )

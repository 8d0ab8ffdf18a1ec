"""Where RPCAG stands among the models, and why."""

from rpcag.study.methods import PRINTED
from rpcag.study.plan import CONTROL, IMAGES, SETUPS
from rpcag.study.report import SETUP_NAMES, Report
from rpcag.study.results import Cell, mean_over, over_seeds, ranks
from rpcag.study.tables import Table, percent, signed


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
        "RPCAG (default)",
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

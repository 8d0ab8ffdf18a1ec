"""The page of a study: ``rpcag report --html``."""

import re

from rpcag.page.document import Page, empty, escape, hint, section
from rpcag.page.drawings import DRAWINGS, draw_figure
from rpcag.page.tables import (
    beside_html,
    by_first_column,
    ranks_html,
    table_html,
    turned,
)
from rpcag.study.experiments.task import of_experiment
from rpcag.study.findings import findings
from rpcag.study.losses import losses
from rpcag.study.page import EXPERIMENTS, coverage
from rpcag.study.plan import SETUPS
from rpcag.study.report import SETUP_NAMES, Report
from rpcag.study.standing import by_dataset, leads, oracle_means
from rpcag.study.tables import Table
from rpcag.study.verdicts import verdicts

TITLES = {
    "components": "Components of a few classes",
    "parameters": "The choice of lam and gamma",
    "graph_quality": "What the graph has to know",
    "timing": "Time and size",
    "directions": "Principal directions",
    "video": "Backgrounds of videos",
}


def report_page(report: Report, records: list[dict]) -> str:
    """HTML with every table of a study beside the printed one, and its figures."""
    page = Page("Robust PCA on graphs: the study", "")
    sections: list[tuple[str, str, list[str]]] = []
    if report.trials:
        sections.append(("glance", "At a glance", _glance(report)))
        sections.append(("beside", "Ours beside the paper’s", _beside(report)))
        fair = _fair(report)
        if fair:
            sections.append(("fair", "Without labels", fair))
    told = verdicts(records)
    for name in dict.fromkeys([*EXPERIMENTS, *DRAWINGS]):
        parts = _experiment(page, name, records)
        if parts:
            said = [f"<p>{_bold(told[name])}</p>"] if name in told else []
            sections.append((name, TITLES.get(name, _title(name)), [*said, *parts]))
    links = "".join(f'<li><a href="#{n}">{escape(t)}</a></li>' for n, t, _ in sections)
    page.lead = (
        '<p class="lead">The experiments of Shahid, Kalofolias, Bresson, Bronstein and '
        "Vandergheynst, <cite>Robust Principal Component Analysis on Graphs</cite> "
        "(ICCV 2015), run again; every number is from the stored results.</p>"
        f'<nav aria-label="sections"><ul>{links}</ul></nav>'
    )
    for name, title, parts in sections:
        page.add(section(name, title, *parts))
    if not sections:
        page.add(empty("There are no results of a known experiment in this store."))
    return page.html()


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _glance(report: Report) -> list[str]:
    covered = "".join(f"<li>{escape(line)}</li>" for line in coverage(report))
    return [
        f'<ul class="hint">{covered}</ul>',
        *(f"<p>{_bold(sentence)}</p>" for sentence in findings(report)),
        *(table_html(turned(table)) for table in (report.wins(),) if table.rows),
        hint("Click a heading to sort."),
        *_tables(oracle_means(report), losses(report)),
    ]


def _bold(sentence: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(sentence))


def _tables(*tables: Table) -> list[str]:
    return [table_html(table) for table in tables if table.rows]


def _fair(report: Report) -> list[str]:
    means, pairs = report.means(), by_first_column(report.paired())
    fresh = leads(report, "fresh")
    if not means.rows and not pairs and not fresh.rows:
        return []
    return [
        hint("Parameters are chosen without labels. The lowest is underlined."),
        *_tables(leads(report), fresh, means, by_dataset(report)),
        f'<div class="charts">{"".join(map(table_html, pairs))}</div>',
    ]


def _beside(report: Report) -> list[str]:
    """Every data set under every setup; two lists choose what is seen."""
    names, parts = {}, []
    for protocol in SETUPS:
        for setup, cells in report.setups(protocol):
            key = "_".join((protocol, *setup))
            spread = report.spreads(*setup, protocol)
            names[key] = f"{protocol}, {SETUP_NAMES[setup]}"
            parts.append(_part(ranks_html(report, cells), setup=key))
            for dataset in report.datasets:
                there = any(name == dataset for name, _, _ in cells)
                nothing = empty(f"{dataset} has not been run in this setup yet.")
                shown = (
                    beside_html(report, dataset, cells, spread) if there else nothing
                )
                parts.append(_part(shown, setup=key, dataset=dataset))
            if protocol == "oracle":
                apart = report.deviations(cells, names[key])
                parts += [_part(table, setup=key) for table in _tables(apart)]
    controls = (
        '<div class="controls" hidden>'
        + _select("protocol and graph", "setup", names)
        + _select("data", "dataset", {name: name for name in report.datasets})
        + '<label>color <select data-colors="yes">'
        '<option value="by-difference">difference to the paper</option>'
        '<option value="by-error">error</option>'
        '<option value="">none</option></select></label></div>'
    )
    legend = (
        '<p class="hint"><span class="swatch lower"></span>lower than the paper’s, '
        '<span class="swatch higher"></span>higher; full color at 20 points. The '
        "paper chose parameters by the labels, and so does the oracle; the fair "
        "protocol does not, so its errors are the higher ones.</p>"
    )
    inside = "\n".join([controls, *parts, legend])
    return [f'<div class="chooser by-difference">{inside}</div>']


def _part(inside: str, **keys: str) -> str:
    data = "".join(f' data-{name}="{escape(key)}"' for name, key in keys.items())
    return f'<div data-part="yes"{data}>{inside}</div>'


def _select(label: str, name: str, options: dict[str, str]) -> str:
    inside = "".join(
        f'<option value="{escape(value)}">{escape(text)}</option>'
        for value, text in options.items()
    )
    return f'<label>{label} <select data-for="{name}">{inside}</select></label>'


def _experiment(page: Page, name: str, records: list[dict]) -> list[str]:
    """The drawing of an experiment and, folded away, its tables."""
    found = of_experiment(name.replace("_", "-"), records)
    if not found:
        return []
    draw = DRAWINGS.get(name)
    parts = draw(page, found) if draw else draw_figure(name, found)
    module = EXPERIMENTS.get(name)
    tables = [table_html(table) for table in module.tables(found)] if module else []
    if tables and parts:
        folded = f"<details><summary>Tables</summary>{''.join(tables)}</details>"
        return [*parts, folded]
    return parts or tables

"""The report of a store as one HTML page: the same screen as the Markdown page."""

import base64
import io
import re
from html import escape

from rpcag.plugins import Page, scrolled, section
from rpcag_study.report import Report
from rpcag_study.report_files import CAPTION, Screen, screen
from rpcag_study.tables import Table

LEAD = (
    '<p class="lead">The experiments of Shahid, Kalofolias, Bresson, Bronstein and '
    "Vandergheynst, <cite>Robust Principal Component Analysis on Graphs</cite> "
    "(ICCV 2015), run again. Every number is computed from the stored results.</p>"
)


def report_page(report: Report, records: list[dict]) -> str:
    """HTML with the result on one screen, and everything else folded."""
    page = Page("Robust PCA on graphs: the study", LEAD)
    found = screen(report, records)
    if report.trials:
        page.add(section("result", "Result", *_result(found, report)))
    for k, fold in enumerate(found.folds):
        tables = "".join(map(table_html, fold.tables))
        title = f"<summary>{escape(fold.title)}</summary>"
        page.add(f'<details id="fold-{k}">{title}{tables}</details>')
    if not report.trials and not found.folds:
        page.add('<p class="empty">The store has no results of a known experiment.</p>')
    return page.html()


def _result(found: Screen, report: Report) -> list[str]:
    sentences = map(escape, found.sentences)
    parts = [re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", f"<p>{s}</p>") for s in sentences]
    parts += map(table_html, found.tables[:1])
    caption, picture = escape(CAPTION), _picture(report)
    parts.append(
        f'<figure><img style="max-width:100%" alt="{caption}" src="{picture}">'
    )
    parts.append(f"<figcaption>{caption}</figcaption></figure>")
    return [*parts, *map(table_html, found.tables[1:])]


def _picture(report: Report) -> str:
    from rpcag_study.figures import printed_against_ours

    file = io.BytesIO()
    printed_against_ours(report).savefig(file, format="png")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def table_html(table: Table) -> str:
    """A table that sorts; its best cells are bold."""
    rows = []
    for i, (name, *cells) in enumerate(table.rows):
        inside = "".join(
            f'<td class="best"><b>{escape(c)}</b></td>'
            if (i, j) in table.bold
            else f"<td>{escape(c)}</td>"
            for j, c in enumerate(cells, start=1)
        )
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{inside}</tr>')
    note = f'<p class="hint">{escape(table.note)}</p>' if table.note else ""
    return scrolled(table.title, table.header, rows) + note

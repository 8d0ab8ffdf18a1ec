"""Build one HTML file from sections and widgets."""

import base64
import hashlib
import html
import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import rpcag
from rpcag.atomic import write_text
from rpcag.files.place import check_file

# In the order in which they need each other.
SCRIPTS = ("base", "viewer", "embedding", "column", "start")
escape = html.escape


class Page:
    """A page under construction.

    `add` appends HTML, in which everything that came from a user has gone through
    `escape`; `widget` makes the HTML of a place that the script ``kind.js`` fills from
    the given data, which need no escaping.
    """

    def __init__(self, title: str, lead: str) -> None:
        self.title, self.lead = title, lead
        self._parts: list[str] = []
        self._widgets: list[dict[str, Any]] = []

    def add(self, *parts: str) -> None:
        self._parts += parts

    def widget(self, kind: str, **data: Any) -> str:
        self._widgets.append(data)
        at = len(self._widgets) - 1
        return f'<div data-widget="{kind}" data-at="{at}"></div>'

    def html(self) -> str:
        """The whole file."""
        script = "\n".join(["", "'use strict';", *(_asset(f"{s}.js") for s in SCRIPTS)])
        # Only a script with this digest may run, whatever else got into the page.
        digest = hashlib.sha256(script.encode()).digest()
        return Template(_asset("page.html")).substitute(
            title=escape(self.title),
            lead=self.lead,
            version=escape(rpcag.__version__),
            style=_asset("style.css").rstrip(),
            body=_lines(self._parts),
            data=embedded({"widgets": self._widgets}),
            script=script,
            digest=base64.b64encode(digest).decode("ascii"),
        )


def embedded(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def section(name: str, title: str, *parts: str) -> str:
    heading = f'<h2 id="{name}-title">{escape(title)}</h2>'
    start = f'<section id="{name}" aria-labelledby="{name}-title">'
    return _lines([start, heading, *parts, "</section>"])


def empty(text: str) -> str:
    """A text in place of an empty section, with the reason."""
    return f'<p class="empty">{escape(text)}</p>'


def hint(*sentences: str) -> str:
    """A paragraph, if there are sentences."""
    return f'<p class="hint">{escape(" ".join(sentences))}</p>' if sentences else ""


def scrolled(caption: str, header: Iterable[str], rows: list[str]) -> str:
    """A table that sorts, and scrolls where it is too large."""
    caption = escape(caption)
    heads = "".join(
        f'<th scope="col">{escape(name).replace(" %", "&nbsp;%")}</th>'
        for name in header
    )
    return (
        f'<div><p class="caption">{caption}</p>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">'
        '<table class="sortable">'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody>"
        "</table></div></div>"
    )


def verdict(name: str, headline: str, sentence: str) -> str:
    return (
        f'<div class="card verdict" id="{name}"><strong>{escape(headline)}</strong>'
        f"<p>{escape(sentence)}</p></div>"
    )


def check_target(path: Path, *, force: bool) -> None:
    """Refuse to overwrite a file, except an earlier page if `force` is set."""
    check_file(path, is_page, "page", force=force, example="page.html")


def is_page(path: Path) -> bool:
    """Whether the file looks like one that `write_page` wrote."""
    with path.open("rb") as file:
        return b'name="generator" content="rpcag ' in file.read(4000)


def write_page(path: Path, text: str) -> None:
    write_text(path, text, "xmlcharrefreplace")


def _lines(parts: list[str]) -> str:
    return "\n".join(filter(None, parts))


def _asset(name: str) -> str:
    return files("rpcag.page").joinpath("assets", name).read_text(encoding="utf-8")

"""From sections and widgets to one HTML file."""

import base64
import hashlib
import html
import json
import os
import tempfile
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import rpcag
from rpcag.files.place import check_place

# In the order in which they need each other.
SCRIPTS = (
    *("base", "colour", "axes", "select"),
    *("viewer", "images", "profile", "charts", "scatter", "embedding", "heat"),
    *("tables", "main"),
)
escape = html.escape


class Page:
    """A page in the making.

    `add` appends HTML, in which everything that came from a user has gone through
    `escape`; `widget` makes the HTML of a place that the script ``kind.js`` fills from
    the given data, which need no escaping.
    """

    def __init__(self, title: str, lead: str) -> None:
        self.title = title
        self.lead = lead
        self._parts: list[str] = []
        self._widgets: list[dict[str, Any]] = []

    def add(self, *parts: str) -> None:
        self._parts += parts

    def widget(self, kind: str, tag: str = "div", **data: Any) -> str:
        self._widgets.append(data)
        at = len(self._widgets) - 1
        return f'<{tag} data-widget="{kind}" data-at="{at}"></{tag}>'

    def html(self) -> str:
        """The whole file."""
        script = "\n".join(["", "'use strict';", *(_asset(f"{s}.js") for s in SCRIPTS)])
        # Only a script with this digest may run, whatever else got into the page.
        digest = hashlib.sha256(script.encode()).digest()
        return Template(_asset("page.html")).substitute(
            title=escape(self.title),
            heading=escape(self.title),
            lead=self.lead,
            version=escape(rpcag.__version__),
            style=_asset("style.css").rstrip(),
            body="\n".join(self._parts),
            data=embedded({"widgets": self._widgets}),
            script=script,
            digest=base64.b64encode(digest).decode("ascii"),
        )


def embedded(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def section(name: str, title: str, *parts: str, tag: str = "section") -> str:
    heading = f'<h2 id="{name}-title">{escape(title)}</h2>'
    inside = "\n".join([heading, *parts])
    return f'<{tag} id="{name}" aria-labelledby="{name}-title">\n{inside}\n</{tag}>'


def empty(text: str) -> str:
    """What stands where there is nothing to show, and why."""
    return f'<p class="empty">{escape(text)}</p>'


def hint(text: str) -> str:
    return f'<p class="hint">{escape(text)}</p>'


def check_target(path: Path, *, force: bool) -> None:
    """Refuse to write over anything but, if asked to, an earlier page."""
    check_place(path)
    if not os.path.lexists(path):
        return
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file such as page.html")
    if not is_page(path):
        raise FileExistsError(
            f"{path} is a file of something else; name another place for the page"
        )
    if not force:
        raise FileExistsError(f"{path} is there already; --force replaces it")


def is_page(path: Path) -> bool:
    """Whether the file looks like one that `write_page` wrote."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return b'name="generator" content="rpcag ' in file.read(4000)


def write_page(path: Path, text: str) -> None:
    """The whole file or none; an error names the file that was asked for."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, text)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write(path: Path, text: str) -> None:
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".page-", suffix=".part")
    try:
        with os.fdopen(
            handle, "w", encoding="utf-8", errors="xmlcharrefreplace"
        ) as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)  # as of any new file
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def _asset(name: str) -> str:
    return files("rpcag.page").joinpath("assets", name).read_text(encoding="utf-8")

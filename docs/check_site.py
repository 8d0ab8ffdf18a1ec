"""Check a built site: its links, its search, and that it fetches nothing."""

import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, unlike the target of a link.
FETCHED = {"script": "src", "img": "src", "source": "src", "iframe": "src"}
# What readers look for; the search index has the stems of words.
SEARCHED = {
    "outlier": "outlier",
    "impute": "imput",
    "missing": "miss",
    "repair": "repair",
    "background": "background",
    "cluster": "cluster",
    "gap": "gap",
    "GPU": "gpu",
}


class Page(HTMLParser):
    """Links, fetched resources and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.resources: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.add(values["href"])
        if tag in FETCHED and values.get(FETCHED[tag]):
            self.resources.add(values[FETCHED[tag]])
        # Of the links in a head only these are fetched.
        kinds = (values.get("rel") or "").split()
        if tag == "link" and {"stylesheet", "preload", "icon"} & set(kinds):
            self.resources.add(values["href"])


def problems(site: Path) -> list[str]:
    """What is wrong, one line each."""
    site = site.resolve()
    pages = {
        path: Page(path)
        for path in site.rglob("*.html")
        if "_static" not in path.relative_to(site).parts  # templates of the theme
    }
    found = [] if pages else [f"no pages in {site}"]
    for path, page in pages.items():
        name = path.relative_to(site)
        for link in sorted(page.links | page.resources):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.resources and parts.scheme != "data":
                    found.append(f"{name} fetches {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve()
            target = path if not parts.path else target
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                found.append(f"{name} links to {link}, which is not there")
            elif (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].anchors
            ):
                found.append(f"{name} links to {link}, which has no such anchor")
    return found


def not_found(site: Path) -> list[str]:
    """Words that the search of the site does not find, one line each."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    return [
        f"the search does not find {word}"
        for word, stem in SEARCHED.items()
        if stem not in index["terms"]
    ]


if __name__ == "__main__":
    site = Path(sys.argv[1])
    found = problems(site) + not_found(site)
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(f"{len(found)} problems" if found else 0)

"""A real browser for the tests: Chromium of the system, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@dataclass
class Seen:
    """What a page did that it should not, and what it asked for."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


def watch(page) -> Seen:
    """Collect from now on."""
    seen = Seen()

    def dismiss(dialog) -> None:
        seen.dialogs.append(dialog.message)
        dialog.dismiss()

    def hear(message) -> None:
        if message.type == "error":
            seen.errors.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("dialog", dismiss)
    return seen


@contextmanager
def launch(**options) -> Iterator:
    """A page of a browser with a fresh profile; `options` are those of a context.

    Where there is no browser the test is skipped, or fails if CI_REQUIRE_BROWSER is 1.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _without("playwright is not installed")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        _without(f"none of {', '.join(NAMES)} is on the path")
    options = {"viewport": {"width": 1280, "height": 900}} | options
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            page = browser.new_context(**options).new_page()
            page.set_default_timeout(10_000)
            yield page
        finally:
            browser.close()


@contextmanager
def visitor(tab) -> Iterator:
    """A function that opens files; afterwards nothing may have gone wrong or out."""
    seen = watch(tab)

    def go(path, width=1280, dark=False):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme="dark" if dark else "light")
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready=yes]")
        drawn(tab)
        return tab

    yield go
    assert seen.errors == []
    assert seen.dialogs == []
    assert [u for u in seen.requests if not u.startswith(("file:", "data:"))] == []


def drawn(page) -> None:
    """Wait for the next two frames."""
    page.evaluate(
        "new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))"
    )


def reached_by_tab(page, most: int = 60) -> list[tuple[str, str, bool]]:
    """Tags and names of what the key Tab reaches, and whether a ring shows it."""
    reached = []
    for _ in range(most):
        page.keyboard.press("Tab")
        tag, name, outline = page.evaluate(
            """() => {
                const here = document.activeElement;
                const name = here.ariaLabel || here.placeholder || here.textContent;
                return [here.tagName, name, getComputedStyle(here).outlineStyle];
            }"""
        )
        if tag == "BODY":
            break
        reached.append((tag, name.strip(), outline != "none"))
    return reached


def _without(reason: str) -> None:
    if os.environ.get("CI_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{reason}, and CI_REQUIRE_BROWSER is 1")
    pytest.skip(f"no browser: {reason}")

"""A real headless Chromium for tests, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def _missing(reason: str) -> None:
    """Skip, or fail where a browser must be there."""
    if os.environ.get("CI_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def launch() -> Iterator:
    """A Playwright page in a browser with a fresh profile."""
    found = os.environ.get("CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), ""
    )
    if not found:
        _missing(f"no browser: none of {', '.join(NAMES)} is installed")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("no browser: Playwright for Python is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        try:
            yield browser.new_page()
        finally:
            browser.close()


@pytest.fixture
def browser_page():
    with launch() as page:
        yield page

"""The report page in a real browser: it fits, it folds, it sorts, it loads nothing."""

import pytest

from browser import launch, watch
from rpcag_study.html_report import report_page
from rpcag_study.report import Report
from studies import records

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def tab():
    with launch() as page:
        yield page


@pytest.fixture
def page(tab, tmp_path):
    stored = records()
    path = tmp_path / "report.html"
    path.write_text(report_page(Report(stored), stored), encoding="utf-8")
    seen = watch(tab)
    tab.set_viewport_size({"width": 390, "height": 900})
    tab.goto(path.as_uri())
    tab.wait_for_selector("html[data-ready=yes]")
    yield tab
    assert seen.errors == []
    assert all(url.startswith(("file:", "data:")) for url in seen.requests)


def test_nothing_is_wider_than_the_window(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("figure img").bounding_box()["width"] <= 390


def test_everything_but_the_result_is_folded(page):
    folds = page.locator("details")
    assert folds.count() >= 4
    assert page.locator("details table:visible").count() == 0
    folds.first.locator("summary").click()
    assert page.locator("details table:visible").count() >= 1


def test_tables_sort_both_ways(page):
    table = page.locator("#result table").first
    head = table.locator("thead th").nth(3)

    def column():
        cells = table.locator("tbody tr td:nth-child(4)").all_inner_texts()
        return [float(text) for text in cells if text != "-"]

    before = column()
    head.get_by_role("button").click()
    assert column() == sorted(before)
    head.get_by_role("button").click()
    assert column() == sorted(before, reverse=True)

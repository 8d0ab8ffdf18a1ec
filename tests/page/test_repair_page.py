"""The page of a repaired table: what is in the file, and what it does in a browser."""

import base64
import json
import re
import zlib
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from browser import drawn, launch, reached_by_tab, visitor
from repairs import Repaired, Sheet, repaired_sensors
from rpcag.page import repair
from rpcag.page.document import is_page, write_page
from rpcag.page.repair import report
from test_page import EVIL, Reader


def _data(text):
    """What the script gets."""
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])["widgets"][0]


def _unpacked(packed):
    assert packed["kind"] == "exact"
    data = zlib.decompress(base64.b64decode(packed["data"]))
    return np.frombuffer(data, "<f4").reshape(packed["shape"])


def _rows(text):
    """Texts of the table of columns, by name."""
    table = text[text.index('id="columns"') : text.index('id="column"')]
    found = {}
    for row in re.findall(r"<tr>(.*?)</tr>", table):
        cells = re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)
        name, *rest = (re.sub("<.*?>", "", cell) for cell in cells)
        found[name] = rest
    return found


def _cells(text):
    """Texts of the table of changed cells."""
    table = text[text.index('id="cells"') :]
    rows = re.findall(r"<tr>(.*?)</tr>", table)[1:]
    found = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row) for row in rows]
    return [[re.sub("<.*?>", "", cell) for cell in row] for row in found]


# -- the file --------------------------------------------------------------------------


def test_main_numbers_are_in_the_text():
    sheet, repaired = repaired_sensors()
    text = report(sheet, repaired)
    told = Reader(text).text
    filled, replaced = repaired.filled.sum(), repaired.replaced.sum()
    assert "300 rows · 10 columns" in told
    assert f"{filled} gaps filled, {replaced} wrong cells replaced" in told
    assert "300 cells are still missing. 2 columns are constant or empty" in told
    middle = 100 * np.nanmedian(repaired.explained)
    assert f"Predicts {middle:.0f} % of the spread of hidden cells" in told
    assert "1 column is predicted no better than by the median" in told


def test_the_table_of_columns_needs_no_script():
    sheet, repaired = repaired_sensors()
    rows = _rows(report(sheet, repaired))
    filled, replaced = (A.sum(axis=0) for A in (repaired.filled, repaired.replaced))
    counts = [str(filled[0]), str(replaced[0])]
    assert rows["temperature_1"] == ["", *counts, "60 %", "0.44", "0.70", ""]
    assert rows["humidity_1"][3] == "−2 %"
    assert rows["humidity_1"][-1] == "no better than the median"
    assert rows["valve_1"] == ["", *"00–––", "constant, left alone"]
    assert rows["spare_1"] == ["", *"00–––", "empty, left alone"]


def test_strips_show_where_changes_are(monkeypatch):
    monkeypatch.setattr(repair, "BINS", 7)
    sheet, repaired = repaired_sensors()
    text = report(sheet, repaired)
    strips = re.findall(r'<svg class="strip".*?</svg>', text)
    assert len(strips) == 10
    edges = [300 * b // 7 for b in range(8)]
    for kind, mask in (("gap", repaired.filled), ("error", repaired.replaced)):
        for j, strip in enumerate(strips):
            path = re.search(rf'class="{kind}" d="(.*?)"', strip)[1]
            bars = dict(re.findall(r"M(\d+) 1v-?([\d.]+)", path))
            counts = [mask[a:b, j].sum() for a, b in pairwise(edges)]
            shown = [float(bars.get(str(b), 0)) for b in range(7)]
            expected = np.array(counts) / max(*counts, 1)
            np.testing.assert_allclose(shown, expected, atol=0.006)


def test_the_table_of_cells_has_the_largest_scores_first(monkeypatch):
    monkeypatch.setattr(repair, "LISTED", 50)
    sheet, repaired = repaired_sensors()
    text = report(sheet, repaired)
    rows = _cells(text)
    assert len(rows) == 50
    replaced = repaired.replaced.sum()
    assert replaced < 50
    scores = np.sort(repaired.scores[repaired.replaced])[::-1]
    shown = [float(row[5]) for row in rows[:replaced]]
    np.testing.assert_allclose(shown, scores, rtol=1e-3)
    assert {row[-1] for row in rows[:replaced]} <= {"too high", "too low"}
    assert {row[-1] for row in rows[replaced:]} == {"missing"}
    total = (repaired.filled | repaired.replaced).sum()
    assert f"50 of {total:,} changed cells" in text
    i, j = np.unravel_index(
        np.nanargmax(np.where(repaired.replaced, repaired.scores, np.nan)),
        sheet.X.shape,
    )
    name, column, old, new, interval, *_ = rows[0]
    assert (name, column) == (sheet.samples[i], sheet.features[j])
    low, high = interval.replace("−", "-").split(" to ")
    told = [float(x.replace("−", "-")) for x in (old, new, low, high)]
    matrices = sheet.X, repaired.values, repaired.lower, repaired.upper
    exact = [A[i, j] for A in matrices]
    np.testing.assert_allclose(told, exact, rtol=0.01, atol=0.01)


def test_changed_cells_are_exact():
    sheet, repaired = repaired_sensors()
    data = _data(report(sheet, repaired))
    row, column, *four, score = _unpacked(data["cells"])
    i, j = row.astype(int), column.astype(int)
    changed = np.zeros_like(repaired.filled)
    changed[i, j] = True
    np.testing.assert_array_equal(changed, repaired.filled | repaired.replaced)
    center, unit = _scales(data, j)
    matrices = sheet.X, repaired.values, repaired.lower, repaired.upper
    for scaled, A in zip(four, matrices, strict=True):
        np.testing.assert_allclose(center + unit * scaled, A[i, j], rtol=1e-6)
    np.testing.assert_allclose(score, repaired.scores[i, j], rtol=1e-6)
    assert data["names"] == sheet.samples
    facts = data["columns"][0]["facts"]
    assert facts.startswith(f"{repaired.filled[:, 0].sum()} filled")


def _scales(data, j):
    """Center and unit of columns."""
    columns = data["columns"]
    return np.array([(columns[k]["center"], columns[k]["unit"]) for k in j]).T


def test_a_large_table_is_a_small_page():
    sheet, repaired = repaired_sensors(100_000, 50)
    text = report(sheet, repaired)
    assert len(text) < 6_000_000
    total = int((repaired.filled | repaired.replaced).sum())
    assert f"of {total:,} changed cells are marked" in text
    data = _data(text)
    cells, lines = _unpacked(data["cells"]), _unpacked(data["lines"])
    assert 30_000 <= cells.shape[1] <= 30_300
    assert f"one of {data['step']} rows" in text
    (center,), (unit,) = _scales(data, [0])
    expected = (repaired.values[:: data["step"], 0] - center) / unit
    np.testing.assert_allclose(lines[:, 0], expected, rtol=1e-5, atol=1e-6)
    # The cells of the table are among those of the chart.
    rows = re.findall(r'data-column="(\d+)" data-row="(\d+)"', text)
    marked = {(int(k), int(i)) for i, k in cells[:2].T}
    assert len(rows) == 300
    assert {(int(k), int(i)) for k, i in rows} <= marked
    assert len(data["names"]) == 100_000


def test_of_many_columns_those_with_the_most_changes_are_shown(monkeypatch):
    monkeypatch.setattr(repair, "COLUMNS", 4)
    sheet, repaired = repaired_sensors()
    text = report(sheet, repaired)
    assert "The 4 of 10 columns with the most changes are shown." in text
    changes = (repaired.filled | repaired.replaced).sum(axis=0)
    least = np.sort(changes)[-4]
    names = [column["name"] for column in _data(text)["columns"]]
    shown = [sheet.features.index(name) for name in names]
    assert shown == sorted(shown)
    assert all(changes[j] >= least for j in shown)


def test_a_page_refers_to_nothing_outside_and_is_ours(tmp_path):
    path = tmp_path / "report.html"
    write_page(path, report(*repaired_sensors()))
    assert is_page(path)
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\s\"'<>)]+", text)) == {
        "http://www.w3.org/2000/svg"
    }
    for _, attributes in Reader(text).tags:
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:"))


def _hostile(n=60):
    sheet, repaired = repaired_sensors(n)
    features = [f"{EVIL}{j}" for j in range(10)]
    samples = [f"{i}{EVIL}" for i in range(n)]
    return Sheet(sheet.X, features, samples, EVIL.replace("/", "")), repaired


def test_what_users_name_is_never_markup():
    read = Reader(report(*_hostile()))
    kinds = [dict.get("type", "code") for tag, dict in read.tags if tag == "script"]
    assert kinds == ["application/json", "code"]
    assert not [tag for tag, _ in read.tags if tag == "img"]
    assert f"{EVIL}3" in read.text


def test_long_names_are_cut():
    sheet, repaired = repaired_sensors(60)
    long = replace(sheet, features=["x" * 5000] * 10)
    # A name is in the table, the menu and the list of cells.
    assert len(report(long, repaired)) < len(report(sheet, repaired)) + 15_000


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (1, 1), (3, 2)])
def test_small_and_unchanged_tables_have_a_page(shape):
    n, p = shape
    X, no = np.ones(shape), np.zeros(shape, dtype=bool)
    none, nothing = np.full(shape, np.nan), np.full(p, np.nan)
    repaired = Repaired(
        *(X, no, no, none, none, X, nothing, nothing, nothing),
        dead=np.ones(p, dtype=bool),
    )
    sheet = Sheet(X, [f"c{j}" for j in range(p)], [str(i) for i in range(n)])
    told = Reader(report(sheet, repaired)).text
    assert "0 gaps filled, 0 wrong cells replaced" in told
    assert ("Nothing was changed" if X.size else "This table is empty") in told


def test_numbers_of_any_size_are_kept():
    sheet, repaired = repaired_sensors(60)
    # Columns far from zero, and huge ones.
    center, unit = np.full(10, 1.7e9), np.ones(10)
    center[3], unit[3] = 0.0, 1e200
    scaled = Sheet(center + unit * sheet.X, sheet.features, sheet.samples)
    changes = {
        name: center + unit * getattr(repaired, name)
        for name in ("values", "lower", "upper")
    }
    data = _data(report(scaled, replace(repaired, **changes)))
    _, column, _, after, *_ = _unpacked(data["cells"])
    j = column.astype(int)
    center, unit = _scales(data, j)
    back = center + unit * after
    exact = changes["values"][repaired.filled | repaired.replaced]
    np.testing.assert_allclose(back, exact, rtol=1e-6, atol=1e-4)
    with pytest.raises(ValueError, match=r"values of 1.0e\+301, and a page holds none"):
        report(sheet, replace(repaired, values=np.full_like(sheet.X, 1e301)))


@pytest.mark.parametrize("value", [1e40, -1.79e308])
def test_a_wrong_value_of_any_size_leaves_the_digits_of_the_others(value):
    sheet, repaired = repaired_sensors(60)
    i, j = np.argwhere(repaired.replaced)[0]
    X, scores = sheet.X.copy(), repaired.scores.copy()
    X[i, j], scores[i, j] = value, np.finfo(float).max
    page = report(replace(sheet, X=X), replace(repaired, scores=scores))
    data = _data(page)
    _, column, before, after, *_ = _unpacked(data["cells"])
    center, unit = _scales(data, column.astype(int))
    changed = repaired.filled | repaired.replaced
    exact = repaired.values[changed]
    np.testing.assert_allclose(center + unit * after, exact, rtol=1e-6, atol=1e-4)
    assert np.isinf(before).sum() == 1
    assert f"{value:.4g}".replace("-", "−") in page


# -- in a browser ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def tab():
    with launch() as page:
        yield page


@pytest.fixture
def visit(tab, tmp_path):
    with visitor(tab) as go:

        def write_and_go(sheet, repaired, **options):
            write_page(tmp_path / "page.html", report(sheet, repaired))
            return go(tmp_path / "page.html", **options)

        yield write_and_go


def _selected(page):
    return page.locator("#column select").input_value()


CHART = "#column .plot"


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_pages_draw_in_any_window(visit, width, dark):
    page = visit(*_hostile(), width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#trouble").is_hidden()
    assert page.locator("img").count() == 0
    first = page.locator("#cells tbody tr").first.inner_text()
    assert EVIL[:30] in first
    assert page.locator(f"{CHART} path").count() > 5
    told = page.locator("#column [aria-live]").inner_text()
    assert "filled" in told


@pytest.mark.browser
def test_a_column_is_selected_in_the_table_the_menu_and_by_keys(visit):
    sheet, repaired = repaired_sensors()
    page = visit(sheet, repaired)
    assert _selected(page) == str(repaired.replaced.sum(axis=0).argmax())
    before = page.locator(CHART).inner_html()
    page.locator("#column select").select_option("5")
    assert page.locator(CHART).inner_html() != before
    page.locator(CHART).focus()
    page.keyboard.press("ArrowDown")
    assert _selected(page) == "6"
    page.locator("#columns tbody a").first.click()
    assert _selected(page) == "0"


@pytest.mark.browser
def test_the_chart_zooms_by_dragging_buttons_and_keys(visit):
    page = visit(*repaired_sensors())

    def view():
        return page.evaluate("document.querySelector('[data-widget=column]').view")

    page.locator(CHART).scroll_into_view_if_needed()
    whole = page.locator(CHART).inner_html()
    box = page.locator(CHART).bounding_box()
    page.mouse.move(box["x"] + 400, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 120, steps=3)
    page.mouse.up()
    zoomed = view()
    width = box["width"] - 74
    expected = [-0.5 + (px - 64) / width * 300 for px in (400, 600)]
    np.testing.assert_allclose(zoomed, expected, atol=0.5)
    page.get_by_role("button", name="zoom out").click()
    assert np.diff(view()) == pytest.approx(2 * np.diff(zoomed))
    page.locator(CHART).focus()
    page.keyboard.press("0")
    assert view() == [-0.5, 299.5]
    assert page.locator(CHART).inner_html() == whole


@pytest.mark.browser
def test_cells_are_sorted_and_shown_in_the_chart(visit):
    sheet, repaired = repaired_sensors()
    page = visit(sheet, repaired)
    lines = page.locator("#cells tbody tr")

    def column(k):
        return [text.split("\t")[k] for text in lines.all_inner_texts()]

    scores = np.sort(repaired.scores[repaired.replaced])[::-1]
    wrong = len(scores)
    shown = [float(x) for x in column(5)[:wrong]]
    np.testing.assert_allclose(shown, scores, rtol=1e-3)
    page.locator("#cells th button", has_text="score").click()
    shown = [float(x) for x in column(5)[:wrong]]
    np.testing.assert_allclose(shown, scores[::-1], rtol=1e-3)
    assert set(column(5)[wrong:]) == {"–"}
    page.locator("#cells th button", has_text="column").click()
    assert column(1)[0] == "co2_1"
    row, name = column(0)[-1], column(1)[-1]
    page.locator("#cells tbody a").last.click()
    assert _selected(page) == str(sheet.features.index(name))
    told = page.locator(CHART).get_attribute("aria-label")
    assert told.startswith(f"{name} from ")
    low, high = page.evaluate("document.querySelector('[data-widget=column]').view")
    assert low < sheet.samples.index(row) < high
    assert high - low <= 120
    assert page.locator(f"{CHART} circle.ring").count() == 1


@pytest.mark.browser
def test_keys_walk_over_the_changes_and_the_pointer_tells_of_them(visit):
    sheet, repaired = repaired_sensors()
    page = visit(sheet, repaired)
    page.locator(CHART).focus()
    j = int(_selected(page))
    changed = np.flatnonzero(repaired.filled[:, j] | repaired.replaced[:, j])
    for i in changed[:3]:
        page.keyboard.press("n")
        ring = page.locator(f"{CHART} circle.ring").bounding_box()
        page.mouse.move(ring["x"] + 8, ring["y"] + 8)
        told = page.locator("#tooltip.shown").inner_text()
        assert sheet.samples[i] in told
        assert ("filled with" in told) == repaired.filled[i, j]
        page.mouse.move(0, 0)


@pytest.mark.browser
def test_everything_is_reached_by_the_keyboard(visit):
    reached = reached_by_tab(visit(*repaired_sensors(40, 3)))
    assert all(name and ring for _, name, ring in reached)
    tags = {tag for tag, _, _ in reached}
    assert {"A", "BUTTON", "SELECT", "DIV"} <= tags


@pytest.mark.browser
@pytest.mark.slow
def test_a_large_table_draws(visit):
    sheet, repaired = repaired_sensors(100_000, 50)
    page = visit(sheet, repaired)
    page.locator("#cells tbody a").first.click()
    drawn(page)
    assert page.locator(f"{CHART} circle.ring").count() == 1

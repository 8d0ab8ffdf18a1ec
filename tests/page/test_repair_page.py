"""The page of a repaired table: what is in the file, and what it does in a browser."""

import base64
import json
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest

from browser import drawn, launch, picture, reached_by_tab, visitor
from repairs import Repaired, Sheet, repaired_sensors
from rpcag.page import repair
from rpcag.page.document import is_page
from rpcag.page.repair import report, write_report
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
    table = text[text.index('id="columns"') :]
    found = {}
    for row in re.findall(r"<tr>(.*?)</tr>", table):
        cells = re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)
        name, *rest = (re.sub("<.*?>", "", cell) for cell in cells)
        found[name] = rest
    return found


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
    assert rows["temperature_1"] == ["60 %", "0.44", "0.70", *counts, ""]
    assert rows["humidity_1"][0] == "−2 %"
    assert rows["humidity_1"][-1] == "no better than the median"
    assert rows["valve_1"] == [*"–––00", "constant, left alone"]
    assert rows["spare_1"] == [*"–––00", "empty, left alone"]


def test_changed_cells_are_exact():
    sheet, repaired = repaired_sensors()
    data = _data(report(sheet, repaired))
    row, column, *four, score = _unpacked(data["cells"])
    i, j = row.astype(int), column.astype(int)
    changed = np.zeros_like(repaired.filled)
    changed[i, j] = True
    np.testing.assert_array_equal(changed, repaired.filled | repaired.replaced)
    unit = np.array(data["columns"]["unit"])[j]
    center = np.array(data["columns"]["center"])[j]
    matrices = sheet.X, repaired.values, repaired.lower, repaired.upper
    for scaled, A in zip(four, matrices, strict=True):
        np.testing.assert_allclose(center + unit * scaled, A[i, j], rtol=1e-6)
    np.testing.assert_allclose(score, repaired.scores[i, j], rtol=1e-6)
    assert data["rows"]["names"] == sheet.samples
    np.testing.assert_array_equal(data["columns"]["filled"], repaired.filled.sum(0))


def test_the_map_counts_every_change(monkeypatch):
    monkeypatch.setattr(repair, "BINS", 7)
    sheet, repaired = repaired_sensors()
    found = _data(report(sheet, repaired))["map"]
    edges = found["edges"]
    assert edges[0] == 0
    assert edges[-1] == 300
    for name in ("filled", "replaced"):
        counts, mask = _unpacked(found[name]), getattr(repaired, name)
        assert counts.shape == (len(edges) - 1, 10)
        for b in range(len(edges) - 1):
            expected = mask[edges[b] : edges[b + 1]].sum(axis=0)
            np.testing.assert_array_equal(counts[b], expected)


def test_a_large_table_is_a_small_page():
    sheet, repaired = repaired_sensors(100_000, 50)
    text = report(sheet, repaired)
    assert len(text) < 5_000_000
    total = int((repaired.filled | repaired.replaced).sum())
    assert f"evenly drawn, of {total:,} changed cells" in text
    data = _data(text)
    cells = _unpacked(data["cells"])
    assert cells.shape == (7, repair.CELLS)
    low, high = (_unpacked(data["lines"][end]) for end in ("low", "high"))
    size = data["lines"]["edges"][1]
    unit, center = data["columns"]["unit"][0], data["columns"]["center"][0]
    part = (repaired.values[:size, 0] - center) / unit
    np.testing.assert_allclose([low[0, 0], high[0, 0]], [part.min(), part.max()], 1e-5)
    # The wrong cells that are left out have smaller scores, and gaps are from all rows.
    wrong = ~np.isnan(cells[2])
    least = cells[6][wrong].min()
    bigger = (repaired.scores[repaired.replaced] > 1.001 * least).sum()
    assert bigger <= wrong.sum()
    assert np.ptp(cells[0][~wrong]) > 99_000
    names = dict(zip(data["rows"]["at"], data["rows"]["names"], strict=True))
    assert all(names[i] == sheet.samples[i] for i in cells[0].astype(int)[:100])


def test_of_many_columns_those_with_the_most_changes_are_shown(monkeypatch):
    monkeypatch.setattr(repair, "COLUMNS", 4)
    sheet, repaired = repaired_sensors()
    text = report(sheet, repaired)
    assert "The 4 of 10 columns with the most changes are shown." in text
    changes = (repaired.filled | repaired.replaced).sum(axis=0)
    least = np.sort(changes)[-4]
    shown = [sheet.features.index(name) for name in _data(text)["columns"]["names"]]
    assert shown == sorted(shown)
    assert all(changes[j] >= least for j in shown)


def test_a_page_refers_to_nothing_outside_and_is_ours(tmp_path):
    path = tmp_path / "report.html"
    write_report(path, *repaired_sensors())
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


def test_names_are_cut_and_counted_rows_are_not_named():
    sheet, repaired = repaired_sensors(60)
    long = replace(sheet, features=["x" * 5000] * 10)
    assert len(report(long, repaired)) < len(report(sheet, repaired)) + 5000
    counted = replace(sheet, samples=[str(i) for i in range(60)])
    assert _data(report(counted, repaired))["rows"]["names"] is None


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
    back = np.array(data["columns"]["center"])[j]
    back = back + np.array(data["columns"]["unit"])[j] * after
    exact = changes["values"][repaired.filled | repaired.replaced]
    np.testing.assert_allclose(back, exact, rtol=1e-6, atol=1e-4)
    with pytest.raises(ValueError, match=r"values of 1.0e\+301, and a page holds none"):
        report(replace(sheet, X=np.full_like(sheet.X, 1e301)), repaired)


# -- in a browser ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def tab():
    with launch() as page:
        yield page


@pytest.fixture
def visit(tab, tmp_path):
    with visitor(tab) as go:

        def write_and_go(sheet, repaired, **options):
            write_report(tmp_path / "page.html", sheet, repaired)
            return go(tmp_path / "page.html", **options)

        yield write_and_go


def _selected(page):
    return page.locator("#column select").input_value()


CHART, MAP = "#column .plot canvas", "#changes .map canvas"


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_pages_draw_in_any_window(visit, width, dark):
    page = visit(*_hostile(), width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#trouble").is_hidden()
    assert page.locator("img").count() == 0
    first = page.locator("#cells tbody tr").first.inner_text()
    assert EVIL[:30] in first
    for selector in (CHART, MAP):
        code = """(s) => {
            const canvas = document.querySelector(s), { width, height } = canvas;
            const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
            return new Set(new Uint32Array(data.buffer)).size;
        }"""
        assert page.evaluate(code, selector) > 10  # colors


@pytest.mark.browser
def test_a_column_is_selected_in_the_map_the_menu_the_table_and_by_keys(visit):
    sheet, repaired = repaired_sensors()
    page = visit(sheet, repaired)
    assert _selected(page) == str(repaired.replaced.sum(axis=0).argmax())
    box = page.locator(MAP).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 3.5 * 18)
    assert page.locator("#tooltip.shown .name").inner_text() == "co2_1"
    page.mouse.down()
    page.mouse.up()
    assert _selected(page) == "3"
    before = picture(page, CHART)
    page.locator("#column select").select_option("5")
    assert picture(page, CHART) != before
    page.locator(CHART).focus()
    page.keyboard.press("ArrowDown")
    assert _selected(page) == "6"
    page.locator("#columns tbody a").first.click()
    assert _selected(page) == "0"
    page.locator(MAP).focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    assert _selected(page) == "2"


@pytest.mark.browser
def test_the_map_tells_what_is_in_its_cells(visit):
    sheet, repaired = repaired_sensors(40, 6)
    page = visit(sheet, repaired)
    page.locator(MAP).focus()
    start = int(_selected(page))
    page.keyboard.press("ArrowRight")
    for i in range(5):
        told = page.locator("#tooltip.shown").inner_text()
        assert sheet.features[start] in told
        assert sheet.samples[i] in told
        counts = [int(repaired.filled[i, start]), int(repaired.replaced[i, start])]
        assert re.findall(r"(\d) of 1", told) == [str(c) for c in counts]
        page.keyboard.press("ArrowRight")


@pytest.mark.browser
def test_the_chart_zooms_by_dragging_buttons_and_keys(visit):
    page = visit(*repaired_sensors())
    whole = picture(page, CHART)
    box = page.locator(CHART).bounding_box()
    page.mouse.move(box["x"] + 400, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 120, steps=3)
    page.mouse.up()
    zoomed = page.evaluate("repair.view")
    width = box["width"] - 74
    expected = [-0.5 + (px - 64) / width * 300 for px in (400, 600)]
    np.testing.assert_allclose(zoomed, expected, atol=0.5)
    page.get_by_role("button", name="zoom out").click()
    assert np.diff(page.evaluate("repair.view")) == pytest.approx(2 * np.diff(zoomed))
    page.mouse.move(0, 0)
    page.locator(CHART).focus()
    page.keyboard.press("0")
    assert page.evaluate("repair.view") == [-0.5, 299.5]
    page.locator(CHART).evaluate("(canvas) => canvas.blur()")
    assert picture(page, CHART) == whole


@pytest.mark.browser
def test_cells_are_sorted_filtered_and_shown_in_the_chart(visit):
    sheet, repaired = repaired_sensors()
    page = visit(sheet, repaired)
    lines = page.locator("#cells tbody tr")

    def column(k):
        return [text.split("\t")[k] for text in lines.all_inner_texts()]

    scores = np.sort(repaired.scores[repaired.replaced])[::-1][:20]
    np.testing.assert_allclose([float(x) for x in column(5)], scores, atol=0.051)
    page.locator("#cells th button", has_text="score").click()
    assert float(column(5)[0]) < scores[-1]
    assert column(5) == sorted(column(5), key=float)
    page.locator("#cells select").first.select_option("gaps")
    assert set(column(6)) == {"missing"}
    assert set(column(2)) == {"–"}
    page.locator("#cells select").nth(1).select_option("2")
    assert set(column(1)) == {"pressure_1"}
    count = repaired.filled[:, 2].sum()
    assert f"of {count}" in page.locator("#cells").inner_text()
    at = np.flatnonzero(repaired.filled[:, 2])[1]
    page.locator("#cells input").fill(sheet.samples[at])
    assert lines.count() == 1
    assert float(column(3)[0]) == pytest.approx(repaired.values[at, 2], abs=0.01)
    page.locator("#cells tbody a").click()
    assert _selected(page) == "2"
    low, high = page.evaluate("repair.view")
    assert low < at < high
    assert high - low <= 120
    page.locator("#cells input").fill("no such row")
    assert "No changed cell is like this." in page.locator("#cells").inner_text()


@pytest.mark.browser
def test_pages_of_cells_are_turned(visit):
    page = visit(*repaired_sensors())
    first = page.locator("#cells tbody").inner_text()
    back = page.get_by_role("button", name="previous cells")
    assert back.is_disabled()
    page.get_by_role("button", name="next cells").click()
    assert page.locator("#cells tbody").inner_text() != first
    assert "21 to 40 of" in page.locator("#cells").inner_text()
    back.click()
    assert page.locator("#cells tbody").inner_text() == first


@pytest.mark.browser
def test_everything_is_reached_by_the_keyboard(visit):
    reached = reached_by_tab(visit(*repaired_sensors(40, 3)))
    assert all(name and ring for _, name, ring in reached)
    tags = {tag for tag, _, _ in reached}
    assert {"A", "BUTTON", "SELECT", "CANVAS", "INPUT"} <= tags


@pytest.mark.browser
@pytest.mark.slow
def test_a_large_table_draws(visit):
    sheet, repaired = repaired_sensors(100_000, 50)
    page = visit(sheet, repaired)
    page.locator("#cells tbody a").first.click()
    drawn(page)
    assert page.locator("#column .hint").first.inner_text().count("·") >= 3

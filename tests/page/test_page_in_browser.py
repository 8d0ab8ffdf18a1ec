"""Pages in a real browser: they draw, answer to pointer and keys, and stay at home."""

import re

import numpy as np
import pytest

from browser import drawn, launch, reached_by_tab, visitor
from decompositions import color_images, images, table
from rpcag.page.explore import explore

pytestmark = pytest.mark.browser

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
PAGES = ("images", "table")


@pytest.fixture(scope="module")
def tab():
    with launch() as page:
        yield page


@pytest.fixture(scope="module")
def found():
    names = {"samples": [f"{EVIL}{i}" for i in range(30)]}
    hostile = table(**names, labels=[EVIL] * 30)
    return {
        "images": images(),
        "table": hostile,
        "color": color_images(),
    }


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, one in found.items():
        (folder / f"{name}.html").write_text(explore(one), encoding="utf-8")
    return folder


@pytest.fixture
def visit(tab, folder):
    with visitor(tab) as go:
        yield lambda name, *options, **more: go(
            folder / f"{name}.html", *options, **more
        )


def _pixels(page, selector, at=0):
    """Red, green and blue of a canvas."""
    flat = page.evaluate(
        """([selector, at]) => {
            const canvas = document.querySelectorAll(selector)[at];
            const { width, height } = canvas;
            const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
            return [height, width, ...data];
        }""",
        [selector, at],
    )
    height, width, *data = flat
    return np.array(data).reshape(height, width, 4)[..., :3]


def _tooltip(page):
    drawn(page)
    tip = page.locator("#tooltip.shown")
    return tip.inner_text() if tip.count() else None


# -- what there is ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["images", "table"])
def test_every_section_is_there(visit, name):
    page = visit(name)
    titles = page.locator("section h2").all_inner_texts()
    assert titles == [
        *("Samples", "Embedding", "Components", "Parameters and provenance"),
    ]
    assert page.locator("#certificate strong").inner_text().startswith("Objective at")
    assert page.locator("#components rect").count() >= 2
    assert "edges between" in page.locator("#facts").inner_text()
    assert page.locator("#trouble").is_hidden()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_the_window(visit, name, width):
    page = visit(name, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_nothing_can_be_loaded_or_run(tab, folder):
    tab.goto((folder / "images.html").as_uri())
    blocked = tab.evaluate(
        """() => new Promise((resolve) => {
            const found = [];
            addEventListener("securitypolicyviolation", (event) => {
                found.push(event.effectiveDirective);
                if (found.length === 2) resolve(found.sort());
            });
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            const image = new Image();
            image.src = "https://example.org/x.png";
            document.body.append(script, image);
        })"""
    )
    assert blocked == ["img-src", "script-src-elem"]
    assert tab.evaluate("window.ran") is None


# -- samples ---------------------------------------------------------------------------


def _unpacked(page, name):
    code = """async (name) => {
        const data = JSON.parse(document.getElementById("data").textContent);
        return [...(await unpack(data.widgets[0][name])).values];
    }"""
    return np.array(page.evaluate(code, name))


def test_packed_arrays_come_out_as_they_went_in(visit, found):
    page = visit("table")
    sparse = found["table"].sparse
    values = _unpacked(page, "sparse")
    np.testing.assert_allclose(values.reshape(sparse.shape), sparse, rtol=1e-6)
    page = visit("images")
    low_rank, sparse = (_unpacked(page, name) for name in ("low_rank", "sparse"))
    L, S = found["images"].low_rank, found["images"].sparse
    np.testing.assert_allclose(
        low_rank.reshape(L.shape), L, atol=np.ptp(L) / 255 / 2 + 1e-5
    )
    # Of c^3, with c rounded by at most a half.
    top = np.abs(S).max()
    c = 127 * np.cbrt(np.abs(S) / top)
    error = 127**3 * np.abs(sparse.reshape(S.shape) - S) / top
    assert np.all(error <= 1.5 * c**2 + 0.75 * c + 0.126)
    assert np.all(sparse.reshape(S.shape)[S == 0] == 0)


def test_the_slider_moves_the_pictures_and_they_are_right(visit, found):
    page = visit("images")
    slider = page.get_by_role("slider")
    slider.focus()
    before = _pixels(page, ".panels canvas", 1)
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    drawn(page)
    after = _pixels(page, ".panels canvas", 1)
    assert np.abs(before - after).max() > 30
    assert slider.input_value() == "7"
    assert "sample 8 · label 7 · 8 of 40" in page.locator(".which").inner_text()
    L = found["images"].low_rank
    low, high = np.quantile(L, [0.001, 0.999])
    expected = 255 * np.clip((L[7].reshape(8, 8) - low) / (high - low), 0, 1)
    np.testing.assert_allclose(after[..., 0], expected, atol=3)
    # Blue below zero, red above.
    sparse = found["images"].sparse[7].reshape(8, 8)
    colors = _pixels(page, ".panels canvas", 2)
    redder = colors[..., 0] - colors[..., 2]
    strong = np.abs(sparse) > 0.3 * np.abs(sparse).max()
    assert strong.any()
    np.testing.assert_array_equal(np.sign(redder[strong]), np.sign(sparse[strong]))


def test_missing_pixels_have_a_color_of_their_own(visit, found):
    page = visit("images")
    original = _pixels(page, ".panels canvas", 0)
    colored = np.ptp(original, axis=2) > 0
    np.testing.assert_array_equal(colored, found["images"].missing[0].reshape(8, 8))


def test_colors_are_shown_as_they_are(visit, found):
    page = visit("color")
    page.get_by_role("slider").fill("4")
    drawn(page)
    pixels = _pixels(page, ".panels canvas", 0)
    one = found["color"]
    low, high = np.quantile(one.low_rank, [0.001, 0.999])
    X = (one.low_rank + one.sparse)[4].reshape(8, 8, 3)
    expected = 255 * np.clip((X - low) / (high - low), 0, 1)
    np.testing.assert_allclose(pixels, expected, atol=8)
    sparse = _pixels(page, ".panels canvas", 2)[0, 0]
    assert sparse[2] > sparse[0] + 50  # far below: blue


def test_rows_of_a_table_are_lines_with_names(visit, found):
    page = visit("table")
    page.get_by_role("slider").fill("3")
    drawn(page)
    rows = page.locator("#samples tbody tr").all_inner_texts()
    assert rows[0].split("\t")[:2] == ["feature 3", "40"]
    box = page.locator("#samples svg").first.bounding_box()
    share = (2 + 0.5) / 6  # of the third feature, of the width without the axis
    x = box["x"] + 58 + share * (box["width"] - 68)
    page.mouse.move(x, box["y"] + 60)
    told = _tooltip(page)
    assert told.startswith("feature 3")
    assert re.search(r"Original\s+40", told)
    page.get_by_role("slider").fill("5")
    drawn(page)
    page.mouse.move(x - (box["width"] - 68) / 6, box["y"] + 61)
    assert re.search(r"Original\s+missing", _tooltip(page))


def test_hostile_names_are_only_text(visit):
    page = visit("table")
    assert page.locator(".which").inner_text().startswith(f"{EVIL}0")
    assert page.locator("img").count() == 0
    assert page.locator(".legend button").inner_text() == EVIL


# -- embedding -------------------------------------------------------------------------


def _place(page, i):
    """Of a sample on the screen."""
    x, y = page.evaluate(
        "(i) => document.querySelector('[data-widget=embedding]').placeOf(i)", i
    )
    canvas = page.locator(".cloud svg")
    canvas.scroll_into_view_if_needed()
    drawn(page)
    box = canvas.bounding_box()
    return box["x"] + x, box["y"] + y


def test_pointing_shows_a_sample_and_a_click_selects_it(visit):
    page = visit("images")
    page.mouse.move(*_place(page, 12))
    name = page.locator("#tooltip.shown .name").inner_text()
    assert page.locator("#tooltip .thumbs canvas").count() == 3
    assert np.ptp(_pixels(page, "#tooltip canvas")) > 50
    page.mouse.down()
    page.mouse.up()
    drawn(page)
    assert page.locator(".which").inner_text().startswith(f"{name} ·")
    number = int(name.split()[1])
    assert page.get_by_role("slider").input_value() == str(number - 1)
    page.keyboard.press("Escape")
    assert _tooltip(page) is None


def test_the_cloud_moves_zooms_and_resets(visit):
    page = visit("images")
    start = _place(page, 5)
    x, y = _place(page, 12)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 10, steps=3)
    page.mouse.up()
    drawn(page)
    moved = np.subtract(_place(page, 5), start)
    np.testing.assert_allclose(moved, [60, 10], atol=0.5)
    page.keyboard.press("0")
    drawn(page)
    np.testing.assert_allclose(_place(page, 5), start, atol=0.5)
    page.get_by_role("button", name="zoom in").click()
    drawn(page)
    box = page.locator(".cloud svg").bounding_box()
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    np.testing.assert_allclose(
        np.subtract(_place(page, 5), middle),
        1.4 * np.subtract(start, middle),
        atol=1,
    )


def test_the_cloud_is_moved_by_keys(visit):
    page = visit("table")
    starts = np.array([_place(page, i) for i in range(4)])
    page.locator(".cloud svg").focus()
    page.keyboard.press("ArrowRight")
    drawn(page)
    moved = np.array([_place(page, i) for i in range(4)]) - starts
    np.testing.assert_allclose(moved, np.tile([12, 0], (4, 1)), atol=0.01)


def test_a_label_can_be_hidden(visit):
    page = visit("images")
    points = page.locator(".cloud path.points").first
    assert points.is_visible()
    button = page.locator(".legend button").first
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert not points.is_visible()


def test_other_components_are_chosen(visit, found):
    page = visit("images")
    Z = found["images"].embedding
    for axis, k in (("horizontal", 5), ("vertical", 0)):
        page.get_by_label(f"{axis} axis").select_option(str(k))
    drawn(page)
    places = np.array([_place(page, i) for i in range(8)])
    for side, k, sign in ((0, 5, 1), (1, 0, -1)):
        assert np.corrcoef(places[:, side], sign * Z[:8, k])[0, 1] > 1 - 1e-6


# -- for everyone ----------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_colors_are_those_of_the_system(visit, name):
    assert _ground(visit(name)) > 200
    assert _ground(visit(name, dark=True)) < 60


def _ground(page):
    text = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return np.mean([int(part) for part in re.findall(r"\d+", text)[:3]])


def test_everything_is_reached_by_the_keyboard(visit):
    reached = reached_by_tab(visit("images"))
    assert all(name and ring for _, name, ring in reached)
    tags = {tag for tag, _, _ in reached}
    assert {"A", "BUTTON", "INPUT", "SELECT", "svg", "SUMMARY"} <= tags


def test_arrows_step_through_the_samples_from_anywhere(visit):
    page = visit("images")
    page.locator("body").press("ArrowRight")
    page.get_by_role("button", name="next").click()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("slider").input_value() == "3"
    page.keyboard.press("ArrowLeft")
    assert page.get_by_role("slider").input_value() == "2"

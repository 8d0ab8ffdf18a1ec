"""Pictures of the pages, for the documentation: ``python docs/make_screenshots.py``.

``python docs/make_screenshots.py repair`` makes only that of a repaired table.
Data come with scikit-learn or are made up.
Needs Chromium, and the dependency group "dev".
"""

import io
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from rpcag_study.corruptions import occlude_blocks

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))

from browser import launch  # noqa: E402

SIZES = {"wide": (1280, 2300), "narrow": (390, 1900)}


def rpcag(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "rpcag", *map(str, words)], check=True)


def digits(folder: Path) -> Path:
    """Digits behind blocks, with a few lines lost."""
    X, y = load_digits(return_X_y=True)
    X, _ = occlude_blocks(X[:800], (8, 8), 0.15, random_state=0)
    rng = np.random.default_rng(0)
    for i in rng.choice(len(X), 200, replace=False):
        X[i].reshape(8, 8)[rng.integers(8)] = np.nan
    np.savez(folder / "digits.npz", X=X, y=y[:800])
    rpcag(
        *("decompose", folder / "digits.npz", "-o", folder / "digits", "--quiet"),
        *("--variable", "X", "--labels", "y", "--shape", "8x8", "--gamma", 0.05),
        *("--lam", 0.08),
    )
    return _explored(folder, "digits")


def sensors(folder: Path) -> Path:
    """A day of sensors, with dropouts and spikes."""
    rng = np.random.default_rng(0)
    hours = np.arange(0, 24, 0.25)
    names = [
        f"{kind}_{k}" for kind in ("temp", "humid", "light", "power") for k in "abcd"
    ]
    daily = np.sin((hours[:, None] - 9 - rng.uniform(0, 2, 16)) * np.pi / 12)
    units = np.repeat([6.0, 15.0, 300.0, 2.0], 4)
    X = np.repeat([18.0, 55.0, 400.0, 5.0], 4) + units * daily
    X += 0.03 * units * rng.standard_normal(X.shape)
    spikes = rng.random(X.shape) < 0.015
    X[spikes] += (rng.choice([-5, 5], X.shape) * units)[spikes]
    X[30:36, 5] = np.nan
    X[rng.random(X.shape) < 0.02] = np.nan
    lines = ["time," + ",".join(names)]
    for hour, row in zip(hours, X, strict=True):
        clock = f"{int(hour):02d}:{int(60 * (hour % 1)):02d}"
        cells = ["" if np.isnan(value) else f"{value:.2f}" for value in row]
        lines.append(",".join([clock, *cells]))
    (folder / "sensors.csv").write_text("\n".join(lines) + "\n")
    rpcag(
        *("decompose", folder / "sensors.csv", "-o", folder / "sensors", "--quiet"),
        *("--names", "time", "--scale", "robust"),
    )
    return _explored(folder, "sensors")


def repaired(folder: Path) -> Path:
    """The sensors of ``rpcag demo --files``, repaired."""
    page = folder / "repair.html"
    rpcag("demo", "--files", folder / "files", "--quiet")
    rpcag(
        *("repair", folder / "files" / "sensors.csv", "-o", folder / "repaired.csv"),
        *("--report", page, "--quiet"),
    )
    return page


def _explored(folder: Path, name: str) -> Path:
    page = folder / f"{name}.html"
    rpcag("explore", folder / name, "-o", page, "--quiet")
    return page


def shoot(page, url: str, name: str, views: list[str], prepare) -> None:
    """One page in several views, such as "wide light" and "narrow dark"."""
    for size, scheme in map(str.split, views):
        width, height = SIZES[size]
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.goto(url)
        page.wait_for_selector("html[data-ready=yes]")
        page.wait_for_timeout(200)
        prepare(page, size)
        page.wait_for_timeout(300)
        shot = Image.open(io.BytesIO(page.screenshot()))
        save(shot, HERE / "images" / f"{name}_{size}_{scheme}.webp")


def save(shot: Image.Image, path: Path) -> None:
    shot.convert("RGB").save(path, lossless=True, quality=100, method=6)
    print(path.relative_to(HERE.parent), path.stat().st_size)


def shoot_top(page, url: str, path: Path) -> None:
    """The upper part of a page, wide and light."""
    page.set_viewport_size({"width": 1280, "height": 1700})
    page.emulate_media(color_scheme="light")
    page.goto(url)
    page.wait_for_selector("html[data-ready=yes]")
    page.wait_for_timeout(500)
    save(Image.open(io.BytesIO(page.screenshot())), path)


def point_at_a_sample(page, size: str) -> None:
    """Select one, and show the tooltip of another."""
    slider = page.get_by_role("slider")
    slider.fill("10")
    slider.blur()
    if size == "wide":
        page.mouse.move(0, 0)
        place = "document.querySelector('[data-widget=embedding]').placeOf(25)"
        x, y = page.evaluate(place)
        page.locator(".cloud svg").hover(position={"x": x, "y": y})


def choose_the_worst(page, size: str) -> None:
    """The sample with the most in the sparse part."""
    amount = page.evaluate(
        "JSON.parse(document.getElementById('data').textContent).widgets[0].amount"
    )
    slider = page.get_by_role("slider")
    slider.fill(str(int(np.argmax(amount))))
    slider.blur()


def main() -> None:
    with tempfile.TemporaryDirectory() as name, launch() as page:
        folder = Path(name)
        path = HERE / "images" / "repair_report.webp"
        shoot_top(page, repaired(folder).as_uri(), path)
        if "repair" in sys.argv[1:]:
            return
        views = ["wide light", "wide dark", "narrow light"]
        shoot(page, digits(folder).as_uri(), "explore", views, point_at_a_sample)
        table = sensors(folder).as_uri()
        shoot(page, table, "explore_table", views[:1], choose_the_worst)


if __name__ == "__main__":
    main()

"""A sensor table and a short video to try the commands on."""

import csv
import io
import math
import os
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter

from rpcag.atomic import explained, write_together
from rpcag.datasets import make_sensors

TABLE, VIDEO = "sensors.csv", "street.mp4"
FRAMES, RATE, HEIGHT, WIDTH = 100, 25, 120, 160
# Moving objects: first row, height, width, pixels per frame, and color.
MOVING = ((72, 22, 40, 2.5, (190, 40, 35)), (38, 26, 9, -1.2, (35, 60, 120)))


def sensor_table(seed: int = 0) -> bytes:
    """Return a CSV file of 40 sensors, a constant column and an empty column."""
    sensors = make_sensors(seed=seed)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", *sensors.names, "valve_1", "spare_1"])
    # Enough digits that rounding stays below a hundredth of the deviation.
    deviations = sensors.signal.std(axis=0)
    digits = [max(0, 2 - math.floor(math.log10(d))) for d in deviations]
    for time, row in zip(sensors.times, sensors.X, strict=True):
        cells = [
            "" if math.isnan(x) else f"{x:.{d}f}"
            for x, d in zip(row, digits, strict=True)
        ]
        writer.writerow([str(time), *cells, "1", ""])
    return text.getvalue().encode()


def street_video(seed: int = 0) -> bytes:
    """Return an mp4 file of `street_frames`; needs the extra ``rpcag[video]``."""
    from rpcag.video.ffmpeg import Writer

    frames, _ = street_frames(seed)
    with tempfile.TemporaryDirectory() as folder:
        with Writer(Path(folder) / "video", Fraction(RATE)) as writer:
            for frame in frames:
                writer.write(frame)
        return writer.path.read_bytes()


def street_frames(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return frames of a scene in changing light, and a mask of its moving objects."""
    rng = np.random.default_rng(seed)
    texture = sum(
        w * gaussian_filter(rng.standard_normal((HEIGHT, WIDTH)), w) for w in (1, 3, 8)
    )
    scene = 120 + 22 * (texture / np.std(texture))[..., None] * [1.0, 0.95, 0.85]
    scene[66:100] = 90 + 0.35 * (scene[66:100] - 90)  # the road
    light = 1 + 0.12 * np.sin(2 * np.pi * np.arange(FRAMES) / 160)
    frames = scene * light[:, None, None, None]
    is_moving = np.zeros((FRAMES, HEIGHT, WIDTH), dtype=bool)
    for top, height, width, speed, color in MOVING:
        start = -width if speed > 0 else WIDTH
        for t in range(FRAMES):
            left = round(start + speed * t)
            part = np.s_[top : top + height, max(left, 0) : max(left + width, 0)]
            frames[t][part] = np.multiply(color, light[t])
            is_moving[t][part] = True
    frames += 2 * rng.standard_normal(frames.shape)
    return np.clip(np.rint(frames), 0, 255).astype(np.uint8), is_moving


def write_files(folder: Path, contents: dict[str, bytes]) -> list[Path]:
    """Write the files; none if one exists and has other content."""
    paths = {folder / name: content for name, content in contents.items()}
    for path, content in paths.items():
        is_same = path.is_file() and path.read_bytes() == content
        if os.path.lexists(path) and not is_same:
            raise FileExistsError(
                f"{path} exists and has other content; choose another folder"
            )
    with write_together(paths) as parts:
        for part, (path, content) in zip(parts, paths.items(), strict=True):
            with explained(path):
                part.write_bytes(content)
    return list(paths)

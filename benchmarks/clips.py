"""Made-up videos with known moving objects, to choose a mask rule without real masks.

Every clip is drawn from a seed: a crop of a photograph that comes with scikit-learn as
the scene; people-like and car-like shapes, cut out of the other photograph, that walk
through it and at times stand still; their shadows, which are not foreground; light
that is steady, drifts or is switched; leaves that wave in a part of some scenes; noise,
eight bits, and mostly JPEG. Through every fourth scene nobody walks.
"""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image
from scipy import ndimage
from sklearn.datasets import load_sample_images

HEIGHT, WIDTH, FRAMES = 120, 160, 200
SCORED = 10  # every so many-th frame


@dataclass(frozen=True)
class Clip:
    frames: np.ndarray  # uint8
    truth: np.ndarray  # bool, of the frames in `scored`
    scored: np.ndarray
    about: str


def make(seed: int) -> Clip:
    rng = np.random.default_rng([20, seed])
    photos = [image.mean(axis=2) for image in load_sample_images().images]
    scene, other = (photos[i] for i in rng.permutation(2))
    wall = _crop(scene, rng, HEIGHT, WIDTH)
    light, kind = _light(rng)
    leaves = _leaves(rng) if rng.random() < 0.3 else None
    walkers = [_Walker(rng, other) for _ in range(rng.integers(2, 7))]
    if seed % 4 == 3:
        walkers = []
    noise = rng.uniform(0, 4)
    quality = int(rng.integers(30, 96)) if rng.random() < 0.75 else None
    frames = np.empty((FRAMES, HEIGHT, WIDTH), np.uint8)
    truth = np.zeros(frames.shape, bool)
    for t in range(FRAMES):
        frame = (wall if leaves is None else leaves(wall, t)) * light[t]
        for walker in walkers:
            walker.cast_shadow(frame, t)
        for walker in walkers:
            walker.draw(frame, truth[t], t, light[t])
        frame += noise * rng.standard_normal(frame.shape)
        frames[t] = _jpeg(np.clip(np.rint(frame), 0, 255).astype(np.uint8), quality)
    scored = np.arange(0, FRAMES, SCORED)
    about = (
        f"{len(walkers)} objects, {kind} light, {'' if leaves else 'no '}leaves, "
        f"noise {noise:.1f}, {'no JPEG' if quality is None else f'JPEG {quality}'}"
    )
    return Clip(frames, truth[scored], scored, about)


class _Walker:
    """A shape with a texture, its path and its shadow."""

    def __init__(self, rng: np.random.Generator, photo: np.ndarray) -> None:
        height = rng.uniform(10, 50)
        upright = rng.random() < 0.6
        self.shape = _person(rng, height) if upright else _car(rng, height * 0.6)
        texture = _crop(photo, rng, *self.shape.shape)
        self.texture = np.clip(texture + rng.uniform(-40, 40), 0, 255)
        self.x, self.y = self._path(rng)
        self.shade = rng.uniform(0.55, 0.85) if rng.random() < 0.5 else None
        self.slant = rng.uniform(-1, 1)

    def _path(self, rng) -> tuple[np.ndarray, np.ndarray]:
        h, w = self.shape.shape
        moving = np.ones(FRAMES)
        if rng.random() < 0.4:
            stop = rng.integers(0, FRAMES - 60)
            moving[stop : stop + rng.integers(20, 60)] = 0
        speed, begins = rng.uniform(0.5, 3), rng.integers(-60, FRAMES // 2)
        way = speed * (np.cumsum(moving) - begins)
        x = way - w if rng.random() < 0.5 else WIDTH - way
        y = rng.uniform(0, HEIGHT - h) + rng.uniform(-0.2, 0.2) * way
        return x + 0.5 * rng.standard_normal(FRAMES), y

    def draw(self, frame, truth, t: int, light: float) -> None:
        place = _place(self.shape.shape, self.x[t], self.y[t], frame.shape)
        if place is not None:
            into, of = place
            shape = self.shape[of]
            frame[into][shape] = light * self.texture[of][shape]
            truth[into][shape] = True

    def cast_shadow(self, frame, t: int) -> None:
        if self.shade is None:
            return
        h, w = self.shape.shape
        flat = ndimage.zoom(self.shape.astype(float), (0.35, 1.3), order=1)
        flat = ndimage.gaussian_filter(np.pad(flat, 3), 1)
        x = self.x[t] - 0.15 * w + self.slant * w / 2
        place = _place(flat.shape, x - 3, self.y[t] + 0.75 * h - 3, frame.shape)
        if place is not None:
            into, of = place
            frame[into] *= 1 - (1 - self.shade) * np.clip(flat[of], 0, 1)


def _person(rng, height: float) -> np.ndarray:
    """A head, a trunk and two legs, of ellipses."""
    h, w = int(height), max(4, int(height * rng.uniform(0.3, 0.5)))
    parts = [
        (0.12, 0.5, 0.12, 0.22),
        (0.42, 0.5, 0.26, 0.45),
        (0.78, 0.32, 0.24, 0.18),
        (0.78, 0.68, 0.24, 0.18),
    ]
    return _ellipses(h, w, parts)


def _car(rng, height: float) -> np.ndarray:
    h, w = max(5, int(height)), max(8, int(height * rng.uniform(1.5, 2.5)))
    return _ellipses(h, w, [(0.62, 0.5, 0.38, 0.5), (0.4, 0.5, 0.4, 0.32)], power=4)


def _ellipses(h: int, w: int, parts, power: int = 2) -> np.ndarray:
    y, x = (np.mgrid[:h, :w] + 0.5) / np.array([h, w])[:, None, None]
    inside = np.zeros((h, w), bool)
    for cy, cx, ry, rx in parts:
        inside |= ((y - cy) / ry) ** power + ((x - cx) / rx) ** power < 1
    return inside


def _place(shape, x: float, y: float, frame):
    """Slices of the frame and of the shape where they overlap, if they do."""
    top, left = round(float(y)), round(float(x))
    a, b = max(top, 0), max(left, 0)
    c, d = min(top + shape[0], frame[0]), min(left + shape[1], frame[1])
    if a >= c or b >= d:
        return None
    into = slice(a, c), slice(b, d)
    return into, (slice(a - top, c - top), slice(b - left, d - left))


def _light(rng) -> tuple[np.ndarray, str]:
    kind = ("steady", "drifting", "switched")[rng.integers(3)]
    light = np.ones(FRAMES)
    if kind == "drifting":
        phase = rng.uniform(0, 2 * np.pi)
        light += rng.uniform(0.05, 0.2) * np.sin(np.arange(FRAMES) / 40 + phase)
    if kind == "switched":
        first, last = np.sort(rng.integers(20, FRAMES - 20, 2))
        light[first:last] = rng.uniform(0.6, 0.85)
    return light, kind


def _leaves(rng):
    """The scene with a part that waves by a pixel or two."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    cy, cx = rng.uniform(0, HEIGHT), rng.uniform(0, WIDTH)
    part = np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / rng.uniform(15, 35) ** 2)
    reach, pace = rng.uniform(0.5, 2), rng.uniform(0.1, 0.6)

    def wave(wall: np.ndarray, t: int) -> np.ndarray:
        moved = reach * part * np.sin(pace * t + x / 9 + y / 13)
        return ndimage.map_coordinates(wall, [y, x + moved], order=1, mode="nearest")

    return wave


def _crop(photo: np.ndarray, rng, h: int, w: int) -> np.ndarray:
    """A random part of a photograph, at a random scale."""
    scale = rng.uniform(1, min(photo.shape[0] / h, photo.shape[1] / w))
    th, tw = int(h * scale), int(w * scale)
    top = rng.integers(0, photo.shape[0] - th + 1)
    left = rng.integers(0, photo.shape[1] - tw + 1)
    part = Image.fromarray(photo[top : top + th, left : left + tw].astype(np.uint8))
    return np.asarray(part.resize((w, h), Image.Resampling.BOX), float)


def _jpeg(frame: np.ndarray, quality: int | None) -> np.ndarray:
    if quality is None:
        return frame
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))

"""Synthetic videos with known moving objects, to measure mask rules.

Every clip is drawn from a seed. The scene is the median of one of the study's clips, a
crop of a photograph that comes with scikit-learn, or a drawn room: a wall and a floor
of little texture in uneven light, with pictures and furniture. People, who swing their
arms and legs, and cars pass through it: a few or a crowd, anywhere or in the same
lanes. Some stand still for a while. Their shadows, hard or soft, and their reflections
on shiny floors are not foreground. Light is steady, drifts or is switched, sometimes
only in a part of the scene. Leaves wave in some scenes. The camera adds blur, shaking,
noise, rounding to eight bits, and mostly JPEG. In every fourth clip nothing moves.

Where an object stands for more than half of the time, it is background, whatever the
truth says. Such places are not scored.
"""

import io
from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image
from scipy import ndimage
from sklearn.datasets import load_sample_images

from rpcag_study.datasets import load_video
from rpcag_study.experiments.video import CLIPS

HEIGHT, WIDTH, FRAMES = 120, 160, 200
SCORED = 20  # step between scored frames
# Cumulated shares of objects that stand still, and the range of their frames.
PAUSES = ((0.35, 20, 60), (0.5, 60, 100), (0.6, 100, 170))


@dataclass(frozen=True)
class Clip:
    frames: np.ndarray  # uint8
    truth: np.ndarray  # bool, of the frames in `scored`
    decided: np.ndarray  # bool, of one frame: where the truth is one
    scored: np.ndarray
    about: str


def make(seed: int) -> Clip:
    rng = np.random.default_rng([23, seed])
    photos = [image.mean(axis=2) for image in load_sample_images().images]
    photo, other = (photos[i] for i in rng.permutation(2))
    scene = _Scene(rng, photo)
    light, kind = _light(rng)
    leaves = _leaves(rng) if rng.random() < 0.3 else None
    crowd = rng.random() < 0.4
    count = rng.integers(7, 17) if crowd else rng.integers(1, 7)
    walkers = [_Walker(rng, other, scene) for _ in range(count)]
    walkers.sort(key=lambda walker: walker.feet)  # who is nearer hides the others
    if seed % 4 == 3:
        walkers = []
    noise = rng.uniform(0, 4) if rng.random() < 0.85 else rng.uniform(4, 12)
    lens = rng.uniform(0, 0.8)
    lamp = _lamp(rng) if rng.random() < 0.2 else None
    shake = rng.uniform(0, 0.15) if rng.random() < 0.3 else 0.0
    quality = int(rng.integers(30, 96)) if rng.random() < 0.75 else None
    frames = np.empty((FRAMES, HEIGHT, WIDTH), np.uint8)
    truth = np.zeros(frames.shape, bool)
    hidden = np.zeros((len(walkers), HEIGHT, WIDTH), int)
    for t in range(FRAMES):
        frame = (scene.wall if leaves is None else leaves(scene.wall, t)) * light[t]
        if lamp is not None:
            frame = lamp(frame, t)
        for walker in walkers:
            walker.cast_shadow(frame, t)
            walker.reflect(frame, t, light[t])
        for walker, times in zip(walkers, hidden, strict=True):
            covered = walker.draw(frame, t, light[t])
            truth[t] |= covered
            times += covered
        frame = ndimage.gaussian_filter(frame, lens)
        if shake:
            moved = shake * rng.standard_normal(2)
            frame = ndimage.shift(frame, moved, order=1, mode="nearest")
        frame += noise * rng.standard_normal(frame.shape)
        frames[t] = _jpeg(np.clip(np.rint(frame), 0, 255).astype(np.uint8), quality)
    scored = np.arange(0, FRAMES, SCORED)
    about = (
        f"{scene.kind}, {len(walkers)} objects, {kind} light, "
        f"{'' if leaves else 'no '}leaves, noise {noise:.1f}, "
        f"{'no JPEG' if quality is None else f'JPEG {quality}'}"
    )
    decided = (hidden <= FRAMES // 2).all(axis=0)
    return Clip(frames, truth[scored], decided, scored, about)


class _Scene:
    """What the camera sees when nobody is there, and where people may walk."""

    def __init__(self, rng: np.random.Generator, photo: np.ndarray) -> None:
        self.kind = rng.choice(["camera", "room", "photograph"], p=[0.5, 0.25, 0.25])
        self.horizon = rng.uniform(0.1, 0.5) * HEIGHT
        self.gloss, self.lamps = 0.0, np.zeros((HEIGHT, WIDTH))
        if self.kind == "room":
            self.wall = self._room(rng, photo)
            if rng.random() < 0.5:
                self.gloss = rng.uniform(0.1, 0.4)
                self.lamps = self._lamps(rng)
                self.wall += self.gloss * self.lamps
        elif self.kind == "camera":
            self.wall = _seen_most(rng.choice(CLIPS))
            if rng.random() < 0.5:
                # Bright places of a floor that shines are lamps.
                self.gloss = rng.uniform(0.1, 0.4)
                self.lamps = ndimage.gaussian_filter(self.wall, 3)
        else:
            self.wall = _crop(photo, rng, HEIGHT, WIDTH)
        lanes = rng.integers(1, 4)
        places = rng.uniform(self.horizon, HEIGHT, lanes)
        self.lanes = places if rng.random() < 0.5 else None

    def _room(self, rng, photo: np.ndarray) -> np.ndarray:
        below = np.arange(HEIGHT)[:, None] > self.horizon
        wall = np.where(below, rng.uniform(60, 200), rng.uniform(60, 200))
        wall = np.broadcast_to(wall, (HEIGHT, WIDTH)).copy()
        grain = _crop(photo, rng, HEIGHT, WIDTH)
        wall += rng.uniform(0.02, 0.25) * (grain - grain.mean())
        for _ in range(rng.integers(2, 7)):
            h, w = rng.integers(10, 50, 2)
            y, x = rng.integers(0, HEIGHT - h), rng.integers(0, WIDTH - w)
            wall[y : y + h, x : x + w] = _crop(photo, rng, h, w)
        uneven = ndimage.gaussian_filter(rng.standard_normal(wall.shape), 30)
        return wall * (1 + 0.15 * uneven / uneven.std())

    def _lamps(self, rng) -> np.ndarray:
        """What a floor that shines reflects: a dim room, and lamps and windows."""
        y, x = np.mgrid[:HEIGHT, :WIDTH]
        seen = np.full((HEIGHT, WIDTH), rng.uniform(20, 60))
        for _ in range(rng.integers(2, 6)):
            cy, cx = rng.uniform(self.horizon, HEIGHT), rng.uniform(0, WIDTH)
            h, w = rng.uniform(6, 25), rng.uniform(4, 15)
            spot = np.exp(-(((y - cy) / h) ** 2) - ((x - cx) / w) ** 2)
            seen += rng.uniform(60, 200) * spot
        return seen * (y > self.horizon)

    def feet(self, rng) -> float:
        """How far down in the picture somebody walks."""
        if self.lanes is None:
            return rng.uniform(self.horizon, 1.1 * HEIGHT)
        return float(rng.choice(self.lanes)) + rng.uniform(-3, 3)

    def height(self, rng, feet: float) -> float:
        """Of somebody there: who is lower in the picture is nearer."""
        near = np.clip((feet - self.horizon) / (HEIGHT - self.horizon), 0, 1)
        return rng.uniform(0.8, 1.2) * (10 + 45 * near)


class _Walker:
    """A shape with a texture, its path, its shadow and its reflection."""

    def __init__(self, rng: np.random.Generator, photo: np.ndarray, scene) -> None:
        self.feet = scene.feet(rng)
        height = scene.height(rng, self.feet)
        if rng.random() < 0.7:
            self.shapes = _person(rng, height)
            self.texture = _clothes(rng, photo, self.shapes[0].shape)
        else:
            self.shapes = [_car(rng, height * 0.6)]
            texture = _crop(photo, rng, *self.shapes[0].shape)
            self.texture = np.clip(texture + rng.uniform(-40, 40), 0, 255)
        self.x, self.y, self.step = self._path(rng)
        self.shade = rng.uniform(0.5, 0.9) if rng.random() < 0.6 else None
        self.penumbra = rng.uniform(0.5, 4)
        self.slant = rng.uniform(-1, 1)
        self.gloss, self.lamps = scene.gloss, scene.lamps

    def _path(self, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where it is in every frame, and which of its shapes it has."""
        h, w = self.shapes[0].shape
        moving = np.ones(FRAMES)
        pause = rng.random()
        for share, shortest, longest in PAUSES:
            if pause < share:
                length = rng.integers(shortest, longest)
                stop = rng.integers(0, FRAMES - length)
                moving[stop : stop + length] = 0
                break
        speed, begins = rng.uniform(0.5, 3), rng.integers(-60, FRAMES // 2)
        way = speed * (np.cumsum(moving) - begins)
        x = way - w if rng.random() < 0.5 else WIDTH - way
        sway = np.where(moving > 0, 0, np.sin(np.arange(FRAMES) / rng.uniform(3, 10)))
        y = self.feet - h + rng.uniform(-0.1, 0.1) * way
        # A stride is about as long as its owner is high.
        step = np.floor(len(self.shapes) * way / h).astype(int) % len(self.shapes)
        return x + sway + 0.5 * rng.standard_normal(FRAMES), y, step

    def draw(self, frame, t: int, light: float) -> np.ndarray:
        """Into the frame; and where it is."""
        covered = np.zeros(frame.shape, bool)
        shape = self.shapes[self.step[t]]
        place = _place(shape.shape, self.x[t], self.y[t], frame.shape)
        if place is not None:
            into, of = place
            shape = shape[of]
            frame[into][shape] = light * self.texture[of][shape]
            covered[into] = shape
        return covered

    def cast_shadow(self, frame, t: int) -> None:
        if self.shade is None:
            return
        shape = self.shapes[self.step[t]]
        h, w = shape.shape
        flat = ndimage.zoom(shape.astype(float), (0.35, 1.3), order=1)
        flat = ndimage.gaussian_filter(np.pad(flat, 8), self.penumbra)
        x = self.x[t] - 0.15 * w + self.slant * w / 2
        place = _place(flat.shape, x - 8, self.y[t] + 0.75 * h - 8, frame.shape)
        if place is not None:
            into, of = place
            frame[into] *= 1 - (1 - self.shade) * np.clip(flat[of], 0, 1)

    def reflect(self, frame, t: int, light: float) -> None:
        """Upside down below the feet, blurred and the fainter the farther."""
        if not self.gloss:
            return
        shape = self.shapes[self.step[t]]
        h = len(shape)
        fading = np.pad(np.linspace(1, 0.3, h)[:, None] * shape[::-1], 4)
        fading = self.gloss * ndimage.gaussian_filter(fading, 1.5)
        mirror = np.pad(self.texture[::-1], 4, mode="edge")
        place = _place(fading.shape, self.x[t] - 4, self.y[t] + h - 4, frame.shape)
        if place is not None:
            into, of = place
            hidden = self.lamps[into]  # instead of these he is reflected
            frame[into] += light * fading[of] * (mirror[of] - hidden)


def _person(rng, height: float) -> list[np.ndarray]:
    """A head, a trunk, and arms and legs that swing, in eight phases of a stride."""
    h = int(height)
    w = max(5, int(0.6 * height))
    build, legs, arms = rng.uniform(0.1, 0.17), rng.uniform(0.2, 0.5), rng.uniform(0, 1)
    y, x = np.mgrid[:h, :w] + 0.5
    y, x = y / h, (x - w / 2) / h
    still = (x / 0.07) ** 2 + ((y - 0.08) / 0.08) ** 2 < 1
    still |= (x / build) ** 2 + ((y - 0.34) / 0.21) ** 2 < 1
    phases = []
    for phase in np.arange(8) / 8:
        swing = legs * np.sin(2 * np.pi * phase)
        limbs = [
            _limb(y, x, 0.46, 0.04, 0.54, swing, 0.055),
            _limb(y, x, 0.46, -0.04, 0.54, -swing, 0.055),
            _limb(y, x, 0.2, build, 0.36, -arms * swing, 0.035),
            _limb(y, x, 0.2, -build, 0.36, arms * swing, 0.035),
        ]
        phases.append(np.logical_or.reduce([still, *limbs]))
    return phases


def _limb(y, x, top: float, middle: float, length: float, angle: float, half: float):
    """Points no farther than `half` from a line that hangs at an angle."""
    down = np.cos(angle) * (y - top) + np.sin(angle) * (x - middle)
    aside = -np.sin(angle) * (y - top) + np.cos(angle) * (x - middle)
    beyond = down - np.clip(down, 0, length)
    return aside**2 + beyond**2 < half**2


def _clothes(rng, photo: np.ndarray, shape) -> np.ndarray:
    """Head, trunk and legs of their own brightness, with some texture."""
    h, _ = shape
    bands = np.repeat(rng.uniform(15, 240, 3), [h // 5, h // 3, h - h // 5 - h // 3])
    grain = _crop(photo, rng, *shape)
    texture = bands[:, None] + rng.uniform(0.1, 0.6) * (grain - grain.mean())
    return np.clip(texture, 0, 255)


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
    # A camera is not steady either: some percent in the course of a video.
    wander = ndimage.gaussian_filter1d(rng.standard_normal(FRAMES), 20)
    return light * (1 + rng.uniform(0, 0.02) * wander / wander.std()), kind


@cache
def _seen_most(clip: str) -> np.ndarray:
    """The median of its frames, in our size."""
    median = np.median(load_video(clip).frames[::4], axis=0).astype(np.uint8)
    whole = Image.fromarray(median).resize((WIDTH, HEIGHT), Image.Resampling.BOX)
    return np.asarray(whole, float)


def _lamp(rng):
    """The scene with a part that a lamp lights for a while."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    cy, cx = rng.uniform(0, HEIGHT), rng.uniform(0, WIDTH)
    part = np.exp(-(((y - cy) / 40) ** 4) - ((x - cx) / 50) ** 4)
    first, last = np.sort(rng.integers(10, FRAMES, 2))
    gain = rng.uniform(0.2, 0.5)

    def light(frame: np.ndarray, t: int) -> np.ndarray:
        return frame * (1 + gain * part) if first <= t < last else frame

    return light


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

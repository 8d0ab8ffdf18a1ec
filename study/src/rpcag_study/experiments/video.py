"""Moving objects in six videos with hand-made masks, by every method.

All methods get the same frames and the same rule from background to mask. OpenCV's
methods see the video twice, and their decisions take the place of the threshold. The
record also has their F as they come. Frames with masks that are far from the clip are
scored apart, with what was learned from the clip.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest
from sklearn.base import clone

from rpcag import RPCA, RPCAG
from rpcag.video import (
    BackgroundModel,
    fit_mask_rule,
    noise_level,
    refined,
    scaled,
)
from rpcag_study.datasets import Video, load_video
from rpcag_study.datasets.files import cache_folder, write_arrays
from rpcag_study.experiments import common
from rpcag_study.runs import known_names
from rpcag_study.tables import Table, best_cells

CLIPS = ("hall", "bootstrap", "shoppingmall", "lobby", "highway", "pedestrians")
PAPER_GAMMA = 10.0
PLAIN = ", as it comes"  # OpenCV's methods with shadows and without our clean-up
LEVEL = 0.05  # of the test between RPCAG and RPCA
SHOWN = 20  # masked frames kept for pictures, at the most
QUICK: dict[str, Any] = {"clips": ["shoppingmall"]}


class FoundMasks(NamedTuple):
    """Of the frames with masks: what moves, and what is behind it."""

    masks: np.ndarray
    background: np.ndarray  # between 0 and 1
    facts: dict[str, Any]
    elsewhere: Callable[[np.ndarray], np.ndarray]  # masks of frames not of the clip
    as_it_comes: Callable[[], np.ndarray] | None = None  # masks without our clean-up


@dataclass(frozen=True)
class VideoRun(common.Recorded, experiment="video"):
    """One method on one video."""

    clip: str
    model: str
    every: int = 1  # so many-th frame, and those with masks


# -- methods ---------------------------------------------------------------------------


def _decomposition(name: str, **options: Any) -> Callable[..., FoundMasks]:
    def find(frames: np.ndarray, masked: np.ndarray) -> FoundMasks:
        model = BackgroundModel(name, **options).fit(frames)
        background = model.fitted_background(masked)
        facts = _facts(model.estimator_, model.rule_)
        facts["moving"] = _digits(model.moving_)
        masks = model.mask(frames[masked], background)

        def elsewhere(others: np.ndarray) -> np.ndarray:
            return model.mask(others, model.background(others))

        return FoundMasks(masks, background, facts, elsewhere)

    return find


def _facts(fit: Any, rule: Any) -> dict[str, Any]:
    return {
        "rank": int(fit.rank_),
        "gap": _digits(fit.gap_),
        "iterations": int(fit.n_iter_),
        "lam": _digits(fit.lam_),
        "gamma": _digits(getattr(fit, "gamma_", 0.0)),
        "threshold": _digits(255 * rule.threshold**2),
    }


def _paper(model: RPCA | RPCAG) -> Callable[..., FoundMasks]:
    """A model of all values, as it is in the paper."""

    def find(frames: np.ndarray, masked: np.ndarray) -> FoundMasks:
        X = scaled(frames)
        fit = clone(model).fit(X.reshape(len(X), -1))
        L = fit.low_rank_.reshape(X.shape)
        rule = fit_mask_rule([X - L])

        def elsewhere(others: np.ndarray) -> np.ndarray:
            Y = scaled(others)
            Z = fit.transform(Y.reshape(len(Y), -1))
            return rule(Y, (Z @ fit.components_).reshape(Y.shape))

        masks = rule(X[masked], L[masked])
        return FoundMasks(masks, L[masked], _facts(fit, rule), elsewhere)

    return find


def _median(frames: np.ndarray, masked: np.ndarray) -> FoundMasks:
    X = scaled(frames)
    median = np.median(X, axis=0)
    rule = fit_mask_rule([X - median])

    def masks(frames: np.ndarray) -> np.ndarray:
        return rule(scaled(frames), np.broadcast_to(median, frames.shape))

    background = np.broadcast_to(median, X[masked].shape)
    facts = {"threshold": _digits(255 * rule.threshold**2)}
    return FoundMasks(masks(frames[masked]), background, facts, masks)


def _opencv(name: str) -> Callable[..., FoundMasks]:
    def find(frames: np.ndarray, masked: np.ndarray) -> FoundMasks:
        try:
            import cv2
        except ImportError as error:
            raise ImportError(
                f"{name} is OpenCV's: pip install opencv-python-headless"
            ) from error
        cv2.setNumThreads(1)
        cv2.setRNGSeed(0)  # KNN draws what it learns
        make = getattr(cv2, f"createBackgroundSubtractor{name}")
        wanted = set(masked.tolist())

        def second_pass(subtractor) -> tuple[np.ndarray, np.ndarray]:
            """Masks and backgrounds."""
            for frame in frames:
                subtractor.apply(frame)
            masks, behind = [], []
            for i, frame in enumerate(frames):
                mask = subtractor.apply(frame) == 255  # shadows are 127
                if i in wanted:
                    masks.append(mask)
                    behind.append(subtractor.getBackgroundImage())
            return np.stack(masks), np.stack(behind)

        subtractor = make(detectShadows=False)
        masks, behind = second_pass(subtractor)
        noise = noise_level(frames)
        background = scaled(behind)
        found = refined(masks, scaled(frames[masked]), background, noise)

        def elsewhere(others: np.ndarray) -> np.ndarray:
            """By what was learned from the clip."""
            masks = [subtractor.apply(frame, None, 0) == 255 for frame in others]
            behind = np.broadcast_to(background[-1], others.shape)
            return refined(np.array(masks), scaled(others), behind, noise)

        def as_it_comes() -> np.ndarray:
            return second_pass(make())[0]

        return FoundMasks(found, background, {}, elsewhere, as_it_comes)

    return find


# In the order of the tables. The choices that need no labels; the same with entries in
# motion as data; with the paper's lam, graph and gamma; the others.
ALL: dict[str, Any] = {"skip_motion": False}
METHODS: dict[str, Callable[..., FoundMasks]] = {
    "RPCAG": _decomposition("rpcag"),
    "RPCA": _decomposition("rpca"),
    "RPCAG, all entries": _decomposition("rpcag", **ALL),
    "RPCA, all entries": _decomposition("rpca", **ALL),
    "RPCAG, paper": _paper(RPCAG(lam="theory", gamma=PAPER_GAMMA, graph="complete")),
    "RPCA, paper": _paper(RPCA(lam="theory")),
    "MOG2": _opencv("MOG2"),
    "KNN": _opencv("KNN"),
    "median": _median,
}


# -- runs ------------------------------------------------------------------------------


def clip_of(run: VideoRun) -> Video:
    return load_video(run.clip)


def plan(
    *,
    clips: Sequence[str] = CLIPS,
    models: Sequence[str] = tuple(METHODS),
    every: int = 1,
    load: Callable[[VideoRun], Any] = clip_of,
) -> list[common.Task]:
    """Every method on every clip; `load` makes other videos from a run."""
    return [
        common.Task(VideoRun(clip, model, every), load, measure)
        for clip in known_names("clip", clips, CLIPS)
        for model in common.check_models(models, METHODS)
    ]


def measure(run: VideoRun, video: Video) -> dict:
    """Scores on all masked frames, the background's error, and seconds per frame.

    What is needed for pictures is put into the user's cache: the store has numbers
    only, since the videos are not ours to give away.
    """
    frames, masked = thinned(video, run.every)
    start = time.process_time()
    found = METHODS[run.model](frames, masked)
    seconds = time.process_time() - start
    facts, elsewhere = found.facts, None
    if found.as_it_comes is not None:
        other = foreground_scores(found.as_it_comes(), video.masks, video.valid)
        facts["as_it_comes"] = _digits(other[2])
    if video.extra_frames is not None and video.extra_masks is not None:
        masks = found.elsewhere(video.extra_frames)
        elsewhere = _digits(foreground_scores(masks, video.extra_masks)[2])
    precision, recall, f = foreground_scores(found.masks, video.masks, video.valid)
    error = behind_error(found.background, video, frames[masked])
    _keep(run, video, found)
    return {
        "frames": len(frames),
        "shape": list(frames.shape[1:]),
        "masks": len(masked),
        "precision": _digits(precision),
        "recall": _digits(recall),
        "f": _digits(f),
        "elsewhere": elsewhere,
        "behind": None if error is None else _digits(error),
        "seconds_per_frame": _digits(seconds / len(frames)),
        "facts": facts,
    }


def foreground_scores(
    masks: np.ndarray, truth: np.ndarray, valid: np.ndarray | None = None
) -> tuple[float, float, float]:
    """Precision, recall and F of the pooled pixels of all frames; 1 if both are empty.

    Only `valid` pixels count. 0 / 0 is 0.
    """
    if valid is not None:
        masks, truth = masks[valid], truth[valid]
    right = int((masks & truth).sum())
    found, there = int(masks.sum()), int(truth.sum())
    if found == there == 0:
        return 1.0, 1.0, 1.0
    f = 2 * right / (found + there)
    return right / max(found, 1), right / max(there, 1), f


def thinned(video: Video, every: int) -> tuple[np.ndarray, np.ndarray]:
    """Every so many-th frame and all with masks, and where the latter are in these."""
    kept = np.union1d(np.arange(0, len(video.frames), every), video.mask_index)
    return video.frames[kept], np.searchsorted(kept, video.mask_index)


def behind_error(background: np.ndarray, video: Video, frames) -> float | None:
    """Mean distance, in gray levels, from the true background behind the objects.

    The truth is the median of a pixel over the frames in which nothing is before it,
    where these are at least fifty: only videos with a mask for every frame have them.
    """
    valid = np.True_ if video.valid is None else video.valid
    known = ~video.masks & valid
    pixels = known.sum(axis=0) >= 50
    if not pixels.any():
        return None
    values = np.where(known[:, pixels], frames[:, pixels].astype(np.float32), np.nan)
    truth = np.nanmedian(values, axis=0)
    hidden = (video.masks & valid)[:, pixels]
    apart = np.abs(255 * background[:, pixels] - truth)
    return float(apart[hidden].mean())


def picture_file(run: dict) -> Path:
    name = run["model"].replace(", ", "_").replace(" ", "_")
    return cache_folder() / "video" / f"{run['clip']}-{name}-{run['every']}.npz"


def _keep(run: VideoRun, video: Video, found: FoundMasks) -> None:
    """For pictures: some of the masked frames."""
    count = min(SHOWN, len(video.masks))
    chosen = np.unique(np.linspace(0, len(video.masks) - 1, count).astype(int))
    background = (255 * np.clip(found.background[chosen], 0, 1)).astype(np.uint8)
    arrays = {
        "frames": video.frames[video.mask_index[chosen]],
        "truth": video.masks[chosen],
        "mask": found.masks[chosen],
        "background": background,
    }
    write_arrays(picture_file(run.record()), arrays)


def _digits(number: float) -> float:
    return float(f"{number:.4g}")


# -- tables ----------------------------------------------------------------------------


def scores(records: Iterable[dict]) -> dict[tuple[str, str], dict]:
    """Records by clip and method; of several thinnings the finest."""
    found: dict[tuple[str, str], dict] = {}
    for record in common.of_experiment("video", records):
        run = record["run"]
        key = run["clip"], run["model"]
        if key not in found or run["every"] < found[key]["run"]["every"]:
            found[key] = record
    return found


def tables(records: Iterable[dict]) -> list[Table]:
    """F, precision and recall, errors behind the objects, times and ranks."""
    found = scores(records)
    if not found:
        return []
    present = {clip for clip, _ in found}
    clips = [clip for clip in CLIPS if clip in present]
    clips += sorted(present - set(CLIPS))
    models = [m for m in METHODS if any((clip, m) in found for clip in clips)]

    def rows(
        value: Callable[[dict], Any], show: str, of=clips, mean: bool = False
    ) -> list[list[str]]:
        """Methods without any value are left out; a mean is of all clips or none."""
        lines = []
        for model in models:
            values: list[Any] = [
                value(found[c, model]) if (c, model) in found else None for c in of
            ]
            if all(v is None for v in values):
                continue
            if mean:
                values.append(None if None in values else np.mean(values))
            shown = ("-" if v is None else show.format(v) for v in values)
            lines.append([model, *shown])
        return lines

    f = rows(lambda r: r["f"], "{:.3f}", mean=True)
    plain = rows(lambda r: r["facts"].get("as_it_comes"), "{:.3f}", mean=True)
    f += [[f"{name}{PLAIN}", *cells] for name, *cells in plain]
    beyond = [
        clip
        for clip in clips
        if any(
            r.get("elsewhere") is not None for (c, _), r in found.items() if c == clip
        )
    ]

    def table(title: str, lines: list, of=clips, mean: bool = False, note: str = ""):
        header = ["method", *of, *(["mean"] if mean else [])]
        best = best_cells(lines, range(1, len(header)), max) if mean else frozenset()
        return Table(title, header, lines, best, note)

    made = [
        table("F of the foreground", f, mean=True),
        table(
            "F on frames of the same videos, far from the clips",
            rows(lambda r: r.get("elsewhere"), "{:.3f}", beyond, mean=True),
            beyond,
            mean=True,
        ),
        table(
            "Precision / recall in %",
            rows(
                lambda r: (100 * r["precision"], 100 * r["recall"]),
                "{0[0]:.0f} / {0[1]:.0f}",
            ),
        ),
        table(
            "Mean error of the background behind objects, in gray levels of 255",
            rows(lambda r: r["behind"], "{:.1f}"),
            note="The true background is one picture for all frames, the median of "
            "those without an object at the pixel. This favors the median.",
        ),
        table(
            "Milliseconds of one core per frame",
            rows(lambda r: 1000 * r["seconds_per_frame"], "{:.1f}"),
        ),
        table(
            "Rank of the background",
            rows(lambda r: r["facts"].get("rank"), "{}"),
        ),
    ]
    return [table for table in made if table.rows]


def outcome(records: Iterable[dict]) -> str:
    """Whether the clips show a difference between RPCAG and RPCA, by a sign test."""
    found = scores(records)
    apart = [
        found[clip, "RPCAG"]["f"] - found[clip, "RPCA"]["f"]
        for clip in dict.fromkeys(clip for clip, _ in found)
        if (clip, "RPCAG") in found and (clip, "RPCA") in found
    ]
    above, below = (sum(sign * d > 0 for d in apart) for sign in (1, -1))
    if not above + below:
        return ""
    p = binomtest(above, above + below).pvalue
    clear = "a" if p <= LEVEL else "no"
    return (
        f"F of RPCAG is higher than that of RPCA on {above} clips and lower on "
        f"{below}: {clear} significant difference (sign test, p = {p:.2g})."
    )

"""What constants of `rpcag.video.masks` would made-up clips choose, without real masks?

    python benchmarks/mask_rule.py           # half an hour; writes mask_rule.json
    python benchmarks/mask_rule.py --clips   # their F on the study's clips, as well

From the plainest rule (Otsu's threshold on |S|, holes filled, nothing else), and from
some drawn by chance, one constant after another takes the value of highest score, until
none changes. The score is F, and where nothing moves one minus twenty times the share
that is marked; its mean over the first clips of `clips.py`, with the backgrounds of
RPCAG and of RPCA, both as they come. The best end is taken, and the other clips confirm
it. Last, at these constants, other values of the reach of RPCAG's gamma are scored. No
score on a mask made by hand has a say; that floors shine in the clips was learnt by
looking at some (docs/video.md).
"""

import json
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from pathlib import Path

import clips
import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from rpcag.datasets import load_video
from rpcag.metrics import foreground_scores
from rpcag.study.experiments import video
from rpcag.study.experiments.task import quietly
from rpcag.video import background, masks
from rpcag.video.background import BackgroundModel, scaled

FILE = Path(__file__).with_suffix(".json")
CHOSEN_ON, CONFIRMED_ON = range(48), range(48, 64)
STARTS = 3
MODELS = ("rpcag", "rpca")
CLIP_MODELS = ("RPCAG", "RPCA", "KNN", "MOG2", "median")
# The first is the plain one, mostly that a step is left out.
CANDIDATES = {
    "POWER": (1.0, 0.5),
    "BLUR": (0.0, 0.5, 0.75, 1.0, 1.5, 2.0),
    "FLOOR": (0.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0),
    "SIGMAS": (0.0, 2.0, 3.0, 4.0, 6.0),
    "TEXTURE": (1.0, 2.0, 4.0),
    "WINDOWS": ((1.0,), (2.5,), (1.0, 2.5)),
    "GAP": (0.0, 1.0, 2.0, 3.0, 4.0, 6.0),
    "AREA": (0.0, 10.0, 20.0, 40.0),
}
REACHES = (2.0, 8.0)
SHIPPED_REACH = background.REACH["rpcag"]
SHIPPED = {name: getattr(masks, name) for name in CANDIDATES}


class Background:
    """Of a clip by one model, and what rules see there, each part computed once."""

    def __init__(self, clip, model: str, reach: float) -> None:
        background.REACH["rpcag"] = reach
        with threadpool_limits(1):
            fit = BackgroundModel(model).fit(clip.frames)
        self.frames = scaled(clip.frames[clip.scored])
        self.background = fit.fitted_background(clip.scored)
        self.truth = clip.truth
        self._seen: dict = {}

    def score(self, constants) -> float:
        for name, value in constants.items():
            setattr(masks, name, value)
        S = self.frames - self.background
        evidence = self._once(constants, ("POWER", "BLUR"), lambda: masks.evidence(S))
        rule = self._once(constants, ("POWER", "BLUR", "FLOOR"), lambda: _rule(S))
        lit = self._once(
            constants,
            ("SIGMAS", "TEXTURE", "WINDOWS"),
            lambda: masks.lit_differently(self.frames, self.background, rule.noise),
        )
        found = (evidence > rule.threshold) & ~lit
        mask = np.stack([masks.clean(frame) for frame in found])
        if self.truth.any():
            return foreground_scores(mask, self.truth).f
        return 1 - min(1.0, 20 * float(mask.mean()))

    def _once(self, constants, names, compute):
        key = (names, *(constants[name] for name in names))
        if key not in self._seen:
            self._seen[key] = compute()
        return self._seen[key]


def _rule(S):
    estimate = masks.MaskEstimate()
    estimate.add(S)
    return estimate.rule()


@cache
def backgrounds(seed, reach):
    clip = clips.make(seed)
    models = MODELS if reach == SHIPPED_REACH else MODELS[:1]
    return [Background(clip, model, reach) for model in models]


def share_of_scores(constants, seeds, reach):
    return [[b.score(constants) for b in backgrounds(s, reach)] for s in seeds]


class Scores:
    """Of constants on clips; every process keeps its share of the clips."""

    def __init__(self, n_processes=2) -> None:
        self._processes = [ProcessPoolExecutor(1) for _ in range(n_processes)]
        self._known: dict = {}

    def __call__(self, constants, seeds, reach=SHIPPED_REACH) -> np.ndarray:
        """Means over the clips, by model."""
        key = (*constants.values(), seeds, reach)
        if key not in self._known:
            n = len(self._processes)
            parts = [
                process.submit(share_of_scores, constants, seeds[i::n], reach)
                for i, process in enumerate(self._processes)
            ]
            found = np.vstack([part.result() for part in parts])
            self._known[key] = found.mean(axis=0)
        return self._known[key]

    @property
    def tried(self) -> int:
        return len(self._known)


def climb(scores, start):
    """The end of a search, and every step on the way."""
    best, reached = start, scores(start, CHOSEN_ON).mean()
    way, changed = [{"score": reached, **best}], True
    while changed:
        changed = False
        for name, values in CANDIDATES.items():
            found = [scores(best | {name: v}, CHOSEN_ON).mean() for v in values]
            if max(found) > reached:
                reached, best = max(found), best | {name: values[np.argmax(found)]}
                way.append({"score": reached, **best})
                changed = True
    print(f"{reached:.4f}", best, flush=True)
    return best, way


def main():
    scores, rng = Scores(), np.random.default_rng(0)
    plain = {name: values[0] for name, values in CANDIDATES.items()}
    starts = [plain] + [
        {name: values[rng.integers(len(values))] for name, values in CANDIDATES.items()}
        for _ in range(STARTS - 1)
    ]
    ends = [climb(scores, start) for start in starts]
    best, _ = max(ends, key=lambda end: end[1][-1]["score"])
    report = {
        "candidates": CANDIDATES,
        "tried": scores.tried,
        "chosen": best,
        "shipped": SHIPPED,
        "ends": [{"start": way[0], "end": way[-1]} for _, way in ends],
    }
    for name, constants in (("plain", plain), ("shipped", SHIPPED), ("chosen", best)):
        for group, seeds in (("chosen_on", CHOSEN_ON), ("confirmed_on", CONFIRMED_ON)):
            report[f"{name} {group}"] = by_model(scores(constants, seeds))
            print(name, group, report[f"{name} {group}"], flush=True)
    FILE.write_text(json.dumps(report, indent=1) + "\n")
    for reach in REACHES:
        report[f"reach {reach:g}"] = float(scores(best, CHOSEN_ON, reach)[0].round(4))
        print(reach, report[f"reach {reach:g}"], flush=True)
    FILE.write_text(json.dumps(report, indent=1) + "\n")


def by_model(found):
    return dict(zip(MODELS, found.round(4).tolist(), strict=True))


def f_on_clip(constants, clip, model):
    for name, value in constants.items():
        setattr(masks, name, value)
    with quietly(), tempfile.TemporaryDirectory() as pictures:
        run = video.VideoRun(clip, model)
        return video.measure(run, load_video(clip), Path(pictures))["f"]


def on_clips():
    """The constants of the file, on clips with masks made by hand."""
    report = json.loads(FILE.read_text())
    runs = list(product(CLIP_MODELS, video.CLIPS))
    pool = Parallel(n_jobs=2)
    found = pool(delayed(f_on_clip)(report["chosen"], c, m) for m, c in runs)
    report["chosen, F"] = {
        model: {c: f for (m, c), f in zip(runs, found, strict=True) if m == model}
        for model in CLIP_MODELS
    }
    FILE.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    on_clips() if "--clips" in sys.argv[1:] else main()

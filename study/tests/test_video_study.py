"""The study of videos: every method on a small one, tables, page and figure."""

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from rpcag_study import Store, run
from rpcag_study.datasets import Video
from rpcag_study.experiments import video
from videos import scene

OURS = ["RPCAG", "RPCA", "median"]


def clip(task_run):
    frames, truth = scene(np.random.default_rng(3), n=40)
    index = np.arange(0, 40, 3)
    valid = np.ones(truth[index].shape, bool)
    valid[:, :, -4:] = False
    numbers = np.arange(40)
    return Video(
        task_run.clip,
        frames,
        numbers,
        truth[index],
        index,
        valid=valid,
        extra_frames=frames[1::9],
        extra_masks=truth[1::9],
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    store = Store(folder / "video.jsonl")
    models = list(video.METHODS)
    try:
        import cv2  # noqa: F401
    except ImportError:
        models = [m for m in models if m not in ("MOG2", "KNN")]
    tasks = video.plan(clips=["hall"], models=models, load=clip)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))  # of the pictures
        assert run(tasks, store) == []
    return store


@pytest.mark.parametrize("model", ["MOG2", "KNN"])
def test_the_methods_of_opencv_find_the_same_again(model):
    pytest.importorskip("cv2")
    rng = np.random.default_rng(0)
    frames = rng.integers(90, 160, (30, 24, 32)).astype(np.uint8)
    masked = np.arange(30)
    first, second = (video.METHODS[model](frames, masked).background for _ in range(2))
    assert np.array_equal(first, second)


def test_every_method_is_scored(store):
    found = {r["run"]["model"]: r for r in store.read()}
    for model in OURS:
        assert found[model]["f"] > 0.9
        assert found[model]["masks"] == 14
        assert found[model]["elsewhere"] > 0.9
        assert found[model]["seconds_per_frame"] > 0
    assert found["RPCAG"]["facts"]["gap"] <= 1e-3
    assert found["RPCAG, paper"]["facts"]["gamma"] == 10
    assert found["RPCAG"]["facts"]["gamma"] not in (0, 10)
    paper, ours = 1408**-0.5, 1 / (40**0.5 + 1408**0.5)
    assert found["RPCA, paper"]["facts"]["lam"] == pytest.approx(paper, rel=1e-3)
    assert found["RPCA"]["facts"]["lam"] == pytest.approx(ours, rel=1e-3)
    if "MOG2" in found:
        assert 0 <= found["MOG2"]["facts"]["as_it_comes"] <= 1


def test_tables_have_the_mean_and_mark_the_best():
    records = [
        {
            "run": {"experiment": "video", "clip": c, "model": m, "every": every},
            "f": f,
            "precision": 0.5,
            "recall": 0.25,
            "behind": behind,
            "seconds_per_frame": 0.01,
            "facts": {},
        }
        for c, m, every, f, behind in [
            ("hall", "RPCAG", 4, 0.1, None),
            ("hall", "RPCAG", 1, 0.8, None),
            ("hall", "RPCA", 1, 0.6, None),
            ("lobby", "RPCAG", 1, 0.4, 3.0),
            ("lobby", "RPCA", 1, 0.5, 4.0),
            ("lobby", "median", 1, 0.3, None),
        ]
    ]
    f, both, behind, times = video.tables(records)
    assert f.rows == [
        ["RPCAG", "0.800", "0.400", "0.600"],
        ["RPCA", "0.600", "0.500", "0.550"],
        ["median", "-", "0.300", "-"],
    ]
    assert f.bold == {(0, 1), (1, 2), (0, 3)}
    assert both.rows[0] == ["RPCAG", "50 / 25", "50 / 25"]
    assert behind.rows == [["RPCAG", "-", "3.0"], ["RPCA", "-", "4.0"]]
    assert times.rows[0][1] == "10.0"
    assert video.tables([]) == []


def scored(f, behind=(), elsewhere=()):
    """Records with an F for every clip and method, and some errors behind objects."""
    return [
        {
            "run": {"experiment": "video", "clip": c, "model": m, "every": 1},
            "frames": 9,
            "masks": 3,
            "f": value,
            "elsewhere": dict(elsewhere).get((c, m)),
            "precision": 0.5,
            "recall": 0.5,
            "behind": dict(behind).get((c, m)),
            "seconds_per_frame": 0.01,
            "facts": {},
        }
        for m, values in f.items()
        for c, value in zip(video.CLIPS, values, strict=True)
    ]


def test_frames_far_from_the_clips_are_scored_apart():
    f = {
        "RPCAG": [0.9, 0.9, 0.5, 0.9, 0.9, 0.7],
        "RPCA": [0.8, 0.96, 0.5, 0.8, 0.8, 0.75],
        "KNN": [0.1, 0.1, 0.7, 0.1, 0.1, 0.9],
    }
    far = {
        (clip, model): value
        for clip in ("hall", "lobby")
        for model, value in {"RPCAG": 0.6, "RPCA": 0.625, "KNN": 0.8}.items()
    }
    records = scored(f, elsewhere=far)
    table = video.tables(records)[1]
    assert table.header == ["method", "hall", "lobby", "mean"]
    assert table.rows[2] == ["KNN", "0.800", "0.800", "0.800"]
    assert table.bold == {(2, 1), (2, 2), (2, 3)}
    # A clip without a difference counts for neither.
    assert "higher than that of RPCA on 3 clips and lower on 2" in video.outcome(
        records
    )


@pytest.mark.parametrize(
    ("ahead", "told"),
    [
        (6, "a significant difference (sign test, p = 0.031)"),
        (5, "no significant difference (sign test, p = 0.22)"),
        (3, "no significant difference (sign test, p = 1)"),
    ],
)
def test_clips_tell_two_methods_apart_only_if_chance_would_not(ahead, told):
    ours = [0.8] * ahead + [0.6] * (6 - ahead)
    assert told in video.outcome(scored({"RPCAG": ours, "RPCA": [0.7] * 6}))
    assert video.outcome(scored({"RPCAG": ours})) == ""


def test_the_background_is_judged_where_objects_hide_it():
    n = 120
    frames = np.full((n, 4, 6), 100, np.uint8)
    masks = np.zeros((n, 4, 6), bool)
    masks[:40, 1:3, 2:4] = True
    frames[masks] = 200
    masks[:, 3, 5] = True  # never seen without an object: nobody knows
    made = Video("mine", frames, np.arange(n), masks, np.arange(n))
    truth = np.full((n, 4, 6), 100 / 255)
    wrong = np.where(masks, 110, 0) / 255
    assert video.behind_error(truth, made, frames) == pytest.approx(0, abs=1e-4)
    assert video.behind_error(wrong, made, frames) == pytest.approx(10, abs=1e-3)
    few = Video("few", frames, np.arange(n), masks[:20], np.arange(20))
    assert video.behind_error(truth[:20], few, frames[:20]) is None


def test_thinning_keeps_what_is_masked():
    made = clip(video.VideoRun("hall", "RPCA"))
    frames, masked = video.thinned(made, 7)
    assert len(frames) == len(np.union1d(range(0, 40, 7), range(0, 40, 3)))
    np.testing.assert_array_equal(frames[masked], made.frames[made.mask_index])


def test_the_figure_is_made_from_the_store(store, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra rpcag[plots]")
    from rpcag_study import figures

    records = list(store.read())
    monkeypatch.setenv("XDG_CACHE_HOME", str(store.path.parent))
    figure = figures.video(records)
    assert len(figure.axes) == 9  # one clip
    figure.savefig(tmp_path / "figure.png", dpi=40)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="made on another machine"):
        figures.video(records)
    with pytest.raises(ValueError, match="rpcag reproduce video"):
        figures.video([])


def test_a_page_without_the_picture_says_what_draws_it(store, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra rpcag[plots]")
    from rpcag_study.recovery_page import write_recovery

    records = list(store.read())
    page, told = tmp_path / "page.md", []
    picture = tmp_path / "images" / "recovery_video.png"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert list(write_recovery(records, page, told.append)) == [page]
    assert "*(Not drawn: where RPCA and RPCAG differ most" in page.read_text()
    assert "`rpcag reproduce video --store new.jsonl`" in page.read_text()
    assert str(tmp_path / "elsewhere") not in page.read_text()
    (why,) = told
    assert why.startswith(f"{picture} is missing: ")
    assert "rpcag reproduce video --store new.jsonl makes them here" in why
    # One from before is shown, and that it was not drawn again is told.
    picture.parent.mkdir()
    picture.write_bytes(b"from before")
    assert list(write_recovery(records, page, told.append)) == [page]
    assert told[1].startswith(f"{picture} is the one from before: ")
    assert "Not drawn" not in page.read_text()
    assert "(images/recovery_video.png)" in page.read_text()
    monkeypatch.setenv("XDG_CACHE_HOME", str(store.path.parent))
    assert list(write_recovery(records, page, told.append)) == [picture, page]
    assert len(told) == 2


def test_a_report_without_the_pictures_goes_on(store, monkeypatch, tmp_path):
    from rpcag_study.report import Report
    from rpcag_study.report_files import write

    records = list(store.read())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out, told = tmp_path / "out", []
    names = {p.name for p in write(Report(records), records, out, told.append)}
    assert "video_1.csv" in names
    assert "video.png" not in names
    (why,) = told
    assert str(out) in why
    assert "video.png is not drawn: " in why or "matplotlib" in why


def test_foreground_scores_pool_the_frames(rng):
    mask, truth = rng.random((2, 5, 8, 9)) < np.array([0.3, 0.4])[:, None, None, None]
    truth[0] = False  # a frame without foreground
    scores = video.foreground_scores(mask, truth)
    expected = precision_recall_fscore_support(
        truth.ravel(), mask.ravel(), average="binary"
    )[:3]
    assert tuple(scores) == pytest.approx(expected)
    assert scores[0] != pytest.approx(scores[1])


def test_foreground_outside_the_valid_region_does_not_count(rng):
    mask, truth, valid = rng.random((3, 4, 8, 9)) < 0.5
    scores = video.foreground_scores(mask, truth, valid)
    assert scores == video.foreground_scores(mask[valid], truth[valid])
    assert scores == video.foreground_scores(np.where(valid, mask, ~mask), truth, valid)
    assert scores != video.foreground_scores(mask, truth)


def test_scores_where_there_is_nothing_to_divide_by():
    nothing, something = np.zeros((2, 2), bool), np.eye(2, dtype=bool)
    assert video.foreground_scores(nothing, nothing) == (1, 1, 1)
    assert video.foreground_scores(nothing, something) == (0, 0, 0)
    assert video.foreground_scores(something, nothing) == (0, 0, 0)
    assert video.foreground_scores(something, something) == (1, 1, 1)
    assert video.foreground_scores(something, something, nothing) == (1, 1, 1)

"""``rpcag background``: what it writes, and what it says of bad input."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from videos import f_score, scene

pytest.importorskip("av", reason="needs the extra rpcag[video]")
pytest.importorskip("typer", reason="needs the extra rpcag[cli]")

from typer.testing import CliRunner

from browser import launch
from rpcag.commands import app
from rpcag.stopping import listen
from rpcag.video import Source, separate_file
from rpcag.video.ffmpeg import Writer


def command(*words):
    return CliRunner().invoke(app, ["background", *map(str, words)])


def write(path, frames, format="mp4"):
    with Writer(path, Fraction(10), format) as writer:
        for frame in frames:
            writer.write(frame)
    return writer.path


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """A video file."""
    folder = tmp_path_factory.mktemp("clip")
    return write(folder / "clip", scene(np.random.default_rng(1), n=30)[0])


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


# -- what is written -------------------------------------------------------------------


def test_all_videos_and_the_facts_are_written(clip, tmp_path):
    output = tmp_path / "a" / "b"
    result = command(clip, "-o", output)
    assert result.exit_code == 0, result.output
    names = ["background", "foreground", "mask", "side_by_side"]
    assert listed(output) == sorted([f"{name}.mp4" for name in names] + ["facts.json"])
    facts = json.loads((output / "facts.json").read_text())
    assert facts["certified_gap"] <= 1e-3
    assert facts["frames"] == facts["fitted_frames"] == 30
    assert not facts["color"]  # stored as if it had some
    frames = {n: np.stack(list(Source(output / f"{n}.mp4"))) for n in names}
    height, width = 32, 44
    for name in names[:3]:
        assert frames[name].shape[:3] == (30, height, width)
    assert frames["side_by_side"].shape[:3] == (30, height, 3 * width)
    together = np.concatenate([frames["background"], frames["mask"]], axis=2)
    apart = np.abs(frames["side_by_side"][:, :, width:].astype(int) - together)
    assert apart.mean() < 6  # what encoders change
    assert "certified gap" in result.output
    assert "1408 of 1408" in result.output
    assert facts["fitted_values"] == 32 * 44
    assert facts["regression_gap"] == 0
    mask = Source(output / "mask.mp4")
    mask.first()
    assert mask.rate == 10


def test_a_gap_of_a_sample_is_called_so(clip, tmp_path, monkeypatch):
    monkeypatch.setattr("rpcag.video.background.LEAST", 400)
    result = command(clip, "-o", tmp_path / "o")
    assert result.exit_code == 0, result.output
    assert "certified gap of the sample" in result.output
    facts = json.loads((tmp_path / "o" / "facts.json").read_text())
    assert facts["fitted_values"] == 400
    assert 0 < facts["regression_gap"] <= 1e-3


def test_json_is_all_that_is_printed(clip, tmp_path):
    result = command(clip, "-o", tmp_path, "--json", "--frames", "2:20", "--every", 3)
    facts = json.loads(result.stdout)
    assert facts == json.loads((tmp_path / "facts.json").read_text())
    assert facts["frames"] == 6
    assert facts["frames_per_second_of_video"] == pytest.approx(10 / 3)
    words = ["-q", "--force", "--frames", ":8", "--model", "rpca"]
    quiet = command(clip, "-o", tmp_path, *words)
    assert quiet.exit_code == 0
    assert quiet.output == ""


def test_weights_can_be_given(clip, tmp_path):
    words = [clip, "-o", tmp_path, "--json", "--force", "--gray"]
    result = command(*words, "--gamma", "10", "--lam", "0.03", "--max-iter", 3)
    facts = json.loads(result.stdout)
    assert (facts["gamma"], facts["lam"]) == (10, 0.03)
    assert facts["in_motion"] > 0.1
    assert result.exit_code == 1
    assert "Raise --max-iter or --tol, or accept the result" in result.stderr
    facts = json.loads(command(*words, "--model", "rpca", "--all-entries").stdout)
    assert facts["in_motion"] == 0


def test_colors_and_sizes_are_as_asked(tmp_path, rng):
    frames, _ = scene(rng, n=20)
    colors = np.stack([frames, frames // 2, 255 - frames], axis=3)
    path = write(tmp_path / "colors", colors, "webm")
    out = tmp_path / "out"
    words = [path, "-o", out, "--json", "--format", "webm"]
    facts = json.loads(command(*words, "--size", "24x16").stdout)
    assert (facts["width"], facts["height"], facts["color"]) == (24, 16, True)
    back = Source(out / "background.webm").first()
    expected = np.median(colors, axis=(0, 1, 2))
    np.testing.assert_allclose(np.median(back, axis=(0, 1)), expected, atol=12)
    gray = json.loads(command(*words, "--gray", "--force").stdout)
    assert (gray["width"], gray["height"], gray["color"]) == (44, 32, False)


def test_large_frames_are_made_smaller_unless_asked(tmp_path, rng, monkeypatch):
    monkeypatch.setattr("rpcag.video.files.PIXELS", 32 * 24)
    frames = rng.integers(90, 110, (4, 40, 60)).astype(np.uint8)
    path = write(tmp_path / "large", frames, "png")
    facts = json.loads(command(path, "-o", tmp_path / "o", "--json").stdout)
    assert (facts["width"], facts["height"]) == (34, 22)
    words = [path, "-o", tmp_path / "o", "--json", "--force", "--size", "full"]
    assert json.loads(command(*words).stdout)["width"] == 60


def test_frames_beyond_the_memory_go_through_the_model(tmp_path, monkeypatch):
    monkeypatch.setattr("rpcag.video.files.MOST", 20)
    frames, truth = scene(np.random.default_rng(1), n=30)
    path = write(tmp_path / "clip", frames, "png")
    words = [path, "-o", tmp_path / "out", "--format", "png", "--json"]
    facts = json.loads(command(*words).stdout)
    assert (facts["frames"], facts["fitted_frames"]) == (30, 15)
    masks = np.stack(list(Source(tmp_path / "out" / "mask"))) > 0
    assert f_score(masks, truth) > 0.93


def test_the_video_itself_is_never_replaced(clip, tmp_path):
    path = tmp_path / "background.mp4"
    path.write_bytes(clip.read_bytes())
    for words in ([], ["--force"]):
        result = command(path, "-o", tmp_path, *words)
        assert result.exit_code == 2
        assert "a folder of something else: it has background.mp4" in result.output
    assert path.read_bytes() == clip.read_bytes()
    assert listed(tmp_path) == [path.name]


def test_what_is_there_is_only_replaced_if_asked(clip, tmp_path):
    words = [clip, "-o", tmp_path, "--model", "rpca", "-q"]
    assert command(*words, "--frames", ":8").exit_code == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    result = command(*words, "--frames", ":9")
    assert result.exit_code == 2
    assert result.output.endswith("already holds a separation; --force replaces it\n")
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert command(*words, "--frames", ":9", "--force").exit_code == 0
    assert json.loads((tmp_path / "facts.json").read_text())["frames"] == 9


def test_force_replaces_nothing_of_others(clip, tmp_path):
    mine = tmp_path / "mask.mp4"
    mine.write_text("mine")
    words = [clip, "-o", tmp_path, "--model", "rpca", "-q"]
    for facts in (None, "{}", '{"files": {"mask": "mask.mp4"}}'):
        if facts is not None:
            (tmp_path / "facts.json").write_text(facts)
        result = command(*words, "--frames", ":8", "--force")
        assert result.exit_code == 2
        assert "choose another folder" in result.output
        assert mine.read_text() == "mine"


def test_force_removes_the_frames_of_before_and_nothing_else(clip, tmp_path):
    words = [clip, "-o", tmp_path, "--model", "rpca", "-q", "--force"]
    assert command(*words, "--frames", ":8", "--format", "png").exit_code == 0
    (tmp_path / "mask" / "notes.txt").write_text("mine")
    (tmp_path / "notes.txt").write_text("mine")
    assert command(*words, "--frames", ":5", "--format", "png").exit_code == 0
    assert listed(tmp_path / "background") == [f"{k:06d}.png" for k in range(5)]
    assert command(*words, "--frames", ":5").exit_code == 0
    videos = [f"{part}.mp4" for part in ("background", "foreground", "mask")]
    assert listed(tmp_path) == sorted(
        [*videos, "side_by_side.mp4", "facts.json", "mask", "notes.txt"]
    )
    assert listed(tmp_path / "mask") == ["notes.txt"]


@pytest.mark.parametrize("name", ["a:b", "p%03d", "[1] *", "ü 日本"])
def test_any_name_will_do(name, clip, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # to FFmpeg, a:b would be a place of protocol a
    Path(f"{name}.mp4").write_bytes(clip.read_bytes())
    result = command(f"{name}.mp4", "-o", name, "--frames", ":8", "--model", "rpca")
    assert result.exit_code == 0, result.output
    assert f"wrote {name}/mask.mp4\n" in result.output
    assert len(list(Source(f"{name}/mask.mp4"))) == 8


@pytest.mark.parametrize("ending", ["mkv", "ts", "mp4"])
def test_videos_last_as_long_as_their_frames(ending, clip, tmp_path):
    import av

    path = tmp_path / f"steps.{ending}"
    frames = list(Source(clip, gray=True))[:12]
    times = [0, 100, 150, 500, 700, 800, 1200, 1300, 1500, 1600, 2000, 2200]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30)  # so it says, wrongly
        stream.width, stream.height, stream.pix_fmt = 44, 32, "yuv420p"
        stream.codec_context.time_base = Fraction(1, 1000)
        for time, frame in zip(times, frames, strict=True):
            picture = av.VideoFrame.from_ndarray(frame, format="gray")
            picture.pts, picture.time_base = time, Fraction(1, 1000)
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    facts = separate_file(path, tmp_path / "out", model="rpca")
    assert facts["frames"] == 12
    assert 12 / facts["frames_per_second_of_video"] == pytest.approx(2.4, rel=0.1)


# -- all or nothing --------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["reading", "fitting", "separating"])
def test_an_interrupt_leaves_nothing_new(stage, clip, tmp_path):
    def watch(now, done, total):
        if now == stage and done > 0:
            raise KeyboardInterrupt

    def callback(progress):
        watch("fitting", progress.n_iter, None)

    old = tmp_path / "there"
    separate_file(clip, old, model="rpca", frames=(0, 8))
    before = {path: path.read_bytes() for path in old.iterdir()}
    for folder in (old, tmp_path / "not" / "there"):
        with pytest.raises(KeyboardInterrupt):
            separate_file(clip, folder, force=True, watch=watch, callback=callback)
    assert listed(tmp_path) == ["there"]
    assert before == {path: path.read_bytes() for path in old.iterdir()}


def _not_a_video(folder, clip):
    path = folder / "notes.mp4"
    path.write_text("these are notes")
    return path


def _an_array(folder, clip):
    path = folder / "v.npy"
    np.save(path, np.zeros((3, 8, 8)))
    return path


def _nothing(folder, clip):
    path = folder / "empty.mp4"
    path.touch()
    return path


def _sound(folder, clip):
    import av

    path = folder / "sound.wav"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        samples = np.zeros((1, 800), np.int16)
        frame = av.AudioFrame.from_ndarray(samples, layout="mono")
        frame.sample_rate = 8000
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            container.mux(packet)
    return path


def _one_frame(folder, clip):
    return write(folder / "one", np.zeros((1, 16, 16), np.uint8))


def _sizes(folder, clip):
    path = write(folder / "sizes", np.full((3, 16, 16), 90, np.uint8), "png")
    other = write(folder / "other", np.full((1, 16, 20), 90, np.uint8), "png")
    (other / "000000.png").rename(path / "000003.png")
    other.rmdir()
    return path


def _cut_off(folder, clip):
    """With the index in front, as we write it: half of the frames are there."""
    path = folder / "cut.mp4"
    data = clip.read_bytes()
    path.write_bytes(data[: len(data) * 6 // 10])
    return path


def _cut_head(folder, clip):
    """The index at the end, as others write it, is gone."""
    path = folder / "cut.mp4"
    path.write_bytes(clip.read_bytes()[:200])
    return path


def _cut_webm(folder, clip):
    """Its header tells a time, but no number of frames."""
    path = write(folder / "cut", np.stack(list(Source(clip))), "webm")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 6 // 10])
    return path


def fragmented(path, frames):
    """As cameras and streams write them: no header tells how many frames there are."""
    import av

    options = {"movflags": "frag_keyframe+empty_moov"}
    with av.open(str(path), "w", options=options) as container:
        stream = container.add_stream("libx264", rate=10, options={"g": "10"})
        stream.height, stream.width = frames.shape[1:]
        stream.pix_fmt = "yuv420p"
        for frame in frames:
            picture = av.VideoFrame.from_ndarray(frame, format="gray")
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return path.read_bytes()


def places(data, kind):
    """Where the boxes of a kind start and end."""
    at, found = 0, []
    while at < len(data):
        end = at + int.from_bytes(data[at : at + 4], "big")
        found += [(at, end)] if data[at + 4 : at + 8] == kind else []
        at = end
    return found


def _cut_fragment(folder, clip):
    path = folder / "cut.mp4"
    frames = np.stack(list(Source(clip, gray=True)))
    data = fragmented(path, frames)
    start, end = places(data, b"mdat")[1]
    path.write_bytes(data[: (start + end) // 2])
    return path


def _cut_last_frame(folder, clip):
    """Its decoder does not mind, and a frame too few is no evidence."""
    import av

    path = folder / "cut.mov"
    with av.open(str(path), "w", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 44, 32, "yuv420p"
        for frame in Source(clip, gray=True):
            picture = av.VideoFrame.from_ndarray(frame, format="gray")
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    path.write_bytes(path.read_bytes()[:-5])
    return path


def _pipe(folder, clip):
    os.mkfifo(folder / "pipe.mp4")
    return folder / "pipe.mp4"


def _no_images(folder, clip):
    path = folder / "images"
    path.mkdir()
    return path


def _mixed(folder, clip):
    path = write(folder / "mixed", np.full((3, 16, 16), 90, np.uint8), "png")
    other = write(folder / "other", np.full((1, 16, 16, 3), 90, np.uint8), "png")
    (other / "000000.png").rename(path / "000003.png")
    other.rmdir()
    return path


def _broken_image(folder, clip):
    path = write(folder / "broken", np.full((3, 16, 16), 90, np.uint8), "png")
    (path / "000001.png").write_text("no image")
    return path


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder, clip: folder / "none.mp4", "none.mp4 does not exist"),
        (_not_a_video, "notes.mp4 cannot be read as a video"),
        (_nothing, "empty.mp4 cannot be read as a video"),
        (_an_array, "v.npy is an array; load it in Python and pass it to rpcag.vid"),
        (_sound, "sound.wav contains no video"),
        (_one_frame, "one.mp4 has only one frame; at least 2 are needed"),
        (_sizes, "(16, 20), the first (16, 16): all must be equal; --size resizes"),
        (_cut_off, " of 30 frames ("),
        (_cut_webm, "seconds); --frames 0:"),
        (_cut_fragment, "cut.mp4 is "),
        (
            _cut_last_frame,
            "cut.mov is cut off after 30 frames (2.9 seconds); --frames ",
        ),
        (_pipe, "pipe.mp4 is a pipe or a device, but the video is read twice"),
        (_cut_head, "cut.mp4 contains no video: it has other content, or is cut off"),
        (_no_images, "has no images; supported suffixes"),
        (_broken_image, "000001.png cannot be read as an image"),
        (_mixed, "the first (16, 16): all must be equal"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(make, said, clip, tmp_path):
    before = tmp_path / "in"
    before.mkdir()
    path = make(before, clip)
    result = command(path, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert said in result.output
    assert result.output.startswith("rpcag: ")
    assert result.output.count("\n") == 1
    assert "Traceback" not in result.output
    assert listed(tmp_path) == ["in"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "pca"], "model must be rpcag or rpca, got 'pca'"),
        (["--gamma", "much"], "'--gamma': it must be auto or a number of at least 0,"),
        (["--gamma", "5", "--model", "rpca"], "which rpca does not have, got 5.0"),
        (["--lam", "0"], "'--lam': it must be auto or a number above 0, got '0'"),
        (["--size", "20x16x3"], "'--size': write it as 64x48, with sides"),
        (
            ["--size", "90000x90000", "--format", "png"],
            "20 frames of 24300000000 values",
        ),
        (
            ["--size", "6000x2"],
            "the sides of videos are at most 16384 pixels, but side",
        ),
        (["--memory", "0.1"], "got 0.1 GB"),
        (["--memory", "800MB"], "write it as a number of GB, such as 0.8, got '800MB'"),
        (["--max-iter", "0"], "'--max-iter': "),
        (["--gamma", "-1"], "'--gamma': it must be auto or a number of at least 0,"),
        (["--size", "big"], "write it as 64x48, with sides of at least 2, got 'big'"),
        (
            ["--size", "1x9"],
            "'--size': write it as 64x48, with sides of at least 2, got",
        ),
        (["--frames", "7"], "'--frames': write it as A:B in whole numbers, got '7'"),
        (["--frames", "7:3"], "frames must be A:B with 0 <= A < B, got 7:3"),
        (["--frames", "99:"], "has no frames in the selected range"),
        (["--frames", f"{10**20}:"], "has no frames in the selected range"),
        (["--every", f"{10**20}"], "has only one frame in the selected range"),
        (["--every", "99"], "has only one frame in the selected range"),
        (["--memory", "nan"], "memory must be at least 0.3"),
        (["--format", "avi"], "format must be one of mp4, webm, png, got 'avi'"),
        (["--tol", "0"], "tol must lie between 0 and 1"),
    ],
)
def test_wrong_options_are_one_line(words, said, clip, tmp_path):
    result = command(clip, "-o", tmp_path / "out", *words)
    assert result.exit_code == 2
    assert said in result.output
    assert result.output.count("\n") == 1
    assert listed(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_one_line(clip, tmp_path):
    (tmp_path / "file").touch()
    for output in (tmp_path / "file", tmp_path / "file" / "below"):
        result = command(clip, "-o", output, "-q")
        assert result.exit_code == 2
        assert str(tmp_path / "file") in result.output
        assert result.output.count("\n") == 1
    assert listed(tmp_path) == ["file"]


def test_without_ffmpeg_the_extra_is_named(clip, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    result = command(clip, "-o", tmp_path / "out", "-q")
    assert result.exit_code == 2
    assert "pip install 'rpcag[video]'" in result.output
    assert result.output.count("\n") == 1
    assert listed(tmp_path) == []


# -- the browser -----------------------------------------------------------------------

PLAY = """async (name) => {
  const video = document.createElement('video');
  video.muted = true;
  video.defaultPlaybackRate = 16;  // a new source resets playbackRate to it
  document.body.append(video);
  const ended = new Promise((resolve, reject) => {
    video.onended = resolve;
    video.onerror = () => reject(video.error.message);
  });
  video.src = name;
  await video.play();
  await ended;
  const {videoWidth, videoHeight, duration} = video;
  const canvas = document.createElement('canvas');
  canvas.width = videoWidth; canvas.height = videoHeight;
  const draw = canvas.getContext('2d');
  draw.drawImage(video, 0, 0);
  return {videoWidth, videoHeight, duration};
}"""


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("format", ["mp4", "webm"])
def test_videos_play_to_the_end_in_a_browser(format, clip, tmp_path):
    facts = separate_file(clip, tmp_path, model="rpca", format=format)
    (tmp_path / "page.html").write_text("<!doctype html><title>videos</title>")
    with launch() as page:
        page.goto((tmp_path / "page.html").as_uri())
        for name, file in facts["files"].items():
            played = page.evaluate(PLAY, file)
            wide = 3 * 44 if name == "side_by_side" else 44
            assert (played["videoWidth"], played["videoHeight"]) == (wide, 32)
            assert played["duration"] == pytest.approx(30 / 10, abs=0.15)
        (tmp_path / "broken.mp4").write_text("not a video")
        with pytest.raises(Exception, match=r"supported|DEMUXER"):
            page.evaluate(PLAY, "broken.mp4")


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_process_that_is_told_to_end_leaves_nothing_behind(tmp_path):
    frames, _ = scene(np.random.default_rng(2), n=200)
    path = write(tmp_path / "clip", frames)
    words = ["-m", "rpcag", "background", str(path), "-o", str(tmp_path / "out")]
    options = ["--max-iter", "100000", "--tol", "1e-12"]  # it would go on for long
    with subprocess.Popen(
        [sys.executable, *words, *options], stderr=subprocess.PIPE, text=True
    ) as process:
        until = time.monotonic() + 60
        while not (tmp_path / "out").exists() and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
    assert listed(tmp_path) == [path.name]
    assert process.returncode == 130
    assert "Traceback" not in told


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_it_ends_also_where_the_interruption_was_lost(tmp_path, monkeypatch):
    """As in the closing of a reader, where Python drops exceptions."""
    frames, _ = scene(np.random.default_rng(2), n=20)
    path = write(tmp_path / "clip", frames)
    before = {s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.setattr("rpcag.stopping._told", False)
    listen()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        found = command(path, "-o", tmp_path / "out")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert found.exit_code == 130
    assert listed(tmp_path) == [path.name]

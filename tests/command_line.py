"""Call the command as a user does, in a folder with small files."""

import numpy as np
import pytest

pytest.importorskip("typer", reason="needs the extra rpcag[cli]")

import typer.main
from typer.testing import CliRunner, Result

from rpcag.commands import app
from videos import scene

KINDS = ("coast", "valley", "ridge")


def call(*words) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def commands(group=None, path=("rpcag",), of=app):
    """All commands by the words that call them, and the groups above them."""
    group = typer.main.get_command(of) if group is None else group
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


def examples(of=app) -> list[str]:
    """Every line of a help text that can be typed."""
    lines = []
    for _, command in commands(of=of):
        for line in (command.help or "").splitlines():
            line = line.strip().removeprefix("Example: ")
            if line.startswith("rpcag "):
                lines.append(line)
    return list(dict.fromkeys(lines))


def sensors():
    """Days of three kinds, nearly of rank three; 4 % gross errors, 8 % gaps."""
    rng = np.random.default_rng(7)
    hours = np.arange(24) / 24 * 2 * np.pi
    days = [12 + 3 * np.sin(hours), 8 + 9 * np.sin(hours - 1), 4 + 2 * np.cos(hours)]
    truth = np.array([days[i % 3] * rng.uniform(0.8, 1.2) for i in range(60)])
    X = truth + 0.1 * rng.standard_normal(truth.shape)
    wrong = rng.random(X.shape) < 0.04
    X[wrong] = rng.choice([-99.9, 85.0], wrong.sum())
    X[rng.random(X.shape) < 0.08] = np.nan
    return X, truth, wrong & ~np.isnan(X)


def write_files(folder) -> None:
    """What the examples of the help texts read."""
    X, _, _ = sensors()
    names = [f"s{i}" for i in range(len(X))]
    lines = ["sensor," + ",".join(f"{h}:00" for h in range(24))]
    labeled = ["kind," + lines[0]]
    for i, (name, row) in enumerate(zip(names, X, strict=True)):
        cells = ",".join("" if np.isnan(x) else f"{x:.3f}" for x in row)
        lines.append(f"{name},{cells}")
        labeled.append(f"{KINDS[i % 3]},{name},{cells}")
    (folder / "sensors.csv").write_text("\n".join(lines) + "\n")
    (folder / "kinds.csv").write_text("\n".join(labeled) + "\n")
    edges = [f"s{i},s{i + 3}" for i in range(len(X) - 3)]
    (folder / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    faces = rng.random((4, 48))[y] + 0.05 * rng.random((40, 48))
    np.savez(folder / "faces.npz", X=faces, y=y)
    write_videos(folder)


def write_videos(folder) -> None:
    """A street as file and folder, where the extra is installed."""
    av = pytest.importorskip("av", reason="needs the extra rpcag[video]")
    frames, _ = scene(np.random.default_rng(0), n=12)
    (folder / "frames").mkdir()
    with av.open(folder / "street.mp4", "w") as out:
        stream = out.add_stream("mpeg4", rate=5)
        stream.height, stream.width = frames.shape[1:]
        stream.pix_fmt = "yuv420p"
        for t, frame in enumerate(frames):
            picture = av.VideoFrame.from_ndarray(frame, format="gray")
            out.mux(stream.encode(picture.reformat(format="yuv420p")))
            picture.to_image().save(folder / "frames" / f"{t:03}.png")
        out.mux(stream.encode())

"""The progress bar shows the stages of a fit."""

import io

import numpy as np
import pytest

pytest.importorskip("typer", reason="needs the extra rpcag[cli]")

from rich.console import Console

from command_line import call
from rpcag.commands import progress as bars
from rpcag.solvers import Progress


def test_the_bar_tells_the_stage_and_fills_anew(monkeypatch):
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(bars, "errors", lambda: screen)

    def step(n_iter, gap, stage):
        return Progress(n_iter, 1.0, 1.0 - gap, gap, 0.1, 0.1, 3, stage)

    with bars.GapBar("RPCAG", 1e-3, 1000, quiet=False) as bar:
        shown = {}
        for n_iter in (1, 10, 20):
            bar(step(n_iter, 1.0, "weights"))
            task = bar.tasks[0]
            assert task.description == "RPCAG, choosing weights"
            assert task.completed == 0  # nobody knows
        for stage in ("graph", "fit"):
            for n_iter, gap in ((1, 1.0), (10, 0.1), (20, 1e-2)):
                bar(step(n_iter, gap, stage))
                task = bar.tasks[0]
                shown[stage, n_iter] = task.description, task.completed
    assert shown["graph", 1] == ("RPCAG, graph", 0.0)
    assert shown["graph", 20] == ("RPCAG, graph", pytest.approx(2 / 3))
    assert shown["fit", 1] == ("RPCAG", 0.0)
    assert 0.5 < shown["fit", 20][1] < 1


@pytest.mark.parametrize(
    ("options", "shown"),
    [((), ["weights", "graph", "fit"]), (("--gamma", "clustering"), ["graph", "fit"])],
)
def test_the_command_shows_the_stages(tmp_path, monkeypatch, rng, options, shown):
    # Rows of four kinds, with noise: a graph between them helps to predict entries.
    X = rng.standard_normal((4, 30))[rng.integers(4, size=80)]
    X += 0.5 * rng.standard_normal(X.shape)
    stages = []

    class Bar(bars.GapBar):
        def __call__(self, step):
            stages.append(step.stage)
            return super().__call__(step)

    monkeypatch.setattr("rpcag.commands.fitting.GapBar", Bar)
    table = tmp_path / "X.npy"
    np.save(table, X)
    command = ("decompose", table, "-o", tmp_path / "out", "--quiet", *options)
    assert call(*command).exit_code == 0
    assert list(dict.fromkeys(stages)) == shown

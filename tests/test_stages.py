"""The Robust PCA behind the default graph is a stage of the fit, seen and saved."""

import io
import logging
import pickle

import numpy as np
import pytest
from rich.console import Console

from command_line import call
from rpcag import FRPCAG, RPCAG, RPCAGCV
from rpcag.commands import progress as bars
from rpcag.graphs import KNNGraph
from rpcag.models import RobustGraph
from rpcag.solvers import Progress

# Dense iterations, and with factors of L.
SHAPES = [(40, 60), (120, 150)]


def data(n=40, p=60):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 4)) @ rng.standard_normal((4, p))
    X += 0.1 * rng.standard_normal((n, p))
    X[rng.random(X.shape) < 0.1] = 9.0
    return X


class Seen:
    """A callback that counts, and may stop or fail at an iteration of a stage."""

    def __init__(self, stop=None, fail=None):
        self.stop, self.fail = stop, fail
        self.iterations = []

    def __call__(self, progress):
        here = (progress.stage, progress.n_iter)
        self.iterations.append(here)
        if here == self.fail:
            raise Killed
        return self.stop is not None and self.stop(progress)

    def of(self, stage):
        return [n for s, n in self.iterations if s == stage]


class Killed(Exception):
    pass


def last_of_graph(X):
    seen = Seen()
    RPCAG(callback=seen).fit(X)
    return seen.of("graph")[-1]


# -- the callback ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "stages"),
    [
        (RPCAG(), ["graph", "fit"]),
        (RPCAG(graph=RobustGraph(3)), ["graph", "fit"]),
        (RPCAG(graph="knn"), ["fit"]),
        (RPCAGCV(gammas=[0.1], n_splits=1), ["graph", "fit"]),
        (FRPCAG(graph="robust"), ["graph", "fit"]),
        (FRPCAG(graph="robust", feature_graph="robust"), None),
    ],
    ids=repr,
)
def test_the_callback_sees_every_iteration_of_every_stage(model, stages):
    seen = Seen()
    model.set_params(callback=seen).fit(data())
    stages = stages or ["graph", "feature_graph", "fit"]
    assert list(dict(seen.iterations)) == stages
    for stage in stages:
        assert seen.of(stage) == list(range(1, len(seen.of(stage)) + 1))
    assert len(seen.of("fit")) == model.n_iter_
    assert "stage" not in model.history_


def test_the_callback_does_not_change_the_answer_or_stay_in_the_model():
    X = data()
    watched, plain = RPCAG(callback=Seen()).fit(X), RPCAG().fit(X)
    np.testing.assert_array_equal(watched.low_rank_, plain.low_rank_)
    np.testing.assert_array_equal(watched.transform(X[:3]), plain.transform(X[:3]))
    watched.set_params(callback=lambda progress: None)  # cannot be pickled
    watched.fit(X).set_params(callback=None)
    again = pickle.loads(pickle.dumps(watched))
    np.testing.assert_array_equal(again.transform(X[:3]), plain.transform(X[:3]))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("model", [RPCAG(), FRPCAG(graph="robust")], ids=repr)
def test_a_callback_that_stays_true_ends_the_graph_and_then_the_fit(model, shape):
    X = data(*shape)
    seen = Seen(stop=lambda progress: progress.n_iter >= 3 or seen.of("fit"))
    model.set_params(callback=seen).fit(X)
    assert seen.iterations == [("graph", 1), ("graph", 2), ("graph", 3), ("fit", 1)]
    assert model.status_ == "stopped"
    assert model.n_iter_ == 1
    assert model.lower_bound_ <= model.objective_  # certified all the same
    assert np.isfinite(model.transform(X[:3])).all()


def test_a_callback_that_asks_for_a_gap_stops_both_stages_there():
    """In the graph's stage it must not cost the model its own iterations."""
    seen = Seen(stop=lambda progress: progress.gap < 0.05)
    model = RPCAG(tol=1e-6, callback=seen).fit(data())
    assert model.status_ == "stopped"
    assert model.gap_ < 0.05
    assert len(seen.of("graph")) < last_of_graph(data())


def test_verbose_logs_both_stages(caplog):
    with caplog.at_level(logging.INFO, logger="rpcag"):
        RPCAG(verbose=1).fit(data())
    starts = [message.partition(" iteration")[0] for message in caplog.messages]
    assert list(dict.fromkeys(starts)) == ["RPCAG graph", "RPCAG"]


# -- the checkpoint --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "stage"),
    [
        (SHAPES[0], "in graph"),
        (SHAPES[0], "end of graph"),
        (SHAPES[0], "fit 1"),
        (SHAPES[0], "fit 4"),
        (SHAPES[1], "in graph"),
        (SHAPES[1], "fit 4"),
    ],
)
def test_a_killed_fit_does_not_repeat_its_graph(tmp_path, shape, stage):
    X, path = data(*shape), tmp_path / "fit.npz"
    whole, length = RPCAG().fit(X), last_of_graph(X)
    fail = {
        "in graph": ("graph", length // 2),
        "end of graph": ("graph", length),
        "fit 1": ("fit", 1),
        "fit 4": ("fit", 4),
    }[stage]
    options = {"checkpoint": path, "checkpoint_seconds": 0}
    with pytest.raises(Killed):
        RPCAG(**options, callback=Seen(fail=fail)).fit(X)
    seen = Seen()
    rest = RPCAG(**options, callback=seen).fit(X)
    done = fail[1] - 1 if fail[0] == "graph" else length
    assert seen.of("graph") == list(range(done + 1, length + 1))
    begun = fail[1] if fail[0] == "fit" else 1
    assert seen.of("fit")[0] == begun
    assert rest.n_iter_ == whole.n_iter_
    np.testing.assert_array_equal(rest.adjacency_.toarray(), whole.adjacency_.toarray())
    np.testing.assert_array_equal(rest.low_rank_, whole.low_rank_)
    np.testing.assert_array_equal(rest.transform(X[:5]), whole.transform(X[:5]))
    assert not list(tmp_path.iterdir())  # done: nothing is left


def test_a_fit_that_was_stopped_in_its_graph_goes_on_to_the_same_answer(tmp_path):
    X, path = data(), tmp_path / "fit.npz"
    options = {"checkpoint": path, "checkpoint_seconds": 0}
    stopped = RPCAG(**options, callback=Seen(stop=lambda progress: True))
    assert stopped.fit(X).status_ == "stopped"
    assert [p.name for p in tmp_path.iterdir()] == ["fit.graph.npz"]
    seen = Seen()
    rest = RPCAG(**options, callback=seen).fit(X)
    assert seen.of("graph")[0] == 2
    np.testing.assert_array_equal(rest.low_rank_, RPCAG().fit(X).low_rank_)
    assert not list(tmp_path.iterdir())


def test_the_graph_of_other_data_is_refused_and_other_files_stay(tmp_path):
    X, path = data(), tmp_path / "fit.npz"
    with pytest.raises(Killed):
        RPCAG(checkpoint=path, callback=Seen(fail=("fit", 2))).fit(X)
    with pytest.raises(ValueError, match=r"fit\.graph\.npz' belongs to other data"):
        RPCAG(checkpoint=path).fit(X + 1)
    # Without a robust graph there is no second file, and none is removed.
    theirs = tmp_path / "mine.graph.npz"
    theirs.write_text("a user's")
    RPCAG(graph=KNNGraph(), checkpoint=tmp_path / "mine.npz").fit(X)
    assert theirs.read_text() == "a user's"


# -- the bar ---------------------------------------------------------------------------


def test_the_bar_tells_the_stage_and_fills_anew(monkeypatch):
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(bars, "errors", lambda: screen)

    def step(n_iter, gap, stage):
        return Progress(n_iter, 1.0, 1.0 - gap, gap, 0.1, 0.1, 3, stage)

    with bars.GapBar("RPCAG", 1e-3, 1000, quiet=False) as bar:
        shown = {}
        for stage in ("graph", "fit"):
            for n_iter, gap in ((1, 1.0), (10, 0.1), (20, 1e-2)):
                bar(step(n_iter, gap, stage))
                task = bar.bar.tasks[0]
                shown[stage, n_iter] = task.description, task.completed
    assert shown["graph", 1] == ("RPCAG, graph", 0.0)
    assert shown["graph", 20] == ("RPCAG, graph", 1.0)  # a gap of 1e-2 is enough there
    assert shown["fit", 1] == ("RPCAG", 0.0)
    assert 0.5 < shown["fit", 20][1] < 1


def test_the_command_shows_the_stages(tmp_path, monkeypatch):
    stages = []

    class Bar(bars.GapBar):
        def __call__(self, step):
            stages.append(step.stage)
            return super().__call__(step)

    monkeypatch.setattr("rpcag.commands.decompose.GapBar", Bar)
    table = tmp_path / "X.npy"
    np.save(table, data())
    assert call("decompose", table, "-o", tmp_path / "out", "--quiet").exit_code == 0
    assert list(dict.fromkeys(stages)) == ["graph", "fit"]

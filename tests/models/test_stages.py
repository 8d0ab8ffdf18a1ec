"""The Robust PCA behind the default graph is a stage of the fit, seen and saved."""

import logging
import pickle

import numpy as np
import pytest

from problems import UNIT
from rpcag import FRPCAG, RPCA, RPCAG, RPCAGCV
from rpcag.models import RobustGraph
from rpcag.models.trials import FEWEST

# Dense iterations, and with factors of L.
SHAPES = [(40, 60), (120, 150)]


def data(n=40, p=60):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 4)) @ rng.standard_normal((4, p))
    X += 0.1 * rng.standard_normal((n, p))
    X[rng.random(X.shape) < 0.1] = 9.0
    return X


def kinds():
    """Rows of four kinds, with noise: a graph between them helps to predict entries."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 30))[rng.integers(4, size=80)]
    return X + 0.5 * rng.standard_normal(X.shape)


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
    RPCAG(gamma="clustering", callback=seen).fit(X)
    return seen.of("graph")[-1]


# -- the callback ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "stages"),
    [
        (RPCAG(gamma="clustering"), ["graph", "fit"]),
        (RPCAG(gamma="clustering", graph=RobustGraph(3)), ["graph", "fit"]),
        (RPCAG(gamma="clustering", graph="knn"), ["fit"]),
        (RPCAGCV(gammas=[0.1], n_splits=1), ["graph", "fit"]),
        (
            FRPCAG(**UNIT, graph="robust"),
            ["graph", "fit"],
        ),
        (
            FRPCAG(**UNIT, graph="robust", feature_graph="robust"),
            None,
        ),
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
    plain = RPCAG(gamma="clustering").fit(X)
    watched = RPCAG(gamma="clustering", callback=Seen()).fit(X)
    np.testing.assert_array_equal(watched.low_rank_, plain.low_rank_)
    np.testing.assert_array_equal(watched.transform(X[:3]), plain.transform(X[:3]))
    watched.set_params(callback=lambda progress: None)  # cannot be pickled
    watched.fit(X).set_params(callback=None)
    again = pickle.loads(pickle.dumps(watched))
    np.testing.assert_array_equal(again.transform(X[:3]), plain.transform(X[:3]))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "model",
    [
        RPCAG(gamma="clustering"),
        FRPCAG(**UNIT, graph="robust"),
    ],
    ids=repr,
)
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
    model = RPCAG(gamma="clustering", tol=1e-6, callback=seen).fit(data())
    assert model.status_ == "stopped"
    assert model.gap_ < 0.05
    assert len(seen.of("graph")) <= last_of_graph(data())


def test_verbose_logs_both_stages(caplog):
    with caplog.at_level(logging.INFO, logger="rpcag"):
        RPCAG(gamma="clustering", verbose=1).fit(data())
    starts = [message.partition(" iteration")[0] for message in caplog.messages]
    assert list(dict.fromkeys(starts)) == ["RPCAG graph", "RPCAG"]


# -- the choice of weights -------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "stages"),
    [
        (RPCAG(), ["weights", "graph", "fit"]),
        (RPCAG(graph="knn"), ["weights", "fit"]),
        (RPCAG(lam=0.3), ["weights", "graph", "fit"]),
        (RPCAG(gamma=0.1), ["weights", "graph", "fit"]),
        (RPCA(), ["weights", "fit"]),
        (RPCA(lam=0.3), ["fit"]),
    ],
    ids=repr,
)
def test_the_weights_are_chosen_first(model, stages):
    seen = Seen()
    model.set_params(callback=seen).fit(kinds())
    assert list(dict(seen.iterations)) == stages
    if "weights" in stages:
        # Iterations are counted over all trials, each of which takes some.
        numbers = seen.of("weights")
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= FEWEST * len(model.weights_.trials["lam"])
    assert len(seen.of("fit")) == model.n_iter_
    assert len(model.history_["gap"]) <= model.n_iter_


def test_where_the_graph_does_not_help_there_is_no_such_stage():
    seen = Seen()
    assert RPCAG(callback=seen).fit(data()).gamma_ == 0
    assert list(dict(seen.iterations)) == ["weights", "fit"]


def test_the_callback_does_not_change_the_choice():
    X = kinds()
    plain, watched = RPCAG().fit(X), RPCAG(callback=Seen()).fit(X)
    assert (watched.lam_, watched.gamma_) == (plain.lam_, plain.gamma_)
    np.testing.assert_array_equal(watched.low_rank_, plain.low_rank_)


@pytest.mark.parametrize(
    ("model", "stages"),
    [
        (RPCA(), ["weights", "fit"]),
        (RPCAG(), ["weights", "fit"]),
        (RPCAG(gamma=0.1), ["weights", "graph", "fit"]),
    ],
    ids=repr,
)
def test_a_callback_that_stays_true_ends_every_stage(model, stages):
    seen = Seen(stop=lambda progress: True)
    model.set_params(callback=seen).fit(kinds())
    assert list(dict(seen.iterations)) == stages
    assert len(seen.of("fit")) == 1
    assert seen.of("weights") == [1]
    assert model.status_ == "stopped"
    assert model.lower_bound_ <= model.objective_


def test_verbose_logs_the_choice_in_one_line(caplog):
    with caplog.at_level(logging.INFO, logger="rpcag"):
        model = RPCAG(verbose=1).fit(kinds())
    choice, *rest = caplog.messages
    assert choice == (
        f"RPCAG weights: lam {model.lam_:.3g}, gamma {model.gamma_:.3g}; best of "
        f"{len(model.weights_.trials['lam'])} pairs, predicts {model.explained_:.0%} "
        f"of the spread of {model.weights_.n_hidden} hidden entries"
    )
    starts = [message.partition(" iteration")[0] for message in rest]
    assert list(dict.fromkeys(starts)) == ["RPCAG graph", "RPCAG"]
    assert all("certified gap" in message for message in rest)


@pytest.mark.parametrize(
    ("model", "fail"),
    [
        (RPCAG, ("weights", 3)),
        (RPCAG, ("graph", 5)),
        (RPCAG, ("fit", 1)),
        (RPCAG, ("fit", 4)),
        (RPCA, ("weights", 3)),
        (RPCA, ("fit", 2)),
    ],
)
def test_a_killed_fit_repeats_the_choice_and_goes_on(tmp_path, model, fail):
    X, path = kinds(), tmp_path / "fit.npz"
    seen = Seen()
    whole = model(callback=seen).fit(X)
    options = {"checkpoint": path, "checkpoint_seconds": 0}
    with pytest.raises(Killed):
        model(**options, callback=Seen(fail=fail)).fit(X)
    again = Seen()
    rest = model(**options, callback=again).fit(X)
    assert again.of("weights") == seen.of("weights")
    for stage in ("graph", "fit"):
        # The fit goes on from the iteration at which it was killed.
        begun = fail[1] if fail[0] == stage == "fit" else 1
        assert again.of(stage) == seen.of(stage)[begun - 1 :]
    assert (rest.lam_, rest.n_iter_) == (whole.lam_, whole.n_iter_)
    np.testing.assert_array_equal(rest.low_rank_, whole.low_rank_)
    np.testing.assert_array_equal(rest.transform(X[:5]), whole.transform(X[:5]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("model", [RPCA, RPCAG])
def test_a_fit_whose_choice_was_stopped_is_not_saved(tmp_path, model):
    """The weights are others than those that the next fit will choose."""
    X, path = kinds(), tmp_path / "fit.npz"
    options = {"checkpoint": path, "checkpoint_seconds": 0}
    stopped = model(**options, callback=Seen(stop=lambda progress: True)).fit(X)
    whole = model().fit(X)
    assert stopped.status_ == "stopped"
    assert stopped.lam_ != whole.lam_
    assert not path.exists()
    rest = model(**options).fit(X)
    np.testing.assert_array_equal(rest.low_rank_, whole.low_rank_)
    assert not list(tmp_path.iterdir())
    # Nor does it touch the state of an earlier fit.
    with pytest.raises(Killed):
        model(**options, callback=Seen(fail=("fit", 2))).fit(X)
    before = path.read_bytes()
    model(**options, callback=Seen(stop=lambda progress: True)).fit(X)
    assert path.read_bytes() == before


# -- the checkpoint --------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fail", [("graph", 3), ("fit", 1), ("fit", 4)])
def test_a_killed_fit_goes_on_with_the_same_graph(tmp_path, shape, fail):
    X, path = data(*shape), tmp_path / "fit.npz"
    whole, length = RPCAG(gamma="clustering").fit(X), last_of_graph(X)
    options = {"checkpoint": path, "checkpoint_seconds": 0}
    with pytest.raises(Killed):
        RPCAG(gamma="clustering", **options, callback=Seen(fail=fail)).fit(X)
    seen = Seen()
    rest = RPCAG(gamma="clustering", **options, callback=seen).fit(X)
    assert seen.of("graph") == list(range(1, length + 1))
    assert seen.of("fit")[0] == (fail[1] if fail[0] == "fit" else 1)
    assert rest.n_iter_ == whole.n_iter_
    np.testing.assert_array_equal(rest.adjacency_.toarray(), whole.adjacency_.toarray())
    np.testing.assert_array_equal(rest.low_rank_, whole.low_rank_)
    np.testing.assert_array_equal(rest.transform(X[:5]), whole.transform(X[:5]))
    assert not list(tmp_path.iterdir())  # done: nothing is left


def test_a_fit_that_was_stopped_in_its_graph_is_not_saved(tmp_path):
    X, path = data(), tmp_path / "fit.npz"
    options = {"checkpoint": path, "checkpoint_seconds": 0}
    true = Seen(stop=lambda progress: True)
    stopped = RPCAG(gamma="clustering", **options, callback=true)
    assert stopped.fit(X).status_ == "stopped"
    assert not list(tmp_path.iterdir())
    rest = RPCAG(gamma="clustering", **options).fit(X)
    np.testing.assert_array_equal(
        rest.low_rank_, RPCAG(gamma="clustering").fit(X).low_rank_
    )

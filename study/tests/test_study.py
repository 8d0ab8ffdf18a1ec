"""The study: what is run, kept, resumed and counted."""

import csv
import itertools
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.decomposition import FastICA

from rpcag_study import CORRUPTIONS, DATASETS, Store, Study, missing, run
from rpcag_study.datasets import Data, load
from rpcag_study.errors_csv import errors_csv
from rpcag_study.grids import METHODS, PRINTED
from rpcag_study.kmeans import _lloyd, _spread, errors, kmeans, majority_error
from rpcag_study.model_input import CorruptedData, ModelInput
from rpcag_study.plan import FRESH, IMAGES, SETTLED_ON
from rpcag_study.printed import clustering_errors, times
from rpcag_study.report import Report, short
from rpcag_study.report_files import reproduction, screen
from rpcag_study.summary import (
    certificates,
    comparisons,
    every_column,
    graph_control,
    model_means,
    sentences,
    wins_and_losses,
)
from rpcag_study.table_cells import fair, oracle, ranks, trials, winners


def blobs(seed, n=40, p=24, k=4):
    """Classes around random images, in [0, 1]."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(k), n // k)
    X = rng.random((k, p))[y] + 0.15 * rng.random((n, p))
    return Data("blobs", X / X.max(), y, image_shape=(4, p // 4))


def small_study(models=("k-means", "PCA", "NCuts", "RPCA", "RPCAG")):
    study = Study()
    study.add_dataset("blobs", blobs)
    return study.plan(
        datasets=["blobs"],
        protocols=["fair"],
        corruptions=["none", "occlusion25", "missing25"],
        models=models,
        seeds=[1, 2],
    )


def results(store):
    """What a store says, without how long it took."""
    return {
        json.dumps(record["run"], sort_keys=True): record["trials"]
        for record in store.read()
    }


# -- k-means ---------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 5])
def test_runs_side_by_side_are_those_of_scikit_learn(k):
    X = blobs(0).X
    starts = _spread(X, k, 6, np.random.default_rng(3))
    labels, inertia = _lloyd(X, starts.copy())
    for start, found, value in zip(starts, labels, inertia, strict=True):
        expected = KMeans(k, init=start, n_init=1, tol=0).fit(X)
        np.testing.assert_array_equal(found, expected.labels_)
        assert value == pytest.approx(expected.inertia_)


def test_starts_are_drawn_by_squared_distance():
    X = np.array([[0.0], [1.0], [3.0]])
    centers = _spread(X, 2, 30_000, np.random.default_rng(0))[:, :, 0]
    after_zero = centers[centers[:, 0] == 0, 1]
    assert np.mean(after_zero == 3) == pytest.approx(0.9, abs=0.01)
    assert np.mean(centers[:, 0] == 0) == pytest.approx(1 / 3, abs=0.01)


def test_samples_that_coincide_and_no_columns_at_all():
    labels, inertia = kmeans(np.ones((6, 2)), 3, 4, np.random.default_rng(0))
    assert labels.shape == (4, 6)
    assert not inertia.any()
    y = np.repeat([0, 1], 5)
    nothing = errors(np.empty((10, 0)), y, 2, 3, 2, seed=0)
    assert (nothing >= 0.4).all()


def test_an_empty_cluster_gets_the_farthest_sample():
    X = np.array([[0.0], [0.1], [10.0], [20.0]])
    labels, _ = _lloyd(X, np.array([[[0.0], [100.0], [200.0]]]))
    assert len(set(labels[0])) == 3


def test_errors_of_separate_classes_are_zero():
    data = blobs(0)
    found = errors(data.X, data.y, 4, runs=3, starts=5, seed=0)
    assert found.shape == (3, 2)
    assert not found.any()


# -- what the models get ---------------------------------------------------------------


def test_lost_entries_are_zeros_or_missing():
    sample = CorruptedData(blobs(0), "missing25", seed=0)
    lost = ~sample.mask
    assert lost.mean() == pytest.approx(0.25)
    zeros, known = (
        ModelInput(sample, "knn", "zeros"),
        ModelInput(sample, "knn", "known"),
    )
    assert not np.isnan(zeros.X_with_nan).any()
    np.testing.assert_array_equal(np.isnan(known.X_with_nan), lost)
    assert not known.X[lost].any()
    for X in (zeros.X, np.ma.masked_invalid(known.X_with_nan)):
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(X.std(axis=0, ddof=1), 1)
    for inputs in (zeros, known):
        np.testing.assert_allclose(np.linalg.norm(inputs.non_negative, axis=1), 1)
        assert (inputs.non_negative >= 0).all()
    assert not zeros.non_negative[lost].any()
    assert known.non_negative[lost].all()


def test_a_constant_feature_is_only_centered():
    data = blobs(0)
    data.X[:, 3] = 0.5
    inputs = ModelInput(CorruptedData(data, "none", 0), "knn", "zeros")
    assert not inputs.X[:, 3].any()


def test_graphs_know_the_mask():
    sample = CorruptedData(blobs(0), "occlusion25", seed=0)
    same = sample.data.y[:, None] == sample.data.y
    inside = {kind: sample.graph(kind) for kind in ("complete", "knn", "uniform")}
    share = {kind: float((A * same).sum() / A.sum()) for kind, A in inside.items()}
    assert share["knn"] > 0.9
    assert share["complete"] > share["uniform"]
    assert sample.graph("knn") is inside["knn"]
    with pytest.raises(ValueError, match="unknown graph 'wheel'"):
        sample.graph("wheel")


@pytest.mark.parametrize("name", ["PCA", "NCuts", "LE", "GLPCA", "MMF"])
def test_fewer_components_are_the_first_of_more(name):
    inputs = ModelInput(CorruptedData(blobs(0), "occlusion25", 0), "knn", "zeros")
    method = METHODS[name]
    grid = {
        key: values[:2] for key, values in method.oracle(inputs.sample.data).items()
    }
    grid["d"] = [2, 5]
    for values, Q, _ in method.sweep(inputs, grid):
        alone = {key: [value] for key, value in values.items()}
        ((_, expected, _),) = method.sweep(inputs, alone)
        overlap = np.linalg.svd(
            np.linalg.qr(Q)[0].T @ np.linalg.qr(expected)[0], compute_uv=False
        )
        np.testing.assert_allclose(overlap, 1, atol=1e-6)
        assert Q.shape == (40, values["d"])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("mask", ["zeros", "known"])
def test_every_model_answers_every_combination(name, mask):
    inputs = ModelInput(CorruptedData(blobs(0), "missing25", 0), "knn", mask)
    grid = METHODS[name].fair(inputs.sample.data)
    found = [tuple(found.values.items()) for found in METHODS[name].sweep(inputs, grid)]
    expected = int(np.prod([len(values) for values in grid.values()]))
    assert len(found) == len(set(found)) == expected


def test_a_sweep_ends_where_all_samples_are_equally_far_apart():
    inputs = ModelInput(CorruptedData(blobs(0, 24, 60), "none", 0), "knn", "zeros")
    grid = {"lam": [0.5, 2.0, 2.5], "components": ["all"]}
    found = list(METHODS["RPCA"].sweep(inputs, grid))
    assert [each.values["lam"] for each in found] == [0.5, 2.0]
    # In the end L = X, which is centered, and that is no different.
    found += METHODS["RPCA"].sweep(inputs, grid | {"lam": [50.0]})
    for Q in (each.Q for each in found[1:]):
        np.testing.assert_allclose(pdist(Q), np.sqrt(2), rtol=1e-3)


def test_a_sweep_on_a_graph_goes_the_way_of_its_grid_and_ends_alike():
    """The rank grows with lam and as gamma falls; the last of the two runs fastest."""
    inputs = ModelInput(CorruptedData(blobs(0, 24, 60), "none", 0), "knn", "zeros")
    grid = {"gamma": [1.0, 1e-3], "lam": [0.5, 2.0, 20.0, 25.0]}
    found = {}
    for names in (["gamma", "lam"], ["lam", "gamma"]):
        ordered = {name: grid[name] for name in names} | {"components": ["all"]}
        trials = list(METHODS["RPCAG"].sweep(inputs, ordered))
        pairs = [(each.values["lam"], each.values["gamma"]) for each in trials]
        ranks = [each.Q.shape[1] for each in trials]
        assert all(each.gap <= 1e-3 for each in trials)
        found[names[0]] = dict(zip(pairs, ranks, strict=True))
    along = found["gamma"]
    assert list(along) == [
        (0.5, 1.0),
        (2.0, 1.0),
        (20.0, 1.0),
        (0.5, 1e-3),
        (2.0, 1e-3),
    ]
    assert along[20.0, 1.0] == along[2.0, 1e-3] == 24
    # The other way nothing is left out.
    assert list(found["lam"]) == list(itertools.product(grid["lam"], grid["gamma"]))
    for pair in set(along) & set(found["lam"]):
        assert abs(along[pair] - found["lam"][pair]) <= 1


# -- the plan --------------------------------------------------------------------------


@pytest.mark.data
def test_the_plan_has_all_columns_of_the_paper():
    tasks = Study().plan(protocols=["oracle"], models=["RPCAG"])
    paper = [t.run for t in tasks if t.run.graph == "complete"]
    columns = {(r.dataset, r.corruption) for r in paper}
    assert len(columns) == 72
    # Every column has the grid, what lies between its values, what lies beyond, and all
    # of the paper's values, at half of them as its algorithm halves them.
    assert len(paper) == 4 * 72
    for name in {r.dataset for r in paper}:
        lam = [v for r in paper if r.dataset == name for v in r.grid["lam"]]
        n, p = load(name).X.shape
        ends = np.array([2.0**-3, 2.0**3]) / 2 * np.sqrt(max(n, p) / min(n, p))
        assert min(lam) <= 1.01 * ends[0]
        assert max(lam) >= 0.999 * ends[1]
    assert {r.mask for r in paper} == {"zeros"}
    assert {(t.run.graph, t.run.mask) for t in tasks} == {
        ("complete", "zeros"),
        ("knn", "zeros"),
        ("knn", "known"),
        ("uniform", "zeros"),
    }


@pytest.mark.data
@pytest.mark.parametrize("name", ["YALE", "BCI", "USPS"])
def test_the_plan_has_the_papers_grids(name):
    tasks = Study().plan(
        protocols=["oracle"],
        datasets=[name],
        corruptions=["none"],
        models=PRINTED,
    )
    tried = {}
    for each in (t.run for t in tasks if t.run.graph in (None, "complete")):
        grid = {k: v for k, v in each.grid.items() if k != "components"}
        if each.model == "RPCAG":
            grid = {"lam": grid["lam"], "gamma": grid["gamma"]}
        tried.setdefault(each.model, set()).update(itertools.product(*grid.values()))
    n, p = sorted(load(name).X.shape)
    d = [2**k for k in range(1, 12) if 2**k < n] + [n]
    beta, gamma = np.arange(1, 10) / 10, 2.0 ** np.arange(-3, 11)
    others = {"GLPCA": beta.round(1), "RGLPCA": beta.round(1)}
    others |= {"MMF": gamma, "GNMF": gamma}
    for model in set(tried) - {"k-means", "RPCA", "RPCAG"}:
        values = [others[model]] if model in others else []
        assert set(itertools.product(d, *values)) <= tried[model]
    # The printed algorithm solves the model at half of lam and a quarter of gamma.
    lam = np.arange(2**-3, 2**3 + 1e-9, 0.01 * np.sqrt(n)) / 2 * np.sqrt(p / n)
    found = {"every": np.array([value for (value,) in tried["RPCA"]])}
    for weight in gamma / 4:
        found[weight] = np.array([a for a, b in tried["RPCAG"] if b == weight])
    for values in found.values():
        assert np.abs(values[:, None] - lam).min(axis=0).max() < 1e-4
    ends = np.array([2.0**-3, 2.0**3]) / 2 * np.sqrt(p / n)
    for pick, end in zip((min, max), ends.round(3), strict=True):
        lam = pick(value for (value,) in tried["RPCA"])
        assert pick(lam, end) == lam  # there, or beyond
        lam = pick(value for value, _ in tried["RPCAG"])
        assert pick(lam, end) == lam
        assert set(itertools.product([lam], gamma / 4)) <= tried["RPCAG"]


@pytest.mark.data
def test_fresh_images_settled_nothing():
    tasks = Study().plan(protocols=["fresh"], models=["PCA", "RPCAG"], seeds=[21])
    assert {task.run.dataset for task in tasks} == set(FRESH)
    assert {(t.run.graph, t.run.mask) for t in tasks if t.run.model == "RPCAG"} == {
        (graph, mask) for graph in ("knn", "robust") for mask in ("known", "zeros")
    }
    for name in FRESH:
        used = {row.tobytes() for s in SETTLED_ON for row in load(name, seed=s).X}
        (fresh,) = {task.load for task in tasks if task.run.dataset == name}
        assert not used & {row.tobytes() for row in fresh(21).X}


def test_data_of_ones_own_are_not_fresh():
    study = Study()
    study.add_dataset("blobs", blobs)
    assert study.plan(protocols=["fresh"], datasets=["blobs"], models=["PCA"]) == []


def test_models_without_a_graph_run_once():
    runs = [task.run for task in small_study(["PCA"])]
    assert {(r.graph, r.mask) for r in runs if r.corruption == "none"} == {
        (None, "zeros")
    }
    assert {(r.graph, r.mask) for r in runs if r.corruption != "none"} == {
        (None, "zeros"),
        (None, "known"),
    }


def test_the_papers_protocol_is_called_oracle_and_setups_follow_each_other():
    study = Study()
    study.add_dataset("blobs", blobs)
    tasks = study.plan(protocols=["Paper"], datasets=["blobs"], models=["PCA", "RPCAG"])
    assert {task.run.protocol for task in tasks} == {"oracle"}
    masked = [task.run for task in tasks if task.run.corruption != "none"]
    setups = [(r.graph, r.mask) for r in masked if r.model == "RPCAG"]
    assert list(dict.fromkeys(setups)) == [
        ("complete", "zeros"),
        ("knn", "known"),
        ("knn", "zeros"),
        ("uniform", "zeros"),
    ]
    changes = sum(a != b for a, b in itertools.pairwise(setups))
    assert changes == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": ["RPCAGG"]}, "unknown model 'RPCAGG'; there are k-means"),
        ({"datasets": ["ORLL"]}, "unknown data set 'ORLL'"),
        ({"protocols": ["best"]}, "unknown protocol 'best'"),
        ({"corruptions": ["rain"]}, "unknown corruption 'rain'"),
    ],
)
def test_unknown_names_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Study().plan(**{"datasets": [], **change})


# -- the store and the runner ----------------------------------------------------------


def test_a_line_that_was_cut_off_is_done_again(tmp_path):
    store = Store(tmp_path / "new" / "results.jsonl")
    tasks = small_study(["PCA"])
    assert run(tasks, store) == []
    whole = results(store)
    text = store.path.read_bytes()
    store.path.write_bytes(text[:-20])
    assert len(missing(tasks, store)) == 1
    run(tasks, store)
    assert results(store) == whole
    assert store.path.read_bytes().count(b"\n") == len(tasks)


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"run": {"experiment": "phase"}}\nhello\n')
    with pytest.raises(ValueError, match="line 2 is not a record of a study"):
        list(Store(path).read())


def test_two_runs_cannot_write_one_store(tmp_path):
    store = Store(tmp_path / "results.jsonl")
    with (
        store.appending(),
        pytest.raises(RuntimeError, match="being written by another run"),
        store.appending(),
    ):
        pass


def test_a_run_that_was_refused_takes_no_store_away(tmp_path):
    path = tmp_path / "new" / "results.jsonl"
    with Store(path).appending() as writer:  # made, and still empty
        with pytest.raises(RuntimeError, match="another run"), Store(path).appending():
            pass
        writer.add(line("PCA", [0.3], graph=None, d=[2]))
    assert len(list(Store(path).read())) == 1


def _add(path, together, told, name):
    together.wait()
    try:
        with Store(path).appending() as writer:
            if name != "idle":
                writer.add(line(name, [0.3], graph=None, d=[2]))
        told.put(name != "idle")
    except RuntimeError:
        told.put(False)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_was_written_stays_whoever_else_starts_and_ends(tmp_path):
    """Three processes at once on a store that is not there: one has nothing to add."""
    context = multiprocessing.get_context("fork")
    for round_ in range(20):
        path = tmp_path / str(round_) / "results.jsonl"
        together, told = context.Barrier(3), context.Queue()
        processes = [
            context.Process(target=_add, args=(path, together, told, name))
            for name in ("PCA", "NMF", "idle")
        ]
        for process in processes:
            process.start()
        written = sum(told.get(timeout=30) for _ in processes)
        for process in processes:
            process.join()
        assert len(list(Store(path).read())) == written


@pytest.mark.slow
def test_two_processes_give_the_answers_of_one(tmp_path):
    tasks = small_study()
    one, two = Store(tmp_path / "1.jsonl"), Store(tmp_path / "2.jsonl")
    run(tasks, one)
    run(tasks, two, jobs=2)
    assert results(one) == results(two)
    assert len(results(one)) == len(tasks)


@pytest.mark.dask
@pytest.mark.slow
def test_a_dask_cluster_gives_them_too(tmp_path):
    distributed = pytest.importorskip("distributed")
    tasks = small_study(["PCA", "RPCAG"])
    here, there = Store(tmp_path / "1.jsonl"), Store(tmp_path / "2.jsonl")
    run(tasks, here)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as cluster:
        run(tasks, there, dask=cluster.scheduler_address)
    assert results(here) == results(there)


def test_a_run_that_fails_is_told_and_tried_again(tmp_path):
    study = Study()
    study.add_dataset("blobs", blobs)
    study.add_model("broken", lambda inputs: 1 / 0)
    store = Store(tmp_path / "results.jsonl")
    chosen = {"datasets": ["blobs"], "corruptions": ["none"], "protocols": ["fair"]}
    tasks = study.plan(models=["broken", "PCA"], seeds=[1], **chosen)
    failed = run(tasks, store)  # on both graphs
    assert [record["error"] for record in failed] == [
        "ZeroDivisionError: division by zero"
    ] * 2
    assert [task.run.model for task in missing(tasks, store)] == ["broken"] * 2


KILLED = """
import sys
sys.path.insert(0, {tests!r})
from test_study import Store, run, small_study
tasks, store = small_study(), Store({store!r})
print("ready", flush=True)
run(tasks, store, jobs={jobs})
print("done", flush=True)
"""


def written(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.kill
@pytest.mark.slow
def test_killed_at_four_moments_it_ends_with_the_same_store(tmp_path):
    path = tmp_path / "killed.jsonl"
    tasks = small_study()
    whole = Store(tmp_path / "whole.jsonl")
    run(tasks, whole)
    rng = random.Random(0)
    for kill in range(4):
        jobs = 2 if kill % 4 == 3 else 1
        code = KILLED.format(
            tests=str(Path(__file__).parent), store=str(path), jobs=jobs
        )
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            assert process.stdout.readline() == b"ready\n"
            enough = written(path) + rng.randrange(10)  # about a third of it, in all
            while written(path) < enough:
                time.sleep(0.001)
            os.killpg(process.pid, signal.SIGKILL)
    before = len(results(Store(path)))
    assert before < len(tasks), "killed too late to show anything"
    run(tasks, Store(path))
    assert results(Store(path)) == results(whole)
    assert len(path.read_text().splitlines()) == len(tasks)


# -- one's own -------------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_and_a_data_set_of_ones_own_take_ten_lines(tmp_path):
    study = Study()
    study.add_dataset("mine", lambda seed: blobs(seed))
    study.add_model(
        "ICA",
        lambda inputs, d: FastICA(d, random_state=0, max_iter=500).fit_transform(
            inputs.X
        ),
        d=[3, 4],
    )
    chosen = {"datasets": ["mine"], "corruptions": ["none"], "seeds": [0]}
    tasks = study.plan(models=["ICA"], protocols=["oracle"], **chosen)
    tasks += study.plan(models=["RPCAG"], protocols=["fair"], **chosen)
    store = Store(tmp_path / "mine.jsonl")
    assert run(tasks, store, jobs=2) == []
    report = Report(store.read())
    assert ("mine", "none", "ICA") in report.oracle("knn", "zeros")
    assert ("mine", "none", "RPCAG") in report.fair("knn", "known")
    for add in (study.add_dataset, study.add_model):
        with pytest.raises(ValueError, match="already"):
            add("mine" if add == study.add_dataset else "ICA", None)


# -- the printed tables and the report -------------------------------------------------


def test_printed_tables_say_what_the_paper_says():
    printed = clustering_errors()
    assert len(printed) == 748
    columns = {key[:2] for key in printed}
    assert len(columns) == 72
    assert {dataset for dataset, _ in columns} == set(DATASETS)
    assert {corruption for _, corruption in columns} == set(CORRUPTIONS)
    assert {model for *_, model in printed} == set(PRINTED)
    assert list(ranks(printed).values()).count(1) == 65
    assert times()["RPCAG", 1200] == (869.8, 13.8)


def line(model, errors, graph="complete", protocol="oracle", seed=0, **grid):
    """A line of a store, with the same number for least and mean."""
    return {
        "run": {
            "protocol": protocol,
            "dataset": "ORL",
            "corruption": "occlusion25",
            "seed": seed,
            "model": model,
            "graph": graph,
            "mask": "zeros",
            "parameters": [[name, values] for name, values in grid.items()],
        },
        "trials": [[5, e, e + 0.1, e - 0.01, e] for e in errors],
        "seconds": 1.0,
    }


def test_cells_are_the_least_over_the_grid():
    found = trials(
        [
            line("RPCAG", [0.5, 0.1, 0.4, 0.2], lam=[0.5, 1], components=["all", "k"]),
            line("RPCAG", [0.05], graph="knn", lam=[1]),
            line("PCA", [0.4, 0.45], graph=None, d=[2, 4]),
            line("k-means", [0.3], graph=None),
        ]
    )
    cells = oracle(found, "complete", "zeros")
    column = "ORL", "occlusion25"
    assert cells[*column, "RPCAG"] == 0.4
    assert cells[*column, "PCA"] == 0.4
    assert cells[*column, "k-means"] == pytest.approx(0.4)  # the mean of its runs
    assert ranks(cells)[column] == 1
    assert winners(cells)[column] == "RPCAG"
    some = oracle(
        found, "complete", "zeros", where=lambda t: t.values.get("lam") == 0.5
    )
    assert some[*column, "RPCAG"] == 0.5


def test_fair_cells_take_what_was_chosen_without_labels():
    grid = {"lam": [1.0], "gamma": [0.02, "clustering"], "components": ["all", "k"]}
    found = trials(
        line("RPCAG", errors, "knn", "fair", seed, **grid)
        for seed, errors in ((1, [0.0, 0.1, 0.2, 0.3]), (2, [0.0, 0.1, 0.2, 0.5]))
    )
    cells = fair(found, "knn", "zeros")
    by_seed = cells["ORL", "occlusion25", "RPCAG"]
    assert by_seed == pytest.approx({1: 0.4, 2: 0.6})
    small = fair(found, "knn", "zeros", {"gamma": 0.02, "components": "k"})
    assert small["ORL", "occlusion25", "RPCAG"] == pytest.approx({1: 0.2, 2: 0.2})


def test_the_report_counts_and_compares():
    records = [
        line("RPCAG", [0.2, 0.3], lam=[1.0], components=["all", "k"]),
        line("RPCA", [0.25, 0.3], graph=None, lam=[1.0], components=["all", "k"]),
    ]
    for seed, better in ((1, 0.1), (2, 0.3)):
        for model, error in (("RPCAG", 0.5 - better), ("RPCA", 0.5)):
            grid = {"lam": [1.0], "components": ["k"]}
            if model == "RPCAG":
                grid["gamma"] = ["clustering"]
            graph = "knn" if model == "RPCAG" else None
            records.append(line(model, [error], graph, "fair", seed, **grid))
    report = Report(records)
    wins = report.wins()
    assert wins.rows[0][:3] == ["the paper", "72", "65"]
    assert wins.rows[1][:3] == ["oracle, the paper's graph, zeros as data", "1", "1"]
    oracle_only = Report(r for r in records if r["run"]["protocol"] == "oracle")
    table = every_column(oracle_only)
    assert ["RPCAG", "20.0 (24.7)"] in table.rows
    assert report.paired().rows[0][2:] == ["2", "-20.0", "14.1", "100 %"]
    for text in (table.markdown(), table.csv()):
        assert "20.0 (24.7)" in text


def test_ties_count_for_rpcag():
    cells = {
        ("ORL", "none", "RPCAG"): 0.2,
        ("ORL", "none", "RPCA"): 0.2,
        ("ORL", "missing15", "RPCAG"): 0.1,
        ("ORL", "missing15", "RPCA"): 0.2,
        ("ORL", "missing25", "RPCAG"): 0.3,
        ("ORL", "missing25", "RPCA"): 0.2,
        ("ORL", "missing25", "PCA"): 0.2,
    }
    assert list(winners(cells).values()) == ["RPCAG", "RPCAG", "RPCA"]


def everywhere(model, error, protocol="fair", graph=None, **grid):
    """A line for every column of the image sets."""
    for dataset, corruption, name in clustering_errors():
        if dataset in IMAGES and name == "RPCAG":
            record = line(model, [error, error / 2], graph, protocol, 1, **grid)
            mask = "known" if protocol != "oracle" and corruption != "none" else "zeros"
            record["run"] |= {
                "dataset": dataset,
                "corruption": corruption,
                "mask": mask,
            }
            yield record


@pytest.fixture(scope="module")
def whole():
    return Report(whole_records())


def whole_records():
    """A report on all image sets, with errors that one can add up."""
    grid = {"components": ["all", "k"]}
    return [
        *everywhere("RPCA", 0.4, **grid),
        *everywhere("NCuts", 0.5, graph="knn", **grid),
        *everywhere("RPCAG", 0.2, graph="robust", gamma=["clustering"], **grid),
        *everywhere("RPCA", 0.4, "oracle", **grid),
        *everywhere("RPCAG", 0.2, "oracle", graph="complete", **grid),
        *everywhere("RPCAG", 0.3, "oracle", graph="uniform", **grid),
    ]


def test_means_and_wins_stand_beside_the_paper(whole):
    table = model_means(whole)
    rows = {row[0]: row[1:] for row in table.rows}
    # Without labels at k components, by the mean error: 0.1 above the least.
    assert rows["RPCA"][0] == "60"
    assert rows["RPCA"][2:] == ["40.0", "30.0"]
    assert rows["RPCAG"][2:] == ["20.0", "20.0"]
    assert rows["NCuts"][2:] == ["-", "35.0"]
    printed = [100 * e for key, e in whole.printed.items() if key[0] in IMAGES]
    assert len(printed) == len({key for key in whole.printed if key[0] in IMAGES})
    ours = [
        e for key, e in whole.printed.items() if key[0] in IMAGES and key[2] == "RPCAG"
    ]
    assert rows["RPCAG"][1] == f"{100 * np.mean(ours):.1f}"
    assert (table.rows.index(["RPCAG", *rows["RPCAG"]]), 4) in table.bold
    found = wins_and_losses(whole)
    groups = [*IMAGES, "images, clean", "images, occluded", "images, missing"]
    assert [row[0] for row in found.rows] == groups
    assert found.rows[0][1:] == ["wins", "20.0", "30.0 (RPCA)", "-10.0", "10 of 10"]
    rival = [*everywhere("LE", 0.1, graph="knn", components=["all", "k"])]
    lost = wins_and_losses(Report([*whole_records(), *rival]))
    assert lost.rows[0][1:] == ["loses", "20.0", "15.0 (LE)", "+5.0", "0 of 10"]
    # A rival that has not been run everywhere might be the best: nothing is said.
    assert wins_and_losses(Report([*whole_records(), *rival[:1]])).rows[0][0] == "ORL"


def test_the_summary_is_three_sentences_with_the_numbers_of_the_store(whole):
    direction, size = sentences(whole)
    assert "lower error than RPCA in 60 of 60 columns" in direction
    # Both graphs are below RPCA everywhere: the control takes the claim away.
    assert direction.startswith("**Reproduced in part")
    assert "a graph without information is not significant" in direction
    assert "best model in 60 columns (paper: 65)" in size
    grid = {"gamma": ["clustering"], "components": ["all", "k"]}
    known = [*everywhere("RPCAG", 0.3, graph="knn", **grid)]
    zeros = [*everywhere("RPCAG", 0.5, graph="knn", **grid)]
    for record in zeros:
        record["run"]["mask"] = "zeros"
    spoiled = [r for r in zeros if r["run"]["corruption"] != "none"]
    *_, advice = sentences(Report([*whole_records(), *known, *spoiled]))
    assert f"labels on {', '.join(IMAGES[:-1])} and {IMAGES[-1]}. Another" in advice
    assert "better on none. " in advice
    assert "lowers the error of RPCAG by 10.0 points" in advice


def test_the_summary_says_nothing_about_what_was_not_run():
    assert sentences(Report([])) == []
    few = Report([line("PCA", [0.3], graph=None, d=[2])])
    assert sentences(few) == []
    assert wins_and_losses(few).rows == []
    assert comparisons(few).rows == []


def test_fresh_images_are_compared_by_themselves():
    grid = {"components": ["all", "k"]}
    fresh = [
        *everywhere("RPCA", 0.4, "fresh", **grid),
        *everywhere("NCuts", 0.1, "fresh", graph="knn", **grid),
        *everywhere(
            "RPCAG", 0.2, "fresh", graph="robust", gamma=["clustering"], **grid
        ),
    ]
    report = Report([record for record in fresh if record["run"]["dataset"] in FRESH])
    (row,) = comparisons(report).rows
    assert row[:2] == ["fresh", "RPCAG robust, others 10 neighbors"]
    assert row[2:] == ["+5.0 (NCuts)"] * 3
    assert "fresh,knn" in errors_csv(report)


def oracle_of(graph, error, gamma=(1.0, 0.01), dataset="ORL"):
    """Runs of RPCAG on ten columns: `error` is a number or one by column."""
    for k, share in enumerate(range(10, 60, 5)):
        at = error[k] if isinstance(error, list) else error
        model = "RPCA" if graph is None else "RPCAG"
        grid = {"lam": [1.0]} | ({} if graph is None else {"gamma": list(gamma)})
        errors = [at] * (1 if graph is None else len(gamma))
        record = line(model, errors, graph, **grid)
        record["run"] |= {"dataset": dataset, "corruption": f"missing{share}"}
        yield record


def test_the_claim_holds_only_where_the_control_does_not_do_the_same():
    rpca = list(oracle_of(None, 0.3))
    ours = list(oracle_of("complete", 0.2))
    same, worse = oracle_of("uniform", 0.25), oracle_of("uniform", 0.4)
    printed = line("RPCAG", [0.2], lam=[1.0], gamma=[1.0])  # a column of the paper
    for control, verdict, below_rpca in (
        (same, "**Reproduced in part", "10"),
        (worse, "**Reproduced:", "0"),
        ((), "**Reproduced in part", None),
    ):
        report = Report([printed, *rpca, *ours, *control])
        direction, _ = sentences(report)
        assert direction.startswith(verdict)
        assert "in 10 of 10 columns" in direction
        rows = {row[0]: row[1:] for row in graph_control(report).rows}
        assert rows["with labels, the paper's graph"] == ["10", "10"]
        found = rows.get("with labels, uniform graph, shared settings", [None, None])
        assert found[1] == below_rpca
    higher = [*oracle_of(None, 0.3), *oracle_of("complete", 0.4)]
    assert sentences(Report(higher))[0].startswith("**Not reproduced")


def test_gaps_are_counted_where_records_keep_them():
    kept = [line("RPCA", [0.3], graph=None, lam=[1.0]) for _ in range(3)]
    for record, gap in zip(kept, (5e-4, 2e-3, None), strict=True):
        record["gap"] = gap
    del kept[2]["gap"]
    kept.append(line("PCA", [0.3], graph=None, d=[2]) | {"gap": 1.0})
    assert certificates(Report(kept)).rows == [["RPCA", "2", "1", "2.0e-03"]]


def test_the_three_comparisons_have_a_graph_each():
    forms = {"components": ["all", "k"]}
    rpcag = {"gamma": ["clustering"], **forms}

    def seeds(model, errors, **options):
        for seed, error in enumerate(errors, start=1):
            for record in everywhere(model, error, **options):
                record["run"]["seed"] = seed
                yield record

    records = [
        *seeds("RPCA", (0.4, 0.42), **forms),
        *seeds("NCuts", (0.3, 0.3), graph="knn", **forms),
        *seeds("RPCAG", (0.32, 0.3), graph="knn", **rpcag),
        *seeds("RPCAG", (0.2, 0.22), graph="robust", **rpcag),
    ]
    assert len(comparisons(Report(records)).rows) == 2
    records += seeds("NCuts", (0.1, 0.1), graph="robust", **forms)
    report = Report(records)
    # At k components, half of these, by the mean error, which is 0.1 above the least.
    assert [row[2] for row in comparisons(report).rows] == [
        "-4.5 ± 0.5 (NCuts)",
        "+0.5 ± 0.5 (NCuts)",
        "+5.5 ± 0.5 (NCuts)",
    ]
    names = [row[0] for row in report.means().rows]
    assert "NCuts, robust graph" in names


def test_other_corruptions_and_models_of_ones_own_are_in_the_tables():
    records = []
    for corruption in ("none", "missing25", "missing9", "occlusion33"):
        for model, error in (("ICA", 0.1), ("RPCAG", 0.2)):
            grid = {"gamma": ["clustering"]} if model == "RPCAG" else {}
            record = line(model, [error], "knn", "fair", 1, **grid)
            mask = "zeros" if corruption == "none" else "known"
            record["run"] |= {"corruption": corruption, "mask": mask}
            records.append(record)
    report = Report(records)
    header = every_column(report).header
    assert header[1:] == [
        *("ORL clean", "ORL missing 25 %", "ORL missing 9 %", "ORL occluded 33 %")
    ]
    wins = report.wins()
    assert wins.header[-1] == "ICA"
    assert wins.rows[-1][1:3] == ["4", "0"]
    assert wins.rows[-1][-1] == "4"
    assert short("samples25_missing25") == "a quarter missing 25 %"
    assert short("samples10_occlusion5") == "10 % of samples occluded 5 %"
    page = reproduction(report, records, None)
    assert "occluded 33 %" in page
    assert "![" not in page
    # What there is nothing of has no heading, and clean data are there once.
    for heading in ("Ours minus the paper's", "Errors over lam and gamma"):
        assert heading not in page
    clean = [record for record in records if record["run"]["corruption"] == "none"]
    assert [setup for setup, _ in Report(clean).setups("fair")] == [("knn", "known")]
    # Without a graph there is one setup of a mask, whatever the protocol's graphs.
    alone = Report([line("PCA", [0.3], graph=None, d=[2])])
    assert [setup for setup, _ in alone.setups("oracle")] == [("complete", "zeros")]


def test_all_errors_in_one_tidy_table():
    grid = {"gamma": ["clustering", 0.02], "components": ["k"]}
    records = [
        line("RPCAG", [0.3, 0.2], lam=[0.5, 1.0], components=["all"]),
        line("PCA", [0.4], graph=None, d=[2]),
        line("RPCAG", [0.1, 0.2], "knn", "fair", 1, **grid),
        line("RPCAG", [0.3, 0.2], "knn", "fair", 2, **grid),
    ]
    rows = list(csv.DictReader(errors_csv(Report(records)).splitlines()))
    assert len(rows) == 4
    first, last = rows[0], rows[-1]
    assert first["parameters"] == "lam=1 components=all"
    assert float(first["error"]) == 20
    assert float(first["difference"]) == pytest.approx(20 - float(first["paper"]))
    assert (rows[1]["graph"], rows[1]["sd"]) == ("none", "")
    assert last["parameters"] == "gamma=clustering components=k"
    assert (last["error"], last["sd"], last["seeds"]) == ("30.00", "14.14", "2")


@pytest.mark.parametrize("shape", [(40, 24), (24, 400), (60, 60)])
def test_the_oracle_reaches_the_ends_of_the_papers_grids(shape):
    n, p = shape
    data = blobs(0, n, p)
    unit = np.sqrt(max(shape) / min(shape))  # of 1 / sqrt(max), in 1 / sqrt(min)
    for name in PRINTED:
        method = METHODS[name]
        both = [method.oracle(data), *(rest(data) for rest in method.rests)]
        if any("d" in grid for grid in both):
            tried = [v for grid in both for v in itertools.product(*grid.values())]
            assert len(set(tried)) == len(tried)  # nothing twice
            d = [d for grid in both for d in grid["d"]]
            assert (min(d), max(d)) == (2, min(shape))
        if any("lam" in grid for grid in both):
            lam = [lam for grid in both for lam in grid.get("lam", [])]
            assert len(set(lam)) == len(lam)
            # The paper's, from 2^-3 to 2^3 of its unit, at half of which its
            # algorithm solves the model.
            assert min(lam) <= unit / 16 + 1e-3
            assert max(lam) >= 4 * unit - 1e-3


def test_a_mistake_in_a_study_of_ones_own_is_told():
    study = Study()
    with pytest.raises(ValueError, match="there is a data set 'orl' already"):
        study.add_dataset("orl", blobs)
    for values in (10, "abc", []):
        with pytest.raises(ValueError, match="d of mine must be a list of values"):
            study.add_model("mine", lambda inputs, d: inputs.X, d=values)
    study.add_model("mine", lambda inputs, d: inputs.X[:, :d], d=np.array([3, 4]))
    whole = blobs(0)
    bad = {
        "tuple": (
            lambda seed: (whole.X, whole.y),
            "must be loaded as a rpcag_study.datasets",
        ),
        "bare": (lambda seed: Data("bare", whole.X), "no classes"),
        "holes": (lambda seed: Data("holes", whole.X * np.nan, whole.y), "NaN"),
    }
    for name, (make, told) in bad.items():
        study.add_dataset(name, make)
        with pytest.raises(ValueError, match=told):
            study.plan(datasets=[name])
    with pytest.raises(ValueError, match="between 1 and 99, got 150"):
        study.plan(corruptions=["missing150"])


@pytest.mark.parametrize(
    ("fit", "told"),
    [
        (lambda inputs: inputs.X * np.nan, "got NaN or infinity"),
        (lambda inputs: inputs.X[:3], "got float64 of shape (3, 24)"),
        (lambda inputs: inputs.X[0], "got float64 of shape (24,)"),
        (lambda inputs: None, "got object of shape ()"),
    ],
)
def test_what_is_no_embedding_is_not_stored(tmp_path, fit, told):
    study = Study()
    study.add_dataset("blobs", blobs)
    study.add_model("mine", fit)
    chosen = {"datasets": ["blobs"], "models": ["mine"], "corruptions": ["none"]}
    tasks = study.plan(protocols=["fair"], seeds=[1], **chosen)
    (failed, *_) = run(tasks, Store(tmp_path / "s.jsonl"))
    assert told in failed["error"]
    assert not (tmp_path / "s.jsonl").exists()


def test_names_said_twice_are_run_once():
    study = Study()
    study.add_dataset("blobs", blobs)
    chosen = {"datasets": ["blobs", "Blobs"], "models": ["PCA", "pca"]}
    tasks = study.plan(
        protocols=["paper", "oracle"], corruptions=["none", "none"], **chosen
    )
    assert len(tasks) == 2  # the powers of two, and the last d


def test_a_name_with_another_loader_is_other_data(tmp_path):
    found = []
    for p in (24, 32):
        study = Study()
        study.add_dataset("mine", lambda seed, p=p: blobs(seed, p=p))
        tasks = study.plan(
            datasets=["mine"],
            models=["k-means"],
            corruptions=["none"],
            protocols=["fair"],
            seeds=[1],
        )
        store = Store(tmp_path / f"{p}.jsonl")
        assert run(tasks, store) == []
        ((trial,),) = results(store).values()
        found.append(trial[0])
    assert found == [24, 32]  # columns of what k-means got


@pytest.mark.parametrize(
    "text",
    ['{"precious": 1}', "hello", '{"run":1}\n', '{"run":{}}\n', '{"run":{"id":3}}'],
)
def test_what_is_no_store_is_left_as_it_is(tmp_path, text):
    path = tmp_path / "conf.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="line 1 is not a record of a study"):
        run(small_study(["PCA"]), Store(path))
    assert path.read_text() == text


def test_a_last_line_without_its_end_is_kept(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(line("PCA", [0.3], graph=None, d=[2])))
    store = Store(path)
    assert len(list(store.read())) == 1
    with store.appending() as writer:
        writer.add(line("NMF", [0.3], graph=None, d=[2]))
    assert [record["run"]["model"] for record in store.read()] == ["PCA", "NMF"]


@pytest.mark.parametrize(
    "run_of", [{"protocol": "fair"}, {"protocol": "fair", "parameters": []}]
)
def test_a_record_that_is_not_whole_is_told(run_of):
    with pytest.raises(ValueError, match="not whole"):
        Report([{"run": run_of, "trials": []}])


def test_the_oracle_ends_a_sweep_where_the_rank_is_half_the_full_one():
    inputs = ModelInput(CorruptedData(blobs(0), "none", 0), "knn", "zeros")
    grid = {"lam": [1.0], "gamma": [1.0, 1e-3, 1e-4, 1e-5], "components": ["all"]}
    method = METHODS["RPCAG"]
    every = list(method.trials(inputs, grid, "fair"))
    ranks_of = [Q.shape[1] for _, Q, _ in every]
    assert len(every) == 4
    ended = list(method.trials(inputs, grid, "oracle"))
    above = [rank > 12 for rank in ranks_of]  # half of 24
    assert above.index(True) == len(ended) - 1 < 3
    # What was tried is the same.
    for (values, Q, _), (same, R, _) in zip(ended, every, strict=False):
        assert values == same
        assert Q.shape == R.shape


def test_a_small_store_is_one_table(whole):
    grid = {"gamma": ["clustering"], "components": ["k"]}
    ours = line("RPCAG", [0.2], "robust", "fair", 1, **grid)
    ours["run"]["mask"] = "known"
    table = every_column(Report([ours]))
    assert table.header == ["model", "ORL occluded 25 %"]
    assert table.rows == [["RPCAG", "30.0 (24.7)"]]
    labels = every_column(Report([line("RPCAG", [0.2], lam=[1.0])]))
    assert labels.rows == [["RPCAG", "20.0 (24.7)"]]
    assert ", with labels" in labels.title


def test_a_compressed_store_is_read_and_appended_to(tmp_path):
    packed, plain = tmp_path / "r.jsonl.xz", tmp_path / "r.jsonl"
    assert not Store(packed).exists()
    with Store(packed).appending() as writer:
        writer.add(line("PCA", [0.3], graph=None, d=[2]))
        assert len(list(Store(packed).read())) == 1  # before it is moved
    assert not plain.exists()
    with Store(packed).appending() as writer:
        writer.add(line("PCA", [0.2], graph=None, d=[4]))
        writer.add(line("PCA", [0.1], graph=None, d=[2]))  # the later one counts
    found = {tuple(r["run"]["parameters"][0][1]): r for r in Store(packed).read()}
    assert found[(2,)]["trials"][0][1] == 0.1
    assert len(found) == 2
    # What a killed process left beside it is read, and moved by the next.
    with Store(plain).appending() as writer:
        writer.add(line("NCuts", [0.2], d=[2]))
    assert len(list(Store(packed).read())) == 3
    with Store(packed).appending():
        pass
    assert not plain.exists()
    assert len(list(Store(packed).read())) == 3
    before = packed.read_bytes()
    with Store(packed).appending():
        pass
    assert packed.read_bytes() == before
    packed.write_bytes(before[:50])
    with pytest.raises(ValueError, match="damaged or not compressed"):
        list(Store(packed).read())


def test_the_committed_results_are_small():
    folder = Path(__file__).parents[1] / "results"
    if not folder.exists():
        pytest.skip("the archive has no results")
    assert 0 < sum(path.stat().st_size for path in folder.iterdir()) < 2e6


def test_a_page_is_short_and_names_the_tables_that_do_not_fit():
    store = Path(__file__).parents[1] / "results" / "clustering.jsonl.xz"
    if not store.exists():
        pytest.skip("the archive has no results")
    records = list(Store(store).read())
    report = Report(records)
    page = reproduction(report, records, None)
    assert len(page.split()) < 1500
    *folds, end = page.split("</details>")
    for fold in screen(report, records).folds:
        is_shown = any(f"<summary>{fold.title}</summary>" in part for part in folds)
        assert is_shown != (fold.title in end)


def test_errors_by_majority():
    found = np.array([1, 1, 2, 2, 2, 2])
    assert majority_error(np.array([0, 0, 0, 1, 1, 2]), found) == pytest.approx(2 / 6)
    assert majority_error(np.array([0, 0, 1]), np.array([0, 1, 2])) == 0

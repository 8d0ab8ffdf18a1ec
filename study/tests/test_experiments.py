"""The paper's other experiments: complete, the same every time, resumable."""

import json
import pickle
import types

import numpy as np
import pytest
from scipy import sparse

from fixtures import data_folder
from rpcag.graphs import KNNGraph
from rpcag_study import ModelInput, Store, missing, run
from rpcag_study.datasets import Data
from rpcag_study.experiments import (
    components,
    directions,
    faces,
    graph_quality,
    parameters,
    phase,
    timing,
)
from rpcag_study.experiments.common import first_classes, fixed
from rpcag_study.grids import METHODS, PRINTED
from rpcag_study.inpainting import inpaint_tv
from rpcag_study.model_input import CorruptedData
from rpcag_study.printed import times
from rpcag_study.table_cells import trials

pytestmark = pytest.mark.slow


def blobs(run):
    """Classes around random images in [0, 1], as many as the run asks for."""
    rng = np.random.default_rng(run.seed)
    k, each = getattr(run, "subjects", 4), getattr(run, "images", 8)
    y = np.repeat(np.arange(k), each)
    X = rng.random((k, 36))[y] + 0.15 * rng.random((k * each, 36))
    return Data("blobs", X / X.max(), y, image_shape=(6, 6))


HERE = {"dataset": "blobs", "load": blobs}
EXPERIMENTS = {
    "timing": (timing, {"images": [6], "subjects": 4, **HERE}),
    "graph-quality": (graph_quality, {"seeds": [1, 2], **HERE}),
    "parameters": (
        parameters,
        {
            "subjects": 3,
            "images": [6],
            "occlusions": [20],
            "n": 40,
            "ranks": [0.05],
            "shares": [5],
            "lam": [0.5, 1.0],
            "gamma": [0.0, 0.125],
            **HERE,
        },
    ),
    "components": (components, {"images": 6, **HERE}),
    "directions": (directions, {"subjects": 4, "images": 6, **HERE}),
    "phase": (
        phase,
        {"size": 40, "ranks": [0.05], "errors": [6], "signs": ["random"], "seeds": [1]},
    ),
    "faces": (faces, {"subjects": [2], "images": 8, "seeds": [1], **HERE}),
}
TRIED_ALL = ("parameters", "phase", "faces")  # their parameters are in the run
MEASURED = ("seconds", "svds")  # the clock's, not ours


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """The records of every experiment at its smallest."""
    folder = tmp_path_factory.mktemp("stores")
    made = {}
    for name, (module, options) in EXPERIMENTS.items():
        store = Store(folder / f"{name}.jsonl")
        assert run(module.plan(**options), store) == []
        made[name] = store
    return made


def without_times(record):
    return {key: value for key, value in record.items() if key not in MEASURED}


# -- what all have in common -----------------------------------------------------------


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_records_are_complete_and_the_same_every_time(name, stores):
    module, options = EXPERIMENTS[name]
    records = list(stores[name].read())
    tasks = module.plan(**options)
    assert len(records) == len(tasks)
    assert {next(iter(record["run"].items())) for record in records} == {
        ("experiment", name)
    }
    assert trials(records) == []  # the report of the clustering leaves them out
    assert name in TRIED_ALL or all("parameters" in record for record in records)
    for task, record in list(zip(tasks, records, strict=True))[-3:]:
        again = json.loads(json.dumps(task()))
        assert without_times(again) == without_times(record)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_resumed_run_does_only_what_is_missing(name, stores, tmp_path):
    module, options = EXPERIMENTS[name]
    lines = stores[name].path.read_text().splitlines(keepends=True)
    store = Store(tmp_path / "cut.jsonl")
    store.path.write_text("".join(lines[:-1]) + lines[-1][:20])
    done = []
    run(module.plan(**options), store, watch=done.append)
    assert [record["run"] for record in done] == [json.loads(lines[-1])["run"]]
    assert not missing(module.plan(**options), store)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_tasks_go_to_other_processes(name):
    module, options = EXPERIMENTS[name]
    for plan in (module.plan(), module.plan(**options), module.plan(**module.QUICK)):
        runs = [task.run for task in plan]
        assert len(set(runs)) == len(runs)
        assert [pickle.loads(pickle.dumps(task)).run for task in plan] == runs


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_tables_are_rectangular_and_ignore_other_experiments(name, stores):
    module, _ = EXPERIMENTS[name]
    everything = [record for store in stores.values() for record in store.read()]
    tables = module.tables(everything)
    assert tables
    for table in tables:
        assert {len(row) for row in table.rows} == {len(table.header)}
        assert table.markdown()
    assert module.tables([]) == []


@pytest.mark.parametrize(
    "module", [timing, graph_quality, components, directions, faces]
)
def test_unknown_models_are_refused(module):
    with pytest.raises(ValueError, match="unknown model 'RPCAGG'; there are"):
        module.plan(models=["RPCAGG"])


def test_parameters_are_those_of_the_fair_protocol():
    data = blobs(types.SimpleNamespace(seed=0))
    rpcag = fixed(METHODS["RPCAG"], data)
    assert rpcag["lam"] == METHODS["RPCAG"].fair(data)["lam"]
    assert (rpcag["gamma"], rpcag["components"]) == (["clustering"], ["k"])
    assert fixed(METHODS["MMF"], data) == {"d": [4], "gamma": [2.0]}
    assert fixed(METHODS["k-means"], data) == {}


def test_the_first_classes_are_kept():
    data = blobs(types.SimpleNamespace(seed=0))
    some = first_classes(data, 2)
    np.testing.assert_array_equal(some.X, data.X[:16])
    assert some.n_classes == 2
    with pytest.raises(ValueError, match="subjects must lie between 1 and 4, got 5"):
        first_classes(data, 5)


# -- timing ----------------------------------------------------------------------------


def timed(model, n=300):
    return {
        "run": timing.TimingRun(30, n // 30, model).record(),
        "n": n,
        "seconds": {"fit": 1.5, "graph": 0.1, "svd": 0.05},
        "svds": {"fit": 30.0, "graph": 2.0},
        "errors": [0.401, 0.39],
    }


def test_times_stand_beside_the_printed_ones():
    assert len(timing.MODELS) == 10
    assert {n for _, n in times()} == {30 * images for images in timing.IMAGES}
    seconds, svds, errors = timing.tables([timed("RPCAG"), timed("RPCA", 600)])
    assert list(seconds.header) == ["model", "n = 300", "n = 600"]
    assert ["RPCAG", "1.5 (69.7)", "-"] in seconds.rows
    assert ["RPCA", "-", "1.5 (159.3)"] in seconds.rows
    assert ["the graph", "2", "2"] in svds.rows
    assert ["RPCAG", "40.1 (8.4)", "-"] in errors.rows


def test_times_are_positive_and_of_the_size_measured(stores):
    for record in stores["timing"].read():
        assert record["n"] == 24
        assert record["seconds"]["fit"] > 0
        assert record["svds"]["fit"] == pytest.approx(
            record["seconds"]["fit"] / record["seconds"]["svd"], rel=0.02
        )
        assert (record["seconds"]["graph"] > 0) == (record["run"]["graph"] is not None)


# -- graph quality ---------------------------------------------------------------------


def test_graphs_know_what_they_are_told():
    data = blobs(types.SimpleNamespace(seed=0))
    told = {
        name: graph_quality.Told(data, "missing35", 1, name)
        for name in graph_quality.KNOWLEDGE
    }
    seen, mask = told["masked"].seen, told["masked"].mask
    builder = KNNGraph(10)
    expected = {
        "clean": builder(data.X),
        "inpainted": builder(inpaint_tv(seen, (6, 6), mask)),
        "masked": builder(seen, mask),
        "unknown": builder(seen),
    }
    for name, graph in expected.items():
        assert abs(told[name].graph("knn") - graph).max() == 0
    for sample in told.values():  # models get the same whatever the graph knows
        np.testing.assert_array_equal(
            ModelInput(sample, "knn", "zeros").X,
            ModelInput(told["clean"], "knn", "zeros").X,
        )
    share = {k: graph_quality.inside(s.graph("knn"), data.y) for k, s in told.items()}
    assert share["clean"] > share["unknown"]
    assert share["masked"] > share["unknown"]


def test_half_of_the_lost_entries_are_known():
    mask = np.ones((3, 10), bool)
    mask[:, :4] = False
    trusted = graph_quality.half_known(mask, seed=1)
    assert trusted[mask].all()
    np.testing.assert_array_equal((~trusted).sum(axis=1), 2)
    assert not mask[:, :4].any(), "the mask itself was changed"
    np.testing.assert_array_equal(trusted, graph_quality.half_known(mask, seed=1))


def test_weight_inside_classes():
    A = np.array([[0, 2, 1], [2, 0, 0], [1, 0, 0]])
    y = np.array([0, 0, 1])
    assert graph_quality.inside(A, y) == pytest.approx(4 / 6)
    assert graph_quality.inside(sparse.csr_array(A), y) == pytest.approx(4 / 6)


def test_models_without_a_graph_run_once_a_seed(stores):
    runs = [record["run"] for record in stores["graph-quality"].read()]
    assert [r["models"] for r in runs if r["knowledge"] is None] == [["RPCA"]] * 2
    assert len(runs) == 2 * (1 + len(graph_quality.KNOWLEDGE))
    table = graph_quality.tables(stores["graph-quality"].read())[0]
    (rpca,) = [row for row in table.rows if row[0] == "RPCA"]
    assert len(set(rpca[1:])) == 1
    assert "±" in rpca[1]
    assert table.rows[-1][0] == "weight inside classes, %"
    with pytest.raises(ValueError, match="unknown 'everything': choose from clean"):
        graph_quality.plan(knowledge=["everything"])


# -- parameters ------------------------------------------------------------------------


def test_low_rank_matrices_are_those_of_the_paper():
    data = parameters.low_rank(parameters.LowRankGridRun(200, 10, 5))
    assert np.linalg.matrix_rank(data.X) == 10
    assert data.X.std() == pytest.approx(np.sqrt(10) / 200, rel=0.05)


def test_the_grid_finds_the_matrix_where_it_can(stores):
    low, faces = stores["parameters"].read()
    assert low["run"]["gamma"] == [0.125, 0.0]  # the largest first
    found = np.array(low["log10"])
    assert found.shape == (2, 2)
    assert found[1, 1] < -4  # lam = 1, no graph
    assert found[0, 0] > -1  # lam too small
    for kind in ("matching", "majority"):
        for chosen in ("all", "k"):
            errors = np.array(faces[kind][chosen])
            assert errors.shape == (2, 2)
            assert ((errors >= 0) & (errors <= 1)).all()
    assert np.array(faces["rank"]).max() <= 18


def test_gamma_zero_is_robust_pca(stores):
    _, faces = stores["parameters"].read()
    task = parameters.plan(**EXPERIMENTS["parameters"][1])[1]
    inputs = ModelInput(
        CorruptedData(blobs(task.run), "occlusion20", 0), "complete", "zeros"
    )
    grid = {"lam": faces["run"]["lam"], "components": ["all"]}
    ranks = [Q.shape[1] for _, Q, _ in METHODS["RPCA"].sweep(inputs, grid)]
    assert [row[-1] for row in faces["rank"]] == ranks


def test_tables_tell_where_the_least_errors_are():
    run_ = parameters.LowRankGridRun(100, 5, 10, (0.5, 1.0), (2.0, 0.5, 0.0))
    record = {
        "run": run_.record(),
        "log10": [[-0.1, -0.2, -0.3], [-5.5, -6.0, -2.0]],
    }
    (table,) = parameters.tables([record])
    # Beyond -5 it is the solver that is measured.
    cells = ["-5.00", "1", "2", "-5.00", "2", "-2.00", "1"]
    assert table.rows == [["5, 10 %", *cells]]


# -- components and directions ---------------------------------------------------------


def test_every_model_has_three_components(stores):
    records = list(stores["components"].read())
    setups = components.by_setup(records)
    assert [list(found) for found in setups.values()] == [list(PRINTED)] * 2
    for record in records:
        assert np.array(record["components"]).shape == (18, 3)
        assert record["classes"] == [0] * 6 + [1] * 6 + [2] * 6
    errors = {model: r["errors"][0] for model, r in setups["knn", "known"].items()}
    assert errors["RPCAG"] == 0


def test_directions_are_those_of_the_low_rank_matrix(stores):
    by_model = {r["run"]["model"]: r for r in stores["directions"].read()}
    assert list(by_model) == list(directions.MODELS)
    for record in by_model.values():
        U = np.array(record["directions"])
        np.testing.assert_allclose(U @ U.T, np.eye(2), atol=2e-3)
        values = record["singular_values"]
        assert values[0] == 1
        assert values == sorted(values, reverse=True)
        assert all(0 <= share <= 1 for share in record["clean"])
    run_ = directions.DirectionsRun("PCA", None, subjects=4, images=6)
    inputs = ModelInput(
        CorruptedData(blobs(run_), "occlusion20", 0), "uniform", "zeros"
    )
    _, s, Vt = np.linalg.svd(inputs.X, full_matrices=False)
    pca = by_model["PCA"]
    np.testing.assert_allclose(pca["singular_values"], s[:4] / s[0], atol=1e-4)
    np.testing.assert_allclose(np.abs(pca["directions"]), np.abs(Vt[:2]), atol=1e-4)


# -- figures ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("components", 2 * 11),
        ("parameters", 2 + 2),  # each with a bar of colors
        ("directions", 3 * 9),
    ],
)
def test_figures_have_a_panel_for_everything(name, axes, stores, tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra rpcag[plots]")
    from rpcag_study import figures

    everything = [record for store in stores.values() for record in store.read()]
    figure = getattr(figures, name)(everything)
    assert len(figure.axes) == axes
    figure.savefig(tmp_path / "figure.png", dpi=40)
    with pytest.raises(ValueError, match=f"rpcag reproduce {name.replace('_', '-')}"):
        getattr(figures, name)([])


# -- the commands ----------------------------------------------------------------------


@pytest.fixture
def command(monkeypatch):
    """Runs ``rpcag reproduce`` with some words after it."""
    from typer.testing import CliRunner

    from rpcag.commands import with_installed

    app = with_installed()
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, ["reproduce", *map(str, words)])


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("graph-quality", "mask not known"),
        ("parameters", "RPCAG, lam = 1"),
        ("components", "zeros as data"),
        ("directions", "% clean"),
    ],
)
def test_a_taste_of_every_experiment(name, shown, command, tmp_path, monkeypatch):
    folder = data_folder()
    if folder is None:
        pytest.skip("real data not found: set RPCAG_DATA to their folder")
    monkeypatch.setenv("RPCAG_DATA", str(folder))
    words = [name, "--quick", "--jobs", 1, "--store", tmp_path / "r.jsonl"]
    first, second = command(*words), command(*words)
    for result in (first, second):
        assert result.exit_code == 0, result.output
        assert shown in result.output
        assert len(result.stdout.splitlines()) <= 25
    count = len(list(Store(tmp_path / "r.jsonl").read()))
    assert f"{count} runs, 0 of them in" in first.output
    assert f"{count} runs, {count} of them in" in second.output


def test_timing_takes_no_jobs(command):
    assert "no such option" in command("timing", "--jobs", 2).output


def test_data_that_are_not_there_are_one_line(command, tmp_path, monkeypatch):
    monkeypatch.setenv("RPCAG_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    result = command("timing", "--quick", "--store", tmp_path / "results.jsonl")
    assert result.exit_code == 2
    assert result.output.startswith("rpcag: PIE is not on this")
    assert not (tmp_path / "results.jsonl").exists()

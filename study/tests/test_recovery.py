"""Low-rank recovery: phase diagrams, faces, directions, and the page made of them."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import linalg
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from rpcag.graphs import KNNGraph, laplacian
from rpcag_study import Store, missing, run
from rpcag_study.corruptions import add_sign_errors, occlude_blocks
from rpcag_study.datasets import Data
from rpcag_study.experiments import directions, faces, phase
from rpcag_study.experiments.phase import LEAST, RPCA, Setup
from rpcag_study.models import LOW_RANK, ROWS
from rpcag_study.recovery_page import sections
from rpcag_study.report_files import EXPERIMENTS, with_title
from rpcag_study.runs import quietly

pytestmark = pytest.mark.slow

GRID = {"size": 40, "ranks": [0.05, 0.3], "errors": [6, 30], "seeds": [1, 2]}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A phase diagram of four cells, two seeds and both kinds of signs."""
    made = Store(tmp_path_factory.mktemp("phase") / "phase.jsonl")
    assert run(phase.plan(**GRID), made) == []
    return made


@pytest.fixture(scope="module")
def records(store):
    return list(store.read())


def lit_faces(run):
    """Images of 6 x 8 under random lights: of a few dimensions per subject."""
    rng = np.random.default_rng(run.seed)
    y = np.repeat(np.arange(run.subjects), run.images)
    lights = 0.2 + rng.random((len(y), 3))
    X = np.einsum("il,ilp->ip", lights, rng.random((run.subjects, 3, 48))[y])
    return Data("lit", X / X.max(), y, image_shape=(6, 8))


LIT = {"images": 20, "dataset": "lit", "load": lit_faces}


# -- phase diagrams --------------------------------------------------------------------


def test_few_errors_in_a_low_rank_are_undone_and_many_in_a_high_one_are_not(records):
    found = phase.cells(records)[RPCA]
    for signs in phase.SIGNS:
        for seed in GRID["seeds"]:
            assert found[40, signs, 2, 6][seed] < phase.FOUND
            assert found[40, signs, 12, 30][seed] > -1


def test_every_answer_is_certified(records):
    assert len(records) == 2 * 2 * 2 * 2 * len(phase.SETUPS)
    for record in records:
        assert 0 <= record["gap"] <= record["run"]["tol"]


def test_a_graph_of_the_clean_matrix_is_smoother_than_one_of_the_spoiled(records):
    rough = {
        graph: np.mean([r["roughness"] for r in records if r["run"]["graph"] == graph])
        for graph in ("X", "L")
    }
    assert 0 < rough["L"] < rough["X"] < 1.5
    assert all(r["roughness"] is None for r in records if r["run"]["graph"] is None)


def by_hand(X, lam, gamma, Phi, steps=1000, penalty=1.0):
    """The plain method of multipliers with a fixed penalty, for L = P = W."""
    n = len(X)
    smooth = np.linalg.inv(2 * gamma * Phi + penalty * np.eye(n))
    S, W, Z1, Z2 = (np.zeros_like(X) for _ in range(4))
    for _ in range(steps):
        mean = (X - S + Z1 / penalty + W + Z2 / penalty) / 2
        U, s, Vt = linalg.svd(mean, full_matrices=False)
        L = (U * np.maximum(s - 1 / (2 * penalty), 0)) @ Vt
        R = X - L + Z1 / penalty
        S = np.sign(R) * np.maximum(np.abs(R) - lam / penalty, 0)
        W = smooth @ (penalty * L - Z2)
        Z1 += penalty * (X - L - S)
        Z2 += penalty * (W - L)
    return L


@pytest.mark.parametrize("setup", [RPCA, Setup("X", LEAST), Setup("L", LEAST)])
def test_a_cell_is_what_another_solver_finds(setup, records):
    n, rank, share, seed = 40, 12, 30, 2
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, rank, n)) / np.sqrt(n)
    truth = A.T @ B
    X, _ = add_sign_errors(truth, share / 100, signs="coherent", random_state=seed + 1)
    Phi = laplacian(KNNGraph(10)(truth if setup.graph == "L" else X)).toarray()
    L = by_hand(X, 1 / np.sqrt(n), float(setup.gamma), Phi)
    error = np.log10(np.linalg.norm(L - truth) / np.linalg.norm(truth))
    cell = phase.cells(records)[setup][n, "coherent", rank, share]
    assert cell[seed] == pytest.approx(error, abs=0.01)


def test_a_graph_only_lengthens_what_the_dual_must_reach():
    rng = np.random.default_rng(0)
    L = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 25))
    U, _, Vt = linalg.svd(L, full_matrices=False)
    U, Vt = U[:, :4], Vt[:4]
    for rows in (L, rng.standard_normal(L.shape)):
        target = laplacian(KNNGraph(5)(rows)) @ L
        np.testing.assert_allclose(target @ Vt.T @ Vt, target)  # in the tangent space
        for gamma in (0.01, 1.0):
            length = np.linalg.norm(U @ Vt + 2 * gamma * target)
            assert length > np.linalg.norm(U @ Vt)


def test_tables_tell_what_is_stored(records):
    (counts,) = phase.tables(records)
    assert len(counts.rows) == 2 * len(phase.SETUPS)
    values = [
        record["log10"]
        for record in records
        if record["run"]["signs"] == "coherent" and record["run"]["graph"] is None
    ]
    (row,) = [row for row in counts.rows if row[:2] == ["RPCA", "coherent"]]
    assert row[2:4] == ["8", str(sum(value < phase.FOUND for value in values))]
    assert "of 16 matrices of size 40." in phase.outcome(records)


def test_tables_of_a_study_that_is_not_done_are_rectangular(records):
    for count in (1, 9, 20, 33):
        for table in phase.tables(records[:count]):
            assert {len(row) for row in table.rows} == {len(table.header)}
        assert "Here, its best" in phase.outcome(records[:count]) or count < 17


def test_beyond_the_threshold_models_do_not_differ():
    ours, theirs = (
        {(9, "random", 1, 6): {1: -5.0, 2: -2.0}},
        {
            (9, "random", 1, 6): {1: -9.0, 2: -2.5},
            (9, "random", 1, 12): {1: -1.0},
        },
    )
    assert phase.minus(ours, theirs) == {(9, "random", 1, 6): {1: 0.0, 2: 0.5}}
    assert phase.minus(ours, {}) == {}


def test_figures_have_the_cells_of_the_store(records):
    pytest.importorskip("matplotlib", reason="needs the extra rpcag[plots]")
    from rpcag_study import figures

    gone = Setup("L", LEAST)
    some = [
        r
        for r in records
        if not (
            (r["run"]["graph"], r["run"]["gamma"]) == gone
            and (r["run"]["rank"], r["run"]["errors"]) == (12, 30)
        )
    ]
    maps = [a.images[0].get_array() for a in figures.phase(some).axes if a.images]
    assert len(maps) == 2 * len(phase.SETUPS)
    found = phase.cells(some)
    for panel, (signs, setup) in zip(
        maps, [(s, m) for s in phase.SIGNS for m in phase.SETUPS], strict=True
    ):
        assert panel.shape == (2, 2)
        cell = found[setup][40, signs, 12, 6]
        expected = np.mean([max(value, phase.FOUND) for value in cell.values()])
        assert panel[0, 1] == pytest.approx(expected)
        assert np.ma.getmaskarray(np.ma.masked_invalid(panel))[1, 1] == (setup == gone)
    apart = [
        a.images[0].get_array() for a in figures.phase_difference(some).axes if a.images
    ]
    np.testing.assert_allclose(
        np.asarray(apart[0]), np.asarray(maps[1]) - np.asarray(maps[0]), atol=1e-12
    )
    rpca = [r for r in records if r["run"]["graph"] is None]
    with pytest.raises(ValueError, match="needs records of RPCA and of RPCAG"):
        figures.phase_difference(rpca)


def test_a_phase_diagram_goes_on_where_it_was_killed(store, records, tmp_path):
    lines = store.path.read_text().splitlines(keepends=True)
    cut = Store(tmp_path / "cut.jsonl")
    cut.path.write_text("".join(lines[:-2]) + lines[-2][:30])
    tasks = phase.plan(**GRID)
    assert len(missing(tasks, cut)) == 2
    assert run(tasks, cut) == []
    again = {json.dumps(r, sort_keys=True) for r in cut.read()}
    assert again == {json.dumps(r, sort_keys=True) for r in records}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 5}, "size must be 20 or more, got 5"),
        ({"ranks": [0.0]}, "ranks are shares between 0 and 1, got 0"),
        ({"signs": ["same"]}, "signs must be among random, coherent, got 'same'"),
        ({"errors": [0.3]}, "errors must be whole per cents"),
    ],
)
def test_plans_refuse_what_makes_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        phase.plan(**options)


# -- faces -----------------------------------------------------------------------------


def face_run(model, mask="zeros", **options):
    (task,) = faces.plan(
        models=[model], masks=[mask], subjects=[1], seeds=[1], **LIT | options
    )
    data = task.load(task.run)
    return task, data, faces.input_of(task.run, data)


@pytest.mark.parametrize("mask", ["zeros", "known"])
@pytest.mark.parametrize(
    ("model", "values"),
    [
        ("PCA", {"d": 20}),
        ("MMF", {"d": 20, "gamma": 1e-9}),
        ("RPCA", {"lam": 1e3}),
    ],
)
def test_a_model_that_changes_nothing_gives_the_images_back(model, values, mask):
    """So that errors are of the model, and not of undoing its preparation."""
    _, data, inputs = face_run(model, mask)
    images = faces.recovered(model, inputs, values)
    seen = (
        inputs.gray if model != "RPCA" else np.where(inputs.sample.mask, data.X, images)
    )
    np.testing.assert_allclose(images, seen, atol=5e-3)


def test_non_negative_models_work_in_gray_values():
    _, data, inputs = face_run("NMF", corruption="none")
    with quietly():
        images = faces.recovered("NMF", inputs, {"d": 3})
    assert set(ROWS) == {"MMF", "NMF", "GNMF"}
    assert faces.image_errors(images, data.X).mean() < 0.05


def test_a_graph_knows_no_more_of_the_mask_than_its_model():
    _, _, unknown = face_run("RPCAG")
    _, _, known = face_run("RPCAG", "known")
    seen, mask = unknown.sample.seen, unknown.sample.mask
    assert abs(unknown.adjacency - KNNGraph(10)(seen)).max() == 0
    assert abs(known.adjacency - KNNGraph(10)(seen, mask)).max() == 0
    assert abs(unknown.adjacency - known.adjacency).max() > 0
    assert np.isnan(known.X_with_nan).sum() == (~mask).sum()


def test_errors_of_pca_are_those_of_scikit_learn():
    task, data, _ = face_run("PCA")
    seen, mask = occlude_blocks(data.X, (6, 8), 0.1, random_state=task.run.seed + 1)
    scaler = StandardScaler().fit(seen)  # ddof 0 here, which PCA's rank does not see
    pca = PCA(9).fit(scaler.transform(seen))
    Z = pca.inverse_transform(pca.transform(scaler.transform(seen)))
    images = scaler.inverse_transform(Z)
    whole = np.linalg.norm(images - data.X, axis=1) / np.linalg.norm(data.X, axis=1)
    blocks = [
        np.linalg.norm((image - clean)[~kept]) / np.linalg.norm(clean[~kept])
        for image, clean, kept in zip(images, data.X, mask, strict=True)
    ]
    record = task()
    values, error, behind = record["trials"][0]
    assert values == {"d": 9}
    assert error == pytest.approx(whole.mean(), rel=1e-3)
    assert behind == pytest.approx(np.mean(blocks), rel=1e-3)
    assert record["seen"][1] == 1


@pytest.fixture(scope="module")
def face_records():
    tasks = faces.plan(subjects=[1], seeds=[1, 2], **LIT)
    return [json.loads(json.dumps(task())) for task in tasks]


def test_robust_models_take_blocks_off_lit_faces(face_records):
    assert len(face_records) == 2 * 2 * len(LOW_RANK)
    by_mask = {mask: faces.by_model(face_records, 1, mask) for mask in faces.WHAT}
    fixed = {
        (mask, model): np.mean([r["trials"][0][1] for r in found[model]])
        for mask, found in by_mask.items()
        for model in found
    }
    seen = np.mean([r["seen"][0] for r in face_records])
    assert fixed["zeros", "RPCA"] < 0.5 * fixed["zeros", "PCA"] < seen
    assert fixed["known", "RPCA"] < fixed["zeros", "RPCA"]
    (table,) = faces.tables(face_records)
    assert [row[0] for row in table.rows] == ["the occluded images", *LOW_RANK]
    row = table.rows[1 + list(LOW_RANK).index("RPCA")]
    assert row[1] == f"{100 * fixed['zeros', 'RPCA']:.1f}"
    assert float(row[2]) <= float(row[1])  # the best of the grid
    assert "mean of 2 draws" in table.note


def test_the_picture_has_every_model_with_and_without_the_mask(face_records):
    pytest.importorskip("matplotlib", reason="needs the extra rpcag[plots]")
    from rpcag_study import figures

    figure = figures.faces(face_records, load=lit_faces, shown=2)
    drawn = [axis for axis in figure.axes if axis.images]
    assert len(drawn) == 2 * 2 * (2 + len(LOW_RANK))
    titles = [axis.get_title() for axis in drawn if axis.get_title()]
    assert titles == ["clean", "occluded", *LOW_RANK] * 2
    _, _, inputs = face_run("PCA")
    clean, occluded = (
        np.asarray(drawn[j].images[0].get_array()).ravel() for j in (0, 1)
    )
    (row,) = np.flatnonzero((inputs.sample.data.X == clean).all(axis=1))
    np.testing.assert_array_equal(inputs.sample.seen[row], occluded)
    assert not any(
        isinstance(v, list) and len(v) >= 48 for v in face_records[0].values()
    )


# -- directions ------------------------------------------------------------------------


def test_directions_are_of_what_varies_between_rows():
    rng = np.random.default_rng(0)
    Q, Ut = rng.standard_normal((20, 3)), rng.standard_normal((3, 15))
    offset = np.concatenate([Q, np.ones((20, 1))], axis=1)
    with_row = np.concatenate([Ut, 50 * rng.standard_normal((1, 15))])
    values, U = directions.principal(directions.centered((Q, Ut)))
    moved, V = directions.principal(directions.centered((offset, with_row)))
    np.testing.assert_allclose(moved[:3], values, rtol=1e-8)
    np.testing.assert_allclose(np.abs(np.sum(U * V[:3], axis=1)), 1, rtol=1e-8)
    L = Q @ Ut - (Q @ Ut).mean(axis=0)
    np.testing.assert_allclose(values, linalg.svdvals(L)[:3], rtol=1e-8)


def test_directions_tell_how_much_of_a_matrix_is_its_mean_row():
    tasks = directions.plan(models=["PCA", "NMF", "RPCAG"], subjects=3, **LIT)
    found = {task.run.model: task() for task in tasks}
    assert found["PCA"]["mean"] == 0
    assert found["NMF"]["mean"] > 0.5  # images are not centered for it
    assert found["PCA"]["uncentered"]["clean"] == found["PCA"]["clean"]


# -- the page --------------------------------------------------------------------------


@pytest.fixture
def call(monkeypatch):
    """Runs ``rpcag`` with some words after it."""
    from typer.testing import CliRunner

    from rpcag.commands import with_installed

    app = with_installed()
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_the_page_is_made_from_the_store(call, store, face_records, tmp_path):
    both = tmp_path / "both.jsonl"
    both.write_bytes(store.path.read_bytes())
    with Store(both).appending() as writer:
        for record in face_records:
            writer.add(record)
    page = tmp_path / "docs" / "recovery.md"
    (tmp_path / "docs" / "images").mkdir(parents=True)
    old = tmp_path / "docs" / "images" / "recovery_faces.png"
    old.write_bytes(b"from before")
    # The runs are of "lit", which no loader knows: the picture stays as it was.
    result = call("report", "-s", both, "--recovery", page)
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert "## Random low-rank matrices" in text
    assert "## Faces behind blocks" in text
    assert "## Principal directions" not in text
    names = {path.name for path in page.parent.glob("images/*")}
    assert names == {
        f"recovery_{n}.png" for n in ("phase", "phase_difference", "faces")
    }
    assert all(f"(images/{name})" in text for name in names)
    assert old.read_bytes() == b"from before"
    assert f"note: {old} is the one from before: " in result.stderr
    (counts, *_) = phase.tables(store.read())
    assert counts.markdown() in text + "\n"
    before = text
    assert call("report", "-s", both, "--recovery", page).exit_code == 0
    assert page.read_text() == before


def test_the_committed_results_make_the_committed_page():
    root = Path(__file__).parents[2]
    page = root / "docs" / "recovery.md"
    if not page.exists():
        pytest.skip("not a clone")
    text = page.read_text(encoding="utf-8")
    records = list(Store(root / "study" / "results" / "recovery.jsonl.xz").read())
    for section in sections():
        assert section.how.strip() in text
        for table in EXPERIMENTS[section.experiment].module.tables(records):
            assert with_title(table) in text


def test_figures_of_a_report_include_both_phase_diagrams(call, store, tmp_path):
    result = call("report", "-s", store.path, "-o", tmp_path / "report")
    assert result.exit_code == 0, result.output
    names = {path.name for path in (tmp_path / "report").iterdir()}
    assert {"phase.png", "phase_difference.png", "phase_1.csv"} <= names


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report", "-s", "other.jsonl", "--recovery", "r.md"], "nothing on recovery"),
        (["reproduce", "phase", "--seeds", "one"], "--seeds must be whole numbers"),
        (["reproduce", "faces", "--subjects", "x"], "--subjects must be whole numbers"),
        (["reproduce", "faces", "--models", "PCAA"], "unknown model 'PCAA'"),
    ],
)
def test_mistakes_are_one_line(words, message, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.jsonl").write_text('{"run": {"experiment": "timing"}}\n')
    result = call(*words)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"other.jsonl"}


def test_a_small_phase_diagram_from_the_command_line(call, tmp_path):
    words = ["reproduce", "phase", "--size", 20, "--seeds", 3, "--quick", "-j", 1]
    result = call(*words, "-s", tmp_path / "r.jsonl")
    assert result.exit_code == 0, result.output
    assert "Recovery of 20 x 20 matrices" in result.output
    runs = [record["run"] for record in Store(tmp_path / "r.jsonl").read()]
    assert {(r["n"], r["seed"]) for r in runs} == {(20, 3)}
    assert len(runs) == 3 * 3 * 2 * len(phase.SETUPS)

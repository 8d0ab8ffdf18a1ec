"""``rpcag decompose``, ``cluster`` and what all commands share, as users type them."""

import errno
import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer", reason="needs the extra rpcag[cli]")

import rpcag
import rpcag.cli
from command_line import KINDS, call, commands, examples, sensors, write_files
from rpcag import FRPCAG, RPCA, RPCAG
from rpcag.commands import fitting
from rpcag.commands.output import EXIT_CODES
from rpcag.commands.progress import GapBar
from rpcag.files.decomposition import Decomposition
from rpcag.files.graph import read_graph
from rpcag.files.reading import read_table
from rpcag.graphs.inputs import percent
from rpcag.metrics import clustering_error
from rpcag.models import RobustGraph, resolve_gamma, resolve_lam
from test_docs import module_of_docs

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with the files of the examples."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    return tmp_path


def test_every_command_has_an_example():
    typed = examples()
    for path, command in commands():
        if not hasattr(command, "commands"):
            assert any(line.startswith(" ".join(path)) for line in typed), path


@pytest.mark.parametrize("line", examples())
def test_examples_of_the_help_run(line, folder):
    words = shlex.split(line)
    if "result" in words and words[1] != "decompose":
        assert call("decompose", "sensors.csv", "-o", "result").exit_code == 0
    result = call(*words[1:])
    assert result.exit_code == 0, result.output
    if "--json" in words:
        json.loads(result.stdout)
    if "-o" in words:
        assert (folder / words[words.index("-o") + 1]).exists()


def test_help_of_every_command_says_nothing_on_standard_error():
    for path, _ in commands():
        result = call(*path[1:], "--help")
        assert result.exit_code == 0
        assert "Usage:" in result.stdout
        assert result.stderr == ""


def test_the_pages_of_the_commands_are_those_of_the_code():
    for name, text in module_of_docs("make_command_page.py").pages().items():
        assert (DOCS / name).read_text() == text, "make docs writes it anew"


def test_exit_codes_are_in_the_help():
    text = " ".join(call("--help").stdout.split())
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in text


# -- decompose -------------------------------------------------------------------------


def test_gross_errors_are_found_and_the_rest_is_kept(folder):
    X, truth, wrong = sensors()
    result = call("decompose", "sensors.csv", "-o", "result")
    assert result.exit_code == 0, result.output
    found = Decomposition.load("result")
    observed = ~np.isnan(X)
    np.testing.assert_array_equal(found.missing, ~observed)
    together = found.low_rank + found.sparse
    np.testing.assert_allclose(together[observed], X.round(3)[observed], atol=1e-9)
    assert (np.abs(found.sparse[wrong]) > 40).all()
    assert np.median(np.abs(found.low_rank - truth)) < 0.5
    assert found.samples[2] == "s2"
    assert found.features[1] == "1:00"
    assert found.facts["gap"] <= 1e-3
    assert found.facts["status"] == "converged"
    # Everything the table shows is in the record too.
    for word in ("60 x 24", f"rank of L          │ {found.facts['rank']}", "RPCAG"):
        assert word in result.stdout
    worst = found.facts["largest"][0]
    assert f"{worst['sample']}, {worst['feature']}: -99.9 where" in result.stdout


@pytest.mark.parametrize(
    ("words", "model"),
    [
        ([], RPCAG(graph="robust")),
        (["--graph", "knn"], RPCAG(graph="knn")),
        (["--graph", "chain"], RPCAG(graph="chain")),
        (["--model", "rpca"], RPCA()),
        (["--model", "RPCA", "--lam", "0.2", "--tol", "1e-5"], RPCA(lam=0.2, tol=1e-5)),
        (["--gamma", "0.3", "--graph", "complete"], RPCAG(gamma=0.3, graph="complete")),
        (
            ["--gamma", "auto", "--lam", "auto", "--graph", "knn"],
            RPCAG(graph="knn"),
        ),
        (["--gamma", "clustering"], RPCAG(gamma="clustering")),
        (
            ["--gamma", "clustering", "--lam", "theory", "--graph", "knn"],
            RPCAG(lam="theory", gamma="clustering", graph="knn"),
        ),
        (["--model", "rpca", "--lam", "theory"], RPCA(lam="theory")),
        (["--graph", "edges.csv"], "graph"),
        (["--model", "frpcag"], FRPCAG(graph="robust")),
        (
            ["--model", "frpcag", "--gamma", ".1", "--gamma-features", "0.02"],
            FRPCAG(gamma=0.1, gamma_features=0.02, graph="robust"),
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_answer_is_that_of_the_library(words, model, folder):
    table = read_table("sensors.csv")
    if model == "graph":
        model = RPCAG(graph=read_graph("edges.csv", table.samples))
    model.fit(table.X)
    result = call("decompose", "sensors.csv", "-o", "r", "--quiet", *words)
    assert (result.exit_code, result.output) == (0, "")
    found = Decomposition.load("r")
    np.testing.assert_array_equal(found.low_rank, model.low_rank_)
    if "--graph" in words:
        named = words[words.index("--graph") + 1]
        told = found.facts["parameters"]["graph"]
        assert told == ("file" if named.endswith(".csv") else named)
    np.testing.assert_array_equal(found.embedding, model.embedding_)
    assert found.facts["model"] == type(model).__name__
    assert found.facts["objective"] == model.objective_
    for name, value in found.facts["resolved"].items():
        assert value == getattr(model, f"{name}_")
    assert found.facts["history"][-1][-1] == model.gap_
    if getattr(model, "adjacency_", None) is None:
        assert found.graph is None
    else:
        graph = model.adjacency_
        dense = graph if isinstance(graph, np.ndarray) else graph.toarray()
        np.testing.assert_array_equal(found.graph.toarray(), dense)


def test_gross_errors_do_not_choose_the_neighbors(folder):
    """A sample and its neighbors on the robust graph are of one kind."""
    X, _, _ = sensors()
    shares = {}
    for name, graph in (
        ("knn", RPCAG(gamma="clustering", graph="knn").fit(X).adjacency_),
        ("robust", RobustGraph()(X)),
    ):
        i, j = graph.nonzero()
        shares[name] = graph.toarray()[i, j][i % 3 == j % 3].sum() / graph.sum()
    assert shares["robust"] > shares["knn"] + 0.1
    assert shares["robust"] > 0.8


@pytest.mark.slow
def test_scaled_answers_do_not_depend_on_units(folder):
    table = read_table("sensors.csv")
    units = 10.0 ** (np.arange(24) / 2 - 3)
    np.savez("other.npz", X=table.X * units + 5 * units)
    np.savez("same.npz", X=table.X)
    # The wanted gap bounds how far two answers may differ.
    options = ("--scale", "robust", "--tol", "1e-7", "--max-iter", 20000, "-q")
    for name in ("same", "other"):
        result = call("decompose", f"{name}.npz", "-o", name, *options)
        assert result.exit_code == 0, result.output
    same, other = Decomposition.load("same"), Decomposition.load("other")
    np.testing.assert_allclose(other.low_rank / units - 5, same.low_rank, atol=1e-2)
    observed = ~same.missing
    np.testing.assert_allclose(
        (other.low_rank + other.sparse)[observed],
        (table.X * units + 5 * units)[observed],
        rtol=1e-9,
    )
    assert same.facts["scale"] == other.facts["scale"] == "robust"
    product = other.embedding @ other.components
    scaling = other.facts["scaling"]
    np.testing.assert_allclose(
        (product * scaling["scale"] + scaling["center"]) / units,
        other.low_rank / units,
        atol=1e-6,
    )


def test_features_in_different_units_are_scaled_automatically(folder):
    table = read_table("sensors.csv")
    units = 10.0 ** (np.arange(24) / 8 - 1)
    np.save("units.npy", table.X * units)
    result = call("decompose", "units.npy", "-o", "auto")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stderr.split())
    assert re.search(r"note: the scales of the features differ by a factor of \d", said)
    assert "(--scale robust), --scale none leaves them as they are" in said
    assert "features           │ scaled: robust" in result.stdout
    for option in ("robust", "standard", "none"):
        words = ("--scale", option, "--lam", "theory", "--gamma", "0")
        result = call("decompose", "units.npy", "-o", option, "--json", *words)
        assert result.stderr == ""
        told = json.loads(result.stdout)
        assert told["scale"] == option
        assert "scaling" not in told
        model = RPCA(lam="theory", scale=None if option == "none" else option)
        found = Decomposition.load(option)
        np.testing.assert_array_equal(
            found.low_rank, model.fit(table.X * units).low_rank_
        )
    # Features in one unit and images are left alone.
    for words in (("sensors.csv",), ("units.npy", "--shape", "6x4")):
        result = call("decompose", *words, "-o", "r", "-f", "--json")
        assert json.loads(result.stdout)["scale"] == "none"


def test_clusters_of_scaled_features(folder):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(5, 9, (3, 8)), 20, axis=0) + rng.uniform(0, 1, (60, 8))
    X[:, 0] = 1e4 * rng.random(60)  # says nothing, and is large
    np.save("units.npy", X)
    words = ("cluster", "units.npy", "-k", 3, "--json")
    result = call(*words)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["scale"] == "robust"
    found = np.array(list(told["clusters"].values()))
    assert clustering_error(np.repeat(range(3), 20), found) < 0.05
    result = call(*words, "--scale", "none")
    assert json.loads(result.stdout)["scale"] == "none"


def test_a_fit_that_predicts_nothing_is_noted(folder):
    np.save("noise.npy", np.random.default_rng(0).standard_normal((100, 30)))
    result = call("decompose", "noise.npy", "-o", "r")
    assert result.exit_code == 0
    assert "note: RPCAG predicts" in result.stderr
    assert "not clearly better than the median of each feature" in result.stderr


def test_summary_tells_optimality_and_prediction_apart(folder):
    result = call("decompose", "sensors.csv", "-o", "a")
    assert re.search(r"Objective at most \S+ % above the optimum", result.output)
    assert re.search(r"\d+ % of the spread of hidden entries \(± 1 %\)", result.output)
    facts = Decomposition.load("a").facts
    assert 0 < facts["explained_error"] < 0.01 < facts["explained"] <= 1
    given = call("decompose", "sensors.csv", "-o", "b", "--lam", "0.2", "--gamma", "0")
    assert "certified" in given.output
    assert "hidden entries" not in given.output


def test_components_labels_images_and_provenance(folder):
    words = ["--labels", "y", "--shape", "8x6", "--components", 2, "--json"]
    result = call("decompose", "faces.npz", "-o", "r", *words)
    assert result.exit_code == 0, result.output
    told, found = json.loads(result.stdout), Decomposition.load("r")
    assert found.embedding.shape == (40, 2)
    assert found.components.shape == (2, 48)
    assert len(found.singular_values) == told["rank"] > 2
    assert found.image_shape == (8, 6)
    assert found.labels == [str(i % 4) for i in range(40)]
    assert found.missing is None
    assert told["input"]["file"] == "faces.npz"
    digest = subprocess.run(
        ["sha256sum", "faces.npz"], capture_output=True, text=True, check=True
    )
    assert digest.stdout.startswith(told["input"]["sha256"])
    assert told["input"]["shape"] == [40, 48]
    assert told["versions"]["numpy"] == np.__version__
    assert "result.json" in told["files"]
    assert "history" not in told


def test_formats_hold_the_same(folder):
    for name in ("csv", "npy"):
        call("decompose", "sensors.csv", "-o", name, "--format", name)
    a, b = Decomposition.load("csv"), Decomposition.load("npy")
    np.testing.assert_array_equal(a.sparse, b.sparse)
    assert (folder / "csv" / "low_rank.csv").exists()


def test_too_few_iterations_are_told_and_the_rest_is_written(folder):
    result = call("decompose", "sensors.csv", "-o", "r", "--max-iter", 3, "-q")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert "above --tol 0.001 (max_iter). Raise --max-iter or --tol" in result.stderr
    assert Decomposition.load("r").facts["status"] == "max_iter"


def test_shares_are_plain_numbers():
    shares = {0: "0 %", 0.001234: "0.12 %", 0.5: "50 %", 0.994: "99 %", 1e-9: "1e-07 %"}
    shares |= {0.996: "100 %", 1: "100 %", 1.5: "150 %"}
    assert {share: percent(share) for share in shares} == shares


def test_a_table_that_is_all_sparse_has_100_percent(folder):
    np.save("noise.npy", np.random.default_rng(0).choice([-1.0, 1.0], (9, 8)))
    words = ("--model", "rpca", "--lam", "1e-3")
    result = call("decompose", "noise.npy", "-o", "r", *words)
    assert result.exit_code == 0, result.output
    assert "100 % of those observed" in result.stdout


@pytest.fixture
def listening():
    """As in the command: a shell may have started these tests with Ctrl-C ignored."""
    stops = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.default_int_handler) for number in stops]
    yield
    for number, handler in zip(stops, before, strict=True):
        signal.signal(number, handler)


def interrupt_at(monkeypatch, iteration, stage="fit"):
    """As if Ctrl-C were typed in this iteration."""
    ask = GapBar.__call__

    def watch(self, step):
        if (step.stage, step.n_iter) == (stage, iteration):
            os.kill(os.getpid(), signal.SIGINT)
        return ask(self, step)

    monkeypatch.setattr(GapBar, "__call__", watch)


@pytest.mark.usefixtures("listening")
def test_ctrl_c_is_one_line_and_leaves_nothing(folder, monkeypatch):
    before = sorted(os.listdir())
    interrupt_at(monkeypatch, 4)
    result = call("decompose", "sensors.csv", "-o", "r")
    assert result.exit_code == 130
    assert result.output.strip() == "rpcag: stopped"
    assert sorted(os.listdir()) == before


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize(
    ("stage", "iteration", "files"), [("graph", 5, []), ("fit", 40, ["state.npz"])]
)
def test_a_run_with_a_checkpoint_goes_on_to_the_same_answer(
    folder, monkeypatch, stage, iteration, files
):
    words = ("decompose", "sensors.csv", "--tol", "1e-6", "--checkpoint", "state.npz")
    words += ("--gamma", "clustering")
    assert call(*words, "-o", "whole").exit_code == 0
    build = fitting.build

    def saves_always(*args, **options):
        return build(*args, **options).set_params(checkpoint_seconds=0)

    with monkeypatch.context() as patch:
        patch.setattr(fitting, "build", saves_always)
        interrupt_at(patch, iteration, stage)
        result = call(*words, "-o", "r")
    assert (result.exit_code, result.output) == (130, "rpcag: stopped\n")
    assert not (folder / "r").exists()
    assert sorted(path.name for path in folder.glob("state*")) == files
    result = call(*words, "-o", "r")
    assert result.exit_code == 0, result.output
    assert not list(folder.glob("state*"))
    a, b = Decomposition.load("whole"), Decomposition.load("r")
    np.testing.assert_allclose(a.low_rank, b.low_rank, atol=1e-4)
    if stage == "fit":
        # Not begun anew, and only what this run has proved is in the history.
        assert b.facts["history"][0][0] > a.facts["history"][0][0]


# -- cluster ---------------------------------------------------------------------------


def test_clusters_are_written_by_sample(folder):
    result = call("cluster", "kinds.csv", "--labels", "kind", "-o", "c.csv")
    assert result.exit_code == 0, result.output
    lines = [line.split(",") for line in (folder / "c.csv").read_text().splitlines()]
    assert lines[0] == ["sample", "cluster", "label"]
    assert [line[0] for line in lines[1:]] == [f"s{i}" for i in range(60)]
    assert [line[1] for line in lines[1:4]] == ["0", "1", "2"]  # as they come first
    assert [line[2] for line in lines[1:4]] == list(KINDS)
    assert "3 clusters" in result.stdout
    assert not list(folder.glob("*.part"))
    # The data are easy once the errors are gone.
    assert re.search(r" [0-2]\.\d % \(one class per cluster\)", result.stdout)


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_clusters_are_found_with_the_weights_for_clustering(folder):
    X = np.load("faces.npz")["X"].astype(float)
    told = json.loads(call("cluster", "faces.npz", "--labels", "y", "--json").stdout)
    assert told["model"] == "RPCAG"
    lam, gamma = resolve_lam("theory", X), resolve_gamma("clustering", X)
    assert told["resolved"] == pytest.approx({"lam": 2 * lam, "gamma": gamma})
    words = ("--lam", "theory", "--gamma", "0.5", "--labels", "y", "--json")
    told = json.loads(call("cluster", "faces.npz", *words).stdout)
    assert told["resolved"] == pytest.approx({"lam": lam, "gamma": 0.5})


def test_clusters_on_a_line_are_told_apart(folder):
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(3), 20)
    X = np.outer(kind + 1.0, rng.standard_normal(12))
    X[rng.random(X.shape) < 0.1] = np.nan
    np.savez("line.npz", X=X, y=kind)
    words = ("--variable", "X", "--labels", "y", "--json")
    told = json.loads(call("cluster", "line.npz", *words).stdout)
    assert told["error"] <= 0.05


def test_fewer_different_samples_than_clusters_are_one_line(folder):
    np.save("same.npy", np.ones((20, 4)))
    words = ("same.npy", "-k", 3, "--lam", "theory", "--gamma", 0)
    result = call("cluster", *words)
    assert result.exit_code == 0
    told = "the samples have 1 different embedding: fewer than -k 3 clusters"
    assert result.stderr == f"note: {told}\n"


@pytest.mark.parametrize("model", ["RPCA", "RPCAG", "FRPCAG"])
def test_every_model_clusters(model, folder):
    words = ["faces.npz", "--labels", "y", "--model", model, "--json"]
    result = call("cluster", *words)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["model"] == model
    assert told["error"] <= 0.05  # groups that are far apart


def test_samples_without_a_class_do_not_count(folder):
    (folder / "t.csv").write_text("c,x,y\nu,1,1\nu,1,1.1\nv,9,1\n,9,1.2\n")
    words = ("--labels", "c", "--model", "rpca", "--json")
    told = json.loads(call("cluster", "t.csv", *words).stdout)
    assert told["classes"] == told["k"] == 2


# -- mistakes --------------------------------------------------------------------------

MISTAKES = [
    ("decompose", "missing argument 'INPUT'"),
    ("decompose sensors.csv", "missing option '--output'"),
    ("decompose nothing.csv -o r", "nothing.csv does not exist"),
    ("decompose sensors.csv -o r --lamb 1", "no such option: --lamb"),
    (
        "decompose sensors.csv -o r --lam much",
        "'--lam': it must be auto or theory or a number above 0, got 'much'",
    ),
    ("decompose sensors.csv -o r --lam 0", "or a number above 0, got '0'"),
    ("decompose lam=0.1.csv -o r", "rpcag: lam=0.1.csv does not exist"),
    ("decompose x/time=4 -o r", "rpcag: x/time=4 does not exist"),
    ("decompose sensors.csv -o r --drop gamma=2", "--drop 'gamma=2': sensors.csv has"),
    (
        "decompose sensors.csv -o r --gamma x",
        "auto or clustering or unit or a number of at least 0, got 'x'",
    ),
    ("decompose sensors.csv -o r --tol -1.25", "1.25"),
    ("decompose sensors.csv -o r --tol small", "'small'"),
    ("decompose sensors.csv -o r --tol inf", "'--tol': "),
    ("cluster sensors.csv -k 2 --seed 4294967296", "'--seed': "),
    ("decompose sensors.csv -o r --max-iter 0", "invalid value for '--max-iter': "),
    ("decompose sensors.csv -o r --model pca", "--model must be one of rpca, rpcag"),
    ("decompose sensors.csv -o r --model frpcag --lam 1", "--lam: FRPCAG has no such"),
    (
        "decompose sensors.csv -o r --model rpca --graph knn",
        "--graph: RPCA has no such",
    ),
    (
        "decompose sensors.csv -o r --graph nearest",
        "takes robust, knn, complete, chain or a file",
    ),
    ("decompose sensors.csv -o r --graph sensors.csv", "an edge has two samples"),
    ("decompose sensors.csv -o r --format xls", "format must be one of npy"),
    ("decompose sensors.csv -o sensors.csv", "sensors.csv is a file"),
    ("decompose sensors.csv -o sensors.csv/r", "cannot be created"),
    ("decompose sensors.csv -o .", "a folder of something else"),
    ("decompose sensors.csv -o r --checkpoint no/c.npz", "there is no directory 'no'"),
    ("decompose sensors.csv -o r --checkpoint faces.npz", "is not a checkpoint"),
    ("decompose sensors.csv -o r --shape 3by4", "'--shape': write it as 64x48"),
    ("decompose sensors.csv -o r --shape 5x5", "--shape 5x5 does not fit"),
    ("decompose sensors.csv -o r --labels kind", "--labels 'kind': sensors.csv has no"),
    ("decompose sensors.csv -o r --variable X", "--variable is for files of arrays"),
    ("decompose sensors.csv -o r --color", "--color is for a folder of images"),
    ("decompose faces.npz -o r --color", "--color is for a folder of images"),
    ("decompose sensors.csv -o r --gamma-features 1", "--gamma-features is for frpcag"),
    ("decompose kinds.csv -o r", "column 'kind' of kinds.csv is text: --labels 'kind'"),
    (
        "decompose faces.npz -o r --variable Z",
        "--variable 'Z': faces.npz has X (40 x 48)",
    ),
    ("decompose several.npz -o r", "choose one with --variable NAME"),
    ("decompose empty.csv -o r", "empty.csv is empty"),
    ("decompose header.csv -o r", "has a header but no rows"),
    ("decompose ragged.csv -o r", "line 3 has 1 field but the first line has 2"),
    ("decompose infinite.csv -o r", "--missing inf reads them as missing"),
    ("decompose typo.csv -o r", "line 3, column 'y': '4a' is not a number"),
    ("decompose gone.csv -o r", "everything is missing"),
    ("decompose photograph.jpg -o r", "no reader for .jpg"),
    ("decompose pictures -o r", "have no images"),
    ("decompose nonsense.npy -o r", "as NumPy: the magic string is not correct"),
    ("decompose nonsense.npz -o r", "cannot be read as NumPy"),
    ("decompose done -o r", "a decomposition already; pass the data, or see"),
    ("decompose sensors.csv -o done", "--force replaces it"),
    ("cluster sensors.csv", "give the number of clusters with -k"),
    ("cluster sensors.csv -k 0", "invalid value for '-k'"),
    ("cluster sensors.csv -k 61", "-k 61 must be between 1 and the number of samples"),
    ("cluster sensors.csv -k 3 -o c.xls", "--output must be a .csv file"),
    ("cluster sensors.csv -k 3 -o sensors.csv -f", "sensors.csv is a file of someth"),
    ("cluster sensors.csv -k 3 -o edges.csv", "edges.csv is a file of something else"),
    ("cluster sensors.csv -k 3 -o edges.csv/c.csv", "edges.csv (Not a directory)"),
    ("decompose sensors.csv -o edges.csv/r", "edges.csv (Not a directory)"),
    ("explore done -o edges.csv/p.html", "edges.csv (Not a directory)"),
    ("explore huge -o p.html", "values of 1.0e+300, and a page holds none beyond"),
    ("decompose largest.npy -o r", "X has entries of size 1.7e+308"),
    ("decompose largest.npy -o r --scale robust", "too large to be scaled; rescale X"),
    ("decompose sensors.csv -o r --scale big", "--scale must be one of auto, robust"),
    ("cluster sensors.csv -k 3 --scale big", "--scale must be one of auto, robust"),
    ("decompose complex.npy -o r", "it has complex (3 x 3, no numbers)"),
    ("decompose objects.npy -o r", "Object arrays cannot be loaded"),
    ("cluster sensors.csv -k 3 --model best", "--model must be one of rpca, rpcag"),
    ("cluster sensors.csv -k 3 --model glpca", "--model must be one of rpca, rpcag"),
    ("cluster done -k 3", "a decomposition already; pass the data, or see"),
    ("cluster sensors.csv -k 3 --seed -1", "invalid value for '--seed'"),
    ("decompose sensors.csv -o -", "only rpcag repair can write to standard output"),
    ("demo --files -", "only rpcag repair can write to standard output"),
    ("explore done -o -", "only rpcag repair can write to standard output"),
    ("background street.mp4 -o -", "only rpcag repair can write to standard output"),
    ("demo --files sensors.csv/x", "sensors.csv (Not a directory)"),
    ("explore --all", "no such option: --all"),
    ("explain", "no such command 'explain'"),
    ("--verbose", "no such option: --verbose"),
]


@pytest.fixture
def bad_files(folder):
    np.savez("several.npz", A=np.eye(3), B=np.eye(3))
    files = {
        "empty.csv": "",
        "header.csv": "x,y\n",
        "ragged.csv": "x,y\n1,2\n3\n",
        "infinite.csv": "x,y\n1,2\n3,inf\n",
        "typo.csv": "x,y\n1,2\n3,4a\n5,6\n",
        "gone.csv": "x,y\nNA,NA\n",
        "photograph.jpg": "not one",
        "nonsense.npy": "nonsense",
        "nonsense.npz": "nonsense" * 100,
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "pictures").mkdir()
    np.save("largest.npy", np.full((5, 5), 1.7e308) * (1 - 2 * np.eye(5)))
    np.save("complex.npy", np.eye(3) * 1j)
    np.save("objects.npy", np.array([[1, "b"], [2, None]], object), allow_pickle=True)
    for name, one in (("done", np.ones((2, 2))), ("huge", np.full((2, 2), 1e300))):
        Decomposition(
            *(one, one, None, one, one, np.ones(2), None),
            samples=["a", "b"],
            features=["x", "y"],
            labels=None,
            image_shape=None,
            facts={},
        ).save(folder / name)
    return folder


@pytest.mark.parametrize(("line", "message"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_one_line_and_changes_nothing(line, message, bad_files):
    if line.startswith("decompose pictures"):
        pytest.importorskip("PIL", reason="needs the extra rpcag[plots]")
    before = {path: path.stat().st_mtime_ns for path in bad_files.rglob("*")}
    result = call(*shlex.split(line))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert message.lower() in result.stderr.lower()
    assert result.stderr.startswith("rpcag: ")
    assert len(result.stderr.strip().splitlines()) == 1
    after = {path: path.stat().st_mtime_ns for path in bad_files.rglob("*")}
    assert after == before


def test_force_replaces_and_reading_options_arrive(folder):
    text = "1;1,5;-9\n2;2,5;2\n3;3,5;3\n"
    (folder / "t.dat").write_text(text)
    words = ["--no-header", "--decimal", ",", "--missing", "-9", "--delimiter", ";"]
    for model in ("rpca", "rpcag"):
        result = call("decompose", "t.dat", "-o", "r", "--model", model, "-f", *words)
        assert result.exit_code == 0, result.output
        found = Decomposition.load("r")
        assert found.facts["model"] == model.upper()
        assert found.missing.tolist() == [[False, False, True], *[[False] * 3] * 2]


@pytest.mark.parametrize(
    "X",
    [
        np.ones((20, 6)),
        np.zeros((20, 6)),
        np.array([[1.0, 2.0], [3.0, 4.0]]),
        np.array([[1e308, 2e307], [3e300, 4.0]]),
    ],
    ids=["constant", "zero", "tiny", "huge"],
)
@pytest.mark.parametrize("option", ["auto", "robust", "none"])
def test_odd_tables_are_decomposed(X, option, folder):
    np.save("odd.npy", X)
    result = call("decompose", "odd.npy", "-o", "r", "--scale", option)
    assert result.exit_code == 0, result.output
    found = Decomposition.load("r")
    together = found.low_rank + found.sparse
    np.testing.assert_allclose(together, X, atol=1e-12 * np.abs(X).max())


NAMES = ["[old] Zoë 数 [/red] a b &<i>'\"", "[bold $(x)"]
if sys.platform == "linux":
    NAMES[-1] += os.fsdecode(b" not utf-8 \xff")  # such names are there


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_with_anything_in_them_are_told_as_they_are(name, folder):
    Path(name).parent.mkdir(exist_ok=True)
    table = Path(f"{name}.csv")
    lines = (folder / "sensors.csv").read_text().splitlines()
    lines[1:] = [f'"{name.replace(chr(34), chr(34) * 2)}{x}' for x in lines[1:]]
    lines[1:] = [line.replace(",", '",', 1) for line in lines[1:]]
    table.write_text("\n".join(lines), errors="surrogateescape")
    shown = name.encode("utf-8", "backslashreplace").decode()
    for words in (
        ("decompose", table, "--gamma", "clustering", "-o", f"{name}.r"),
        ("explore", f"{name}.r", "-o", f"{name}.html"),
        ("cluster", table, "-k", "3", "-o", f"{name}.clusters.csv"),
    ):
        done = run(*map(str, words), COLUMNS="200", PYTHONUTF8="1")
        is_noted = words[0] != "explore" and "\udcff" in name
        expected = r"note: line 2 has the byte 0xff, which is not UTF-8.*\n"
        assert done.returncode == 0
        assert re.fullmatch(expected if is_noted else "", done.stderr)
        assert shown in done.stdout
        assert Path(words[-1]).exists()
    told = run("cluster", str(table), "-k", "3", "--json", PYTHONIOENCODING="ascii")
    assert set(json.loads(told.stdout)["clusters"]) == set(
        Decomposition.load(f"{name}.r").samples
    )


def test_samples_of_one_name_are_all_told(folder):
    (folder / "t.csv").write_text("n,x,y\na,1,2\na,2,3\nb,40,5\nb,70,9\n")
    result = call("cluster", "t.csv", "-k", "2", "--names", "n", "--json")
    told = json.loads(result.stdout)
    assert list(told["clusters"]) == ["a", "a (2)", "b", "b (2)"]
    assert sum(told["sizes"]) == 4


def test_folders_on_the_way_are_made(folder):
    assert call("cluster", "faces.npz", "-k", 2, "-o", "new/c.csv").exit_code == 0
    assert (folder / "new" / "c.csv").exists()


def test_what_cannot_be_written_is_told_before_the_work(folder, monkeypatch):
    """Also where the permissions promise more than the file system keeps."""

    def refuse(*args, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("os.mkdir", refuse)
    monkeypatch.setattr("rpcag.commands.fitting.decomposed", None)
    for words in (
        ("decompose", "sensors.csv", "-o", "r"),
        ("cluster", "sensors.csv", "-k", "3", "-o", "c.csv"),
        ("demo", "--files", "files"),
        ("background", "street.mp4", "-o", "out"),
    ):
        result = call(*words)
        assert result.exit_code == 2
        assert " cannot be created in " in result.stderr
        assert "(Read-only file system)" in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_notes_go_to_standard_error(folder):
    (folder / "t.csv").write_text("x,x,y\n1,2,\n4,5,\n")
    result = call("decompose", "t.csv", "-o", "r", "--model", "rpca")
    assert "note: some columns have the same name, such as 'x'" in result.stderr
    assert "no value at all, such as 'y'" in result.stderr
    quiet = call("decompose", "t.csv", "-o", "q", "--model", "rpca", "--quiet")
    assert quiet.output == ""


# -- the whole program -----------------------------------------------------------------


def run(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "rpcag", *words],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


def test_ctrl_c_before_the_command_runs_is_one_line(monkeypatch, capsys):
    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr("rpcag.cli._run", stop)
    with pytest.raises(SystemExit) as ended:
        rpcag.cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "rpcag: stopped\n")


@pytest.mark.slow
@pytest.mark.parametrize("words", ["decompose --help", "--version"])
def test_a_closed_pipe_is_no_mistake(words):
    line = f"{shlex.quote(sys.executable)} -m rpcag {words}"
    line = f"{line} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_completion():
    done = run(
        _RPCAG_COMPLETE="complete_bash",
        COMP_WORDS="rpcag decompose --gamma-f",
        COMP_CWORD="2",
    )
    assert done.stdout.split() == ["--gamma-features"]


def load_first_steps():
    path = DOCS / "make_first_steps.py"
    spec = importlib.util.spec_from_file_location("make_first_steps", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_first_steps_of_the_documentation(folder):
    steps = load_first_steps()
    steps.write_sensors(folder / "sensors.csv")
    page = (DOCS / "first_steps.md").read_text()
    known = {path[1] for path, _ in commands() if len(path) > 1}
    codes = {}
    for _, line in steps.STEPS:
        assert f"$ {line}\n" in page, "make first-steps writes it anew"
        words = shlex.split(line)
        if words[0] == "rpcag" and words[1] in known:
            codes[line] = call(*words[1:]).exit_code
    asks = "rpcag decompose sensors.csv -o result"  # what the column of text is
    assert codes.pop(asks) == 2
    assert len(codes) >= 4
    assert not any(codes.values())
    sent, truth = steps.temperatures()
    error = np.abs(Decomposition.load("result").low_rank - truth)
    assert np.median(error[np.isnan(sent)]) < 0.5
    assert np.median(error[np.abs(sent - truth) > 20]) < 0.5


# -- the bar ---------------------------------------------------------------------------


def test_the_bar_shows_gap_and_time_left(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    X, _, _ = sensors()
    with GapBar("RPCA", 1e-6, 1000, quiet=False) as bar:
        RPCA(lam="theory", callback=bar).fit(X)
        bar.refresh()
    shown = capsys.readouterr()
    assert "certified gap" in shown.err
    assert shown.out == ""
    with GapBar("RPCA", 1e-6, 1000, quiet=True) as bar:
        RPCA(lam="theory", callback=bar).fit(X)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", [("decompose", "-o", "r"), ("cluster", "-k", 2)])
def test_json_has_the_notes(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "m,x,y\n1.5 kg,1,2\n2.5 kg,3,1\n3 kg,5,7\n4 kg,2,2\n"
    Path("units.csv").write_text(rows)
    command, *others = words
    (note,) = json.loads(call(command, "units.csv", *others, "--json").stdout)["notes"]
    assert note.startswith(
        "column 'm' is text, such as '1.5 kg', and names the samples"
    )

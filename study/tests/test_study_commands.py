"""``rpcag datasets``, ``reproduce clustering`` and ``report``, as a user types them."""

import importlib
import json
import shlex

import pytest
from typer.testing import CliRunner

from command_line import commands, examples
from rpcag.commands import with_installed
from rpcag_study import Store
from rpcag_study.report_files import check_pictures
from studies import records
from test_study import line

app = with_installed()


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def store(tmp_path):
    """A store with a column under both protocols."""
    path = tmp_path / "results.jsonl"
    grid = {"lam": ["theory"], "gamma": ["clustering"], "components": ["k"]}
    with Store(path).appending() as writer:
        writer.add(line("RPCAG", [0.2, 0.3], lam=[1.0], components=["all", "k"]))
        writer.add(line("PCA", [0.4], graph=None, d=[2]))
        for seed in (1, 2):
            writer.add(line("RPCAG", [0.3], "knn", "fair", seed, **grid))
    return path


def test_data_sets_are_listed():
    result = call("datasets")
    assert result.exit_code == 0, result.output
    for name in ("PIE", "ORL", "BCI", "hall"):
        assert name in result.stdout


def test_the_report_is_printed_and_written(store, tmp_path):
    result = call("report", "--store", store)
    assert result.exit_code == 0, result.output
    assert "20.0 (24.7)" in result.stdout
    folder, page = tmp_path / "report", tmp_path / "page.md"
    result = call("report", "-s", store, "-o", folder, "--page", page)
    assert result.exit_code == 0, result.output
    names = {path.name for path in folder.iterdir()}
    assert {"errors.csv", "wins.csv", "every_column.csv"} <= names
    assert not any(name.endswith(".part") for name in names)
    picture = folder / "printed_against_ours.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = page.read_text()
    assert "(images/reproduction.png)" in text
    assert (tmp_path / "images" / "reproduction.png").exists()
    assert "| oracle, the paper's graph, zeros as data | 1 | 2 | 1 | 3 |" in text
    assert "| RPCAG | 20.0 (24.7) |" in text


@pytest.mark.parametrize(
    "line", [e for e in examples(app) if e.startswith("rpcag report")]
)
def test_examples_of_the_help_run(line, store, monkeypatch):
    monkeypatch.chdir(store.parent)
    result = call(*shlex.split(line)[1:])
    assert result.exit_code == 0, result.output


# Words behind an example, or fewer models of --quick, that make it short: the last word
# on an option counts.
SHORT = {
    "clustering": "--datasets USPS --corruptions none --models PCA,NCuts --seeds 1",
    "phase": "--quick --size 20 --seeds 1",
    "faces": "--models RPCA",
    "video": "--every 25",
}
QUICKER = {
    "timing": {"models": ["NCuts", "PCA"]},
    "graph_quality": {"models": ["NCuts"], "knowledge": ["clean", "unknown"]},
    "parameters": {"subjects": 2, "n": 20, "gamma": [0.5]},
    "components": {"models": ["PCA", "RPCAG"]},
    "as_printed": {"graphs": [None]},
    "directions": {"subjects": 3},
}


def of_the_study(line):
    needs_data = " phase " not in line
    return pytest.param(line, marks=[pytest.mark.data] if needs_data else [])


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [of_the_study(e) for e in examples(app) if e.startswith("rpcag reproduce")],
)
def test_examples_of_the_study_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    words = shlex.split(line)[1:]
    name = words[1].replace("-", "_")
    if name == "video":
        pytest.importorskip("cv2", reason="compares with OpenCV")
    if name in QUICKER:
        experiment = importlib.import_module(f"rpcag_study.experiments.{name}")
        monkeypatch.setattr(experiment, "QUICK", experiment.QUICK | QUICKER[name])
    words += shlex.split(SHORT.get(name, ""))
    if name != "timing":
        words += ["--jobs", "1"]
    result = call(*words)
    assert result.exit_code == 0, result.output
    # Behind the line of how many runs there are come the tables.
    records = list(Store("results.jsonl").read())
    assert f"{len(records)} runs, 0 of them in results.jsonl" in result.stdout
    assert len(result.stdout.splitlines()) > 5 or "--quick" not in line
    for record in records:
        assert record["run"].get("experiment", "clustering") == words[1]


def test_the_report_for_scripts(store):
    told = json.loads(call("report", "--store", store, "--json").stdout)
    cells = [c for table in told["tables"] for row in table["rows"] for c in row]
    assert "20.0 (24.7)" in cells
    assert call("report", "--store", store, "--quiet").output == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report", "-s", "nothing.jsonl"], "nothing.jsonl is not there"),
        (["report", "-s", "empty.jsonl"], "empty.jsonl has no results yet"),
        (["report", "-s", "prose.txt"], "line 1 is not a record of a study"),
        (["reproduce", "clustering", "--models", "PCAA"], "unknown model 'PCAA'"),
        (
            ["reproduce", "video", "--clips", "hall,Hal"],
            "unknown clip 'Hal'; there are",
        ),
        (
            ["reproduce", "faces", "--subjects", "0"],
            "subjects must be 1 or more, got 0",
        ),
        (
            ["reproduce", "phase", "--quick", "--seeds", "-1"],
            "--seeds must be whole numbers with commas between, got '-1'",
        ),
        (
            ["reproduce", "clustering", "--seeds", "one"],
            "--seeds must be whole numbers",
        ),
        (
            ["reproduce", "clustering", "--protocol", "best"],
            "unknown protocol 'best'",
        ),
        (
            ["reproduce", "clustering", "--corruptions", "rain"],
            "unknown corruption 'rain'",
        ),
    ],
)
def test_mistakes_are_one_line(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "prose.txt").write_text("Once upon a time\n")
    result = call(*words)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not list(tmp_path.glob("results*"))


@pytest.mark.data
def test_a_cell_of_the_study_and_what_is_there_is_not_run_again(tmp_path):
    store = tmp_path / "results.jsonl"
    words = ["reproduce", "clustering", "-s", store, "--datasets", "USPS", "-j", 1]
    words += ["--corruptions", "none", "--models", "PCA,NCuts", "--quick"]
    result = call(*words)
    assert result.exit_code == 0, result.output
    assert "3 runs, 0 of them in" in result.output
    assert "USPS clean" in result.output
    before = store.read_bytes()
    assert "3 runs, 3 of them in" in call(*words).output
    assert store.read_bytes() == before


@pytest.mark.parametrize("option", ["--page", "--recovery"])
def test_a_report_writes_over_nothing_but_reports(store, tmp_path, option):
    before = store.read_bytes()
    notes, folder = tmp_path / "notes.md", tmp_path / "folder"
    notes.write_text("mine\n")
    folder.mkdir()
    for target, told in (
        (store, "is a file of something else"),
        (notes, "is a file of something else"),
        (folder, f"{option} must name a file"),
    ):
        result = call("report", "-s", store, option, target)
        assert result.exit_code == 2
        assert told in result.output
        assert len(result.output.strip().splitlines()) == 1
    assert store.read_bytes() == before
    assert notes.read_text() == "mine\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "folder",
        "notes.md",
        "results.jsonl",
    ]


def test_all_places_are_checked_before_anything_is_written(store, tmp_path):
    page, taken = tmp_path / "page.md", tmp_path / "taken"
    taken.write_text("mine")
    result = call("report", "-s", store, "--page", page, "-o", taken)
    assert result.exit_code == 2
    assert "taken is a file; choose a folder for the report" in result.output
    assert not page.exists()


def test_a_report_replaces_its_own_files_and_no_others(store, tmp_path):
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "notes.md").write_text("mine")
    for _ in range(2):
        result = call("report", "-s", store, "-o", folder)
        assert result.exit_code == 0, result.output
    assert (folder / "notes.md").read_text() == "mine"
    index = folder / "report.json"
    listed = json.loads(index.read_text())["files"]
    assert "numpy" in json.loads(index.read_text())["versions"]
    assert {path.name for path in folder.iterdir()} == {
        *listed,
        "report.json",
        "notes.md",
    }
    (folder / "wins.csv").write_text("mine")
    for text in ("{}", '{"rpcag_report": 1, "files": ["../wins.csv"]}', None):
        index.unlink() if text is None else index.write_text(text)
        result = call("report", "-s", store, "-o", folder)
        assert result.exit_code == 2
        assert "choose another folder" in result.output
        assert (folder / "wins.csv").read_text() == "mine"


def test_pictures_beside_a_page_are_replaced_if_it_shows_them(tmp_path):
    page, picture = tmp_path / "page.md", tmp_path / "images" / "video.png"
    check_pictures(page, [picture])
    picture.parent.mkdir()
    picture.write_text("mine")
    with pytest.raises(FileExistsError, match=r"video\.png is a file of someth"):
        check_pictures(page, [picture])
    page.write_text("# Videos, by every method\n\n![seen](images/video.png)\n")
    check_pictures(page, [picture])
    assert picture.read_text() == "mine"


def test_a_page_is_written_anew_and_into_new_folders(store, tmp_path):
    page = tmp_path / "new" / "page.md"
    for _ in range(2):
        result = call("report", "-s", store, "--page", page)
        assert result.exit_code == 0, result.output
    assert page.read_bytes().decode("utf-8").startswith("# What was reproduced")


@pytest.mark.dask
@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:1", ""])
def test_an_address_that_is_none_is_one_line_and_leaves_nothing(
    tmp_path, address, monkeypatch
):
    distributed = pytest.importorskip("distributed", reason="needs rpcag[dask]")
    client = distributed.Client

    def impatient(address, timeout, **options):
        return client(address, timeout="0.5s", **options)

    monkeypatch.setattr(distributed, "Client", impatient)
    store = tmp_path / "new" / "results.jsonl"
    words = ["phase", "--quick", "--size", 20, "--seeds", 1, "-s", store]
    result = call("reproduce", *words, "--dask", address)
    assert result.exit_code == 2
    assert "dask must be the address of a scheduler" in result.output
    assert not store.parent.exists()
    with pytest.raises(ValueError, match="No clients found"):
        distributed.default_client()


def test_a_store_that_is_a_folder_is_refused(tmp_path):
    result = call("reproduce", "phase", "--quick", "-s", tmp_path)
    assert result.exit_code == 2
    assert "the store must be a file" in result.output


@pytest.mark.data
def test_a_corruption_of_ones_own_is_a_column(tmp_path):
    store = tmp_path / "results.jsonl"
    words = ["--datasets", "USPS", "--models", "PCA", "--corruptions", "occlusion33"]
    words += ["--protocol", "fair", "--seeds", 1, "-s", store, "-j", 1]
    assert call("reproduce", "clustering", *words).exit_code == 0
    told = json.loads(call("report", "-s", store, "--json").stdout)
    headers = [table["header"] for table in told["tables"]]
    assert ["model", "USPS occluded 33 %"] in headers


@pytest.mark.data
def test_a_choice_that_leaves_nothing_is_told(tmp_path):
    store = tmp_path / "results.jsonl"
    words = ["--datasets", "BCI", "--corruptions", "occlusion25", "-s", store]
    result = call("reproduce", "clustering", *words)
    assert result.exit_code == 2
    assert "nothing to run" in result.output
    assert not store.exists()


def test_a_study_becomes_a_page(tmp_path):
    store, page = tmp_path / "results.jsonl", tmp_path / "study.html"
    with Store(store).appending() as writer:
        for record in records():
            writer.add(record)
    for _ in range(2):  # a page of ours is replaced
        result = call("report", "-s", store, "--html", page)
        assert result.exit_code == 0, result.output
        assert "".join(result.output.split()) == f"wrote{page}"
    text = page.read_text()
    assert "20.0 (24.7)" in text
    assert "data:image/png;base64," in text
    page.write_text("mine")
    result = call("report", "-s", store, "--html", page)
    assert result.exit_code == 2
    assert "is a file of something else" in result.output
    assert page.read_text() == "mine"


def test_every_command_has_an_example():
    typed = examples(app)
    for path, command in commands(of=app):
        if not hasattr(command, "commands"):
            assert any(line.startswith(" ".join(path)) for line in typed), path


def test_data_sets_for_scripts():
    names = [entry["name"] for entry in json.loads(call("datasets", "--json").stdout)]
    assert {"ORL", "hall"} <= set(names)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["datasets", "here"], "got unexpected extra argument"),
        (["reproduce", "everything"], "no such command 'everything'"),
        (["reproduce", "clustering", "-j", "0"], "invalid value for '--jobs'"),
    ],
)
def test_usage_errors_are_one_line(words, message):
    result = call(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1

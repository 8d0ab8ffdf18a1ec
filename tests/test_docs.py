"""The documentation is true: its code runs, prints what it says, and links lead on."""

import contextlib
import importlib.util
import io
import json
import re
import shlex
from pathlib import Path

import pytest

from fixtures import data_folder

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.(\d+))?(?:e[+-]?\d+)?")


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of every fenced block."""
    return FENCE.findall(page.read_text(encoding="utf-8"))


def has_python(page: Path) -> bool:
    return any(language == "python" for language, _ in blocks(page))


def assert_prints(printed: str, shown: str) -> None:
    """The same words; numbers within 5 %, or two units of the last digit shown."""
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split(), printed
    pairs = zip(NUMBER.finditer(printed), NUMBER.finditer(shown), strict=True)
    for found, said in pairs:
        unit = 10.0 ** -len(said[1] or "")
        close = pytest.approx(float(said[0]), rel=0.05, abs=2.01 * unit)
        assert float(found[0]) == close, f"page:\n{shown}\nprinted:\n{printed}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if has_python(p)], ids=lambda page: page.stem
)
@pytest.mark.filterwarnings("ignore:FastICA did not converge")
def test_code_of_the_page_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch):
    code = "".join(text for language, text in blocks(page) if language == "python")
    if re.search(r"\b(load|load_video)\(\"", code) and data_folder() is None:
        pytest.skip("the page loads real data: set RPCAG_DATA to their folder")
    if "rpcag_study" in code:
        pytest.importorskip("rpcag_study", reason="needs the package rpcag-study")
    monkeypatch.setenv("MPLBACKEND", "agg")
    if data_folder() is not None:
        monkeypatch.setenv("RPCAG_DATA", str(data_folder()))
    monkeypatch.chdir(tmp_path)
    Path("images").mkdir()  # where pages save their pictures
    names: dict = {}
    printed = ""
    for language, text in blocks(page):
        if language == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                run(text, page, names)
            printed = output.getvalue()
        elif language == "text" and printed:
            assert_prints(printed, text)
            printed = ""
    if page.stem == "study":  # its block prints nothing, but stores
        stored = {line["run"]["model"] for line in names["Store"]("mine.jsonl").read()}
        assert stored == {"ICA", "RPCA"}


def run(text: str, page: Path, names: dict) -> None:
    try:
        exec(compile(text, str(page), "exec"), names)
    except ImportError as error:
        if error.name is None or error.name.startswith("rpcag"):
            raise
        pytest.skip(f"{page.name} needs {error.name}")


def test_a_page_that_shows_another_number_is_caught():
    assert_prints("gap 0.0100, rank 12\n", "gap 0.0102,   rank 12\n")
    for wrong in ("gap 0.0200, rank 12", "gap 0.0100, rank 19", "rank 12"):
        with pytest.raises(AssertionError):
            assert_prints("gap 0.0100, rank 12\n", wrong)


def test_first_example_of_the_readme_has_ten_lines():
    first = next(text for language, text in blocks(PAGES[0]) if language == "python")
    assert len([line for line in first.splitlines() if line]) <= 11


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README", "repair_table", "video", "explore"])
def test_commands_of_the_page_run_in_an_empty_folder(name, tmp_path, monkeypatch):
    pytest.importorskip("typer")
    pytest.importorskip("av")
    from typer.testing import CliRunner

    from rpcag.commands import app

    monkeypatch.chdir(tmp_path)
    (page,) = (page for page in PAGES if page.stem == name)
    lines = [
        shlex.split(line, comments=True)
        for language, text in blocks(page)
        if language == "sh"
        for line in text.splitlines()
    ]
    typed = [words[1:] for words in lines if words and words[0] == "rpcag"]
    if name == "README":  # says so itself, before the first command that needs a file
        assert typed[0] == ["demo", "--files", "."]
    for words in typed:
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == 0, f"rpcag {' '.join(words)}: {done.output}"


def anchors(page: Path) -> set[str]:
    """Of the headings, as a forge and MyST make them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles
    }


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings_that_are_there(page):
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {link}"


def module_of_docs(name: str):
    spec = importlib.util.spec_from_file_location(
        f"docs_{Path(name).stem}", ROOT / "docs" / name
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_check_of_the_site_finds_what_is_broken(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top"><a href="b.html#there">fine</a><a href="#top">fine</a>'
        '<a href="https://example.org">left alone</a>'
        '<a href="gone.html">no</a><a href="b.html#gone">no</a>'
        '<script src="https://example.org/x.js"></script><img src="x.png">'
    )
    (tmp_path / "b.html").write_text('<p id="there">')
    found = "\n".join(module_of_docs("check_site.py").problems(tmp_path))
    assert found.count("\n") == 3
    for wrong in ("gone.html", "b.html#gone", "fetches https", "x.png"):
        assert wrong in found


def test_words_that_the_search_misses_are_named(tmp_path):
    check = module_of_docs("check_site.py")
    terms = {stem: 0 for stem in check.SEARCHED.values() if stem != "gpu"}
    index = f"Search.setIndex({json.dumps({'terms': terms})})"
    (tmp_path / "searchindex.js").write_text(index)
    assert check.not_found(tmp_path) == ["the search does not find GPU"]


def test_reference_lists_everything_public(tmp_path):
    pytest.importorskip("matplotlib")
    module_of_docs("_ext/reference.py").write_reference(tmp_path)
    listed = set(re.findall(r"^   (\w+)$", (tmp_path / "index.rst").read_text(), re.M))
    import rpcag
    from rpcag import datasets, graphs, models, tables

    everything = (rpcag, graphs, models, datasets, tables)
    wanted = {name for module in everything for name in module.__all__}
    wanted -= {"__version__", "MODELS"}
    assert wanted <= listed
    assert not [name for name in listed if name.startswith("_")]

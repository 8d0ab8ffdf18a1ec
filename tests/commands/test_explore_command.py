"""``rpcag explore``, as a user types it."""

import pytest

pytest.importorskip("typer", reason="needs the extra rpcag[cli]")

from typer.testing import CliRunner

from decompositions import table
from rpcag.commands import app


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def found():
    return table()


@pytest.fixture
def here(tmp_path, monkeypatch, found):
    """A folder with a result and things that are none."""
    monkeypatch.chdir(tmp_path)
    found.save("result")
    found.save("cut")
    whole = (tmp_path / "cut" / "low_rank.npy").read_bytes()
    (tmp_path / "cut" / "low_rank.npy").write_bytes(whole[: len(whole) // 2])
    found.save("part")
    (tmp_path / "part" / "sparse.npy").unlink()
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    return tmp_path


def test_a_result_becomes_a_page(here):
    result = call("explore", "result", "-o", "new/page.html")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("wrote new/page.html, ")
    text = (here / "new" / "page.html").read_text()
    assert "Objective at most" in text
    assert [path.name for path in (here / "new").iterdir()] == ["page.html"]


def test_quiet(here):
    result = call("explore", "result", "-o", "page.html", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "-o", "p.html"], "nowhere is not a result of rpcag decompose"),
        (["empty", "-o", "p.html"], "empty is not a result of rpcag decompose"),
        (["notes.txt", "-o", "p.html"], "notes.txt is not a result of rpcag"),
        (["cut", "-o", "p.html"], "cut/low_rank.npy cannot be read"),
        (["part", "-o", "p.html"], "part/sparse.npy is missing"),
        (["result", "-o", "empty"], "empty is a folder; choose a file"),
        (["result", "-o", "notes.txt", "-f"], "notes.txt is a file of something else"),
        (["result", "-o", "notes.txt/p.html"], "notes.txt/p.html cannot be created"),
        (["result"], "missing option '--output'"),
    ],
)
def test_mistakes_are_one_line(here, words, message):
    before = sorted(here.rglob("*"))
    result = call("explore", *words)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert sorted(here.rglob("*")) == before
    assert (here / "notes.txt").read_text() == "mine"


def test_an_earlier_page_is_replaced_only_if_asked(here):
    assert call("explore", "result", "-o", "page.html").exit_code == 0
    result = call("explore", "result", "-o", "page.html")
    assert result.exit_code == 2
    assert "page.html already exists; --force replaces it" in result.output
    assert call("explore", "result", "-o", "page.html", "--force").exit_code == 0

"""Pages keep to the guide: short pages, paragraphs and sentences, American spelling."""

import re
import subprocess
from pathlib import Path

import pytest

from test_docs import module_of_docs

ROOT = Path(__file__).parents[1]
prose = module_of_docs("measure_prose.py")
# Pages that are longer than the guide, and why.
LONG = {
    "command": "reference: a table of options for every command",
    "recovery": "generated from stored results",
}
# Old names are listed there.
HISTORY = "CHANGELOG"
PAGES = [page for page in prose.pages() if page.stem not in LONG]
MARGIN = 5  # words of a sentence beyond the guide, which says "about"
BRITISH = re.compile(
    r"(?i)colour|\bgrey|neighbour|\bcentre|centred|behaviour|spoilt|\blicence|favour|"
    r"labelled|learnt|(?:standard|normal|minim|maxim|factor|optim)is(?:e|ed|es|ing)\b"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_no_longer_than_the_guide(page):
    found = prose.measure(page.stem, page.read_text(encoding="utf-8"))
    assert found.words <= prose.PAGE
    assert found.longest_paragraph <= prose.PARAGRAPH
    longest = max(found.sentences, key=prose.count, default="")
    assert prose.count(longest) <= prose.SENTENCE + MARGIN, longest


def test_words_paragraphs_and_sentences_are_counted():
    text = (
        "# Head\n\nOne two three. Four `a b` six, e.g. seven.\n\n"
        "```python\nnot = counted\n```\n\n- first item\n- [link here](page.md)\n\n"
        "| cell | 1 |\n|---|---|\n"
    )
    found = prose.measure("page", text)
    assert found.paragraphs == (
        "One two three. Four `a b` six, e.g. seven.",
        "first item",
        "link here",
    )
    assert [prose.count(s) for s in found.sentences] == [3, 5, 2, 2]
    assert found.words == 1 + 8 + 4 + 2
    assert found.longest_paragraph == 8


def test_crowded_and_passive_sentences_are_found():
    text = "Of 3 sets 2 have 1 class. It was measured. We measure `1 2 3`."
    found = prose.measure("page", text)
    assert found.crowded_sentences == 1
    assert found.passive == pytest.approx(1 / 3)


def test_the_map_of_the_packages_is_that_of_the_imports():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawn = module_of_docs("make_map.py").page(text)
    assert text == drawn, "python docs/make_map.py writes it anew"
    assert "    models --> solvers\n" in text
    assert "    models --> linalg\n" not in text  # by way of the solvers


def test_pages_have_american_spelling():
    listed = subprocess.run(
        ["git", "ls-files", "*.md", "examples", "src/rpcag/commands"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a clone")
    for name in listed.stdout.split():
        if Path(name).stem in (*LONG, HISTORY):
            continue
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            assert not BRITISH.search(line), f"{name}: {line}"

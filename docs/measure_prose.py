"""Measure the prose of the pages: ``python docs/measure_prose.py [PAGE ...]``.

Prints one line per page: words (without code), the longest paragraph and sentence, how
many sentences are longer than the guide allows or hold more than two numbers, and the
share of sentences in passive voice. Then the longest sentences. The passive voice is
found by a pattern (a form of "to be" and a participle), so its share is rough.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The guide: words of a page, of a paragraph, and of a sentence.
PAGE, PARAGRAPH, SENTENCE = 1500, 90, 25
NUMBERS = 2  # in a sentence
SHOWN = 10  # longest sentences

FENCE = re.compile(r"^(```|\$\$).*?^\1$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<[^>\n]+>")
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"`[^`]*`")
ITEM = re.compile(r"^ {0,3}(?:[-*]|\d+\.) +", re.MULTILINE)
END = re.compile(r"(?<=[.!?:])[\"')*]*\s+(?=[\"'(*]*[A-Z0-9`\u0370-\u03ff])")
NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*(?:e-?\d+)?")
PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being)(?: \w+ly| not| also| never)* "
    r"(?:\w+ed|made|found|given|taken|left|kept|done|shown|known|drawn|read|written|"
    r"chosen|built|seen|set|put|meant|lost|hidden|sent|split|cut|told)\b"
)
# A dot that ends no sentence.
SHORT = re.compile(r"\b(e\.g|i\.e|vs|et al|Fig|Sec)\.")


@dataclass(frozen=True)
class Prose:
    """Words and sentences of a page, without code, formulas and pictures."""

    name: str
    words: int
    paragraphs: tuple[str, ...]
    sentences: tuple[str, ...]

    @property
    def longest_paragraph(self) -> int:
        return max(map(count, self.paragraphs), default=0)

    @property
    def longest_sentence(self) -> int:
        return max(map(count, self.sentences), default=0)

    @property
    def long_sentences(self) -> int:
        return sum(count(sentence) > SENTENCE for sentence in self.sentences)

    @property
    def crowded_sentences(self) -> int:
        found = (len(NUMBER.findall(CODE.sub("", s))) for s in self.sentences)
        return sum(number > NUMBERS for number in found)

    @property
    def passive(self) -> float:
        found = sum(bool(PASSIVE.search(sentence)) for sentence in self.sentences)
        return found / max(len(self.sentences), 1)


def count(text: str) -> int:
    """Words; a piece of code is one."""
    return len(re.findall(r"[^\s|]*\w[^\s|]*", CODE.sub("code", text)))


def measure(name: str, text: str) -> Prose:
    """Take a page of Markdown apart."""
    text = COMMENT.sub("", IMAGE.sub("", FENCE.sub("", text)))
    text = LINK.sub(r"\1", text)
    words = count(re.sub(r"^\|[-| :]+\|$", "", text, flags=re.MULTILINE))
    lines = [line for line in text.split("\n") if not line.startswith(("|", "#"))]
    blocks = re.split(r"\n\s*\n", ITEM.sub("\n\n", "\n".join(lines)))
    paragraphs = [" ".join(block.split()) for block in blocks if count(block)]
    sentences = [s for p in paragraphs for s in END.split(SHORT.sub(r"\1", p))]
    return Prose(name, words, tuple(paragraphs), tuple(sentences))


def pages() -> list[Path]:
    names = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
    return [*(ROOT / name for name in names), *sorted((ROOT / "docs").glob("*.md"))]


def table(measured: list[Prose]) -> str:
    head = ("page", "words", "paragraph", "sentence", f">{SENTENCE}", "numbers", "pass")
    lines = ["{:<20} {:>6} {:>9} {:>8} {:>5} {:>7} {:>5}".format(*head)]
    for page in measured:
        marks = "".join(
            "*" if value > limit else ""
            for value, limit in (
                (page.words, PAGE),
                (page.longest_paragraph, PARAGRAPH),
            )
        )
        lines.append(
            f"{page.name:<20} {page.words:>6} {page.longest_paragraph:>9} "
            f"{page.longest_sentence:>8} {page.long_sentences:>5} "
            f"{page.crowded_sentences:>7} {page.passive:>5.0%} {marks}".rstrip()
        )
    lines.append(
        f"guide: {PAGE} words a page, {PARAGRAPH} a paragraph (* over), about "
        f"{SENTENCE} a sentence, {NUMBERS} numbers a sentence"
    )
    return "\n".join(lines)


def main() -> None:
    chosen = [Path(name) for name in sys.argv[1:]] or pages()
    measured = [measure(path.stem, path.read_text("utf-8")) for path in chosen]
    print(table(measured))
    found = [(count(s), page.name, s) for page in measured for s in page.sentences]
    print(f"\nthe {SHOWN} longest sentences:")
    for words, name, sentence in sorted(found, reverse=True)[:SHOWN]:
        print(f"{words:>4}  {name}: {sentence[:140]}")


if __name__ == "__main__":
    main()

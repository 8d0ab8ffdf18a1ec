"""Convert words to numbers."""

import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from rpcag.files.table import MISSING

TRUTH = {"true": 1.0, "false": 0.0}
MINUS = "\u2212"  # as typesetters write it

NUMERAL = (
    r"(?:\d{1,3}(?P<mark>[,.'_ \u2019\u00a0\u2009\u202f])\d{3}(?:(?P=mark)\d{3})*"
    r"(?:[.,]\d+)?|(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+\u2212-]?\d+)?)"
)
SIGN = r"[+\u2212-]?"
MONEY = r"(?:[$€£¥₹₩₽¢]|USD|EUR|GBP|JPY|CNY|CHF|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL)"
UNIT = (
    r"(?:(?!pm)[pnuµμmcdkMGT]?(?:m|g|s|l|L|V|A|W|J|N|K|t|Hz|Pa|eV|Wh|mol|bar|cal|Ω)"
    r"|°[CFK]?|min|h|d|ft|lbs?|oz|mi|mph|rpm|bpm|ppm|ppb|dBm?|deg|psi|mmHg|[kKMG]B)"
    r"(?:[²³23]|\^-?\d)?"
)
MEASURE = re.compile(
    rf"(?:[<>]=?|[≤≥=~≈±])?\s*{SIGN}(?:{MONEY}\s*)?{SIGN}(?P<numeral>{NUMERAL})"
    rf"(?P<space>\s*)(?:[%‰]|{MONEY}|(?P<unit>{UNIT}(?:/{UNIT})?))?"
)

DECIMAL_COMMA = re.compile(r"\s*[+\u2212-]?\d*,\d+([eE][+-]?\d+)?\s*")


def is_measure(word: str) -> bool:
    """Whether a word is a number, perhaps with a sign, a unit or thousands separators.

    A whole number with one letter, such as 12A, is more likely a name.

    Examples
    --------
    >>> from rpcag.files.numbers import is_measure
    >>> [is_measure(word) for word in ["76.14%", "1,000", "5 mm", "<0.1", "1.5A"]]
    [True, True, True, True, True]
    >>> [is_measure(word) for word in ["s1", "2021-05-01", "12:30", "12A", "3rd"]]
    [False, False, False, False, False]
    """
    found = MEASURE.fullmatch(word.strip())
    if found is None:
        return False
    is_letter = len(found["unit"] or "") == 1 and found["unit"].isalpha()
    return not is_letter or bool(found["space"]) or not found["numeral"].isdecimal()


def is_grouped(word: str) -> bool:
    """Whether a number has marks between thousands, or perhaps a decimal mark there."""
    found = MEASURE.fullmatch(word.strip())
    return found is not None and found["mark"] is not None


def remedy_for(word: str, column: str) -> str:
    """A remedy for a word among the numbers of a column."""
    if is_grouped(word):
        return "write numbers without thousands separators"
    return (
        f"missing={word!r} reads it as missing, drop={column!r} leaves the column out"
    )


def normal(word: str) -> str:
    """A common form of all spellings of a word."""
    return word.strip().casefold().replace(MINUS, "-")


class Numbers:
    """Reads numbers from text; missing values are NaN.

    With a decimal comma, a point is refused, because 1.234 may mean 1234. With `truth`,
    true and false are 1 and 0.
    """

    def __init__(
        self, decimal: str = ".", missing: Iterable[str] = (), *, truth: bool = True
    ) -> None:
        self.decimal, self.truth = decimal, truth
        self.missing = MISSING | {normal(word) for word in missing}

    def for_column(self, words: Iterable[str]) -> "Numbers":
        """How to read a column: true and false are numbers only among themselves."""
        if {normal(word) for word in words} - self.missing <= TRUTH.keys():
            return self
        return Numbers(self.decimal, self.missing, truth=False)

    def is_missing(self, word: str) -> bool:
        return normal(word) in self.missing

    def one(self, word: str) -> float:
        """Read a word; ValueError if it is not a number."""
        word = normal(word)
        if word in self.missing:
            return math.nan
        if word in TRUTH and self.truth:
            return TRUTH[word]
        if "_" in word or (self.decimal == "," and "." in word):
            raise ValueError(word)  # Python would read 1_000
        return float(word.replace(self.decimal, "."))

    def is_number(self, word: str) -> bool:
        try:
            self.one(word)
        except ValueError:
            return False
        return True

    def many(self, words: Sequence[str]) -> list[float]:
        """Apply `one` to every word, but faster."""
        together = "".join(words)
        if "_" in together or (self.decimal == "," and "." in together):
            return list(map(self.one, words))
        if self.decimal == ",":
            points = Numbers(".", self.missing, truth=self.truth)
            return points.many([word.replace(",", ".") for word in words])
        with suppress(ValueError):
            return list(map(float, words))
        odd: dict[str, float] = {}  # mostly words for missing: few different ones
        for word in set(words):
            try:
                float(word)
            except ValueError:
                odd[word] = self.one(word)
        return [odd[word] if word in odd else float(word) for word in words]

"""Convert words to numbers, and numbers to words like those of their column."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

# Words that stand for a missing value, in any case.
MISSING = frozenset(
    [
        *("", "na", "n/a", "#n/a", "nan", "<na>", "null", "none", "missing"),
        *("?", "-", "--", ".", "#value!", "#div/0!", "#num!", "#null!"),
    ]
)
MINUS = "\u2212"  # as typesetters write it
NAMES = {".": "point", ",": "comma"}
DECIMAL_COMMA = re.compile(r"\s*[+\u2212-]?\d*,\d+([eE][+-]?\d+)?\s*")
# Numbers whose mark, or marks, may divide thousands.
GROUPED = re.compile(
    r"[+\u2212-]?[1-9]\d{0,2}([.,' \u2019\u00a0\u202f]\d{3})+([.,]\d+)?"
)
# Numbers with such marks, a currency or a unit. Names such as 12A and dates are none.
MEASURE = re.compile(
    rf"[$€£¥]?\s*(?:{GROUPED.pattern}|[+\u2212-]?(?:\d+[.,]\d+|\d+(?=$|[\s%‰°$€£¥])))"
    r"\s*\D{0,6}"
)
NUMERAL = re.compile(
    r"[+\u2212-]?(?P<whole>\d*)(?:[.,](?P<part>\d*))?(?P<power>[eE][+-]?\d+)?"
)
UNGROUPED = "write numbers without thousands separators"
PLAIN = "write plain numbers, without units and thousands separators,"
PLACES = 17  # decimals at most: more would be digits that a float does not hold
UNKNOWN = 6  # decimals at most if there are no other numbers
STYLED = 1000  # rows that determine the style


class Numbers:
    """Reads numbers from text; missing values are NaN.

    With a decimal comma, a point is refused, because 1.234 may mean 1234.
    """

    def __init__(self, decimal: str = ".", missing: Iterable[str] = ()) -> None:
        self.decimal = decimal
        self.missing = MISSING | {normal(word) for word in missing}

    def is_missing(self, word: str) -> bool:
        return normal(word) in self.missing

    def one(self, word: str) -> float:
        """Read a word; ValueError if it is not a number."""
        word = normal(word)
        if word in self.missing:
            return math.nan
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
        has_comma = self.decimal == ","
        if "_" in together or (has_comma and "." in together):
            return list(map(self.one, words))
        plain = [word.replace(",", ".") for word in words] if has_comma else words
        with suppress(ValueError):
            return [float(word or "nan") for word in plain]
        values: dict[str, float] = {}
        for word in set(words):
            try:
                values[word] = float(word.replace(self.decimal, "."))
            except ValueError:  # mostly words for missing
                values[word] = self.one(word)
        return [values[word] for word in words]

    def are_words(self, words: Iterable[str]) -> bool:
        """Whether most are not numbers; a single word among numbers is a mistake."""
        filled = [word for word in words if not self.is_missing(word)]
        return 2 * sum(map(self.is_number, filled)) < len(filled)

    def complaint(self, word: str, column: str) -> str:
        """What is wrong with a word among the numbers of a column, and what to do."""
        other = Numbers("." if self.decimal == "," else ",")
        is_grouped = GROUPED.fullmatch(word.strip()) is not None
        if other.is_number(word):
            return (
                f"{word!r} is not a number with a decimal {NAMES[self.decimal]}; use "
                f"one mark in the file, decimal={other.decimal!r} reads "
                f"{other.one(word):g}" + f"; {UNGROUPED}" * is_grouped
            )
        if is_grouped:
            return f"{word!r} is not a number; {UNGROUPED}"
        return (
            f"{word!r} is not a number; missing={word!r} reads it as missing, "
            f"drop={column!r} leaves the column out"
        )


def measure(words: Iterable[str]) -> str | None:
    """The first word that is a number with a unit or separators, if most are."""
    filled = [word for word in words if word]
    found = [word for word in filled if MEASURE.fullmatch(word)]
    return found[0] if 2 * len(found) > len(filled) else None


def normal(word: str) -> str:
    """A common form of all spellings of a word."""
    return word.strip().casefold().replace(MINUS, "-")


def sampled(n: int) -> range:
    """Some of n rows that determine the style of a column."""
    return range(0, n, max(1, n // STYLED))


def number_style(words: Iterable[str], decimal: str = ".") -> Callable[[float], str]:
    """A function that writes numbers like some others of a column.

    Fractions get the most common number of decimals. Zeros at their end are dropped as
    far as other numbers have fewer decimals.
    """
    found = [NUMERAL.fullmatch(word.strip()) for word in words]
    shown = [m for m in found if m and (m["whole"] or m["part"])]
    scientific = [m for m in shown if m["power"]]
    is_scientific = 2 * len(scientific) > len(shown)
    shown = [m for m in shown if bool(m["power"]) == is_scientific]
    places = Counter(min(len(m["part"] or ""), PLACES) for m in shown)
    places = places or Counter([0, UNKNOWN])
    # The most common number of decimals; of equally common ones, the larger.
    fractions = {k: times for k, times in places.items() if k}
    decimals = max(fractions, key=lambda k: (fractions[k], k), default=0)
    least = min(*places, decimals)
    mark = scientific[0]["power"][0] if is_scientific else "f"

    def write(value: float) -> str:
        # z: no negative zero
        mantissa, exponent, power = f"{value:z.{decimals}{mark}}".partition(mark)
        whole, _, part = mantissa.partition(".")
        part = part[:least] + part[least:].rstrip("0")
        return whole + (decimal + part if part else "") + exponent + power

    return write

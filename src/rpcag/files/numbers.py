"""From words to numbers."""

import math
from collections.abc import Iterable, Sequence

from rpcag.files.table import MISSING

# Different words that are not plain numbers, in one column, that are tried for.
KINDS = 20
TRUTH = {"true": 1.0, "false": 0.0}


class Numbers:
    """Read numbers as they are written in text; NaN for what is missing.

    With a decimal comma a point is refused: 1.234 may mean a thousand.
    """

    def __init__(self, decimal: str = ".", missing: Iterable[str] = ()) -> None:
        self.decimal = decimal
        self.missing = MISSING | {word.strip().casefold() for word in missing}
        self._special: dict[str, float] = {}

    def is_missing(self, word: str) -> bool:
        return word.strip().casefold() in self.missing

    def one(self, word: str) -> float:
        """A ValueError for what is no number."""
        word = word.strip().casefold()
        if self.decimal == "," and word not in self.missing:
            if "." in word:
                raise ValueError(word)
            word = word.replace(",", ".")
        return self._word(word)

    def _word(self, word: str) -> float:
        if word in self.missing:
            return math.nan
        if word in TRUTH:
            return TRUTH[word]
        if "_" in word:  # Python would read 1_000
            raise ValueError(word)
        return float(word)

    def is_number(self, word: str) -> bool:
        try:
            self.one(word)
        except ValueError:
            return False
        return True

    def many(self, words: Sequence[str]) -> list[float]:
        """The same as `one` for each, faster.

        Words that Python's `float` refuses, mostly those for missing, are few
        different ones: each is looked at once.
        """
        together = "".join(words)
        if "_" in together or (self.decimal == "," and "." in together):
            return list(map(self.one, words))
        special = self._special
        if self.decimal == ",":
            words = [word.replace(",", ".") for word in words]
        for _ in range(KINDS):
            try:
                return [special[w] if w in special else float(w) for w in words]
            except ValueError:
                word = next(w for w in words if w not in special and not _plain(w))
                special[word] = self._word(word.strip().casefold())
        return list(map(self.one, words))


def _plain(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True

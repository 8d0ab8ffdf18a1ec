"""From words to numbers."""

import math
from collections.abc import Iterable, Sequence

from rpcag.files.table import MISSING

TRUTH = {"true": 1.0, "false": 0.0}


class Numbers:
    """Read numbers as they are written in text; NaN for what is missing.

    With a decimal comma a point is refused: 1.234 may mean a thousand.
    """

    def __init__(self, decimal: str = ".", missing: Iterable[str] = ()) -> None:
        self.decimal = decimal
        self.missing = MISSING | {word.strip().casefold() for word in missing}

    def is_missing(self, word: str) -> bool:
        return word.strip().casefold() in self.missing

    def one(self, word: str) -> float:
        """A ValueError for what is no number."""
        word = word.strip().casefold()
        if word in self.missing:
            return math.nan
        if word in TRUTH:
            return TRUTH[word]
        if self.decimal == ",":
            if "." in word:
                raise ValueError(word)
            word = word.replace(",", ".")
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
        """The same as `one` for each, fast where there is nothing special."""
        if self.decimal == ".":
            try:
                values = list(map(float, words))
            except ValueError:
                pass
            else:
                if "_" not in "".join(words):
                    return values
        return list(map(self.one, words))

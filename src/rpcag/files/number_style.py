"""Write numbers the way the other numbers of a column are written."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

NUMERAL = re.compile(
    r"(?P<sign>[+\u2212-]?)(?P<whole>\d*)(?:[.,](?P<part>\d*))?(?P<power>[eE][+-]?\d+)?"
)
PLACES = 17  # decimals at most: more would be digits that a float does not hold


@dataclass(frozen=True)
class NumberStyle:
    """Format of the numbers of a column.

    Attributes
    ----------
    decimals : int
        Number of digits after the decimal point in most fractions.
    least : int
        Minimum number of these digits; further trailing zeros are dropped.
    decimal : str
        Point or comma.
    exponent : str
        "e" or "E" in scientific notation, else "".
    """

    decimals: int = 6
    least: int = 0
    decimal: str = "."
    exponent: str = ""

    @classmethod
    def learn(cls, words: Iterable[str], decimal: str = ".") -> "NumberStyle":
        """Learn the format from some numbers of the column.

        Examples
        --------
        >>> from rpcag.files.number_style import NumberStyle
        >>> style = NumberStyle.learn(["1,50", "-2,25"], ",")
        >>> style.write(-0.125), style.write(3.0)
        ('-0,12', '3,00')
        """
        found = [NUMERAL.fullmatch(word.strip()) for word in words]
        shown = [m for m in found if m and (m["whole"] or m["part"])]
        scientific = [m for m in shown if m["power"]]
        is_scientific = 2 * len(scientific) > len(shown)
        shown = [m for m in shown if bool(m["power"]) == is_scientific]
        if not shown:
            return cls(decimal=decimal)
        places = Counter(min(len(m["part"] or ""), PLACES) for m in shown)
        fractions = {k: times for k, times in places.items() if k}
        # Most common; of equals, the finer.
        decimals = max(fractions, key=lambda k: (fractions[k], k), default=0)
        exponent = scientific[0]["power"][0] if is_scientific else ""
        return cls(decimals, min(*places, decimals), decimal, exponent)

    def write(self, value: float) -> str:
        form = f".{self.decimals}{self.exponent or 'f'}"
        mantissa, mark, power = f"{value:{form}}".partition(self.exponent or "e")
        whole, _, part = mantissa.partition(".")
        part = part[: self.least] + part[self.least :].rstrip("0")
        if not whole.strip("-0") and not part.strip("0"):
            whole = whole.removeprefix("-")  # no negative zero
        return whole + (self.decimal + part if part else "") + mark + power

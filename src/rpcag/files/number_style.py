"""Write numbers the way the other numbers of a column are written."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from rpcag.files.numbers import MINUS

NUMERAL = re.compile(
    r"(?P<sign>[+\u2212-]?)(?P<whole>\d*)(?:[.,](?P<part>\d*))?"
    r"(?:(?P<e>[eE])(?P<plus>\+?)-?(?P<power>\d+))?"
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
    plus, minus : str
        Sign of positive and of negative numbers.
    power_plus, power_digits : str, int
        Sign and fewest digits of exponents.
    bare : bool
        Whether .5 is written instead of 0.5.
    """

    decimals: int = 6
    least: int = 0
    decimal: str = "."
    exponent: str = ""
    plus: str = ""
    minus: str = "-"
    power_plus: str = "+"
    power_digits: int = 2
    bare: bool = False

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
        if not shown:
            return cls(decimal=decimal)
        scientific = [m for m in shown if m["e"]]
        if 2 * len(scientific) > len(shown):
            shown = scientific
        else:
            shown, scientific = [m for m in shown if not m["e"]], []
        places = Counter(len(m["part"] or "") for m in shown)
        fractions = {k: times for k, times in places.items() if k}
        # Most common; of equals, the finer.
        decimals = max(fractions, key=lambda k: (fractions[k], k), default=0)
        positive = [m for m in shown if m["sign"] not in ("-", MINUS)]
        powers = [m for m in scientific if m["power"][0] == "0"] or scientific[:1]
        plain = [m for m in scientific if m["plus"]]
        return cls(
            decimals=min(decimals, PLACES),
            least=min(*places, decimals, PLACES) if len(places) > 1 else decimals,
            decimal=decimal,
            exponent=scientific[0]["e"] if scientific else "",
            plus="+" if positive and all(m["sign"] for m in positive) else "",
            minus=MINUS if any(m["sign"] == MINUS for m in shown) else "-",
            power_plus="+" if plain or not scientific else "",
            power_digits=min((len(m["power"]) for m in powers), default=2),
            bare=any(not m["whole"] for m in shown)
            and not any(m["whole"] == "0" and m["part"] for m in shown),
        )

    def write(self, value: float) -> str:
        if self.exponent:
            mantissa, power = f"{abs(value):.{self.decimals}e}".split("e")
            text = self._trimmed(mantissa)
            size = f"{abs(int(power)):0{self.power_digits}d}"
            sign = "-" if int(power) < 0 else self.power_plus
            text += f"{self.exponent}{sign}{size}"
        else:
            text = self._trimmed(f"{abs(value):.{self.decimals}f}")
            if self.bare and text.startswith("0."):
                text = text[1:]
        is_zero = not text.strip("0.eE+-")
        sign = self.minus if value < 0 and not is_zero else self.plus
        return sign + text.replace(".", self.decimal)

    def _trimmed(self, text: str) -> str:
        whole, _, part = text.partition(".")
        part = part[: self.least] + part[self.least :].rstrip("0")
        return f"{whole}.{part}" if part else whole

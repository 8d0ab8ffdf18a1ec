"""Write numbers the way the other numbers of a column are written."""

import re
from collections import Counter
from collections.abc import Callable, Iterable

from rpcag.files.numbers import MINUS

NUMERAL = re.compile(
    r"(?P<sign>[+\u2212-]?)(?P<whole>\d*)(?:[.,](?P<part>\d*))?(?P<power>[eE][+-]?\d+)?"
)
PLACES = 17  # decimals at most: more would be digits that a float does not hold
UNKNOWN = 6  # decimals at most if there are no other numbers


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
    signs = {m["sign"] for m in shown}
    plus = "+" if "+" in signs and "" not in signs else ""
    minus = MINUS if MINUS in signs else "-"
    places = Counter(min(len(m["part"] or ""), PLACES) for m in shown)
    places = places or Counter([0, UNKNOWN])
    # The most common number of decimals; of equally common ones, the larger.
    fractions = {k: times for k, times in places.items() if k}
    decimals = max(fractions, key=lambda k: (fractions[k], k), default=0)
    least = min(*places, decimals)
    mark = scientific[0]["power"][0] if is_scientific else "f"

    def write(value: float) -> str:
        mantissa, exponent, power = f"{abs(value):.{decimals}{mark}}".partition(mark)
        whole, _, part = mantissa.partition(".")
        part = part[:least] + part[least:].rstrip("0")
        sign = minus if value < 0 and float(mantissa) else plus  # no negative zero
        return sign + whole + (decimal + part if part else "") + exponent + power

    return write

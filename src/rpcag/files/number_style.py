"""Write numbers the way the other numbers of a column are written."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

from rpcag.files.numbers import MINUS

NUMERAL = re.compile(
    r"(?P<sign>[+\u2212-]?)(?P<whole>\d*)(?:[.,](?P<part>\d*))?(?P<power>[eE][+-]?\d+)?"
)
PLACES = 17  # decimals at most: more would be digits that a float does not hold


def number_style(words: Iterable[str], decimal: str = ".") -> Callable[[float], str]:
    """A function that writes numbers like some others of a column.

    Fractions get the most common number of decimals. Zeros at their end are dropped as
    far as other numbers have fewer decimals.

    Examples
    --------
    >>> from rpcag.files.number_style import number_style
    >>> write = number_style(["1,50", "-2,25"], ",")
    >>> write(-0.125), write(3.0)
    ('-0,12', '3,00')
    >>> number_style(["+1.5", "-2.5"])(3.0)
    '+3.0'
    """
    found = [NUMERAL.fullmatch(word.strip()) for word in words]
    shown = [m for m in found if m and (m["whole"] or m["part"])]
    scientific = [m for m in shown if m["power"]]
    is_scientific = 2 * len(scientific) > len(shown)
    shown = [m for m in shown if bool(m["power"]) == is_scientific]
    if not shown:
        return partial(_write, form=".6f", least=0, decimal=decimal, signs=("", "-"))
    kinds = {m["sign"] for m in shown}
    plus = "+" if "+" in kinds and "" not in kinds else ""
    minus = MINUS if MINUS in kinds else "-"
    places = Counter(min(len(m["part"] or ""), PLACES) for m in shown)
    fractions = {k: times for k, times in places.items() if k}
    # Of equally common ones, the finer.
    decimals = max(fractions, key=lambda k: (fractions[k], k), default=0)
    mark = scientific[0]["power"][0] if is_scientific else "f"
    least = min(*places, decimals)
    form = f".{decimals}{mark}"
    signs = (plus, minus)
    return partial(_write, form=form, least=least, decimal=decimal, signs=signs)


def _write(
    value: float, *, form: str, least: int, decimal: str, signs: tuple[str, str]
) -> str:
    """A number with at least so many decimals, and these signs for + and -."""
    mantissa, mark, power = f"{abs(value):{form}}".partition(form[-1])
    whole, _, part = mantissa.partition(".")
    part = part[:least] + part[least:].rstrip("0")
    is_zero = not whole.strip("0") and not part.strip("0")  # no negative zero
    sign = signs[value < 0 and not is_zero]
    return sign + whole + (decimal + part if part else "") + mark + power

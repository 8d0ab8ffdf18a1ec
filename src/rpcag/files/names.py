"""Names of rows and columns."""

from collections.abc import Sequence


def unique(names: Sequence[str]) -> list[str]:
    """The same names, with "(2)", "(3)", ... behind those that came before.

    Examples
    --------
    >>> from rpcag.files.names import unique
    >>> unique(["x", "y", "x", "x"])
    ['x', 'y', 'x (2)', 'x (3)']
    """
    taken = set(names)
    seen: dict[str, int] = {}
    found = []
    for name in names:
        number = seen[name] = seen.get(name, 0) + 1
        if number > 1:
            while f"{name} ({number})" in taken:
                number += 1
            seen[name] = number
            name = f"{name} ({number})"
            taken.add(name)
        found.append(name)
    return found

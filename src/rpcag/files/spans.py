"""Find every field of a text table in the bytes of its file."""

import re
from array import array

import numpy as np

from rpcag.files.delimited import SPACE, Layout

CR, LF = 13, 10
# What str.split() takes for a blank, in ASCII.
BLANKS = np.isin(np.arange(256), list(b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "))


def locate(data: bytes, layout: Layout, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Start and end of every field of every row, each of shape (rows, columns).

    `data` is ASCII or a superset of it, such as UTF-8. Fields include their quotes and
    the blanks around them.
    """
    width = len(layout.names)
    if layout.delimiter == SPACE:
        starts, ends = _between_blanks(data, layout.first)
    else:
        starts, ends = _between_delimiters(data, layout, width)
    if len(ends) != rows * width:
        raise ValueError(
            f"the file has {len(ends)} fields where {rows} rows of {width} were read; "
            "check its quotes"
        )
    return starts.reshape(rows, width), ends.reshape(rows, width)


def _between_blanks(data: bytes, first: int) -> tuple[np.ndarray, np.ndarray]:
    b = np.frombuffer(data, np.uint8)
    begin = 0
    if first > 1:
        begin = int(_line_ends(b)[first - 2]) + 1
    blank = np.concatenate([[True], BLANKS[b[begin:]], [True]])
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + begin
    return edges[::2], edges[1::2]


def _between_delimiters(
    data: bytes, layout: Layout, width: int
) -> tuple[np.ndarray, np.ndarray]:
    b = np.frombuffer(data, np.uint8)
    delimiter = layout.delimiter.encode("ascii")
    lines = _line_ends(b)
    if not len(lines) or lines[-1] != len(b) - 1:
        lines = np.append(lines, len(b))  # the last line has no line break
    dividers = np.flatnonzero(b == delimiter[0])
    if b'"' in data:
        quoted = _quoted(data, delimiter)
        # Rows end at line breaks outside quotes; `first` counts all line breaks.
        is_end = ~_inside(lines, quoted)
        dividers = dividers[~_inside(dividers, quoted)]
    else:
        is_end = np.ones(len(lines), dtype=bool)
    begin = 0
    before = np.flatnonzero(is_end[: layout.first - 1])
    if len(before):
        begin = int(lines[before[-1]]) + 1
    breaks = lines[is_end]
    breaks = breaks[breaks >= begin]
    ends = np.sort(np.concatenate([dividers[dividers >= begin], breaks]), kind="stable")
    starts = np.empty_like(ends)
    starts[:1] = begin
    starts[1:] = ends[:-1] + 1
    # Lines of one field that is blank are no rows.
    at = np.searchsorted(ends, breaks)
    fields = np.diff(at, prepend=-1)
    alone = at[fields == 1]
    blank = [k for k in alone if not data[starts[k] : ends[k]].strip()]
    is_break = np.zeros(len(ends), dtype=bool)
    is_break[at] = True
    if blank:
        kept = np.ones(len(ends), dtype=bool)
        kept[blank] = False
        starts, ends, is_break = starts[kept], ends[kept], is_break[kept]
    # Every row has `width` fields, the last of which ends its line.
    if len(ends) % width or not is_break.reshape(-1, width)[:, -1].all():
        raise ValueError("the fields of the file do not form rows; check its quotes")
    # The line break is CR LF: the field ends before both.
    last = np.flatnonzero(is_break & (ends > starts) & (ends < len(b)))
    both = last[(b[ends[last]] == LF) & (b[ends[last] - 1] == CR)]
    ends[both] -= 1
    return starts, ends


def _line_ends(b: np.ndarray) -> np.ndarray:
    """Positions of LF, CR LF (of the LF) and lone CR."""
    found = np.flatnonzero(b == LF)
    returns = np.flatnonzero(b == CR)
    if len(returns):
        follower = np.append(b, 0)[returns + 1]
        lone = returns[follower != LF]
        if len(lone):
            found = np.sort(np.concatenate([found, lone]))
    return found


def _quoted(data: bytes, delimiter: bytes) -> np.ndarray:
    """Edges of all quoted fields: start, end, start, end, ...

    A quote opens a field only at its beginning, behind blanks at most; elsewhere it is
    a character like any other.
    """
    body = rb' *"[^"]*(?:""[^"]*)*"'
    edges = array("q")
    begin = 0
    first = re.compile(body).match(data)
    if first is not None:
        edges.extend(first.span())
        begin = first.end()
    pattern = re.compile(rb"[%b\r\n]%b" % (re.escape(delimiter), body))
    for found in pattern.finditer(data, begin):
        a, b = found.span()
        edges.extend((a + 1, b))
    return np.frombuffer(edges, dtype=np.int64)


def _inside(positions: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.searchsorted(edges, positions, side="right") % 2 == 1

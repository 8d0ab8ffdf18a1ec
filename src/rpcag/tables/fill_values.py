"""Fill values: numbers beyond all others of a column that stand for a missing one."""

import numpy as np

# Smallest fill value, and how many times larger than the next smaller number it is.
# Larger, and the 1e20 of climate models is not found; smaller, and data that extends
# over many orders of magnitude may be.
SMALLEST, GAP = 1e15, 1e10


def fill_values(X: np.ndarray) -> np.ndarray:
    """Where X has fill values, such as the 9.96921e+36 of netCDF; a bool ndarray.

    They are separated from the other values of the column by a gap of many orders of
    magnitude. They are fewer than the others, or all equal.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.tables.fill_values import fill_values
    >>> fill_values(np.array([[1.5], [1e20], [0.0], [-3.0]])).ravel()
    array([False,  True, False, False])
    """
    found = np.zeros(X.shape, dtype=bool)
    sizes = np.abs(X)
    for j in np.flatnonzero((sizes >= SMALLEST).any(axis=0)):
        size = np.sort(sizes[np.isfinite(sizes[:, j]), j])
        low, high = size[:-1], size[1:]
        ends = np.flatnonzero((high >= SMALLEST) & (high / GAP >= low))
        if not len(ends):
            continue
        limit = high[ends[0]]
        is_large = sizes[:, j] >= limit
        if 2 * is_large.sum() < len(size) or limit == size[-1]:
            found[:, j] = is_large
    return found

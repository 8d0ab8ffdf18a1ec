"""Values that are too large for a model to be fitted: which cell has one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np


@contextmanager
def far_value_named(
    source: object, X: np.ndarray, samples: Sequence[str], features: Sequence[str]
) -> Iterator[None]:
    """Make the error name the cell that is the farthest from others of its feature."""
    from rpcag.linalg.typical import TooFarApart

    try:
        yield
    except TooFarApart:
        relative = np.zeros(X.shape)
        with np.errstate(over="ignore"):
            for j in np.flatnonzero(~np.isnan(X).all(axis=0)):
                distances = np.nan_to_num(np.abs(X[:, j] - np.nanmedian(X[:, j])))
                if distances.any():
                    relative[:, j] = distances / np.median(distances[distances > 0])
        i, j = divmod(int(np.argmax(relative)), X.shape[1])
        value = repr(float(X[i, j]))
        raise ValueError(
            f"{source}, row {samples[i]!r}, column {features[j]!r}: {value} is too far "
            f"from the other values; --missing {value} reads it as missing"
        ) from None

"""Convert masked arrays and data frames to numbers; errors name a remedy."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

REAL = "fiub"  # kinds of dtypes that are read as numbers


def check_rows(X, **options) -> np.ndarray:
    """X in double precision with NaN where it is missing or masked."""
    X = as_numbers(X)
    with explained(missing=True):
        options |= {"ensure_all_finite": "allow-nan", "input_name": "X"}
        return check_array(X, dtype=np.float64, **options)


def as_numbers(X, name: str = "X"):
    """X with NaN for masked entries and columns of numbers only.

    Other columns of a data frame raise an error that names the column. This includes
    dates, which NumPy would read as nanoseconds.
    """
    X = with_nan(X)
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        raise TypeError(
            f"{name} has dtype {dtype}, which is not numeric; convert it first, for "
            "example to days by dividing time differences by np.timedelta64(1, 'D')"
        )
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas and isinstance(X, pandas.DataFrame):
        return _numeric_pandas(X, name)
    if polars and isinstance(X, polars.LazyFrame):
        raise TypeError(f"{name} is a LazyFrame; pass {name}.collect()")
    if polars and isinstance(X, polars.DataFrame):
        _check_polars(X, name)
    return X


def with_nan(X):
    """A masked array as a plain one with NaN; anything else unchanged."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.getmaskarray(X).any() or X.dtype.kind not in REAL:
        return np.ma.getdata(X)
    return np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)


def refuse_masked(remedy: str, **arrays) -> None:
    """Raise an error for masked entries in arrays that cannot have missing values."""
    for name, array in arrays.items():
        if isinstance(array, np.ma.MaskedArray) and np.ma.getmaskarray(array).any():
            raise ValueError(f"{name} has masked entries; {remedy}")


@contextmanager
def explained(name: str = "X", *, missing: bool) -> Iterator[None]:
    """Add a remedy to errors of NumPy and scikit-learn about infinite numbers."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(
            f"{name} has a number beyond the range of float64; rescale {name}"
        ) from error
    except ValueError as error:
        if "infinity" not in str(error):
            raise
        remedy = "mark missing values with NaN" if missing else "remove or replace it"
        raise ValueError(f"{str(error).rstrip('.')}; {remedy}") from error


def check_image_shape(
    image_shape, shape: tuple[int, ...], *, channels: bool = False
) -> tuple[int, ...]:
    """Check that the image shape, perhaps with channels, fits the features of X."""
    try:
        sides = tuple(int(length) for length in image_shape)
        fits = sides == tuple(image_shape) and min(sides) > 0
        fits = fits and len(sides) in (2, 2 + channels)
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        other = ", or three with the channels" if channels else ""
        raise ValueError(
            f"image_shape must be two positive ints, height and width{other}, got "
            f"{image_shape!r}"
        )
    if math.prod(sides) != shape[1]:
        entries = "entries" if len(sides) == 3 else "pixels"
        raise ValueError(
            f"image_shape {sides} has {math.prod(sides)} {entries} but X has "
            f"{shape[1]} features"
        )
    return sides


def percent(share: float) -> str:
    """A share in percent, with two digits and never as 1e+02."""
    value = 100 * share
    return f"{value:.2g} %" if value < 99.5 else f"{value:.0f} %"


def reason(error: Exception) -> str:
    """The message of an error; errors from C have a number and a message."""
    return str(error.args[-1]) if error.args else type(error).__name__


def is_dask(X) -> bool:
    """Whether X is a Dask array or data frame, without importing Dask."""
    return type(X).__module__.startswith("dask") and hasattr(X, "dask")


@contextmanager
def _named_column(name: str, column: Any, dtype: Any) -> Iterator[None]:
    """Name the column in errors about what cannot be converted to numbers."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{name} has a column {column!r} of dtype {dtype}, which is not numeric; "
            f"drop it ({name}.drop(columns={column!r})) or convert it to numbers"
        ) from error


def _numeric_pandas(X, name: str):
    """Convert columns of objects to floats, with None and pd.NA as NaN, or refuse."""
    if X.shape[1] == 0:
        return np.empty(X.shape)
    if not X.columns.is_unique:
        double = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"{name} has several columns called {double!r}; rename them")
    for place, (column, dtype) in enumerate(X.dtypes.items()):
        if dtype.kind in REAL and not hasattr(dtype, "fill_value"):  # sparse ones have
            continue
        with _named_column(name, column, dtype):
            if dtype.kind in "mMc":
                raise TypeError("not real numbers")
            values = X.iloc[:, place].to_numpy(np.float64, na_value=np.nan)
        X = X.copy(deep=False)
        X.isetitem(place, values)
    return X


def _check_polars(X, name: str) -> None:
    for column, dtype in X.schema.items():
        with _named_column(name, column, dtype):
            if dtype.is_temporal():
                raise TypeError("not real numbers")
            if not dtype.is_numeric():
                np.asarray(X[column].to_numpy(), dtype=np.float64)

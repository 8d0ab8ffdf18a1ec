"""Arrays of frames: their checks, their size, and values between 0 and 1."""

import math

import numpy as np

Size = tuple[int, int]  # height, width
BEYOND = 0.25  # of 0 and 1: filters overshoot at edges


def check_size(size) -> Size:
    if not (isinstance(size, tuple) and len(size) == 2 and min(size) >= 2):
        raise ValueError(
            "size must be a tuple (height, width) of at least 2 x 2 pixels, or 'full', "
            f"got {size!r}"
        )
    return size


def check_array(shape: tuple[int, ...], dtype: np.dtype, name: str) -> None:
    """Check that an array with this shape and type can hold frames."""
    is_video = len(shape) == 3 or (len(shape) == 4 and shape[3] == 3)
    if not is_video or 0 in shape[1:] or dtype.kind not in "uifb":
        raise ValueError(
            f"{name} must hold numbers of shape (frames, height, width) or "
            f"(frames, height, width, 3), got {dtype} of shape {tuple(shape)}"
        )
    if dtype.kind == "i" or (dtype.kind == "u" and dtype.itemsize > 2):
        raise ValueError(
            f"{name} must hold uint8 (white is 255), uint16 (white is 65535) or floats "
            f"between 0 and 1, got {dtype}, which does not define white; for values up "
            "to 255 use .astype(np.uint8)"
        )


def check_values(frame: np.ndarray, name: str) -> None:
    """Check the range: integers by their type, floats between 0 and 1."""
    if frame.dtype.kind != "f":
        return
    low, high = float(frame.min()), float(frame.max())
    if not math.isfinite(low + high):
        raise ValueError(f"{name} has values that are not finite numbers")
    if low < -BEYOND or high > 1 + BEYOND:
        raise ValueError(
            f"{name} must have values between 0 and 1, got {low:g} to {high:g}; divide "
            "by the value of white"
        )


def scaled(frames: np.ndarray) -> np.ndarray:
    """Scale to values between 0 and 1 in single precision; floats are kept."""
    if frames.dtype.kind in "ui":
        return np.multiply(frames, 1 / np.iinfo(frames.dtype).max, dtype=np.float32)
    return frames.astype(np.float32)


def in_unit_of(values: np.ndarray, dtype: np.dtype | type) -> np.ndarray:
    """Invert `scaled`, clipped to the range of the type."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return values > 0.5
    if dtype.kind == "f":
        return values.astype(dtype)
    white = np.float32(np.iinfo(dtype).max)
    return np.rint(np.clip(values, 0, 1) * white).astype(dtype)


def as_gray(frame: np.ndarray) -> np.ndarray:
    """Convert a frame of bytes to gray with the weights of BT.601."""
    if frame.ndim == 2:
        return frame
    gray = frame.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32)
    return np.rint(gray).astype(np.uint8)

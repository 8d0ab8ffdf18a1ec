"""Values of pixels: between 0 and 1 for the models, integers in files."""

import numpy as np


def scaled(frames: np.ndarray) -> np.ndarray:
    """Scale to values between 0 and 1 in single precision; floats are kept."""
    if frames.dtype.kind in "ui":
        return np.multiply(frames, 1 / np.iinfo(frames.dtype).max, dtype=np.float32)
    return frames.astype(np.float32)


def in_unit_of(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Invert `scaled`, clipped to the range of the type."""
    if dtype.kind == "b":
        return values > 0.5
    if dtype.kind not in "ui":
        return values.astype(dtype)
    top = np.iinfo(dtype).max
    # Single precision has fewer digits than integers of more than two bytes.
    wide = np.float32 if dtype.itemsize < 3 else np.float64
    return np.rint(np.clip(values, 0, 1) * wide(top)).astype(dtype)


def as_gray(frame: np.ndarray) -> np.ndarray:
    """Convert to gray with the weights of BT.601."""
    if frame.ndim == 2:
        return frame
    gray = frame.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32)
    return np.rint(gray).astype(frame.dtype) if frame.dtype.kind in "ui" else gray


def area_average(image: np.ndarray, length: int, axis: int) -> np.ndarray:
    """Resize an axis; each new pixel is the mean over the area that it covers."""
    old = image.shape[axis]
    edges = np.arange(length + 1) * (old / length)
    image = np.moveaxis(image, axis, 0).astype(np.float32)
    total = np.concatenate([np.zeros((1, *image.shape[1:])), np.cumsum(image, 0)])
    whole = np.minimum(edges.astype(int), old - 1)
    part = (edges - whole).reshape(-1, *[1] * (image.ndim - 1))
    sums = total[whole] + part * image[whole]
    return np.moveaxis(np.diff(sums, axis=0) * (length / old), 0, axis)

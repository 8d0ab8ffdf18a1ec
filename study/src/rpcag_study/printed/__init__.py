"""The numbers printed in the paper's tables, in per cent."""

import csv
from importlib.resources import files

NAMES = {"CMU PIE": "PIE"}


def clustering_errors() -> dict[tuple[str, str, str], float]:
    """By data set, corruption and model."""
    return {
        (
            NAMES.get(row["dataset"], row["dataset"]),
            row["corruption"],
            row["model"],
        ): float(row["error_percent"])
        for row in _rows("clustering_error.csv")
    }


def times() -> dict[tuple[str, int], tuple[float, float]]:
    """Seconds and clustering error by model and number of samples."""
    return {
        (row["model"], int(row["n"])): (
            float(row["seconds"]),
            float(row["error_percent"]),
        )
        for row in _rows("computation_time.csv")
    }


def _rows(name: str) -> list[dict[str, str]]:
    text = files(__name__).joinpath(name).read_text()
    return list(csv.DictReader(text.splitlines()))

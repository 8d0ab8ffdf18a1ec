"""All errors of a study in one tidy table: a line per cell, plain numbers."""

import csv
import io
from collections import defaultdict
from typing import Any

import numpy as np

from rpcag.plugins import (
    escaped,
)
from rpcag_study.grids import METHODS
from rpcag_study.report import Report, corruptions_of
from rpcag_study.runs import PROTOCOLS
from rpcag_study.table_cells import Trial, least_error

HEADER = (
    *("protocol", "graph", "mask", "dataset", "corruption", "model", "parameters"),
    *("error", "sd", "seeds", "paper", "difference"),
)


def errors_csv(report: Report) -> str:
    """Errors, the paper's and the difference in percent, by one-to-one matching.

    Under the oracle a line is the least error of a model, and its parameters are where
    it was; RPCA and RPCAG have one with all components and one with one per class.
    Under the others every form that was run has a line: the mean over seeds.
    """
    lines: dict[tuple, dict[int, tuple[float, str]]] = defaultdict(dict)
    for trial in report.trials:
        cell = trial.protocol, trial.graph or "none", trial.mask, *trial.column
        error, form = trial.errors.mean, _form(trial)
        key: tuple = (*cell, trial.model, form)
        if trial.protocol == "oracle":
            key = (*cell, trial.model, trial.values.get("components"))
            error = least_error(trial)
        if error < lines[key].get(trial.seed, (np.inf, ""))[0]:
            lines[key][trial.seed] = error, form
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    rows = [_row(report, key[:6], by_seed) for key, by_seed in lines.items()]
    writer.writerows(map(escaped, sorted(rows, key=_order(report))))
    return text.getvalue()


def _row(report: Report, cell: tuple, by_seed: dict[int, tuple[float, str]]) -> list:
    errors = [error for error, _ in by_seed.values()]
    forms = {form for _, form in by_seed.values()}  # each seed may have its own
    form = forms.pop() if len(forms) == 1 else "by seed"
    error = float(np.mean(errors))
    spread = f"{100 * np.std(errors, ddof=1):.2f}" if len(errors) > 1 else ""
    printed = report.printed.get((cell[3], cell[4], cell[5]))
    beside = ["", ""]
    if printed is not None:
        beside = [f"{100 * printed:.2f}", f"{100 * (error - printed):.2f}"]
    return [*cell, form, f"{100 * error:.2f}", spread, str(len(errors)), *beside]


def _form(trial: Trial) -> str:
    return " ".join(f"{name}={_plain(v)}" for name, v in trial.values.items())


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _order(report: Report):
    """Protocols and setups together, then data sets, columns and models as shown."""
    corruptions = corruptions_of(trial.column for trial in report.trials)
    models = [*METHODS, *report.own_models]
    places = {3: report.datasets, 4: corruptions, 5: models}

    def key(row: list) -> list:
        protocol = PROTOCOLS.index(row[0]) if row[0] in PROTOCOLS else len(PROTOCOLS)
        rest = [places[j].index(row[j]) if j in places else row[j] for j in range(1, 7)]
        return [protocol, *rest]

    return key

"""All errors of a study in one tidy table: a line per cell, plain numbers."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterator
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
    """Errors, the paper's and the difference in per cent, by one-to-one matching.

    Under the oracle a line is the least error of a model, and its parameters are where
    it was; RPCA and RPCAG have one with all components and one with one per class.
    Under the others every form that was run has a line: the mean over seeds.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    rows = [*_oracle(report), *_fair(report)]
    writer.writerows(map(escaped, sorted(rows, key=_order(report))))
    return text.getvalue()


def _oracle(report: Report) -> Iterator[list]:
    least: dict[tuple, tuple[float, Trial]] = {}
    for trial in report.trials:
        if trial.protocol == "oracle":
            key = (*_cell(trial), trial.values.get("components"), trial.seed)
            error = least_error(trial)
            if key not in least or error < least[key][0]:
                least[key] = error, trial
    by_cell: dict[tuple, list[tuple[float, Trial]]] = defaultdict(list)
    for key, found in least.items():
        by_cell[key[:-1]].append(found)
    for (*cell, _), by_seed in by_cell.items():
        # With several seeds each has parameters of its own.
        forms = {_form(trial) for _, trial in by_seed}
        form = forms.pop() if len(forms) == 1 else "by seed"
        yield [*cell, form, *_numbers(report, cell, [error for error, _ in by_seed])]


def _fair(report: Report) -> Iterator[list]:
    by_form: dict[tuple, dict[int, float]] = defaultdict(dict)
    for trial in report.trials:
        if trial.protocol != "oracle":
            by_form[*_cell(trial), _form(trial)][trial.seed] = trial.errors.mean
    for (*cell, form), by_seed in by_form.items():
        yield [*cell, form, *_numbers(report, cell, list(by_seed.values()))]


def _cell(trial: Trial) -> tuple:
    graph = trial.graph or "none"
    return trial.protocol, graph, trial.mask, *trial.column, trial.model


def _form(trial: Trial) -> str:
    return " ".join(f"{name}={_plain(v)}" for name, v in trial.values.items())


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _numbers(report: Report, cell: list, errors: list[float]) -> list[str]:
    error = float(np.mean(errors))
    spread = f"{100 * np.std(errors, ddof=1):.2f}" if len(errors) > 1 else ""
    printed = report.printed.get((cell[3], cell[4], cell[5]))
    beside = ["", ""]
    if printed is not None:
        beside = [f"{100 * printed:.2f}", f"{100 * (error - printed):.2f}"]
    return [f"{100 * error:.2f}", spread, str(len(errors)), *beside]


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

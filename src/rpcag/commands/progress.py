"""The progress bar, which shows the certified gap of a solve or a count."""

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from rpcag.commands.output import errors
from rpcag.graphs.inputs import percent
from rpcag.solvers import Progress as Step
from rpcag.stopping import go_on


class Forecast:
    """Estimate which share of a solve is done.

    The gap falls about geometrically, so the share is log(gap) / log(tol). Between two
    certificates it is extrapolated at the average pace so far.
    """

    def __init__(self, tol: float, max_iter: int) -> None:
        self.tol = min(max(tol, 1e-12), 0.5)
        self.max_iter = max_iter
        self.share = 0.0
        self._seen = (0, 0.0)  # iteration and share of the way at the last certificate
        self._gap = 1.0

    def update(self, n_iter: int, gap: float) -> float:
        """The share that is done. It never falls, and is 1 only at a certified end."""
        if gap != self._gap:
            self._gap = gap
            way = math.log(max(gap, 1e-300)) / math.log(self.tol)
            self._seen = (n_iter, min(max(way, 0.0), 1.0))
        at, way = self._seen
        if gap <= self.tol:
            self.share = 1.0
        elif way >= 0.02:  # before, nothing is known
            guess = min(way * n_iter / at, way + 0.9 * (1 - way))
            self.share = max(self.share, guess, n_iter / self.max_iter)
        return self.share


class GapBar:
    """A bar on standard error, if that is a terminal and `quiet` is not set.

    Call it with every `Progress` of a solver; `count` shows other work. Every stage
    restarts the bar.
    """

    def __init__(
        self, name: str, tol: float = 1e-3, max_iter: int = 1000, *, quiet: bool
    ) -> None:
        self.name, self.tol, self.max_iter = name, tol, max_iter
        self.stage = ""
        self.stop = False  # asks the solver to end
        shown = errors()
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[gap]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=shown,
            transient=True,
            disable=quiet or not shown.is_terminal,
        )
        self.job = self.bar.add_task(name, total=1.0, gap="")

    def __enter__(self) -> "GapBar":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def __call__(self, step: Step) -> bool:
        self._enter(step.stage)
        share = self.forecast.update(step.n_iter, step.gap)
        gap = "" if step.gap >= 1 else f"certified gap {percent(step.gap)}"
        self.bar.update(self.job, completed=share, gap=gap)
        return self.stop

    def count(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Show a stage that is no solve, such as reading."""
        self._enter(stage)
        self.bar.update(self.job, completed=done / total if total else 0.0)

    def _enter(self, stage: str) -> None:
        go_on()
        if stage == self.stage:
            return
        self.stage = stage
        self.forecast = Forecast(self.tol, self.max_iter)
        if stage.endswith("graph"):
            from rpcag.models.robust_graph import GRAPH_MAX_ITER, GRAPH_TOL

            self.forecast = Forecast(GRAPH_TOL, GRAPH_MAX_ITER)
        words = {"weights": "choosing weights"}.get(stage, stage.replace("_", " "))
        text = self.name if stage == "fit" else f"{self.name}, {words}"
        self.bar.reset(self.job, description=text, gap="")

    @contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        """The first Ctrl-C or SIGTERM stops the solver, the second ends the program.

        A signal that is ignored, such as Ctrl-C in a background job, stays ignored.
        Only the main thread can handle signals.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
        unchanged = (signal.SIG_IGN, None)  # None: set by something other than Python
        replaced = [n for n, handler in before.items() if handler not in unchanged]

        def ask(number: int, frame: Any) -> None:
            self.stop = True
            for n in replaced:
                signal.signal(n, signal.default_int_handler)

        try:
            for n in replaced:
                signal.signal(n, ask)
            yield
        finally:
            for n in replaced:
                signal.signal(n, before[n])

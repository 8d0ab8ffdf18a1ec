"""A progress bar that follows the certified gap."""

import math
import time
from types import TracebackType

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from rpcag.commands.output import errors
from rpcag.graphs.inputs import percent
from rpcag.solvers import Progress as Step


class Forecast:
    """How far a solve is, and how long it may still take.

    The gap falls about geometrically, so that log(gap) / log(tol) measures the way;
    between two certificates the way goes on at the pace it had until the last one.
    """

    def __init__(self, tol: float, max_iter: int) -> None:
        self.tol = min(max(tol, 1e-12), 0.5)
        self.max_iter = max_iter
        self.share = 0.0
        self._seen = (0, 0.0)  # iteration and share of the way at the last certificate
        self._gap = 1.0

    def update(self, n_iter: int, gap: float, seconds: float) -> float | None:
        """Seconds left, or None where nothing is known yet; sets `share`."""
        if gap != self._gap:
            self._gap = gap
            way = math.log(max(gap, 1e-300)) / math.log(self.tol)
            self._seen = (n_iter, min(max(way, 0.0), 1.0))
        at, way = self._seen
        if gap <= self.tol:
            self.share = 1.0
            return 0.0
        pace = seconds / max(n_iter, 1)
        most = pace * (self.max_iter - n_iter)
        if way < 0.02:
            return None
        needed = at / way  # iterations in all
        # Not full before a certificate says so, and never going back.
        guess = min(n_iter / needed, way + 0.9 * (1 - way))
        self.share = max(self.share, guess, n_iter / self.max_iter)
        return min(pace * max(needed - n_iter, 1), most)


class GapBar:
    """The bar on standard error; nothing where that is no terminal, or if quiet.

    Called with every `Progress` of a solver. Every stage of the fit restarts the bar.
    """

    def __init__(self, name: str, tol: float, max_iter: int, *, quiet: bool) -> None:
        self.name, self.tol, self.max_iter = name, tol, max_iter
        self.stage = ""
        self.stop = False  # asks the solver to end
        shown = errors()
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[gap]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=shown,
            transient=True,
            disable=quiet or not shown.is_terminal,
        )
        self.job = self.bar.add_task(name, total=1.0, gap="", left="")

    def __enter__(self) -> "GapBar":
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def __call__(self, step: Step) -> bool:
        if step.stage != self.stage:
            self._begin(step.stage)
        seconds = time.monotonic() - self.start
        left = self.forecast.update(step.n_iter, step.gap, seconds)
        gap = "" if step.gap >= 1 else f"certified gap {percent(step.gap)}"
        self.bar.update(
            self.job,
            completed=self.forecast.share,
            gap=gap,
            left=f"about {duration(left)} left" if left else "",
        )
        return self.stop

    def describe(self, text: str) -> None:
        """Name a step that is no solve, such as reading."""
        self.stage = ""
        self.bar.update(self.job, description=text, completed=0.0, gap="", left="")

    def _begin(self, stage: str) -> None:
        self.stage = stage
        self.start = time.monotonic()
        if stage == "fit":
            self.forecast = Forecast(self.tol, self.max_iter)
            what = self.name
        elif stage == "weights":  # it has no certificates: the bar stays empty
            self.forecast = Forecast(self.tol, self.max_iter)
            what = f"{self.name}, choosing weights"
        else:
            from rpcag.models.robust_graph import GRAPH_MAX_ITER, GRAPH_TOL

            self.forecast = Forecast(GRAPH_TOL, GRAPH_MAX_ITER)
            what = f"{self.name}, {stage.replace('_', ' ')}"
        self.bar.update(self.job, description=what)


def duration(seconds: float) -> str:
    """Format seconds in words.

    >>> duration(0.2), duration(75), duration(7260)
    ('1 s', '1 min 15 s', '2 h 1 min')
    """
    whole = max(1, math.ceil(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"

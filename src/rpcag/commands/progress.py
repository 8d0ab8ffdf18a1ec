"""The progress bar, which shows the certified gap of a solve or a count."""

import math

from rich import progress

from rpcag.commands.output import errors
from rpcag.graphs.inputs import percent
from rpcag.solvers import Progress
from rpcag.stopping import go_on


class GapBar(progress.Progress):
    """A bar on standard error, if that is a terminal and `quiet` is not set.

    Call it with every `Progress` of a solver; `count` shows other work. Every stage
    restarts the bar.
    """

    def __init__(
        self, name: str, tol: float = 1e-3, max_iter: int = 1000, *, quiet: bool
    ) -> None:
        super().__init__(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TextColumn("{task.fields[gap]}"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
            console=errors(),
            transient=True,
            disable=quiet or not errors().is_terminal,
        )
        self.name, self.max_iter = name, max_iter
        self.tol = min(max(tol, 1e-12), 0.5)
        self.stage, self.share = "", 0.0
        self.job = self.add_task(name, total=1.0, gap="")

    def __call__(self, step: Progress) -> None:
        self._enter(step.stage)
        if step.gap >= 1:  # nothing is known yet
            return
        # The gap falls about geometrically, so this is the share of the way to tol.
        way = min(math.log(max(step.gap, 1e-300)) / math.log(self.tol), 1.0)
        self.share = max(self.share, way, step.n_iter / self.max_iter)
        gap = f"certified gap {percent(step.gap)}"
        self.update(self.job, completed=self.share, gap=gap)

    def count(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Show a stage that is no solve, such as reading."""
        self._enter(stage)
        self.update(self.job, completed=done / total if total else 0.0)

    def _enter(self, stage: str) -> None:
        go_on()
        if stage == self.stage:
            return
        self.stage, self.share = stage, 0.0
        words = {"weights": "choosing weights"}.get(stage, stage.replace("_", " "))
        text = self.name if stage == "fit" else f"{self.name}, {words}"
        self.reset(self.job, description=text, gap="")

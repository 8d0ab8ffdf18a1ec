"""The page docs/recovery.md: low-rank recovery, in numbers and pictures of a store."""

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from rpcag.plugins import write_atomically, write_text
from rpcag_study.experiments.common import of_experiment
from rpcag_study.report_files import (
    EXPERIMENTS,
    RECOVERY,
    Fold,
    check_pictures,
    folded,
    with_title,
)


@dataclass(frozen=True)
class Section:
    """What the page has of one experiment, if the store does.

    The experiment is one of `EXPERIMENTS`: its ``tables(records)`` are shown, and its
    ``outcome(records)``, a sentence, if it has one. Figures are functions of
    `rpcag_study.figures`, with a caption; `draw` is what it takes to draw them where
    the store alone is not enough.
    """

    experiment: str
    title: str
    how: str
    figures: list[tuple[str, str]]
    draw: str


def sections() -> list[Section]:
    text = resources.files(__package__).joinpath("recovery_sections.toml")
    return [Section(**s) for s in tomllib.loads(text.read_text("utf-8"))["section"]]


def write_recovery(
    records: list[dict], path: Path, tell: Callable[[str], Any] = lambda text: None
) -> Iterator[Path]:
    """The page, and its pictures in the folder "images" beside it.

    A picture that cannot be drawn, because faces and frames are not in the store, is
    left as it is if it exists, and `tell` is called with the reason. If it does not
    exist, the page says what it takes to draw it.
    """
    present = [s for s in sections() if of_experiment(s.experiment, records)]
    if not present:
        wanted = " or ".join(f"rpcag reproduce {s.experiment}" for s in sections())
        raise ValueError(f"the store has nothing on recovery yet: {wanted} makes it")
    import rpcag.plots  # noqa: F401, names the extra if matplotlib is missing
    from rpcag_study import figures

    drawn, missing = {}, {}
    for name in [name for section in present for name, _ in section.figures]:
        picture = path.parent / "images" / f"recovery_{name}.png"
        try:
            drawn[picture] = getattr(figures, name)(records)
        except FileNotFoundError as error:
            missing[picture] = str(error)
    check_pictures(path, drawn)
    for picture, figure in drawn.items():
        with write_atomically(picture) as part:
            figure.savefig(part, dpi=100)
        yield picture
    for picture, reason in missing.items():
        kept = "is the one from before" if picture.exists() else "is missing"
        tell(f"{picture} {kept}: {reason}")
    parts = [
        RECOVERY,
        "Does a graph help to recover a low-rank matrix? `rpcag report --recovery` "
        "writes this page from the stored results. [Reproduce the paper](study.md) "
        "says how to run them again.",
    ]
    for section in present:
        experiment = EXPERIMENTS[section.experiment].module
        parts += [f"## {section.title}", section.how.strip()]
        if hasattr(experiment, "outcome"):
            parts.append(experiment.outcome(records))
        for name, seen in section.figures:
            link = f"images/recovery_{name}.png"
            if (path.parent / link).exists():
                parts.append(f"![{seen}]({link})")
            else:
                parts.append(f"*(Not drawn: {seen}; {section.draw}.)*")
        first, *others = experiment.tables(records)
        parts.append(with_title(first))
        if others:
            parts.append(folded(Fold("More tables", others)))
    write_text(path, "\n\n".join(part for part in parts if part) + "\n")
    yield path

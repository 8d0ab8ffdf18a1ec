"""The page docs/recovery.md: low-rank recovery, in numbers and pictures of a store."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpcag.plugins import (
    write_text,
)
from rpcag_study.experiments.task import of_experiment
from rpcag_study.report_files import (
    EXPERIMENTS,
    RECOVERY,
    check_pictures,
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
    figures: tuple[tuple[str, str], ...]
    draw: str = ""


SECTIONS = (
    Section(
        "phase",
        "Random low-rank matrices",
        """\
`rpcag reproduce phase --size 400`. X = L + S, where L is a product of Gaussian factors
and S has ±1 at random places; the signs are random, or those of L (coherent). The
paper names neither the size, nor the graph, nor γ. Here the graph connects each row of
X to its 10 nearest rows; as the best case, the rows of the clean L. γ is 1/32, the
least of the paper's grid, or `gamma="clustering"`. λ is 1/√n.

A graph cannot be expected to help here. L = UΣV' is the solution if some Y, equal to
λ sign(S) on the errors and at most λ elsewhere, has P_T(Y) = UV' + 2γΦL and
‖Y − P_T(Y)‖₂ ≤ 1, where T is the tangent space at L. Without a graph the right-hand
side is UV'. As ⟨UV', ΦL⟩ = tr(ΣU'ΦU) ≥ 0, the graph only lengthens it.""",
        (
            ("phase", "error of L by rank and share of errors, for every model"),
            ("phase_difference", "error of RPCAG minus that of RPCA"),
        ),
    ),
    Section(
        "faces",
        "Faces behind blocks",
        """\
`rpcag reproduce faces`. A black block covers 10 % of every image of CMU PIE. The
low-rank matrix of each model is compared with the clean images, in gray values. *Mask
unknown*: black is data. *Mask known*: RPCA, RPCAG and FRPCAG get the block as missing,
the others the mean of the pixel. Fixed parameters are nine components per person,
`lam="theory"`, `gamma="clustering"`, and "unit" for FRPCAG. RPCAGCV chooses γ by
predicting hidden pixels.""",
        (("faces", "clean, occluded and low-rank images of one person"),),
        "faces are not in the store; `rpcag report --recovery` draws them where "
        "`RPCAG_DATA` names the folder of the data",
    ),
    Section(
        "directions",
        "Principal directions",
        """\
`rpcag reproduce directions`. 300 images of 30 people, 20 % of each behind a block, the
paper's complete graph, black as data. In the paper the second singular value of RPCAG
is much smaller than the first. The uncentered columns show the same, but there the
first direction is mostly the mean image, which a graph hardly penalizes. The other
columns are centered: they show what differs between faces.""",
        (
            (
                "directions",
                "first two directions and the singular values of every model",
            ),
        ),
    ),
    Section(
        "video",
        "Videos",
        """\
`rpcag reproduce video`; [Video](video.md) describes the method. RPCAG has the defaults
of `rpcag background`, and RPCA the same without a graph. *All entries*: moving pixels
are data. *Paper*: the paper's λ, complete graph and γ. MOG2 and KNN are OpenCV's, in a
second pass; *as it comes* is without our clean-up of masks. All methods share one rule
from background to mask. Its constants were found on synthetic clips; its steps were
designed on these six clips. Frames far from the clips had no part in either.""",
        (("video", "where RPCA and RPCAG differ most, of every clip one frame"),),
        "frames are not in the store; `rpcag reproduce video --store new.jsonl` keeps "
        "them on the machine it runs on, where `rpcag report --recovery` then draws "
        "them",
    ),
)


def write_recovery(
    records: list[dict], path: Path, tell: Callable[[str], Any] = lambda text: None
) -> Iterator[Path]:
    """The page, and its pictures in the folder "images" beside it.

    A picture that cannot be drawn, because faces and frames are not in the store, is
    left as it is if it exists, and `tell` is called with the reason. If it does not
    exist, the page says what it takes to draw it.
    """
    present = [s for s in SECTIONS if of_experiment(s.experiment, records)]
    if not present:
        wanted = " or ".join(f"rpcag reproduce {s.experiment}" for s in SECTIONS)
        raise ValueError(f"the store has nothing on recovery yet: {wanted} makes it")
    parts = [
        RECOVERY,
        "Does a graph help to recover a low-rank matrix? Written by `rpcag report "
        "--recovery` from the stored results; [The study](study.md) says how to run "
        "them again.",
    ]
    drawn = {name: _draw(name, records) for s in present for name, _ in s.figures}
    figures = {_picture(path, n): f for n, f in drawn.items() if not isinstance(f, str)}
    check_pictures(path, figures)
    for picture, figure in figures.items():
        _save(figure, picture)
        yield picture
    for section in present:
        experiment = EXPERIMENTS[section.experiment]
        parts += [f"## {section.title}", section.how]
        if hasattr(experiment, "outcome"):
            parts.append(experiment.outcome(records))
        for name, seen in section.figures:
            picture, missing = _picture(path, name), drawn[name]
            if isinstance(missing, str):
                kept = "is the one from before" if picture.exists() else "is missing"
                tell(f"{picture} {kept}: {missing}")
            if picture.exists():
                parts.append(f"![{seen}](images/{picture.name})")
            else:
                parts.append(f"*(Not drawn: {seen}; {section.draw}.)*")
        first, *others = experiment.tables(records)
        parts.append(with_title(first))
        if others:
            parts.append("<details>\n<summary>More tables</summary>")
            parts += [*map(with_title, others), "</details>"]
    write_text(path, "\n\n".join(part for part in parts if part) + "\n")
    yield path


def _picture(page: Path, name: str) -> Path:
    return page.parent / "images" / f"recovery_{name}.png"


def _draw(name: str, records: list[dict]) -> Any:
    """A figure, or the reason why there is none."""
    from rpcag_study import figures

    try:
        return getattr(figures, name)(records)
    except FileNotFoundError as error:
        return str(error)


def _save(figure: Any, path: Path) -> None:
    from rpcag.plots import save

    save(figure, path, dpi=100)

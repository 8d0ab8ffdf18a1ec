"""The page docs/recovery.md: low-rank recovery, in numbers and pictures of a store."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpcag.plugins import (
    write_text,
)
from rpcag_study.experiments import video
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

    The experiment is one of `EXPERIMENTS`: its ``says(records)`` is the outcome in
    words and its ``tables(records)`` in numbers. Figures are functions of
    `rpcag_study.figures`, with what is seen in them; `draw` is what it takes to draw
    them where the store alone does not do.
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
`rpcag reproduce phase --size 400`. L = A B' with independent Gaussian factors of
variance 1/n, X = L + S with S = ±1 at random places; the signs are random, or those
of L (coherent). λ = 1/√n. The paper names no size, graph or γ. Here the graph joins
every row to its 10 nearest, by distances between rows of X or, as the best case, of
the clean L. γ is 1/32, the least of the paper's grid (2⁻³; its algorithm solves the
model at a quarter of γ), and that of `gamma="clustering"`, measured on images. Rows of
a random matrix have no neighbourhoods, so on either graph L is rough.

Why a graph cannot be expected to widen the region where L is found: L = UΣV' is the
answer if some Y, equal to λ sign(S) on the errors and at most λ elsewhere, has P_T(Y)
= UV' + 2γΦL and ‖Y − P_T(Y)‖₂ ≤ 1, where T is the tangent space at L, in which ΦL
lies. Without a graph the right-hand side is UV'. As ⟨UV', ΦL⟩ = tr(ΣU'ΦU) ≥ 0, the
graph only ever lengthens it, the more the rougher L is.""",
        (
            ("phase", "error of L by rank and share of errors, for every model"),
            ("phase_difference", "error of RPCAG minus that of RPCA"),
        ),
    ),
    Section(
        "faces",
        "Faces behind blocks",
        """\
`rpcag reproduce faces`, and `--subjects 1 --seeds 4,5` for more draws of one person.
Every image of a few people of CMU PIE has a black block over 10 % of its area. Models
get what they get in the clustering study (standardised
features; unit norms for MMF, NMF and GNMF), and their low-rank matrix is brought back
to grey values. "Mask unknown": black is data like any other, for the model and for
its graph. "Mask known": `RPCA`, `RPCAG` and `FRPCAG` get blocks as missing, the
others the mean of the pixel. Fixed parameters: nine components per person (the
dimension of faces under all lights), `lam="theory"`, `gamma="clustering"` and, for
`FRPCAG`, weights of "unit". `RPCAGCV` has the same λ and chooses γ by predicting hidden
pixels, 0 among the candidates.""",
        (("faces", "clean, occluded and low-rank images of one person"),),
        "faces are not in the store; `rpcag report --recovery` draws them where "
        "`RPCAG_DATA` names the folder of the data",
    ),
    Section(
        "directions",
        "Principal directions",
        """\
`rpcag reproduce directions`. 300 images of 30 people, 20 % of each behind a block,
the paper's complete graph, black as data.""",
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
        f"`rpcag reproduce video`; [video.md](video.md) has the details. {video.HOW}",
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
        "Written by `rpcag report --recovery` from the stored results: everything "
        "below comes out of them, also where it disagrees with the paper.",
    ]
    drawn = {name: _draw(name, records) for s in present for name, _ in s.figures}
    figures = {_picture(path, n): f for n, f in drawn.items() if not isinstance(f, str)}
    check_pictures(path, figures)
    for picture, figure in figures.items():
        _save(figure, picture)
        yield picture
    for section in present:
        experiment = EXPERIMENTS[section.experiment]
        parts += [f"## {section.title}", section.how, experiment.says(records)]
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

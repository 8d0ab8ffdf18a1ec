"""Copy shared parameter descriptions into the docstring of every model."""

import inspect
import re
from collections.abc import Iterable

# Parameters or attributes without types, which another model describes.
REFERENCE = re.compile(r"^(\S[^:\n]*)\n    As in `(\w+)`\.$", re.MULTILINE)


def complete_docstrings(models: Iterable[type]) -> None:
    """Replace "tol, max_iter: As in `RPCA`." by the descriptions in `RPCA`.

    ``**others**`` stands for all attributes that have no description yet. The other
    model has to come before this one.
    """
    complete: dict[str, str] = {}
    for model in models:
        if model.__doc__ is None:  # python -OO
            return
        text = inspect.cleandoc(model.__doc__)
        described = {name for names in _entries(text) for name in names}
        for reference in list(REFERENCE.finditer(text)):
            names, other = reference[1].split(", "), complete[reference[2]]
            entries, wanted = _entries(other), set(names)
            if names == ["**others**"]:
                entries = _entries(other, "Attributes")
                wanted = {name for names in entries for name in names} - described
            found = [entries[names] for names in entries if wanted & set(names)]
            text = text.replace(reference[0], "\n".join(found))
        complete[model.__name__] = model.__doc__ = text


def _entries(text: str, section: str = r"\w+") -> dict[tuple[str, ...], str]:
    """Descriptions of parameters and attributes, by their names."""
    entries = {}
    for body in re.findall(rf"^{section}\n-+\n(.*?)(?=\n\n\S|\Z)", text, re.M | re.S):
        for entry in re.split(r"\n(?=\S)", body):
            names = entry.partition("\n")[0].partition(" : ")[0]
            entries[tuple(names.split(", "))] = entry
    return entries

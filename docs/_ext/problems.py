"""Docstrings as the API reference needs them, while the code keeps its plain text."""

INDENT = "    "


def show_problem(app, what, name, obj, options, lines: list[str]) -> None:
    """The paragraph that says what is minimized becomes a block of its own.

    In a terminal ``||L||_*`` reads well; to reStructuredText its bars are markup.
    """
    start = next((i for i, line in enumerate(lines) if line.startswith("minimize ")), 0)
    if start == 0:
        return
    end = lines.index("", start) if "" in lines[start:] else len(lines)
    problem = [INDENT + line for line in lines[start:end]]
    lines[start:end] = [".. code-block:: none", "   :class: problem", "", *problem]


def only_ours(app, what, name, obj, skip, options) -> bool | None:
    """Leave out what is inherited from elsewhere, such as scikit-learn's set_params."""
    function = getattr(obj, "fget", obj)  # of a property
    module = getattr(function, "__module__", None) or ""
    return True if not module.startswith("rpcag") else None


def setup(app):
    # Before numpydoc, which has the default priority of 500.
    app.connect("autodoc-process-docstring", show_problem, priority=400)
    app.connect("autodoc-skip-member", only_ours)
    return {"parallel_read_safe": True}

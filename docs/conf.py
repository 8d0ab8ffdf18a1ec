"""How `make docs` builds the site. Neither the build nor the site fetches anything."""

import sys
import warnings
from pathlib import Path

import rpcag

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from reference import write_reference  # noqa: E402

write_reference(HERE / "api")

project = "rpcag"
author = "the rpcag developers"
copyright = "the rpcag developers, BSD-3-Clause"
release = version = rpcag.__version__

extensions = [
    "myst_parser",
    "native_math",
    "numpydoc",
    "problems",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_ext", "_templates"]
templates_path = ["_templates"]

# Markdown, so that pages can be read on a forge too.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# `name` in a docstring is code, and a link where there is such a name.
default_role = "py:obj"
add_module_names = False
smartquotes = False
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": (),
    "min_reported_time": 1,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
}
# An example that warns would teach bad habits.
warnings.filterwarnings("error", module="rpcag")

html_title = "rpcag"
html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "rpcag"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "get_started": [], "gallery/*": []}

# Pages a toctree names that need not be there: made by other means, or left out.
MAYBE = (
    "command",
    "command_background",
    "ecosystem",
    "explore",
    "first_steps",
    "recovery",
    "reproduction",
    "video",
)


def fit_into_site(app, docname, source):
    """Take absent pages out of toctrees; links to the README lead to the first page."""
    absent = {name for name in MAYBE if not (HERE / f"{name}.md").exists()}
    lines = source[0].split("\n")
    text = "\n".join(line for line in lines if line not in absent)
    source[0] = text.replace("](../README.md)", "](index.md)")


def with_toctrees(app, env, added, changed, removed):
    """Read these again whenever something changed: pages may have come or gone."""
    return ["guide", "paper", "reference"] if added or removed else []


def setup(app):
    app.connect("source-read", fit_into_site)
    app.connect("env-get-outdated", with_toctrees)

"""The documentation site: `make docs` writes it to docs/_build/html, without a network."""

import os
import sys
from pathlib import Path

from pygments.lexers.shell import BashSessionLexer
from sphinx.application import Sphinx

from hedgerow.version import __version__

# Notebooks run the command of this environment.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "hedgerow"
author = "the hedgerow contributors"
project_copyright = "the hedgerow contributors, Apache-2.0"
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "made_from_code",
    "outside",
]
exclude_patterns = ["_build", "extensions"]
nitpicky = False
# A name in a docstring may be a parameter there and an attribute of several classes elsewhere.
suppress_warnings = ["ref.python"]

# Mathematics is written with its own signs, so that no program has to draw formulas in the reader's browser.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parent / "_build" / "notebooks")
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
# A line that says what runs is for those who wait.
nb_output_stderr = "remove"
smartquotes = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings state types
python_maximum_signature_line_length = 88
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_ivar = True

html_theme = "pydata_sphinx_theme"
html_title = f"hedgerow {version}"
html_static_path = ["_static"]
html_css_files = ["hedgerow.css"]
html_copy_source = False
# Pages without further pages below have no bar of a section.
html_sidebars = {page: [] for page in ("index", "gallery", "genindex", "search")}
html_show_sphinx = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 5,
    "show_nav_level": 1,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def without_signature(
    app: Sphinx, what: str, name: str, shown: object, options: object, signature: str | None, returned: str | None
) -> tuple[str, None] | None:
    """Show a class without a signature if its docstring has no Parameters: readers get its objects from functions."""
    return ("", None) if what == "class" and "Parameters\n" not in (shown.__doc__ or "") else None


def setup(app: Sphinx) -> None:
    """Show as shell sessions the blocks whose names tell the tests how to run them; hide what nobody calls."""
    app.connect("autodoc-process-signature", without_signature)
    for name in "refused", "mended", "serve":
        app.add_lexer(name, BashSessionLexer)

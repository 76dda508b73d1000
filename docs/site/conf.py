# The site: docs/*.md as they are, the C++ reference from Doxygen's XML, the Python reference from the docstrings. scripts/site.sh runs it.
import os
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
made = pathlib.Path(os.environ["SITE_BUILD"]).resolve()  # within root
sys.path.insert(0, os.environ["SITE_PYTHON"])

project = "sinter"
author = "sinter's authors"
extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc"]
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**.md", "bench/questions.md", "bench/results/*.md", f"{made.relative_to(root)}/reference/**.rst"]
root_doc = "docs/site/index"
html_theme = "furo"
html_title = "sinter"
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
breathe_projects = {"sinter": str(made / "xml")}
breathe_default_project = "sinter"
breathe_show_include = False
cpp_maximum_signature_line_length = 100
autodoc_typehints = "none"
pygments_style = "default"
# Blocks of the documents that are no program: what a command printed.
highlight_language = "none"


def without_folders(app, name, source):
    """A link to a folder of the source, which the site does not hold, becomes its text."""
    source[0] = re.sub(r"\[([^]]*)\]\([^)\s]*/(?:results)?\)", r"\1", source[0])


def setup(app):
    app.connect("source-read", without_folders)

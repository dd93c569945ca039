"""How the documentation is built; see ``make docs``."""

import sys
from importlib.metadata import metadata
from pathlib import Path

from bayespoint import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "bayespoint"
author = "the bayespoint developers"
copyright = f"{author}. BSD-3-Clause licence. Version {__version__}"
release = version = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # a copy of MathJax beside the pages: they need no network
    "sphinx_gallery.gen_gallery",
    "search_summaries",
]
exclude_patterns = ["_build", "pypi.md", "gallery/**/*.ipynb", "gallery/**/*.py"]
templates_path = ["_templates"]

# Markdown
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

# Docstrings. Types stand in the text, not in signatures, as in scikit-learn.
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    # Stop where other people's classes begin; what they do is documented by them.
    "inherited-members": "ClassifierMixin, BaseEstimator, object, tuple, BaseException",
    "exclude-members": "get_metadata_routing, set_fit_request, set_partial_fit_request, "
    "set_score_request",
}
autosummary_generate = True
numpydoc_show_class_members = False  # the templates list them
numpydoc_class_members_toctree = False

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "gallery_style.reset"),
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("bayespoint",),
    "reference_url": {"bayespoint": None},
    "image_srcset": ["2x"],
    "thumbnail_size": (800, 480),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),  # what an example prints, not what its last line is
    "min_reported_time": 0,
    "write_computation_times": False,
}

# Links that lead nowhere are errors (-n), but for the names below.
nitpick_ignore_regex = [
    ("py:.*", r"(numpy|scipy|sklearn|matplotlib|collections|typing)\..*"),
    ("py:class", r"bayespoint\.spaces\.dual\.DeviceSpace"),
]

# Pages
html_theme = "pydata_sphinx_theme"
html_title = "bayespoint"
html_static_path = ["_static"]
html_css_files = ["house.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": f"bayespoint {__version__}"},
    # The addresses of [project.urls] in pyproject.toml, as soon as there are some.
    "external_links": [
        dict(zip(("name", "url"), address.split(", ", 1), strict=True))
        for address in metadata("bayespoint").get_all("Project-URL", [])
    ],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "getting-started": [], "engines": [], "changelog": []}

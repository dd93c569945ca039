"""Summaries of search results for pages that are opened from a file.

Sphinx fetches every page that it found, to show the words around the hit. Browsers do not fetch
files, so the texts lie in a script that only the search page loads.
"""

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

NAME = "page_texts.js"
LONGEST = 20_000  # characters of a page
SCRIPT = """\
const texts = %s;
if (location.protocol === "file:") {
  window.fetch = async url => {
    const main = document.createElement("div");
    main.setAttribute("role", "main");
    main.textContent = texts[String(url).replace(/^[./]*/, "").replace(/\\.html$/, "")] ?? "";
    return { text: async () => main.outerHTML };
  };
}
"""


def load(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Load the texts on the search page."""
    if page == "search":
        app.add_js_file(NAME)


def write(app: Sphinx, problem: Exception | None) -> None:
    """Write the texts of all pages."""
    if problem is None and app.builder.format == "html":
        texts = {page: app.env.get_doctree(page).astext() for page in sorted(app.env.found_docs)}
        shown = {page: text.partition("\n")[2][:LONGEST] for page, text in texts.items()}
        script = SCRIPT % json.dumps(shown).replace("</", "<\\/")
        Path(app.outdir, "_static", NAME).write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("html-page-context", load)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}

"""What must hold of a page: checked in its source, and in a browser that shows it.

Both checkers return what is wrong in words, and nothing where all is well.
"""

import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
VARIABLE = "BAYESPOINT_BROWSER"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--window-size=1600,1000",
    # No conversations of the browser's own.
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
)
EMPTY = {"br", "hr", "img", "link", "meta", "source"}  # elements without an end tag
LOADS = {"src", "srcset", "data", "poster"}  # attributes that make a browser load something


# The source ------------------------------------------------------------------------------------


class SourceChecker(HTMLParser):
    """Notes what is wrong with a page that should need nothing but itself."""

    def __init__(self):
        super().__init__()
        self.problems, self.open, self.level = [], [], 0

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag in {"script", "iframe", "object", "embed", "link", "base"}:
            self.problems.append(f"<{tag}> in the page")
        for name, value in attributes:
            if name.startswith("on"):
                self.problems.append(f"script in {name} of <{tag}>")
            if name in LOADS and not (value or "").startswith("data:image/"):
                self.problems.append(f"<{tag}> loads {(value or '')[:60]}")
            if name == "href" and re.match(r"\s*(\w+:|//)", value or ""):
                self.problems.append(f"<{tag}> leads to {value}")
        if tag == "img" and not values.get("alt", "").strip():
            self.problems.append("<img> without alternative text")
        if re.fullmatch("h[1-6]", tag):
            if int(tag[1]) > self.level + 1:
                self.problems.append(f"<{tag}> after a heading of level {self.level}")
            self.level = int(tag[1])
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes another element")

    def handle_data(self, data):
        if "style" in self.open and re.search(r"@import|url\(", data):
            self.problems.append("the style sheet loads something")


def problems_in_source(page):
    checker = SourceChecker()
    checker.feed(page)
    checker.close()
    return checker.problems + [f"<{tag}> is never closed" for tag in checker.open]


# The browser -----------------------------------------------------------------------------------

# Every page is shown in a frame of its own width: a window cannot be as narrow as a telephone.
MEASURE = """
addEventListener("load", () => {
  const found = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument, root = page.documentElement;
    const loaded = frame.contentWindow.performance.getEntriesByType("resource");
    const scrolls = element => element && element !== page.body &&
      (getComputedStyle(element).overflowX === "auto" || scrolls(element.parentElement));
    return {
      width: root.clientWidth,
      scrollWidth: Math.max(root.scrollWidth, page.body.scrollWidth),
      wide: [...page.body.querySelectorAll("*")].filter(
        e => e.getBoundingClientRect().right > root.clientWidth + 1 && !scrolls(e)
      ).map(e => e.tagName.toLowerCase()),
      broken: [...page.images].filter(image => !image.naturalWidth).map(image => image.alt),
      requests: loaded.map(entry => entry.name).filter(name => !name.startsWith("data:")),
      headings: [...page.querySelectorAll("h1,h2,h3,h4,h5,h6")].map(e => Number(e.tagName[1])),
      unnamed: [...page.images].filter(image => !image.alt.trim()).length,
      dark: frame.contentWindow.matchMedia("(prefers-color-scheme: dark)").matches,
      paper: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
    };
  });
  document.body.textContent = "FOUND" + JSON.stringify(found) + "END";
});
"""


def find_browser():
    """The program of a browser, or None."""
    named = os.environ.get(VARIABLE)
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def look(browser, pages, dark=False):
    """Show pages, given as (source, width), all in one go; return a report on each."""
    frames = "".join(
        f'<iframe style="width: {width}px; height: 900px; border: 0" '
        f'srcdoc="{html.escape(page)}"></iframe>'
        for page, width in pages
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder, "frames.html")
        path.write_text(
            f'<!doctype html><meta charset="utf-8"><body>{frames}<script>{MEASURE}</script>',
            encoding="utf-8",
        )
        done = subprocess.run(
            [
                browser,
                *FLAGS,
                f"--user-data-dir={folder}/profile",
                "--host-resolver-rules=MAP * ~NOTFOUND",  # whatever a page asks for, nobody answers
                f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                "--dump-dom",
                path.as_uri(),
            ],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
    found = re.search("FOUND(.*)END", done.stdout, re.DOTALL)
    assert found, f"the browser gave no report: {done.stderr[-2000:]}"
    return json.loads(html.unescape(found[1]))


def problems_in_browser(report):
    """What is wrong with one page, from its report."""
    problems = []
    if report["scrollWidth"] > report["width"] or report["wide"]:
        problems.append(
            f"scrolls sideways: {report['scrollWidth']} of {report['width']} pixels, "
            f"because of {report['wide'][:5]}"
        )
    problems += [f"an image does not show: {alt}" for alt in report["broken"]]
    problems += [f"asks the network for {name}" for name in report["requests"]]
    levels = [0, *report["headings"]]
    if any(b > a + 1 for a, b in pairwise(levels)):
        problems.append(f"headings skip a level: {report['headings']}")
    if report["headings"].count(1) != 1:
        problems.append("there is not one main heading")
    if report["unnamed"]:
        problems.append(f"{report['unnamed']} images without alternative text")
    return problems

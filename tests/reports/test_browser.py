"""Pages as a browser shows them, on a wide and on a narrow screen."""

import re

import pytest
from tests.helpers.pages import VARIABLE, find_browser, look, problems_in_browser
from tests.helpers.pages import problems_in_source as source_problems
from tests.helpers.reports import columns_page, digits_page, names_page, reproduce_page

WIDTHS = (1400, 390)

needs_browser = pytest.mark.skipif(
    find_browser() is None,
    reason=f"no browser: run tools/install_chromium (Debian), or name a Chromium in {VARIABLE}",
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    out = tmp_path_factory.mktemp("pages")
    makers = (digits_page, names_page, columns_page, reproduce_page)
    return [make(out).read_text(encoding="utf-8") for make in makers]


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_pages_are_whole(pages, dark):
    shown = [(page, width) for page in pages for width in WIDTHS]
    reports = look(find_browser(), shown, dark)
    assert [report["width"] for report in reports] == [width for _, width in shown]
    for report in reports:
        assert problems_in_browser(report) == []
        assert report["dark"] == dark
        light = sum(map(int, re.findall(r"\d+", report["paper"])[:3])) > 3 * 128
        assert light != dark


# The checkers can fail ---------------------------------------------------------------------------

WIDE = "<table><tr>" + "<td>a wide cell</td>" * 40 + "</tr></table>"
BROKEN = {
    "scrolls sideways": WIDE,
    "an image does not show": '<img src="data:image/png;base64,AAAA" alt="a picture">',
    "asks the network": '<link rel="stylesheet" href="http://example.org/a.css">',
    "headings skip a level": "<h3>too deep</h3>",
    "images without alternative text": '<img src="data:image/png;base64,AAAA">',
}


def plain_page(content):
    return f"<!doctype html><html><head></head><body><h1>Title</h1>{content}</body></html>"


@needs_browser
def test_the_browser_sees_what_is_broken(pages):
    contents = ["<p>nothing is wrong</p>", f'<div style="overflow-x: auto">{WIDE}</div>']
    shown = [plain_page(content) for content in [*contents, *BROKEN.values()]]
    wide = pages[1:]  # the tables of digits are narrow
    shown += [page.replace("overflow-x: auto", "") for page in wide]
    reports = look(find_browser(), [(page, 390) for page in shown])
    fine, scrolled, *broken = map(problems_in_browser, reports)
    assert fine == scrolled == []
    expectations = [*BROKEN, *["scrolls sideways"] * len(wide)]
    for expected, problems in zip(expectations, broken, strict=True):
        assert any(expected in problem for problem in problems), problems


def test_sources_are_whole(pages):
    for page in pages:
        assert source_problems(page) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("<p><b>crossed</p></b>", "</p> closes another element"),
        ("<div>", "</body> closes another element"),
        ("<script>1</script>", "<script> in the page"),
        ('<p onclick="1">a</p>', "script in onclick of <p>"),
        ('<img src="a.png" alt="a">', "<img> loads a.png"),
        ('<img src="https://a.org/a.png" alt="a">', "<img> loads https://a.org/a.png"),
        ('<a href="https://a.org">a</a>', "<a> leads to https://a.org"),
        ('<a href="javascript:1">a</a>', "<a> leads to javascript:1"),
        ('<img src="data:image/png;base64,AAAA" alt=" ">', "<img> without alternative text"),
        ("<h3>a</h3>", "<h3> after a heading of level 1"),
        ("<style>@import 'a.css';</style>", "the style sheet loads something"),
    ],
)
def test_the_source_checker_sees_what_is_broken(content, problem):
    assert source_problems(plain_page("<p>fine</p>")) == []
    assert problem in source_problems(plain_page(content))

"""The page in a browser: keys, a kill, two tabs, a narrow screen, hostile content."""

import json
import time

import numpy as np
import pandas as pd
import pytest
from tests.helpers.devtools import Browser
from tests.helpers.labelling import Command, digits_pool
from tests.helpers.pages import VARIABLE, find_browser

pytestmark = pytest.mark.skipif(
    find_browser() is None,
    reason=f"no browser: run tools/install_chromium (Debian), or name a Chromium in {VARIABLE}",
)
DIGITS = ",".join(map(str, range(10)))
ROW = "document.querySelector('#item')?.dataset.row"
SEEN = "document.querySelector('#item img')?.naturalWidth"


@pytest.fixture(scope="module")
def browser():
    with Browser(find_browser()) as browser:
        yield browser


def row_of(tab):
    return int(tab.wait(f"{ROW} || null"))


def press(tab, key, row):
    """Press a key, and wait for another row."""
    tab.press(key)
    tab.wait(f"{ROW} !== '{row}'")


def label(tab, truth, n):
    """Answer n questions by keyboard, and second looks; returns rows and what was answered."""
    given = {}
    while len(given) < n:
        row = row_of(tab)
        is_second = not tab.js("document.querySelector('#second').hidden")
        press(tab, str(truth[row]), row)
        if not is_second:
            given[row] = str(truth[row])
    return given


def answers(folder):
    """Rows and labels in the journal, after all undoing."""
    found = {}
    for line in (folder / "digits.labels.jsonl").read_text().splitlines()[1:]:
        event = json.loads(line)
        if "row" in event:
            found[event["number"]] = (event["row"], event["label"])
        elif "undo" in event:
            del found[event["undo"]]
    return dict(found.values())


def overflow(tab):
    """Elements that reach beyond the screen, and how far the page scrolls sideways."""
    return tab.js(
        "[document.documentElement.scrollWidth - innerWidth, "
        "[...document.querySelectorAll('body *')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + e.id)]"
    )


def test_digits_by_keyboard_with_a_kill(browser, tmp_path):
    truth = digits_pool(tmp_path / "digits.csv")
    command = Command(tmp_path, "digits.csv", "--classes", DIGITS)
    tab = browser.tab(command.address)
    assert tab.wait(SEEN) == 8
    given = label(tab, truth, 18)
    assert answers(tmp_path) == given  # on disk before the next row is shown

    # Undo, twice, and the other way round; a mistake is corrected.
    second, first = list(given)[-1], list(given)[-2]
    tab.press("Backspace")
    tab.wait(f"{ROW} === '{second}'")
    press(tab, "Backspace", second)
    assert row_of(tab) == first
    assert answers(tmp_path) == {row: y for row, y in given.items() if row not in (first, second)}
    press(tab, str(truth[first]), first)

    # Cannot say.
    row = row_of(tab)
    press(tab, " ", row)
    assert answers(tmp_path)[row] is None
    assert "1 skipped" in tab.text("aside")
    skipped = row

    # The server dies between two answers.
    before = answers(tmp_path)
    command.kill()
    tab.press(str(truth[row_of(tab)]))
    tab.wait("!document.querySelector('#trouble').hidden")
    assert "all answers so far are saved" in tab.text("#trouble")
    assert answers(tmp_path) == before

    # And begins again.
    command = Command(tmp_path, "digits.csv", "--classes", DIGITS)
    assert f"{len(before)} answers already" in command.output()
    tab.go(command.address)
    tab.wait(SEEN)
    n_left = 30 - sum(label is not None for label in before.values())
    more = label(tab, truth, n_left)
    assert not set(more) & set(before) and skipped not in more
    assert answers(tmp_path) == before | more
    tab.wait("/of (29|30) labels/.test(document.querySelector('#interval').textContent)")
    assert tab.text("#labels") == "30"
    assert "%" in tab.text("#error") and "%" in tab.text("#fall") and tab.text("#advice")
    assert tab.js("document.querySelectorAll('#chart svg').length") == 1

    # Undo goes back beyond the restart.
    for _ in range(2 * n_left):
        if len(answers(tmp_path)) < len(before):
            break
        press(tab, "Backspace", row_of(tab))
    assert answers(tmp_path).items() < before.items()
    tab.close()
    assert command.end() == 0
    table = pd.read_csv(tmp_path / "digits.labelled.csv")
    labelled = table["label"].dropna()
    assert (labelled.astype(int) == truth[labelled.index]).all()
    assert len(labelled) == sum(one is not None for one in answers(tmp_path).values())


def test_a_browser_that_dies(browser, tmp_path):
    truth = digits_pool(tmp_path / "digits.csv")
    command = Command(tmp_path, "digits.csv", "--classes", DIGITS)
    with Browser(find_browser()) as other:
        given = label(other.tab(command.address), truth, 4)
        other.kill()
    tab = browser.tab(command.address)
    more = label(tab, truth, 3)
    assert not set(given) & set(more)
    assert answers(tmp_path) == given | more
    tab.close()
    assert command.end() == 0


def test_two_tabs_and_a_narrow_screen(browser, tmp_path):
    truth = digits_pool(tmp_path / "digits.csv")
    command = Command(tmp_path, "digits.csv", "--classes", DIGITS)
    one, two = (browser.tab(command.address) for _ in range(2))
    given = {}
    for _ in range(6):
        rows = [row_of(tab) for tab in (one, two)]
        assert rows[0] != rows[1] and not set(rows) & set(given)
        for tab, row in zip((one, two), rows, strict=True):
            press(tab, str(truth[row]), row)
            given[row] = str(truth[row])
    assert answers(tmp_path) == given
    # An undo in one tab leaves the row of the other alone.
    held = row_of(two)
    one.press("Backspace")
    one.wait(f"{ROW} === '{list(given)[-2]}'")
    time.sleep(0.1)
    assert row_of(two) == held
    assert answers(tmp_path).keys() == given.keys() - {list(given)[-2]}

    # A telephone: nothing is cut off, and everything works by touch or mouse.
    one.resize(360, 740, mobile=True)
    for is_dark in (False, True):
        one.dark(is_dark)
        assert overflow(one) == [0, []]
    row = row_of(one)
    one.click(f"[data-label='{truth[row]}']")
    one.wait(f"{ROW} !== '{row}'")
    row = row_of(one)
    one.click("#skip")
    one.wait(f"{ROW} !== '{row}'")
    assert answers(tmp_path)[row] is None
    one.click("#undo")
    one.wait(f"{ROW} === '{row}'")
    one.wait("/12 labels.* Continue/.test(document.querySelector('#brief').textContent)")
    one.click("#keys-button")
    assert overflow(one) == [0, []]
    assert "cannot say" in one.text("#keys")
    one.press("Enter")  # closes it
    one.wait("!document.querySelector('dialog[open]')")

    # The end, from the page.
    one.click("#finish-button")
    links = one.js("[...document.querySelectorAll('#downloads a')].map(a => a.textContent)")
    assert links == ["labelled.csv", "labelled.parquet", "model.bpm", "labelstudio.json"]
    found = one.js("fetch('export/labelled.csv').then(answer => answer.text())")
    assert found.splitlines()[0].endswith("pixel_7_7,label")
    one.click("#end")
    one.wait("document.body.innerText.includes('The session has ended')")
    assert command.wait() == 0
    assert (tmp_path / "digits.labelled.bpm").exists()
    for tab in (one, two):
        tab.close()


HOSTILE = [
    "<img src=x onerror=\"document.title='owned'\"> a text that is long enough to be one",
    "<script>document.title='owned'</script> another text, as long as the first of them",
    "&lt;b&gt; \"quotes' </p></section><style>body{display:none}</style> a long text again",
    "${document.title='owned'} {{7*7}} \u202e reversed, and long enough for a text as well",
]


def test_hostile_content_stays_text(browser, tmp_path):
    texts = [f"{text} {i}" for i in range(5) for text in HOSTILE]
    other = "<b onclick=alert(1)>other</b>"
    pd.DataFrame({"text": texts, other: "<i>cell</i>"}).to_csv(tmp_path / "pool.csv", index=False)
    classes = ["<b>bold</b>", "\"'><img src=x onerror=document.title='owned'>"]
    command = Command(tmp_path, "pool.csv", "--classes", ",".join(classes))
    tab = browser.tab(command.address)
    seen = set()
    for _ in range(12):
        row = row_of(tab)
        shown = tab.text("#item")
        assert texts[row].split(" a ")[0] in tab.js("document.querySelector('#item').textContent")
        assert "<i>cell</i>" in shown and other in shown
        seen.add(row)
        press(tab, "2" if row % 4 else "1", row)
        assert classes[1 if row % 4 else 0] in tab.text("#last")
    names = tab.js("[...document.querySelectorAll('.class .name')].map(e => e.textContent)")
    assert names == classes
    assert tab.js("document.title") == "pool.csv"
    assert tab.js("document.querySelectorAll('main img, main b, main i, main style').length") == 0
    assert tab.js("document.querySelectorAll('script').length") == 1
    assert len(seen) == 12
    tab.resize(360, 740)
    assert overflow(tab) == [0, []]
    tab.close()
    assert command.end() == 0
    found = pd.read_csv(tmp_path / "pool.labelled.csv")["label"].dropna()
    assert set(found) == set(classes) and len(found) == 12


def test_opinions_are_hidden_until_they_are_asked_for(browser, tmp_path):
    truth = digits_pool(tmp_path / "digits.csv")
    command = Command(tmp_path, "digits.csv", "--classes", DIGITS)
    tab = browser.tab(command.address)
    label(tab, truth, 12)
    shares = "[...document.querySelectorAll('.share')].map(e => e.textContent).join('')"
    tab.wait("document.querySelector('#error').textContent !== '–'")
    assert tab.js(shares) == ""
    for _ in range(10):  # the next row may have been chosen before there was a model
        row = row_of(tab)
        press(tab, str(truth[row]), row)
        if "The model thought" in tab.text("#last"):  # after the answer
            break
    assert "The model thought" in tab.text("#last")
    tab.press("o")
    tab.wait(f"{shares}.includes('%')")
    tab.press("o")
    assert tab.js(shares) == ""
    tab.close()
    command.end()


def test_an_answer_is_revised_from_the_list(browser, tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"]).to_csv(tmp_path / "pool.csv")
    (tmp_path / "how.txt").write_text("Say good if <i>a</i>\nis positive.", encoding="utf-8")
    options = ["--classes", "bad,good", "--instructions", "how.txt"]
    command = Command(tmp_path, "pool.csv", *options)
    tab = browser.tab(command.address)
    first = row_of(tab)
    assert "Say good if <i>a</i>\nis positive." in tab.text("#instructions")
    for _ in range(3):
        press(tab, "1", row_of(tab))
    assert tab.text("#counts") == "bad: 3"
    tab.press("a")
    tab.wait("document.querySelectorAll('#past-list button').length === 3")
    tab.js("document.querySelector('#past-list button:last-child').click()")
    tab.wait(f"{ROW} === '{first}'")
    assert "the answer was “bad”" in tab.text("#second")
    press(tab, "2", first)
    assert tab.text("#counts") == "bad: 2, good: 1"

    # After a crash, and a start at the same port, the old page says where to go.
    port = command.address.split(":")[2].split("/")[0]
    command.kill()
    command = Command(tmp_path, "pool.csv", *options, "--port", port)
    tab.wait(
        "/Open the one that bayespoint label printed/.test("
        "document.querySelector('#trouble').textContent)"
    )
    tab.close()
    assert command.end() == 0
    assert "Traceback" not in (tmp_path / "output.txt").read_text()


def test_more_classes_than_keys(browser, tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"]).to_csv(tmp_path / "pool.csv")
    names = [f"class {chr(97 + i)}" for i in range(14)]
    command = Command(tmp_path, "pool.csv", "--classes", ",".join(names))
    assert "14 classes: ten have a key" in command.output()
    tab = browser.tab(command.address)
    row = row_of(tab)
    press(tab, "0", row)
    assert "“class j”" in tab.text("#last")
    row = row_of(tab)
    tab.press("/")
    for key in "s m":
        tab.press(key)
    assert tab.js("[...document.querySelectorAll('.class')].filter(e => !e.hidden).length") == 1
    press(tab, "Enter", row)
    assert "“class m”" in tab.text("#last")
    assert tab.js("document.querySelector('#search').value") == ""
    tab.close()
    command.end()


# Buttons of which a part is not on the screen, or is below something else.
HIDDEN = """[...document.querySelectorAll('.class, #skip, #undo')].filter(e => {
  const r = e.getBoundingClientRect();
  const top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
  return r.top < 0 || r.bottom > innerHeight || r.right > innerWidth || !e.contains(top);
}).map(e => e.id || e.dataset.label)"""
SIZES = {"desktop": (1280, 800, False), "phone": (390, 844, True), "turned": (740, 360, True)}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_buttons_stay_in_sight_below_long_rows(browser, tmp_path, size):
    texts = [f"{i} begins. {'The delivery was late. ' * 400} The end of {i}." for i in range(20)]
    wide = {f"column {k}": np.arange(20) + k for k in range(60)}
    pd.DataFrame({"text": texts, **wide}).to_csv(tmp_path / "pool.csv", index=False)
    (tmp_path / "how.txt").write_text("Good is what pleases. " * 200, encoding="utf-8")
    options = ["--classes", "bad,good,neutral", "--text", "text", "--instructions", "how.txt"]
    command = Command(tmp_path, "pool.csv", *options)
    tab = browser.tab(command.address)
    tab.resize(*size)
    row_of(tab)
    height = tab.js("document.querySelector('#item').offsetHeight")
    assert height > 3 * size[1]
    for share in (0, 0.3, 0.6):
        tab.js(f"scrollTo(0, {share} * document.querySelector('#item').offsetHeight)")
        assert tab.js(HIDDEN) == []
    # The end of the row is not below the buttons.
    end = "document.querySelector('.rownumber').getBoundingClientRect()"
    bar = "document.querySelector('.answer').getBoundingClientRect()"
    tab.js("document.querySelector('main').scrollIntoView({block: 'end'})")
    assert tab.js(f"{end}.bottom <= {bar}.top + 1")
    assert tab.js(HIDDEN) == []
    # The next row is shown from its beginning.
    row = row_of(tab)
    tab.click("[data-label='good']")
    tab.wait(f"{ROW} !== '{row}'")
    top = "document.querySelector('#item').getBoundingClientRect().top"
    assert tab.js(f"0 <= {top} && {top} < innerHeight / 2")
    assert tab.js(HIDDEN) == []
    assert overflow(tab) == [0, []]
    # The wrong variant: buttons that follow the row.
    tab.js("document.querySelector('.answer').style.position = 'static'; scrollTo(0, 0)")
    assert tab.js(HIDDEN) == ["bad", "good", "neutral", "skip", "undo"]
    tab.close()
    assert command.end() == 0


# Words of class names that begin on one line and end on another.
NAMED = ".name, #counts, #last, #past strong"
BROKEN_WORDS = f"""[...document.querySelectorAll('{NAMED}')].flatMap(e => {{
  const broken = [], texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) for (const found of texts.currentNode.data.matchAll(/[^\\s_/]+/g)) {{
    const range = document.createRange();
    range.setStart(texts.currentNode, found.index);
    range.setEnd(texts.currentNode, found.index + found[0].length);
    if (range.getClientRects().length > 1) broken.push(found[0]);
  }}
  return broken;
}})"""
LONG_NAMES = [
    "good",
    "Internationalisation and localisation",
    "bad experience with the delivery service",
    "accident_and_emergency_department_of_hospitals",
    "politics/international/europe/elections",
]


def test_class_names_break_at_words(browser, tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"]).to_csv(tmp_path / "pool.csv")
    command = Command(tmp_path, "pool.csv", "--classes", ",".join(LONG_NAMES))
    tab = browser.tab(command.address)
    for place in range(10):
        press(tab, str(place % 5 + 1), row_of(tab))
    tab.press("o")
    tab.wait("document.querySelector('.share').textContent !== ''")
    for width in (1280, 920, 800, 390, 360):
        tab.resize(width, 844)
        tab.press("a")
        tab.wait("document.querySelectorAll('#past-list button').length === 10")
        assert tab.js(BROKEN_WORDS) == []
        assert overflow(tab) == [0, []]
        tab.js("document.querySelector('#past').close()")
    # The wrong variant: without places where a line may end.
    tab.js("document.querySelectorAll('wbr').forEach(e => e.remove())")
    assert "europe" in tab.js(BROKEN_WORDS)
    tab.close()
    assert command.end() == 0

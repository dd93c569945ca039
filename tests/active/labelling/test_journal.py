"""The journal: nothing that was confirmed is ever lost."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bayespoint.active.labelling.journal import START, Answer, Answers, Journal, JournalError

ABOUT = {"rows": 9}
EVENTS = [{"row": i, "label": f"läbel {i}\n"} for i in range(4)]


@pytest.fixture
def path(tmp_path):
    with Journal(tmp_path / "labels.jsonl", ABOUT) as journal:
        for event in EVENTS:
            journal.append(event)
    return tmp_path / "labels.jsonl"


def read(path):
    with Journal(path, ABOUT) as journal:
        return journal.events


def test_events_come_back(path):
    assert read(path) == EVENTS
    assert path.stat().st_mode & 0o077 == 0  # nobody else reads it
    with Journal(path, {"rows": 5}) as journal:
        assert journal.about["rows"] == 9  # the first line stays


def test_a_torn_last_line_is_cut_off(path):
    """Wherever the last line is torn, all others stay, and the journal goes on."""
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(last, len(whole)):
        path.write_bytes(whole[:end])
        with Journal(path, ABOUT) as journal:
            assert journal.events == EVENTS[:3]
            journal.append(EVENTS[3])
        assert path.read_bytes() == whole


def test_a_torn_first_line_begins_anew(path):
    path.write_bytes(b'{"format": 1, "ro')
    with Journal(path, ABOUT) as journal:
        assert journal.events == [] and journal.about["rows"] == 9


def test_damage_in_the_middle_is_said(path):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b'{"row": 1, "la\n', *lines[3:]]))
    with pytest.raises(JournalError, match=r"line 3 of the journal .* is damaged"):
        Journal(path, ABOUT)


@pytest.mark.parametrize(
    "content", [b'{"a": 1}\n', b"x,y\n1,2", b"x", b'{"format": 2, "rows": 9}\n']
)
def test_another_file_is_left_as_it_is(path, content):
    path.write_bytes(content)
    with pytest.raises(JournalError, match="not a journal"):
        Journal(path, ABOUT)
    assert path.read_bytes() == content


def test_two_cannot_have_it(path):
    with Journal(path, ABOUT), pytest.raises(JournalError, match="another bayespoint label"):
        Journal(path, ABOUT)
    assert read(path) == EVENTS


def test_an_error_of_the_disk_leaves_no_half_line(path, monkeypatch):
    with Journal(path, ABOUT) as journal:
        real, before = os.write, path.read_bytes()
        monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:5]) or 5)
        monkeypatch.setattr(os, "fsync", failing)
        with pytest.raises(OSError, match="No space left"):
            journal.append({"row": 5})
        monkeypatch.undo()
        assert path.read_bytes() == before
        journal.append({"row": 6})
    assert read(path) == [*EVENTS, {"row": 6}]


def failing(file):
    raise OSError(28, "No space left on device")


WRITER = """
import sys
from pathlib import Path
from bayespoint.active.labelling.journal import Journal
journal = Journal(Path(sys.argv[1]), {"rows": 9})
for number in range(10**6):
    journal.append({"number": number, "padding": "x" * 200})
    print(number, flush=True)
"""


def test_kill_at_any_moment(tmp_path):
    """What was confirmed before the kill is in the journal afterwards."""
    path = tmp_path / "labels.jsonl"
    for n_confirmed in (1, 20, 75):
        path.unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True
        )
        confirmed = [int(process.stdout.readline()) for _ in range(n_confirmed)]
        process.send_signal(signal.SIGKILL)
        confirmed += [int(line) for line in process.communicate()[0].split()]
        found = [event["number"] for event in read(path)]
        assert found[: len(confirmed)] == confirmed
        assert len(found) - len(confirmed) in (0, 1)  # written, and not yet confirmed


# What events add up to ---------------------------------------------------------------------------


def event(number, row, label, **more):
    return Answer(number, row, label, **more).event()


def test_answers_of_events():
    events = [
        event(1, 0, "yes"),
        event(2, 1, None),
        {"error": [1, 0.5, 0.1, 0.9]},
        event(3, 0, "no", second=True),
        event(4, 2, "yes"),
        {"undo": 4},
    ]
    answers = Answers({5: "yes"}, 9, ["no", "yes"], events)
    assert answers.labels() == {5: "yes", 0: "no"}
    assert answers.skipped() == {1}
    assert answers.answered() == {0, 1, 5}
    assert answers.looked_at_twice() == {0}
    assert answers.last_number == 4  # numbers are never used twice
    answers.undo(3)
    assert answers.labels() == {5: "yes", 0: "yes"}  # the first label of the row again
    answers.add(Answer(5, 5, None))
    assert answers.labels() == {0: "yes"} and answers.label(5) is None
    assert json.loads(json.dumps(answers.standing[0].event())) == events[0]


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (event(1, 9, "yes"), "line 2 .* a row that does not exist"),
        (event(1, -1, "yes"), "does not exist"),
        (event(1, 0, "maybe"), "label 'maybe', which is not among the classes no, yes"),
        ({"row": 1, "bad": 2}, "line 2 of the journal is not an answer"),
        ({"row": "1", "number": 1, "label": "no"}, "not an answer"),
        ({"undo": 7}, "line 2 .* undoes an answer that does not exist"),
        ({"undo": [1]}, "undoes an answer"),
        ({"undo": 1.0}, "undoes an answer"),
        ({"row": 1.5, "number": 1, "label": "no"}, "not an answer"),
        ({"row": True, "number": 1, "label": "no"}, "not an answer"),
        ({"row": 1, "number": "1", "label": "no"}, "not an answer"),
        ({"row": 1, "number": 0, "label": "no"}, "not an answer"),
        ({"row": 1, "number": None, "label": "no"}, "not an answer"),
        ({"row": 1, "number": 1, "label": ["no"]}, "not an answer"),
        ({"row": 1, "number": 1, "label": {"no": 1}}, "not an answer"),
        ({"row": 1, "number": 1, "label": "no", "tab": 1}, "not an answer"),
        ({"row": 1, "number": 1, "label": "no", "second": "yes"}, "not an answer"),
        ({"row": 1, "number": 1, "label": "no", "at": None}, "not an answer"),
        ({"error": 0.5}, "line 2 .* is not an error"),
        ({"error": [1, 0.5, 0.1]}, "is not an error"),
        ({"error": [1, 0.5, 0.1, float("inf")]}, "is not an error"),
        ({"error": [1, 0.5, 0.1, "0.9"]}, "is not an error"),
    ],
)
def test_events_of_another_pool(one, message):
    with pytest.raises(JournalError, match=message):
        Answers({}, 9, ["no", "yes"], [one])


def test_numbers_grow():
    events = [event(2, 0, "yes"), event(2, 1, "no")]
    with pytest.raises(JournalError, match="line 3 of the journal is not an answer"):
        Answers({}, 9, ["no", "yes"], events)


@pytest.mark.parametrize(
    "line",
    [
        b'{"error": [1, NaN, 0, 1]}',
        b'{"row": -Infinity}',
        b'{"a": ' + 20_000 * b"[",
        b'{"number": ' + 5000 * b"1" + b"}",
    ],
    ids=["nan", "infinity", "deep", "long"],
)
def test_lines_that_are_not_json_are_damaged(path, line):
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(JournalError, match=r"line 6 of the journal .* is damaged"):
        Journal(path, ABOUT)


def test_a_random_edit_is_an_error_of_the_journal_or_none(path, tmp_path):
    """Bytes of a whole journal are changed: it opens, or a JournalError says why not."""
    events = [event(1, 0, "yes"), event(2, 1, None), {"error": [1, 0.5, 0.1, 0.9]}, {"undo": 2}]
    edited = tmp_path / "edited.jsonl"
    with Journal(edited, ABOUT) as journal:
        for one in events:
            journal.append(one)
    whole, rng = edited.read_bytes(), random.Random(0)
    n_refused = 0
    for _ in range(500):
        content = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            content[rng.randrange(len(START), len(content))] = rng.choice(b'0189.e-"[]{},:nNtf \n')
        edited.write_bytes(content)
        try:
            with Journal(edited, ABOUT) as journal:
                Answers({}, 9, ["no", "yes"], journal.events)
        except JournalError:
            n_refused += 1
    assert 100 < n_refused < 500


def rename(path):
    path.rename(path.with_name("other.jsonl"))


def move_folder(path):
    path.parent.rename(path.parent.with_name("elsewhere"))


def replace(path):
    """As editors save: a new file of the same name."""
    draft = path.with_name("draft")
    draft.write_bytes(path.read_bytes())
    draft.replace(path)


def cut(path):
    os.truncate(path, path.stat().st_size - 5)


def empty(path):
    os.truncate(path, 0)


def extend(path):
    with path.open("ab") as file:
        file.write(b'{"row": 5}\n')


def edit(path):
    """In place, as long as before, and at the time that it had."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(path.read_bytes().index(b"bel 2"))
        file.write(b"bel 3")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


CHANGES = [Path.unlink, rename, move_folder, replace, cut, empty, extend, edit, make_pipe]


@pytest.fixture
def deep(tmp_path):
    """The path of a journal in a folder that can be moved."""
    (tmp_path / "pool").mkdir()
    return tmp_path / "pool" / "labels.jsonl"


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_journal_that_another_program_changes_takes_no_answer(deep, change):
    if change is make_pipe and not hasattr(os, "mkfifo"):
        pytest.skip("this system has no pipes with names")
    with Journal(deep, ABOUT) as journal:
        for one in EVENTS:
            journal.append(one)
        change(deep)
        for _ in range(2):  # neither now nor later
            with pytest.raises(OSError, match="renamed, deleted or changed the journal"):
                journal.append({"row": 5, "label": "lost"})
        folder = next(
            one for one in (deep.parent, deep.parent.with_name("elsewhere")) if one.exists()
        )
        kept = [one.read_bytes() for one in folder.iterdir() if one.is_file()]
        assert not any(b"lost" in content for content in kept)
        deep.parent.mkdir(exist_ok=True)
        copy = journal.rescue()
    assert copy.name == "labels.rescued.jsonl" and copy.stat().st_mode & 0o077 == 0
    assert read(copy) == EVENTS


@pytest.mark.parametrize("change", [Path.unlink, rename, empty])
def test_a_journal_that_is_changed_while_an_answer_is_written(path, monkeypatch, change):
    """After the check before the line, and before the one behind it."""
    with Journal(path, ABOUT) as journal:
        real = os.fsync
        monkeypatch.setattr(os, "fsync", lambda file: (real(file), change(path)))
        with pytest.raises(OSError, match="renamed, deleted or changed the journal"):
            journal.append({"row": 5})
        monkeypatch.undo()
        assert read(journal.rescue()) == EVENTS


def test_a_journal_that_nobody_changes_needs_no_copy(path):
    with Journal(path, ABOUT) as journal:
        journal.append({"row": 5})
        os.utime(path, ns=(0, 0))  # another time is no other content
        journal.append({"row": 6})
        assert journal.rescue() is None
    assert read(path) == [*EVENTS, {"row": 5}, {"row": 6}]
    assert [one.name for one in path.parent.iterdir()] == ["labels.jsonl"]


def test_copies_do_not_overwrite_each_other(path):
    for name in ("labels.rescued.jsonl", "labels.rescued2.jsonl", "labels.rescued3.jsonl"):
        with Journal(path, ABOUT) as journal:
            whole = path.read_bytes()
            path.unlink()
            assert journal.rescue() == path.with_name(name)
        path.write_bytes(whole)


def test_a_folder_that_cannot_be_written(tmp_path):
    with pytest.raises(JournalError, match=r"cannot write the journal .*--journal FILE"):
        Journal(Path(tmp_path, "no", "labels.jsonl"), ABOUT)

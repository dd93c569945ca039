"""Who is asked for what: questions, undoing, second looks, and several tabs."""

import threading
import time

import numpy as np
import pandas as pd
import pytest
from tests.helpers.labelling import line_pool, make_session

from bayespoint import BayesPointClassifier
from bayespoint.active.labelling import session as module
from bayespoint.active.labelling.journal import Answers
from bayespoint.active.labelling.session import RequestError

FRAME, TRUTH = line_pool()


@pytest.fixture
def session(tmp_path):
    session = make_session(tmp_path, FRAME)
    yield session
    session.end()


def again(session, tmp_path):
    """The session as another process would find it."""
    session.end()
    return make_session(tmp_path, FRAME)


def go(session, n, tab="one", truth=TRUTH, learn=True):
    """Answer n questions; returns their rows."""
    rows, shown = [], session.begin(tab)
    for _ in range(n):
        row = shown["item"]["row"]
        rows.append(row)
        shown = session.answer(tab, row, truth[row])
        if learn:
            session.learner.step(session.labels(), idle=True)
    return rows


def test_every_row_is_asked_for_once(session):
    rows = go(session, 40, learn=False)
    assert sorted(rows) == list(range(40))
    shown = session.begin("one")
    assert shown["item"] is None and shown["state"]["open"] == 0
    assert shown["state"]["advice"] == "Every row has an answer."
    assert session.answers.labels() == dict(enumerate(TRUTH))


def test_the_model_chooses_and_learns(session):
    go(session, 12)
    state = session.state("one")
    assert state["labels"] == 12 and state["open"] == 28
    given = list(session.answers.labels().values())
    assert state["counts"] == [(name, given.count(name)) for name in ("no", "yes")]
    assert state["error"]["n"] == 12
    assert state["error"]["low"] <= state["error"]["value"] <= state["error"]["high"]
    assert [point[0] for point in state["history"]] == list(range(5, 13))
    assert 0 <= state["rest"] < 0.5 and state["fall"] >= 0
    machine = session.final_machine()
    assert np.mean(machine.predict(FRAME.to_numpy()) == TRUTH) > 0.9
    # Questions are near the border: those left are far from it.
    left = np.abs(FRAME["x"].to_numpy()[session.labels().open])
    asked = np.abs(FRAME["x"].to_numpy()[list(session.answers.answered())])
    assert np.median(asked) < np.median(left)


def test_the_curve_does_not_run_backwards_after_undo(session):
    go(session, 8)
    for _ in range(2):
        session.undo("one")
    session.learner.step(session.labels(), idle=True)
    assert [point[0] for point in session.state("one")["history"]] == [5, 6]
    events = [{"error": [n, 0.1, 0.0, 0.2]} for n in (5, 6, 7, 6, 7)]
    assert [point[0] for point in Answers({}, 40, ["no", "yes"], events).history] == [5, 6, 7]


def test_opinions_are_probabilities_of_all_classes(tmp_path):
    session = make_session(tmp_path, FRAME, classes=("maybe", "no", "yes"))
    go(session, 10)
    opinion = session.begin("one")["item"]["opinion"]
    assert {name for name, _ in opinion} == {"maybe", "no", "yes"}
    assert sum(p for _, p in opinion) == pytest.approx(1, abs=1e-3)
    assert [p for _, p in opinion] == sorted((p for _, p in opinion), reverse=True)
    session.end()


def test_cannot_say_is_never_asked_again(session, tmp_path):
    row = session.begin("one")["item"]["row"]
    shown = session.answer("one", row, None)
    assert shown["last"]["label"] is None
    assert shown["state"]["skipped"] == 1 and shown["state"]["labels"] == 0
    assert row not in go(session, 39, learn=False)
    session = again(session, tmp_path)
    assert session.begin("two")["item"] is None
    assert session.labels().codes.keys() == set(range(40)) - {row}
    session.end()


def test_undo_to_any_depth(session, tmp_path):
    rows = go(session, 8)
    for row in reversed(rows[4:]):
        shown = session.undo("one")
        assert shown["item"]["row"] == row
    assert session.answers.labels().keys() == set(rows[:4])
    # Another process, another tab: it goes on to the first.
    session = again(session, tmp_path)
    for row in reversed(rows[:4]):
        assert session.begin("two")["state"]["can_undo"]
        assert session.undo("two")["item"]["row"] == row
    assert session.answers.labels() == {}
    assert not session.undo("two")["state"]["can_undo"]  # and nothing happens
    session.learner.step(session.labels(), idle=True)
    assert session.state("two")["error"] is None
    # What was undone may be answered otherwise.
    session.answer("two", rows[0], "no")
    session = again(session, tmp_path)
    assert session.answers.labels() == {rows[0]: "no"}
    session.end()


def test_undo_makes_the_model_forget(session):
    go(session, 10)
    row = session.begin("one")["item"]["row"]
    wrong = "no" if TRUTH[row] == "yes" else "yes"
    before = session.final_machine().predict_proba(FRAME.to_numpy())
    session.answer("one", row, wrong)
    session.learner.step(session.labels(), idle=False)
    session.undo("one")
    session.learner.step(session.labels(), idle=False)
    np.testing.assert_allclose(session.final_machine().predict_proba(FRAME.to_numpy()), before)


def test_tabs_do_not_disturb_each_other(session):
    first, second = (session.begin(tab)["item"]["row"] for tab in ("one", "two"))
    assert first != second
    asked = {first, second}
    for _ in range(10):
        for tab in ("one", "two"):
            row = session.begin(tab)["item"]["row"]
            after = session.answer(tab, row, TRUTH[row])["item"]["row"]
            assert after not in asked
            asked.add(after)
    held = {tab: session.begin(tab)["item"]["row"] for tab in ("one", "two")}
    # An undo takes back an answer of the own tab, and leaves the other alone.
    last = {tab: [a for a in session.answers.standing if a.tab == tab][-1].row for tab in held}
    assert session.undo("one")["item"]["row"] == last["one"]
    assert session.begin("two")["item"]["row"] == held["two"]
    assert session.answers.label(last["two"]) is not None
    # A closed tab frees its row, and its answers may be undone elsewhere.
    session.close("two")
    n_before = len(session.answers.standing)
    for _ in range(n_before):
        assert session.undo("one")["item"] is not None
    assert session.answers.standing == []


def test_answers_that_come_twice_or_late_are_not_counted_twice(session, monkeypatch):
    row = session.begin("one")["item"]["row"]
    session.answer("one", row, "yes")
    shown = session.answer("one", row, "no")  # sent again
    assert "last" not in shown and session.answers.labels() == {row: "yes"}
    assert session.answer("one", None, "yes")["item"]["row"] == shown["item"]["row"]
    assert session.answer("one", "x", "yes")["item"]["row"] == shown["item"]["row"]
    assert "last" not in session.answer("one", float(shown["item"]["row"]), "yes")
    # A tab that slept answers its row, if nobody else has it.
    row = shown["item"]["row"]
    later = time.monotonic() + 2 * module.AWAY
    monkeypatch.setattr(module.time, "monotonic", lambda: later)
    assert session.begin("two")["item"]["row"] == row  # the first that is free
    assert "last" not in session.answer("one", row, "yes")
    session.close("two")
    session.close("one")
    session.answer("one", row, "no")
    assert session.answers.label(row) == "no"
    with pytest.raises(RequestError, match="no class 'perhaps'"):
        session.answer("one", row, "perhaps")


def test_a_suspect_label_gets_a_second_look(session, tmp_path):
    truth = TRUTH.copy()
    wrong = int(np.argsort(FRAME["x"].to_numpy())[-5])  # among positive ones
    truth[wrong] = "no"
    go(session, 39, truth=truth, learn=False)
    session.learner.step(session.labels(), idle=True)
    assert session.state("one")["suspects"] == 1
    shown = session.look_again("one")
    assert shown["item"]["row"] == wrong and shown["item"]["second"]
    assert shown["item"]["before"] == "no"
    assert shown["item"]["opinion"][0][0] == "yes"
    assert shown["item"]["opinion"][1][1] < 0.1  # by leave-one-out
    session.answer("one", wrong, "no")  # the person insists
    session.learner.step(session.labels(), idle=True)
    assert session.state("one")["suspects"] == 0  # and is not asked again
    session.undo("one")
    session.answer("one", wrong, "yes")
    session = again(session, tmp_path)
    assert session.answers.label(wrong) == "yes"
    session.end()


def test_suspects_are_asked_for_among_other_rows(tmp_path):
    frame, truth = line_pool(200)
    session = make_session(tmp_path, frame)
    order = np.random.default_rng(0).permutation(200)  # that of a session without a model
    truth[order[np.abs(frame["x"].to_numpy()[order[:99]] - 1).argmin()]] = "no"
    rows = go(session, 99, truth=truth, learn=False)
    session.learner.step(session.labels(), idle=True)
    assert session.state("one")["suspects"]
    seen = []
    for _ in range(module.EVERY + 1):
        item = session.begin("one")["item"]
        seen.append(item["second"])
        session.answer("one", item["row"], truth[item["row"]])
    assert any(seen) and not all(seen)
    assert len(set(rows)) == 99
    session.end()


def test_labels_of_the_pool_count(tmp_path):
    given = {i: TRUTH[i] for i in range(20)}
    session = make_session(tmp_path, FRAME, given=given)
    session.learner.step(session.labels(), idle=True)
    shown = session.begin("one")
    assert shown["state"]["labels"] == 20 and shown["item"]["row"] >= 20
    assert shown["state"]["error"]["n"] == 20
    assert not shown["state"]["can_undo"]  # nobody gave them here
    session.end()


def test_one_more_label_is_one_more_site(session, monkeypatch):
    """Between two choices of kernels, every label is learned once, by partial_fit."""
    go(session, 10)
    learned = []
    real = BayesPointClassifier.partial_fit

    def noted(self, X, y, **parameters):
        learned.append(len(X))
        return real(self, X, y, **parameters)

    monkeypatch.setattr(BayesPointClassifier, "partial_fit", noted)
    monkeypatch.setattr(BayesPointClassifier, "fit", None)  # would fail
    for _ in range(3):
        row = session.begin("one")["item"]["row"]
        session.answer("one", row, TRUTH[row])
        session.learner.step(session.labels(), idle=False)
    assert learned == [1, 1, 1] and session.state("one")["problem"] == ""
    session.undo("one")
    session.learner.step(session.labels(), idle=False)
    assert learned[3:] == [12]  # an undo is learned anew


def test_batches_are_diverse(tmp_path):
    copies, truth = line_pool(30)
    frame = pd.concat([copies] * 5, ignore_index=True)
    session = make_session(tmp_path, frame)
    go(session, 10, truth=np.tile(truth, 5))
    queue = session._advice.queue
    assert len(queue) == 12
    values = frame["x"].iloc[queue]
    assert len(set(values)) == 12  # no copies of each other, nor of labelled ones
    assert not set(values) & set(frame["x"].iloc[list(session.answers.answered())])
    session.end()


@pytest.mark.parametrize("kernel", ["linear", "auto"])
def test_a_model_to_begin_with(tmp_path, kernel):
    other, truth = line_pool(100, seed=1)
    start = BayesPointClassifier(kernel=kernel, random_state=0).fit(other.to_numpy(), truth)
    session = make_session(tmp_path, FRAME, start=start)
    session.learner.step(session.labels(), idle=False)
    shown = session.begin("one")["item"]
    if kernel == "linear":
        assert abs(FRAME["x"][shown["row"]]) < 0.5  # it knows where the border is
    assert shown["opinion"] is not None
    go(session, 12)
    X = FRAME.to_numpy()
    final = session.final_machine()
    assert np.mean(final.predict(X) == TRUTH) > 0.85
    if kernel == "linear":  # twelve more labels change little
        assert np.mean(final.predict(X) == start.predict(X)) > 0.9
    assert not np.array_equal(final.predict_proba(X), start.predict_proba(X))
    session.end()


def test_a_model_that_fails_does_not_stop_anybody(tmp_path):
    frame = FRAME.assign(x=1e200)  # overflows
    session = make_session(tmp_path, frame)
    rows = go(session, 6)
    assert len(set(rows)) == 6
    assert session.state("one")["problem"]
    assert session.begin("one")["item"] is not None
    session.end()


def test_the_learner_never_blocks(session):
    """Answers are taken and rows are shown while the learner is busy."""
    busy, release = threading.Event(), threading.Event()

    def slow(labels, idle):
        busy.set()
        assert release.wait(60)

    session.learner.step = slow
    session.learner.start()
    session.learner.wake()
    assert busy.wait(60)
    assert len(set(go(session, 20, learn=False))) == 20
    assert not release.is_set()
    release.set()

"""A small version of the attack; ``make attack`` runs all of it."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from tests.attack import answers, batches, blocks, files, fits, labelling, sequences, tables
from tests.attack.judge import CLEAR, FINE, WRONG, judged

PAIR = np.array([[0.3, 0.0, 0.0], [0.0, 2.0, 0.0]]), [0, 1]
FIRST = 10**6  # seeds that the large attack does not use


@pytest.mark.parametrize("kind", ["fits", "parameters"])
@pytest.mark.parametrize("part", range(4))
def test_fits(kind, part):
    for seed in range(FIRST + 15 * part, FIRST + 15 * (part + 1)):
        name, outcome = fits.attack(kind, seed)
        assert outcome.kind != WRONG, f"{kind}:{seed} {name}: {outcome.reason}"


def test_files():
    seen = set()
    for seed in range(FIRST, FIRST + 150):
        name, outcome = files.attack("files", seed)
        assert outcome.kind != WRONG, f"{name}: {outcome.reason}"
        seen.add(outcome.kind)
    assert seen == {FINE, CLEAR}


@pytest.mark.parametrize(
    ("attack", "n"),
    [
        (labelling.attack_journal, 60),
        (labelling.attack_request, 60),
        (blocks.attack_checkpoint, 20),
        (blocks.attack_data, 15),
        (tables.attack, 40),
        (answers.attack, 40),
        (batches.attack, 60),
    ],
    ids=["journals", "requests", "checkpoints", "data", "tables", "answers", "batches"],
)
def test_other_kinds(attack, n):
    for seed in range(FIRST, FIRST + n):
        name, outcome = attack("", seed)
        assert outcome.kind != WRONG, f"{seed} {name}: {outcome.reason}"


def test_sequences():
    for seed in range(FIRST, FIRST + 40):
        name, outcome = sequences.attack("sequences", seed)
        assert outcome.kind != WRONG, f"{seed} {name}: {outcome.reason}"


def test_a_copy_that_is_none_and_a_refusal_that_changes_something_are_seen(monkeypatch):
    """The negative control."""

    def other(life):
        return clone(life.clf).set_params(kernel="linear", engine="ep").fit(*PAIR)

    def refused(life, *data):
        life.clf = other(life)
        raise ValueError("This step is refused, after all.")

    for step, words in (
        (refused, "was refused (ValueError: This step is refused, after all.), and changed"),
        (lambda life, *data: life.replace(other(life)), "a copy predicts something else"),
    ):
        monkeypatch.setattr(sequences, "STEPS", ["pickle"])
        monkeypatch.setattr(sequences.Life, "pickle", step)
        found = {sequences.attack("sequences", seed)[1].reason for seed in range(10)}
        assert any(words in reason for reason in found)


def test_what_is_wrong_is_seen():
    """The negative control."""
    assert judged(lambda: "").kind == FINE
    assert judged(lambda: "it is wrong").kind == WRONG
    assert judged(lambda: str(np.linalg.cholesky(-np.eye(2)))).reason.startswith("unhelpful")
    assert judged(lambda: str([][1])).kind == WRONG
    assert judged(lambda: str(np.zeros(0).max())).reason.startswith("unhelpful ValueError")
    raw = partial(warnings.warn, "overflow", RuntimeWarning, stacklevel=1)
    assert judged(lambda: raw() or "").reason.startswith("raw RuntimeWarning")
    with np.errstate():  # the state is restored
        assert judged(lambda: np.seterr(all="ignore") and "").kind == WRONG

    def forever():
        while True:
            pass

    assert judged(forever, seconds=1).reason == "more than 1 s"

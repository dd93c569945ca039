"""--group-column of train, evaluate and cross-validate."""

import numpy as np
import pandas as pd
import pytest
from tests.helpers.noisy_copies import noisy_copies
from tests.helpers.running import ask_json, error_line, invoke, succeed, write

import bayespoint

FAST = ["--engine", "laplace", "--kernel", "linear"]
OPTIONS = ["--target", "ill", "--group-column", "patient"]


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """A table of 80 patients, each of whom came three times."""
    X, y, groups = noisy_copies(80, 3)
    table = pd.DataFrame(X, columns=list("abc")).assign(
        patient=[f"p{group}" for group in groups], ill=np.where(y, "yes", "no")
    )
    return write(table, tmp_path_factory.mktemp("visits") / "visits.csv")


def test_train_leaves_patients_out(visits, tmp_path):
    model = tmp_path / "m.bpm"
    found = ask_json("train", visits, *OPTIONS, *FAST, "--model", model)
    plain = ask_json(
        "train",
        visits,
        "--target",
        "ill",
        "--drop",
        "patient",
        *FAST,
        "--model",
        tmp_path / "plain.bpm",
    )
    assert found["groups"] == 80 and plain["groups"] is None
    assert found["columns"]["numbers"] == list("abc")
    assert found["expected"]["log_loss"]["value"] > plain["expected"]["log_loss"]["value"]
    assert "leave-one-group-out (80 groups)" in succeed("info", model).output
    report = tmp_path / "page.html"
    told = ask_json(
        "evaluate", visits, "--model", model, "--group-column", "patient", "--report", report
    )
    assert told["n"] == 80
    assert "80 of 240 rows are measured, one of each group" in told["notes"]
    assert "leave-one-group-out (80 groups)" in report.read_text()


def test_a_guarantee_counts_patients(visits, tmp_path):
    model = tmp_path / "m.bpm"
    options = [*OPTIONS, *FAST, "--model", model, "--max-error", 0.45, "--hold-out", 0.5]
    found = ask_json("train", visits, *options)
    assert found["guarantee"]["n_points"] == 40
    assert bayespoint.load(model).estimator_[-1].model_.fact("n_groups") == 40


def test_folds_do_not_share_patients(visits):
    found = ask_json("cross-validate", visits, *OPTIONS, *FAST, "--folds", 4, "--repeats", 2)
    plain = ask_json(
        "cross-validate",
        visits,
        "--target",
        "ill",
        "--drop",
        "patient",
        *FAST,
        "--folds",
        4,
        "--repeats",
        2,
    )
    losses = [one["measures"]["log_loss"]["mean"] for one in (found, plain)]
    assert len(found["measures"]["log_loss"]["values"]) == 8
    assert losses[0] > losses[1]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("doctor", "there is no column 'doctor'"),
        ("ill", "name the same column"),
        ("empty", "is empty in 5 rows"),
        ("same", "has a single value"),
    ],
)
def test_errors_in_words(visits, tmp_path, column, words):
    table = pd.read_csv(visits).assign(same=1, empty=lambda t: t["patient"].where(t.index >= 5))
    data = write(table, tmp_path / "t.csv")
    options = ["--target", "ill", "--group-column", column, "--model", tmp_path / "m.bpm"]
    assert words in error_line(invoke("train", data, *options))


def test_too_few_patients_of_a_class(visits, tmp_path):
    data = write(pd.read_csv(visits).iloc[:12], tmp_path / "few.csv")
    told = error_line(invoke("cross-validate", data, *OPTIONS, "--folds", 12))
    assert "fewer than --folds 12" in told and "groups" in told


def test_out_of_core_has_no_groups(visits, tmp_path):
    options = [*OPTIONS, "--model", tmp_path / "m.bpm", "--out-of-core"]
    assert "needs a table that fits in memory" in error_line(invoke("train", visits, *options))

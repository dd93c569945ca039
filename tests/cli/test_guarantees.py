"""A guaranteed error on the accepted rows: train --max-error, predict, info, evaluate."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.helpers.running import ask_json, error_line, invoke, loans, succeed, write

import bayespoint
from bayespoint.cli import ExitCode
from bayespoint.reject import SelectiveClassifier
from bayespoint.reject.calibration import hold_out

FAST = ["--engine", "laplace", "--kernel", "linear"]
RISK = ["--max-error", 0.1, "--confidence", 0.9]


@pytest.fixture(scope="module")
def promised(tmp_path_factory):
    """A folder with loans.csv, new.csv, the model loans.bpm, and plain.bpm without a guarantee."""
    folder = tmp_path_factory.mktemp("promised")
    data = write(loans(400), folder / "loans.csv")
    write(loans(200, seed=1), folder / "new.csv")
    options = ["--target", "repaid", *FAST]
    succeed("train", data, *options, "--model", folder / "loans.bpm", *RISK)
    succeed("train", data, *options, "--model", folder / "plain.bpm")
    return folder


def predict(folder, out, *options, model="loans.bpm"):
    files = [folder / "new.csv", "--model", folder / model, "--out", out]
    return ask_json("predict", *files, *options, "--force"), pd.read_csv(out)


def sure(answers):
    return answers[["p_no", "p_yes"]].max(axis=1)


def test_train_holds_out_a_part_and_keeps_the_threshold(tmp_path):
    data, model = write(loans(400), tmp_path / "data.csv"), tmp_path / "m.bpm"
    options = ["--target", "repaid", "--model", model, *FAST, "--seed", 3]
    found = ask_json("train", data, *options, *RISK, "--hold-out", 0.25)
    assert found["rows"] == sum(found["classes"].values()) == 300
    assert "100 of 400 rows are held out, to set the threshold" in found["notes"]
    guarantee = found["guarantee"]
    assert (guarantee["risk"], guarantee["confidence_level"]) == (0.1, 0.9)
    assert guarantee["n_points"] == 100
    assert guarantee["bound"] <= 0.1
    kept = bayespoint.load(model)
    assert isinstance(kept, SelectiveClassifier)
    assert kept.guarantee_.to_dict() == guarantee
    assert (kept.confidence, kept.random_state) == ("proba", 3)
    # The counts by hand, on the rows that were held out.
    table = loans(400)
    X = table.astype({"member": float, "city": object})
    train, held = hold_out(table["repaid"].to_numpy().astype(str), 0.25, 3)
    accepted = kept.predict_proba(X.iloc[held]).max(axis=1) >= kept.threshold_
    wrong = kept.estimator_.predict(X.iloc[held]) != table["repaid"].iloc[held]
    assert (accepted.sum(), (wrong & accepted).sum()) == (
        guarantee["n_accepted"],
        guarantee["n_errors"],
    )
    assert found["training_error"] == np.mean(
        kept.estimator_.predict(X.iloc[train]) != table["repaid"].iloc[train]
    )


def test_summary_for_people(tmp_path):
    data, model = write(loans(400), tmp_path / "data.csv"), tmp_path / "m.bpm"
    options = ["--target", "repaid", "--model", model, *FAST]
    shown = " ".join(succeed("train", data, *options, "--max-error", 0.2).stdout.split())
    assert "guarantee error on the accepted rows at most 20 % with confidence 95 %" in shown
    assert "of 120 calibration rows accepted" in shown


def test_predict_uses_the_threshold_of_the_model(promised, tmp_path):
    found, answers = predict(promised, tmp_path / "a.csv")
    threshold = bayespoint.load(promised / "loans.bpm").threshold_
    assert (answers["rejected"] == (sure(answers) < threshold)).all()
    assert 0 < found["rejected"] == answers["rejected"].sum() < 200
    assert found["guarantee"]["risk"] == 0.1
    assert set(answers["label"]) == {"no", "yes"}  # rejected rows keep their prediction
    plain, answers = predict(promised, tmp_path / "a.csv", model="plain.bpm")
    assert plain["guarantee"] is None
    assert "rejected" not in answers


@pytest.mark.parametrize("option", [["--reject-rate", 0.1], ["--reject-below", 0.9]])
def test_another_rule_has_no_guarantee(promised, tmp_path, option):
    found, _ = predict(promised, tmp_path / "a.csv", *option)
    assert found["guarantee"] is None
    assert f"the error that the model guarantees does not hold with {option[0]}" in found["notes"]


def test_predict_calibrates_on_a_table(promised, tmp_path):
    labelled = write(loans(300, seed=2), tmp_path / "labelled.csv")
    options = ["--calibrate", labelled, "--max-error", 0.15]
    found, answers = predict(promised, tmp_path / "a.csv", *options, model="plain.bpm")
    model = bayespoint.load(promised / "plain.bpm")
    table = loans(300, seed=2)
    X = table.astype({"member": float, "city": object})
    expected = SelectiveClassifier(model, risk=0.15, confidence="proba", cv="prefit")
    expected.fit(X, table["repaid"].to_numpy())
    assert found["guarantee"] == expected.guarantee_.to_dict()
    assert found["guarantee"]["confidence_level"] == 0.95
    assert (answers["rejected"] == (sure(answers) < expected.threshold_)).all()
    assert any(note.startswith("labelled.csv sets the threshold") for note in found["notes"])
    # The error and the confidence of the model are the default.
    found, _ = predict(promised, tmp_path / "a.csv", "--calibrate", labelled)
    assert found["guarantee"]["risk"] == 0.1
    assert found["guarantee"]["confidence_level"] == 0.9
    assert found["guarantee"]["n_points"] == 300


def test_info_and_evaluate_show_the_guarantee(promised, tmp_path):
    told = ask_json("info", promised / "loans.bpm")
    assert told["guarantee"]["risk"] == 0.1
    assert ask_json("info", promised / "plain.bpm")["guarantee"] is None
    words = "error on the accepted rows at most 10 % with confidence 90 %"
    assert words in " ".join(succeed("info", promised / "loans.bpm").stdout.split())
    report = tmp_path / "page.html"
    files = [promised / "new.csv", "--model", promised / "loans.bpm", "--report", report]
    shown = " ".join(succeed("evaluate", *files).stdout.split())
    assert words in shown
    assert "by the threshold of the model" in shown
    page = report.read_text(encoding="utf-8")
    assert "Error on the accepted rows at most 10 % with confidence 90 %" in page
    assert "Observed here" in page
    measured = ask_json("evaluate", *files[:-2])["selective"]
    assert measured["guarantee"] == told["guarantee"]


def test_other_commands_take_the_model(promised, tmp_path):
    pool = write(loans(50, seed=3).drop(columns="repaid"), tmp_path / "pool.csv")
    asked = ask_json("query", pool, "--model", promised / "loans.bpm", "--n", 2)
    assert asked["warnings"] == []


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--confidence", "0.9"], 2, "--confidence needs --max-error"),
        (["--hold-out", "0.5"], 2, "--hold-out needs --max-error"),
        (["--max-error", "1"], 2, "--max-error must be a number between 0 and 1, not 1"),
        (["--max-error", "0.1", "--confidence", "95"], 2, "--confidence must be a number between"),
        (["--max-error", "0.1", "--hold-out", "0"], 2, "--hold-out must be a number between"),
    ],
)
def test_mistakes_of_train(tmp_path, options, code, message):
    data, model = write(loans(400), tmp_path / "data.csv"), tmp_path / "m.bpm"
    named = ["--target", "repaid", "--model", model, *FAST]
    result = invoke("train", data, *named, *options)
    assert result.exit_code == code
    assert message in error_line(result)
    assert not model.exists()


def test_a_guarantee_that_is_not_reached_keeps_the_model(tmp_path):
    data, model = write(loans(400), tmp_path / "data.csv"), tmp_path / "m.bpm"
    options = ["--target", "repaid", "--model", model, *FAST, "--max-error", "0.01", "--json"]
    result = invoke("train", data, *options)
    assert result.exit_code == ExitCode.NO_GUARANTEE
    assert "at least 299 calibration rows, and there are 120. With 30 %" in error_line(result)
    found = json.loads(result.stdout)
    assert (found["guarantee"], found["rows"]) == (None, 280)
    again = ask_json("predict", data, "--model", model, "--out", tmp_path / "a.csv")
    assert (again["rows"], again["rejected"]) == (400, None)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--max-error", "0.1"], 2, "--max-error needs --calibrate FILE"),
        (["--confidence", "0.9"], 2, "--confidence needs --max-error"),
        (["--reject-rate", "0.1", "--max-error", "0.1"], 2, "exclude each other"),
        (["--reject-below", "0.9", "--calibrate", "{folder}/loans.csv"], 2, "exclude each other"),
        (["--calibrate", "{folder}/new.csv", "--model", "{folder}/plain.bpm"], 2, "without it"),
        (["--calibrate", "{folder}/new.csv", "--max-error", "0.001"], 5, "at least 2995"),
        (["--calibrate", "{folder}/gone.csv"], 3, "gone.csv: no such file"),
        (["--calibrate", "{folder}/loans.csv", "--out", "{folder}/loans.csv"], 2, "overwrite"),
    ],
)
def test_mistakes_of_predict(promised, tmp_path, options, code, message):
    files = [promised / "new.csv", "--model", promised / "loans.bpm", "--out", tmp_path / "a.csv"]
    result = invoke("predict", *files, *(option.format(folder=promised) for option in options))
    assert result.exit_code == code
    assert message in error_line(result)
    assert not (tmp_path / "a.csv").exists()


def test_further_training_would_break_the_promise(promised):
    files = [promised / "new.csv", "--target", "repaid", "--model", promised / "loans.bpm"]
    result = invoke("train-incremental", *files)
    assert result.exit_code == 2
    assert "would not hold after further training" in error_line(result)

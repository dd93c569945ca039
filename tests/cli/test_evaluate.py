"""bayespoint evaluate."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
    roc_auc_score,
)
from tests.helpers.running import ask_json, error_line, invoke, loans, succeed, write

import bayespoint
from bayespoint.reports import METRICS, Measured, Metric
from bayespoint.tools import extras


def test_numbers_are_those_of_scikit_learn(trained):
    found = ask_json(
        "evaluate", trained / "new.csv", "--target", "repaid", "--model", trained / "loans.bpm"
    )
    table = loans(40, seed=1).astype({"member": float, "city": object})
    model, y = bayespoint.load(trained / "loans.bpm"), table["repaid"]
    p, predicted = model.predict_proba(table), model.predict(table)
    expected = {
        "accuracy": accuracy_score(y, predicted),
        "balanced_accuracy": balanced_accuracy_score(y, predicted),
        "log_loss": log_loss(y, p),
        "brier_score": brier_score_loss(y, p[:, 1], pos_label="yes"),
        "auc": roc_auc_score(y, p[:, 1]),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert found["confusion"] == confusion_matrix(y, predicted).tolist()
    assert found["n"] == 40
    low, high = found["intervals"]["accuracy"]
    assert low < found["accuracy"] < high
    assert found["rejection"]["error"][0] == pytest.approx(1 - found["accuracy"])


def test_several_classes(tmp_path):
    table = loans(90)
    table["repaid"] = pd.cut(table["age"].fillna(45), [0, 40, 50, 100], labels=[1, 2, 3])
    data, model = write(table, tmp_path / "data.csv"), tmp_path / "m.bpm"
    options = ["--target", "repaid", "--model", model]
    succeed("train", data, *options, "--engine", "laplace")
    table["repaid"] = table["repaid"].astype(float)  # 1.0 in the file is the class 1
    found = ask_json("evaluate", write(table, data), *options)
    X = table.astype({"member": float, "city": object})
    p = bayespoint.load(model).predict_proba(X)
    expected = roc_auc_score(table["repaid"], p, multi_class="ovr")
    assert found["auc"] == pytest.approx(expected)
    assert found["classes"] == [1, 2, 3]


def test_tables_and_page(trained, tmp_path):
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    result = succeed(
        "evaluate", trained / "new.csv", "--model", trained / "loans.bpm", "--report", page
    )
    for words in ("accuracy", "95 % interval", "AUC", "rejected", "true class", str(page)):
        assert words in result.stdout
    assert page.read_text(encoding="utf-8").startswith("<!")
    assert list(tmp_path.iterdir()) == [page]


def test_a_metric_is_declared_once(trained, tmp_path, monkeypatch):
    """One entry of METRICS, and page, terminal and JSON have it."""
    zeros = Metric("share of zeros", "Of the answers.", lambda answers: Measured(0.125, (0.0, 0.5)))
    monkeypatch.setitem(METRICS, "zeros", zeros)
    data, page = trained / "new.csv", tmp_path / "page.html"
    files = ["evaluate", data, "--target", "repaid", "--model", trained / "loans.bpm"]
    shown = " ".join(succeed(*files, "--report", page).stdout.split())
    assert "share of zeros 0.125 0.000 to 0.500 0.125" in shown
    cells = '<th scope="row">Share of zeros</th><td>0.125</td><td>0.125</td><td>0.000–0.500</td>'
    assert cells in page.read_text(encoding="utf-8")
    assert ask_json(*files)["intervals"]["zeros"] == [0.0, 0.5]
    folds = ["cross-validate", data, "--target", "repaid", "--engine", "laplace", "--folds", 2]
    assert ask_json(*folds)["measures"]["zeros"]["values"] == [0.125, 0.125]
    assert "share of zeros" in succeed(*folds).stdout


def test_rows_that_are_images_are_shown_as_images(tmp_path):
    """The column of the classes is no pixel."""
    pytest.importorskip("matplotlib")
    table = load_digits(as_frame=True).frame.query("target < 2")
    data, model, page = write(table, tmp_path / "d.csv"), tmp_path / "m.bpm", tmp_path / "p.html"
    options = ["--target", "target", "--model", model]
    succeed("train", data, *options, "--engine", "laplace")
    succeed("evaluate", data, *options, "--report", page)
    assert page.read_text(encoding="utf-8").count("data:image/png") >= 5


def test_rows_without_a_class_are_left_out(trained, tmp_path):
    table = loans(40, seed=1)
    table.loc[:9, "repaid"] = None
    data = write(table.rename(columns={"repaid": "truth"}), tmp_path / "new.csv")
    found = ask_json("evaluate", data, "--target", "truth", "--model", trained / "loans.bpm")
    assert found["n"] == 30
    assert "10 rows without a value in 'truth' left out" in found["notes"]


def test_row_numbers_are_those_of_the_file(trained, tmp_path):
    """Rows without a class are left out, and the others keep their numbers, from 1."""
    pytest.importorskip("matplotlib")
    table = loans(40, seed=1)
    table.loc[:9, "repaid"] = None
    data, page = write(table, tmp_path / "new.csv"), tmp_path / "page.html"
    succeed("evaluate", data, "--model", trained / "loans.bpm", "--report", page)
    content = page.read_text(encoding="utf-8")
    shown = re.findall(r'<th scope="row">(\d+)</th>(?:<td>[^<]*</td>){3}<td>(c1-\d+)</td>', content)
    assert len(shown) >= 12
    for row, customer in shown:  # customer c1-0 is in row 1
        assert int(row) == int(customer.removeprefix("c1-")) + 1
        assert int(row) > 10
    assert "row 1 is the first" in content


def test_page_tells_what_was_done_and_what_has_changed(trained, tmp_path):
    pytest.importorskip("matplotlib")
    table = loans(80, seed=1)
    table["age"] += 30
    data, page = write(table, tmp_path / "new.csv"), tmp_path / "page.html"
    files = ["evaluate", data, "--model", trained / "loans.bpm"]
    found = ask_json(*files, "--report", page)
    content = page.read_text(encoding="utf-8")
    assert "Different from the training data: age." in content
    assert "column &#x27;joined&#x27; is left out" in content
    assert ">weight for " in content
    assert found["shifts"][0]["column"] == "age"
    assert [one["is_shifted"] for one in found["shifts"]] == [True, False, False]
    assert any("differ from the training" in note for note in found["notes"])
    same = ask_json("evaluate", trained / "new.csv", "--model", trained / "loans.bpm")
    assert not any(one["is_shifted"] for one in same["shifts"])


def test_costs(trained):
    files = ["evaluate", trained / "new.csv", "--model", trained / "loans.bpm"]
    found = ask_json(*files, "--cost", "yes:no=10", "--cost", "no:no=-1")
    assert found["costs"]["matrix"] == [[-1, 1], [10, 0]]
    confusion = np.array(found["confusion"])
    mean = (confusion * [[-1, 1], [10, 0]]).sum() / 40
    assert found["costs"]["expected"][0]["cost"] == pytest.approx(mean)
    shown = succeed(*files, "--cost", "yes:no=10").stdout
    assert "of least expected cost" in shown
    assert "yes predicted as no: 10" in shown
    assert "mean cost" not in succeed(*files).stdout
    for wrong in ("yes:no", "yes=3", "yes:maybe=3", "yes:no=much", "yes:no=inf"):
        result = invoke(*files, "--cost", wrong)
        assert result.exit_code == 2
        assert "--cost" in error_line(result)


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"repaid": "maybe"}, 3, "column 'repaid' has 'maybe', which the model does not know"),
        ({"repaid": None}, 3, "column 'repaid' (--target) has no values"),
        ({"age": np.inf}, 3, "column 'age' has infinite values"),
    ],
)
def test_broken_tables(trained, tmp_path, change, code, message):
    data = write(loans().assign(**change), tmp_path / "new.csv")
    result = invoke("evaluate", data, "--model", trained / "loans.bpm")
    assert result.exit_code == code
    assert message in error_line(result)


def test_mistakes(trained, tmp_path, monkeypatch):
    files = ["evaluate", trained / "new.csv", "--model", trained / "loans.bpm"]
    result = invoke(*files, "--target", "repayed")
    assert result.exit_code == 2
    assert "Did you mean repaid?" in error_line(result)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    result = invoke(*files, "--report", tmp_path / "page.html")
    assert result.exit_code == 4
    assert 'pip install "bayespoint[plot]"' in error_line(result)

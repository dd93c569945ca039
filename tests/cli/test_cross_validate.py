"""bayespoint cross-validate."""

import numpy as np
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from tests.helpers.running import ask_json, error_line, invoke, loans, succeed, write

import bayespoint


def test_folds_are_those_of_scikit_learn(trained):
    options = ["--target", "repaid", "--kernel", "linear", "--folds", 3, "--seed", 4]
    found = ask_json("cross-validate", trained / "loans.csv", *options, "--engine", "laplace")
    table = loans().astype({"member": float, "city": object})
    accuracies = found["measures"]["accuracy"]["values"]
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=4)
    model = bayespoint.load(trained / "loans.bpm")
    scores = cross_val_score(model, table[model.feature_names_in_], table["repaid"], cv=folds)
    assert accuracies == pytest.approx(scores)
    error = np.std(accuracies, ddof=1) / np.sqrt(3)
    assert found["measures"]["accuracy"]["standard_error"] == pytest.approx(error)
    assert found["measures"]["log_loss"]["mean"] > 0


def test_table_of_folds(trained):
    options = ["--target", "repaid", "--kernel", "linear", "--folds", 2, "--repeats", 2]
    result = succeed("cross-validate", trained / "loans.csv", *options)
    for words in ("± standard error", "log-loss", "2, 2 times", "time"):
        assert words in result.stdout


def test_too_few_rows_for_the_folds(tmp_path):
    table = loans()
    table.loc[:2, "repaid"] = "perhaps"
    data = write(table, tmp_path / "data.csv")
    result = invoke("cross-validate", data, "--target", "repaid")
    assert result.exit_code == 3
    assert "class 'perhaps' has 3 rows, fewer than --folds 5" in error_line(result)

"""--ordinal: ordered classes on the command line."""

import numpy as np
import pandas as pd
from tests.helpers.running import ask_json, error_line, invoke, write

from bayespoint.storage import load

FAST = ["--engine", "laplace", "--kernel", "linear"]
NAMES = np.array(["low", "middle", "high"])


def ratings(labels, n=90):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    rank = np.digitize(x + 0.3 * rng.normal(size=n), [-0.5, 0.5])
    return pd.DataFrame({"x": x, "z": rng.normal(size=n), "rating": labels[rank]})


def test_train_and_evaluate(tmp_path):
    data, model = write(ratings(NAMES), tmp_path / "data.csv"), tmp_path / "m.bpm"
    files = [data, "--target", "rating", "--model", model]
    ask_json("train", *files, *FAST, "--ordinal", "low, middle,high")
    assert load(model)[-1].coding_.setting == NAMES.tolist()
    found = ask_json("evaluate", data, "--model", model)
    assert 0 < found["mean_absolute_error"] < 0.5
    assert found["mean_absolute_error"] < found["baseline"]["mean_absolute_error"]


def test_numbers_and_cross_validation(tmp_path):
    data = write(ratings(np.array([3, 1, 2])), tmp_path / "data.csv")
    ordered = ["cross-validate", data, "--target", "rating", *FAST, "--folds", 3]
    found = ask_json(*ordered, "--ordinal", "3,1,2")["measures"]
    wrong = ask_json(*ordered, "--ordinal", "1,2,3")["measures"]
    assert found["mean_absolute_error"]["mean"] < 0.5
    assert found["log_loss"]["mean"] < wrong["log_loss"]["mean"] - 0.1
    assert "mean_absolute_error" not in ask_json(*ordered)["measures"]


def test_an_order_that_lacks_a_class_is_an_error(tmp_path):
    data = write(ratings(NAMES), tmp_path / "data.csv")
    options = ["--target", "rating", "--model", tmp_path / "m.bpm", *FAST]
    line = error_line(invoke("train", data, *options, "--ordinal", "low,high"))
    assert "middle" in line


def test_each_threshold_as_a_task(tmp_path):
    data, model = write(ratings(np.array([1, 2, 3])), tmp_path / "data.csv"), tmp_path / "m.bpm"
    files = [data, "--target", "rating", "--model", model]
    ask_json("train", *files, *FAST, "--param", "multi_class=cumulative")
    assert load(model)[-1].coding_.task_names == ["above 1", "above 2"]
    found = ask_json("evaluate", data, "--model", model)
    assert found["mean_absolute_error"] < found["baseline"]["mean_absolute_error"]

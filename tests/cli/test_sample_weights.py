"""bayespoint sample-weights."""

import numpy as np
import pandas as pd
import pytest
from tests.helpers.running import ask_json, error_line, invoke, loans, succeed, train

import bayespoint


def test_a_model_from_python(tmp_path):
    machine = bayespoint.BayesPointClassifier(kernel="linear").fit([[0.0], [1.0]], [0, 1])
    bayespoint.save(machine, tmp_path / "m.bpm")
    options = [tmp_path / "m.bpm", "--out", tmp_path / "w.csv", "--n", 2]
    assert ask_json("sample-weights", *options)["weights"] == ["x0", "intercept"]


def test_weights_have_names(trained, tmp_path):
    out = tmp_path / "w.csv"
    found = ask_json("sample-weights", trained / "loans.bpm", "--n", 7, "--out", out)
    cities = [f"city={name}" for name in ("Berlin", "Kiel", "Potsdam", "missing", "other")]
    names = ["age", *cities, "member"]
    assert found["weights"] == [*names, "intercept"]
    assert "positive weights speak for 'yes'" in found["notes"]
    table = pd.read_csv(out)
    assert list(table) == ["draw", *names, "intercept"]
    machine = bayespoint.load(trained / "loans.bpm")[-1]
    drawn = machine.draw_weights(7, random_state=0)[:, 0]
    np.testing.assert_allclose(table.iloc[:, 1:], drawn, rtol=1e-12)
    succeed("sample-weights", trained / "loans.bpm", "--n", 7,
            "--out", tmp_path / "w.npy")  # fmt: skip
    np.testing.assert_array_equal(np.load(tmp_path / "w.npy"), drawn)


def test_weights_of_several_classes(tmp_path):
    table = loans()
    table.loc[::3, "repaid"] = "partly"
    model = train(tmp_path, "--kernel", "linear", table=table)
    result = succeed("sample-weights", model, "--n", 2, "--out", "-")
    rows = [line.split(",")[:2] for line in result.stdout.splitlines()[1:]]
    assert rows == [[draw, label] for draw in "12" for label in ("no", "partly", "yes")]


def test_coordinates_of_other_kernels(tmp_path):
    model = train(tmp_path, "--engine", "laplace", "--kernel", "rbf")
    options = [model, "--n", 3, "--out", tmp_path / "w.csv"]
    found = ask_json("sample-weights", *options)
    assert found["weights"][:2] == ["w1", "w2"]
    assert any("coordinates in a basis" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--out", "w.txt"], 2, "must end in .csv, .csv.gz, .parquet or .npy"),
        (["--out", "-", "--json"], 2, "would both write to standard output"),
        (["--out", "{folder}/loans.csv"], 2, "loans.csv exists already; --force overwrites it"),
    ],
)
def test_mistakes(trained, options, code, message):
    given = [option.format(folder=trained) for option in options]
    result = invoke("sample-weights", trained / "loans.bpm", *given)
    assert result.exit_code == code
    assert message in error_line(result)

"""bayespoint train-incremental."""

import numpy as np
import pytest
from tests.helpers.running import ask_json, error_line, invoke, loans, succeed, write

import bayespoint
from bayespoint import BayesPointClassifier

FIRST = ["--engine", "laplace"]


def learn(folder, table, *options):
    data = write(table, folder / "batch.csv")
    return ["train-incremental", data, "--target", "repaid", "--model", folder / "m.bpm", *options]


@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_batches(tmp_path, engine):
    first = ask_json(*learn(tmp_path, loans(), "--engine", engine))
    assert (first["batches"], first["rows_of_all_batches"]) == (1, 60)
    assert any("of this first table apply to all further ones" in note for note in first["notes"])
    before = bayespoint.load(tmp_path / "m.bpm")
    second = ask_json(*learn(tmp_path, loans(30, seed=1)))
    assert (second["batches"], second["rows"], second["rows_of_all_batches"]) == (2, 30, 90)
    columns, scaling = before[-1].model_.table, before[-1].model_.scaling
    machine = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine)
    for table in (loans(), loans(30, seed=1)):
        rows = before[0].transform(table.astype({"member": float, "city": object}))
        points = scaling.transform(columns.transform(rows))
        machine.partial_fit(points, table["repaid"], classes=["no", "yes"])
    model = bayespoint.load(tmp_path / "m.bpm")
    coef, _ = scaling.weights(machine.coef_, machine.intercept_)
    np.testing.assert_allclose(model[-1].coef_, coef, rtol=1e-9)
    assert second["log_evidence"] == pytest.approx(machine.log_evidence_.tolist())
    assert model[-1].model_.table.feature_names == columns.feature_names


def test_for_people(tmp_path):
    result = succeed(*learn(tmp_path, loans(), *FIRST))
    assert "1, with 60 rows together" in result.stdout
    assert "Model written to" in result.stdout


def test_classes_named_before_they_are_seen(tmp_path):
    only = loans()[lambda table: table["repaid"] == "yes"]
    found = ask_json(*learn(tmp_path, only, *FIRST, "--classes", "no, yes"))
    assert found["classes"] == {"no": 0, "yes": len(only)}
    assert ask_json(*learn(tmp_path, loans(), "--classes", "yes,no"))["batches"] == 2


def test_goes_on_with_a_model_of_train(tmp_path):
    data = write(loans(), tmp_path / "data.csv")
    options = ["--target", "repaid", "--model", tmp_path / "m.bpm", *FIRST]
    succeed("train", data, *options)  # chooses a kernel
    result = invoke(*learn(tmp_path, loans(30, seed=1)))
    assert result.exit_code == 2
    assert "this needs --kernel linear" in error_line(result)
    succeed("train", data, *options, "--kernel", "linear", "--force")
    found = ask_json(*learn(tmp_path, loans(30, seed=1)))
    assert (found["batches"], found["rows_of_all_batches"]) == (2, 90)


def test_new_categories_are_told(tmp_path):
    succeed(*learn(tmp_path, loans(), *FIRST))
    notes = ask_json(*learn(tmp_path, loans().replace({"city": {"Kiel": "Rome"}})))["notes"]
    assert any("column 'city' has 'Rome', unknown to the model" in note for note in notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "gibbs"], "does not support batch learning; ep, factorised-ep, laplace do"),
        (["--engine", "epp"], "there is no engine 'epp'. Did you mean ep?"),
        (["--classes", "yes"], "--classes needs at least two names"),
        (["--classes", "yes,"], "--classes needs at least two names"),
    ],
)
def test_mistakes_in_the_first_call(tmp_path, options, message):
    result = invoke(*learn(tmp_path, loans(), *options))
    assert result.exit_code == 2
    assert message in error_line(result)
    assert not (tmp_path / "m.bpm").exists()


@pytest.mark.parametrize(
    ("table", "options", "code", "message"),
    [
        (loans(), ["--engine", "ep"], 2, "--engine can be given in the first call only"),
        (loans(), ["--classes", "a,b"], 2, "the classes of the model are no, yes"),
        (loans(), ["--target", "city"], 2, "the model predicts 'repaid', not 'city'"),
        (loans().assign(repaid="perhaps"), [], 3, "'perhaps', which the model does not know"),
        (loans().drop(columns="age"), [], 3, "does not have columns that the model needs: 'age'"),
        (loans().drop(columns="repaid"), [], 2, "there is no column 'repaid' (--target)"),
    ],
)
def test_mistakes_in_later_calls(tmp_path, table, options, code, message):
    succeed(*learn(tmp_path, loans(), *FIRST))
    before = (tmp_path / "m.bpm").read_bytes()
    result = invoke(*learn(tmp_path, table, *options))
    assert result.exit_code == code
    assert message in error_line(result)
    assert (tmp_path / "m.bpm").read_bytes() == before


def test_models_that_cannot_go_on(tmp_path):
    data = write(loans(), tmp_path / "data.csv")
    options = ["--target", "repaid", "--model", tmp_path / "m.bpm", *FIRST, "--kernel", "rbf"]
    succeed("train", data, *options)
    result = invoke(*learn(tmp_path, loans()))
    assert result.exit_code == 2
    assert "cannot learn from further tables" in error_line(result)


def test_unknown_class_in_the_first_table(tmp_path):
    result = invoke(*learn(tmp_path, loans(), "--classes", "no,maybe"))
    assert result.exit_code == 3
    assert "'yes', which the model does not know" in error_line(result)


@pytest.mark.parametrize("decay", ["0.999", "auto"])
def test_streams(tmp_path, decay):
    """Weights that forget, in a model file between two batches."""
    options = ["max_iter=1", f"decay={decay}"]
    options = [part for option in options for part in ("--param", option)]
    ask_json(*learn(tmp_path, loans(), "--engine", "factorised-ep", *options))
    second = ask_json(*learn(tmp_path, loans(30, seed=1)))
    assert second["rows_of_all_batches"] == 90
    posterior = bayespoint.load(tmp_path / "m.bpm")[-1].posterior_
    assert posterior.n_rows == 90
    assert len(posterior.records) == (6 if decay == "auto" else 1)
    assert "a single pass, as asked" in succeed("info", tmp_path / "m.bpm").stdout


def test_a_decay_that_is_none(tmp_path):
    options = ["--engine", "factorised-ep", "--param", "decay=2"]
    assert "'decay' parameter" in error_line(invoke(*learn(tmp_path, loans(), *options)))

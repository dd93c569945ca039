"""bayespoint train, and the options by which models are made."""

import gzip
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline
from tests.helpers.running import ask_json, error_line, invoke, loans, succeed, write
from typer.testing import CliRunner

import bayespoint
from bayespoint.cli.app import app
from bayespoint.cli.pipelines import parse

FAST = ["--engine", "laplace", "--kernel", "linear"]


def train(folder, table, *options):
    data = write(table, folder / "data.csv")
    return ask_json("train", data, "--target", "repaid", "--model", folder / "m.bpm", *options)


def test_summary_for_programs(tmp_path):
    table = loans()
    table.loc[9, "repaid"] = None
    found = train(tmp_path, table, "--kernel", "linear")
    assert found["model"] == str(tmp_path / "m.bpm")
    assert found["rows"] == 59
    assert found["columns"] == {"numbers": ["age", "member"], "categories": ["city"]}
    assert found["missing"] == {"age": 2, "city": 1}
    assert found["features"] == 2 + 5  # three cities, none, and others
    assert found["classes"] == table["repaid"].value_counts().sort_index().to_dict()
    assert found["engine"]["name"] == "ep"
    assert found["engine"]["noise"] == 1.0
    assert found["log_evidence"][0] < 0
    assert found["run"]["converged"]
    assert found["run"]["summary"].startswith("converged after")
    assert found["warnings"] == []
    notes = "\n".join(found["notes"])
    for words in (
        "1 row without a value in 'repaid' left out",
        "'customer' is left out: every value is a different text",
        "'joined' is left out: it has dates",
        "'country' is left out: it is always 'DE'",
        "2 in 'age'; filled in with the mean",
        "1 in 'city'; they become a category",
    ):
        assert words in notes


def test_rare_classes_and_the_baseline(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    table = pd.DataFrame({"x": x, "y": np.where(x + rng.normal(size=400) > 2.2, "rare", "usual")})
    data, model = write(table, tmp_path / "data.csv"), tmp_path / "m.bpm"
    files = ["train", data, "--target", "y", "--model", model, *FAST]
    found, share = ask_json(*files), (table["y"] == "rare").mean()
    assert found["baseline"] == {"class": "usual", "error": pytest.approx(share)}
    (note,) = [note for note in found["notes"] if "class_weight" in note]
    assert "'rare'" in note
    assert "baseline error" in succeed(*files, "--force").stdout
    weighted = ask_json(*files, "--force", "--param", "class_weight=balanced")
    assert weighted["training_recall"]["rare"] > found["training_recall"]["rare"] + 0.2
    assert not any("class_weight" in note for note in weighted["notes"])
    even = ask_json(
        "train", write(loans(), data), "--target", "repaid", "--model", model, *FAST, "--force"
    )
    assert not any("class_weight" in note for note in even["notes"])


def test_standard_input(tmp_path):
    model, data = tmp_path / "m.bpm", loans().to_csv(index=False).encode()
    for number, content in enumerate((data, gzip.compress(data))):
        arguments = ["train", "-", "--target", "repaid", "--model", f"{model}{number}", *FAST]
        result = CliRunner().invoke(app, [str(one) for one in arguments], input=content)
        assert result.exit_code == 0, result.output
    assert "60" in result.stdout
    arguments = ["predict", "-", "--model", f"{model}0", "--out", "-"]
    result = CliRunner().invoke(app, arguments, input=b"")
    assert result.exit_code == 3
    assert "cannot read standard input: it is empty" in result.stderr


def test_summary_for_people(tmp_path):
    data, model = write(loans(), tmp_path / "data.csv"), tmp_path / "m.bpm"
    result = succeed("train", data, "--target", "repaid", "--model", model, *FAST)
    for words in ("rows", "60", "laplace", "log p", "converged after", "expected log-loss"):
        assert words in result.stdout
    assert f"Model written to {model}." in result.stdout
    assert "note: column 'joined'" in result.stderr
    assert "note" not in result.stdout


def test_the_kernel_is_chosen_unless_it_is_named(tmp_path):
    found = train(tmp_path, loans(), "--engine", "laplace")
    machine = bayespoint.load(tmp_path / "m.bpm")[-1]
    assert found["kernel"] == "auto"
    assert found["choice"] == list(machine.run_.choice)
    assert found["expected"]["log_loss"]["value"] == machine.expected_scores_["log_loss"].value
    again = ["--target", "repaid", "--model", tmp_path / "m.bpm", "--force", "--engine", "laplace"]
    for command in (["train", tmp_path / "data.csv", *again], ["info", again[3]]):
        told = " ".join(succeed(*command).stdout.split())
        assert "expected error" in told
        for line in found["choice"]:
            assert (" ".join(line.split()) in told) != line.startswith("  0%")
    assert any(line.startswith("  0%") for line in found["choice"])


def test_model_is_an_ordinary_pipeline(tmp_path):
    table = loans()
    found = train(tmp_path, table, *FAST, "--param", "prior_scale=0.5")
    model = bayespoint.load(tmp_path / "m.bpm")
    assert isinstance(model, Pipeline)
    assert model[-1].engine.prior_scale == 0.5
    X = table[["age", "member", "city"]].astype({"member": float, "city": object})
    assert np.mean(model.predict(X) != table["repaid"]) == found["training_error"]
    scaling = model[-1].model_.scaling
    np.testing.assert_allclose(scaling.mean[0], X["age"].mean())
    np.testing.assert_allclose(scaling.scale[0], X["age"].fillna(X["age"].mean()).std(ddof=0))


def test_the_likelihood_is_a_parameter_of_the_engine(tmp_path):
    options = ["--kernel", "linear", "--param", "likelihood=student"]
    found = train(tmp_path, loans(), *options)
    assert found["engine"]["likelihood"] == "student"
    model = bayespoint.load(tmp_path / "m.bpm")
    assert type(model[-1].model_.posterior.likelihood).__name__ == "StudentLikelihood"


def test_same_seed_same_model(tmp_path):
    options = ["--engine", "gibbs", "--param", "n_samples=8", "--param", "burn_in=10", "--seed", 3]
    first = train(tmp_path, loans(), *options)
    weights = bayespoint.load(tmp_path / "m.bpm")[-1].coef_
    again = train(tmp_path, loans(), *options, "--jobs", 2, "--force")
    np.testing.assert_array_equal(bayespoint.load(tmp_path / "m.bpm")[-1].coef_, weights)
    assert first["run"]["measures"] == again["run"]["measures"]


def test_warnings_in_words(tmp_path):
    data = write(loans(), tmp_path / "data.csv")
    options = ["--target", "repaid", "--model", tmp_path / "m.bpm", "--kernel", "linear"]
    result = succeed("train", data, *options, "--param", "max_iter=2")
    assert "warning: Not converged: max_iter was reached" in result.stderr
    assert "not converged, max_iter was reached after 2 sweeps" in result.stdout
    assert "Warning" not in result.stderr


def test_a_model_is_overwritten_on_request_only(tmp_path):
    data, model = write(loans(), tmp_path / "data.csv"), tmp_path / "m.bpm"
    model.write_text("precious")
    options = ["--target", "repaid", "--model", model, *FAST]
    result = invoke("train", data, *options)
    assert result.exit_code == 2
    assert "--force overwrites it" in error_line(result)
    assert model.read_text() == "precious"
    succeed("train", data, *options, "--force")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["data.csv", "m.bpm"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
def test_a_full_device_is_noticed_before_training(tmp_path, monkeypatch):
    data = write(loans(), tmp_path / "data.csv")
    monkeypatch.setattr(bayespoint.BayesPointClassifier, "fit", None)
    result = invoke("train", data, "--target", "repaid", "--model", "/dev/full", *FAST)
    assert result.exit_code == 2
    assert "cannot write --model /dev/full: No space left on device" in error_line(result)


def test_several_classes_and_whole_numbers_as_labels(tmp_path):
    table = loans()
    table["repaid"] = np.arange(60) % 3 + 8.0
    table.loc[0, "repaid"] = np.nan
    assert train(tmp_path, table, *FAST)["classes"] == {"8": 19, "9": 20, "10": 20}
    assert bayespoint.load(tmp_path / "m.bpm").classes_.tolist() == [8, 9, 10]


def test_truth_values_as_labels_keep_their_names(tmp_path):
    table = loans()
    table["repaid"] = table["repaid"] == "yes"
    assert train(tmp_path, table, *FAST)["classes"].keys() == {"False", "True"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "lap"], "there is no engine 'lap'. Did you mean laplace? Choose from"),
        (["--kernel", "rfb"], "there is no kernel 'rfb'. Did you mean rbf?"),
        (["--param", "nois=1"], "ep has no parameter 'nois'. Did you mean noise? Choose from"),
        (["--param", "noise"], "--param needs NAME=VALUE, not 'noise'"),
        (["--param", "noise=-1"], "The 'noise' parameter of ExpectationPropagation must be"),
        (["--param", "likelihood=studnt"], "must be a str among {'probit', 'student'}"),
        (["--param", "engine__noise=x"], "a float in the range [0, inf). Got 'x' instead."),
        (
            ["--kernel", "poly", "--param", "degree=0"],
            "The 'degree' parameter of BayesPointClassifier must be",
        ),
        (["--param", "random_state=1"], "ep has no parameter 'random_state'"),
        (["--drop", "agee"], "there is no column 'agee' (--drop). Did you mean age?"),
        (["--drop", "repaid"], "--drop and --target name the same column, 'repaid'"),
        (["--model", "{folder}"], "it is a folder"),
        (["--model", "{folder}/data.csv", "--force"], "would overwrite an input file"),
        (["--model", "{folder}/gone/m.bpm"], "there is no folder"),
    ],
)
def test_mistakes_in_options(tmp_path, options, message):
    data = write(loans(), tmp_path / "data.csv")
    options = [option.format(folder=tmp_path) for option in options]
    result = invoke("train", data, "--target", "repaid", "--model", tmp_path / "m.bpm", *options)
    assert result.exit_code == 2
    assert message in error_line(result)
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == [data]


def test_a_run_that_fails(tmp_path):
    data = write(loans(), tmp_path / "data.csv")
    options = ["--target", "repaid", "--model", tmp_path / "m.bpm", "--engine", "billiard"]
    result = invoke("train", data, *options)
    assert result.exit_code == 1
    assert "Version space is empty" in error_line(result)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e-3", 1e-3),
        ("inf", np.inf),
        ("true", True),
        ("False", False),
        ("None", None),
        ("[1, 2]", [1, 2]),
        ("mean", "mean"),
        ('"1"', "1"),
    ],
)
def test_values_of_parameters(text, value):
    parsed = parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    table = loans().astype({"city": "category"})
    table["joined"] = pd.to_datetime(table["joined"])
    table.to_parquet(tmp_path / "data.parquet")
    options = ["--target", "repaid", "--model", tmp_path / "m.bpm", *FAST]
    found = ask_json("train", tmp_path / "data.parquet", *options)
    assert found["columns"] == {"numbers": ["age", "member"], "categories": ["city"]}
    assert "column 'joined' is left out: it has dates" in "\n".join(found["notes"])


@pytest.mark.parametrize(
    ("kernel", "param", "able"),
    [("rbf", "degree=2", "poly"), ("linear", "gamma=2", "auto or poly or rbf")],
)
def test_a_parameter_that_the_kernel_does_not_have(trained, tmp_path, kernel, param, able):
    options = ["--target", "repaid", "--model", tmp_path / "m.bpm", "--kernel", kernel]
    result = invoke("train", trained / "loans.csv", *options, "--param", param)
    assert result.exit_code == 2
    name = param.partition("=")[0]
    expected = f"--param {name} has no effect with --kernel {kernel}: it needs {able}"
    assert expected in error_line(result)

"""bayespoint predict."""

import io

import numpy as np
import pandas as pd
import pytest
from tests.helpers.running import ask_json, error_line, invoke, loans, succeed, write

import bayespoint
from bayespoint.classifier import inputs
from bayespoint.cli.commands import predict as module
from bayespoint.gpu import devices


def predict(folder, *options, out="answers.csv", data="new.csv", model="loans.bpm"):
    return invoke(
        "predict", folder / data, "--model", folder / model, "--out", folder / out, *options
    )


def test_answers(trained, tmp_path):
    out = tmp_path / "answers.csv"
    files = [trained / "new.csv", "--model", trained / "loans.bpm", "--out", out]
    found = ask_json("predict", *files, "--keep", "customer")
    answers = pd.read_csv(out)
    assert list(answers) == ["customer", "label", "p_no", "p_yes"]
    assert answers["customer"].tolist() == loans(40, seed=1)["customer"].tolist()
    model = bayespoint.load(trained / "loans.bpm")
    X = loans(40, seed=1).astype({"member": float, "city": object})[model.feature_names_in_]
    assert answers["label"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(answers[["p_no", "p_yes"]], model.predict_proba(X), rtol=1e-12)
    assert found["rows"] == 40
    assert found["labels"] == answers["label"].value_counts().sort_index().to_dict()
    assert found["rejected"] is None
    assert "columns that the model does not use: 'customer', 'joined', 'country'" in found["notes"]


def test_order_of_columns_and_other_types_do_not_matter(trained, tmp_path):
    table = loans(40, seed=1)
    table = table[table.columns[::-1]].drop(columns="repaid")
    table["member"] = table["member"].map({True: "True", False: "False"})
    table["age"] = table["age"].map(lambda age: "" if np.isnan(age) else f"{age}".replace(".", ","))
    table.to_csv(tmp_path / "other.csv", index=False, sep=";")
    succeed(
        "predict",
        trained / "new.csv",
        "--model",
        trained / "loans.bpm",
        "--out",
        tmp_path / "a.csv",
    )
    succeed(
        "predict",
        tmp_path / "other.csv",
        "--model",
        trained / "loans.bpm",
        "--out",
        tmp_path / "b.csv",
    )
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "a.csv"), pd.read_csv(tmp_path / "b.csv"))


@pytest.mark.parametrize(("rate", "n_rejected"), [(0, 0), (0.1, 4), (0.25, 10), (0.99, 39)])
def test_a_share_of_the_rows_is_rejected(trained, tmp_path, rate, n_rejected):
    out = tmp_path / "answers.csv"
    files = [trained / "new.csv", "--model", trained / "loans.bpm", "--out", out]
    found = ask_json("predict", *files, "--reject-rate", rate)
    assert found["rejected"] == n_rejected
    answers = pd.read_csv(out)
    sure = answers[["p_no", "p_yes"]].max(axis=1)
    assert answers["rejected"].sum() == n_rejected
    assert sure[answers["rejected"]].max() < sure[~answers["rejected"]].min() or not n_rejected


def test_rows_below_a_probability_are_rejected(trained, tmp_path):
    out = tmp_path / "answers.csv"
    files = [trained / "new.csv", "--model", trained / "loans.bpm", "--out", out]
    result = succeed("predict", *files, "--reject-below", 0.8)
    answers = pd.read_csv(out)
    rejected = answers[["p_no", "p_yes"]].max(axis=1) < 0.8
    assert (answers["rejected"] == rejected).all()
    assert f"{rejected.sum()} rows" in result.stdout


def test_standard_output_holds_nothing_but_the_table(trained):
    result = succeed("predict", trained / "new.csv", "--model", trained / "loans.bpm", "--out", "-")
    assert len(pd.read_csv(io.StringIO(result.stdout))) == 40
    assert "predicted" in result.stderr


@pytest.mark.parametrize("name", ["a.csv.gz", "a.parquet"])
def test_other_files(trained, tmp_path, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    files = [trained / "new.csv", "--model", trained / "loans.bpm"]
    succeed("predict", *files, "--out", tmp_path / name)
    succeed("predict", *files, "--out", tmp_path / "a.csv")
    read = pd.read_parquet if name.endswith("parquet") else pd.read_csv
    pd.testing.assert_frame_equal(
        read(tmp_path / name), pd.read_csv(tmp_path / "a.csv"), check_dtype=False
    )


def test_unknown_categories_and_missing_values_are_told(trained, tmp_path):
    table = loans(40, seed=1)
    table.loc[0, "city"] = "Paris"
    table["age"] = table["age"].astype(object)
    table.loc[1, "age"] = "old"
    data = write(table, tmp_path / "new.csv")
    files = [data, "--model", trained / "loans.bpm", "--out", tmp_path / "a.csv"]
    notes = "\n".join(ask_json("predict", *files)["notes"])
    assert "column 'city' has 'Paris', unknown to the model: no category" in notes
    assert "column 'age' has 'old', not a number: treated as missing" in notes
    assert "missing values: 3 in 'age'" in notes


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--reject-rate", "1"], 2, "--reject-rate must be at least 0 and less than 1, not 1"),
        (["--reject-below", "nan"], 2, "--reject-below must be at least 0"),
        (["--reject-rate", "0.1", "--reject-below", "0.6"], 2, "exclude each other"),
        (["--out", "-", "--json"], 2, "would both write to standard output"),
        (["--out", "a.xlsx"], 2, "must end in .csv, .csv.gz or .parquet"),
        (["--out", "{folder}/new.csv"], 2, "would overwrite an input file"),
        (["--out", "{folder}/gone/a.csv"], 2, "there is no folder"),
        (["--keep", "custommer"], 2, "(--keep). Did you mean customer?"),
        (["--model", "{folder}/gone.bpm"], 3, "gone.bpm: no such file"),
        (["--model", "{folder}"], 3, "cannot read the model"),
        (["--model", "{folder}/new.csv"], 3, "it is not a bayespoint model file"),
        (["--model", "{folder}/bare.bpm"], 3, "was not written by bayespoint train"),
        (["--model", "{folder}/unfitted.bpm"], 3, "does not have a Bayes point machine"),
    ],
)
def test_mistakes(trained, options, code, message):
    machine = bayespoint.BayesPointClassifier(engine="laplace")
    bayespoint.save(machine, trained / "unfitted.bpm")
    bayespoint.save(machine.fit([[0.0], [1.0]], [0, 1]), trained / "bare.bpm")
    result = predict(trained, *(option.format(folder=trained) for option in options))
    assert result.exit_code == code
    assert message in error_line(result)
    assert result.stdout == ""
    assert not (trained / "answers.csv").exists()


def test_a_kept_column_must_not_hide_an_answer(trained, tmp_path):
    data = write(loans().assign(label=1), tmp_path / "new.csv")
    files = [data, "--model", trained / "loans.bpm", "--out", tmp_path / "a.csv"]
    result = invoke("predict", *files, "--keep", "label")
    assert result.exit_code == 2
    assert "--keep label: the answers have a column of this name" in error_line(result)


def test_values_missing_for_the_first_time(tmp_path):
    table = loans().fillna({"city": "Kiel"})
    data, model = write(table, tmp_path / "data.csv"), tmp_path / "m.bpm"
    succeed("train", data, "--target", "repaid", "--model", model, "--engine", "laplace")
    files = [write(loans(), data), "--model", model, "--out", tmp_path / "a.csv"]
    notes = ask_json("predict", *files)["notes"]
    assert "missing values: 2 in 'age'; filled in with the mean" in notes
    last = (
        "missing values: 1 in 'city'; none were missing in training, so they count as no category"
    )
    assert last in notes


def test_columns_that_are_not_there(trained, tmp_path):
    data = write(loans().rename(columns={"city": "cities", "age": "x"}), tmp_path / "new.csv")
    files = [data, "--model", trained / "loans.bpm", "--out", tmp_path / "a.csv"]
    result = invoke("predict", *files)
    assert result.exit_code == 3
    line = error_line(result)
    assert "does not have columns that the model needs: 'age', 'city'" in line


def test_interrupted_while_writing(trained, tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    out = write(loans(), tmp_path / "answers.csv")
    before = out.read_text()
    monkeypatch.setattr(pd.DataFrame, "to_csv", interrupt)
    files = [trained / "new.csv", "--model", trained / "loans.bpm", "--out", out]
    result = invoke("predict", *files, "--force")
    assert result.exit_code == 130
    assert error_line(result) == "error: interrupted"
    assert out.read_text() == before
    assert list(tmp_path.iterdir()) == [out]
    assert module.rejected(np.array([[0.5, 0.5], [0.5, 0.5]]), 0.5, None).tolist() == [False] * 2


def test_a_device(trained, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(devices, "STAND_IN", torch.device("cpu"))
    taken = []
    monkeypatch.setattr(inputs, "of_type", spied(inputs.of_type, taken))
    table, ep, gibbs = trained / "loans.csv", tmp_path / "ep.bpm", tmp_path / "gibbs.bpm"
    for engine, model in (("ep", ep), ("gibbs", gibbs)):
        succeed(
            "train",
            table,
            "--target",
            "repaid",
            "--model",
            model,
            "--engine",
            engine,
            "--kernel",
            "rbf",
        )
    answers = {}
    for device in (None, "cpu", "cuda", "auto"):
        options = ["--force"] if device is None else ["--force", "--device", device]
        assert predict(trained, *options, out=tmp_path / "a.csv", model=ep).exit_code == 0
        answers[device] = pd.read_csv(tmp_path / "a.csv")
        assert len(taken) == (0 if device in (None, "cpu") else 2), device
        taken.clear()
        pd.testing.assert_frame_equal(answers[device], answers[None], rtol=1e-6)
    found = predict(trained, "--force", "--device", "cuda", out=tmp_path / "a.csv", model=gibbs)
    assert "this kind of model predicts on the CPU" in found.stderr + found.stdout
    assert not taken


def spied(method, calls):
    def spy(*args, **kwargs):
        calls.append(args)
        return method(*args, **kwargs)

    return spy


@pytest.mark.parametrize("command", ["predict", "train"])
def test_a_device_that_cannot_be_used(trained, tmp_path, command, monkeypatch):
    monkeypatch.setattr(devices, "is_installed", lambda library: library != "torch")
    files = [trained / "new.csv", "--model", tmp_path / "new.bpm"]
    files += ["--out", tmp_path / "a.csv"] if command == "predict" else ["--target", "repaid"]
    for device, message in (
        ("gpu", "must be cpu, cuda, cuda:1 or auto, not 'gpu'"),
        ("cuda", "'cuda' cannot be used: torch is not installed"),
    ):
        result = invoke(command, *files, "--device", device)
        assert result.exit_code == 2 and "Traceback" not in result.output
        assert message in " ".join(result.stderr.replace("│", " ").split())
    assert not list(tmp_path.iterdir())


def test_only_force_overwrites(trained, tmp_path):
    out, report = tmp_path / "a.csv", tmp_path / "r.html"
    commands = {
        out: ["predict", trained / "new.csv", "--model", trained / "loans.bpm", "--out", out],
        report: [
            "evaluate",
            trained / "new.csv",
            "--model",
            trained / "loans.bpm",
            "--report",
            report,
        ],
    }
    for file, command in commands.items():
        file.write_text("mine")
        result = invoke(*command)
        assert result.exit_code == 2
        assert f"{file} exists already; --force overwrites it" in error_line(result)
        assert file.read_text() == "mine"
        succeed(*command, "--force")
        assert file.read_text(encoding="utf-8") != "mine"


def test_a_name_that_is_too_long_ends_the_command_at_once(trained):
    out = trained / ("n" * 300 + ".csv")
    result = invoke("predict", "gone.csv", "--model", trained / "loans.bpm", "--out", out)
    assert result.exit_code == 2
    assert "cannot write --out" in error_line(result)


def test_sets_of_labels(trained, tmp_path):
    out = tmp_path / "answers.csv"
    files = [trained / "new.csv", "--model", trained / "loans.bpm", "--out", out, "--force"]
    found = ask_json("predict", *files, "--coverage", "0.8")
    sets = pd.read_csv(out, keep_default_na=False)["set"]
    assert set(sets) <= {"", "no", "yes", "no|yes"}
    assert found["sets"]["method"] == "left_out"
    assert not found["sets"]["exact"]
    assert found["sets"]["mean_size"] == np.mean(
        [len(one.split("|")) * (one != "") for one in sets]
    )
    write(loans(60, seed=2), tmp_path / "held_out.csv")
    options = ["--coverage", "0.8", "--per-class", "--calibrate", tmp_path / "held_out.csv"]
    found = ask_json("predict", *files, *options)
    assert (found["sets"]["method"], found["sets"]["exact"]) == ("held_out", True)
    assert "at least 0.8: compared with the held-out" in succeed("predict", *files, *options).output
    assert "must be a number between 0 and 1" in error_line(
        invoke("predict", *files, "--coverage", "9")
    )
    assert "--per-class needs --coverage" in error_line(invoke("predict", *files, "--per-class"))
    few = error_line(invoke("predict", *files, "--coverage", "0.9999"))
    assert "needs at least 9999 rows" in few

"""bayespoint train on a table that is read in blocks."""

import numpy as np
import pandas as pd
import pytest
from tests.helpers.running import ask_json, error_line, invoke, loans, succeed

import bayespoint
from bayespoint.cli.tables import blocks, reading
from bayespoint.engines.gaussian.blocks.rounds import BlockRounds

LINEAR = ["--kernel", "linear", "--param", "multi_class=one_vs_rest", "--param", "tol=1e-9"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(reading, "BLOCK_ROWS", 40)


def customers(n=150):
    """A table with all that columns can have."""
    rng = np.random.default_rng(3)
    table = pd.concat([loans()] * 5, ignore_index=True).iloc[:n]
    table["age"] = table["age"] + rng.normal(size=n).round(2)
    table["city"] = np.where(np.arange(n) > 140, "Ulm", table["city"])  # a late category
    table["customer"] = [f"name {k}" for k in range(n)]
    table.loc[7, "repaid"] = None
    return table


def write(table, path):
    if path.suffix == ".parquet":
        table.to_parquet(path, row_group_size=40)
    else:
        table.to_csv(path, index=False)
    return path


def train(folder, name, data, *options):
    return ask_json("train", data, "--target", "repaid", "--model", folder / name, *options)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_model_of_a_fit_in_memory(tmp_path, kind):
    table = customers()
    data = write(table, tmp_path / f"data.{kind}")
    inside = train(tmp_path, "a.bpm", data, *LINEAR)
    outside = train(tmp_path, "b.bpm", data, *LINEAR, "--out-of-core")
    equal = ("rows", "columns", "missing", "features", "classes", "engine", "training_error")
    for name in (*equal, "training_recall", "baseline"):
        assert outside[name] == inside[name], name
    assert outside["log_evidence"] == pytest.approx(inside["log_evidence"], rel=1e-6)
    assert "is read in 4 blocks, out of core" in outside["notes"][0]
    left_out = {note for note in inside["notes"] if "left out" in note}
    assert left_out <= set(outside["notes"])
    for name in ("a", "b"):
        succeed(
            "predict", data, "--model", tmp_path / f"{name}.bpm", "--out", tmp_path / f"{name}.csv"
        )
    a, b = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("a", "b"))
    assert a["label"].equals(b["label"])
    numbers = a.select_dtypes("number").columns
    np.testing.assert_allclose(a[numbers], b[numbers], atol=1e-6)
    assert not list(tmp_path.glob(".bayespoint*")) + list(tmp_path.glob("*.checkpoint"))


def test_rare_categories_are_those_of_memory(tmp_path):
    rng = np.random.default_rng(0)
    codes = (rng.exponential(size=3000) * 40).astype(int)
    labels = (codes % 3 + rng.normal(size=3000) > 1).astype(int)
    words = [f"c{k}" for k in codes]
    table = pd.DataFrame({"code": words, "x": rng.normal(size=3000), "repaid": labels})
    data = write(table, tmp_path / "data.csv")
    inside = train(tmp_path, "a.bpm", data, *LINEAR)
    outside = train(tmp_path, "b.bpm", data, *LINEAR, "--out-of-core")
    assert inside["features"] == outside["features"] == 101
    models = [bayespoint.load(tmp_path / name)[-1].model_ for name in ("a.bpm", "b.bpm")]
    rows = table[["code", "x"]]
    one, two = (model.scaling.transform(model.table.transform(rows)) for model in models)
    np.testing.assert_allclose(one, two, atol=1e-12)


def test_the_size_of_the_file_decides(tmp_path, monkeypatch):
    data = write(customers(), tmp_path / "data.csv")
    monkeypatch.setattr(blocks, "SMALL", 100)
    monkeypatch.setattr(blocks, "available_memory", lambda: 10_000.0)
    found = train(tmp_path, "m.bpm", data)
    assert "out of core: it needs about" in found["notes"][0]
    assert found["kernel"] == "auto"
    monkeypatch.setattr(blocks, "available_memory", lambda: 1e9)
    found = train(tmp_path, "n.bpm", data, "--kernel", "linear")
    assert not any("out of core" in note for note in found["notes"])


@pytest.mark.parametrize("has_room", [True, False])
def test_rows_are_prepared_once_if_the_disk_has_room(tmp_path, monkeypatch, has_room):
    reads = []
    read = blocks.TableBlocks.read
    monkeypatch.setattr(
        blocks.TableBlocks, "read", lambda self, k: reads.append(k) or read(self, k)
    )
    monkeypatch.setattr(blocks, "SPARE", 0.9 if has_room else 0.0)
    data = write(customers(), tmp_path / "data.csv")
    found = train(tmp_path, "m.bpm", data, *LINEAR, "--out-of-core")
    assert (reads == [0, 1, 2, 3]) == has_room
    assert any("prepared in every round" in note for note in found["notes"]) != has_room


def test_resume_after_a_crash(tmp_path, monkeypatch):
    data = write(customers(), tmp_path / "data.csv")
    whole = train(tmp_path, "whole.bpm", data, *LINEAR, "--out-of-core")
    rounds = []
    once_more = BlockRounds.visit

    def crash(self, active):
        rounds.append(self.round)
        self.save(now=True)
        if len(rounds) == 4:
            raise KeyboardInterrupt
        once_more(self, active)

    monkeypatch.setattr(BlockRounds, "visit", crash)
    failed = ["train", data, "--target", "repaid", "--model", tmp_path / "m.bpm", *LINEAR]
    assert invoke(*failed, "--out-of-core").exit_code == 130
    assert (tmp_path / "m.bpm.checkpoint").exists()
    resumed = train(tmp_path, "m.bpm", data, *LINEAR, "--resume")
    assert rounds[4] == 3
    assert resumed["run"]["changes"] == whole["run"]["changes"]
    assert not (tmp_path / "m.bpm.checkpoint").exists()
    one, two = (bayespoint.load(tmp_path / name)[-1] for name in ("m.bpm", "whole.bpm"))
    assert np.array_equal(one.posterior_.mean, two.posterior_.mean)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "it is empty"),
        ("a,repaid\n", "has a header but no rows"),
        ("a,repaid\r1,no\r", "lines that end with carriage returns only"),
        ('a,repaid\n1,no\n2,"yes\n', "has a quotation mark that is never closed"),
        ("a,repaid\n1,no,5\n2,yes,5\n", "Block 0 has rows of more cells than the 2"),
        ("a,repaid\n1,p\n2,q\n3,r\n", "has a different value in every row"),
        (b"PK\x03\x04", "it is a zip archive"),
    ],
)
def test_broken_tables(tmp_path, content, words):
    data = tmp_path / "data.csv"
    data.write_bytes(content if isinstance(content, bytes) else content.encode())
    options = ["--target", "repaid", "--model", tmp_path / "m.bpm", "--out-of-core"]
    result = invoke("train", data, *options)
    assert result.exit_code == 3
    assert words in error_line(result)
    assert list(tmp_path.iterdir()) == [data]


def test_rows_are_numbered_as_in_the_file(tmp_path):
    table = customers()
    table.loc[123, "age"] = np.inf
    data = write(table, tmp_path / "data.csv")
    common = ["--target", "repaid", "--model", tmp_path / "m.bpm"]
    inside, outside = (invoke("train", data, *common, *more) for more in ([], ["--out-of-core"]))
    assert "first in row 124 below the header" in error_line(outside)
    assert error_line(outside) == error_line(inside)


def test_odd_headers_are_read_as_in_memory(tmp_path):
    """Lines before the header, line breaks in it, and a column without a name."""
    table = customers().sample(frac=1, random_state=0)  # whose index does not count the rows
    data = tmp_path / "data.csv"
    data.write_text("\n\n" + table.rename(columns={"age": "the\nage"}).to_csv())
    inside = train(tmp_path, "a.bpm", data, *LINEAR)
    outside = train(tmp_path, "b.bpm", data, *LINEAR, "--out-of-core")
    assert outside["columns"] == inside["columns"]
    assert "1 column without a name left out" in outside["notes"]
    answers = ["--model", tmp_path / "b.bpm", "--out", tmp_path / "answers.csv"]
    succeed("predict", data, *answers)


def test_what_cannot_be_done(tmp_path):
    data = write(customers(), tmp_path / "data.csv")
    common = ["--target", "repaid", "--model", tmp_path / "m.bpm", "--out-of-core"]
    packed = write(customers(), tmp_path / "data.csv.gz")
    for given, words in (
        ([data, *common, "--max-error", "0.1"], "--max-error needs a table that fits in memory"),
        ([packed, *common], "decompress it first"),
        ([tmp_path / "none.csv", *common], "no such file"),
        ([data, *common, "--target", "no such"], "there is no column 'no such'"),
        ([data, *common, "--kernel", "rbf"], "needs kernel='linear'"),
    ):
        result = invoke("train", *given)
        assert result.exit_code != 0
        assert words in error_line(result)


@pytest.mark.parametrize("has_room", [True, False])
def test_a_bad_value_outside_of_the_sample(tmp_path, monkeypatch, has_room):
    monkeypatch.setattr(blocks, "SAMPLE", 40)
    monkeypatch.setattr(blocks, "SPARE", 0.9 if has_room else 0.0)
    table = customers()
    table["customer"] = "always"  # nothing that a sample would judge otherwise
    table.loc[123, "age"] = np.inf
    data = write(table, tmp_path / "data.csv")
    result = invoke(
        "train", data, "--target", "repaid", "--model", tmp_path / "m.bpm", "--out-of-core"
    )
    assert result.exit_code == 3
    assert "column 'age' has infinite values (1, first in row 124 below" in error_line(result)


def test_a_sample_decides_on_columns(tmp_path, monkeypatch):
    data = write(customers(), tmp_path / "data.csv")
    monkeypatch.setattr(blocks, "SAMPLE", 60)
    found = train(tmp_path, "m.bpm", data, *LINEAR, "--out-of-core")
    assert any(note == "columns are judged by 75 of 149 rows" for note in found["notes"])
    assert found["rows"] == 149
    assert found["training_error"] < 0.2


@pytest.mark.parametrize("options", [[], ["--kernel", "linear"]])
def test_the_file_predicts_as_the_trained_classifier(tmp_path, options):
    """A classifier whose kernel is not named scales the features once more."""
    table = customers()
    table["age"] *= 1000
    data = write(table, tmp_path / "data.csv")
    found = train(tmp_path, "m.bpm", data, *options, "--out-of-core")
    measured = ask_json("evaluate", data, "--target", "repaid", "--model", tmp_path / "m.bpm")
    assert measured["accuracy"] == pytest.approx(1 - found["training_error"], abs=1e-12)

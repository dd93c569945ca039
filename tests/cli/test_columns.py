"""Columns as people mean them: identifiers, codes, and numbers in words."""

import numpy as np
import pandas as pd
import pytest
from tests.helpers.running import ask_json, error_line, invoke, loans, succeed, write

import bayespoint
from bayespoint.cli.tables.columns import CATEGORY, NUMBER, judge
from bayespoint.cli.tables.number_formats import as_numbers

RNG = np.random.default_rng(0)
FAST = ["--engine", "laplace", "--kernel", "linear"]


# Identifiers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("number", RNG.permutation(200) + 1000),
        ("half of them", RNG.permutation(400)[:200]),
        ("order", range(200)),
        ("customer_id", RNG.choice(10**9, 200, replace=False)),
        ("customerID", RNG.choice(10**9, 200, replace=False).astype(float)),
    ],
)
def test_identifiers_are_left_out(name, values):
    kind, remark = judge(pd.Series(values), name)
    assert kind == ""
    assert "an identifier; --number" in remark


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("grams", RNG.choice(np.arange(1000, 9000), 200, replace=False)),  # differ by chance
        ("age", RNG.integers(20, 80, 200)),
        ("few", RNG.permutation(10)),
        ("size", RNG.permutation(200) + 0.5),
        ("paid", RNG.permutation(200) // 2),
    ],
)
def test_quantities_are_no_identifiers(name, values):
    assert judge(pd.Series(values), name) == (NUMBER, "")


def test_large_different_numbers_are_pointed_out():
    kind, remark = judge(pd.Series(RNG.choice(10**9, 200, replace=False)), "ssn")
    assert kind == NUMBER
    assert "--drop it if it is an identifier" in remark


# Codes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["zip", "ZIP Code", "zipcode", "postal_code", "postCode", "PLZ"])
def test_postal_codes_are_categories(name):
    kind, remark = judge(pd.Series([10115, 24103, 90210] * 20), name)
    assert kind == CATEGORY
    assert "postal codes" in remark


def test_zeros_in_front_make_codes():
    assert judge(pd.Series(["01067", "10115"] * 20), "place")[0] == CATEGORY
    assert judge(pd.Series(["10117", "10115"] * 20), "place")[0] == NUMBER


def test_codes_keep_their_zeros_when_rows_are_new(tmp_path):
    table = loans(80).assign(place=["01067", "10115"] * 40)
    model = tmp_path / "m.bpm"
    data = write(table, tmp_path / "data.csv")
    found = ask_json("train", data, "--target", "repaid", "--model", model, *FAST)
    assert "place" in found["columns"]["categories"]
    write(table[table["place"] == "10115"], tmp_path / "new.csv")  # no zero shows what it is
    new = ask_json("predict", tmp_path / "new.csv", "--model", model, "--out", tmp_path / "a.csv")
    assert not any("new to the model" in note for note in new["notes"])


# Numbers in words ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "numbers", "decimal_comma"),
    [
        (["12,345.67", "1,000", "7"], [12345.67, 1000, 7], False),
        (["1,234", "12,345"], [1234, 12345], False),
        (["1,234", "0,345"], [1.234, 0.345], True),
        (["1,5", "2,123"], [1.5, 2.123], True),
        (["1.234,5", "1.000"], [1234.5, 1000], True),
        (["45.3%", "7 %", "100%"], [0.453, 0.07, 1], None),
        (["45,3 %", "7,25%"], [0.453, 0.0725], True),
        (["-1,234.5", "+2"], [-1234.5, 2], False),
    ],
)
def test_numbers_in_words(words, numbers, decimal_comma):
    found = as_numbers(pd.Series(words))
    assert found.values.tolist() == pytest.approx(numbers)
    assert found.decimal_comma is decimal_comma
    assert found.words == []


def test_ranges_are_no_numbers():
    found = as_numbers(pd.Series(["0%", "1 - 10%", "90-100%"]))
    assert found.words == ["1 - 10%", "90-100%"]
    assert judge(pd.Series(["0%", "1 - 10%", "90-100%"] * 9)) == (CATEGORY, "")


def test_new_rows_are_read_as_in_training(tmp_path):
    """1,234 alone may be a thousand; after 1,5 in training it is not."""
    table = loans(60)
    table["size"] = [f"{x:.3f}".replace(".", ",") for x in RNG.uniform(0.5, 3, 60)]
    model, data = tmp_path / "m.bpm", write(table, tmp_path / "data.csv")
    found = ask_json("train", data, "--target", "repaid", "--model", model, *FAST)
    assert "column 'size' has decimal commas, read as points" in found["notes"]
    new = write(table.head(3).assign(size=["1,234", "2,345", "1,111"]), tmp_path / "new.csv")
    said = ask_json("predict", new, "--model", model, "--out", tmp_path / "a.csv")
    assert not any("differ" in note for note in said["notes"])
    X = table.head(3).assign(size=[1.234, 2.345, 1.111])
    X = X.astype({"member": float, "city": object})
    pipeline = bayespoint.load(model)
    expected = pipeline.predict_proba(X[pipeline.feature_names_in_])[:, 0]
    assert pd.read_csv(tmp_path / "a.csv")["p_no"].to_numpy() == pytest.approx(expected)


# What users say --------------------------------------------------------------------------------


def test_kinds_that_users_say(tmp_path):
    table = loans(60).assign(order=range(60), grade=[1, 2, 3] * 20)
    data = write(table, tmp_path / "data.csv")
    files = ["train", data, "--target", "repaid", "--model", tmp_path / "m.bpm", *FAST]
    found = ask_json(*files, "--number", "order", "--category", "grade")
    assert "order" in found["columns"]["numbers"]
    assert "grade" in found["columns"]["categories"]
    for options, message in (
        (["--number", "city"], "column 'city' (--number) has no numbers"),
        (["--category", "age", "--drop", "age"], "--category and --drop name the same column"),
        (["--number", "repaid"], "--number and --target name the same column"),
        (["--number", "gone"], "there is no column 'gone' (--number)"),
    ):
        result = invoke(*files, "--force", *options)
        assert result.exit_code in (2, 3)
        assert message in error_line(result)


def test_rare_categories_are_counted(tmp_path):
    table = loans(300).assign(shop=[f"s{i % 120}" for i in range(300)])
    data = write(table, tmp_path / "data.csv")
    shown = succeed("train", data, "--target", "repaid", "--model", tmp_path / "m.bpm", *FAST)
    assert "has 120 categories; the 99 most frequent ones are kept (2" in " ".join(
        shown.stderr.split()
    )

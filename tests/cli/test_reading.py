"""Files as people have them: what can be read, and what is said of what cannot."""

import gzip
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from tests.helpers.running import ask_json, error_line, invoke, loans, succeed, write

from bayespoint.cli.output.printing import TableNotes
from bayespoint.cli.tables import reading
from bayespoint.cli.tables.columns import judge
from bayespoint.cli.tables.number_formats import as_numbers, as_text
from bayespoint.cli.tables.reading import find_delimiter, read_table
from bayespoint.tools import extras

HEADER = "a,b,class\n"
ROWS = "".join(f"{i},{i % 7}.5,{'xy'[i % 2]}\n" for i in range(12))
SQUARES = [str(i * i) for i in range(30)]


def read(path, text, encoding="utf-8"):
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return read_table(path, TableNotes(encoding, as_json=True))


def train(path, *options):
    model = path.parent / "m.bpm"
    engine = ["--engine", "laplace", "--kernel", "linear"]
    return invoke("train", path, "--target", "class", "--model", model, *engine, *options)


# What can be read ------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(tmp_path, delimiter):
    text = (HEADER + ROWS).replace(",", delimiter)
    frame = read(tmp_path / "data.csv", text)
    assert list(frame) == ["a", "b", "class"]
    assert frame["b"].dtype == np.float64


def test_carriage_returns(tmp_path):
    frame = read(tmp_path / "data.csv", (HEADER + ROWS).replace("\n", "\r"))
    assert list(frame) == ["a", "b", "class"]
    assert len(frame) == ROWS.count("\n")


def test_delimiter_with_commas_in_the_text():
    assert find_delimiter('name;note\n"a, b, c";"d, e"\nx;"f, g, h"\n') == ";"
    assert find_delimiter("one\n1\n2\n") == ","


def test_packed_marked_quoted_and_spaced(tmp_path):
    with gzip.open(tmp_path / "data.csv.gz", "wt", encoding="utf-8-sig") as file:
        file.write('\n"a" , b,"class"\n"1", 2.5,  x\n"3",?,y \n')
    frame = read_table(tmp_path / "data.csv.gz", TableNotes("UTF-8", as_json=True))
    assert list(frame) == ["a", "b", "class"]
    assert frame["a"].tolist() == [1, 3]
    assert frame["b"].isna().tolist() == [False, True]
    assert as_text(frame["class"]).tolist() == ["x", "y"]


def test_other_encodings(tmp_path):
    frame = read(tmp_path / "data.csv", "größe,class\n1,ä\n2,ö\n", "latin-1")
    assert list(frame) == ["größe", "class"]
    frame = read(tmp_path / "data.csv", "größe,class\n1,ä\n2,ö\n", "utf-16")
    assert frame["class"].tolist() == ["ä", "ö"]


def test_column_without_a_name(tmp_path):
    loans().to_csv(tmp_path / "data.csv")  # with its index, as pandas does by default
    notes = TableNotes(as_json=True)
    assert list(read_table(tmp_path / "data.csv", notes)) == list(loans())
    assert notes == ["1 column without a name left out"]


# Kinds of columns ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind", "remark"),
    [
        ([1, 2, 2, None], "number", ""),
        ([True, False, None, True], "number", ""),
        (["TRUE", "FALSE", None, "true"], "number", ""),  # as CSV files have it
        (["1", "2.5", "1e3"], "number", ""),
        (["1,5", "2", "1.234,5"], "number", "decimal commas"),
        (["$1,500", "-$2.50", "$7", None], "number", "currency signs, which are dropped"),
        (
            ["5 €", "1.234,5 €", "7€"],
            "number",
            "currency signs, which are dropped; it has decimal commas",
        ),
        (["$5", "€5", "$5"], "category", ""),
        (["$5 to $9", "$10", "$5 to $9"], "category", ""),
        (["x", "y", "x"], "category", ""),
        (["0", "1", "3+", "1"], "category", "mixes numbers and words"),
        ([*map(str, range(100, 119)), "unknown"], "number", ""),
        ([*SQUARES, *["-"] * 25], "number", ""),
        ([*SQUARES, *["-", "."] * 15], "category", "mixes numbers and words"),
        ([*SQUARES, *["-"] * 31], "category", "mixes numbers and words"),
        ([*map(str, range(5)), *["-"] * 4], "category", "mixes numbers and words"),
        (["x", None, "x"], "category", ""),
        ([f"n{i % 120}" for i in range(300)], "category", "has 120 categories; the 99 most"),
        (range(5, 30), "", "numbers the rows"),
        ([None, None], "", "no values"),
        ([3, 3, 3], "", "always 3"),
        (["x", "x"], "", "always 'x'"),
        (["ab", "cd", "ef"], "", "an identifier"),
        ([f"n{i % 120}" for i in range(130)], "", "120 different texts in 130 rows"),
        (["2024-01-02", "2024-01-02T10:00", "2024-02-02"], "", "dates"),
        (["1.2.2024", "31.12.2024", "1.2.2024"], "", "dates"),
        (pd.to_datetime(["2024-01-02", "2024-01-03"]), "", "dates"),
    ],
)
def test_kinds(values, kind, remark):
    found, words = judge(pd.Series(values))
    assert found == kind
    assert remark in words
    assert bool(words) == bool(remark)


def test_numbers_of_text():
    numbers = as_numbers(pd.Series(["1.234,5", "1.000", "-0,25", None, "x", "True"]))
    np.testing.assert_array_equal(numbers.values, [1234.5, 1000, -0.25, np.nan, np.nan, 1])
    assert numbers.words == ["x"]


def test_amounts_are_numbers():
    numbers = as_numbers(pd.Series(["$1,234.50", "-$3", "$-4", "7", None, "$"]))
    np.testing.assert_array_equal(numbers.values, [1234.5, -3, -4, 7, np.nan, np.nan])
    assert numbers.words == ["$"]


def test_words_among_numbers_are_missing_values(tmp_path):
    table = loans()
    table["age"] = table["age"].astype(object)
    table.loc[0, "age"] = "unknown"
    data = write(table, tmp_path / "data.csv")
    options = ["--target", "repaid", "--model", tmp_path / "m.bpm", "--engine", "laplace"]
    found = ask_json("train", data, *options)
    assert found["missing"]["age"] == 3
    assert "column 'age' has 'unknown', not a number: treated as missing" in found["notes"]


def test_decimal_commas(tmp_path):
    text = (HEADER + ROWS).replace(",", ";").replace(".", ",")
    (tmp_path / "data.csv").write_text(text)
    result = train(tmp_path / "data.csv")
    assert result.exit_code == 0
    assert "column 'b' has decimal commas, read as points" in result.stderr


# What cannot be read ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b" \n\n", "it is empty"),
        (HEADER, "it has a header but no rows"),
        ("a,class\n1,\xe4\n".encode("latin-1"), "UTF-8 (byte 0xe4); name its encoding, for "),
        ((HEADER + ROWS).encode("utf-16"), "for example --encoding utf-16"),
        (b"PK\x03\x04\x00\x00binary", "it is a zip archive; extract it first"),
        (b"BZh91AY", "it is compressed with bzip2; decompress it first"),
        (b"ARROW1\0\0", "it is a Feather file; save it as Parquet or CSV"),
        (b"PAR1\x15", "it is a Parquet file; its name must end in .parquet"),
        (gzip.compress(b"a,class\n"), "it is compressed with gzip; its name must end in .gz"),
        (b"a,class\n\0,1\n", "it is not a text file; is it CSV?"),
        ('[\n {"a": 1, "class": 2}, {"a": 2}]', "it is JSON; save it as CSV or Parquet"),
        (
            "1,0.5,1,x\n2,0.5,7,y\n",
            "several columns have the same name, '1'. Is the header missing?",
        ),
        ("# made by me\na,class\n1,x\n", "than its header ('# made by me')"),
        ("a,b,a,class\n1,2,3,x\n", "several columns have the same name, 'a'"),
        ("a,class\n1,x\n1,2,3,y\n", "line 3 has 4 cells, the header has 2"),
        ("a,class\n1,x,9\n2,y,9\n", "more cells than its header ('a', 'class')"),
        ('a,class\n1,x\n2,"y\n', "is never closed"),
        (HEADER + "1,1,\n" + ROWS + "inf,1,x\n", "infinite values (1, first in row 14 below"),
        (HEADER + ROWS + "1,-1e200,x\n", "column 'b' has values above 1e+100 (1, first in row 13"),
        ("a,class\n1,x\n2,x\n", "has only one class, 'x'"),
        ("a,class\n1,\n2,\n", "column 'class' (--target) has no values"),
        (
            "a,class\n1,0.5\n2,0.7\n3,0.1\n",
            "has a different value in every row, and a classifier needs",
        ),
        ("class\nx\ny\nx\n", "no column is left to learn from"),
        ("a,class\n5,x\n5,y\n5,y\n", "no column is left to learn from"),
    ],
)
def test_broken_files(tmp_path, content, message):
    path = tmp_path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = train(path)
    assert result.exit_code == 3, result.output
    assert message in error_line(result)
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == [path]


def test_names_that_are_values(tmp_path):
    path = tmp_path / "data.csv"
    for first, is_asked in (("0.5,-1,x\n", True), ("0,1,2\n", False), ("a,b,3.5\n", False)):
        path.write_text(first + ROWS)
        result = train(path)
        assert result.exit_code == 2
        assert ("Is the header missing?" in error_line(result)) == is_asked


def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = gzip.compress((HEADER + ROWS).encode())
    with ThreadPoolExecutor(1) as writer:
        written = writer.submit(path.write_bytes, content)
        table = read_table(path, TableNotes(as_json=True))
        assert written.result() == len(content)
    assert len(table) == ROWS.count("\n")


def test_a_quantity_is_not_a_class(tmp_path):
    table = loans(100)
    table["class"] = np.random.default_rng(0).integers(0, 800, 100) / 8
    result = train(write(table, tmp_path / "data.csv"))
    assert result.exit_code == 3
    assert "regression, which this command does not do" in error_line(result)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.csv", "gone.csv: no such file"),
        ("folder", "folder: it is a folder"),
        ("folder.parquet", "folder.parquet"),
        ("sheet.xlsx", "it is a spreadsheet; save it as CSV"),
        ("broken.csv.gz", "it is not a complete gzip file"),
        ("short.csv.gz", "it is not a complete gzip file"),
    ],
)
def test_files_that_are_none(tmp_path, name, message):
    for folder in ("folder", "folder.parquet"):
        (tmp_path / folder).mkdir()
    (tmp_path / "sheet.xlsx").write_bytes(b"PK")
    (tmp_path / "broken.csv.gz").write_bytes(b"no gzip at all")
    (tmp_path / "short.csv.gz").write_bytes(gzip.compress((HEADER + ROWS).encode())[:-9])
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    result = train(tmp_path / name)
    assert result.exit_code == 3
    assert message in error_line(result)


def test_no_permission(tmp_path, monkeypatch):
    def opened(path, encoding, content):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(reading, "opened", opened)
    result = train(tmp_path / "data.csv")
    assert result.exit_code == 3
    assert "data.csv: Permission denied" in error_line(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "clas"], "there is no column 'clas' (--target). Did you mean class? The"),
        (["--target", "zzz"], "(--target). The columns are 'a', 'b', 'class'"),
        (["--encoding", "utf-99"], "there is no encoding 'utf-99'"),
        (["--encoding", "rot13"], "there is no encoding 'rot13'"),
    ],
)
def test_wrong_usage(tmp_path, options, message):
    (tmp_path / "data.csv").write_text(HEADER + ROWS)
    result = train(tmp_path / "data.csv", *options)
    assert result.exit_code == 2
    assert message in error_line(result)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    result = train(tmp_path / "data.parquet")
    assert result.exit_code == 4
    assert 'pip install "bayespoint[parquet]"' in error_line(result)


def test_no_parquet_inside(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "data.parquet").write_text("a,b")
    result = train(tmp_path / "data.parquet")
    assert result.exit_code == 3
    assert "it is not a Parquet file" in error_line(result)


def test_huge_but_possible_numbers(tmp_path):
    text = HEADER + ROWS.replace(".5,", ".5e90,")
    (tmp_path / "data.csv").write_text(text)
    model = tmp_path / "m.bpm"
    options = ["--target", "class", "--model", model, "--engine", "laplace"]
    succeed("train", tmp_path / "data.csv", *options)

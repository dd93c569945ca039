"""Blocks of Parquet and CSV files."""

import re

import numpy as np
import pandas as pd
import pytest
from tests.helpers.blocks import machine, noisy, same_bits

from bayespoint.exceptions import BlockError
from bayespoint.rows import from_arrays, from_csv, from_parquet
from bayespoint.rows.parquet import divide
from bayespoint.tools.monitor import Monitor, watch

X, Y = noisy(n=400)
NAMES = np.array(["no", "yes"], dtype=object)


def frame():
    table = pd.DataFrame(X, columns=list("abcd"))
    return table.assign(target=NAMES[Y], weight=1.0 + Y)


def write(folder, kind, table=None, **how):
    path = folder / f"table.{kind}"
    table = frame() if table is None else table
    if kind == "csv":
        table.to_csv(path, index=False, float_format="%.17g", **how)
    else:
        table.to_parquet(path, row_group_size=100, **how)
    return path


READ = {"csv": from_csv, "parquet": from_parquet}


@pytest.mark.parametrize("kind", READ)
def test_the_same_bits_as_from_arrays(tmp_path, kind):
    blocks = READ[kind](write(tmp_path, kind), "target", sample_weight="weight", block_rows=100)
    assert blocks.feature_names == list("abcd")
    clf = machine().fit(blocks)
    plain = machine().fit(from_arrays(X, NAMES[Y], 1.0 + Y, block_rows=100))
    assert same_bits(clf, plain)
    assert clf.feature_names_in_.tolist() == list("abcd")
    assert clf.predict(frame()[list("abcd")]).tolist() == plain.predict(X).tolist()


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-8-sig"])
def test_other_delimiters_and_encodings(tmp_path, encoding):
    table = frame().rename(columns={"a": "größe"})
    table["target"] = np.array(["süß", "sauer"], dtype=object)[Y]
    path = write(tmp_path, "csv", table, sep=";", encoding=encoding)
    how = {"delimiter": ";", "encoding": encoding, "block_rows": 100}
    blocks = from_csv(path, "target", sample_weight="weight", **how)
    assert blocks.feature_names == ["größe", "b", "c", "d"] and len(blocks) == 4
    assert np.array_equal(blocks.read(3).X, X[300:]) and set(blocks.read(3).y) == {"süß", "sauer"}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-le"])
def test_encodings_whose_line_breaks_are_several_bytes(tmp_path, encoding):
    path = write(tmp_path, "csv", encoding=encoding)
    with pytest.raises(ValueError, match="cannot be read in blocks"):
        from_csv(path, "target", encoding=encoding)
    with pytest.raises(ValueError, match="There is no encoding 'utf-9'"):
        from_csv(path, "target", encoding="utf-9")


@pytest.mark.parametrize("kind", READ)
def test_chosen_columns(tmp_path, kind):
    path = write(tmp_path, kind)
    blocks = READ[kind](path, "target", features=["d", "b"])
    assert np.array_equal(blocks.read(0).X[:, 0], X[: len(blocks.read(0).X), 3])
    with pytest.raises(ValueError, match=r"has no column 'tarket'\. It has 'a', 'b'"):
        READ[kind](path, "tarket")
    with pytest.raises(ValueError, match="must name neither the labels"):
        READ[kind](path, "target", features=["a", "target"])


@pytest.mark.parametrize("kind", READ)
def test_values_that_are_no_numbers(tmp_path, kind):
    table = frame()
    table["b"] = table["b"].astype(object)
    table.loc[342, "b"] = "many"
    table["b"] = table["b"].astype(str)
    words = {"csv": "Block 3 has 'many' in row 42", "parquet": "values in the column 'b'"}[kind]
    with pytest.raises(BlockError, match=words):
        machine().fit(READ[kind](write(tmp_path, kind, table), "target", block_rows=100))


@pytest.mark.parametrize("kind", READ)
def test_missing_values_are_named(tmp_path, kind):
    table = frame().drop(columns="weight")
    table.loc[342, "b"] = np.nan
    words = "Block 3 has nan in row 42 (counted from 0), column 1"
    with pytest.raises(BlockError, match=re.escape(words)):
        machine().fit(READ[kind](write(tmp_path, kind, table), "target", block_rows=100))


def test_row_groups_are_joined_and_split():
    joined = divide([[30, 30, 30], [5]], 70)
    assert [[piece[:2] for piece in block] for block in joined] == [
        [(0, 0), (0, 1)],
        [(0, 2), (1, 0)],
    ]
    parts = [piece for block in divide([[100, 10]], 40) for piece in block]
    assert [piece[2:4] for piece in parts] == [(0, 33), (33, 66), (66, 100), (0, 10)]


@pytest.mark.parametrize("rows", [17, 45, 250, 1000])
def test_any_division_has_all_rows(tmp_path, rows):
    blocks = from_parquet(
        write(tmp_path, "parquet"), "target", features=list("abcd"), block_rows=rows
    )
    assert np.array_equal(np.vstack([block.X for block in blocks]), X)


def test_several_files_and_folders(tmp_path):
    for k in range(4):
        frame().iloc[100 * k : 100 * k + 100].to_parquet(tmp_path / f"part{k}.parquet")
    blocks = from_parquet(tmp_path, "target", features=list("abcd"), block_rows=100)
    assert len(blocks) == 4
    frame().drop(columns="a").to_parquet(tmp_path / "part9.parquet")
    with pytest.raises(ValueError, match=r"part9\.parquet has other columns"):
        from_parquet(tmp_path, "target")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no \.parquet file"):
        from_parquet(tmp_path / "empty", "target")


def test_a_corrupt_row_group_is_named(tmp_path):
    path = write(tmp_path, "parquet", compression="snappy", use_dictionary=False)
    blocks = from_parquet(path, "target", features=list("abcd"), block_rows=100)
    content = bytearray(path.read_bytes())
    begin = len(content) // 2
    content[begin : begin + 2000] = b"\xff" * 2000
    path.write_bytes(content)
    with pytest.raises(BlockError, match=r"Block \d cannot be read: ") as caught:
        machine().fit(blocks)
    assert caught.value.block in (1, 2)


def test_quoted_line_breaks_end_no_row(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('a,note,y\n1,"two\nlines",no\n2,plain,yes\n\n3,"more\n\nlines",no\n')
    blocks = from_csv(path, "y", features=["a"], block_rows=1)
    assert [block.X.item() for block in blocks] == [1, 2, 3]


def test_only_a_mark_at_the_begin_of_a_cell_quotes_it(tmp_path):
    path = tmp_path / "table.csv"
    cells = ['5" screen', '"two\n""lines""\n,x"', '6" screen', '"x"""', ' "also\nquoted"', '""']
    rows = "".join(f"{k},{cell},{k % 2}\n" for k, cell in enumerate(cells))
    path.write_text('\n"a",b,"the\nlabel"\n' + rows)
    blocks = from_csv(path, "the\nlabel", features=["a"], block_rows=1)
    assert [block.X.item() for block in blocks] == [0, 1, 2, 3, 4, 5]
    assert [block.y.item() for block in blocks] == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,y\n", "has a header but no rows"),
        ("\n \n", "is empty"),
        ("a,y\r1,x\r2,y\r", "carriage returns only"),
        ('a,y\n1,x\n2,"y\n', "a quotation mark that is never closed"),
        ("a,y\n1,x\n1,x,2\n", "Block 0 cannot be read: .*Expected 2 fields in line 2, saw 3"),
        ("a,y\n1,x,2\n1,x,2\n", "Block 0 has rows of more cells than the 2 of the header"),
    ],
)
def test_broken_csv_files(tmp_path, content, message):
    (tmp_path / "table.csv").write_bytes(content.encode())
    with pytest.raises(ValueError, match=message):
        from_csv(tmp_path / "table.csv", "y").read(0)


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("labels", [["no", "yes"], [0.0, 1.0]], ids=["words", "numbers"])
def test_a_row_without_a_label_is_named(tmp_path, kind, labels):
    table = pd.DataFrame({"a": np.arange(60.0), "y": labels * 30})
    table.loc[47, "y"] = None
    path = tmp_path / f"table.{kind}"
    table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path)
    with pytest.raises(BlockError, match="Block 2 has no label in row 7"):
        machine().fit(READ[kind](path, "y", block_rows=20))


def test_csv_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ValueError, match="must be a single character"):
        from_csv(tmp_path / "table.csv", "y", delimiter="::")
    with pytest.raises(ValueError, match="is packed, and cannot be read in blocks"):
        from_csv(tmp_path / "table.csv.gz", "y")
    with pytest.raises(FileNotFoundError):
        from_csv(tmp_path / "nowhere.csv", "y")


@pytest.mark.parametrize("kind", READ)
def test_a_file_that_is_deleted_during_a_fit(tmp_path, kind):
    path = write(tmp_path, kind)
    blocks = READ[kind](path, "target", block_rows=100)

    class Deletes(Monitor):
        def begin(self, total, unit):
            path.unlink()

    with watch(Deletes()), pytest.raises(BlockError, match=r"Block \d cannot be read: .*table"):
        machine().fit(blocks)

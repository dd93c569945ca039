"""bayespoint suspects."""

import numpy as np
import pandas as pd
from tests.helpers.running import ask_json, error_line, invoke, succeed, write


def table(n=60):
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "size": rng.standard_normal(n) + 5 * kind,
            "colour": np.where(kind, "red", "blue"),
            "kind": np.where(kind, "fruit", "root"),
        }
    )
    frame.loc[8, "kind"] = "fruit"  # a mistake
    frame.loc[3, "kind"] = None  # rows without a label do not count, but keep their numbers
    return frame


def test_suspects(tmp_path):
    data = write(table(), tmp_path / "plants.csv")
    out = tmp_path / "suspects.csv"
    options = ["--target", "kind", "--kernel", "linear"]
    found = ask_json("suspects", data, *options, "--n", "3", "--out", out)
    assert (found["rows"], found["suspect"]) == (59, 1)
    assert found["first"]["row"][0] == 9
    written = pd.read_csv(out)
    assert written["p_wrong"].is_monotonic_decreasing
    assert written.loc[0, ["row", "label", "suggested"]].tolist() == [9, "fruit", "root"]
    assert written["suspect"].tolist() == [True] + 58 * [False]
    shown = succeed("suspects", data, *options).output
    assert "1 suspect label among 59; about 1 are expected to be wrong." in shown
    first, line, second = (
        shown.index(words) for words in ("Suspect:", "Not suspect:", "1 suspect")
    )
    above, below = shown[first:line].split(), shown[line:second].split()
    assert above.count("fruit") == 1  # the line is drawn after one row, which is row 9
    assert "9" in above
    assert len(below) > 19 * 6


def test_bad_input(tmp_path):
    data = write(table(), tmp_path / "plants.csv")
    assert "'type'" in error_line(invoke("suspects", data, "--target", "type"))

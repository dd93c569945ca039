"""bayespoint query."""

import numpy as np
import pandas as pd
import pytest
from tests.helpers.running import ask_json, error_line, invoke, loans, succeed, write

import bayespoint
from bayespoint import active
from bayespoint.active.strategies import STRATEGIES, Rule


@pytest.fixture
def pool(tmp_path):
    return write(loans(40, seed=1).drop(columns="repaid"), tmp_path / "pool.csv")


def test_rows_are_those_of_the_library(trained, pool, tmp_path):
    out = tmp_path / "ask.csv"
    files = [pool, "--model", trained / "loans.bpm", "--out", out]
    found = ask_json("query", *files, "--n", 5, "--seed", 3)
    model = bayespoint.load(trained / "loans.bpm")
    X = loans(40, seed=1).astype({"member": float, "city": object})
    chosen = active.query(model, X, 5, random_state=3)
    chosen = chosen[np.argsort(-active.entropy(model, X)[chosen], kind="stable")]
    assert found["row"] == (chosen + 1).tolist()
    assert found["score"] == pytest.approx(active.entropy(model, X)[chosen].tolist())
    asked = pd.read_csv(out)
    assert list(asked) == ["row", "score", *pd.read_csv(pool).columns]
    assert asked["customer"].tolist() == loans(40, seed=1)["customer"].iloc[chosen].tolist()


@pytest.mark.parametrize("strategy", ["margin", "bald", "random"])
def test_strategies(trained, pool, strategy):
    files = [pool, "--model", trained / "loans.bpm"]
    found = ask_json("query", *files, "--n", 4, "--strategy", strategy)
    assert len(set(found["row"])) == 4
    assert np.isfinite(found["score"]).all()
    assert found["score"] == sorted(found["score"], reverse=True)


def test_a_strategy_is_declared_once(trained, pool, monkeypatch):
    """One entry of STRATEGIES, and library and command have it."""
    first = Rule(lambda machine, X, **draws: 1.0 - np.asarray(X)[:, 0].argsort().argsort() / 100)
    monkeypatch.setitem(STRATEGIES, "smallest", first)
    files = [pool, "--model", trained / "loans.bpm"]
    found = ask_json("query", *files, "--strategy", "smallest", "--n", 1)
    assert found["row"] == [loans(40, seed=1)["age"].argmin() + 1]
    assert "smallest" in error_line(invoke("query", *files, "--strategy", "other"))


def test_table(trained, pool):
    result = succeed("query", pool, "--model", trained / "loans.bpm", "--n", 25)
    assert "entropy" in result.stdout
    assert "5 more." in result.stdout


def test_rows_with_a_label_are_not_asked_for(trained, tmp_path):
    table = loans(40, seed=1)
    table.loc[10:, "repaid"] = None
    data = write(table, tmp_path / "pool.csv")
    found = ask_json("query", data, "--model", trained / "loans.bpm", "--n", 30)
    assert sorted(found["row"]) == list(range(11, 41))
    assert "10 rows with a value in 'repaid' left out" in found["notes"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--n", "41"], 2, "--n 41 is more than the 40 rows to choose from"),
        (["--strategy", "entropie"], 2, "Did you mean entropy?"),
        (["--out", "-", "--json"], 2, "would both write to standard output"),
        (["--model", "gone.bpm"], 3, "no such file"),
    ],
)
def test_mistakes(trained, pool, options, code, message):
    result = invoke("query", pool, "--model", trained / "loans.bpm", *options)
    assert result.exit_code == code
    assert message in error_line(result)


def test_nothing_to_ask_for(trained):
    result = invoke("query", trained / "new.csv", "--model", trained / "loans.bpm")
    assert result.exit_code == 3
    assert "every row has a value in 'repaid' already" in error_line(result)

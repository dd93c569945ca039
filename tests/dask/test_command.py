"""``bayespoint train --scheduler``."""

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")
from tests.helpers.running import error_line, invoke, loans, succeed, write

from bayespoint import load

pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write(loans(300), tmp_path_factory.mktemp("table") / "loans.csv")


def test_the_model_of_a_cluster_is_that_of_one_computer(workers, table, tmp_path):
    address = workers.scheduler.address
    command = "train", table, "--target", "repaid", "--engine", "laplace"
    here, there = tmp_path / "here.bpm", tmp_path / "there.bpm"
    succeed(*command, "--model", here, "--out-of-core")
    result = succeed(*command, "--model", there, "--scheduler", address)
    assert "1 block, out of core" in result.output
    one, two = load(here)[-1], load(there)[-1]
    np.testing.assert_array_equal(one.coef_, two.coef_)
    rows = pd.read_csv(table).drop(columns="repaid")
    rows.to_csv(tmp_path / "new.csv", index=False)
    succeed("predict", tmp_path / "new.csv", "--model", there, "--out", tmp_path / "answers.csv")


def test_perceptrons(workers, table, tmp_path):
    command = "train", table, "--target", "repaid", "--model", tmp_path / "model.bpm", "--json"
    engine = "--engine", "perceptron", "--kernel", "rbf", "--param", "ridge=1"
    result = succeed(*command, *engine, "--scheduler", workers.scheduler.address)
    assert json.loads(result.stdout)["engine"]["name"] == "perceptron"


def test_no_scheduler(table, tmp_path, monkeypatch):
    monkeypatch.setattr("bayespoint.cli.commands.train.PATIENCE", 0.5)
    command = "train", table, "--target", "repaid", "--model", tmp_path / "model.bpm"
    result = invoke(*command, "--scheduler", "tcp://127.0.0.1:9")
    assert result.exit_code == 2
    assert "no scheduler answers" in error_line(result)

"""A table and a model of it, made once."""

import pytest
from tests.helpers.running import loans, succeed, write


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A folder with loans.csv, new.csv and the model loans.bpm."""
    folder = tmp_path_factory.mktemp("loans")
    data = write(loans(), folder / "loans.csv")
    write(loans(40, seed=1), folder / "new.csv")
    options = ["--target", "repaid", "--model", folder / "loans.bpm"]
    succeed("train", data, *options, "--engine", "laplace", "--kernel", "linear")
    return folder

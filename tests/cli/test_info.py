"""bayespoint info, of how the training went."""

import pytest
from tests.helpers.running import ask_json, loans, succeed, train

import bayespoint


@pytest.mark.parametrize(
    ("options", "unit", "good", "words"),
    [
        (["--engine", "laplace", "--kernel", "linear"], "steps", True, "converged after"),
        (["--param", "max_iter=1"], "sweeps", True, "a single pass, as asked"),
        (["--kernel", "linear", "--param", "max_iter=2"], "sweeps", False, "damping=0.5"),
        (["--engine", "knapsack", "--param", "n_iter=20"], "passes", True, "20 passes, as asked"),
        (["--engine", "perceptron"], "epochs", False, "ridge='mean'"),
        (
            ["--engine", "perceptron", "--kernel", "rbf", "--param", "ridge=mean"],
            "epochs",
            True,
            "10 of 10 perceptrons separate",
        ),
        (
            [
                "--engine",
                "gibbs",
                "--param",
                "n_samples=40",
                "--param",
                "burn_in=0",
                "--param",
                "thin=1",
            ],
            "steps",
            False,
            "target_ess=40",
        ),
    ],
)
def test_diagnosis_of_every_engine(tmp_path, options, unit, good, words):
    model = train(tmp_path, *options)
    run = ask_json("info", model)["run"]
    assert (run["unit"], run["converged"]) == (unit, good)
    assert words in f"{run['summary']}. {run['remedy']}"
    shown = " ".join(succeed("info", model).stdout.split())
    assert f"{'good' if good else 'not yet'}: {run['summary']}." in shown
    assert ("chain cosine" in shown) == ("gibbs" in options)
    assert ("last change" in shown) == bool(run["changes"])


def test_numbers_of_a_diagnosis(tmp_path):
    table = loans()
    table.loc[::3, "repaid"] = "partly"
    model = train(tmp_path, "--kernel", "linear", table=table)
    found = ask_json("info", model)
    machine = bayespoint.load(model)[-1]
    assert found["run"]["changes"] == [list(changes) for changes in machine.run_.history]
    assert found["log_evidence"] == machine.log_evidence_.tolist()
    assert found["expected"]["error"]["value"] == machine.left_out_error_
    assert list(found["classes"]) == ["no", "partly", "yes"]


def test_a_model_from_python(tmp_path):
    machine = bayespoint.BayesPointClassifier(kernel="linear").fit([[0.0], [1.0]], [0, 1])
    bayespoint.save(machine, tmp_path / "m.bpm")
    assert ask_json("info", tmp_path / "m.bpm")["run"]["converged"]

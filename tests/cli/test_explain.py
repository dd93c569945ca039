"""bayespoint explain."""

from tests.helpers.running import ask_json, error_line, invoke, succeed


def test_explanations(trained):
    files = [trained / "new.csv", "--model", trained / "loans.bpm"]
    found = ask_json("explain", *files, "--row", "7", "--training", trained / "loans.csv")
    (one,) = found["rows"]
    assert one["row"] == 7
    assert one["interval"][0] <= one["probability"] <= one["interval"][1]
    assert 0 < one["novelty"] <= 1
    assert {"name", "value", "typical", "push"} == set(one["features"][0])
    shown = succeed("explain", *files).output
    assert shown.count("uncertainty") == 3
    assert "novelty" not in shown  # the training rows are not known
    assert "--row must be from 1 to 40" in error_line(invoke("explain", *files, "--row", "41"))

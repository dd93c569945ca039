"""The experiments, and what is written of them."""

import json
import re
import subprocess
import sys
import warnings
from dataclasses import asdict, replace
from itertools import chain
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from tests.helpers.experiments import small_run, tables_and_data

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from papers import (
    EXPERIMENTS,
    Context,
    perform,
    write_index,
    write_run,
    write_summary,
)
from papers.base import HOLDS, OPEN, PARTLY, REFUTED
from papers.cells import table_rows, verdict_word
from papers.large_scale import problem
from papers.large_scale.samples import sample_errors
from papers.report import FORMAT
from papers.summary import plain, summary_text
from papers.verdicts import compare, error_row, two_errors_around


@pytest.fixture(scope="module")
def run():
    return perform(EXPERIMENTS["large-scale"], Context())


@pytest.fixture(scope="module")
def out(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    write_run(run, folder)
    write_index(folder)
    write_summary(folder)
    return folder


# All experiments -------------------------------------------------------------------------------


ELSEWHERE = """
import json, sys
from tests.helpers.experiments import small_run, tables_and_data
run, _ = small_run(sys.argv[1])
sys.stdout.flush()
print("the result", json.dumps(tables_and_data(run)), sep="\\n")
sys.exit("matplotlib" in sys.modules)
"""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in EXPERIMENTS]
)
def test_an_experiment_is_silent_deterministic_and_judged(name):
    """The same comes out in another process, where nothing is drawn before it is asked for."""
    run, told = small_run(name)
    tables = run.result.tables
    assert all(any(row.verdict for row in table.rows) for table in tables)
    assert told
    findings = list(EXPERIMENTS[name].findings(tables))
    assert len(findings) >= 3
    assert {one.verdict for one in findings} <= {HOLDS, PARTLY, REFUTED, OPEN}
    assert EXPERIMENTS[name].picture in {figure.name for figure in run.result.figures}
    command = [sys.executable, "-c", ELSEWHERE, name]
    other = subprocess.run(command, capture_output=True, text=True, check=False)
    assert other.returncode == 0 and other.stderr == "", other.stderr
    printed, numbers = other.stdout.split("the result\n")
    assert printed == ""
    assert json.loads(numbers) == json.loads(json.dumps(tables_and_data(run)))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_introduces_itself(name):
    experiment = EXPERIMENTS[name]
    assert experiment.name == name
    assert re.fullmatch("[a-z0-9-]+", name)
    assert all([experiment.title, experiment.paper, experiment.description])


# Verdicts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [797, 10_000])
@pytest.mark.parametrize("rate", [0.0, 0.0011, 0.0146, 0.5, 1.0])
def test_interval_ends_are_two_standard_errors_away(rate, n):
    for end in two_errors_around(rate, n):
        if 0 < end < 1:
            distance = 2 * sqrt(end * (1 - end) / n)
            assert abs(end - rate) == pytest.approx(distance, abs=1e-8)


@pytest.mark.parametrize(
    ("rate", "printed", "verdict"),
    [
        (0.0149, 0.0146, "agrees within two standard errors"),
        (0.0123, 0.0146, "agrees within two standard errors"),
        (0.0121, 0.0146, "better, by 2.1 standard errors"),
        (0.0180, 0.0146, "worse, by 2.8 standard errors"),
        (0.0, 0.0003, "agrees within two standard errors"),
        (0.0, 0.0011, "better, by 3.3 standard errors"),
        (0.0100, 0.0, "worse"),
    ],
)
def test_verdicts(rate, printed, verdict):
    assert compare(rate, printed, 10_000) == verdict
    row = error_row("error", rate, 10_000, 100 * printed)
    assert row.verdict == verdict
    shown, measured, (low, high) = row.values
    assert (shown, measured) == (100 * printed, 100 * rate)
    assert (low <= shown <= high) == verdict.startswith("agrees")


# Large scale -----------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [False, True])
def test_first_samples_are_the_machine_with_fewer_samples(normalize):
    split = problem.pose(Context()).split
    machine = BayesPointClassifier(
        kernel="poly",
        degree=5,
        gamma=1 / 256,
        normalize=normalize,
        engine=PermutedPerceptron(n_samples=6),
        random_state=3,
    )
    errors = sample_errors("machine", machine, split, Context())
    for n in range(1, 7):
        fewer = clone(machine).set_params(engine=PermutedPerceptron(n_samples=n))
        fewer.fit(split.X_train, split.y_train)
        outputs = fewer.sample_outputs(split.X_test).mean(axis=1)  # the paper takes the largest
        wrong = (fewer.classes_[outputs.argmax(axis=1)] != split.y_test).mean()
        assert errors.first[n - 1] == wrong
    assert errors.first[0] == errors.alone[0]
    assert errors.curve.error_at(0.0) == pytest.approx(errors.first[-1], abs=1e-12)
    # The control: other samples, other errors.
    assert len(set(errors.alone)) > 1


def test_quick_run_claims_nothing_about_the_paper(run):
    printed = chain(*(table.column("printed") for table in run.result.tables[1:]))
    assert all(value is None for value in printed)
    verdicts = [row.verdict for row in run.result.tables[1].rows]
    assert verdicts[0] == ""
    assert all(words.endswith("against none rejected") for words in verdicts[1:])
    assert "do not apply" in run.result.setting["data"]
    assert all(figure.data["printed"] is None for figure in run.result.figures[1:])


def test_tables_and_figures_tell_the_same(run):
    _, plain, normalised, *samples = run.result.tables
    rejection, anytime = (figure.data["kernels"] for figure in run.result.figures[1:])
    for table, curve in zip((plain, normalised), rejection, strict=True):
        first, *_, last = table.column("measured")
        assert first == pytest.approx(curve["error_percent"][0], abs=1e-6)
        assert last < first
    for table, curve in zip(samples, anytime, strict=True):
        measured = table.column("measured")
        assert measured[:10] == pytest.approx(curve["error_percent_of_first"], abs=1e-6)
        assert measured[10] == pytest.approx(min(curve["error_percent_alone"]), abs=1e-6)
        assert measured[12] == pytest.approx(max(curve["error_percent_alone"]), abs=1e-6)


def test_full_run_reads_the_data_folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    labels = np.arange(150) % 3
    images = rng.integers(100, size=(150, 6, 6)) + 50 * labels[:, None, None]
    X, y = images.astype(np.uint8), labels.astype(np.uint8)
    np.savez(tmp_path / "mnist.npz", Xtr=X[:100], ytr=y[:100], Xte=X[100:], yte=y[100:])

    result = EXPERIMENTS["large-scale"].run(Context(full=True, data=tmp_path))
    assert "MNIST, 100 training and 50 test images" in result.setting["data"]
    assert result.tables[1].column("printed")[0] is None  # the paper had more

    monkeypatch.setattr(problem, "PAPER_SIZES", (100, 50))
    result = EXPERIMENTS["large-scale"].run(Context(full=True, data=tmp_path))
    table = result.tables[1]
    assert table.column("printed") == list(problem.PRINTED)
    assert {verdict_word(row.verdict) for row in table.rows} <= {"agrees", "better", "worse"}
    assert result.tables[3].column("printed").count(1.46) == 1
    assert result.figures[1].data["printed"]["error_percent"] == list(problem.PRINTED)
    for figure in result.figures[1:]:
        labels = figure.draw().axes[0].get_legend_handles_labels()[1]
        assert "printed in the paper" in labels


# What is written -------------------------------------------------------------------------------


def test_every_picture_has_its_numbers(run, out):
    folder = out / "large-scale" / "quick"
    names = {"version-space", "rejection", "anytime"}
    assert {path.stem for path in folder.glob("*.png")} == names
    assert {path.stem for path in folder.glob("*.json")} == names | {"results"}
    for figure in run.result.figures:
        assert (folder / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")
        written = json.loads((folder / f"{figure.name}.json").read_text(encoding="utf-8"))
        assert written["data"] == json.loads(json.dumps(figure.data))


def test_results_match_the_tables(run, out):
    path = out / "large-scale" / "quick" / "results.json"
    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    for written, table in zip(document["tables"], run.result.tables, strict=True):
        assert written["title"] == table.title
        for row, expected in zip(written["rows"], table.rows, strict=True):
            assert row == json.loads(json.dumps(asdict(expected)))
    assert document["mode"] == "quick"
    assert document["seconds"]["all"] > 0
    assert document["environment"]["versions"]["numpy"] == np.__version__


def test_page_needs_nothing_else(run, out):
    page = (out / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r"""(?:src|srcset|data|poster)\s*=\s*["']?([^"'\s>]+)""", page)
    assert loaded
    assert all(address.startswith("data:image/png;base64,") for address in loaded)
    assert not re.search(r"https?://|<link|<script|<iframe|@import|url\(", page)
    # Links lead to files beside the page, or within it.
    for target in re.findall(r'href="([^"]+)"', page):
        assert target.startswith("#") or (out / target).is_file()


def test_page_shows_every_cell(run, out):
    page = (out / "index.html").read_text(encoding="utf-8")
    for table in run.document["tables"]:
        for quantity, *cells, verdict in table_rows(table):
            numbers = "".join(f"<td>{cell}</td>" for cell in cells)
            assert f'<th scope="row">{quantity}</th>{numbers}' in page
            assert f">{verdict}</td>" in page


def test_page_begins_with_verdicts_and_folds_tables(run, out):
    page = (out / "index.html").read_text(encoding="utf-8")
    beginning = page[: page.index("<section")]
    for finding in run.document["findings"]:
        assert finding["claim"] in beginning
        assert finding["found"] in page
    assert beginning.count("less data than the papers") == page.count("less data") == 1
    tables = page.count("<table>")
    folded = re.findall(r"<details><summary>[^<]*</summary><div class=\"table", page)
    assert len(folded) == tables == len(run.document["tables"])
    assert "printed</th>" not in page  # columns without a number are left out
    assert 'class="warning"' not in page


def test_page_covers_all_runs_and_ignores_the_rest(run, tmp_path):
    write_run(run, tmp_path)
    strange = {**run.document, "mode": "full", "title": "<b>a & b</b>", "warnings": ["1 < 2"]}
    write_run(run._replace(document=strange), tmp_path)
    for name, content in {"other": '{"format": 99}', "broken": "{", "list": "[]"}.items():
        folder = tmp_path / name / "quick"
        folder.mkdir(parents=True)
        (folder / "results.json").write_text(content)
    (tmp_path / "large-scale" / "full" / "anytime.png").unlink()
    page = write_index(tmp_path).read_text(encoding="utf-8")
    assert page.index('id="large-scale-full"') < page.index('id="large-scale-quick"')
    assert page.count("<section") == 2
    assert page.count("<img") == 5
    assert "&lt;b&gt;a &amp; b&lt;/b&gt;" in page
    assert "1 &lt; 2" in page


def test_summary_has_every_number(run, out):
    words = (out / "summary.md").read_text(encoding="utf-8")
    for table in run.document["tables"]:
        for cells in table_rows(table):
            assert f"| {' | '.join(cells)} |" in words
        assert table["title"] in words
    assert run.document["environment"]["processor"] in words
    written = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert written["runs"] == [json.loads(json.dumps(run.document))]


def test_published_results_are_those_of_this_format():
    folder = Path(__file__).parents[2] / "docs" / "results"
    runs = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["runs"]
    assert {run["format"] for run in runs} == {FORMAT}
    assert {run["name"] for run in runs} == set(EXPERIMENTS)
    assert (folder / "summary.md").read_text(encoding="utf-8") == summary_text(runs)


def test_summary_is_safe_markdown():
    assert plain("a|b *c*\n<d> [e] #f") == r"a\|b \*c\* \<d\> \[e\] \#f"


def test_warnings_are_kept():
    experiment = EXPERIMENTS["large-scale"]

    def run_with_warning(context):
        warnings.warn("not quite right", UserWarning, stacklevel=1)
        return experiment.parts(context)

    document = perform(replace(experiment, parts=run_with_warning), Context()).document
    assert document["warnings"] == ["not quite right"]


def test_write_run_returns_its_file(run, tmp_path):
    path = write_run(run, tmp_path / "deep" / "er")
    assert path == Path(tmp_path, "deep", "er", "large-scale", "quick", "results.json")
    assert path.is_file()

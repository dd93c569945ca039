"""Learning curves as a figure."""

import subprocess
import sys

import numpy as np
import pytest

from bayespoint.active import LearningCurve, LearningCurveDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def curve(n_labels, scores):
    n = np.array(n_labels)
    scores = None if scores is None else np.array(scores)
    return LearningCurve(np.arange(n[-1]), np.zeros(n[-1]), np.arange(0), n[0], n, scores, None)


RUNS = [curve([2, 4, 6, 8], [0.5, 0.6, 0.7, 0.9]), curve([3, 4, 6, 8], [0.5, 0.8, 0.9, 0.9])]


def test_mean_and_standard_error_where_all_runs_have_a_score():
    display = LearningCurveDisplay.from_curves(RUNS, name="entropy", color="black")
    labels, mean = display.line_.get_data()
    assert labels.tolist() == [4, 6, 8]
    np.testing.assert_allclose(mean, [0.7, 0.8, 0.9])
    band = display.band_.get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(0.7 - 0.1)  # sd 0.1 sqrt(2), over sqrt(2)
    assert display.line_.get_color() == "black"
    assert display.ax_.get_xlabel() == "Number of labels"
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["entropy"]


def test_several_on_one_figure():
    first = LearningCurveDisplay.from_curves(RUNS, name="entropy")
    second = LearningCurveDisplay.from_curves(RUNS[0], name="random", ax=first.ax_)
    assert second.ax_ is first.ax_ and second.figure_ is first.figure_
    assert second.band_ is None
    assert second.line_.get_color() != first.line_.get_color()
    assert len(first.ax_.get_legend().get_texts()) == 2
    assert LearningCurveDisplay.from_curves(RUNS).ax_.get_legend() is None  # without a name


def test_curves_that_cannot_be_drawn():
    with pytest.raises(ValueError, match=r"pass X_test .* Got 2 curves, 1 of them with scores"):
        LearningCurveDisplay.from_curves([RUNS[0], curve([2, 4], None)])
    with pytest.raises(ValueError, match="Got 0 curves"):
        LearningCurveDisplay.from_curves([])
    with pytest.raises(ValueError, match=r"no number of labels in common.*\[2, 5\].*\[7, 8\]"):
        LearningCurveDisplay.from_curves([RUNS[0], curve([5, 7], [0.5, 0.6])])


def test_import_is_light():
    code = "import sys, bayespoint.active; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"bayespoint\[plot\]"):
        LearningCurveDisplay.from_curves(RUNS)

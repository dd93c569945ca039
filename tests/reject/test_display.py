"""The figure says what the curve says."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from bayespoint.reject import RejectionCurveDisplay, SelectiveClassifier, rejection_curve

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

X, Y = make_classification(n_samples=600, n_informative=4, n_classes=3, random_state=0)
TRAIN, TEST = slice(0, 300), slice(300, None)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def machine():
    return LogisticRegression().fit(X[TRAIN], Y[TRAIN])


def legend(display):
    return "\n".join(text.get_text() for text in display.ax_.get_legend().get_texts())


def test_from_estimator_draws_the_curve(machine):
    display = RejectionCurveDisplay.from_estimator(machine, X[TEST], Y[TEST], score="gap")
    curve = rejection_curve(Y[TEST], machine.decision_function(X[TEST]), score="gap")
    rates, errors = display.line_.get_data()
    np.testing.assert_allclose(rates, np.arange(300) / 300)
    np.testing.assert_allclose(errors, curve.error_at(rates))
    assert display.figure_ is display.ax_.figure
    assert display.point_ is None
    assert legend(display).startswith("LogisticRegression, by gap between the two largest outputs")
    assert f"AURC {100 * curve.aurc:.2g} %" in legend(display)


def test_from_predictions_draws_the_same(machine):
    outputs = machine.decision_function(X[TEST])
    first = RejectionCurveDisplay.from_estimator(machine, X[TEST], Y[TEST])
    second = RejectionCurveDisplay.from_predictions(Y[TEST], outputs, ax=first.ax_, color="black")
    assert second.ax_ is first.ax_
    assert second.line_.get_color() == "black"
    np.testing.assert_array_equal(first.line_.get_ydata(), second.line_.get_ydata())
    assert "By largest output (AURC" in legend(second)


def test_axes_are_in_words_and_percent(machine):
    display = RejectionCurveDisplay.from_estimator(
        machine, X[TEST], Y[TEST], max_rate=0.2, log_error=True, name="logistic"
    )
    display.figure_.canvas.draw()
    assert display.ax_.get_xlabel() == "Rejected rows, the least certain first"
    assert display.ax_.get_ylabel() == "Error on the accepted rows"
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_xlim() == (0, 0.2)
    assert display.line_.get_xdata().max() == 0.2
    ticks = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert ticks[0] == "0 %" and ticks[-1] == "20 %"
    assert all(tick.get_text().endswith(" %") for tick in display.ax_.get_yticklabels())
    assert legend(display).startswith("logistic, ")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"rate": 0.1}, "threshold set by cross-validation on the training data"),
        ({"cost": 0.2, "cv": "train"}, "threshold set on the training data"),
        ({"threshold": 1.0, "confidence": "gap"}, "threshold given"),
    ],
)
def test_the_operating_point_says_where_its_threshold_comes_from(parameters, words):
    selective = SelectiveClassifier(LogisticRegression(), **parameters).fit(X[TRAIN], Y[TRAIN])
    display = RejectionCurveDisplay.from_estimator(selective, X[TEST], Y[TEST])
    assert words in legend(display)
    (rate,), (error,) = display.point_.get_data()
    assert rate == pytest.approx(selective.rejects(X[TEST]).mean())
    assert error == pytest.approx(1 - selective.score(X[TEST], Y[TEST]))
    # By its own score the point lies on the curve of the classifier inside.
    assert display.curve.error_at(rate) == pytest.approx(error)
    assert legend(display).startswith("LogisticRegression")


def test_the_operating_point_of_a_prefit_machine(machine):
    selective = SelectiveClassifier(machine, rate=0.1, cv="prefit").fit(X[TRAIN], Y[TRAIN])
    display = RejectionCurveDisplay.from_estimator(selective, X[TEST], Y[TEST])
    assert "threshold set on held-out calibration data" in legend(display)


@pytest.mark.parametrize(("cv", "word"), [("prefit", "promised"), (3, "estimated")])
def test_promised_and_observed_curve(machine, cv, word):
    selective = SelectiveClassifier(machine, risk=0.4, cv=cv).fit(X[TRAIN], Y[TRAIN])
    display = RejectionCurveDisplay.from_estimator(selective, X[TEST], Y[TEST])
    assert f"{word} with confidence 95 %" in legend(display)
    assert "wanted: at most 40 %" in legend(display)
    rates, promised = display.promised_.get_data()
    chosen = np.flatnonzero(rates == selective.calibration_rate_)[0]
    assert selective.risk_bound_ <= promised[chosen] <= 0.4
    assert (promised[rates < selective.calibration_rate_] > 0.4).all()
    assert rates.max() == pytest.approx(0.7)  # the first test accepts 30 %
    assert display.plot(max_rate=0.2).promised_.get_xdata().max() <= 0.2
    other = SelectiveClassifier(machine, rate=0.1, cv=cv).fit(X[TRAIN], Y[TRAIN])
    assert RejectionCurveDisplay.from_estimator(other, X[TEST], Y[TEST]).promised_ is None


def test_a_machine_that_rejects_everything_has_no_point(machine):
    selective = SelectiveClassifier(machine, threshold=np.inf, cv="prefit").fit(X[TRAIN], Y[TRAIN])
    assert RejectionCurveDisplay.from_estimator(selective, X[TEST], Y[TEST]).point_ is None


def test_a_point_beyond_the_figure_is_not_drawn(machine):
    selective = SelectiveClassifier(machine, rate=0.4, cv="prefit").fit(X[TRAIN], Y[TRAIN])
    display = RejectionCurveDisplay.from_estimator(selective, X[TEST], Y[TEST], max_rate=0.1)
    assert display.point_ is None
    assert "rejected" not in legend(display)
    assert display.plot(max_rate=0.9).point_ is not None


def test_predictions_with_rejections_in_them_are_refused():
    selective = SelectiveClassifier(LogisticRegression(), rate=0.2)
    pipeline = make_pipeline(selective).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match=r"y_pred contains labels.*\[-1\].*before rejection"):
        RejectionCurveDisplay.from_estimator(pipeline, X[TEST], Y[TEST])


def test_bad_range(machine):
    display = RejectionCurveDisplay.from_estimator(machine, X[TEST], Y[TEST])
    with pytest.raises(ValueError, match=r"'max_rate' parameter of .* in the range \(0.0, 1.0\]"):
        display.plot(max_rate=0)


def test_import_is_light():
    code = "import sys, bayespoint.reject; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_error_names_the_extra(machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"bayespoint\[plot\]"):
        RejectionCurveDisplay.from_estimator(machine, X[TEST], Y[TEST])

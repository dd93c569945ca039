"""Progress in words: what `verbose` writes."""

import re
import time

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, KnapsackPropagation
from bayespoint.spaces import pivoted_cholesky
from bayespoint.tools.monitor import Monitor, TextMonitor, watch


def problem(n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (X @ rng.normal(size=(3, n_classes))).argmax(axis=1)


@pytest.mark.parametrize("engine", ["ep", "laplace"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_last_line_tells_what_was_done(engine, n_classes, capsys):
    """Not the most that was allowed: sweeps of all classes, far below max_iter of each."""
    classifier = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=engine, verbose=1
    ).fit(*problem(n_classes))
    lines = capsys.readouterr().err.splitlines()
    done, unit = re.fullmatch(r"bayespoint: (\d+) (\w+), \d+\.\d s", lines[-1]).groups()
    assert unit == classifier.run_.unit
    assert int(done) == sum(len(changes) for changes in classifier.run_.history)
    assert classifier.n_iter_ <= int(done) <= classifier.n_iter_ * n_classes < 100


def test_a_run_that_is_stopped_tells_what_was_done(capsys):
    class Stop(TextMonitor):
        def should_stop(self):
            return True

    with watch(Stop(seconds=1e9)), pytest.warns(UserWarning, match="topped"):
        BayesPointClassifier(engine=KnapsackPropagation()).fit(*problem())
    assert capsys.readouterr().err.startswith("bayespoint: 1 passes, ")


def test_lines_come_while_a_run_goes_on(capsys):
    monitor = TextMonitor(seconds=0.01)
    with monitor.running(10, "samples"):
        for done in (1, 2.5):
            time.sleep(0.02)
            monitor.update(done)
        monitor.update(3)
    first, second, last = capsys.readouterr().err.splitlines()
    assert first.startswith("bayespoint: 1 of 10 samples, ")
    assert second.startswith("bayespoint: 2.5 of 10 samples, ")
    assert last.startswith("bayespoint: 3 samples, ")


def test_an_error_ends_the_run_too(capsys):
    monitor = TextMonitor()
    with pytest.raises(ZeroDivisionError), monitor.running(10, "samples"):
        monitor.update(1 / 0)
    assert capsys.readouterr().err.startswith("bayespoint: 0 samples, ")


@pytest.mark.parametrize("size", [61, 60])
def test_a_large_kernel_matrix_is_told_of_before_the_run(monkeypatch, size):
    told = []

    class Listen(Monitor):
        def tell(self, message):
            told.append(message)

        def begin(self, total, unit):
            told.append(unit)

    monkeypatch.setattr(pivoted_cholesky, "LARGE", size)
    classifier = BayesPointClassifier(
        temperature=1.0, kernel="rbf", engine=ExpectationPropagation(max_iter=1)
    )
    with watch(Listen()):
        classifier.fit(*problem())
    message = "computing and factorising the kernel matrix of 60 rows, 28.8 kB"
    assert told == ([message, "sweeps"] if size == 60 else ["sweeps"])

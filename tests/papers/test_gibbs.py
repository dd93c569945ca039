"""The experiments of the kernel Gibbs sampler, run in small and checked by other means."""

import json

import numpy as np
import pytest
from scipy.optimize import nnls
from tests.helpers.experiments import small_run
from tests.helpers.sphere import integrate

from bayespoint.tools.plots import house_style
from papers.gibbs import curves, plane, posterior, sphere, votes

pytestmark = pytest.mark.xdist_group("gibbs")  # one run for all


@pytest.fixture(scope="module")
def run():
    return small_run("gibbs")[0]


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.ChainsDisagreeWarning")
def test_quick_run(run):
    titles = [table.title for table in run.result.tables]
    assert any(title.startswith("Figure 3") for title in titles)
    assert any(title.startswith("Figure 4") for title in titles)
    diversity = run.result.tables[1]
    errors = [row.values[0] for row in diversity.rows]
    assert errors == sorted(errors)
    for figure in run.result.figures:
        json.dumps(figure.data, allow_nan=False)
        with house_style():
            assert figure.draw().axes


def test_figure_1_counts_errors():
    X, y = sphere.draw_set("uniform", 10, 0.2, np.random.default_rng((0, 10)))
    surface = posterior.log_posterior(X, y)
    assert surface.max() == 0
    missing = set()
    for row, column in ((30, 50), (60, 60), (100, 7)):
        latitude, longitude = np.radians(-90 + 1.5 * row), np.radians(3 * column)
        w = np.append(np.cos(latitude) * np.exp(1j * longitude), np.sin(latitude))
        w = np.array([w[0].real, w[0].imag, w[1].real])
        errors = (y * (X @ w) <= 0).sum()
        missing.add(round(errors + surface[row, column] / np.log(4), 6))
    assert len(missing) == 1  # the fewest errors anywhere


@pytest.mark.parametrize("m", [10, 200])
def test_figure_1_integrals(m):
    """On rings around some direction, as on slices of the whole sphere."""
    X, y = sphere.draw_set("uniform", m, 0.2, np.random.default_rng((0, m)))
    _, law, mean, _ = integrate(X, y).posterior(0.2)
    centre = mean / np.linalg.norm(mean)
    spread = 1.0 if m == 10 else 0.1
    nearby = centre + spread * np.random.default_rng(0).normal(size=(500, 3))
    nearby /= np.linalg.norm(nearby, axis=1, keepdims=True)
    n_errors, found = posterior.integrate(X, y, nearby)
    assert n_errors == pytest.approx(law @ np.arange(m + 1), rel=2e-3)
    np.testing.assert_allclose(found, mean, atol=2e-3)


def test_figure_1_is_sampled():
    table = posterior.posterior_table([posterior.solve_posterior(10, seed=0)])
    assert table.rows[0].verdict == "agrees"
    assert table.rows[0].values[2] < 3  # degrees
    far = posterior.solve_posterior(10, seed=0)
    wrong = posterior.posterior_table([far._replace(n_errors=far.n_errors + 0.5)])
    assert "apart" in wrong.rows[0].verdict


@pytest.mark.parametrize("convention", list(sphere.CONVENTIONS))
def test_points_are_on_the_sphere(convention):
    X, y = sphere.draw_set(convention, 500, 0.05, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
    wrong = (np.where(X @ sphere.PLANE > 0, 1, -1) != y).mean()
    assert 0.02 < wrong < 0.09


def test_the_svm_is_a_hard_margin_with_a_ridge():
    """Its dual, max sum a - a.Q a / 2 with Q = yy (K + lambda I) and a >= 0, has the same w."""
    X, y = sphere.draw_set("uniform", 30, 0.1, np.random.default_rng(0))
    for ridge in (0.1, 10.0):
        w = sphere.support_vectors(ridge).fit(X, y).coef_[0]
        Q = np.outer(y, y) * (X @ X.T + ridge * np.eye(30))
        root = np.linalg.cholesky(Q).T
        alpha, _ = nnls(root, np.linalg.solve(root.T, np.ones(30)))
        np.testing.assert_allclose(w, (alpha * y) @ X, atol=1e-2 * np.abs(w).max())


def test_pairs_that_differ():
    signs = np.array([[1, 1, -1], [1, 1, 1]])
    assert plane.pairs_that_differ(signs) == pytest.approx((2 / 3 + 0) / 2)


def test_rejection_leaves_the_surest():
    score, truth = np.array([0.1, -0.9, 0.5, -0.2]), np.array([-1, -1, 1, 1])
    assert votes.rejected(score, truth)[0] == 0.5
    assert votes.rejected(score, truth)[-1] == 0.0


def test_learning_curves_are_paired():
    one, other = (curves.solve_curves(n_sets=2, n_labels=4, thin=2, seed=3) for _ in range(2))
    assert [run.q for run in one] == [0.0, 0.05]
    for run, again in zip(one, other, strict=True):
        assert run.n_labels.tolist() == [2, 3, 4]
        assert run.active.shape == run.random.shape == (2, 3)
        np.testing.assert_array_equal(run.active[:, 0], run.random[:, 0])  # the same start
        assert (run.active[:, 1:] != run.random[:, 1:]).any()
        np.testing.assert_array_equal(run.active, again.active)
        np.testing.assert_array_equal(run.random, again.random)
    assert (one[0].active != one[1].active).any()


def test_only_labels_of_the_pool_are_flipped():
    clean, noisy = (curves.draw_task(q, np.random.default_rng(0)) for q in (0.0, 0.05))
    np.testing.assert_array_equal(clean.X, noisy.X)
    np.testing.assert_array_equal(clean.y_test, noisy.y_test)
    np.testing.assert_allclose(np.linalg.norm(clean.X, axis=1), 1)
    assert 2 < (clean.labels != noisy.labels).sum() < 30  # of 300, 15 on average


def test_table_of_learning_curves():
    n_labels = np.arange(2, 11)
    shift = np.arange(12)[:, None] % 3
    random = 0.3 + 0.01 * shift * np.ones(9)
    active = random - 0.001 * n_labels - 0.002 * shift
    table = curves.curves_table([curves.Curves(0.0, n_labels, active, random)])
    assert [column.name for column in table.columns] == ["2 labels", "5 labels", "10 labels"]
    gap = table.rows[-1]
    assert gap.name == "q = 0, random minus entropy"
    np.testing.assert_allclose(gap.values, [0.4, 0.7, 1.2])
    np.testing.assert_allclose(gap.standard_errors, 0.2 * np.sqrt(8 / 11 / 12))
    assert gap.verdict.startswith("it pays")


def test_verdict_on_active_learning():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=30)
    noise -= noise.mean()
    assert curves.judge(noise + 1).startswith("it pays")
    assert curves.judge(noise - 1) == "random labels are better"
    assert curves.judge(noise[:4] + 9) == "too few data sets to tell"
    assert curves.judge(noise) == "no difference beyond chance"

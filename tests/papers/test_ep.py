"""The experiments of the slides on Bayesian classification, checked by other means."""

import json
from dataclasses import asdict
from io import StringIO
from math import erfc, exp, pi, prod, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rich.console import Console
from scipy.integrate import dblquad, quad
from scipy.optimize import minimize
from scipy.special import log_expit, log_ndtr, ndtr
from scipy.stats import entropy, multivariate_normal, norm

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation
from bayespoint.tools.plots import house_style
from papers import Context, ep, perform, write_index, write_run
from papers.base import Column, Row, Table
from papers.cells import table_heads, table_rows
from papers.command import result_table
from papers.ep import bumps as plane
from papers.ep import digits, two_weights
from papers.ep.bumps import CENTRES, WIDTHS, bumps, uncertainty
from papers.ep.digits import DigitsRun, best
from papers.ep.exact import Moments, exact_moments, log_joint, points_of_grid
from papers.ep.methods import EP, LAPLACE, METHODS, Method, Scores
from papers.ep.two_weights import (
    BANDS,
    draw_data,
    ellipse,
    learn_from,
    levels,
    verdict,
)

LIKELIHOODS = {"probit": log_ndtr, "logistic": log_expit}


@pytest.fixture(scope="module")
def run():
    return perform(ep.EXPERIMENT, Context())


# The exact posterior over two weights ----------------------------------------------------------


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_grid_against_adaptive_quadrature(name):
    X, y = draw_data(1)
    X, y = X[:3], y[:3]
    signed = (X * y[:, None]).tolist()
    link = {"probit": lambda t: erfc(-t / sqrt(2)) / 2, "logistic": lambda t: 1 / (1 + exp(-t))}

    def joint(w1, w2):
        prior = exp(-(w1**2 + w2**2) / 8) / (8 * pi)
        return prior * prod(link[name](x1 * w1 + x2 * w2) for x1, x2 in signed)

    def integral(weight):
        box = (-14, 14, -14, 14)
        return dblquad(lambda b, a: weight(a, b) * joint(a, b), *box, epsabs=1e-7)[0]

    exact = exact_moments(X, y, LIKELIHOODS[name], prior_scale=2.0)
    total = integral(lambda a, b: 1.0)
    assert exact.log_evidence == pytest.approx(np.log(total), abs=1e-6)
    assert exact.mean[0] == pytest.approx(integral(lambda a, b: a) / total, abs=1e-5)
    product = integral(lambda a, b: a * b) / total - exact.mean.prod()
    assert exact.covariance[0, 1] == pytest.approx(product, abs=1e-5)


def test_grid_of_a_gaussian_likelihood_is_the_closed_form():
    X, y = draw_data(2)
    exact = exact_moments(X, y, lambda margin: -np.square(margin - 1) / 2, 3.0)
    precision = X.T @ X + np.eye(2) / 9
    assert_allclose(exact.covariance, np.linalg.inv(precision), rtol=1e-9)
    assert_allclose(exact.mean, np.linalg.solve(precision, X.T @ y), rtol=1e-9)
    labels = multivariate_normal(np.zeros(20), np.eye(20) + 9 * X @ X.T).logpdf(y)
    assert exact.log_evidence == pytest.approx(labels + 10 * np.log(2 * np.pi), abs=1e-9)


def test_one_label_is_exact():
    """EP is exact for one label; the same point with both labels lets the machine see two."""
    X, y = np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([1, -1])
    one = learn_from(EP, X, y)  # the point 0 says nothing
    assert one.exact.log_evidence == pytest.approx(np.log(1 / 4), abs=1e-9)
    assert_allclose(list(one.distances.values()), 0, atol=1e-6)


# Two weights -----------------------------------------------------------------------------------


def test_alternating_labels_are_no_loss_of_generality():
    X, y = draw_data(5)
    assert y.tolist() == [1, -1] * 10
    assert np.unique((X @ [1.0, 2.0] * y) > 0).tolist() == [False, True]  # some labels are wrong
    signs = np.where(np.arange(20) % 3, 1, -1)
    same = exact_moments(X * signs[:, None], y * signs, log_ndtr, 3.0)
    for one, other in zip(same, exact_moments(X, y, log_ndtr, 3.0), strict=True):
        assert_allclose(one, other, atol=1e-12)


def test_table_of_two_weights(run):
    """Against importance sampling from EP's own posterior."""
    X, y = draw_data(0)
    rows = {row.name: row for row in run.result.tables[0].rows}
    assert len(rows) == 3 * len(METHODS)
    rng = np.random.default_rng(0)
    for n in (4, 6, 20):
        engine = ExpectationPropagation(prior_scale=3.0)
        clf = BayesPointClassifier(
            kernel="linear", temperature=1.0, fit_intercept=False, engine=engine
        ).fit(X[:n], y[:n])
        gaussian = multivariate_normal(clf.posterior_.mean[:, 0], clf.posterior_.covariance[0])
        W = gaussian.rvs(200_000, random_state=rng)
        prior = multivariate_normal(np.zeros(2), 9 * np.eye(2))
        joint = log_ndtr(W @ X[:n].T * y[:n]).sum(axis=1) + prior.logpdf(W)
        weights = np.exp(joint - gaussian.logpdf(W))
        standard_error = weights.std() / weights.mean() / np.sqrt(len(W))
        estimate, exact = rows[f"n = {n}, EP"].values[2:]
        assert estimate == clf.log_evidence_[0]
        assert exact == pytest.approx(np.log(weights.mean()), abs=5 * standard_error)
        assert abs(estimate - np.log(weights.mean())) > 5 * standard_error  # EP is not exact
        assert rows[f"n = {n}, EP"].verdict == "agrees within bands"
        mean = np.average(W, axis=0, weights=weights)
        covariance = np.cov(W.T, aweights=weights)
        off = np.linalg.norm(covariance - gaussian.cov) / np.linalg.norm(covariance)
        assert rows[f"n = {n}, EP"].values[1] == pytest.approx(100 * off, abs=1.5)
        assert_allclose(mean, clf.posterior_.mean[:, 0], atol=0.05)


def test_laplace_sits_on_the_peak_of_its_own_model():
    X, y = draw_data(0)
    one = learn_from(LAPLACE, X, y)

    def fall(w):
        return -log_joint(w[None], X, y, log_expit, 3.0)[0]

    peak = minimize(fall, np.zeros(2), tol=1e-10)
    assert_allclose(one.gaussian.mean, peak.x, atol=1e-4)
    volume = np.log(2 * np.pi) + np.linalg.slogdet(one.gaussian.covariance)[1] / 2
    assert one.gaussian.log_evidence == pytest.approx(volume - peak.fun, abs=1e-6)
    # The control: of the probit model the peak is elsewhere.
    other = minimize(lambda w: -log_joint(w[None], X, y, log_ndtr, 3.0)[0], np.zeros(2))
    assert np.abs(one.gaussian.mean - other.x).max() > 0.1


def test_verdicts_name_what_is_beyond_the_bands():
    assert verdict(dict.fromkeys(BANDS, 0.1)) == "agrees within bands"
    assert verdict({"mean": 5.1, "covariance": 14.9, "log Z": -0.16}) == "worse in mean, log Z"


def test_regions_of_highest_density_of_a_gaussian_are_ellipses():
    axis = np.linspace(-6, 6, 301)
    covariance = np.array([[1.0, 0.5], [0.5, 0.8]])
    gaussian = multivariate_normal(np.zeros(2), covariance)
    heights = levels(gaussian.pdf(points_of_grid(axis, axis)))
    for radius, height in zip((2, 1), heights, strict=True):
        points = ellipse(Moments(np.zeros(2), covariance, 0.0), radius)
        assert_allclose(gaussian.pdf(points.T), height, rtol=5e-3)


# The plane -------------------------------------------------------------------------------------


def test_bumps_are_gaussian_densities():
    X = np.random.default_rng(0).uniform(-2, 2, (7, 2))
    expected = [
        multivariate_normal(centre, width**2).pdf(X) for width in WIDTHS for centre in CENTRES
    ]
    assert_allclose(bumps(X, True), np.transpose(expected), rtol=1e-12)
    assert_allclose(bumps(CENTRES, False).max(axis=0), np.ones(225), rtol=1e-15)
    assert sorted({tuple(centre) for centre in CENTRES})[:2] == [(-1.0, -1.0), (-1.0, -0.5)]
    assert WIDTHS[[0, -1]] == pytest.approx([0.1, 1.6])


def test_data_of_the_plane():
    data = plane.draw_data(0)
    clean = np.sign(np.sin(3 * data.X_test[:, 0]) - 1.2 * data.X_test[:, 1] + 0.2)
    assert (data.y_test == clean).all()
    flipped = (data.y_train != plane.true_labels(data.X_train)).mean()
    assert abs(flipped - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 500)
    assert np.abs(np.vstack([data.X_train, data.X_test])).max() <= 1


def test_tables_of_the_plane(run):
    """Error, log-loss and p far away from mean and covariance alone."""
    data = plane.draw_data(0)
    for n, table in zip((100, 500), run.result.tables[1:3], strict=True):
        rows = {row.name: row for row in table.rows}
        assert len(rows) == 2 * len(METHODS)
        for features, normalised in {"densities": True, "bumps": False}.items():
            engine = ExpectationPropagation(prior_scale=10.0)
            Z = bumps(data.X_train[:n], normalised)
            clf = BayesPointClassifier(
                kernel="linear", temperature=1.0, fit_intercept=False, engine=engine
            ).fit(Z, data.y_train[:n])
            Z = bumps(np.vstack([data.X_test, [[3.0, 3.0]]]), normalised)
            variance = (Z @ clf.posterior_.covariance[0] * Z).sum(axis=1)
            p = ndtr(Z @ clf.posterior_.mean[:, 0] / np.sqrt(1 + variance))
            right = np.where(data.y_test > 0, p[:-1], 1 - p[:-1])
            expected = (100 * np.mean(right < 0.5), -np.log(right).mean(), clf.log_evidence_[0])
            values = rows[f"{features}, EP"].values
            assert values[:3] == pytest.approx(expected, rel=1e-9)
            assert values[3:] == pytest.approx((clf.n_iter_, p[-1]), rel=1e-9)
    assert all(abs(row.values[4] - 0.5) < 0.02 for row in run.result.tables[1].rows[: len(METHODS)])


def test_uncertainty_against_quadrature():
    means, deviations = (
        grid.ravel() for grid in np.meshgrid([-4, 0, 0.7, 9], [0.01, 0.19, 0.21, 1, 5, 90])
    )
    parts = uncertainty(means, deviations**2)
    for mean, deviation, data in zip(means, deviations, parts.data, strict=True):

        def integrand(f, mean=mean, deviation=deviation):
            return entropy([ndtr(f), ndtr(-f)], base=2) * norm.pdf(f, mean, deviation)

        low, high = max(mean - 9 * deviation, -9), min(mean + 9 * deviation, 9)
        assert data == pytest.approx(quad(integrand, low, high, limit=200)[0], abs=1e-7)
    whole = entropy([parts.probability, 1 - parts.probability], base=2)
    assert_allclose(parts.data + parts.model, whole, atol=1e-9)


def test_uncertainty_against_draws_from_the_posterior():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] + rng.normal(size=30) > 0
    clf = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine="ep", fit_intercept=False
    ).fit(X, y)
    new = rng.normal(size=(5, 2)) * 3
    parts = uncertainty(*clf.latent_mean_and_variance(new))
    each = entropy(clf.sample_proba(new, 4000, random_state=0), base=2, axis=2)
    tolerance = 5 * each.std(axis=0) / np.sqrt(4000)
    assert (np.abs(each.mean(axis=0) - parts.data) < tolerance).all()
    # The control: entropies of another posterior are told apart.
    other = uncertainty(*(2 * part for part in clf.latent_mean_and_variance(new)))
    assert (np.abs(each.mean(axis=0) - other.data) > tolerance).any()


# Digits ----------------------------------------------------------------------------------------


def scored(variance, error, evidence, method=EP):
    return DigitsRun(None, method, variance, Scores(error, 0.1, evidence, 1))


def test_best_scale_prefers_the_smaller_of_two_equal_ones():
    runs = [scored(0.1, 0.02, -5.0), scored(1.0, 0.01, -3.0), scored(10.0, 0.01, -4.0)]
    assert best(runs, EP, "evidence").variance == 1.0
    assert best(runs, EP, "error").variance == 1.0
    assert best(runs, EP, "log-loss").variance == 0.1
    assert digits.verdict(runs[1], runs) == "best in evidence, error"
    assert digits.verdict(runs[2], runs) == ""


def test_caption_says_what_the_choice_by_evidence_costs():
    _, (pair, _) = digits.load_pairs(Context())
    n = len(pair.split.y_test)
    runs = [scored(0.1, 3 / n, -5.0), scored(1.0, 5 / n, -3.0)]
    words = digits.table_caption(pair, runs)
    assert "EP's evidence chooses τ² = 1, with 5 errors; the minimum is 3, at τ² = 0.1" in words
    assert f"With {n} test images, 2 of EP's 2 error rates" in words


def test_tables_of_digits(run):
    _, pairs = digits.load_pairs(Context())
    for pair, table in zip(pairs, run.result.tables[3:], strict=True):
        assert set(pair.split.y_train) == set(pair.split.y_test) == set(pair.digits)
        assert len(table.rows) == 5 * len(METHODS)
        for row, variance in zip(table.rows, (0.01, 0.1, 1.0, 10.0, 100.0), strict=False):
            engine = ExpectationPropagation(prior_scale=np.sqrt(variance))
            clf = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine).fit(
                *pair.split[:2]
            )
            assert row.values[0] == pytest.approx(100 - 100 * clf.score(*pair.split[2:]))
            assert row.values[2:] == (clf.log_evidence_[0], clf.n_iter_)
            n, rate = len(pair.split.y_test), row.values[0] / 100
            expected = 100 * np.sqrt(rate * (1 - rate) / (n - 1))
            assert row.standard_errors[0] == pytest.approx(expected)
        for method in METHODS:
            own = [row for row in table.rows if row.name.startswith(f"{method.name}, ")]
            chosen = max(own, key=lambda row: row.values[2])
            assert "evidence" in chosen.verdict
            assert sum("evidence" in row.verdict for row in own) == 1


def test_images_are_the_weights(run):
    _, pairs = digits.load_pairs(Context())
    figure = next(figure for figure in run.result.figures if figure.name == "digits")
    for pair, shown in zip(pairs, figure.data["pairs"], strict=True):
        clf = BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep").fit(
            *pair.split[:2]
        )
        assert_allclose(np.ravel(shown["mean"]), clf.coef_[0], atol=1e-4)
        variances = np.diag(clf.posterior_.covariance[0])[:-1]
        assert_allclose(np.ravel(shown["variance"]), variances, atol=1e-4)
        assert np.shape(shown["mean"]) == (8, 8)
        unused = ~pair.split.X_train.any(axis=0)
        assert unused.any()
        assert_allclose(variances[unused], 1.0)  # nothing was learned


def test_full_run_reads_the_data_folder(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.array([1, 8, 9, 3] * 40)
    images = rng.integers(100, size=(160, 5, 5)) + 12 * labels[:, None, None]
    X, y = images.astype(np.uint8), labels.astype(np.uint8)
    np.savez(tmp_path / "mnist.npz", Xtr=X[:100], ytr=y[:100], Xte=X[100:], yte=y[100:])
    result = ep.EXPERIMENT.run(Context(full=True, data=tmp_path))
    assert "MNIST" in result.setting["digits"]
    assert "50 and 30 of 1 against 8" in result.setting["digits"]
    figure = next(figure for figure in result.figures if figure.name == "digits")
    assert np.shape(figure.data["pairs"][0]["mean"]) == (5, 5)
    assert len(result.tables) == 5


# What is written -------------------------------------------------------------------------------


def test_quick_run_claims_nothing_about_mnist(run):
    assert "not the slides' MNIST" in run.result.setting["digits"]
    assert all("slides" in table.caption for table in run.result.tables[:2])
    assert run.document["warnings"] == []


def test_every_picture_is_drawn_and_has_its_numbers(run, tmp_path):
    write_run(run, tmp_path)
    names = {"two-weights", "plane-densities", "plane-bumps", "digits", "scales"}
    folder = tmp_path / "ep" / "quick"
    assert {path.stem for path in folder.glob("*.png")} == names
    for figure in run.result.figures:
        written = json.loads((folder / f"{figure.name}.json").read_text(encoding="utf-8"))
        assert written["data"] == figure.data
    page = write_index(tmp_path).read_text(encoding="utf-8")
    for table in run.document["tables"]:
        for name, *numbers, _ in table_rows(table):
            cells = "".join(f"<td>{number}</td>" for number in numbers)
            assert f'<th scope="row">{name}</th>{cells}' in page


def test_tables_fit_a_terminal(run):
    text = StringIO()
    console = Console(file=text, width=80)
    for table in run.document["tables"]:
        console.print(result_table(table))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    for table in run.document["tables"]:
        for name, *numbers, _ in table_rows(table):
            assert all(any(word in line for line in lines) for word in name.split())
            assert all(any(number in line for line in lines) for number in numbers)


def test_panels_are_drawn_to_scale(run):
    figures = {figure.name: figure for figure in run.result.figures}
    with house_style():
        for name in ("two-weights", "plane-densities", "digits"):
            panels = [ax for ax in figures[name].draw().axes if ax.images]
            assert panels
            assert all(ax.get_aspect() == 1 for ax in panels)


def test_another_method_joins_tables_and_pictures(monkeypatch):
    """The one list of methods is all that names them."""
    other = Method("EP in parallel", parallel, "probit", log_ndtr, "black")
    for module in (ep, plane, digits, two_weights):
        monkeypatch.setattr(module, "METHODS", (EP, other))
    result = ep.EXPERIMENT.run(Context())
    assert "EP in parallel (probit likelihood)" in result.setting["methods"]
    for table in result.tables:
        rows = [row for row in table.rows if "EP in parallel" in row.name]
        assert len(rows) == len(table.rows) / 2
    for row, same in zip(result.tables[0].rows[::2], result.tables[0].rows[1::2], strict=True):
        assert same.values == pytest.approx(row.values, abs=1e-3)  # both schedules end the same
    for figure in result.figures:
        figure.draw()


def parallel(prior_scale):
    return ExpectationPropagation(prior_scale=prior_scale, schedule="rounds")


def test_cells_of_a_table():
    columns = (Column("a", 1), Column("b", 3))
    rows = (Row("x", (1.25, None), "better"), Row("y", (2.0, 0.5)))
    content = asdict(Table("title", "caption", columns, rows))
    assert table_heads(content) == ["", "a", "b", "verdict"]
    assert table_rows(content) == [["x", "1.2", "–", "better"], ["y", "2.0", "0.500", ""]]

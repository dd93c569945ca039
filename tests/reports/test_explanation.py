"""One row, explained."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from scipy.special import entr, logit, ndtr
from scipy.stats import truncnorm
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.active import bald
from bayespoint.engines import ExpectationPropagation
from bayespoint.reports import ExplanationDisplay, explain
from bayespoint.reports.explanation import novelty

X, Y = load_iris(return_X_y=True)


def problem(n, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, 2))
    return points, (points[:, 0] + 0.7 * rng.standard_normal(n) > 0).astype(int)


def test_probability_and_uncertainty_are_those_of_the_classifier():
    points, y = problem(40)
    clf = BayesPointClassifier(kernel="linear", temperature=1.0).fit(points, y)
    new, _ = problem(5, seed=1)
    p, information = clf.predict_proba(new), bald(clf, new)
    mean, variance = clf.latent_mean_and_variance(new)
    for i, one in enumerate(explain(clf, new)):
        assert one.label == p[i].argmax()
        assert one.probability == p[i].max()
        sign, width = (1 if one.label else -1), 1.645 * np.sqrt(variance[i])
        exact = ndtr(sign * mean[i] - width), ndtr(sign * mean[i] + width)
        np.testing.assert_allclose(one.interval, exact, atol=0.03)
        assert one.model_uncertainty == pytest.approx(information[i], abs=0.02)
        total = one.data_uncertainty + one.model_uncertainty
        assert total == pytest.approx(entr(p[i]).sum(), abs=0.02)


def exact_draws(Z, y, n_draws, rng):
    """Weights of the probit posterior by data augmentation (Albert and Chib 1993)."""
    sign = 2 * y - 1
    covariance = np.linalg.inv(np.eye(Z.shape[1]) + Z.T @ Z)
    root, w, drawn = np.linalg.cholesky(covariance), np.zeros(Z.shape[1]), []
    for step in range(n_draws + 100):
        mean = sign * (Z @ w)
        hidden = sign * truncnorm.rvs(-mean, np.inf, loc=mean, random_state=rng)
        w = covariance @ (Z.T @ hidden) + root @ rng.standard_normal(len(w))
        if step >= 100:
            drawn.append(w)
    return np.array(drawn)


def test_interval_has_ninety_per_cent_of_the_exact_posterior():
    rng, shares, wrong = np.random.default_rng(0), [], []
    for seed in range(5):
        points, y = problem(12, seed)
        clf = BayesPointClassifier(kernel="linear", temperature=1.0).fit(points, y)
        drawn = exact_draws(np.column_stack([points, np.ones(12)]), y, 400, rng)
        new, _ = problem(4, seed + 100)
        for row, one in zip(new, explain(clf, new), strict=True):
            p = ndtr((drawn @ np.append(row, 1.0)) * (1 if one.label else -1))
            low, high = one.interval
            shares.append(np.mean((low <= p) & (p <= high)))
            middle, half = (low + high) / 2, (high - low) / 4
            wrong.append(np.mean(np.abs(p - middle) <= half))  # half as wide must fail
    assert abs(np.mean(shares) - 0.9) < 0.03
    assert np.mean(wrong) < 0.75


@pytest.mark.parametrize("held_back", [0, 3])
def test_rows_of_an_unknown_class_are_novel(held_back):
    D, digit = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(digit))
    D, digit = D[order] / 16, digit[order]
    train = np.flatnonzero(digit != held_back)[:500]
    test = np.arange(900, 1500)
    clf = BayesPointClassifier(kernel="rbf", engine="laplace").fit(D[train], digit[train] % 2)
    p = novelty(clf.model_.transform(D[train]), clf.model_.transform(D[test]))
    is_new = digit[test] == held_back
    assert roc_auc_score(is_new, -p) > 0.9
    assert (p[~is_new] <= 0.1).mean() < 0.1 + 5 * np.sqrt(0.09 / 500)  # a p-value
    (one,) = explain(clf, D[test[:1]])
    assert one.novelty == pytest.approx(p[0])


def test_novelty_is_a_rank_among_left_out_rows():
    """The slow version: each training row against a matrix without it."""
    rng = np.random.default_rng(0)
    known, new = rng.standard_normal((12, 20)), rng.standard_normal((3, 20))
    noise = 0.1 * np.square(known).sum(axis=1).mean()

    def left(z, rows):
        inverse = np.linalg.inv(rows @ rows.T + noise * np.eye(len(rows)))
        return 1 - (rows @ z) @ inverse @ (rows @ z) / (z @ z)

    others = [left(known[i], np.delete(known, i, axis=0)) for i in range(12)]
    slow = [(1 + np.sum(others >= left(z, known) - 1e-9)) / 13 for z in new]
    np.testing.assert_allclose(novelty(known, new), slow)


def test_perceptrons_have_no_novelty():
    points, labels = problem(40)
    clf = BayesPointClassifier(engine="perceptron", kernel="rbf", ridge="mean", random_state=0)
    (one,) = explain(clf.fit(points, labels), points[:1], training=points)
    assert one.novelty is None and one.probability == clf.predict_proba(points[:1]).max()


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "joint"])
def test_voices_add_up_to_the_output(multi_class):
    clf = BayesPointClassifier(kernel="linear", multi_class=multi_class).fit(X[::2], Y[::2])
    mean, _ = clf.latent_mean_and_variance(X[[71]])
    (one,) = explain(clf, X[[71]])
    total = sum(voice.weight for voice in one.voices)
    assert total == pytest.approx(mean[0, one.label], rel=1e-4)
    assert one.voices[0].label == one.label
    assert all(Y[::2][voice.row] == voice.label for voice in one.voices)
    two = BayesPointClassifier(kernel="rbf").fit(X[:100:2], Y[:100:2])
    for row in (1, 71):
        (one,) = explain(two, X[[row]])
        mean, _ = two.latent_mean_and_variance(X[[row]])
        total = sum(voice.weight for voice in one.voices)
        assert total == pytest.approx(abs(mean[0]), rel=1e-4)


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_voices_do_not_depend_on_the_unit(size):
    machines = []
    for unit in (1.0, size):
        engine = ExpectationPropagation(prior_scale=1 / unit)
        machine = BayesPointClassifier(
            kernel="linear", fit_intercept=False, engine=engine, multi_class="one_vs_rest"
        )
        machines.append(machine.fit(unit * X, Y))
    (one,), (other,) = explain(machines[0], X[[71]]), explain(machines[1], size * X[[71]])
    weights = [[voice.weight for voice in told.voices] for told in (one, other)]
    np.testing.assert_allclose(*weights, rtol=1e-5, atol=1e-9)


def test_features_push_as_much_as_replacing_them_changes():
    points, y = problem(60)
    points = points * [100, 1] + [50, 0]
    clf = BayesPointClassifier(kernel="linear", standardize=True).fit(points, y)
    new = np.array([[250.0, 0.1]])
    (one,) = explain(clf, new)
    middle = np.median(points, axis=0)
    assert [push.name for push in one.features] == ["x0", "x1"]
    for push in one.features:
        j = int(push.name[1])
        assert push.typical == pytest.approx(middle[j])
        assert push.value == new[0, j]
        other = new.copy()
        other[0, j] = middle[j]
        p, q = (clf.predict_proba(one)[0, 1] for one in (new, other))
        assert push.push == pytest.approx(logit(p) - logit(q))


def test_tables_with_categories():
    kind = np.where(Y == 2, "u", "v")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=kind)
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), list("abcd")))
    clf = make_pipeline(columns, BayesPointClassifier(kernel="linear")).fit(frame, Y)
    (one,) = explain(clf, frame[120:121], training=frame)
    pushes = {push.name: push for push in one.features}
    assert set(pushes) == {"a", "b", "c", "d", "kind"}
    assert (pushes["kind"].value, pushes["kind"].typical) == ("u", "v")
    assert pushes["kind"].push > 0
    assert one.novelty is not None
    told = str(one)
    assert "kind = u (typical v)" in told
    assert len(told.splitlines()) <= 11  # one screen


def table_with_gaps():
    """Numbers and categories, of which a third of the cells is missing; labels follow a number."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=80), "city": rng.choice(["Kiel", "Ulm"], 80)})
    table["member"], table["b"] = rng.random(80) < 0.5, rng.normal(size=80)
    table.loc[::3, ["city", "b"]] = np.nan
    return table, (table["a"] > 0).to_numpy()


def test_a_column_without_a_single_value():
    """Rows that all lack a cell: what is typical of them is that it is missing."""
    table, y = table_with_gaps()
    clf = BayesPointClassifier(random_state=0).fit(table, y)
    for one in explain(clf, table[::3][:3]):
        pushes = {push.name: push for push in one.features}
        assert max(abs(pushes[name].push) for name in ("city", "b")) < 1e-9
        assert pd.isna(pushes["city"].typical) and pd.isna(pushes["b"].typical)
        assert "city = missing (typical missing)" in str(one)


def test_data_frames_of_polars():
    polars = pytest.importorskip("polars")
    table, y = table_with_gaps()
    clf = BayesPointClassifier(random_state=0).fit(table, y)
    expected = explain(clf, table[:2], training=table)
    other = polars.from_pandas(table)
    clf = BayesPointClassifier(random_state=0).fit(other, y)
    assert [str(one) for one in explain(clf, other[:2], training=other)] == list(map(str, expected))


def test_display_and_errors():
    clf = BayesPointClassifier(kernel="linear").fit(X, Y)
    display = ExplanationDisplay(explain(clf, X[:1])[0]).plot(n_features=3)
    assert len(display.ax_.patches) == 3
    assert "p = " in display.ax_.get_title()
    with pytest.raises(TypeError, match="needs a BayesPointClassifier"):
        explain(LogisticRegression(max_iter=1000).fit(X, Y), X)

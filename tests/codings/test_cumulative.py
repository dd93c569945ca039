"""Ordered classes by separate tasks: probabilities, answers, decisions, and fits of all engines."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.codings import CumulativeCoding, make_coding
from bayespoint.codings.cumulative import LEAST
from bayespoint.engines.base import ENGINES
from bayespoint.reports import explain

SIZES = np.array(["large", "medium", "small"])
ORDER = np.array([2, 1, 0])


def test_labels_are_above_all_lower_classes():
    coding = CumulativeCoding(SIZES, order=ORDER)
    assert coding.encode(np.array([0, 1, 2])).tolist() == [[1, 1], [1, -1], [-1, -1]]
    assert coding.task_names == ["above small", "above medium"]
    assert coding.setting == "cumulative" and coding.n_tasks == 2
    assert coding.at(2.0).order is ORDER
    assert make_coding(SIZES, name="cumulative").ranks.tolist() == [0, 1, 2]
    assert make_coding(SIZES[:2], name="cumulative", order=ORDER[:2]).name == "binary"


def by_a_loop(q):
    """Probabilities of the classes from the lowest on, as the formula says."""
    q = [1.0, *q, 0.0]
    pairs = itertools.pairwise(q)
    p = np.array([max(high - low, LEAST * high * (1 - low)) for high, low in pairs])
    return p / p.sum()


@pytest.mark.parametrize("q", [[0.9, 0.6, 0.2], [0.2, 0.6, 0.9], [0.5, 0.5, 0.5], [1e-9, 1e-12, 0]])
def test_probabilities_are_differences_or_a_share_of_a_product(q):
    q, order = np.array([q]), np.array([3, 0, 2, 1])
    coding = CumulativeCoding(np.arange(4), order=order)
    with np.errstate(divide="ignore"):
        found = coding.probabilities(np.log(q), np.log1p(-q))
    np.testing.assert_allclose(found[0, order], by_a_loop(q[0]), rtol=1e-12, atol=1e-300)
    wrong = np.abs(np.diff([1, *q[0], 0]))  # differences alone
    is_monotone = (np.diff(q[0]) < 0).all()
    assert np.allclose(found[0, order], wrong / wrong.sum()) == is_monotone


def test_probabilities_become_answers_and_come_back():
    rng = np.random.default_rng(0)
    coding = CumulativeCoding(np.arange(4), 2.0, rng.permutation(4))
    p = rng.dirichlet(np.full(4, 5.0), 200)
    again = coding.probabilities(*coding.answers_of(coding.decision_of(p)), temperature=1.0)
    above = p[:, coding.order][:, ::-1].cumsum(axis=1)[:, ::-1]
    product = above * (above - p[:, coding.order] - 1)  # less q_{c-1} (1 - q_c)
    kept = (p[:, coding.order] >= -LEAST * product).all(axis=1)
    assert kept.mean() > 0.9
    np.testing.assert_allclose(again[kept], p[kept], rtol=1e-10)
    assert np.abs(again - p).max() < LEAST / 4
    codes = rng.integers(4, size=200)
    left = coding.left_out(coding.right_answers(p, codes), codes)
    np.testing.assert_allclose(coding.probabilities(*left, temperature=1.0)[kept], p[kept])


def test_sure_answers_keep_their_digits():
    coding = CumulativeCoding(np.arange(4))
    decision = np.array([[60.0, 30.0, -30.0], [800.0, -700.0, -800.0], [-np.inf, -np.inf, -np.inf]])
    log_yes, log_no = -np.logaddexp(0, -decision), -np.logaddexp(0, decision)
    found = coding.log_probabilities(log_yes, log_no)
    np.testing.assert_allclose(found[0], [-60, -30, 0, -30], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[1], [-800, 0, -700, -800], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(np.exp(found[2]), [1, 0, 0, 0])


def test_outputs_are_decided_by_how_many_are_positive():
    coding = CumulativeCoding(SIZES, order=ORDER)
    outputs = np.array([[[-1.0, -2.0], [0.5, -0.5], [-0.1, 1.0], [3.0, 2.0]]])
    assert coding.decide(outputs).tolist() == [[2, 1, 1, 0]]
    np.testing.assert_allclose(coding.sample_shares(outputs), [[0.25, 0.5, 0.25]])
    np.testing.assert_allclose(coding.vote_shares(np.array([[0.5, 0.75]])), [[0.5, 0.25, 0.25]])
    shares = coding.gaussian_shares(np.array([[0.0, -np.inf]]), np.ones((1, 2)))
    np.testing.assert_allclose(shares, [[0, 0.5, 0.5]])


def stages(n=150):
    """Diabetes in four stages."""
    X, progression = load_diabetes(return_X_y=True)
    stage = np.digitize(progression, np.quantile(progression, [0.25, 0.5, 0.75]))
    return scale(X)[:n], stage[:n]


@pytest.mark.parametrize(
    "engine", [name for name in ENGINES if name not in ("knapsack", "perceptron")]
)
def test_all_engines_learn_it(engine):
    """Also those that have no thresholds."""
    X, y = stages()
    settings = {"gibbs": {"engine__n_samples": 50, "engine__burn_in": 20}}
    clf = BayesPointClassifier(
        kernel="linear", engine=engine, ridge=10.0, multi_class="cumulative", random_state=0
    )
    clf.set_params(**settings.get(engine, {}))
    p = clf.fit(X[:100], y[:100]).predict_proba(X[100:])
    assert p.shape == (50, 4)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert np.array_equal(clf.predict(X[100:]), p.argmax(axis=1))
    assert np.abs(p @ np.arange(4) - y[100:]).mean() < np.abs(y[:100].mean() - y[100:]).mean()
    assert clf.posterior_.mean.shape[1] == 3
    if clf.expected_scores_ is not None:
        error = clf.expected_scores_["error"].value
        assert 0.3 < error < 0.75


def test_kernels_are_chosen_and_files_are_read(tmp_path):
    X, y = stages(80)
    names = np.array(["none", "mild", "grave", "worst"])
    pandas = pytest.importorskip("pandas")
    labels = pandas.Categorical(names[y], categories=names, ordered=True)
    clf = BayesPointClassifier(multi_class="cumulative", decision="median").fit(X, labels)
    assert clf.coding_.name == "cumulative"
    assert clf.classes_[clf.coding_.order].tolist() == names.tolist()
    p = clf.predict_proba(X)[:, clf.coding_.order]
    median = (p.cumsum(axis=1)[:, :-1] < 0.5).sum(axis=1)
    assert np.array_equal(clf.predict(X), names[median])
    bayespoint.save(clf, tmp_path / "model")
    again = bayespoint.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
    with pytest.raises(ValueError, match="multi_class='cumulative' needs classes with an order"):
        clf.fit(X, names[y])
    clf.set_params(kernel="linear")
    with pytest.raises(AttributeError) as error:
        clf.partial_fit(X, y)
    assert "multi_class='cumulative' learns from all rows" in str(error.value.__cause__)


def test_perceptrons_learn_classes_that_exclude_each_other():
    X, y = stages(80)
    clf = BayesPointClassifier(kernel="linear", engine="perceptron", multi_class="cumulative")
    with pytest.raises(ValueError, match="PermutedPerceptron learns each class against the rest"):
        clf.fit(X, y)
    with pytest.raises(ValueError, match=r"are Billiard.*, GibbsSampler, KnapsackPropagation and"):
        clf.fit(X, y)


def test_explanations_name_rows_for_the_lowest_and_the_highest_class():
    """Each of them has one task that speaks for it, and those between have none."""
    X, y = stages(80)
    clf = BayesPointClassifier(kernel="linear", multi_class="cumulative").fit(X, y)
    told = explain(clf, X)
    named = {int(one.label): bool(one.voices) for one in told}
    assert len(named) == 4 and named == {0: True, 1: False, 2: False, 3: True}


def test_two_thresholds_in_different_directions():
    """A single output has one direction for all thresholds, separate tasks have one each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 2))
    low, high = (3 * X + rng.normal(size=X.shape)).T
    y = np.where(low < 0, 0, np.where(high < 0, 1, 2))
    losses = {}
    for multi_class in ("ordinal", "cumulative"):
        clf = BayesPointClassifier(kernel="linear", multi_class=multi_class).fit(X[:200], y[:200])
        p = clf.predict_proba(X[200:])
        losses[multi_class] = -np.log(p[np.arange(1000), y[200:]]).mean()
    assert losses["cumulative"] < losses["ordinal"] - 0.05

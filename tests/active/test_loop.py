"""The loop: who is asked for what, and that it pays."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.active import entropy, learn_actively
from bayespoint.engines import ExpectationPropagation, PermutedPerceptron

rng = np.random.default_rng(0)
POOL = rng.normal(size=(30, 2))
LABELS = np.where(POOL @ [1.0, 0.5] > 0, "yes", "no")
EP = BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep")


class Oracle:
    """Knows the labels, and remembers what it was asked for."""

    def __init__(self, labels):
        self.labels, self.asked = labels, []

    def __call__(self, indices):
        self.asked.append(indices.tolist())
        return self.labels[indices]


# What is asked for -------------------------------------------------------------------------------


def test_the_curve_tells_what_was_asked_for():
    oracle = Oracle(LABELS)
    curve = learn_actively(
        EP, POOL, oracle, start=[0, 1, 2, 3], n_queries=7, batch_size=3, random_state=0
    )
    assert [len(indices) for indices in oracle.asked] == [4, 3, 3, 1]
    assert curve.indices.tolist() == [i for indices in oracle.asked for i in indices]
    assert len(set(curve.indices)) == 11
    np.testing.assert_array_equal(curve.labels, LABELS[curve.indices])
    assert curve.n_labels.tolist() == [4, 7, 10, 11]
    assert curve.n_start == 4
    assert curve.scores is None
    fitted = BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep").fit(
        POOL[curve.indices], LABELS[curve.indices]
    )
    np.testing.assert_allclose(
        curve.estimator.decision_function(POOL), fitted.decision_function(POOL)
    )
    assert not hasattr(EP, "posterior_")  # the classifier itself is left alone


def test_scores_are_those_of_the_fits():
    curve = learn_actively(
        EP, POOL, Oracle(LABELS), start=5, n_queries=3, X_test=POOL, y_test=LABELS, random_state=0
    )
    for n, score in zip(curve.n_labels, curve.scores, strict=True):
        asked = curve.indices[:n]
        assert score == BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep").fit(
            POOL[asked], LABELS[asked]
        ).score(POOL, LABELS)


def test_the_whole_pool_can_be_asked_for():
    pool = np.vstack([POOL[:6], POOL[:6]])  # with twins
    curve = learn_actively(EP, pool, Oracle(np.tile(LABELS[:6], 2)), n_queries=10, random_state=0)
    assert sorted(curve.indices) == list(range(12))
    first = curve.indices[curve.n_start : 6] % 6
    assert len(set(first)) == len(first)


def test_nothing_to_ask_for():
    curve = learn_actively(EP, POOL, Oracle(LABELS), start=6, n_queries=0, random_state=0)
    assert curve.n_labels.tolist() == [6]


@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_start_of_one_class_goes_on_until_it_sees_two(batch_size):
    labels = np.zeros(30, dtype=int)
    labels[[7, 20]] = 1
    oracle = Oracle(labels)
    curve = learn_actively(
        EP, POOL, oracle, start=[0, 1], n_queries=28, batch_size=batch_size, random_state=1
    )
    n = curve.n_start
    assert n > 2
    assert set(labels[curve.indices[: n - 1]]) == {0} and labels[curve.indices[n - 1]] == 1
    assert [len(indices) for indices in oracle.asked[: n - 1]] == [2] + (n - 2) * [1]
    # The longer start counts as queries, and the curve meets those of other starts again.
    assert curve.n_labels[0] == n and curve.n_labels[-1] == 30
    assert ((curve.n_labels[1:-1] - 2) % batch_size == 0).all()


def test_one_class_in_all():
    for n_queries in (3, 28):
        with pytest.raises(
            ValueError, match=r"needs two classes, but all \d+ labels .* are 1\.0\. "
        ):
            learn_actively(EP, POOL, Oracle(np.ones(30)), n_queries=n_queries)


def test_the_same_seed_asks_for_the_same():
    def indices(seed, **parameters):
        clf = BayesPointClassifier(engine="perceptron", random_state=0)
        oracle = Oracle(LABELS)
        return learn_actively(
            clf, POOL, oracle, n_queries=9, random_state=seed, **parameters
        ).indices.tolist()

    for parameters in ({}, {"batch_size": 3}, {"strategy": "random"}):
        assert indices(0, **parameters) == indices(0, **parameters)
    assert indices(0) != indices(1)


def test_classes_may_appear_late():
    X, y = load_iris(return_X_y=True)
    curve = learn_actively(
        EP,
        X,
        Oracle(y),
        start=[0, 60],
        n_queries=20,
        batch_size=5,
        strategy="random",
        X_test=X,
        y_test=y,
        random_state=0,
    )
    assert curve.estimator.classes_.tolist() == [0, 1, 2]
    assert curve.scores[-1] > curve.scores[0]


def test_pipelines_frames_and_strings():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(1000 * POOL, columns=["a", "b"], index=np.arange(30) + 100)
    pipeline = make_pipeline(
        StandardScaler(), BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep")
    )
    one = learn_actively(
        pipeline, frame, Oracle(LABELS), start=6, n_queries=6, batch_size=3, random_state=0
    )
    other = learn_actively(
        pipeline, 1000 * POOL, Oracle(LABELS), start=6, n_queries=6, batch_size=3, random_state=0
    )
    np.testing.assert_array_equal(one.indices, other.indices)
    assert one.estimator.feature_names_in_.tolist() == ["a", "b"]
    assert set(one.labels) == {"yes", "no"}


def test_precomputed_kernels():
    clf = BayesPointClassifier(
        temperature=1.0, kernel="precomputed", engine=ExpectationPropagation(prior_scale=1.0)
    )
    plain = BayesPointClassifier(temperature=1.0, kernel="linear", fit_intercept=False, engine="ep")
    parameters = {"start": 4, "n_queries": 6, "y_test": LABELS, "random_state": 0}
    K = POOL @ POOL.T
    one = learn_actively(clf, K, Oracle(LABELS), X_test=K, **parameters)
    other = learn_actively(plain, POOL, Oracle(LABELS), X_test=POOL, **parameters)
    np.testing.assert_array_equal(one.indices, other.indices)
    np.testing.assert_array_equal(one.scores, other.scores)
    with pytest.raises(ValueError, match=r"square matrix .* Got shape \(30, 2\)"):
        learn_actively(clf, POOL, Oracle(LABELS), n_queries=1)


# Oracles that cannot say, fail or are interrupted -------------------------------------------------


@pytest.mark.parametrize("nothing", [None, np.nan])
def test_points_of_which_nobody_can_say_what_they_are(nothing):
    hard = {0, 3, 8, 12}

    def oracle(indices):
        asked.extend(indices.tolist())
        return [nothing if i in hard else int(LABELS[i] == "yes") for i in indices.tolist()]

    asked = []
    curve = learn_actively(EP, POOL, oracle, start=[0, 1, 2, 3, 4, 5], n_queries=20, batch_size=4)
    assert len(asked) == len(set(asked))  # never twice
    assert set(curve.skipped) <= hard and {0, 3} <= set(curve.skipped)
    assert not hard & set(curve.indices.tolist())
    assert len(curve.indices) == 26  # others took their place: 6 of the start, and 20
    assert curve.labels.tolist() == [int(LABELS[i] == "yes") for i in curve.indices]
    assert curve.labels.dtype == (np.int64 if nothing is None else np.float64)
    # A pool that ends before.
    every = learn_actively(EP, POOL, oracle, start=6, n_queries=24, random_state=1)
    assert sorted(every.indices) == sorted(set(range(30)) - hard)
    assert set(every.skipped) == hard


class Broken(Exception):
    pass


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt])
@pytest.mark.parametrize("fail_at", [0, 3, 9, 14])
def test_an_oracle_that_fails_loses_no_label(error, fail_at):
    given = {}

    def oracle(indices):
        """Asks a person, one point after another."""
        for i in indices.tolist():
            if len(given) == fail_at and fail_at >= 0:
                raise error("the person has gone")
            given[i] = LABELS[i]
            yield LABELS[i]

    parameters = {"start": 6, "batch_size": 5, "X_test": POOL, "y_test": LABELS, "random_state": 0}
    with pytest.raises(error) as caught:
        learn_actively(EP, POOL, oracle, n_queries=12, **parameters)
    curve = caught.value.curve
    assert "start=curve" in caught.value.__notes__[0]
    assert dict(zip(curve.indices.tolist(), curve.labels.tolist(), strict=True)) == given
    assert (curve.estimator is None) == (fail_at < 6)
    assert curve.n_labels.tolist() == [n for n in (6, 11) if n <= fail_at]
    # It goes on with them.
    fail_at = -1
    before = dict(given)
    parameters["start"] = curve
    whole = learn_actively(EP, POOL, oracle, n_queries=18 - len(before), **parameters)
    assert whole.indices.tolist() == list(given)  # the earlier ones first, none twice
    assert list(before) == whole.indices[: len(before)].tolist()
    assert whole.n_labels[-1] == len(whole.labels) == 18
    assert len(whole.n_labels) == len(set(whole.n_labels)) == len(whole.scores)
    assert not np.isnan(whole.scores).any()


# That it pays ------------------------------------------------------------------------------------


def certain(clf, X):
    """The negative control: ask where everybody agrees already."""
    return np.log(2) - entropy(clf, X)


def sphere_scores(engine, strategy, seed, batch_size):
    """Accuracy with 42 labels of 300 points on the sphere, cut by a plane through the origin."""
    rng = np.random.default_rng(seed)
    plane = rng.normal(size=10)
    X, X_test = rng.normal(size=(300, 10)), rng.normal(size=(2000, 10))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    curve = learn_actively(
        BayesPointClassifier(
            kernel="linear", temperature=1.0, engine=engine, fit_intercept=False, random_state=0
        ),
        X,
        lambda indices: X[indices] @ plane > 0,
        n_queries=40,
        batch_size=batch_size,
        strategy=strategy,
        X_test=X_test,
        y_test=X_test @ plane > 0,
        random_state=seed,
    )
    return curve.scores[-1]


def standard_errors(differences):
    """How many standard errors the mean lies above zero."""
    return differences.mean() / (differences.std(ddof=1) / np.sqrt(len(differences)))


def compare(engine, batch_size, n_runs):
    return [
        np.array([sphere_scores(engine, strategy, seed, batch_size) for seed in range(n_runs)])
        for strategy in ("entropy", "random", certain)
    ]


@pytest.mark.parametrize(("batch_size", "n_runs"), [(5, 10), (10, 16)])
def test_active_beats_random_beats_certain(batch_size, n_runs):
    active, random, worst = compare(ExpectationPropagation(noise=0.1), batch_size, n_runs)
    assert standard_errors(active - random) > 5
    assert standard_errors(random - worst) > 5


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotSeparableWarning")
def test_active_beats_random_with_samples():
    active, random, worst = compare(PermutedPerceptron(n_samples=20), 5, 10)
    assert standard_errors(active - random) > 5
    assert standard_errors(active - worst) > 5


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("oracle", "message"),
    [
        (lambda i: ["yes"], r"one label for each of the 4 indices\. Got an array of shape \(1,\)"),
        (lambda i: "yes", r"shape \(\)"),
        (lambda i: LABELS[i][:, None], r"shape \(4, 1\)"),
        (lambda i: iter(["yes"]), r"shape \(1,\)"),
        (lambda i: iter(["yes", "no", "no", "no", "no"]), r"shape \(5,\)"),
        (lambda i: [None] * len(i), "two classes, but the oracle gave no label"),
    ],
)
def test_bad_oracles(oracle, message):
    with pytest.raises(ValueError, match=message):
        learn_actively(EP, POOL, oracle, start=4, n_queries=2)


def test_labels_are_no_oracle():
    with pytest.raises(TypeError, match=r"such as lambda i: y\[i\]\. Got ndarray instead"):
        learn_actively(EP, POOL, LABELS, start=4, n_queries=2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_queries": 29}, r"n_queries must be an int in the range \[0, 28\], the rows left"),
        ({"n_queries": -1}, "Got -1"),
        ({"start": 0}, r"start must be an int in the range \[1, 30\].* Got 0"),
        ({"start": 31}, "Got 31"),
        ({"start": []}, "at least one index"),
        ({"start": [1, 1]}, "Got 2 indices, 1 of them distinct"),
        ({"start": [30]}, "from 0 to 29"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"n_draws": 1}, "n_draws must be"),
        ({"strategy": "best"}, "Got 'best'"),
        ({"X_test": POOL}, "must be passed together. Got only X_test"),
        ({"y_test": LABELS}, "must be passed together. Got only y_test"),
        ({"X_test": POOL, "y_test": LABELS[:3]}, "inconsistent numbers of samples"),
    ],
)
def test_bad_parameters_before_anybody_is_asked(parameters, message):
    oracle = Oracle(LABELS)
    with pytest.raises(ValueError, match=message):
        learn_actively(EP, POOL, oracle, **{"n_queries": 3} | parameters)
    assert oracle.asked == []

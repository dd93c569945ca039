"""Which points are chosen: against sorting, brute force, and a slow version of the batch."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import entr
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.helpers.posteriors import gaussian_machine, sampled_machine

from bayespoint import BayesPointClassifier
from bayespoint.active import bald, entropy, query
from bayespoint.active.scores import drawn_outputs, probabilities, seed_from, votes
from bayespoint.active.strategies import SLACK, Committee, kinds
from bayespoint.engines import ExpectationPropagation, FactorisedPropagation

POOL = np.random.default_rng(2).normal(size=(40, 3))
STRATEGIES = ["entropy", "margin", "bald", "random"]


# One point ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "clf",
    [gaussian_machine(), sampled_machine(noise=0.2), gaussian_machine(n_tasks=3)],
    ids=["gaussian", "samples", "several classes"],
)
def test_one_point_is_the_best(clf):
    (best,) = query(clf, POOL, random_state=0)
    assert entropy(clf, POOL)[best] == entropy(clf, POOL).max()
    (best,) = query(clf, POOL, strategy="margin", random_state=0)
    largest = np.sort(clf.predict_proba(POOL), axis=1)
    assert best == (largest[:, -1] - largest[:, -2]).argmin()


@pytest.mark.parametrize("clf", [gaussian_machine(), sampled_machine(n_samples=200, noise=0.2)])
def test_one_point_of_two_classes(clf):
    (best,) = query(clf, POOL, strategy="margin", random_state=0)
    assert best == np.abs(clf.decision_function(POOL)).argmin()
    (best,) = query(clf, POOL, strategy="bald", random_state=0)
    assert best == bald(clf, POOL).argmax()


def test_margins_keep_their_order_where_the_machine_is_nearly_certain():
    clf = gaussian_machine(noise=0.0)
    direction = clf.posterior_.mean[:, 0] / np.linalg.norm(clf.posterior_.mean)
    clf.posterior_.factor = np.eye(3)[None] * np.linalg.norm(clf.posterior_.mean) / 20
    pool = direction + 0.01 * POOL
    assert np.abs(clf.decision_function(pool)).min() > 15
    assert (clf.predict_proba(pool).max(axis=1) == 1).all()  # no difference left in these
    (best,) = query(clf, pool, strategy="margin", random_state=0)
    assert best == np.abs(clf.decision_function(pool)).argmin()


def test_ties_are_broken_at_random_and_reproducibly():
    clf = sampled_machine(n_samples=2)  # entropies are 0 or log 2
    best = np.flatnonzero(entropy(clf, POOL) > 0.5)
    assert len(best) > 3
    first = [int(query(clf, POOL, random_state=seed)[0]) for seed in range(200)]
    assert set(first) == set(best)
    assert first == [int(query(clf, POOL, random_state=seed)[0]) for seed in range(200)]
    counts = np.bincount(first)[best]
    expected = 200 / len(best)
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_mirrored_points_are_a_tie():
    """p and 1 - p have the same entropy, but not always to the last digit."""
    clf = gaussian_machine()
    first = {int(query(clf, [x, -x], random_state=seed)[0]) for seed in range(20) for x in POOL[:1]}
    assert first == {0, 1}


# Batches ------------------------------------------------------------------------------------------


def seed_of_the_draws(random_state):
    """The seed with which query draws classifiers."""
    return int(np.random.default_rng(seed_from(random_state)).integers(2**31))


def slow_batch(worth, answers, n):
    """The definition: conditional variances by inverting the covariance of what is known."""
    answers = answers[..., 1:] if answers.shape[2] == 2 else answers
    n_points, n_classes = answers.shape[1:]
    flat = answers.reshape(len(answers), -1)
    C = np.cov(flat.astype(float), rowvar=False, bias=True).reshape(flat.shape[1], -1)
    noise = (answers * (1.0 - answers)).mean(axis=0).ravel() + SLACK * C.diagonal()
    before = C.diagonal().reshape(n_points, n_classes).sum(axis=1)
    chosen = []
    while len(chosen) < n:
        known = [i * n_classes + y for i in chosen for y in range(n_classes)]
        explained = C[:, known] @ np.linalg.pinv(
            C[np.ix_(known, known)] + np.diag(noise[known]), hermitian=True
        )
        left = (C - explained @ C[known]).diagonal().reshape(n_points, n_classes).sum(axis=1)
        gain = worth * np.divide(left, before, out=np.ones(n_points), where=before > 0)
        gain[chosen] = -1
        chosen.append(int(gain.argmax()))
    return chosen


@pytest.mark.parametrize("strategy", ["entropy", "bald"])
@pytest.mark.parametrize("n_tasks", [1, 3])
@pytest.mark.parametrize("make", [gaussian_machine, sampled_machine])
def test_a_batch_is_the_slow_one(make, n_tasks, strategy):
    clf = make(n_tasks=n_tasks, noise=0.3)
    seed = seed_of_the_draws(0)
    if strategy == "bald":
        worth = bald(clf, POOL, n_draws=200, random_state=seed)
        answers = probabilities(clf, drawn_outputs(clf, POOL, 200, seed))
    else:
        worth, answers = entropy(clf, POOL), votes(clf, drawn_outputs(clf, POOL, 200, seed))
    found = query(clf, POOL, 6, strategy=strategy, random_state=0)
    assert found.tolist() == slow_batch(worth, answers, 6)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_what_is_left_open_is_the_conditional_variance(seed, n_classes):
    rng = np.random.default_rng(seed)
    answers = rng.dirichlet(np.ones(n_classes), size=(30, 5))
    committee, known = Committee(answers), rng.permutation(5)[:3]
    for i in known:
        committee.tell(i)
    a = answers[..., 1:] if n_classes == 2 else answers
    k = a.shape[2]
    C = np.cov(a.reshape(30, -1), rowvar=False, bias=True)
    noise = np.diag((a * (1 - a)).mean(axis=0).ravel() + SLACK * C.diagonal())
    rows = [i * k + y for i in known for y in range(k)]
    left = C - C[:, rows] @ np.linalg.solve((C + noise)[np.ix_(rows, rows)], C[rows])
    share = left.diagonal().reshape(5, k).sum(1) / C.diagonal().reshape(5, k).sum(1)
    np.testing.assert_allclose(committee.left(), share, atol=1e-10)
    assert (share >= 0).all() and (share <= 1 + 1e-12).all()


def joint_entropy(votes):
    """Entropy of the answers to several points together, one row for each classifier."""
    counts = np.bincount(votes @ 2 ** np.arange(votes.shape[1]))
    return entr(counts / counts.sum()).sum()


def test_batches_of_tiny_pools_against_all_batches():
    """Three of eight points, four of which are neighbours: nearly the best of all 56 triples."""
    rng = np.random.default_rng(0)
    shares = []
    for seed in range(20):
        clf = gaussian_machine(d=4, seed=seed)
        clf.posterior_._mean *= 0.3
        pool = rng.normal(size=(8, 4))
        pool[1:4] = pool[0] + 0.05 * rng.normal(size=(3, 4))
        votes = clf.sample_proba(pool, 20_000, random_state=0).argmax(axis=2)
        values = {
            batch: joint_entropy(votes[:, batch]) for batch in itertools.combinations(range(8), 3)
        }
        chosen = query(clf, pool, 3, n_draws=1000, random_state=0)
        top = np.argsort(entropy(clf, pool))[-3:]
        best = max(values.values())
        shares.append([values[tuple(sorted(batch))] / best for batch in (chosen, top)])
    ours, top = np.array(shares).T
    assert ours.min() > 1 - 1 / np.e  # what a greedy choice owes
    assert ours.mean() > 0.97
    assert top.mean() < ours.mean() - 0.02  # the negative control: the three best alone


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["entropy", "margin", "bald"]), st.integers(2, 9))
def test_to_look_at_fewer_points_changes_nothing(seed, strategy, n):
    """The lazy choice is the whole one: from two candidates for each point on, or all at once."""
    clf = gaussian_machine(seed=seed % 7, n_tasks=1 + 2 * (seed % 2), noise=0.5)
    pool = np.random.default_rng(seed).normal(size=(60, 3))
    batches = []
    for short in (2, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("bayespoint.active.strategies.SHORT", short)
            batches.append(query(clf, pool, n, strategy=strategy, random_state=seed).tolist())
    assert batches[0] == batches[1]


def test_only_points_with_a_chance_are_looked_at(monkeypatch):
    looked_at = []

    def counted(machine, X, n_draws, seed):
        looked_at.append(len(X))
        return drawn_outputs(machine, X, n_draws, seed)

    monkeypatch.setattr("bayespoint.active.scores.drawn_outputs", counted)
    for d, limit in ((20, 2000), (2, 5000)):  # in the plane two answers leave little open
        looked_at.clear()
        pool = np.random.default_rng(0).normal(size=(5000, d))
        query(gaussian_machine(d=d), pool, 4, random_state=0)
        assert sum(looked_at) <= limit


def test_neighbours_are_not_asked_together():
    clf = gaussian_machine(d=3)
    crowd = POOL[entropy(clf, POOL).argmax()] + 1e-3 * np.random.default_rng(0).normal(size=(20, 3))
    pool = np.vstack([crowd, POOL])
    chosen = query(clf, pool, 4, random_state=0)
    assert (chosen < 20).sum() <= 1
    assert (np.argsort(entropy(clf, pool))[-4:] < 20).sum() >= 3  # as they would be


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("make", [gaussian_machine, sampled_machine])
def test_twins_wait_until_nothing_else_is_left(make, strategy):
    clf = make(noise=0.3)
    pool = np.vstack([POOL[:5]] * 3)
    pool[5:10][pool[5:10] == 0] = -0.0
    chosen = query(clf, pool, 15, strategy=strategy, random_state=0)
    assert sorted(chosen) == list(range(15))
    for part in (chosen[:5], chosen[5:10], chosen[10:]):
        assert sorted(part % 5) == list(range(5))
    rest = query(clf, pool, 3, strategy=strategy, exclude=[0, 6], random_state=0)
    assert sorted(rest % 5) == [2, 3, 4]
    rest = query(clf, pool, 13, strategy=strategy, exclude=[0, 6], random_state=0)
    assert sorted(rest) == [i for i in range(15) if i not in (0, 6)]


def test_kinds_know_that_minus_zero_is_zero():
    points = np.array([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0], [0.0, 0.0]])
    assert kinds(points).tolist() == [0, 1, 0, 2]
    stored = csr_array(([-0.0, 1.0, 2.0, 1.0, 1.0], [0, 1, 0, 1, 1], [0, 2, 4, 5, 5]), (4, 2))
    assert kinds(stored).tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_seed_gives_the_same_batch(strategy):
    clf = gaussian_machine(n_tasks=3)
    one, other, third = (
        query(clf, POOL, 5, strategy=strategy, random_state=seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, other)
    assert len(set(one)) == 5 and one.dtype == np.intp
    if strategy == "random":
        assert set(one) != set(third)


def test_random_is_uniform():
    clf = gaussian_machine()
    chosen = [query(clf, POOL, 4, strategy="random", random_state=s) for s in range(500)]
    counts = np.bincount(np.ravel(chosen), minlength=40)
    assert (np.abs(counts - 50) < 5 * np.sqrt(50 * 0.9)).all()


def test_few_samples_serve_a_large_batch():
    """Three samples tell at most eight kinds of points apart; the batch goes on all the same."""
    clf = sampled_machine(n_samples=3)
    assert len(set(query(clf, POOL, 40, random_state=0))) == 40


def test_all_certain():
    clf = sampled_machine(n_samples=1)
    chosen = query(clf, POOL, 10, random_state=0)
    assert len(set(chosen)) == 10
    assert not np.array_equal(chosen, query(clf, POOL, 10, random_state=1))


def test_a_strategy_of_ones_own():
    clf = gaussian_machine()
    chosen = query(clf, POOL, 1, strategy=lambda machine, X: np.log(2) - entropy(machine, X))
    assert chosen == entropy(clf, POOL).argmin()


def test_pipelines_see_their_own_points():
    X = 1000 * POOL
    y = POOL[:, 0] > 0
    pipeline = make_pipeline(
        StandardScaler(), BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep")
    ).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(
        query(pipeline, X, 4, random_state=0), query(pipeline[-1], scaled, 4, random_state=0)
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_sparse_points(strategy):
    pool = np.maximum(POOL, 0)
    pool[7] = pool[3]
    engine = FactorisedPropagation()
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine).fit(
        csr_array(pool[:20]), POOL[:20, 0] > 0
    )
    dense = query(clf, pool, 39, strategy=strategy, exclude=[3], random_state=0)
    sparse = query(clf, csr_array(pool), 39, strategy=strategy, exclude=[3], random_state=0)
    np.testing.assert_array_equal(sparse, dense)
    assert 7 in sparse[-8:]  # the points of no positive feature, all equal, and the twin of 3


def test_precomputed_kernels():
    y = POOL[:, 0] > 0
    clf = BayesPointClassifier(
        temperature=1.0, kernel="precomputed", engine=ExpectationPropagation(prior_scale=1.0)
    ).fit(POOL[:9] @ POOL[:9].T, y[:9])
    plain = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine="ep", fit_intercept=False
    ).fit(POOL[:9], y[:9])
    # The draws are other ones, in another basis, so only the first point is the same.
    ours = query(clf, POOL @ POOL[:9].T, 3, exclude=range(9), random_state=0)
    assert ours[0] == query(plain, POOL, 1, exclude=range(9))[0]


def test_the_cost_of_a_batch_grows_linearly():
    """A count, not a time: vectors are as many after any number of points."""
    committee = Committee(np.random.default_rng(0).random((50, 30, 2)))
    shape = committee._vectors.shape
    for i in range(20):
        committee.tell(i)
    assert committee._vectors.shape == shape == (30, 1, 50)


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 41}, r"n must be an int in the range \[1, 40\], the rows of the pool.* Got 41"),
        ({"n": 0}, r"n must be an int in the range \[1, 40\].* Got 0"),
        ({"n": 1.5}, "Got 1.5"),
        ({"n": True}, "Got True"),
        ({"n": 38, "exclude": [1, 2, 3]}, r"\[1, 37\]"),
        ({"exclude": [40]}, "indices into the pool from 0 to 39"),
        ({"exclude": [-1]}, "from 0 to 39. Got int64"),
        ({"exclude": [0.5]}, "array of integers.*float64"),
        ({"exclude": POOL > 0}, "one-dimensional"),
        ({"strategy": "best"}, "strategy must be a str among {'entropy', .* Got 'best' instead"),
        ({"strategy": None}, "Got None instead"),
        (
            {"strategy": lambda clf, X: [1.0]},
            r"each of the 40 rows. Got an array of shape \(1,\)",
        ),
        ({"strategy": lambda clf, X: -np.ones(40)}, "with values from -1 to -1"),
        ({"strategy": lambda clf, X: np.full(40, np.nan)}, "finite"),
        ({"n_draws": 1}, r"n_draws must be an int in the range \[2, inf\). Got 1"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        query(gaussian_machine(), POOL, **parameters)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_bad_classifiers_and_points(strategy):
    with pytest.raises(NotFittedError):
        query(BayesPointClassifier(kernel="linear", temperature=1.0), POOL, strategy=strategy)
    with pytest.raises(NotFittedError):
        pipeline = make_pipeline(
            StandardScaler(), BayesPointClassifier(kernel="linear", temperature=1.0)
        )
        query(pipeline, POOL, strategy=strategy)
    with pytest.raises(TypeError, match="Got LogisticRegression"):
        query(LogisticRegression(), POOL, strategy=strategy)
    with pytest.raises(ValueError, match="X has 2 features"):
        query(gaussian_machine(), POOL[:, :2], strategy=strategy)
    with pytest.raises(ValueError, match="infinity"):
        query(gaussian_machine(), np.full((4, 3), np.inf), strategy=strategy)

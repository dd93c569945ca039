"""Fits over blocks: the results of fits in memory, and the same bits for any number of threads."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.helpers.blocks import assert_equal_fits, machine, noisy, same_bits

from bayespoint import BayesPointClassifier
from bayespoint.classifier import inputs, out_of_core
from bayespoint.classifier.parameters import Parameters
from bayespoint.engines import (
    ExpectationPropagation,
    FactorisedPropagation,
    GibbsSampler,
    LaplaceApproximation,
)
from bayespoint.engines.gaussian.blocks import descent, rounds, rows
from bayespoint.exceptions import BlockError, NotConvergedWarning
from bayespoint.rows import LocalExecutor, from_arrays, from_batches, from_parquet
from bayespoint.rows.executor import executed_by, run_on_block
from bayespoint.tools.monitor import Monitor, watch
from bayespoint.tools.threads import thread_pool

ENGINES = ("ep", "laplace", "diagonal")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "params",
    [{}, {"standardize": True, "class_weight": "balanced"}, {"fit_intercept": False}],
    ids=["plain", "scaled", "no intercept"],
)
def test_equals_the_fit_in_memory(engine, n_classes, params):
    X, y = noisy(n_classes=n_classes)
    X[:, 0] = 3 * X[:, 0] + 1
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    weight[:10] = 0
    inside = machine(engine, **params).fit(X, y, weight)
    outside = machine(engine, **params).fit(from_arrays(X, y, weight, block_rows=170))
    assert outside.run_.converged
    rtol = 1e-6 if engine != "diagonal" else 1e-4
    assert_equal_fits(inside, outside, rtol)
    np.testing.assert_allclose(inside.coef_, outside.coef_, rtol=1e2 * rtol, atol=1e2 * rtol)
    np.testing.assert_allclose(
        inside.feature_relevance_, outside.feature_relevance_, rtol=1e-3, atol=1e-6
    )
    blocks = from_arrays(X, block_rows=77)
    np.testing.assert_allclose(
        inside.predict_proba(X), outside.predict_proba(blocks), atol=1e2 * rtol
    )


@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_rounds_do_not_depend_on_how_rows_are_divided(engine):
    """Not only the fixed point: a round is a step of all rows, however they are stored."""
    X, y = noisy()
    inside = machine(engine).fit(X, y)
    whole, divided = (machine(engine).fit(from_arrays(X, y, block_rows=n)) for n in (600, 77))
    np.testing.assert_allclose(whole.run_.history, divided.run_.history, rtol=1e-6, atol=1e-13)
    assert np.abs(whole.posterior_.mean - divided.posterior_.mean).max() < 1e-12
    np.testing.assert_allclose(inside.posterior_.mean, divided.posterior_.mean, rtol=1e-7)
    assert whole.run_.n_iter <= 3 * inside.run_.n_iter + 3  # one step a round, instead of some


@pytest.mark.parametrize(
    "engine",
    [
        ExpectationPropagation(label_noise=0.05, noise=2.0, tol=1e-9),
        ExpectationPropagation(prior_mean=[1.0, 0, 0, -1], prior_scale=0.3, tol=1e-9),
        ExpectationPropagation(prior_covariance=np.eye(4) + 0.5, prior_scale=1.0, tol=1e-9),
        LaplaceApproximation(prior_covariance=np.eye(4) + 0.5, prior_scale=1.0, tol=1e-9),
        LaplaceApproximation(prior_mean=[1.0, 0, 0, -1], intercept_scale=0.1, tol=1e-9),
    ],
    ids=["flips", "mean", "covariance", "laplace covariance", "laplace mean"],
)
def test_priors_and_noise(engine):
    X, y = noisy()
    inside = machine(engine).fit(X, y)
    assert_equal_fits(inside, machine(engine).fit(from_arrays(X, y, block_rows=150)))


def test_classes_that_can_be_separated_need_short_steps():
    """Newton's steps from the prior's mean go too far where the prior is wide."""
    X, y = noisy(scale=50.0)
    engine = LaplaceApproximation(prior_scale=30.0, prior_mean=[30.0, 0, 0, 0], tol=1e-9)
    inside = machine(engine).fit(X, y)
    assert_equal_fits(inside, machine(engine).fit(from_arrays(X, y, block_rows=150)), 1e-5)


def test_sparse_blocks():
    rng = np.random.default_rng(0)
    X = sparse.random_array((500, 30), density=0.1, format="csr", random_state=rng)
    y = (X @ rng.normal(size=30) + 0.3 * rng.normal(size=500) > 0).astype(int)
    inside = machine("diagonal").fit(X, y)
    outside = machine("diagonal").fit(from_arrays(X, y, block_rows=100))
    assert_equal_fits(inside, outside, 1e-4)
    by_name = BayesPointClassifier(kernel="linear").fit(from_arrays(X, y))
    assert by_name.posterior_.is_diagonal


@pytest.mark.parametrize("engine", ENGINES)
def test_bits_do_not_depend_on_threads(engine):
    X, y = noisy(n=300, n_classes=3)
    blocks = from_arrays(X, y, block_rows=47)
    one, two, four = (machine(engine, n_jobs=n).fit(blocks) for n in (1, 2, 4))
    assert same_bits(one, two)
    assert same_bits(one, four)


class InOrderOfArrival:
    """A wrong executor: it adds results up in the order in which they arrive."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def run(self, function, blocks, arguments, shared, expected=None):
        numbers = self.rng.permutation(len(blocks))
        with thread_pool(1):
            found = [run_on_block(blocks, k, function, arguments[k], shared) for k in numbers]
        kept = [
            own
            for _, (own, _) in sorted(
                zip(numbers.tolist(), found, strict=True), key=lambda pair: pair[0]
            )
        ]
        total = found[0][1]
        for _, one in found[1:]:
            total = total.merge(one)
        return kept, total


def test_bits_depend_on_the_order_of_sums():
    """The negative control of the test above: sums in any order have other bits."""
    X, y = noisy()
    blocks = from_arrays(X, y, block_rows=37)
    fits = [machine() for _ in range(4)]
    for seed, clf in enumerate(fits):
        with executed_by(InOrderOfArrival(seed)):
            clf.fit(blocks)
    assert not all(same_bits(fits[0], clf) for clf in fits[1:])
    assert_equal_fits(fits[0], fits[1])


@given(order=st.permutations(range(6)), engine=st.sampled_from(ENGINES))
@settings(max_examples=9, deadline=None)
def test_blocks_in_another_order(order, engine):
    X, y = noisy(n=300)
    batches = [(X[50 * k : 50 * k + 50], y[50 * k : 50 * k + 50]) for k in range(6)]
    plain = machine(engine).fit(from_batches(batches))
    permuted = machine(engine).fit(from_batches([batches[k] for k in order]))
    assert_equal_fits(plain, permuted, 1e-6 if engine != "diagonal" else 1e-4)


@given(engine=st.sampled_from(ENGINES), seed=st.integers(0, 100))
@settings(max_examples=9, deadline=None)
def test_a_weight_of_two_is_a_copy(engine, seed):
    X, y = noisy(n=200, seed=seed)
    twice = np.random.default_rng(seed).random(200) < 0.3
    weighted = machine(engine).fit(from_arrays(X, y, 1.0 + twice, block_rows=60))
    copied = machine(engine).fit(
        from_arrays(np.vstack([X, X[twice]]), np.append(y, y[twice]), block_rows=60)
    )
    rtol = 1e-6 if engine != "diagonal" else 1e-4
    np.testing.assert_allclose(
        weighted.posterior_.mean, copied.posterior_.mean, rtol=1e2 * rtol, atol=1e2 * rtol
    )
    np.testing.assert_allclose(weighted.log_evidence_, copied.log_evidence_, rtol=1e2 * rtol)


def test_a_memory_map_that_is_too_large(tmp_path, monkeypatch):
    X, y = noisy()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert not inputs.is_out_of_core(Parameters.of(machine()), mapped)
    monkeypatch.setattr(inputs, "SMALL", 100)
    monkeypatch.setattr(inputs, "available_memory", lambda: 1000.0)
    monkeypatch.setattr(rounds, "check_fits", lambda *_: None)
    assert not inputs.is_out_of_core(Parameters.of(machine()), X)  # it is in memory already
    assert not inputs.is_out_of_core(Parameters.of(machine(kernel="rbf")), mapped)
    inside, outside = machine().fit(X, y), machine().fit(mapped, y)
    assert outside.posterior_.messages is None  # of blocks
    assert_equal_fits(inside, outside)


def test_a_model_of_many_rows_keeps_no_probabilities(monkeypatch):
    X, y = noisy()
    blocks = from_arrays(X, y)
    assert machine().fit(blocks).posterior_.left_out_log_probability.shape == (600, 1)
    monkeypatch.setattr(out_of_core, "KEPT", 599)
    assert machine().fit(blocks).posterior_.left_out_log_probability is None


class StopAfter(Monitor):
    """Ends a run after some rounds."""

    def __init__(self, rounds):
        self.rounds, self.done = rounds, 0

    def update(self, done):
        self.done = done

    def should_stop(self):
        return self.done >= self.rounds


@pytest.mark.parametrize("engine", ENGINES)
def test_the_monitor_ends_a_fit(engine):
    X, y = noisy()
    with watch(StopAfter(2)), pytest.warns(NotConvergedWarning, match="stopped by the monitor"):
        clf = machine(engine).fit(from_arrays(X, y, block_rows=100))
    assert clf.run_.n_iter in (2, 3)
    assert clf.score(X, y) > 0.8


def test_rounds_that_are_too_few():
    X, y = noisy()
    for engine in (ExpectationPropagation(max_iter=2), LaplaceApproximation(max_iter=2)):
        with pytest.warns(NotConvergedWarning, match="max_iter was reached"):
            machine(engine).fit(from_arrays(X, y))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"kernel": "rbf"}, "needs kernel='linear'"),
        ({"multi_class": "joint"}, "learns each class against the rest"),
        ({"ridge": 0.1}, "needs the default of 'ridge'"),
        ({"warm_start": True}, "needs the default of 'warm_start'"),
        (
            {"engine": GibbsSampler()},
            "the engines .'ep', 'factorised-ep', 'laplace', 'perc",
        ),
        ({"engine": FactorisedPropagation(decay=0.9)}, "decay=1.0"),
    ],
)
def test_parameters_without_meaning(params, words):
    X, y = noisy(n=20)
    clf = machine(**params)
    with pytest.raises(ValueError, match=words):
        clf.fit(from_arrays(X, y))
    assert not hasattr(clf, "posterior_")


def test_labels_belong_to_the_blocks():
    X, y = noisy(n=20)
    with pytest.raises(ValueError, match="bring their labels"):
        machine().fit(from_arrays(X, y), y)
    with pytest.raises(BlockError, match="Block 0 has no labels"):
        machine().fit(from_arrays(X))


def test_one_class_only():
    X, y = noisy(n=20)
    with pytest.raises(ValueError, match=r"at least two classes\. Got one class, 0"):
        machine().fit(from_arrays(X, np.zeros(20, dtype=int), block_rows=5))
    with pytest.raises(ValueError, match=r"at least two classes\. Got one class, 1"):
        machine(class_weight={0: 0, 1: 1}).fit(from_arrays(X, y))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_class_of_the_last_block_only(engine):
    X, y = noisy(n_classes=2)
    y[-5:] = 2
    outside = machine(engine).fit(from_arrays(X, y, block_rows=100))
    assert outside.classes_.tolist() == [0, 1, 2]
    assert_equal_fits(machine(engine).fit(X, y), outside, 1e-6 if engine != "diagonal" else 1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_empty_blocks_are_passed_over(engine):
    X, y = noisy(n=200)
    empty = X[:0], y[:0]
    batches = [empty, (X[:100], y[:100]), empty, (X[100:], y[100:]), empty]
    outside = machine(engine, standardize=True).fit(from_batches(batches))
    full = machine(engine, standardize=True).fit(from_batches([batches[1], batches[3]]))
    assert_equal_fits(full, outside)
    with pytest.raises(ValueError, match="have no rows"):
        machine(engine).fit(from_batches([empty, empty]))


def test_an_executor_of_another_kind():
    """Whoever runs the functions, threads or not, the results have the same bits."""
    X, y = noisy()
    blocks = from_arrays(X, y, block_rows=100)
    local, other = machine(), machine()
    with executed_by(LocalExecutor(2)):
        local.fit(blocks)
    assert same_bits(local, other.fit(blocks))


def test_predictions_of_tables(tmp_path, recwarn):
    """Names of columns are compared, and empty row groups passed over."""
    X, y = noisy(n=90)
    table = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    table.to_parquet(tmp_path / "table.parquet", row_group_size=30)
    clf = machine().fit(from_parquet(tmp_path / "table.parquet", "y", block_rows=30))
    blocks = from_parquet(tmp_path / "table.parquet", features=list("abcd"), block_rows=30)
    assert np.array_equal(clf.predict(blocks), clf.predict(table[list("abcd")]))
    assert not recwarn.list
    with pytest.raises(ValueError, match=r"The blocks have the columns \['b', 'a'"):
        clf.predict(from_parquet(tmp_path / "table.parquet", features=list("bacd")))
    batches = [(X[:50],), (X[:0],), (X[50:],)]
    assert np.array_equal(clf.predict(from_batches(batches)), clf.predict(blocks))


def test_memory_is_asked_for_before_the_rounds(monkeypatch):
    X, y = noisy(n=50)
    asked = []
    monkeypatch.setattr(rounds, "check_fits", lambda n, *words: asked.append((n, words)))
    for engine in ENGINES:
        machine(engine).fit(from_arrays(X, y))
    full, laplace, diagonal = (n for n, _ in asked)
    assert full == rounds.SITE_BYTES * 50 + laplace
    assert diagonal == 0


class Recording(LocalExecutor):
    """Remembers what was kept of blocks."""

    def run(self, function, blocks, arguments, shared, expected=None):
        kept, total = super().run(function, blocks, arguments, shared, expected)
        self.kept = getattr(self, "kept", {})
        self.kept.setdefault(function.__name__, []).append(kept)
        return kept, total


def test_many_points_need_no_sites(monkeypatch):
    """With many more points than weights nothing of their number is kept between rounds."""
    X, y = noisy(n=3000, d=2, n_classes=3)
    weight = np.random.default_rng(0).uniform(0.2, 2, 3000)
    blocks = from_arrays(X, y, weight, block_rows=700)
    executor, free = Recording(2), machine()
    with executed_by(executor):
        free.fit(blocks)
    assert executor.kept["visit"][0] == [None] * 5
    monkeypatch.setattr(descent, "MANY", 1501)
    kept = machine().fit(blocks)
    assert_equal_fits(kept, free)
    assert_equal_fits(machine().fit(X, y, weight), free)
    assert free.run_.n_iter <= kept.run_.n_iter


def test_flips_of_labels_need_sites():
    X, y = noisy(n=3000, d=2)
    executor = Recording()
    clf = machine(ExpectationPropagation(label_noise=0.05))
    with executed_by(executor):
        clf.fit(from_arrays(X, y, block_rows=700))
    assert executor.kept["visit"][0][0][0].shape == (3, 700)


@pytest.mark.parametrize("engine", ENGINES)
def test_of_very_many_rows_some_are_left_out(engine, monkeypatch):
    X, y = noisy(n_classes=3)
    blocks = from_arrays(X, y, block_rows=177)
    whole = machine(engine).fit(blocks)
    monkeypatch.setattr(rows, "MOST_LEFT_OUT", 250)
    executor, thinned = Recording(), machine(engine)
    with executed_by(executor):
        thinned.fit(blocks)
    last = next(reversed(executor.kept.values()))[0]
    found = np.concatenate([one.log_probability for one in last])
    assert len(found) == 200  # every third row of all, whatever the blocks
    np.testing.assert_array_equal(found, whole.posterior_.left_out_log_probability[::3])
    assert thinned.posterior_.left_out_log_probability is None
    np.testing.assert_array_equal(thinned.posterior_.mean, whole.posterior_.mean)
    assert abs(thinned.left_out_error_ - whole.left_out_error_) < 0.05

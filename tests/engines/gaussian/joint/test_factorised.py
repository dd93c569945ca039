"""Several classes in one posterior of independent weights, on sparse rows."""

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from tests.helpers.joint import Plain, by_importance, learn, message_by_message, targets

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, Request
from bayespoint.exceptions import FactorisedWarning, NotConvergedWarning
from bayespoint.posteriors import StreamPosterior
from bayespoint.storage import load, save

pytestmark = pytest.mark.filterwarnings("ignore::bayespoint.exceptions.FactorisedWarning")


def engine(**parameters):
    usual = {"covariance": "diagonal", "prior_scale": 1.5, "tol": 1e-10, "max_iter": 2000}
    return ExpectationPropagation(**usual | parameters)


def machine(**parameters):
    return BayesPointClassifier(
        kernel="linear", fit_intercept=False, temperature=1.0, multi_class="joint",
        engine=engine(**parameters),
    )  # fmt: skip


def sparse_problem(n=60, d=8, n_classes=4, seed=0, entries=None):
    """Rows with some features, or with so many entries; each class at least twice."""
    rng = np.random.default_rng(seed)
    kept = rng.random((n, d)) < 0.4
    if entries is not None:
        kept = np.argsort(rng.random((n, d)), axis=1) < entries
    X = rng.normal(size=(n, d)) * kept
    y = (X @ rng.normal(size=(d, n_classes)) + 0.5 * rng.normal(size=(n, n_classes))).argmax(axis=1)
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    return X, y


def assert_same(one, other, atol):
    np.testing.assert_allclose(one.mean, other.mean, rtol=0, atol=atol)
    np.testing.assert_allclose(one.own, other.own, rtol=0, atol=atol)
    np.testing.assert_allclose(one.log_evidence, other.log_evidence, rtol=0, atol=100 * atol)


# Against other posteriors ------------------------------------------------------------------------


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("n_classes", [3, 4])
def test_slow_version(n_classes, copies):
    """With whole weights, too: they are copies."""
    X, y = sparse_problem(10, 3, n_classes)
    weight = np.random.default_rng(1).integers(1, copies + 1, 10)
    which = np.repeat(np.arange(10), weight)
    posterior = learn(engine(noise=0.8), X, y, n_classes, sample_weight=weight.astype(np.float64))
    mean, scale, evidence = message_by_message(X[which], y[which], 1.5, 0.8, n_classes)
    np.testing.assert_allclose(posterior.mean, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(posterior.own, scale, rtol=0, atol=1e-8)
    assert posterior.log_evidence[0] == pytest.approx(evidence, abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_iter", [1, 2000])
def test_two_classes_are_the_binary_engine(weighted, max_iter):
    """The contrast of two outputs has the prior scale and the noise of both."""
    X, y = sparse_problem(40, 6, 2)
    weights = np.random.default_rng(2).choice([0.5, 1.0, 2.0, 3.0], 40) if weighted else None
    ep = engine(noise=0.7, max_iter=max_iter)
    joint = learn(ep, X, y, 2, sample_weight=weights)
    binary, _ = ep.run(Plain(X), targets(y, 2)[:, 1:], Request(sample_weight=weights))
    contrast = np.diff(joint.mean, axis=1) / np.sqrt(2)
    np.testing.assert_allclose(contrast, binary.mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(joint.own, binary.factor, rtol=0, atol=1e-8)
    if not isinstance(binary, StreamPosterior):  # which predicts from earlier rows only
        np.testing.assert_allclose(joint.log_evidence, binary.log_evidence, rtol=0, atol=1e-8)
        left_out = joint.left_out_log_probability[np.arange(40), y]
        np.testing.assert_allclose(left_out, binary.left_out_log_probability[:, 0], atol=1e-8)
    log_p = binary.log_probability(binary.decision(X, "bayes_point"), "bayes_point")[0]
    np.testing.assert_allclose(joint.decision(X, "bayes_point")[:, 1:], log_p, atol=1e-8)


def test_rows_with_one_feature_are_near_the_full_covariance():
    """Features never meet in a label, but contrasts do: the less, the less is learned of them.

    With a prior scale of 1 probabilities miss by 0.015 and the evidence by 0.04.
    """
    X, y = sparse_problem(60, 5, 3, entries=1)

    def gaps(prior_scale):
        found, full = (
            machine(covariance=covariance, prior_scale=prior_scale).fit(X, y)
            for covariance in ("diagonal", "full")
        )
        off = np.abs(found.predict_proba(X) - full.predict_proba(X)).max()
        return off, abs(found.log_evidence_[0] - full.log_evidence_[0])

    wide, narrow = gaps(1.0), gaps(0.2)
    assert wide[0] < 0.03
    assert wide[1] < 0.08
    assert narrow[0] < wide[0] / 10
    assert narrow[1] < wide[1] / 10


def leads(posterior_mean, covariance):
    """Means and standard deviations of all differences of the weights of two classes."""
    d, n_classes = posterior_mean.shape
    pairs = list(itertools.combinations(range(n_classes), 2))
    D = np.zeros((len(pairs), n_classes))
    for row, (i, j) in zip(D, pairs, strict=True):
        row[i], row[j] = 1, -1
    D = np.kron(D, np.eye(d))
    return D @ posterior_mean.T.ravel(), np.sqrt(np.diag(D @ covariance @ D.T))


def test_the_posterior_is_near_the_exact_one():
    """Nearly orthogonal rows. Classes of independent weights, or half the noise, would not be."""
    Z = np.array([[1.0, 0.1], [0.9, -0.2], [0.1, 1.2], [-0.1, 0.8], [0.2, -1.0], [1.1, 0.0]])
    y = np.array([0, 1, 2, 0, 1, 0])
    w, likelihood = by_importance(Z, y, 1.0)
    share = likelihood / likelihood.sum()
    flat = w.transpose(0, 2, 1).reshape(len(w), -1)
    mean = share @ flat
    covariance = (flat - mean).T * share @ (flat - mean)
    middle, spread = leads(mean.reshape(3, 2).T, covariance)
    draws = 5 * np.sqrt((likelihood**2).sum()) / likelihood.sum()  # 5 standard errors

    def misses(posterior):
        found, scale = leads(posterior.mean, posterior.covariance)
        return (
            np.abs((found - middle) / spread).max(),
            np.abs(np.log(scale / spread)).max(),
            abs(posterior.log_evidence[0] - np.log(likelihood.mean())),
        )

    def are_small(off, ratio, evidence):
        return off < 0.03 + draws and ratio < 0.05 + draws and evidence < 0.03 + draws

    right = learn(engine(prior_scale=1.0), Z, y)
    assert are_small(*misses(right))
    assert not are_small(*misses(learn(engine(prior_scale=1.0, noise=0.5), Z, y)))
    right.own = np.full_like(right.own, 1.0)  # what the prior says
    assert not are_small(*misses(right))


def test_left_out_predictions_are_those_of_a_fit_without_the_point():
    X, y = sparse_problem(60, 5, 3)
    posterior, left_out, seen = learn(engine(), X, y), [], []
    for i in range(8):
        rest = np.arange(60) != i
        alone = np.exp(learn(engine(), X[rest], y[rest]).decision(X[[i]], "bayes_point")[0])
        left_out.append(np.exp(posterior.left_out_log_probability[i]) - alone)
        seen.append(np.exp(posterior.decision(X[[i]], "bayes_point")[0]) - alone)
    assert np.abs(left_out).max() < 0.02
    assert np.abs(seen).max() > 4 * np.abs(left_out).max()


def test_permuted_classes_give_nearly_the_same():
    """Not exactly: Helmert's contrasts of classes in another order are others."""
    X, y = sparse_problem(80, 6, 3)
    fitted = machine().fit(X, y)
    p, off = fitted.predict_proba(X), []
    for order in itertools.permutations(range(3)):
        other = machine().fit(X, np.array(order)[y])
        off.append(np.abs(other.predict_proba(X)[:, order] - p).max())
    assert off[0] == 0
    assert 1e-6 < max(off) < 0.03


# Weights, batches, sparse rows -------------------------------------------------------------------


def test_weights_are_copies():
    X, y = sparse_problem()
    weight = np.random.default_rng(1).integers(1, 4, 60)
    copies = np.repeat(np.arange(60), weight)
    weighted = machine().fit(X, y, sample_weight=weight).posterior_
    copied = machine().fit(X[copies], y[copies]).posterior_
    assert_same(weighted, copied, atol=1e-8)
    left_out = weighted.left_out_log_probability[copies]
    np.testing.assert_allclose(left_out, copied.left_out_log_probability, atol=1e-7)


def test_small_weights_leave_the_prior():
    X, y = sparse_problem()
    spread = []
    for weight in (1, 0.3, 0.01, 1e-4):
        posterior = machine().fit(X, y, sample_weight=np.full(60, weight)).posterior_
        spread.append(np.square(posterior.own).sum())
    assert np.all(np.diff(spread) > 0)
    assert spread[-1] == pytest.approx(8 * 3 * 1.5**2, rel=0.01)


def test_batches_come_near_one_fit():
    """One feature a row: only contrasts depend on each other, which batches forget.

    Five batches miss the probabilities of one fit by 0.05, the first of them alone by 0.35.
    """
    X, y = sparse_problem(200, 6, 3, entries=1)
    whole, batches = machine(prior_scale=1.0).fit(X, y), machine(prior_scale=1.0)
    off = []
    for part in np.array_split(np.arange(200), 5):
        batches.partial_fit(X[part], y[part], classes=[0, 1, 2])
        off.append(np.abs(batches.predict_proba(X) - whole.predict_proba(X)).max())
    assert off[-1] < 0.08
    assert off[0] > 0.25
    assert batches.log_evidence_[0] == pytest.approx(whole.log_evidence_[0], abs=0.8)


def test_one_batch_is_a_fit():
    X, y = sparse_problem()
    one = machine().partial_fit(X, y, classes=np.arange(4)).posterior_
    assert_same(one, machine().fit(X, y).posterior_, atol=0)


def test_a_single_pass_is_a_batch_for_each_point():
    X, y = sparse_problem()
    passed, batches = machine(max_iter=1).fit(X, y), machine(max_iter=1)
    for i in range(60):
        batches.partial_fit(X[[i]], y[[i]], classes=np.arange(4))
    np.testing.assert_allclose(batches.posterior_.mean, passed.posterior_.mean, atol=1e-10)
    np.testing.assert_allclose(batches.posterior_.own, passed.posterior_.own, atol=1e-10)
    assert "single pass" in passed.run_.summary


def test_classes_may_be_missing_from_a_batch():
    X, y = sparse_problem()
    clf = machine()
    for part in (y < 2, y >= 2):
        clf.partial_fit(X[part], y[part], classes=np.arange(4))
        p = clf.predict_proba(X)
        assert np.all(p > 0)
    assert clf.score(X, y) > 0.6
    alone = machine().partial_fit(X[y == 0], y[y == 0], classes=np.arange(4)).predict_proba(X)
    np.testing.assert_allclose(alone[:, 2:], alone[:, [1, 1]], atol=0.05)  # nothing tells them


def test_a_class_with_one_point():
    X, y = sparse_problem()
    y[y == 3] = 2
    y[7] = 3
    clf = machine().fit(X, y)
    assert np.all(np.isfinite(clf.predict_log_proba(X)))
    p = clf.predict_proba(X)[7, 3]
    assert p > 2 * np.exp(clf.posterior_.left_out_log_probability[7, 3])


def test_sparse_rows_stay_sparse():
    X, y = sparse_problem()
    X[5] = 0  # a row without entries
    dense = machine().fit(X, y)
    rows = machine().fit(sparse.csr_array(X), y)
    assert_same(rows.posterior_, dense.posterior_, atol=1e-12)
    np.testing.assert_allclose(
        rows.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-12
    )


def test_memory_grows_with_features_and_classes_only():
    """Of 100 000 features and 20 classes: a table of all pairs of classes takes 304 MB."""
    rng = np.random.default_rng(0)
    n, d = 100, 100_000
    columns = rng.integers(d, size=20 * n)
    X = sparse.csr_array((np.ones(20 * n), columns, 20 * np.arange(n + 1)), shape=(n, d))
    y = np.arange(n) % 20
    machine(tol=1e-3).fit(X[:40], y[:40])  # compiles
    tracemalloc.start()
    try:
        clf = machine(tol=1e-3).fit(X, y)
        clf.predict_proba(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 250e6
    assert clf.posterior_.draw(2, rng).shape == (d, 2, 20)


def test_points_without_any_feature_are_coins():
    X, y = np.zeros((3, 2)), np.array([0, 1, 2])
    posterior = learn(engine(), X, y)
    assert posterior.log_evidence[0] == pytest.approx(3 * np.log(1 / 3), abs=0.02)
    np.testing.assert_allclose(posterior.own, 1.5)


# The posterior itself ----------------------------------------------------------------------------


def test_draws_have_the_covariance():
    X, y = sparse_problem(d=3)
    posterior = learn(engine(), X, y, 4)
    w = posterior.draw(100_000, np.random.default_rng(0))
    flat = w.transpose(2, 0, 1).reshape(12, -1)
    np.testing.assert_allclose(np.cov(flat), posterior.covariance, atol=0.05)
    outputs, covariance = posterior.outputs(X[:4])
    found = np.einsum("nd,dkc->nkc", X[:4], w)
    np.testing.assert_allclose(found.mean(axis=1), outputs, atol=0.05)
    for one, expected in zip(found, covariance, strict=True):
        np.testing.assert_allclose(np.cov(one.T), expected, atol=0.1)


def test_it_can_be_stored(tmp_path):
    X, y = sparse_problem()
    clf = machine().fit(sparse.csr_array(X), y)
    save(clf, tmp_path / "model.bpm")
    again = load(tmp_path / "model.bpm")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    again.partial_fit(X, y)
    again.posterior_.own = again.posterior_.own[:-1]
    with pytest.raises(ValueError, match="wrong shape"):
        again.posterior_.check_state()


@pytest.mark.parametrize("first", ["diagonal", "full"])
def test_batches_do_not_change_their_form(first):
    X, y = sparse_problem(entries=3)
    clf = machine(covariance=first).partial_fit(X, y, classes=np.arange(4))
    clf.engine = engine(covariance="full" if first == "diagonal" else "diagonal")
    with pytest.raises(ValueError, match=f"with a {first} covariance: fit anew"):
        clf.partial_fit(X, y)


def test_copies_of_a_feature_give_a_warning_with_the_right_number():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2))
    y = (x @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(100, 3))).argmax(axis=1)
    X = np.repeat(x, 5, axis=1)
    with pytest.warns(FactorisedWarning) as caught:
        clf = machine(prior_scale=3.0).fit(X, y)
    full = machine(prior_scale=3.0, covariance="full").fit(X, y)
    ratios = []
    for i in (0, 49, 99):
        (mean, covariance), (_, other) = (
            fitted.posterior_.outputs(X[[i]]) for fitted in (clf, full)
        )
        rival = np.where(np.arange(3) == y[i], -np.inf, mean[0]).argmax()
        lead = np.eye(3)[y[i]] - np.eye(3)[rival]
        ratios.append((lead @ covariance[0] @ lead + 2) / (lead @ other[0] @ lead + 2))
    worst = max(ratios, key=lambda ratio: abs(np.log(ratio)))
    assert np.log(caught[0].message.variance_ratio) == pytest.approx(np.log(worst), abs=0.3)


@pytest.mark.parametrize(
    "parameters",
    [{"noise": 1e-3}, {"noise": 100.0}, {"prior_scale": 30.0}, {"prior_mean": np.ones(8)}],
)
def test_it_converges_for_other_priors_and_noises(parameters, recwarn):
    X, y = sparse_problem()
    clf = machine(tol=1e-6, max_iter=1000, **parameters).fit(X, y)
    assert clf.run_.converged
    assert not [w for w in recwarn if issubclass(w.category, NotConvergedWarning)]
    assert np.all(np.isfinite(clf.predict_log_proba(X)))


def test_numbers_whose_squares_overflow_are_refused():
    X, y = sparse_problem()
    with pytest.raises(ValueError, match=r"squares.* overflow"):
        machine().fit(1e150 * X, y)
    with pytest.raises(ValueError, match=r"squares.* overflow"):
        machine(prior_mean=np.full(8, 1e150), prior_scale=1e-10).fit(X, y)

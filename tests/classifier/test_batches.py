"""Batches of a stream through the classifier: speed-ups change nothing, and bad batches nothing."""

import pickle
import zlib
from dataclasses import astuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.pipeline import make_pipeline
from tests.helpers.streams import filtering, stream

from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.engines.gaussian import streams
from bayespoint.posteriors import StreamPosterior
from bayespoint.storage import load, save
from bayespoint.tools.monitor import Monitor, watch

pytestmark = pytest.mark.filterwarnings("ignore::bayespoint.exceptions.FactorisedWarning")
DECAYS = pytest.mark.parametrize("decay", [1.0, 0.99, "auto"])
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def in_batches(clf, X, y, size):
    classes = np.unique(y)
    for begin in range(0, len(y), size):
        part = slice(begin, begin + size)
        clf.partial_fit(X[part], y[part], classes=classes)
    return clf


def assert_alike(one, other, X, atol=1e-10):
    for name in ("coef_", "intercept_", "log_evidence_", "left_out_error_"):
        assert_allclose(getattr(one, name), getattr(other, name), atol=atol, err_msg=name)
    losses = [astuple(clf.expected_scores_["log_loss"]) for clf in (one, other)]
    assert_allclose(*losses, rtol=1e-6)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=atol)
    assert one.posterior_.n_rows == other.posterior_.n_rows


# The fast way is the usual way -------------------------------------------------------------------


@CLASSES
@DECAYS
def test_the_fast_way_changes_nothing(decay, n_classes):
    """Dense rows, and batches that are watched, take the usual way."""
    X, y = stream(n_classes=n_classes)
    fast, dense, watched = (in_batches(filtering(decay), X, y, 60) for _ in range(3))
    dense = in_batches(filtering(decay, prior_scale=prior_scale(fast)), X.toarray(), y, 60)
    with watch(Count()) as count:
        watched = in_batches(filtering(decay), X, y, 60)
    assert count.n_runs == 5
    assert isinstance(fast.posterior_, StreamPosterior)
    assert_alike(watched, fast, X)
    assert_alike(dense, fast, X)
    assert fast.run_.summary == "a single pass, as asked"
    assert fast.n_iter_ == 1


class Count(Monitor):
    n_runs = 0

    def begin(self, total, unit):
        self.n_runs += 1


def prior_scale(clf):
    return float(clf.posterior_.records[0, 0, 0, 3] ** -0.5)


@CLASSES
@pytest.mark.parametrize("decay", [1.0, 0.99])
def test_the_size_of_batches_does_not_matter(decay, n_classes):
    X, y = stream(n_classes=n_classes)
    clf = filtering(decay, prior_scale=0.5).set_params(multi_class="one_vs_rest")
    whole = in_batches(clf, X, y, 300)
    for size in (1, 7, 100):
        other = filtering(decay, prior_scale=0.5)
        in_batches(other, X, y, size)
        assert_allclose(other.coef_, whole.coef_, atol=1e-12)
        assert_allclose(other.log_evidence_, whole.log_evidence_, atol=1e-9)


@DECAYS
def test_the_posterior_is_updated_in_place_unless_there_is_much_to_learn(decay, monkeypatch):
    X, y = stream()
    clf = filtering(decay).partial_fit(X[:100], y[:100], classes=[0, 1])
    before = clf.posterior_
    clf.partial_fit(X[100:200], y[100:200])
    assert clf.posterior_ is before
    monkeypatch.setattr(streams, "IN_PLACE", 50)
    kept = before.records.copy()
    clf.partial_fit(X[200:], y[200:])
    assert clf.posterior_ is not before
    assert_array_equal(before.records, kept)
    assert_alike(clf, in_batches(filtering(decay), X, y, 100), X)


@DECAYS
def test_memory_is_constant(decay):
    X, y = stream(n=1000)
    clf = in_batches(filtering(decay), X[:100], y[:100], 50)
    size = len(pickle.dumps(clf))
    in_batches(clf, X[100:], y[100:], 50)
    assert clf.posterior_.n_rows == 1000
    assert abs(len(pickle.dumps(clf)) - size) < 200


def test_changed_parameters_are_seen():
    X, y = stream()
    clf = filtering(0.99).partial_fit(X[:100], y[:100], classes=[0, 1])
    other = pickle.loads(pickle.dumps(clf))
    clf.engine.noise = 3.0
    clf.partial_fit(X[100:200], y[100:200])
    other.partial_fit(X[100:200], y[100:200])
    assert clf.posterior_.likelihood.noise == 3
    assert np.abs(clf.coef_ - other.coef_).max() > 1e-3
    clf.set_params(ridge=1.0)
    with pytest.raises(ValueError, match="ridge=0"):
        clf.partial_fit(X[200:], y[200:])


def test_one_rate_can_become_several_but_not_the_other_way():
    X, y = stream()
    clf = filtering(max_iter=200).fit(X[:100], y[:100])  # a fit with all passes
    clf.set_params(engine__max_iter=1, engine__decay=0.99).partial_fit(X[100:200], y[100:200])
    assert isinstance(clf.posterior_, StreamPosterior)
    clf.set_params(engine__decay="auto").partial_fit(X[200:250], y[200:250])
    assert clf.posterior_.records.shape[0] == len(streams.HALF_LIVES)
    clf.set_params(engine__decay=0.99)
    with pytest.raises(ValueError, match="set decay='auto' again"):
        clf.partial_fit(X[250:], y[250:])


@DECAYS
def test_weighted_batches_and_single_passes_mix(decay):
    X, y = stream()
    clf = filtering(decay).partial_fit(X[:100], y[:100], classes=[0, 1])
    clf.partial_fit(X[100:200], y[100:200], sample_weight=np.full(100, 2.0))
    clf.partial_fit(X[200:], y[200:])
    assert clf.posterior_.n_rows == 300
    assert clf.score(X, y) > 0.75


# The posterior ------------------------------------------------------------------------------------


@DECAYS
def test_draws_have_the_moments_of_the_posterior(decay):
    X, y = stream(n=200, d=6, entries=3)
    clf = in_batches(filtering(decay), X, y, 50)
    drawn = clf.draw_outputs(X[:5], 20_000, random_state=0)[..., 0]
    mean, variance = clf.latent_mean_and_variance(X[:5])
    error = np.sqrt(variance / 20_000)
    assert (np.abs(drawn.mean(axis=1) - mean) < 5 * error).all()
    assert_allclose(drawn.var(axis=1), variance, rtol=5 * np.sqrt(3 / 20_000))
    share = clf.vote_shares(X[:5])[:, 1]
    assert (np.abs((drawn > 0).mean(axis=1) - share) < 5 * np.sqrt(0.25 / 20_000)).all()
    voting = pickle.loads(pickle.dumps(clf)).set_params(decision="vote")
    assert_allclose(voting.predict_proba(X[:5])[:, 1], share, atol=1e-12)
    spread = np.sqrt(np.square(X[:5].toarray()) @ clf.posterior_.factor[0, :-1] ** 2)
    assert (spread <= np.sqrt(variance) * 1.5).all()


@CLASSES
@DECAYS
def test_model_files(decay, n_classes, tmp_path):
    X, y = stream(n_classes=n_classes)
    clf = in_batches(filtering(decay), X[:200], y[:200], 100)
    save(clf, tmp_path / "model.bpm")
    again = load(tmp_path / "model.bpm")
    assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    for one in (clf, again):
        one.partial_fit(X[200:], y[200:])
    assert_alike(again, clf, X)


def test_a_spoiled_record_is_refused(tmp_path):
    X, y = stream()
    clf = filtering(0.99).partial_fit(X, y, classes=[0, 1])
    clf.posterior_.records[0, 0, 3, 1] = -1
    with pytest.raises(ValueError, match="a variance is not positive"):
        save(clf, tmp_path / "model.bpm")


@DECAYS
def test_pruning_keeps_predictions_within_its_bound(decay, tmp_path):
    """|change of the mean| <= sqrt(2 least L V), and 2 sqrt(least) V of the variance."""
    X, y = stream(n=400, d=300)
    clf = in_batches(filtering(decay, prior_scale=0.5), X, y, 100)
    save(clf, tmp_path / "whole.bpm")
    before = clf.posterior_.moments(X)
    least = 0.03
    n_pruned = clf.posterior_.prune(least)
    assert n_pruned > 10
    mean, variance = (
        np.abs(*np.diff([a, b], axis=0))
        for a, b in zip(before, clf.posterior_.moments(X), strict=True)
    )
    entries = np.diff(X.indptr)
    V = 0.25 * np.square(X.toarray()).sum(axis=1)
    assert (mean[..., 0] <= np.sqrt(2 * least * entries * V)).all()
    assert (variance[..., 0] <= 2 * np.sqrt(least) * V).all()
    assert mean.max() > 0
    assert clf.posterior_.prune(least) == 0
    save(clf, tmp_path / "pruned.bpm")
    pruned, whole = (
        len(zlib.compress((tmp_path / name).read_bytes())) for name in ("pruned.bpm", "whole.bpm")
    )
    assert pruned < whole
    with pytest.raises(ValueError, match="not negative"):
        clf.posterior_.prune(-1)


def test_pruning_more_than_said_would_break_the_bound():
    X, y = stream(n=400, d=300)
    clf = in_batches(filtering(0.999, prior_scale=0.5), X, y, 100)
    before, _ = clf.posterior_.moments(X)
    clf.posterior_.prune(0.5)
    V = 0.25 * np.square(X.toarray()).sum(axis=1)
    change = np.abs(clf.posterior_.moments(X)[0] - before)[0, :, 0]
    assert (change > np.sqrt(2 * 0.02 * np.diff(X.indptr) * V)).any()


# Hashing -----------------------------------------------------------------------------------------


def test_hashed_features(tmp_path):
    """Words that say something, and a batch with words that were never seen."""
    rng = np.random.default_rng(0)
    hasher = FeatureHasher(2**12, input_type="string", alternate_sign=False)
    clf = filtering("auto")
    for _ in range(20):
        y = rng.integers(2, size=100)
        words = [
            [f"class={label if rng.random() < 0.9 else 1 - label}", f"other={rng.integers(50)}"]
            for label in y
        ]
        clf.partial_fit(hasher.transform(words), y, classes=[0, 1])
    new = [["class=0"], ["class=1"], ["never=seen"]]
    p = clf.predict_proba(hasher.transform(new))[:, 1]
    assert p[0] < 0.2 < 0.3 < p[2] < 0.7 < 0.8 < p[1]
    save(make_pipeline(hasher, clf), tmp_path / "model.bpm")
    assert_array_equal(load(tmp_path / "model.bpm").predict_proba(new)[:, 1], p)
    hasher.input_type = "file"
    with pytest.raises(ValueError, match="its input_type is unknown"):
        save(make_pipeline(hasher, clf), tmp_path / "model.bpm")


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [0, -0.1, 1.5, np.nan, "fast", None, True])
def test_decay_out_of_range(decay):
    X, y = stream(n=10)
    with pytest.raises(ValueError, match=r"'decay' parameter of FactorisedPropagation must be"):
        filtering(decay).fit(X, y)


@pytest.mark.parametrize("engine", [ExpectationPropagation(), LaplaceApproximation()])
def test_a_full_covariance_does_not_forget(engine):
    with pytest.raises(ValueError, match="Invalid parameter 'decay'"):
        engine.set_params(decay=0.99)


def test_several_classes_together_do_not_forget():
    X, y = stream(n_classes=3)
    with pytest.raises(ValueError, match="FactorisedPropagation learns one class after another"):
        filtering(0.99).set_params(multi_class="joint").fit(X, y)


def bad_batches(X, y):
    wide = sparse.csr_array(np.ones((5, 31)))
    spoiled = X[:5].copy()
    spoiled.data[3] = np.nan
    huge = X[:5].copy()
    huge.data[3] = 1e200
    return {
        "X has 31 features": (wide, y[:5], {}),
        "contains NaN": (spoiled, y[:5], {}),
        "squares overflow": (huge, y[:5], {}),
        "not among the classes": (X[:5], np.full(5, 7), {}),
        "not the same as on the last call": (X[:5], y[:5], {"classes": [0, 1, 2]}),
        "inconsistent numbers of samples": (X[:5], y[:4], {}),
    }


@DECAYS
def test_a_bad_batch_changes_nothing(decay):
    X, y = stream()
    clf = in_batches(filtering(decay), X[:200], y[:200], 100)
    before = pickle.dumps(clf)
    for message, (rows, labels, more) in bad_batches(X, y).items():
        with pytest.raises(ValueError, match=message):
            clf.partial_fit(rows, labels, **more)
        assert pickle.dumps(clf) == before
    clf.partial_fit(X[200:210], np.zeros(10, dtype=int))  # one class only: that is fine
    assert clf.posterior_.n_rows == 210


def test_batches_without_some_classes():
    X, y = stream(n_classes=3)
    clf = filtering(0.999)
    for label in (0, 1, 2, 0):
        clf.partial_fit(X[y == label], y[y == label], classes=[0, 1, 2])
    assert clf.predict_proba(X).shape == (300, 3)


def test_rows_without_entries():
    X, y = stream()
    clf = filtering(0.99, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    coef = clf.coef_.copy()
    clf.partial_fit(sparse.csr_array((4, 30)), [0, 1, 0, 1])
    assert_array_equal(clf.coef_, coef)

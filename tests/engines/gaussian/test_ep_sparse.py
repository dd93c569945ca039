"""Sparse features, which independent weights take as they are."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from tests.helpers.probit import assert_same

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, FactorisedPropagation
from bayespoint.exceptions import KernelError, SparseInputWarning

pytestmark = pytest.mark.filterwarnings("ignore::bayespoint.exceptions.FactorisedWarning")


def diagonal(fit_intercept=True, **parameters):
    engine = FactorisedPropagation(tol=1e-9, max_iter=1000, **parameters)
    return BayesPointClassifier(
        kernel="linear", temperature=1.0, fit_intercept=fit_intercept, engine=engine
    )


def features(n=60, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    X[5] = 0  # a row without entries
    X[:, 7] = 0  # a column without
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1, -1)
    return X, y


def unsorted(X):
    """The same rows, with indices from right to left."""
    parts = [(np.flatnonzero(row)[::-1], row[np.flatnonzero(row)[::-1]]) for row in X]
    indptr = np.append(0, np.cumsum([len(own) for own, _ in parts]))
    indices, data = (np.concatenate(both) for both in zip(*parts, strict=True))
    return sparse.csr_array((data, indices, indptr), shape=X.shape)


def with_duplicates(X):
    """Every entry twice, as parts that add up to it."""
    rows, columns = np.nonzero(X)
    values = X[rows, columns]
    order = np.lexsort((np.tile(columns, 2), np.tile(rows, 2)))
    indptr = np.append(0, np.cumsum(2 * np.count_nonzero(X, axis=1)))
    data = np.concatenate([0.25 * values, 0.75 * values])[order]
    return sparse.csr_array((data, np.tile(columns, 2)[order], indptr), shape=X.shape)


def with_int64(X):
    found = sparse.csr_array(X)
    found.indices, found.indptr = found.indices.astype(np.int64), found.indptr.astype(np.int64)
    return found


def with_zeros(X):
    """Entries that are there, and zero."""
    found = sparse.csr_array(np.where(X == 0, 1e-300, X))
    found.data[found.data == 1e-300] = 0
    return found


FORMS = pytest.mark.parametrize(
    "form",
    [
        sparse.csr_array,
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_matrix,
        unsorted,
        with_duplicates,
        with_int64,
        with_zeros,
    ],
)


def assert_same_answers(one, other, X, Z):
    """The machines answer points X and Z alike."""
    for question in ("decision_function", "predict_proba", "predict", "vote_shares"):
        np.testing.assert_allclose(
            getattr(one, question)(X), getattr(other, question)(Z), rtol=1e-12, atol=1e-12
        )
    for found, expected in zip(
        one.latent_mean_and_variance(X), other.latent_mean_and_variance(Z), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        one.sample_proba(X, 7, random_state=0), other.sample_proba(Z, 7, random_state=0), atol=1e-12
    )


@FORMS
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_and_dense_features_are_the_same(form, fit_intercept):
    X, y = features()
    Z = form(X)
    kept = [part.copy() for part in (Z.data, getattr(Z, "indices", Z.data))]
    dense = diagonal(fit_intercept, label_noise=0.02).fit(X, y)
    found = clone(dense).fit(Z, y)
    for part, before in zip((Z.data, getattr(Z, "indices", Z.data)), kept, strict=True):
        np.testing.assert_array_equal(part, before)  # the user's array is as it was
    assert_same(found, dense, atol=1e-12)
    assert found.n_iter_ == dense.n_iter_
    assert_same_answers(found, dense, Z, X)
    assert_same_answers(found, dense, X, Z)


def test_several_classes_and_weights():
    X, _ = features()
    y = np.random.default_rng(1).integers(0, 3, 60)
    weight = np.random.default_rng(2).integers(0, 3, 60)
    dense = diagonal(prior_scale=np.linspace(0.5, 2, 12), intercept_scale=3.0)
    found = clone(dense).fit(sparse.csr_array(X), y, sample_weight=weight)
    dense.fit(X, y, sample_weight=weight)
    assert_same(found, dense, atol=1e-12)
    assert_same_answers(found, dense, sparse.csr_array(X), X)
    assert found.coef_.shape == (3, 12)


def test_float32_features():
    X, y = features()
    single = sparse.csr_array(X.astype(np.float32))
    found = diagonal().fit(single, y)
    assert_same(found, diagonal().fit(single.toarray(), y), atol=1e-12)
    assert found.coef_.dtype == np.float64


def test_a_feature_that_never_comes_keeps_its_prior():
    X, y = features()
    mean, scale = np.zeros(12), np.ones(12)
    mean[7], scale[7] = 0.7, 1.9
    found = diagonal(prior_mean=mean, prior_scale=scale).fit(sparse.csr_array(X), y)
    assert found.coef_[0, 7] == pytest.approx(0.7, rel=1e-14)
    assert found.posterior_.factor[0, 7] == pytest.approx(1.9, rel=1e-14)


def test_a_point_without_entries_and_intercept_is_a_coin():
    X, y = features()
    found = diagonal(False).fit(sparse.csr_array(X), y)
    without = diagonal(False).fit(sparse.csr_array(np.delete(X, 5, 0)), np.delete(y, 5))
    assert_same(found, diagonal(False).fit(X, y), atol=1e-12)
    np.testing.assert_allclose(found.coef_, without.coef_, atol=1e-8)
    assert found.log_evidence_ - without.log_evidence_ == pytest.approx(np.log(0.5), abs=1e-7)
    assert found.predict_proba(sparse.csr_array((1, 12))) == pytest.approx(0.5)


def test_many_features_take_no_more_memory_than_their_entries():
    """4 GB if they were dense."""
    rng = np.random.default_rng(0)
    n, d, entries = 5_000, 100_000, 20
    X = sparse.csr_matrix(
        (np.ones(n * entries), rng.integers(0, d, n * entries), np.arange(0, n * entries + 1, 20)),
        shape=(n, d),
    )
    truth = rng.normal(size=d)
    y = np.where(X @ truth > 0, "yes", "no")
    clf = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=FactorisedPropagation()
    ).fit(X, y)
    assert clf.score(X, y) > 0.99
    never = np.setdiff1d(np.arange(d), X.indices)
    np.testing.assert_array_equal(clf.coef_[0, never], 0)
    assert np.corrcoef(truth, clf.coef_[0])[0, 1] > 0.15
    assert clf.predict_proba(X[:9]).shape == (9, 2)


@pytest.mark.parametrize(
    ("kernel", "engine", "message"),
    [
        ("linear", ExpectationPropagation(), "Sparse input needs an engine"),
        ("linear", "perceptron", "Sparse input needs an engine"),
        ("rbf", FactorisedPropagation(), "needs kernel='linear'"),
        ("poly", "ep", "needs kernel='linear'"),
    ],
    ids=str,
)
def test_others_refuse_and_say_what_to_do(kernel, engine, message):
    X, y = features()
    clf = BayesPointClassifier(temperature=1.0, kernel=kernel, engine=engine)
    with pytest.raises(TypeError, match=rf"{message}.* X\.toarray"):
        clf.fit(sparse.csr_array(X), y)
    clf.set_params(ridge=1.0).fit(X, y)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        clf.predict(sparse.csr_array(X))


def test_by_its_name_the_engine_takes_the_form_that_sparse_rows_need():
    X, y = features()
    with pytest.warns(SparseInputWarning, match="FactorisedPropagation"):
        named = BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep").fit(
            sparse.csr_array(X), y
        )
    engine = FactorisedPropagation()
    chosen = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine).fit(
        sparse.csr_array(X), y
    )
    np.testing.assert_array_equal(named.coef_, chosen.coef_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"normalize": True}, "normalize=True is not written"),
        ({"ridge": 0.5}, "Raise the engine's noise"),
    ],
)
def test_what_would_need_a_dense_array_is_refused(parameters, message):
    X, y = features()
    with pytest.raises(KernelError, match=message):
        diagonal().set_params(**parameters).fit(sparse.csr_array(X), y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_entries(bad):
    X, y = features()
    Z = sparse.csr_array(X)
    Z.data[3] = bad
    with pytest.raises(ValueError, match="Input X contains"):
        diagonal().fit(Z, y)


def test_another_number_of_features():
    X, y = features()
    clf = diagonal().fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match=r"X has 11 features, but .* is expecting 12"):
        clf.predict(sparse.csr_array(X[:, :11]))


def test_tags_say_who_takes_sparse_features():
    assert diagonal().__sklearn_tags__().input_tags.sparse
    assert (
        BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep")
        .__sklearn_tags__()
        .input_tags.sparse
    )
    full = BayesPointClassifier(kernel="linear", temperature=1.0, engine=ExpectationPropagation())
    assert not full.__sklearn_tags__().input_tags.sparse
    assert not diagonal().set_params(kernel="rbf").__sklearn_tags__().input_tags.sparse

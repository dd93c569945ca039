"""Learning from batches: each batch finds the posterior of all earlier ones as its prior."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale
from tests.helpers.probit import assert_same, machine, problem

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.classifier.calibration import best_temperature
from bayespoint.engines import ExpectationPropagation, FactorisedPropagation, PermutedPerceptron
from bayespoint.rows import from_arrays

pytestmark = pytest.mark.filterwarnings("ignore::bayespoint.exceptions.FactorisedWarning")
KINDS = pytest.mark.parametrize(
    "kind",
    [{}, {"schedule": "sequential"}, {"engine": "factorised-ep", "max_iter": 1000}],
    ids=["sequential", "rounds", "diagonal"],
)
LABELS = [-1, 1]


def with_intercept(**parameters):
    return machine(**parameters).set_params(fit_intercept=True)


def second_fit(first, X, y, engine=None):
    """A machine that is given the posterior of the first one as its prior."""
    posterior = first.posterior_
    prior = {"prior_mean": posterior.mean[:, 0]}
    if posterior.is_diagonal:
        prior["prior_scale"] = posterior.factor[0]
    else:
        prior["prior_covariance"] = posterior.covariance[0]
    clf = clone(first)
    return clf.set_params(engine=(engine or clf.engine).set_params(**prior)).fit(X, y)


# One batch, two batches, many --------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("flip", [0.0, 0.05])
def test_one_batch_is_a_fit(kind, flip):
    X, y = problem()
    clf = with_intercept(label_noise=flip, **kind)
    batch = clone(clf).partial_fit(X, y, classes=LABELS)
    assert_same(batch, clf.fit(X, y), atol=0)
    assert batch.n_iter_ == clf.n_iter_
    np.testing.assert_array_equal(batch.predict_proba(X), clf.predict_proba(X))


@KINDS
@pytest.mark.parametrize("flip", [0.0, 0.05])
@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
def test_two_batches_are_a_fit_with_the_first_posterior_as_prior(begin, kind, flip):
    X, y = problem(80)
    clf = with_intercept(label_noise=flip, noise=0.8, **kind)
    clf.fit(X[:50], y[:50]) if begin == "fit" else clf.partial_fit(X[:50], y[:50], LABELS)
    first = pickle.loads(pickle.dumps(clf))
    clf.partial_fit(X[50:], y[50:])
    second = second_fit(first, X[50:], y[50:])
    np.testing.assert_allclose(clf.posterior_.mean, second.posterior_.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        clf.posterior_.covariance, second.posterior_.covariance, rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(
        clf.log_evidence_, first.log_evidence_ + second.log_evidence_, rtol=0, atol=1e-9
    )
    assert len(clf.posterior_.left_out_log_probability) == 30  # of this batch


def test_single_points_are_one_pass():
    """Assumed-density filtering: each point once, and none again."""
    X, y = problem(30)
    once = machine(max_iter=1).fit(X, y)
    clf = machine(max_iter=1)
    for point, label in zip(X, y, strict=True):
        clf.partial_fit([point], [label], classes=LABELS)
    np.testing.assert_allclose(clf.coef_, once.coef_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(clf.posterior_.covariance, once.posterior_.covariance, atol=1e-10)


@pytest.mark.parametrize(("engine", "band"), [("ep", 0.4), ("factorised-ep", 0.8)])
@pytest.mark.parametrize("size", [10, 50])
def test_many_batches_come_near_a_fit(engine, band, size):
    """Within a share of a standard deviation."""
    X, y = problem(400)
    all_at_once = with_intercept(engine=engine, tol=1e-6).fit(X, y)
    clf = clone(all_at_once)
    for begin in range(0, 400, size):
        clf.partial_fit(X[begin : begin + size], y[begin : begin + size], classes=LABELS)

    def gap(one):
        deviation = np.sqrt(all_at_once.posterior_.covariance[0].diagonal())
        return (np.abs(one.posterior_.mean - all_at_once.posterior_.mean)[:, 0] / deviation).max()

    assert gap(clf) < band
    assert abs(clf.log_evidence_[0] - all_at_once.log_evidence_[0]) < 1
    ratio = clf.posterior_.covariance[0].diagonal()
    ratio = ratio / all_at_once.posterior_.covariance[0].diagonal()
    assert np.abs(np.log(ratio)).max() < 0.35
    last_batch = clone(clf).fit(X[-size:], y[-size:])
    assert gap(last_batch) > 2 * band  # without the earlier batches


@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_the_temperature_is_that_of_all_batches(begin, engine, tmp_path):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = scale(X[order]), y[order]
    clf = BayesPointClassifier(kernel="linear", engine=engine)
    forecasts = []
    for n, batch in enumerate(np.split(np.arange(150), [90, 92])):
        if n == 0 and begin == "fit":
            clf.fit(X[batch], y[batch])
        else:
            clf.partial_fit(X[batch], y[batch], classes=[0, 1, 2])
        coding, log_p = clf.coding_, clf.posterior_.left_out_log_probability
        forecasts.append(coding.log_odds(*coding.left_out(log_p, y[batch])))
        known = np.concatenate(forecasts)
        expected = best_temperature(known, y[: len(known)])
        assert coding.temperature == pytest.approx(expected, rel=1e-3)
        assert abs(np.log(expected)) > 0.05
        bayespoint.save(clf, tmp_path / "model")
        clf = bayespoint.load(tmp_path / "model")
    assert clf.set_params(temperature=1.5).partial_fit(X, y).coding_.temperature == 1.5


def test_batches_keep_a_temperature_of_which_nothing_else_is_known():
    X, y = problem(200)
    clf = BayesPointClassifier(kernel="linear").fit(from_arrays(X[:150], y[:150], block_rows=50))
    temperature = clf.coding_.temperature
    assert abs(np.log(temperature)) > 0.05
    assert clf.partial_fit(X[150:], y[150:]).coding_.temperature == temperature


def test_a_later_fit_starts_anew():
    X, y = problem()
    clf = machine().fit(X, y)
    again = machine().partial_fit(X[:9], y[:9], classes=LABELS).fit(X, y)
    assert_same(again, clf, atol=0)


def test_a_fit_with_other_features_and_classes_starts_anew():
    X, y = problem()
    clf = machine().partial_fit(X, y, classes=LABELS)
    clf.fit(X[:, :2], np.where(y > 0, "b", "a"))
    assert clf.n_features_in_ == 2
    clf.partial_fit(X[:5, :2], ["a"] * 5)
    assert clf.classes_.tolist() == ["a", "b"]


@KINDS
def test_pickles_and_copies_on_the_way(kind):
    X, y = problem()
    clf = with_intercept(**kind).partial_fit(X[:30], y[:30], classes=LABELS)
    restored = pickle.loads(pickle.dumps(clf)).partial_fit(X[30:], y[30:])
    assert_same(restored, clf.partial_fit(X[30:], y[30:]), atol=0)
    fresh = clone(clf)
    assert not hasattr(fresh, "posterior_")
    with pytest.raises(ValueError, match="classes must be passed"):
        fresh.partial_fit(X, y)


# Classes and weights -----------------------------------------------------------------------------


def test_batches_may_lack_classes():
    X, y = load_iris(return_X_y=True)
    clf = with_intercept(tol=1e-8)
    for batch in range(6):  # two classes each
        own = (np.arange(150) % 6 == batch) & (y != batch % 3)
        clf.partial_fit(X[own], y[own], classes=[0, 1, 2])
        assert clf.classes_.tolist() == [0, 1, 2]
        assert clf.predict_proba(X).shape == (150, 3)
    assert clf.score(X, y) > 0.9
    assert clf.coef_.shape == (3, 4)
    two = with_intercept(tol=1e-8).partial_fit(X[:25], y[:25], classes=[0, 1])
    assert (two.predict(X[:25]) == 0).all()


def test_labels_of_any_kind_in_any_order():
    X, y = problem()
    names = np.where(y > 0, "yes", "no")
    clf = machine().partial_fit(X, names, classes=["yes", "no"])
    assert clf.classes_.tolist() == ["no", "yes"]
    clf.partial_fit(X, names, classes=["no", "yes"])
    clf.partial_fit(X[y > 0], names[y > 0])
    assert set(clf.predict(X)) == {"no", "yes"}


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (None, None, "classes must be passed on the first call"),
        ([1], None, r"at least two classes. Got \[1\]"),
        ([0, 1], None, r"labels that are not among the classes \[0, 1\]: \[-1\]. Name all"),
        ([-1, 1], [0, 1], r"classes=\[0, 1\] is not the same as on the last call, \[-1, 1\]"),
        ([-1, 1], [-1, 0, 1], "is not the same as on the last call"),
    ],
)
def test_bad_classes(first, second, message):
    X, y = problem()
    clf = machine()
    if second is not None:
        clf.partial_fit(X, y, classes=first)
        first = second
    with pytest.raises(ValueError, match=message):
        clf.partial_fit(X, y, classes=first)


def test_classes_stay_those_of_a_fit():
    X, y = problem()
    clf = machine().fit(X, y)
    with pytest.raises(ValueError, match=r"not among the classes \[-1, 1\]: \[0\]"):
        clf.partial_fit(X, 0 * y)
    with pytest.raises(ValueError, match="is not the same as on the last call"):
        clf.partial_fit(X, y, classes=[-1, 0, 1])


@KINDS
def test_weights_are_copies(kind):
    X, y = problem()
    weight = np.random.default_rng(0).integers(0, 4, 60)
    copies = np.repeat(np.arange(60), weight)
    weighted, copied = (with_intercept(**kind).fit(X, -y) for _ in range(2))
    weighted.partial_fit(X, y, sample_weight=weight)
    assert_same(weighted, copied.partial_fit(X[copies], y[copies]), atol=1e-8)


@pytest.mark.parametrize("class_weight", [{1: 3.0, -1: 1.0}, {1: 3.0}])
def test_weights_of_classes(class_weight):
    """Also in batches that lack a class."""
    X, y = problem()
    order = np.argsort(y)
    X, y = X[order], y[order]
    weighted = machine().set_params(class_weight=class_weight)
    plain = machine()
    for part in (slice(0, 20), slice(20, 60)):
        own = np.where(y[part] > 0, 3.0, 1.0)
        weighted.partial_fit(X[part], y[part], classes=LABELS)
        plain.partial_fit(X[part], y[part], classes=LABELS, sample_weight=own)
    assert (y[:20] == -1).all()
    assert_same(weighted, plain, atol=0)


def test_balanced_weights_and_a_ridge_need_all_data():
    X, y = problem()
    with pytest.raises(ValueError, match=r"'balanced' needs all labels.*as a dict"):
        machine().set_params(class_weight="balanced").partial_fit(X, y, classes=LABELS)
    with pytest.raises(ValueError, match=r"needs ridge=0.*Got ridge=0.5; raise the engine's noise"):
        machine().set_params(ridge=0.5).partial_fit(X, y, classes=LABELS)


# Who can, and what may change --------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"engine": "perceptron"},
        {"engine": PermutedPerceptron()},
        {"kernel": "rbf"},
        {"kernel": "poly", "engine": ExpectationPropagation()},
        {"kernel": "precomputed"},
        {"kernel": np.dot},
        {"mixture": [(0.5, {"kernel": "linear"}), (0.5, {"kernel": "rbf"})]},
    ],
    ids=["name", "engine", "rbf", "poly", "precomputed", "callable", "mixture"],
)
def test_other_machines_have_no_partial_fit(parameters):
    clf = BayesPointClassifier(**parameters)
    assert not hasattr(clf, "partial_fit")
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as caught:
        clf.partial_fit([[0.0]], [0], classes=[0, 1])
    assert "needs an engine that supports batch learning, and kernel='linear'" in str(
        caught.value.__cause__
    )
    assert hasattr(BayesPointClassifier(), "partial_fit")


def test_a_chosen_kernel_cannot_go_on():
    X, y = problem(30)
    clf = BayesPointClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"kernel was chosen .* Set kernel='linear' before fit"):
        clf.partial_fit(X, y)
    assert BayesPointClassifier().partial_fit(X, y, classes=LABELS).partial_fit(X, y).coef_.size


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_batches(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9)) * (rng.random((60, 9)) < 0.4)
    y = np.where(X @ rng.normal(size=9) > 0, 1, -1)
    dense = with_intercept(engine="factorised-ep", tol=1e-9, max_iter=1000)
    found = clone(dense)
    for part in (slice(0, 30), slice(30, 60)):
        dense.partial_fit(X[part], y[part], classes=LABELS)
        found.partial_fit(form(X[part]), y[part], classes=LABELS)
    assert_same(found, dense, atol=1e-12)
    np.testing.assert_allclose(found.predict_proba(form(X)), dense.predict_proba(X), rtol=1e-12)


def failing_batches(X, y):
    """Changes and batches that must fail, and what they say."""
    missing = X.copy()
    missing[0, 0] = np.inf
    diagonal = FactorisedPropagation()
    return [
        ({"fit_intercept": True}, X, y, "fit_intercept must not change between batches"),
        ({"engine": diagonal}, X, y, "cannot go on from a posterior with a full covariance"),
        ({"engine": ExpectationPropagation(noise=-1)}, X, y, "'noise' parameter"),
        ({}, X[:, :2], y, "X has 2 features, but"),
        ({}, missing, y, "Input X contains infinity"),
        ({}, X, 7 * y, "labels that are not among the classes"),
        ({}, X, y[:3], "inconsistent numbers of samples"),
        ({}, 1e200 * X, y, "squares.* overflow"),
    ]


@pytest.mark.parametrize("case", range(8))
def test_a_batch_that_fails_leaves_the_posterior_as_it_was(case):
    X, y = problem()
    parameters, points, labels, message = failing_batches(X, y)[case]
    clf = machine().partial_fit(X[:30], y[:30], classes=LABELS)
    before, answers = clf.get_params(deep=False), clf.predict_proba(X)
    evidence = clf.log_evidence_.copy()
    with pytest.raises(ValueError, match=message):
        clf.set_params(**parameters).partial_fit(points, labels)
    np.testing.assert_array_equal(clf.predict_proba(X), answers)
    np.testing.assert_array_equal(clf.log_evidence_, evidence)
    clf.set_params(**before).partial_fit(X[30:], y[30:])
    undisturbed = machine().partial_fit(X[:30], y[:30], classes=LABELS).partial_fit(X[30:], y[30:])
    assert_same(clf, undisturbed, atol=0)


def test_a_sparse_batch_that_fails_leaves_sparse_predictions():
    X, y = problem()
    X = sparse.csr_array(X)
    clf = machine(engine="factorised-ep").partial_fit(X, y, classes=LABELS)
    answers = clf.predict_proba(X)
    with pytest.raises(TypeError, match="Sparse input needs an engine"):
        clf.set_params(engine=ExpectationPropagation()).partial_fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(X), answers)


def test_a_first_batch_that_fails_leaves_nothing():
    X, y = problem()
    clf = machine()
    with pytest.raises(ValueError, match=r"squares.* overflow"):
        clf.partial_fit(1e200 * X, y, classes=LABELS)
    assert not hasattr(clf, "posterior_")
    with pytest.raises(ValueError, match="classes must be passed"):
        clf.partial_fit(X, y)
    assert_same(clf.partial_fit(X, y, classes=LABELS), machine().fit(X, y), atol=0)


def test_a_posterior_of_samples_cannot_go_on():
    X, y = problem(noise=0.0)
    clf = BayesPointClassifier(engine="perceptron", ridge=1.0, random_state=0).fit(X, y)
    clf.set_params(engine="ep", ridge=0.0)
    with pytest.raises(ValueError, match=r"with a ProbitLikelihood only.*fit anew"):
        clf.partial_fit(X, y)


def test_independent_weights_may_go_on_with_a_full_covariance():
    X, y = problem()
    clf = machine(engine="factorised-ep").partial_fit(X[:30], y[:30], classes=LABELS)
    first = pickle.loads(pickle.dumps(clf))
    engine = ExpectationPropagation(tol=1e-12)
    clf.set_params(engine=engine).partial_fit(X[30:], y[30:])
    expected = second_fit(first, X[30:], y[30:], clone(engine))
    np.testing.assert_allclose(
        clf.posterior_.covariance, expected.posterior_.covariance, atol=1e-10
    )


def test_other_models_have_other_weights():
    X, y = problem()
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, engine="laplace").fit(X, y)
    with pytest.raises(ValueError, match=r"with a ProbitLikelihood only.*LogisticLikelihood: fit"):
        clf.set_params(engine="ep").partial_fit(X, y)

"""The automatic choice of kernels, temperatures and weights."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.classifier.fitting import pose, train, with_params
from bayespoint.classifier.kernel_choice.candidates import by_range, candidates, relevance
from bayespoint.classifier.kernel_choice.choice import TOO_SURE, study_of, with_smaller_scale
from bayespoint.classifier.kernel_choice.study import SMALLER, Proposal, propose, try_out
from bayespoint.classifier.parameters import Parameters
from bayespoint.engines import ExpectationPropagation, GibbsSampler
from bayespoint.kernels import ConstantKernel, RadialKernel, SumKernel
from bayespoint.posteriors import MixturePosterior
from bayespoint.tools.monitor import Monitor, watch


def moons(n=120, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return X * [1.0, 100.0] + [0.0, 5.0], np.array(["out", "in"])[y]


def train_with(parameters, params, problem):
    return train(*with_params(parameters, problem, params), Monitor(), 0)


@pytest.fixture(scope="module")
def fitted():
    X, y = moons()
    return BayesPointClassifier(random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return BayesPointClassifier(random_state=0).fit(X[::2], y[::2]), X[1::2], y[1::2]


def test_what_was_chosen_gives_the_same_fit_when_typed(fitted):
    clf, X, y = fitted
    again = BayesPointClassifier(random_state=0, **clf.chosen_params_).fit(X, y)
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert not hasattr(again, "chosen_params_")
    # and nothing of it is left to be chosen
    for _, params in clf.chosen_params_["mixture"]:
        assert not isinstance(params["engine"].prior_scale, str)
        assert params["temperature"] == 1
    assert clf.chosen_params_["temperature"] == clf.coding_.temperature > 0


def test_it_beats_the_linear_machine_on_moons(fitted):
    clf, _, _ = fitted
    X, y = moons(2000, seed=1)
    linear = BayesPointClassifier(kernel="linear").fit(*moons())
    assert clf.score(X, y) > 0.9 > linear.score(X, y)


def test_probabilities_are_those_of_the_members():
    X, y = load_iris(return_X_y=True)
    shares = {0.7: RadialKernel(gamma=0.3), 0.3: RadialKernel(gamma=5.0)}
    mixture = [(v, {"kernel": kernel, "temperature": 1.0}) for v, kernel in shares.items()]
    clf = BayesPointClassifier(standardize=True, mixture=mixture).fit(X[::2], y[::2])
    assert isinstance(clf.posterior_, MixturePosterior)
    expected = np.zeros((75, 3))
    for weight, params in mixture:
        single = BayesPointClassifier(standardize=True, **params).fit(X[::2], y[::2])
        expected += weight * single.predict_proba(X[1::2])
    warm = expected ** (1 / clf.coding_.temperature)
    warm /= warm.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(clf.predict_proba(X[1::2]), warm, atol=1e-7)
    assert np.abs(warm - expected).max() > 1e-3  # the temperature matters


@pytest.mark.parametrize("multi_class", ["joint", "one_vs_rest"])
def test_expected_scores_of_several_classes_hold(multi_class):
    X, y = load_iris(return_X_y=True)
    clf = BayesPointClassifier(multi_class=multi_class, random_state=0).fit(X[::2], y[::2])
    assert clf.coding_.name == multi_class
    expected = clf.expected_scores_["log_loss"]
    p = clf.predict_proba(X[1::2])
    assert expected.low <= -np.log(p[np.arange(75), y[1::2]]).mean() <= expected.high
    assert expected.value < 0.2


@pytest.mark.parametrize("which", ["fitted", "iris"])
def test_labels_scores_and_probabilities_agree(which, request):
    clf, X, _ = request.getfixturevalue(which)
    p, scores = clf.predict_proba(X), clf.decision_function(X)
    assert np.array_equal(clf.predict(X), clf.classes_[p.argmax(axis=1)])
    if scores.ndim == 2:
        np.testing.assert_allclose(np.exp(log_softmax(scores, axis=1)), p, atol=1e-12)
    else:
        assert np.array_equal(scores > 0, p[:, 1] > 0.5)


def test_features_may_have_any_scale(fitted):
    clf, X, y = fitted
    other = BayesPointClassifier(random_state=0).fit(X * [0.2, 30.0], y)
    p = other.predict_proba(X * [0.2, 30.0])
    np.testing.assert_allclose(p, clf.predict_proba(X), atol=1e-5)


def test_features_of_one_unit_keep_it():
    reach, scale = np.array([4.0, 10.0, 0.0]), np.array([5.0, 0.5, 7.0])
    same = by_range(reach, scale)  # ranges of 20 and 5
    assert same[0] / same[1] == pytest.approx(10) and 0 < same[2] <= 1
    other = by_range(reach, scale * [6, 1, 1])  # 120 and 5: two units
    assert other[0] / other[1] == pytest.approx(2.5)
    assert (by_range(np.zeros(2), np.ones(2)) == 1).all()
    large = by_range(reach, 2.0**1020 * scale)  # ranges that overflow
    assert np.array_equal(large, same)


def test_the_order_of_points_does_not_matter(fitted):
    clf, X, y = fitted
    order = np.random.default_rng(0).permutation(len(y))
    other = BayesPointClassifier(random_state=0).fit(X[order], y[order])
    np.testing.assert_allclose(other.predict_proba(X), clf.predict_proba(X), atol=1e-5)


def test_a_weight_of_two_is_a_copy():
    X, y = moons(60)
    weight = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    copies = np.repeat(np.arange(60), weight.astype(int))
    by_weight = BayesPointClassifier(random_state=0).fit(X, y, weight)
    by_copies = BayesPointClassifier(random_state=0).fit(X[copies], y[copies])
    difference = by_weight.predict_proba(X) - by_copies.predict_proba(X)
    assert np.abs(difference).max() < 1e-4


def test_expected_scores_hold_on_new_data(fitted):
    clf, _, _ = fitted
    X, y = moons(4000, seed=1)
    error, loss = clf.expected_scores_["error"], clf.expected_scores_["log_loss"]
    assert error.low <= 1 - clf.score(X, y) <= error.high
    own = clf.predict_proba(X)[np.arange(len(y)), np.searchsorted(clf.classes_, y)]
    assert loss.low <= -np.log(own).mean() <= loss.high
    assert clf.left_out_error_ == error.value


def test_it_is_told(fitted, capsys):
    clf, X, y = fitted
    assert len(clf.run_.choice) == 7
    assert clf.run_.choice[6].startswith("temperature")
    assert "parts differ by 0." in clf.run_.choice[5]
    assert "leave-one-out log-loss" in clf.run_.choice[0]
    BayesPointClassifier(random_state=0, verbose=1).fit(X, y)
    assert "bayespoint: trying rough + additive\n" in capsys.readouterr().err


def test_model_files(fitted, iris, tmp_path):
    for clf, X, _ in (fitted, iris):
        bayespoint.save(clf, tmp_path / "model.bpm")
        loaded = bayespoint.load(tmp_path / "model.bpm")
        assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))
        assert loaded.run_.choice == clf.run_.choice
        assert str(loaded.chosen_params_) == str(clf.chosen_params_)


def test_what_is_named_is_not_overridden():
    X, y = moons(40)
    assert not hasattr(BayesPointClassifier(kernel="rbf").fit(X, y), "chosen_params_")
    given = BayesPointClassifier(gamma=0.7, engine=ExpectationPropagation(prior_scale=2.0))
    chosen = given.fit(X, y).chosen_params_
    for _, params in chosen.get("mixture", [(1.0, chosen)]):
        assert params["engine"].prior_scale == 2.0
        assert getattr(params["kernel"], "gamma", 1.0) in (0.7, 1.0)
    few = BayesPointClassifier(n_components=7).fit(X, y).chosen_params_
    sizes = {params["n_components"] for _, params in few.get("mixture", [(1.0, few)])}
    assert sizes <= {7, None}
    cool = BayesPointClassifier(temperature=0.7).fit(X, y).chosen_params_
    assert cool["temperature"] == 0.7
    raw = BayesPointClassifier(standardize=False).fit(X, y)
    assert raw.chosen_params_["standardize"] is False


def test_engines_that_cannot_compare_kernels_are_linear():
    X, y = moons(40)
    clf = BayesPointClassifier(engine=GibbsSampler(n_samples=20), random_state=0).fit(X, y)
    assert clf.kernel_.is_linear
    assert not hasattr(clf, "chosen_params_")


def test_a_refit_forgets_what_was_chosen(fitted):
    clf, X, y = fitted
    other = clone(clf).fit(X, y).set_params(kernel="linear").fit(X, y)
    assert not hasattr(other, "chosen_params_")
    assert hasattr(other, "coef_")


HARD = {
    "ten points": (np.random.default_rng(0).normal(size=(10, 2)), np.arange(10) % 2),
    "one feature": (np.linspace(-1, 1, 30)[:, None], np.arange(30) > 14),
    "constant features": (np.ones((20, 3)), np.arange(20) % 2),
    "pure noise": (np.random.default_rng(1).normal(size=(60, 4)), np.arange(60) % 3),
    "a class of one point": (np.random.default_rng(2).normal(size=(30, 2)), np.arange(30) // 29),
    "many features": (np.random.default_rng(3).normal(size=(24, 5000)), np.arange(24) % 2),
    "two points": (np.array([[0.0], [1.0]]), np.array([0, 1])),
    "hundred classes": (np.random.default_rng(4).normal(size=(200, 2)), np.arange(200) % 100),
}


@pytest.mark.parametrize("case", HARD)
def test_whatever_comes(case):
    X, y = HARD[case]
    clf = BayesPointClassifier(random_state=0).fit(X, y)
    p = clf.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_mixtures_that_are_not_allowed():
    X, y = moons(20)
    wrong = (
        [],
        [(0.0, {})],
        [(1.0,)],
        [(1.0, {"random_state": 3})],
        "rbf",
        [(np.nan, {})],
        [(1e308, {}), (1e308, {})],
    )
    for mixture in wrong:
        with pytest.raises(ValueError, match="mixture"):
            BayesPointClassifier(mixture=mixture).fit(X, y)
    noisy = {"engine": ExpectationPropagation(noise=2.0)}
    with pytest.raises(ValueError, match=r"same likelihood. Got ProbitLikelihood\(.*noise=1.0"):
        BayesPointClassifier(mixture=[(1, {"kernel": "rbf"}), (1, noisy)]).fit(X, y)
    with pytest.raises(ValueError, match="use one kind of engine"):
        BayesPointClassifier(mixture=[(1, {}), (1, {"engine": "perceptron"})]).fit(X, y)


def test_the_monitor_hears_of_what_is_tried_now():
    class Listener(Monitor):
        told = []

        def tell(self, message):
            self.told.append(message)

    X, y = moons(30)
    with watch(Listener()):
        clf = BayesPointClassifier(random_state=0).fit(X, y)
    names = [line.strip().partition(" ")[2].partition(":")[0] for line in clf.run_.choice]
    tried = [message.removeprefix("trying ") for message in Listener.told if "trying" in message]
    assert tried and tried == names[: len(tried)]


def test_equal_data_give_equal_probabilities_whatever_the_seed(fitted):
    clf, X, y = fitted
    for seed in (1, None):
        other = BayesPointClassifier(random_state=seed).fit(X, y)
        assert np.array_equal(other.predict_proba(X), clf.predict_proba(X))


def test_rough_functions_are_found_where_trees_win():
    rng = np.random.default_rng(0)
    X = np.exp(2 * rng.normal(size=(2300, 4)))
    y = ((X[:, 0] > 1) ^ (X[:, 1] > 1)) ^ (rng.random(2300) < 0.05)
    clf = BayesPointClassifier().fit(X[:300], y[:300])
    shares = [int(line[:3]) for line in clf.run_.choice if "rough" in line]
    assert len(shares) == 2 and sum(shares) > 50
    assert clf.score(X[300:], y[300:]) > 0.85


def test_rare_levels_do_not_decide_on_distances():
    rng = np.random.default_rng(0)
    levels = (rng.random((600, 20)) < np.where(np.arange(20) < 6, 0.5, 0.02)).astype(float)
    y = (levels[:, :6] @ [1, -1, 1, -1, 1, -1] + (levels[:, 0] == levels[:, 1])) > 0.5
    clf = BayesPointClassifier().fit(levels[:300], y[:300])
    plain = BayesPointClassifier(kernel="rbf", standardize=True).fit(levels[:300], y[:300])
    new = levels[300:], y[300:]
    assert clf.score(*new) > plain.score(*new)


def test_a_large_basis_is_for_those_that_count():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    y = np.sin(2 * X).sum(axis=1) + 0.3 * rng.normal(size=700) > 0
    clf = BayesPointClassifier().fit(X, y)
    chosen = clf.chosen_params_
    sizes = {params["n_components"] for _, params in chosen.get("mixture", [(1.0, chosen)])}
    assert sizes == {None}  # all points


def test_the_levels_of_a_category_have_one_width():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{j}": rng.choice([*"abcd"], 150) for j in range(3)})
    y = (frame["c0"] == "a") ^ (frame["c1"] == "b")
    clf = BayesPointClassifier().fit(frame, y)
    assert any("a width for each feature" in line for line in clf.run_.choice)
    block, widths = clf.model_.table.block, []
    for _, params in clf.chosen_params_["mixture"]:
        gamma = params["kernel"].get_params().get("terms__0__gamma", 1.0)
        widths += [gamma] * (np.ndim(gamma) == 1 and len(set(gamma[block == 2])) == 1)
    assert widths and all(len(set(own[block == j])) == 1 for own in widths for j in range(3))
    assert any(own[block == 0][0] > 2 * own[block == 2][0] for own in widths)


def test_features_that_tell_nothing_are_left_out():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1060)
    X = rng.normal(size=(1060, 500))
    X[:, :10] += np.where(y == 1, 0.7, -0.7)[:, None]
    clf = BayesPointClassifier().fit(X[:60], y[:60])
    (share,) = [int(line[:3]) for line in clf.run_.choice if "rbf by relevance" in line]
    assert share > 50
    linear = BayesPointClassifier(kernel="linear", standardize=True).fit(X[:60], y[:60])
    assert clf.score(X[60:], y[60:]) > linear.score(X[60:], y[60:]) + 0.05


def test_relevance_is_what_single_features_tell():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 90)
    points = rng.normal(size=(90, 4))
    points[:, 1] += codes == 2
    weight = np.where(np.arange(90) % 2, 2.0, 1.0)
    told = relevance(points, codes, weight, np.arange(4))
    copies = np.repeat(np.arange(90), weight.astype(int))
    again = relevance(points[copies], codes[copies], None, np.arange(4))
    np.testing.assert_allclose(told, again)
    square = np.zeros(4)
    for j in range(4):
        pairs = [np.corrcoef(points[copies, j], codes[copies] == k)[0, 1] for k in range(3)]
        square[j] = max(np.square(pairs).mean() - 1 / 135, 0) + 0.1 / 135
    np.testing.assert_allclose(told, square / square.sum())
    blocks = relevance(points, codes, weight, np.array([0, 1, 1, 2]))
    assert blocks[1] == blocks[2] and told[1] > blocks[1] > told[2]
    with np.errstate(over="raise"):  # of so little weight all is chance
        tiny = relevance(points, codes, 1e-300 * weight, np.arange(4))
    np.testing.assert_allclose(tiny, 0.25)


def test_many_rows_have_one_machine_by_the_relevance_in_all_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(601, 3)), rng.integers(0, 2, 601)
    classifier = BayesPointClassifier()
    parameters = Parameters.of(classifier)
    problem = pose(classifier, parameters, X, y)
    study = study_of(parameters, problem, None)
    few, many = (
        candidates(problem.points[:n], problem.block, None, learns=True, constant=True)
        for n in (600, 601)
    )
    few, many = ({one.name: one for one in found} for found in (few, many))
    (fixed,) = [one for name, one in many.items() if name not in few]
    told = relevance(problem.points, problem.codes, None, problem.block)
    ((kernel, others),) = propose(study, fixed).kernels
    assert others == slice(None) and not propose(study, fixed).in_common
    np.testing.assert_allclose(kernel.terms[0].gamma, told**0.75 / (told**0.75).sum())
    assert list(kernel.weights) == [10.0, 1.0]
    ((kernel, _),) = propose(study, many["rbf by relevance"]).kernels
    np.testing.assert_allclose(kernel.terms[0].gamma / kernel.terms[0].gamma.sum(), told)
    assert len(propose(study, few["rbf by relevance"]).kernels) == 2


def test_few_of_very_many_features_decide():
    rng = np.random.default_rng(0)
    codes, points = np.arange(12) % 2, rng.normal(size=(12, 97))
    few, many = (relevance(points[:, :d], codes, None, np.arange(d)) for d in (96, 97))
    sharp = few**2 / np.sum(few**2)
    np.testing.assert_allclose(many[:96] / many[:96].sum(), sharp)


def test_scales_that_few_points_found_become_smaller():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    classifier = BayesPointClassifier(n_components=50)
    parameters = Parameters.of(classifier)
    problem = pose(classifier, parameters, X, y)
    study = study_of(parameters, problem, partial(train_with, parameters))
    kernel = SumKernel([RadialKernel(gamma=0.2), ConstantKernel()], weights=[1000.0, 2.0])
    first = try_out(study, Proposal("wide", [(kernel, slice(None))]), 50)
    assert first.temperature > TOO_SURE
    after = with_smaller_scale(study, first, 50)
    (weaker, _), *_ = after.proposal.kernels
    assert weaker.weights[0] <= 1000 * SMALLER
    assert weaker.weights[1] == 2
    assert after.loss < first.loss and after.temperature < first.temperature
    further = try_out(study, after.proposal.weaker(), 50)
    assert after.temperature <= TOO_SURE or further.loss >= after.loss


def test_heavy_rows_of_a_rare_class_are_left_out_as_a_whole():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] + rng.normal(size=400) > 2.2).astype(int)  # some 6 %, of which half are noise
    balanced = BayesPointClassifier(class_weight="balanced").fit(X, y)
    weight = np.where(y == 1, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
    new = rng.normal(size=(4000, 2))
    labels = (new[:, 0] + rng.normal(size=4000) > 2.2).astype(int)
    assert balanced.predict(new)[labels == 1].mean() > 0.5
    # The weights as those of samples are copies, which tell the labels of each other.
    copies = BayesPointClassifier().fit(X, y, sample_weight=weight)
    assert copies.predict(new)[labels == 1].mean() < 0.5

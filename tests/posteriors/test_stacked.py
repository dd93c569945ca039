"""Classes with a kernel and a space each, against a machine of two classes for each of them."""

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from bayespoint import BayesPointClassifier, load, save
from bayespoint.classifier import fitting
from bayespoint.classifier.label_sets import label_sets
from bayespoint.cli.app import app
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation, Run
from bayespoint.exceptions.warnings import NotConvergedWarning
from bayespoint.kernels import ConstantKernel, PolynomialKernel, RadialKernel, SumKernel
from bayespoint.posteriors import GaussianPosterior, SeparatePosterior
from bayespoint.posteriors.gaussian import ValuePosterior
from bayespoint.reports import explain
from bayespoint.spaces import ProcessSpace
from bayespoint.testing.results import examine_run

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(120, 3)), RNG.normal(size=(40, 3))
Y = np.array(["a", "b", "c"])[(np.sin(2 * X) @ RNG.normal(size=(3, 3))).argmax(axis=1)]
GROUPS, WEIGHT = np.arange(120) // 3, RNG.integers(1, 4, 120)
GAMMAS, SIZES = (0.1, 0.5, 2.0), (3.0, 4.0, 5.0)
GIVEN = {"nothing": {}, "groups": {"groups": GROUPS}, "weights": {"sample_weight": WEIGHT}}
ENGINES = {
    "ep": ExpectationPropagation(prior_scale=1.0, tol=1e-8),
    "laplace": LaplaceApproximation(prior_scale=1.0),
}


def by_class(gammas=GAMMAS, flag=True):
    terms = [RadialKernel(gamma=gamma) for gamma in gammas]
    return SumKernel([*terms, ConstantKernel()], weights=[*SIZES, 1.0], by_class=flag)


def fitted(kernel, y=Y, engine="ep", given=None, **settings):
    settings = {"multi_class": "one_vs_rest", "temperature": 1.0} | settings
    clf = BayesPointClassifier(kernel=kernel, engine=clone(ENGINES[engine]), **settings)
    return clf.fit(X, y, **(given or {}))


def singles(**settings):
    """The slow version: two classes, three times."""
    terms = zip(SIZES, GAMMAS, strict=True)
    kernels = [
        SumKernel([RadialKernel(gamma=g), ConstantKernel()], weights=[w, 1.0]) for w, g in terms
    ]
    return [fitted(k, label == Y, **settings) for k, label in zip(kernels, "abc", strict=True)]


def one_against_the_rest(yes):
    p = yes / (1 - yes)
    return p / p.sum(axis=1, keepdims=True)


def test_the_run_has_what_is_known_of_each_class(tmp_path):
    clf, parts = fitted(by_class()), singles()
    examine_run(clf)
    assert clf.run_.history == [part.run_.history[0] for part in parts]
    clf = BayesPointClassifier(kernel=by_class(), multi_class="one_vs_rest").fit(X, Y)
    assert clf.run_.measures["prior_scale"].shape == (3,)
    save(clf, tmp_path / "model.bpm")
    told = CliRunner().invoke(app, ["info", str(tmp_path / "model.bpm")])
    assert told.exit_code == 0 and "c against the rest" in told.output


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("n_components", [None, 60, 30])
@pytest.mark.parametrize("engine", ENGINES)
def test_all_is_that_of_a_machine_for_each_class(engine, n_components, given):
    settings = {"engine": engine, "n_components": n_components, "given": GIVEN[given]}
    clf, parts = fitted(by_class(), **settings), singles(**settings)
    assert isinstance(clf.posterior_, SeparatePosterior)
    for k, moment in enumerate(clf.latent_mean_and_variance(NEW)):
        expected = [one.latent_mean_and_variance(NEW)[k] for one in parts]
        np.testing.assert_allclose(moment, np.stack(expected, axis=1), rtol=1e-7, atol=1e-8)
    yes = np.stack([one.predict_proba(NEW)[:, 1] for one in parts], axis=1)
    expected = one_against_the_rest(yes)
    np.testing.assert_allclose(clf.predict_proba(NEW), expected, atol=1e-8)
    votes = np.stack([one.vote_shares(NEW)[:, 1] for one in parts], axis=1)
    np.testing.assert_allclose(clf.vote_shares(NEW), votes, atol=1e-8)
    known = [one.posterior_.left_out_log_probability for one in parts]
    np.testing.assert_allclose(clf.posterior_.left_out_log_probability, np.hstack(known))
    np.testing.assert_allclose(clf.log_evidence_, [one.log_evidence_[0] for one in parts])
    for wrong in (by_class(flag=False), by_class(GAMMAS[::-1])):
        other = fitted(wrong, **settings).predict_proba(NEW)
        assert np.abs(other - expected).max() > 0.02


def test_the_quick_form_tells_the_same():
    model = fitted(by_class()).model_
    view, quick = model.quick
    assert all(isinstance(one, ValuePosterior) for one in quick.members)
    expected = model.posterior.latent(model.space.transform(NEW))
    np.testing.assert_allclose(quick.latent(view(NEW)), expected, rtol=1e-8, atol=1e-8)
    small = fitted(by_class(), n_components=30).model_  # this basis neglects something
    assert all(type(one) is GaussianPosterior for one in small.quick[1].members)


def test_moments_are_those_of_draws():
    clf = fitted(by_class())
    mean, variance = clf.latent_mean_and_variance(NEW)
    drawn = clf.draw_outputs(NEW, 20_000, random_state=0)
    assert (np.abs(drawn.mean(axis=1) - mean) < 5 * np.sqrt(variance / 20_000)).all()
    np.testing.assert_allclose(drawn.var(axis=1), variance, rtol=0.15)
    assert clf.sample_proba(NEW, 3, random_state=0).shape == (3, 40, 3)
    outputs = clf.model_.space.transform(NEW) @ clf.posterior_.mean
    np.testing.assert_allclose(outputs, mean, atol=1e-8)


def test_with_equal_kernels_it_is_the_machine_of_one_space():
    """Temperature, sets of labels, and what training rows say."""
    same = SumKernel([RadialKernel(gamma=0.5), ConstantKernel()], weights=[4.0, 1.0])
    apart = SumKernel(
        [RadialKernel(gamma=0.5)] * 3 + [ConstantKernel()],
        by_class=True,
        weights=[4.0, 4.0, 4.0, 1.0],
    )
    one, three = (fitted(kernel, temperature="auto") for kernel in (same, apart))
    assert one.coding_.temperature == pytest.approx(three.coding_.temperature) != 1
    np.testing.assert_allclose(three.predict_proba(NEW), one.predict_proba(NEW), atol=1e-8)
    np.testing.assert_allclose(three.class_shares(NEW), one.class_shares(NEW), atol=1e-8)
    np.testing.assert_allclose(three.feature_relevance_, one.feature_relevance_, atol=1e-6)
    sets = [label_sets(clf.model_, NEW[:5]) for clf in (one, three)]
    assert sets[0].method == sets[1].method == "full"
    np.testing.assert_allclose(sets[1].p_values, sets[0].p_values, atol=1e-9)
    for told, expected in zip(explain(three, NEW[:3]), explain(one, NEW[:3]), strict=True):
        assert len(expected.voices) > 100
        weights = [[voice.weight for voice in both.voices] for both in (told, expected)]
        np.testing.assert_allclose(*weights, atol=1e-7)


def test_sets_of_labels_take_the_space_of_each_class():
    whole = label_sets(fitted(by_class()).model_, NEW[:5]).p_values
    turned = label_sets(fitted(by_class(GAMMAS[::-1])).model_, NEW[:5]).p_values
    assert np.abs(whole - turned).max() > 0.05
    direct = fitted(by_class())  # with the row in the training rows
    for y, label in enumerate("abc"):
        more = clone(direct).fit(np.vstack([X, NEW[:1]]), np.append(Y, label))
        told = more.posterior_.left_out_log_probability
        answers = more.coding_.left_out(told, np.searchsorted(more.classes_, np.append(Y, label)))
        p = more.coding_.probabilities(*answers)
        own = p[np.arange(121), np.searchsorted(more.classes_, np.append(Y, label))]
        assert whole[0, y] == pytest.approx((own <= own[-1] + 1e-5).mean(), abs=0.02)


@pytest.mark.parametrize("alone", [True, False])
def test_files_and_onnx(alone, tmp_path):
    kernels = {"kernel": by_class()}
    if not alone:
        parts = [(0.4, {"kernel": "rbf", "gamma": 1.0}), (0.6, {"kernel": by_class()})]
        kernels = {"kernel": "auto", "mixture": parts}
    clf = fitted(**kernels)
    save(clf, tmp_path / "model.bpm")
    again = load(tmp_path / "model.bpm")
    np.testing.assert_allclose(again.predict_proba(NEW), clf.predict_proba(NEW), rtol=1e-11)
    assert again.kernel_.get_params().keys() == clf.kernel_.get_params().keys()
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    from bayespoint.storage.onnx import to_onnx

    written = to_onnx(clf, dtype="float64").SerializeToString()
    _, p = runtime.InferenceSession(written).run(None, {"X": NEW})
    np.testing.assert_allclose(p, clf.predict_proba(NEW), atol=1e-8)


def test_a_mixture_may_contain_it():
    parts = [(0.4, {"kernel": "rbf", "gamma": 1.0}), (0.6, {"kernel": by_class()})]
    clf = fitted("auto", mixture=parts)
    members = [fitted("rbf", gamma=1.0), fitted(by_class())]
    expected = sum(w * one.predict_proba(NEW) for w, one in zip((0.4, 0.6), members, strict=True))
    np.testing.assert_allclose(clf.predict_proba(NEW), expected, atol=1e-8)
    draws = clf.draw_outputs(NEW, 20_000, random_state=0)
    mean, variance = clf.latent_mean_and_variance(NEW)
    assert (np.abs(draws.mean(axis=1) - mean) < 5 * np.sqrt(variance / 20_000)).all()
    assert len(label_sets(clf.model_, NEW[:2]).p_values) == 2


def test_elsewhere_it_is_the_sum():
    whole = fitted(by_class(), multi_class="joint").predict_proba(NEW)
    expected = fitted(by_class(flag=False), multi_class="joint").predict_proba(NEW)
    np.testing.assert_array_equal(whole, expected)
    two = fitted(by_class(), Y == "a").predict_proba(NEW)
    np.testing.assert_array_equal(two, fitted(by_class(flag=False), Y == "a").predict_proba(NEW))
    lines = [PolynomialKernel(gamma=gamma) for gamma in GAMMAS]
    assert fitted(SumKernel(lines, by_class=True)).coef_.shape == (3, 3)
    slow = BayesPointClassifier(kernel=by_class(), engine="perceptron", random_state=0).fit(X, Y)
    assert not isinstance(slow.posterior_, SeparatePosterior)


def test_errors_and_warnings(monkeypatch):
    few = SumKernel([RadialKernel(), ConstantKernel()], by_class=True)
    with pytest.raises(ValueError, match=r"a term for each of 3 classes\. Got SumKernel"):
        fitted(few)
    with pytest.raises(ValueError, match="by_class"):
        fitted(SumKernel([RadialKernel()], by_class="yes"))
    engine = ExpectationPropagation(prior_scale=1.0, max_iter=2, tol=1e-12)
    with pytest.warns(NotConvergedWarning) as caught:
        clf = BayesPointClassifier(kernel=by_class(), engine=engine).fit(X, Y)
    named = " ".join(str(one.message) for one in caught)
    assert all(f"{label} against the rest" in named for label in "abc")
    assert isinstance(clf.run_, Run) and not clf.run_.converged
    runs = fitting.run_of([one.run_ for one in singles()], of_tasks=True)
    assert runs.converged and runs.summary == "all 3 models converged"
    assert all(isinstance(one, ProcessSpace) for one in clf.model_.space.spaces)

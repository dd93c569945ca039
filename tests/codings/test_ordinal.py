"""The coding of ordered classes: ranks, shares, medians, and where the order comes from."""

import numpy as np
import pytest

from bayespoint.codings import OrdinalCoding, make_coding
from bayespoint.codings.ordinal import class_order
from bayespoint.tools.attributes import ContentError

SIZES = np.array(["large", "medium", "small"])
ORDER = np.array([2, 1, 0])


def test_codes_become_ranks():
    coding = OrdinalCoding(SIZES, order=ORDER)
    assert coding.encode(np.array([0, 1, 2])).ravel().tolist() == [2, 1, 0]
    assert coding.task_names == ["small < medium < large"]
    assert coding.setting == ["small", "medium", "large"]
    assert make_coding(SIZES, name="ordinal").ranks.tolist() == [0, 1, 2]
    assert make_coding(SIZES[:2], name="ordinal", order=ORDER[:2]).name == "binary"


def test_answers_are_in_the_order_and_probabilities_in_that_of_the_labels():
    coding = OrdinalCoding(SIZES, 2.0, ORDER)
    p = np.array([[0.2, 0.3, 0.5]])  # small, medium, large
    found = coding.probabilities(np.log(p), np.log1p(-p), temperature=1.0)
    np.testing.assert_allclose(found, [[0.5, 0.3, 0.2]])
    softer = np.sqrt(found)
    np.testing.assert_allclose(
        coding.probabilities(np.log(p), np.log1p(-p)), softer / softer.sum(), rtol=1e-12
    )
    again = coding.probabilities(*coding.answers_of(coding.decision_of(found)), temperature=1.0)
    np.testing.assert_allclose(again, found, rtol=1e-12)
    left = coding.left_out(coding.right_answers(found, np.array([0])), np.array([0]))
    np.testing.assert_allclose(coding.probabilities(*left, temperature=1.0), found, rtol=1e-12)
    assert coding.at(1.0).order is ORDER


@pytest.mark.parametrize("seed", range(5))
def test_the_median_has_the_least_expected_distance(seed):
    rng = np.random.default_rng(seed)
    coding = OrdinalCoding(np.arange(5), order=rng.permutation(5))
    p = rng.dirichlet(np.full(5, 0.5), 50)
    distance = np.abs(coding.ranks[:, None] - coding.ranks)
    expected = p @ distance
    decided = coding.decide(np.log(p), "median")
    best = np.take_along_axis(expected, decided[:, None], 1)[:, 0]
    np.testing.assert_allclose(best, expected.min(axis=1), atol=1e-12)
    assert (coding.decide(np.log(p)) == p.argmax(axis=1)).all()


def test_margins_are_decided_and_counted_by_their_signs():
    coding = OrdinalCoding(SIZES, order=ORDER)
    margins = np.array([[[-1.0, -2.0], [0.5, -0.5], [2.0, 1.0], [3.0, 2.0]]])
    assert coding.decide(margins).tolist() == [[2, 1, 0, 0]]
    np.testing.assert_allclose(coding.sample_shares(margins), [[0.5, 0.25, 0.25]])
    np.testing.assert_allclose(coding.vote_shares(np.array([[0.75, 0.5]])), [[0.5, 0.25, 0.25]])


def test_the_order_is_given_or_that_of_numbers():
    assert class_order("ordinal", None, np.array([1.5, 2.0, 7.0])).tolist() == [0, 1, 2]
    given = ["tiny", "small", "medium", "large"]  # some classes may be absent
    assert class_order(given, None, SIZES).tolist() == [2, 1, 0]
    with pytest.raises(ValueError, match=r"text has none.*\['low', 'middle', 'high'\]"):
        class_order("ordinal", None, SIZES)
    with pytest.raises(ValueError, match=r"must list all classes.*also has \['medium'\]"):
        class_order(["small", "large"], None, SIZES)


def test_ordered_categories_bring_their_order():
    pandas = pytest.importorskip("pandas")
    labels = ["small", "large", "medium"]
    ordered = pandas.Categorical(labels, categories=["small", "medium", "large"], ordered=True)
    for y in (ordered, pandas.Series(ordered)):
        assert class_order("ordinal", y, SIZES).tolist() == [2, 1, 0]
    with pytest.raises(ValueError, match="text has none"):
        class_order("ordinal", pandas.Categorical(labels), SIZES)


@pytest.mark.parametrize("order", [[0, 1, 1], [0, 1], [0.0, 1.0, 2.0]], ids=str)
def test_nonsense_in_a_file_is_refused(order):
    coding = OrdinalCoding(SIZES, order=ORDER)
    coding.check_state()
    coding.order = np.array(order)
    with pytest.raises(ContentError):
        coding.check_state()

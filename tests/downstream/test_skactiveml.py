"""scikit-activeml: its strategies ask our classifiers through its wrapper, as ours do."""

import numpy as np
import pytest
from scipy.special import entr
from sklearn.datasets import make_classification

from bayespoint import BayesPointClassifier
from bayespoint.active import bald, entropy
from bayespoint.active.scores import vote_shares

reason = "scikit-activeml is not installed"
pool = pytest.importorskip("skactiveml.pool", reason=reason)
SklearnClassifier = pytest.importorskip("skactiveml.classifier", reason=reason).SklearnClassifier

N_DRAWS = 4000
MACHINES = {
    "ep": BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep"),
    "perceptron": BayesPointClassifier(engine="perceptron", ridge=1.0, random_state=0),
}


def data(n_classes):
    """Twenty labels, NaN for the others."""
    X, y = make_classification(
        120, n_features=5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0
    )
    return X, np.where(np.arange(120) < 20, y, np.nan)


def utilities(strategy, machine, n_classes, **parameters):
    """What their strategy says of the points without a label; and our machine on its own."""
    X, y = data(n_classes)
    committee = strategy(
        sample_predictions_method_name="sample_proba",
        sample_predictions_dict={"n_samples": N_DRAWS, "random_state": 0},
        random_state=0,
        **parameters,
    )
    wrapped = SklearnClassifier(machine, classes=range(n_classes))
    (chosen,), found = committee.query(X, y, wrapped, return_utilities=True)
    assert found[0, chosen] == np.nanmax(found)
    assert np.isnan(found[0, :20]).all()
    return found[0, 20:], machine.fit(X[:20], y[:20]), X[20:]


@pytest.mark.parametrize("name", MACHINES)
def test_vote_entropy_of_a_committee(name):
    found, ours, X = utilities(pool.QueryByCommittee, MACHINES[name], 2, method="vote_entropy")
    p = vote_shares(ours, X)[:, 1].clip(0.01, 0.99)  # dS = log(p / (1 - p)) dp, and its square
    step = 5 * np.sqrt(p * (1 - p) / N_DRAWS)
    tolerance = np.abs(np.log(p / (1 - p))) * step + step**2 / (p * (1 - p)) + 0.01
    assert (np.abs(found - entropy(ours, X)) < tolerance).all()
    assert np.corrcoef(found, entropy(ours, X))[0, 1] > 0.99
    assert np.corrcoef(found, -entropy(ours, X))[0, 1] < 0  # the paper's sign


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MACHINES)
def test_divergence_of_a_committee_is_the_mutual_information(name, n_classes):
    found, ours, X = utilities(
        pool.QueryByCommittee, MACHINES[name], n_classes, method="KL_divergence"
    )
    np.testing.assert_allclose(found, bald(ours, X, n_draws=N_DRAWS), atol=0.05)
    assert np.corrcoef(found, bald(ours, X))[0, 1] > 0.99
    # The negative control: the entropy of the predictions is something else.
    doubt = entr(ours.predict_proba(X)).sum(axis=1)
    assert np.abs(found - doubt).max() > 0.2


@pytest.mark.parametrize("name", MACHINES)
def test_batches_by_mutual_information(name):
    X, y = data(3)
    chosen = pool.BatchBALD(
        sample_predictions_method_name="sample_proba",
        sample_predictions_dict={"n_samples": 100, "random_state": 0},
        random_state=0,
    ).query(X, y, SklearnClassifier(MACHINES[name], classes=range(3)), batch_size=4)
    assert len(set(chosen)) == 4 and min(chosen) >= 20

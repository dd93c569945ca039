"""Values that parameters of engines must not have; those of any other type fail in conformance."""

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.engines import (
    BilliardSampler,
    ExpectationPropagation,
    GibbsSampler,
    KnapsackPropagation,
    LaplaceApproximation,
    PermutedPerceptron,
)

REFUSED = {
    ExpectationPropagation: {
        "noise": [-1, np.nan, "1"],
        "prior_scale": [0, np.inf],
        "schedule": ["random", None],
        "damping": [0, 1.5, "auto"],
        "tol": [0],
        "max_iter": [0, 2.5],
    },
    LaplaceApproximation: {
        "prior_scale": [0, np.inf, [1, -1]],
        "tol": [0, "1"],
        "max_iter": [0, 2.5],
        "prior_mean": [np.nan],
        "prior_covariance": [[1.0]],
        "intercept_scale": [0],
    },
    GibbsSampler: {
        "label_noise": [-0.1, 0.6, "much", np.nan],
        "n_samples": [3],
        "n_chains": [0],
        "thin": [0],
        "burn_in": [-1],
        "target_ess": [0, 1001],
        "max_steps": [0],
        "directions": ["all"],
        "evidence": [1],
    },
    BilliardSampler: {"refresh": [0, 1e-300], "burn_in": [0], "n_samples": [3], "thin": [1.5]},
    PermutedPerceptron: {
        "n_samples": [0, 2.5, True],
        "max_epochs": [0],
        "max_time": [0, "1 s", np.nan],
        "cache_size": [-1, np.inf, "all"],
    },
    KnapsackPropagation: {
        "C": [0, -1, np.inf, "1"],
        "beta": [0, -1, np.nan, None, True],
        "prior": ["l3", None],
        "n_iter": [0, 2.5],
        "bins": [7, 64.5],
        "schedule": ["random"],
        "damping": [0, 1.5],
        "max_rank": [0],
    },
}
CASES = [
    (engine, name, value)
    for engine, parameters in REFUSED.items()
    for name, values in parameters.items()
    for value in values
]


@pytest.mark.parametrize(("engine", "name", "value"), CASES)
def test_refused(engine, name, value):
    expected = f"The '{name}' parameter of {engine.__name__} must be .* Got .* instead"
    with pytest.raises(ValueError, match=expected):
        BayesPointClassifier(engine=engine(**{name: value})).fit([[0.0], [1.0]], [0, 1])

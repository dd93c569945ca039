"""Parameters of the classifier: names of engines are engines, kernels have parameters."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, get_engine
from bayespoint.engines.base import ENGINES

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("name", sorted(ENGINES))
def test_the_name_of_an_engine_is_an_engine(name):
    named, given = (
        BayesPointClassifier(kernel="linear", temperature=1.0, engine=name),
        BayesPointClassifier(kernel="linear", temperature=1.0, engine=get_engine(name)),
    )
    params = {key: value for key, value in named.get_params().items() if key != "engine"}
    assert params == {key: v for key, v in given.get_params().items() if key != "engine"}
    parameter, value = next(iter(get_engine(name).get_params().items()))
    named.set_params(**{f"engine__{parameter}": value})
    assert named.get_params()[f"engine__{parameter}"] == value


def test_parameters_of_an_engine_that_is_only_named():
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep").set_params(
        engine__noise=0.3
    )
    assert isinstance(clf.engine, ExpectationPropagation)
    assert clf.engine.noise == 0.3
    clf.set_params(engine="laplace", engine__prior_scale=2.0)
    assert (clf.engine.alias, clf.engine.prior_scale) == ("laplace", 2.0)
    with pytest.raises(ValueError, match="Invalid parameter 'noise' for estimator Laplace"):
        clf.set_params(engine__noise=1.0)
    with pytest.raises(ValueError, match=r"an engine instance.*Got 'nonsense'"):
        clf.set_params(engine="nonsense", engine__noise=1.0)


def test_reading_parameters_changes_nothing():
    clf = BayesPointClassifier(kernel="linear", temperature=1.0)
    clf.get_params()
    assert clf.engine == clone(clf).engine == "auto"
    assert clf.get_params(deep=False)["engine"] == "auto"
    assert "engine__noise" not in clf.get_params(deep=False)


def test_a_grid_search_over_an_engine_that_is_only_named():
    grid = {"engine__prior_scale": [0.01, 1.0, 10.0]}
    search = GridSearchCV(BayesPointClassifier(kernel="linear", temperature=1.0), grid).fit(X, y)
    assert search.best_params_["engine__prior_scale"] > 0.01
    assert search.best_estimator_.engine.prior_scale == search.best_params_["engine__prior_scale"]
    inner = {f"bayespointclassifier__{name}": values for name, values in grid.items()}
    pipeline = make_pipeline(
        StandardScaler(), BayesPointClassifier(kernel="linear", temperature=1.0)
    )
    assert np.isfinite(GridSearchCV(pipeline, inner).fit(X, y).best_score_)

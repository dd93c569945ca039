"""Checks of an engine as a bag of parameters, and of models with it that are kept."""

from __future__ import annotations

import pickle
import re
import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import clone

from bayespoint.engines import get_engine
from bayespoint.engines.base import ENGINES
from bayespoint.exceptions import ModelFileError
from bayespoint.storage import load, save
from bayespoint.storage.registry import NAMES
from bayespoint.testing.trial import Trial, answers, circle, demand, same_bits


class Unusable:
    """A value that no parameter can have."""

    def __repr__(self) -> str:
        return "an unusable object"


def check_parameters(trial: Trial) -> None:
    """Parameters are got, set and cloned as those of all scikit-learn's estimators."""
    engine = trial.engine
    params = engine.get_params(deep=False)
    demand(
        set(vars(engine)) == set(params),
        f"__init__ of {trial.name} must set its parameters and nothing else. Parameters: "
        f"{sorted(params)}, attributes: {sorted(vars(engine))}.",
    )
    copy = clone(engine)
    demand(
        repr(copy.get_params(deep=False)) == repr(params),
        f"a clone of {trial.name} has other parameters: __init__ must keep them as they are.",
    )
    for name in params:
        value = Unusable()
        copy.set_params(**{name: value})
        demand(
            copy.get_params(deep=False)[name] is value,
            f"set_params({name}=...) of {trial.name} does not set it.",
        )
    engine.check()


def check_bad_parameters(trial: Trial) -> None:
    """Each parameter is checked, and refused in scikit-learn's wording."""
    X, y, _ = circle(2)
    for name in trial.engine.get_params(deep=False):
        engine = clone(trial.engine).set_params(**{name: Unusable()})
        pattern = f"The '{name}' parameter of {trial.name} must be .+ Got .+ instead"
        try:
            trial.fit(X, y, engine=engine)
        except (TypeError, ValueError) as error:
            message = str(error)
        else:
            message = "no error"
        demand(
            re.search(pattern, message),
            f"{name}={Unusable()!r} must raise a ValueError like 'The {name!r} parameter of "
            f"{trial.name} must be ... Got ... instead.'; it raised {message!r}. Check it in "
            "check(), with bayespoint.validation.",
        )


def check_alias(trial: Trial) -> None:
    """An alias names the class that declares it, and none of its subclasses."""
    cls, before = type(trial.engine), dict(ENGINES)
    alias = vars(cls).get("alias")
    if alias is not None:
        demand(
            type(get_engine(alias)) is cls,
            f"engine={alias!r} is {type(get_engine(alias)).__name__}: choose another alias.",
        )
    type("Subclass", (cls,), {})
    demand(before == ENGINES, f"a subclass of {trial.name} takes over an alias.")


def check_pickle(trial: Trial) -> None:
    """A fitted classifier can be pickled, which joblib and searches do."""
    X, y, new = circle(3)
    fitted = trial.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    pairs = zip(answers(fitted, new), answers(again, new), strict=True)
    demand(
        all(np.allclose(*pair) for pair in pairs),  # other strides can mean other rounding
        "a classifier that was pickled has other predictions: the posterior must keep all it needs "
        "in its attributes.",
    )


def check_model_file(trial: Trial) -> None:
    """A model file gives the same classifier, or says that it cannot hold this engine."""
    X, y, new = circle(3)
    fitted = trial.fit(X, y)
    strangers = [
        type(part).__qualname__
        for part in (fitted.engine, fitted.posterior_, fitted.posterior_.likelihood)
        if type(part) not in NAMES
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.bpm")
        try:
            save(fitted, path)
        except ModelFileError as error:
            demand(
                any(name in str(error) for name in strangers),
                f"a model file cannot hold the classifier: {error}",
            )
            return
        again = load(path)
    demand(
        same_bits(answers(fitted, new), answers(again, new))
        and again.run_.summary == fitted.run_.summary,
        "a classifier from a model file has other predictions: name all classes whose objects it "
        "has in storage/registry.py.",
    )

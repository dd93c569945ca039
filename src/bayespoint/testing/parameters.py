"""Checks of the parameters of an engine."""

from __future__ import annotations

import re

from sklearn.base import clone

from bayespoint.engines import get_engine
from bayespoint.engines.base import ENGINES
from bayespoint.testing.trial import Trial, circle


class Unusable:
    """A value that no parameter can have."""

    def __repr__(self) -> str:
        return "an unusable object"


def check_parameters(trial: Trial) -> None:
    """Parameters are got, set and cloned as those of all scikit-learn's estimators."""
    params = trial.engine.get_params(deep=False)
    assert set(vars(trial.engine)) == set(params), (
        f"__init__ of {trial.name} must set its parameters and nothing else. Parameters: "
        f"{sorted(params)}, attributes: {sorted(vars(trial.engine))}."
    )
    copy = clone(trial.engine)
    assert repr(copy.get_params(deep=False)) == repr(params), (
        f"a clone of {trial.name} has other parameters: __init__ must keep them as they are."
    )
    for name in params:
        copy.set_params(**{name: (value := Unusable())})
        assert copy.get_params(deep=False)[name] is value, (
            f"set_params({name}=...) of {trial.name} does not set it."
        )
    trial.engine.check()


def check_bad_parameters(trial: Trial) -> None:
    """Each parameter is checked, and refused in scikit-learn's wording."""
    for name in trial.engine.get_params(deep=False):
        message = "no error"
        try:
            trial.fit(circle(2), engine=clone(trial.engine).set_params(**{name: Unusable()}))
        except (TypeError, ValueError) as error:
            message = str(error)
        wanted = f"The {name!r} parameter of {trial.name} must be ... Got ... instead"
        assert re.search(wanted.replace("...", ".+"), message), (
            f"{name}={Unusable()!r} must raise a ValueError like '{wanted}.'; it raised "
            f"{message!r}. Check it in check(), with bayespoint.tools.validation."
        )


def check_alias(trial: Trial) -> None:
    """An alias names the class that declares it, and none of its subclasses."""
    cls, before = type(trial.engine), dict(ENGINES)
    alias = vars(cls).get("alias")
    named = cls if alias is None else type(get_engine(alias))
    assert named is cls, f"engine={alias!r} is {named.__name__}: choose another alias."
    type("Subclass", (cls,), {})
    assert before == ENGINES, f"a subclass of {trial.name} takes over an alias."

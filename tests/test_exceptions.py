"""Errors and warnings keep their numbers, also when they come from another process."""

import copy
import pickle
from pathlib import Path

import pytest

from bayespoint import exceptions
from bayespoint.exceptions import KernelError, TaskWarning

TASK = {"task": 1, "n_others": 2}
BOUND = {"names": ("gamma",), "bounds": ((0.1, 1.0),), "values": (1.0,)}
STOP = {"training_error": 0.1, "reason": "max_iter", "remedy": "wait"}
GIVEN = {
    "BlockError": {"block": 7, "problem": "has no rows"},
    "BlocksChangedError": {"block": 7, "problem": "has changed"},
    "BoundReachedWarning": BOUND,
    "CacheTooSmallError": {"cache_size": 0.1, "row_size": 0.2},
    "ChainsDisagreeWarning": TASK
    | {"r_hat": 1.3, "effective_sample_size": 17.0, "target_ess": None, "n_steps": 20}
    | {"remedy": "wait"},
    "CheckpointError": {"path": "a", "problem": "it is empty"},
    "ClusterError": {"address": "tcp://a:1", "reason": "it is lost", "remedy": "wait"},
    "CutMarginalsWarning": {"beta": 0.1, "height": 0.2},
    "DeviceError": {"device": "cuda", "reason": "there is none"},
    "EmptyVersionSpaceError": {"n_points": 3, "n_wrong": 1},
    "FactorisedWarning": TASK | {"variance_ratio": 2.5},
    "ManyClassesWarning": {"n_classes": 500, "seconds": 2500.0},
    "ModelFileError": {"path": Path("a"), "reason": "empty"},
    "ModelVersionWarning": {"path": Path("a"), "saved": "1", "running": "2"},
    "NotConvergedWarning": TASK | {"changes": (1.0,), "tol": 0.1} | STOP | {"unit": "steps"},
    "NotEnoughMemoryError": {"what": "it", "needed": 9e9, "available": 1e9, "remedy": "less"},
    "NotSeparableWarning": {"n_failed": 1, "n_runs": 2, "max_epochs": 3, "training_error": 0.1}
    | {"has_ridge": False},
    "RiskNotReachedError": {"risk": 0.1, "confidence_level": 0.9, "n_points": 50, "n_needed": 80}
    | {"n_accepted": 30, "n_errors": 1, "bound": 0.12, "share": 0.3},
    "SparseInputWarning": {"engine": "EP()"},
    "StoppedEarlyWarning": {"n_finished": 1, "n_wanted": 2, "reason": "a limit"}
    | {"remedy": "wait", "unit": "chains"},
    "TaskWarning": TASK,
}


def test_all_are_tested():
    plain = {KernelError.__name__}  # a message, and no attributes
    assert set(GIVEN) == set(exceptions.__all__) - plain | {TaskWarning.__name__}


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("duplicate", [copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_complete(name, duplicate):
    cls, given = getattr(exceptions, name), GIVEN[name]
    by_keyword, by_position = cls(**given), cls(*given.values())
    if issubclass(cls, TaskWarning):  # as the classifier does
        by_keyword.name = by_position.name = "'c' against the rest"
    for one in (by_keyword, by_position, duplicate(by_keyword), duplicate(by_position)):
        assert type(one) is cls
        assert one.args == tuple(given.values())
        assert vars(one) == vars(by_keyword)
        assert given.items() <= vars(one).items()
        assert str(one) == str(by_keyword)


def test_equal_numbers_are_not_the_same_warning():
    one, other = (exceptions.CutMarginalsWarning(0.1, 0.2) for _ in range(2))
    assert one != other
    assert len({one, other}) == 2

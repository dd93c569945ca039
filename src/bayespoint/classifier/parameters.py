"""The parameters of a classifier, and the engine and the kernel that they specify."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from numbers import Real
from operator import is_, itemgetter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from bayespoint.codings import (
    CODINGS,
    MULTI_CLASS,
    TEMPERATURES,
    JointCoding,
    OneVersusRest,
    OrdinalCoding,
)
from bayespoint.engines import Engine, get_engine
from bayespoint.engines.base import ENGINES
from bayespoint.engines.gaussian.evidence_gradient import has_gradient
from bayespoint.exceptions import SparseInputWarning, warn_user
from bayespoint.gpu.devices import ALLOWED, find_device, is_device_name
from bayespoint.kernels import NAMES as KERNELS
from bayespoint.kernels import Kernel, make_kernel
from bayespoint.kernels.radial import NAMED, check_gamma
from bayespoint.tools.validation import check_choice, check_flag, check_number, parameter_error

KERNEL_PARAMETERS = ("kernel", "degree", "gamma", "coef0", "normalize", "fit_intercept")
# Named kernels that are neither linear nor a matrix, whatever their parameters are.
ALWAYS_DENSE = frozenset(KERNELS) - {"linear", "poly", "precomputed"}
DECISIONS = ("bayes_point", "vote", "median")
WIDEST_JOINT = 1e4  # prior scale up to which a joint posterior keeps enough digits
MOST_DENSE = 4_000_000  # cells of sparse rows that are made dense: 32 MB
MOST_JOINT_WEIGHTS = 1000  # of all classes, up to which a joint posterior takes seconds
MOST_JOINT_CLASSES = 30  # predictions take 2 ms a row for 30 classes, 60 ms for 200
MACHINE_PARAMETERS = (*KERNEL_PARAMETERS, "ridge", "n_components", "engine", "temperature")


def kernel_of(owner: Any) -> Kernel:
    """The kernel that parameters specify, not yet fitted. "auto" is linear if none is chosen."""
    given = {name: getattr(owner, name) for name in KERNEL_PARAMETERS}
    for name, meaning in (("kernel", "linear"), ("gamma", "scale")):
        if isinstance(given[name], str) and given[name] == "auto":
            given[name] = meaning
    return make_kernel(**given)


def kernel_is(owner: Any, trait: str) -> bool:
    """Whether the unfitted kernel has a trait; False if its parameters are invalid."""
    try:
        return getattr(kernel_of(owner), trait)
    except ValueError:
        return False


def named_engine(engine: Any) -> type[Engine] | None:
    """The class of an engine that is given by name; "auto" is expectation propagation."""
    return ENGINES.get("ep" if engine == "auto" else engine) if isinstance(engine, str) else None


def can_update(classifier: Any) -> bool:
    """Whether kernel and engine support batch learning; if not, an AttributeError says why."""
    if continues_stream(classifier):
        return True
    engine = classifier.engine
    coding = CODINGS.get(coding_of(classifier.multi_class), OneVersusRest)
    if not coding.in_batches:
        raise AttributeError(
            f"multi_class={coding.name!r} learns from all rows at once: use fit, not partial_fit."
        )
    is_linear = kernel_is(classifier, "is_linear") and classifier.mixture is None
    if getattr(named_engine(engine) or engine, "can_update", False) and is_linear:
        return True
    raise AttributeError(
        f"partial_fit needs an engine that supports batch learning, and kernel='linear': the "
        f"features of other kernels depend on all training rows. Got engine={engine!r} and "
        f"kernel={classifier.kernel!r}. Compute approximate features first, for example with "
        "scikit-learn's Nystroem, or use fit."
    )


def parameters_of(classifier: Any) -> tuple[Any, ...]:
    """The parameters of a classifier and of its engine."""
    values, engine = itemgetter(*NAMES)(vars(classifier)), classifier.engine
    return (*values, *vars(engine).values()) if isinstance(engine, Engine) else values


def continues_stream(classifier: Any) -> bool:
    """Whether the last batch was one of a stream, and no parameter has changed since."""
    stream = getattr(vars(classifier).get("model_"), "stream", None)
    if stream is None:
        return False
    now = parameters_of(classifier)
    return len(now) == len(stream.parameters) and all(map(is_, now, stream.parameters))


def coding_of(multi_class: Any) -> str:
    """The name of a coding; a list of labels is the order of their classes."""
    return multi_class if isinstance(multi_class, str) else OrdinalCoding.name


def takes_sparse(classifier: Any) -> bool:
    """Whether a classifier with these parameters may get sparse rows."""
    if not kernel_is(classifier, "is_linear"):
        return False
    engine = classifier.engine
    if isinstance(engine, str):
        return has_sparse_form(engine)
    return isinstance(engine, Engine) and engine.accepts_sparse


def input_tags(classifier: Any) -> tuple[bool, bool]:
    """Whether rows are a kernel matrix, and whether they may be sparse."""
    if isinstance(classifier.kernel, str):
        return classifier.kernel == "precomputed", takes_sparse(classifier)
    return kernel_is(classifier, "is_precomputed"), takes_sparse(classifier)


@cache
def has_sparse_form(name: str) -> bool:
    """Whether a named engine has a form for sparse rows."""
    engine = named_engine(name)
    form = None if engine is None else engine().for_sparse()
    return form is not None and form.accepts_sparse


@dataclass(kw_only=True, eq=False, repr=False)
class Declared:
    """The parameters of classifiers, here and on a cluster, which are declared once."""

    kernel: str | Kernel | Callable[[NDArray, NDArray], NDArray] = "auto"
    standardize: bool | str = "auto"
    degree: int = 3
    gamma: ArrayLike | str = "auto"
    coef0: float = 1.0
    normalize: bool = False
    ridge: float | str = 0.0
    n_components: int | str | None = "auto"
    engine: Engine | str = "auto"
    temperature: float | str = "auto"
    mixture: Sequence[tuple[float, dict[str, Any]]] | None = None
    decision: str = "bayes_point"
    multi_class: str | Sequence[Any] = "auto"
    fit_intercept: bool = True
    class_weight: dict | str | None = None
    warm_start: bool = False
    device: str | None = None
    max_time: float | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
    categorical_features: ArrayLike | str | None = "from_dtype"


class NamedEngine(BaseEstimator):
    """Parameters ``engine__name``, also of an engine that is given by its name."""

    engine: Engine | str

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters, including those of an engine that is given by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the engine, as ``engine__name``.

        Returns
        -------
        dict
            Names and values.
        """
        params = super().get_params(deep=deep)
        if deep and named_engine(self.engine):
            defaults = get_engine(self.engine).get_params()
            params |= {f"engine__{name}": value for name, value in defaults.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``engine__name`` also works for an engine that is given by name.

        Parameters
        ----------
        **params
            Names and values of parameters.

        Returns
        -------
        self
        """
        engine = params.get("engine", self.engine)
        if isinstance(engine, str) and any(name.startswith("engine__") for name in params):
            params["engine"] = get_engine(engine)
        return super().set_params(**params)


@dataclass
class Parameters(Declared):
    """The parameters of a classifier, checked, and what they specify.

    Attributes are the parameters of :class:`~bayespoint.BayesPointClassifier`.
    """

    @classmethod
    def of(cls, classifier: Any) -> Parameters:
        """Those of a classifier; an error says which one is not allowed."""
        check(classifier)
        return cls(**{name: getattr(classifier, name) for name in NAMES})

    def make_kernel(self) -> Kernel:
        """The kernel, not yet fitted."""
        return kernel_of(self)

    @property
    def kernel_is_linear(self) -> bool:
        """Whether the kernel is linear; one that is chosen counts as linear."""
        return kernel_is(self, "is_linear")

    @property
    def kernel_is_named(self) -> bool:
        """Whether the kernel was chosen by the user."""
        return not isinstance(self.kernel, str) or self.kernel != "auto"

    def make_engine(self, X: Any) -> Engine:
        """The engine, checked. For sparse rows, one given by name is made to support them."""
        engine = get_engine(self.engine)
        engine.check()
        if not issparse(X) or self.takes_sparse(engine):
            return engine
        dense = f"X.toarray() ({X.shape[0] * X.shape[1] * 8 / 1e9:.2g} GB)"
        if not self.kernel_is_linear:
            raise TypeError(
                f"Sparse input needs kernel='linear'. Got kernel={self.kernel!r}: pass {dense}."
            )
        chosen = engine.for_sparse() if isinstance(self.engine, str) else None
        if chosen is None:
            raise TypeError(
                f"Sparse input needs an engine that supports it, and {engine} does not. Use "
                f"engine='factorised-ep', or pass {dense}."
            )
        if self.engine != "auto":
            warn_user(SparseInputWarning(str(chosen)))
        return chosen

    def dense_if_small(self, X: Any) -> Any:
        """The same rows; sparse ones become dense if kernels are to be chosen for a small table.

        Rows that are too many, or have more features than there are rows, as texts have, stay
        sparse with a linear kernel, and a warning says so.
        """
        if not issparse(X) or self.kernel_is_named or not self.chooses(get_engine(self.engine)):
            return X
        n_rows, n_features = X.shape
        if n_features <= n_rows and n_rows * n_features <= MOST_DENSE:
            return X.toarray()
        warn_user(SparseInputWarning("a linear kernel"))
        return X

    def coding_name(self, engine: Engine, n_classes: int, n_features: int) -> str:
        """The coding of so many classes."""
        given = coding_of(self.multi_class)
        wanted = given if given != "auto" else JointCoding.name
        coding = CODINGS[wanted]
        reason = engine.why_not(coding.kind)
        if reason is None and not engine.learns(coding):
            reason = f"{type(engine).__name__} learns each class against the rest"
        if given != "auto":
            if reason is not None:
                *some, last = sorted(one.__name__ for one in ENGINES.values() if one.learns(coding))
                raise ValueError(
                    f"multi_class={wanted!r} is not available: {reason}. Engines that support it "
                    f"are {', '.join(some)} and {last}; else set multi_class='one_vs_rest'."
                )
            return wanted
        if reason is not None:
            return OneVersusRest.name
        # Measured (benchmarks/multiclass.py): classes that a linear machine cannot separate from
        # all others gain much; with other kernels both are as good, and one after another faster.
        is_linear = self.kernel_is_named and self.kernel_is_linear
        scale = getattr(engine, "prior_scale", 1.0)
        if not isinstance(scale, str) and np.max(scale) > WIDEST_JOINT:
            return OneVersusRest.name  # rounding errors
        is_small = n_classes * (n_features + 1) <= MOST_JOINT_WEIGHTS
        is_small = is_small and n_classes <= MOST_JOINT_CLASSES
        return wanted if is_linear and self.ridge == 0 and is_small else OneVersusRest.name

    def takes_sparse(self, engine: Engine) -> bool:
        """Whether rows may be sparse."""
        return engine.accepts_sparse and self.kernel_is_linear

    def check_device(self, X: Any, engine: Engine, *, batch: bool = False) -> None:
        """Raise an error if a GPU is asked for, and the engine or the kernel cannot use it."""
        if find_device(self.device, X) is None:
            return
        cpu = "Set device='cpu' to fit there"
        if batch:
            raise ValueError(f"partial_fit works on the CPU. {cpu}, or use fit.")
        if issparse(X):
            raise TypeError(f"Sparse input needs the CPU. {cpu}.")
        if engine.device_space is None:
            able = sorted(name for name, one in ENGINES.items() if one.device_space is not None)
            raise ValueError(
                f"{type(engine).__name__} has no GPU path. {cpu}, or use one of the engines {able}."
            )
        kernel = self.make_kernel()
        if not kernel.works_on_devices:
            raise ValueError(
                f"{type(kernel).__name__} stays on the CPU: only linear, polynomial and Gaussian "
                f"kernels, their sums and kernel matrices have values on a GPU. {cpu}, or use one "
                "of these."
            )
        if self.chooses(engine) or self.mixture is not None:
            raise ValueError(
                "A kernel is chosen, and a mixture is trained, on the CPU. Name a kernel (such as "
                f"kernel='rbf') to use a GPU. {cpu}."
            )

    def chooses(self, engine: Engine) -> bool:
        """Whether the kernel is to be chosen: it is "auto", and the engine can compare kernels."""
        if self.kernel_is_named or self.mixture is not None or not has_gradient(engine):
            return False
        settings: Any = engine
        given = settings.prior_mean, settings.prior_covariance, settings.intercept_scale
        # A prior of each weight is one of the features themselves.
        return all(one is None for one in given) and np.ndim(settings.prior_scale) == 0


NAMES = tuple(one.name for one in fields(Parameters))


def check(classifier: Any) -> None:
    """Raise a ValueError, in scikit-learn's wording, for a parameter that is not allowed."""
    check_number(classifier, "degree", integer=True, low=1)
    check_gamma(classifier, ("auto", *NAMED), by_feature=True)
    check_number(classifier, "coef0", low=0)
    check_number(classifier, "ridge", low=0, also=("mean",))
    check_number(classifier, "n_components", low=1, integer=True, also=(None, "auto"))
    check_number(classifier, "n_jobs", low=-np.inf, integer=True, also=(None,))
    if classifier.n_jobs == 0:
        raise parameter_error(classifier, "n_jobs", "None, or an int that is not 0")
    for name in ("normalize", "fit_intercept", "warm_start"):
        check_flag(classifier, name)
    check_choice(classifier, "decision", DECISIONS)
    if isinstance(classifier.multi_class, str):
        check_choice(classifier, "multi_class", ("auto", *MULTI_CLASS), "or a list of labels")
    elif len(set(classifier.multi_class)) < max(len(classifier.multi_class), 2):
        raise parameter_error(classifier, "multi_class", "a name, or a list of different labels")
    coding = CODINGS.get(coding_of(classifier.multi_class), OneVersusRest)  # "auto" has no order
    if classifier.decision == "median" and not coding.is_ordered:
        allowed = "'bayes_point' or 'vote' where multi_class is not 'ordinal'"
        raise parameter_error(classifier, "decision", allowed)
    check_number(classifier, "max_time", low=0, closed="neither", also=(None,))
    low, high = TEMPERATURES
    check_number(classifier, "temperature", low=low, high=high, closed="both", also=("auto",))
    if not isinstance(classifier.standardize, bool | np.bool_) and classifier.standardize != "auto":
        raise parameter_error(classifier, "standardize", "'auto' or a bool")
    chosen = classifier.categorical_features
    if isinstance(chosen, str) and chosen != "from_dtype":
        allowed = "'from_dtype', None, or a mask, indices or names of columns"
        raise parameter_error(classifier, "categorical_features", allowed)
    if not is_device_name(classifier.device):
        raise parameter_error(classifier, "device", ALLOWED)
    if classifier.mixture is not None:
        check_mixture(classifier)
    if classifier.class_weight is not None and not isinstance(classifier.class_weight, dict):
        check_choice(classifier, "class_weight", ("balanced",), "or a dict or None")
    kernel_of(classifier)


def check_mixture(classifier: Any) -> None:
    """Raise an error unless the mixture is a list of pairs of a weight and parameters."""
    pairs: Any = classifier.mixture
    allowed = "None or a list of pairs (weight, dict of parameters), with positive weights"
    if not isinstance(pairs, (list, tuple)) or len(pairs) == 0:
        raise parameter_error(classifier, "mixture", allowed)
    for pair in pairs:
        is_pair = isinstance(pair, (list, tuple)) and len(pair) == 2
        if not is_pair or not isinstance(pair[1], dict) or not is_positive(pair[0]):
            raise parameter_error(classifier, "mixture", allowed)
        unknown = set(pair[1]) - set(MACHINE_PARAMETERS)
        if unknown:
            raise ValueError(
                f"A model of a mixture has no parameter {sorted(unknown)[0]!r}. It may have "
                f"its own {', '.join(MACHINE_PARAMETERS)}; all others are those of the classifier."
            )
    if not is_positive(sum(float(weight) for weight, _ in pairs)):  # they are divided by it
        raise parameter_error(classifier, "mixture", f"{allowed} of a finite sum")


def is_positive(value: Any) -> bool:
    """Whether a value is a positive, finite number."""
    return isinstance(value, Real) and 0 < float(value) < np.inf

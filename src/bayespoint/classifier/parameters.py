"""The parameters of a classifier, and the engine and the kernel that they specify."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from bayespoint.codings import MULTI_CLASS, TEMPERATURES, JointCoding, OneVersusRest
from bayespoint.engines import Engine, get_engine
from bayespoint.engines.base import ENGINES
from bayespoint.engines.gaussian.evidence_gradient import has_gradient
from bayespoint.exceptions import SparseInputWarning, warn_user
from bayespoint.gpu.devices import ALLOWED, find_device, is_device_name
from bayespoint.kernels import Kernel, make_kernel
from bayespoint.kernels.points import NAMED, check_gamma
from bayespoint.tools.validation import check_choice, check_flag, check_number, parameter_error

KERNEL_PARAMETERS = ("kernel", "degree", "gamma", "coef0", "normalize", "fit_intercept")
WIDEST_JOINT = 1e4  # prior scale up to which a joint posterior keeps enough digits
MOST_JOINT_WEIGHTS = 1000  # of all classes, up to which a joint posterior takes seconds
OF_A_MACHINE = (*KERNEL_PARAMETERS, "ridge", "n_components", "engine", "temperature")


def can_update(classifier: Settings) -> bool:
    """Whether kernel and engine support batch learning; if not, an AttributeError says why."""
    engine = classifier.engine
    named = ENGINES.get(alias_of(engine)) if isinstance(engine, str) else engine
    is_linear = classifier._kernel_is("is_linear") and classifier.mixture is None
    if getattr(named, "can_update", False) and is_linear:
        return True
    raise AttributeError(
        f"partial_fit needs an engine that supports batch learning, and kernel='linear': the "
        f"features of other kernels depend on all training points. Got engine={engine!r} and "
        f"kernel={classifier.kernel!r}. Compute approximate features first, for example with "
        "scikit-learn's Nystroem, or use fit."
    )


def is_positive(value: Any) -> bool:
    """Whether a value is a positive, finite number."""
    return isinstance(value, Real) and 0 < float(value) < np.inf


def alias_of(engine: str) -> str:
    """The alias of a named engine: "auto" is expectation propagation."""
    return "ep" if engine == "auto" else engine


class Settings(BaseEstimator):
    """Gets, sets and checks the parameters of a classifier; makes its engine and its kernel."""

    kernel: str | Kernel | Callable[[NDArray, NDArray], NDArray]
    standardize: bool | str
    gamma: Any
    ridge: float | str
    n_components: int | str | None
    engine: Engine | str
    temperature: float | str
    fit_intercept: bool
    mixture: Sequence[tuple[float, dict]] | None
    decision: str
    multi_class: str
    class_weight: dict | str | None
    device: str | None
    max_time: float | None
    n_jobs: int | None
    random_state: Any

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
        if deep and isinstance(self.engine, str) and alias_of(self.engine) in ENGINES:
            defaults = get_engine(self.engine).get_params()
            params |= {f"engine__{name}": value for name, value in defaults.items()}
        return params

    def set_params(self, **params: Any) -> Settings:
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

    def _check_parameters(self) -> None:
        check_number(self, "degree", integer=True, low=1)
        check_gamma(self, ("auto", *NAMED), by_feature=True)
        check_number(self, "coef0", low=0)
        check_number(self, "ridge", low=0, also=("mean",))
        check_number(self, "n_components", low=1, integer=True, also=(None, "auto"))
        check_number(self, "n_jobs", low=-np.inf, integer=True, also=(None,))
        if self.n_jobs == 0:
            raise parameter_error(self, "n_jobs", "None, or an int that is not 0")
        for name in ("normalize", "fit_intercept", "warm_start"):
            check_flag(self, name)
        check_choice(self, "decision", ("bayes_point", "vote"))
        check_choice(self, "multi_class", ("auto", *MULTI_CLASS))
        check_number(self, "max_time", low=0, closed="neither", also=(None,))
        low, high = TEMPERATURES
        check_number(self, "temperature", low=low, high=high, closed="both", also=("auto",))
        if not isinstance(self.standardize, bool | np.bool_) and self.standardize != "auto":
            raise parameter_error(self, "standardize", "'auto' or a bool")
        if not is_device_name(self.device):
            raise parameter_error(self, "device", ALLOWED)
        if self.mixture is not None:
            self._check_mixture()
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            check_choice(self, "class_weight", ("balanced",), "or a dict or None")
        self._make_kernel()

    def _check_mixture(self) -> None:
        """Raise an error unless the mixture is a list of pairs of a weight and parameters."""
        pairs: Any = self.mixture
        allowed = "None or a list of pairs (weight, dict of parameters), with positive weights"
        if not isinstance(pairs, (list, tuple)) or len(pairs) == 0:
            raise parameter_error(self, "mixture", allowed)
        for pair in pairs:
            is_pair = isinstance(pair, (list, tuple)) and len(pair) == 2
            if not is_pair or not isinstance(pair[1], dict) or not is_positive(pair[0]):
                raise parameter_error(self, "mixture", allowed)
            unknown = set(pair[1]) - set(OF_A_MACHINE)
            if unknown:
                raise ValueError(
                    f"A machine of a mixture has no parameter {sorted(unknown)[0]!r}. It may have "
                    f"its own {', '.join(OF_A_MACHINE)}; all others are those of the classifier."
                )
        if not is_positive(sum(float(weight) for weight, _ in pairs)):  # they are divided by it
            raise parameter_error(self, "mixture", f"{allowed} of a finite sum")

    def _check_device(self, X: Any, engine: Engine, *, batch: bool = False) -> None:
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
        if getattr(engine, "covariance", "full") == "diagonal":
            raise ValueError(f"covariance='diagonal' works on the CPU. {cpu}.")
        kernel = self._make_kernel()
        if not kernel.works_on_devices:
            raise ValueError(
                f"{type(kernel).__name__} stays on the CPU: only linear, polynomial and Gaussian "
                f"kernels, their sums and kernel matrices have values on a GPU. {cpu}, or use one "
                "of these."
            )
        if self._chooses(engine) or self.mixture is not None:
            raise ValueError(
                "A kernel is chosen, and a mixture is trained, on the CPU. Name a kernel (such as "
                f"kernel='rbf') to use a GPU. {cpu}."
            )

    def _chooses(self, engine: Engine) -> bool:
        """Whether the kernel is to be chosen: it is "auto", and the engine can compare kernels."""
        if self.kernel_is_named or self.mixture is not None or not has_gradient(engine):
            return False
        settings: Any = engine
        given = settings.prior_mean, settings.prior_covariance, settings.intercept_scale
        # A prior of each weight is one of the features themselves.
        return all(one is None for one in given) and np.ndim(settings.prior_scale) == 0

    @property
    def kernel_is_named(self) -> bool:
        """Whether the kernel was chosen by the user."""
        return not isinstance(self.kernel, str) or self.kernel != "auto"

    def _make_engine(self, X: Any) -> Engine:
        """The engine, checked. For sparse points, one given by name is made to support them."""
        engine = get_engine(self.engine)
        engine.check()
        if not issparse(X) or self._takes_sparse(engine):
            return engine
        dense = f"X.toarray() ({X.shape[0] * X.shape[1] * 8 / 1e9:.2g} GB)"
        if not self._kernel_is("is_linear"):
            raise TypeError(
                f"Sparse input needs kernel='linear'. Got kernel={self.kernel!r}: pass {dense}."
            )
        chosen = engine.for_sparse() if isinstance(self.engine, str) else None
        if chosen is None:
            raise TypeError(
                f"Sparse input needs an engine that supports it, and {engine} does not. Use "
                f"engine=ExpectationPropagation(covariance='diagonal'), or pass {dense}."
            )
        if self.engine != "auto":
            warn_user(SparseInputWarning(str(chosen)))
        return chosen

    def _coding_name(self, engine: Engine, n_weights: int) -> str:
        """The coding of several classes, with so many linear weights."""
        wanted = self.multi_class if self.multi_class != "auto" else JointCoding.name
        reason = engine.why_not(wanted)
        if self.multi_class != "auto":
            if reason is not None:
                able = [one.__name__ for one in ENGINES.values() if wanted in one.codings]
                raise ValueError(
                    f"multi_class={wanted!r} is not available: {reason}. Engines that support it "
                    f"are {' and '.join(sorted(able))}; else set multi_class='one_vs_rest'."
                )
            return wanted
        if reason is not None:
            return OneVersusRest.name
        # Measured (benchmarks/multiclass.py): classes that a linear machine cannot separate from
        # all others gain much; with other kernels both are as good, and one after another faster.
        is_linear = self.kernel_is_named and self._kernel_is("is_linear")
        scale = getattr(engine, "prior_scale", 1.0)
        if not isinstance(scale, str) and np.max(scale) > WIDEST_JOINT:
            return OneVersusRest.name  # rounding errors
        joins = is_linear and self.ridge == 0 and n_weights <= MOST_JOINT_WEIGHTS
        return wanted if joins else OneVersusRest.name

    def _takes_sparse(self, engine: Engine) -> bool:
        return engine.accepts_sparse and self._kernel_is("is_linear")

    def _make_kernel(self) -> Kernel:
        """The kernel, not yet fitted. "auto" is linear where nothing else can be chosen."""
        given = {name: getattr(self, name) for name in KERNEL_PARAMETERS}
        for name, meaning in (("kernel", "linear"), ("gamma", "scale")):
            if isinstance(given[name], str) and given[name] == "auto":
                given[name] = meaning
        return make_kernel(**given)

    def _kernel_is(self, trait: str) -> bool:
        """Whether the unfitted kernel has a trait; False if its parameters are invalid."""
        try:
            return getattr(self._make_kernel(), trait)
        except ValueError:
            return False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._kernel_is("is_precomputed")
        if self._kernel_is("is_linear"):
            named = isinstance(self.engine, str) and alias_of(self.engine) in ENGINES
            engine = ENGINES[alias_of(self.engine)]().for_sparse() if named else self.engine
            tags.input_tags.sparse = isinstance(engine, Engine) and engine.accepts_sparse
        return tags

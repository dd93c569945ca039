"""The parameters of a classifier, and the engine and the kernel that they specify."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from bayespoint.engines import Engine, get_engine
from bayespoint.engines.base import ENGINES
from bayespoint.exceptions import SparseInputWarning, warn_user
from bayespoint.kernels import Kernel, make_kernel
from bayespoint.validation import check_choice, check_flag, check_number

KERNEL_PARAMETERS = ("kernel", "degree", "gamma", "coef0", "normalize", "fit_intercept")


def can_update(classifier: Settings) -> bool:
    """Whether kernel and engine support batch learning; if not, an AttributeError says why."""
    engine = classifier.engine
    named = ENGINES.get(engine) if isinstance(engine, str) else engine
    if getattr(named, "can_update", False) and classifier._kernel_is("is_linear"):
        return True
    raise AttributeError(
        f"partial_fit needs an engine that supports batch learning, and kernel='linear': the "
        f"features of other kernels depend on all training points. Got engine={engine!r} and "
        f"kernel={classifier.kernel!r}. Compute approximate features first, for example with "
        "scikit-learn's Nystroem, or use fit."
    )


class Settings(BaseEstimator):
    """Gets, sets and checks the parameters of a classifier; makes its engine and its kernel."""

    kernel: str | Kernel | Callable[[NDArray, NDArray], NDArray]
    gamma: float | str
    ridge: float | str
    n_components: int | str | None
    engine: Engine | str
    class_weight: dict | str | None

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
        if deep and isinstance(self.engine, str) and self.engine in ENGINES:
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
        if not isinstance(self.gamma, str) or self.gamma not in ("scale", "auto"):
            check_number(self, "gamma", low=0, closed="neither", words="'scale', 'auto' or ")
        check_number(self, "coef0", low=0)
        if not isinstance(self.ridge, str) or self.ridge != "mean":
            check_number(self, "ridge", low=0, words="'mean' or ")
        if self.n_components is not None and self.n_components != "auto":
            check_number(self, "n_components", low=1, integer=True, words="None, 'auto' or ")
        for name in ("normalize", "fit_intercept", "warm_start"):
            check_flag(self, name)
        check_choice(self, "decision", ("bayes_point", "vote"))
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            check_choice(self, "class_weight", ("balanced",), "or a dict or None")
        self._make_kernel()

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
        warn_user(SparseInputWarning(str(chosen)))
        return chosen

    def _takes_sparse(self, engine: Engine) -> bool:
        return engine.accepts_sparse and self._kernel_is("is_linear")

    def _make_kernel(self) -> Kernel:
        """The kernel, not yet fitted."""
        return make_kernel(**{name: getattr(self, name) for name in KERNEL_PARAMETERS})

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
            named = isinstance(self.engine, str) and self.engine in ENGINES
            engine = ENGINES[self.engine]().for_sparse() if named else self.engine
            tags.input_tags.sparse = isinstance(engine, Engine) and engine.accepts_sparse
        return tags

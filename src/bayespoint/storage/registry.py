"""What model files may contain: a closed list of classes, and rules for their attributes."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import cached_property
from importlib import import_module

import numpy as np

from bayespoint import codings, kernels, likelihoods
from bayespoint.classifier.calibration import Estimate
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.model import Model
from bayespoint.spaces.columns import Columns
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.attributes import ContentError, need

# Public module -> classes, or their names there. Files name a class by this module and its name, so
# neither may change. Subclasses are excluded: their code would be missing where a file is loaded.
# So are searches: the model is their best_estimator_.
MODULES: dict[str, tuple[type, ...] | str] = {
    "bayespoint": (BayesPointClassifier, Model),
    "bayespoint.columns": (Columns,),
    "bayespoint.coding": tuple(codings.CODINGS.values()),
    "bayespoint.engines": "BilliardSampler ExpectationPropagation FactorisedPropagation "
    "GibbsSampler KnapsackPropagation LaplaceApproximation PermutedPerceptron Run",
    "bayespoint.kernels": kernels.STORED,
    "bayespoint.left_out": (Estimate,),
    "bayespoint.likelihoods": tuple(likelihoods.LIKELIHOODS),
    "bayespoint.posteriors": "ChainPosterior FirstVisits FlipEvidence GaussianPosterior "
    "JointPosterior LogOdds MarginalPosterior Messages MixturePosterior SampledPosterior "
    "SeparatePosterior StreamPosterior",
    "bayespoint.reject": "Guarantee RejectionCurve SelectiveClassifier",
    "bayespoint.scaling": (Scaling,),
    "bayespoint.spaces": "BasisSpace DualSpace PrincipalSpace ProcessSpace StackedSpace",
    "sklearn.compose": "ColumnTransformer make_column_selector",
    "sklearn.decomposition": "PCA",
    "sklearn.feature_extraction": "FeatureHasher",
    "sklearn.feature_extraction.text": "HashingVectorizer TfidfTransformer",
    "sklearn.frozen": "FrozenEstimator",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.model_selection": "KFold StratifiedKFold",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "FunctionTransformer LabelEncoder MaxAbsScaler MinMaxScaler "
    "Normalizer OneHotEncoder OrdinalEncoder RobustScaler StandardScaler",
}
CLASSES: dict[str, type] = {
    f"{module}.{cls.__name__}": cls
    for module, some in MODULES.items()
    for cls in (
        [getattr(import_module(module), name) for name in some.split()]
        if isinstance(some, str)
        else some
    )
}
NAMES = {cls: name for name, cls in CLASSES.items()}

# Types that are values themselves, such as the dtype parameter of OneHotEncoder.
TYPES: dict[str, type] = {
    **{f"builtins.{cls.__name__}": cls for cls in (bool, float, int, object, str)},
    **{f"numpy.{cls.__name__}": cls for cls in (np.floating, np.integer, np.number, np.object_)},
    **{f"numpy.{np.dtype(code).type.__name__}": np.dtype(code).type for code in "?bhilBHILefdU"},
}
TYPE_NAMES = {cls: name for name, cls in TYPES.items()}

OBJECTS = 10_000  # most objects of a file; 1 000 columns with a pipeline each have 4 000
LONGEST_NAME = 100  # characters of an attribute
DEPTH = 100  # deepest nesting; a pipeline in a pipeline has about 20
SINGLE = (bool, int, float, str, type(None), np.generic)  # allowed entries of object arrays


def check_names(cls: type, names: Iterable[str], place: str) -> None:
    """Raise an error unless objects of the class may have these attributes.

    No attribute may hide code or a constant (``ClassVar``) of the class: only new names, and names
    with a plain default.
    """
    fields = getattr(cls, "_fields", ())  # of a NamedTuple, which takes no other names
    for name in (name for name in names if name not in fields):
        if len(name) > LONGEST_NAME:
            raise ContentError(f"{place} has an attribute with a name of {len(name)} characters")
        default = of_class(cls, name)
        is_name = name.isidentifier() and not name.startswith("__")
        is_value = isinstance(default, bool | int | float | str | tuple | None)
        is_fine = is_name and is_value and not is_constant(cls, name)
        need(is_fine, f"{place} has the attribute {name!r:.80}, which is not allowed")


def is_constant(cls: type, name: str) -> bool:
    """Whether the attribute is declared as one of the class, the same for all objects."""
    declared = (inspect.get_annotations(base).get(name, "") for base in cls.__mro__)
    return any(str(kind).startswith("ClassVar") for kind in declared)


def is_cached(cls: type, name: str) -> bool:
    """Whether the attribute is a cached property of the class."""
    return isinstance(of_class(cls, name), cached_property)


def of_class(cls: type, name: str) -> object:
    """The class attribute of this name, without calling descriptors; None if there is none."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)

"""What model files may contain: a closed list of classes and types."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

import numpy as np

from bayespoint import codings, kernels, likelihoods


def names(classes: Iterable[type]) -> str:
    """Names of classes."""
    return " ".join(cls.__name__ for cls in classes)


# Public module -> names of classes there. Files name a class by both, so moving one needs a new
# version of the format. Subclasses are excluded: their code would be missing where a file is
# loaded. So are searches: the model is their best_estimator_.
MODULES = {
    "bayespoint": "BayesPointClassifier",
    "bayespoint.classifier.calibration": "Estimate",
    "bayespoint.classifier.model": "Model",
    "bayespoint.codings": names(codings.CODINGS.values()),
    "bayespoint.engines": "BilliardSampler ExpectationPropagation FactorisedPropagation "
    "GibbsSampler KnapsackPropagation LaplaceApproximation PermutedPerceptron Run",
    "bayespoint.kernels": names(kernels.STORED),
    "bayespoint.likelihoods": names(likelihoods.LIKELIHOODS),
    "bayespoint.posteriors": "ChainPosterior FirstVisits FlipEvidence GaussianPosterior "
    "JointPosterior LogOdds MarginalPosterior Messages MixturePosterior SampledPosterior "
    "SeparatePosterior StreamPosterior",
    "bayespoint.reject": "Guarantee RejectionCurve SelectiveClassifier",
    "bayespoint.spaces": "BasisSpace DualSpace PrincipalSpace ProcessSpace StackedSpace",
    "bayespoint.spaces.columns": "Columns",
    "bayespoint.spaces.scaling": "Scaling",
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
    f"{module}.{name}": getattr(import_module(module), name)
    for module, some in MODULES.items()
    for name in some.split()
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
DEPTH = 100  # deepest nesting; a pipeline in a pipeline has about 20
SINGLE = (bool, int, float, str, type(None), np.generic)  # allowed entries of object arrays

"""The closed list of classes that model files may contain."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from bayespoint import codings, kernels, likelihoods
from bayespoint.classifier.calibration import Estimate
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.model import Model
from bayespoint.spaces.columns import Columns
from bayespoint.spaces.scaling import Scaling

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
    "StreamPosterior",
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

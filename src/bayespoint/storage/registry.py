"""The closed list of classes that model files may contain."""

from __future__ import annotations

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    LabelEncoder,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from bayespoint import codings, engines, kernels, likelihoods, posteriors, spaces
from bayespoint.classifier.calibration import Estimate
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.model import Model
from bayespoint.reject import Guarantee, RejectionCurve, SelectiveClassifier
from bayespoint.spaces.columns import Columns
from bayespoint.spaces.scaling import Scaling

# Public module -> classes. Files name a class by this module and its name, so neither may change.
# Subclasses are excluded: their code would be missing where a file is loaded. So are searches: the
# model is their best_estimator_.
MODULES: dict[str, tuple[type, ...]] = {
    "bayespoint": (BayesPointClassifier, Model),
    "bayespoint.engines": (
        engines.BilliardSampler,
        engines.ExpectationPropagation,
        engines.GibbsSampler,
        engines.KnapsackPropagation,
        engines.LaplaceApproximation,
        engines.PermutedPerceptron,
        engines.Run,
    ),
    "bayespoint.coding": tuple(codings.CODINGS.values()),
    "bayespoint.left_out": (Estimate,),
    "bayespoint.likelihoods": likelihoods.LIKELIHOODS,
    "bayespoint.kernels": kernels.STORED,
    "bayespoint.spaces": (
        spaces.BasisSpace,
        spaces.DualSpace,
        spaces.PrincipalSpace,
        spaces.ProcessSpace,
        spaces.StackedSpace,
    ),
    "bayespoint.posteriors": (
        posteriors.ChainPosterior,
        posteriors.FirstVisits,
        posteriors.FlipEvidence,
        posteriors.GaussianPosterior,
        posteriors.JointPosterior,
        posteriors.LogOdds,
        posteriors.MarginalPosterior,
        posteriors.Messages,
        posteriors.MixturePosterior,
        posteriors.SampledPosterior,
        posteriors.StreamPosterior,
    ),
    "bayespoint.reject": (Guarantee, RejectionCurve, SelectiveClassifier),
    "bayespoint.scaling": (Scaling,),
    "bayespoint.columns": (Columns,),
    "sklearn.compose": (ColumnTransformer, make_column_selector),
    "sklearn.decomposition": (PCA,),
    "sklearn.feature_extraction": (FeatureHasher,),
    "sklearn.feature_extraction.text": (HashingVectorizer, TfidfTransformer),
    "sklearn.frozen": (FrozenEstimator,),
    "sklearn.impute": (MissingIndicator, SimpleImputer),
    "sklearn.model_selection": (KFold, StratifiedKFold),
    "sklearn.pipeline": (FeatureUnion, Pipeline),
    "sklearn.preprocessing": (
        FunctionTransformer,
        LabelEncoder,
        MaxAbsScaler,
        MinMaxScaler,
        Normalizer,
        OneHotEncoder,
        OrdinalEncoder,
        RobustScaler,
        StandardScaler,
    ),
}
CLASSES = {f"{module}.{cls.__name__}": cls for module, some in MODULES.items() for cls in some}
NAMES = {cls: name for name, cls in CLASSES.items()}

# Types that are values themselves, such as the dtype parameter of OneHotEncoder.
TYPES: dict[str, type] = {
    **{f"builtins.{cls.__name__}": cls for cls in (bool, float, int, object, str)},
    **{f"numpy.{cls.__name__}": cls for cls in (np.floating, np.integer, np.number, np.object_)},
    **{f"numpy.{np.dtype(code).type.__name__}": np.dtype(code).type for code in "?bhilBHILefdU"},
}
TYPE_NAMES = {cls: name for name, cls in TYPES.items()}

"""Models to keep in files, comparisons of all that is in a model, and forged files."""

import hashlib
import io
import json
import warnings
import zipfile
from functools import cached_property

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.engines import (
    BilliardSampler,
    ExpectationPropagation,
    FactorisedPropagation,
    GibbsSampler,
    KnapsackPropagation,
    LaplaceApproximation,
    PermutedPerceptron,
)
from bayespoint.exceptions import ModelFileError
from bayespoint.kernels import PolynomialKernel, RadialKernel
from bayespoint.reject import SelectiveClassifier
from bayespoint.storage.archive import MANIFEST, SEAL

ENGINES = {
    "ep": (ExpectationPropagation(), 0.0),
    "factorised-ep": (FactorisedPropagation(), 0.0),
    "laplace": (LaplaceApproximation(), 0.0),
    "perceptron": (PermutedPerceptron(n_samples=4), "mean"),
    "gibbs": (
        GibbsSampler(label_noise=0.1, n_samples=8, burn_in=20, n_chains=2, evidence=True),
        0.0,
    ),
    "billiard": (BilliardSampler(n_samples=20, burn_in=50), "mean"),
    "knapsack": (KnapsackPropagation(n_iter=2, bins=16), 0.0),
}


def points(n_classes, n=24):
    """Points in three dimensions and labels that their first coordinate gives away, nearly."""
    rng = np.random.default_rng(7)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 3)) + 2.0 * y[:, None] * [1, 0, 0], y


def fitted(engine, kernel, n_classes, **parameters):
    """A machine, and points that it has not seen."""
    X, y = points(n_classes)
    algorithm, ridge = ENGINES[engine]
    machine = BayesPointClassifier(
        kernel=kernel, engine=algorithm, ridge=ridge, random_state=0, **parameters
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few samples, few steps
        machine.fit(X, y)
    return machine, np.random.default_rng(8).normal(1.0, size=(9, 3))


def table():
    """A frame of numbers, words, categories and gaps, and labels that are words."""
    X, y = points(3, 30)
    words = np.array(["red", "green", "blue"], dtype=object)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "colour": words[np.arange(30) % 3]})
    frame["size"] = pd.Categorical(np.where(X[:, 2] > 0, "large", "small"))
    frame["rank"] = np.arange(30) % 5
    frame.loc[3, "a"] = np.nan
    frame.loc[4, "colour"] = None
    return frame, words[y]


def preprocessing():
    """Most of what people do to a table."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    colours = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    return ColumnTransformer(
        [
            ("numbers", numbers, ["a", "b"]),
            ("colours", colours, ["colour"]),
            ("sizes", OrdinalEncoder(), make_column_selector(dtype_include="category")),
            ("nothing", "drop", slice(0, 1)),
        ],
        remainder="passthrough",
    )


def differences(a, b, place="model"):
    """Places where two values are not the same to the last bit; cached values do not count."""
    if type(a) is not type(b):
        return [f"{place}: {type(a)} {type(b)}"]
    if isinstance(a, np.ndarray):
        return [] if same_array(a, b) else [place]
    if isinstance(a, (list, tuple)):
        pairs = dict(enumerate(a)), dict(enumerate(b))
    elif isinstance(a, dict):
        pairs = a, b
    elif hasattr(a, "__dict__") and not isinstance(a, type):
        pairs = without_cache(a), without_cache(b)
    else:
        return [] if repr(a) == repr(b) else [f"{place}: {a!r} {b!r}"]
    if list(pairs[0]) != list(pairs[1]):
        return [f"{place}: {list(pairs[0])} {list(pairs[1])}"]
    return [
        found
        for key in pairs[0]
        for found in differences(pairs[0][key], pairs[1][key], f"{place}.{key}")
    ]


def same_array(a, b):
    if (a.dtype, a.shape, a.flags.writeable) != (b.dtype, b.shape, b.flags.writeable):
        return False
    if a.dtype == object:
        return list(map(repr, a.ravel())) == list(map(repr, b.ravel()))
    return a.tobytes() == b.tobytes()


def without_cache(value):
    cls = type(value)
    return {
        name: part
        for name, part in vars(value).items()
        if not isinstance(getattr(cls, name, None), cached_property)
        and name not in getattr(cls, "not_stored", ())
    }


def members(data):
    """Contents of an archive by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive(contents, *, comment=None, method=zipfile.ZIP_STORED):
    """An archive of these contents (a dict, or pairs), sealed as if nothing had happened."""
    pairs = list(contents.items() if isinstance(contents, dict) else contents)
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as file:
        warnings.simplefilter("ignore")  # two members of one name
        for name, data in pairs:
            file.writestr(name, data)
        if comment is None:
            digest = hashlib.sha256(dict(pairs).get(MANIFEST, b"")).hexdigest()
            comment = (SEAL + digest).encode()
        file.comment = comment
    return buffer.getvalue()


def forged(contents, manifest=None):
    """An archive whose checksums are all right; ``manifest`` replaces its own."""
    contents = dict(contents)
    manifest = json.loads(contents[MANIFEST]) if manifest is None else manifest
    if isinstance(manifest, dict) and isinstance(manifest.get("sha256"), dict):
        manifest["sha256"] = {
            name: hashlib.sha256(data).hexdigest()
            for name, data in contents.items()
            if name != MANIFEST
        }
    contents[MANIFEST] = json.dumps(manifest).encode()
    return archive(contents)


# Mutants ---------------------------------------------------------------------------------------


def careful():
    """A fitted pipeline that can refuse, and its data."""
    frame, y = table()
    pipeline = make_pipeline(
        preprocessing(), BayesPointClassifier(kernel="linear", temperature=1.0)
    ).fit(frame, y)
    return SelectiveClassifier(pipeline, rate=0.2, cv="prefit").fit(frame, y), frame


MUTABLE = {
    "careful": careful,
    "linear": lambda: fitted("ep", "linear", 3),
    "ep": lambda: fitted("ep", "rbf", 2),
    "perceptron": lambda: fitted("perceptron", "rbf", 2),
    "sum": lambda: fitted("perceptron", 2 * RadialKernel() + PolynomialKernel(degree=2), 2),
    "gibbs": lambda: fitted("gibbs", "rbf", 2),
    "knapsack": lambda: fitted("knapsack", "rbf", 2),
}


def mutable_models(path, *names):
    """Files by name: (bytes, data to predict, the right predictions)."""
    found = {}
    for name in names or MUTABLE:
        model, X = MUTABLE[name]()
        bayespoint.save(model, path, metadata={"name": name})
        found[name] = path.read_bytes(), X, model.predict_proba(X)
    return found


def judge(path, data, X, expected):
    """What comes of a file, in a word."""
    path.write_bytes(data)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = bayespoint.load(path)
        except ModelFileError as error:
            assert str(error).startswith(str(path)) and len(str(error)) < 1000
            return "refused"
        if not hasattr(model, "predict_proba"):
            return "another model"
        try:
            found = model.predict_proba(X)
        except NotFittedError:
            return "not fitted"
        except Exception:
            return "broken"
    if found.shape != expected.shape or not np.allclose(found, expected, rtol=1e-13, atol=1e-15):
        return "wrong"
    return "right"


def places(node, found=None):
    """All (container, key) of a JSON tree."""
    found = [] if found is None else found
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in pairs:
        found.append((node, key))
        if isinstance(value, (dict, list)):
            places(value, found)
    return found

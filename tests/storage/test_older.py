"""Model files of earlier formats predict what they predicted when they were written."""

from pathlib import Path

import numpy as np
import pytest

import bayespoint
from bayespoint.engines import KnapsackPropagation
from bayespoint.storage import describe
from bayespoint.storage.decode import up_to_date

FILES = sorted(Path(__file__).parent.glob("format_?/*.bpm"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_older_files(path, tmp_path):
    file = describe(path)
    assert file.format_version == int(path.parent.name[-1])
    clf, X = bayespoint.load(path), np.array(file.metadata["X"])
    expected = file.metadata["probabilities"]
    np.testing.assert_allclose(clf.predict_proba(X), expected, rtol=1e-9, atol=1e-12)
    assert getattr(clf, "left_out_error_", -1) == file.metadata["left_out"]
    assert clf.n_features_in_ == X.shape[1] == clf.model_.n_features
    assert not {"posterior_", "coef_", "_space"} & vars(clf).keys()
    bayespoint.save(clf, tmp_path / "new.bpm")
    assert describe(tmp_path / "new.bpm").format_version == 5
    again = bayespoint.load(tmp_path / "new.bpm")
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_there_are_such_files():
    assert len(FILES) == 4


def test_independent_weights_were_a_parameter():
    """Of ExpectationPropagation, until there was a FactorisedPropagation."""
    engines = {path.stem: bayespoint.load(path).engine for path in FILES}
    assert repr(engines["independent"]) == "FactorisedPropagation(noise=0.5)"
    assert repr(engines["stream"]) == "FactorisedPropagation(decay=0.99, max_iter=1)"
    assert repr(engines["full"]) == "ExpectationPropagation(prior_scale=0.7, schedule='parallel')"


def test_how_messages_were_computed_was_a_parameter():
    """Of KnapsackPropagation, in files of the newest format, too."""
    state = vars(KnapsackPropagation(C=2.0)) | {"nonconcave": "exact"}
    assert up_to_date(KnapsackPropagation, state) == (
        KnapsackPropagation,
        vars(KnapsackPropagation(C=2.0)),
    )

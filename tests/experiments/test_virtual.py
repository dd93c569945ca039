"""Virtual digits: shifts, deskewing, and the experiment in small."""

import numpy as np

from bayespoint.experiments.base import Context
from bayespoint.experiments.large_scale import virtual
from bayespoint.experiments.large_scale.problem import pose


def bar(slant):
    """An image of a line that leans so many columns for each row."""
    image = np.zeros((15, 15))
    for row in range(2, 13):
        image[row, 7 + round(slant * (row - 7))] = 1.0
    return image.reshape(1, -1)


def slant_of(X):
    image = X.reshape(15, 15)
    rows, columns = np.mgrid[:15, :15]
    down, across = (g - (image * g).sum() / image.sum() for g in (rows, columns))
    return float((image * down * across).sum() / (image * down**2).sum())


def test_deskewing_makes_lines_upright_and_keeps_grey_levels():
    for slant in (-0.5, 0.5):
        X = bar(slant)
        upright = virtual.deskewed(X)
        assert abs(slant_of(X)) > 0.4 and abs(slant_of(upright)) < 0.05
        assert np.allclose(np.round(255 * upright), 255 * upright)
        assert np.isclose(upright.sum(), X.sum(), rtol=0.05)
    assert np.array_equal(virtual.deskewed(bar(0)), bar(0))
    assert np.array_equal(virtual.deskewed(np.zeros((1, 9))), np.zeros((1, 9)))


def test_shifts_of_one_and_two_pixels():
    X = np.arange(32.0).reshape(2, 16)
    one, two = virtual.shifted(X, 1), virtual.shifted(X, 2)
    assert len(one) == 9 * 2 and len(two) == 25 * 2
    images = one.reshape(9, 2, 4, 4)
    assert np.array_equal(images[4], X.reshape(2, 4, 4))  # the middle one is not moved
    assert np.array_equal(images[5, :, :, :3], X.reshape(2, 4, 4)[:, :, 1:])
    assert not images[5, :, :, 3].any()


def test_the_experiment_in_small():
    context = Context()
    result = virtual.run(context, pose(context))
    choice, rejection = result.tables
    assert len(choice.rows) == 2 and sum(row.verdict == "chosen" for row in choice.rows) == 1
    measured = [row.values[1] for row in rejection.rows]
    assert measured[0] < 5 and measured[-1] < measured[0]
    assert set(context.seconds) == {"choosing virtual digits", "testing virtual digits"}

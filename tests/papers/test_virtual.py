"""Virtual digits: images shifted, deskewed, deformed, described by gradients; the experiment."""

import numpy as np
import pytest
from tests.helpers.cuda_reference import stand_in

from papers.base import Context
from papers.large_scale import images, virtual
from papers.large_scale.problem import pose


def bar(slant):
    """An image of a line that leans so many columns for each row."""
    image = np.zeros((15, 15), dtype=np.float32)
    for row in range(2, 13):
        image[row, 7 + round(slant * (row - 7))] = 1.0
    return image.reshape(1, -1)


def blobs(n, side=28):
    """Smooth images, each one bell of another size somewhere near the middle."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:side, :side]
    y, x, height, width = rng.uniform([[11], [11], [2], [2]], [[16], [16], [4], [4]], (4, n))
    places = [(rows, y, height), (columns, x, width)]
    exponent = sum(((p[None] - c[:, None, None]) / s[:, None, None]) ** 2 for p, c, s in places)
    return np.exp(-exponent / 2).reshape(n, -1).astype(np.float32)


def slant_of(X):
    image = X.reshape(15, 15)
    rows, columns = np.mgrid[:15, :15]
    down, across = (g - (image * g).sum() / image.sum() for g in (rows, columns))
    return float((image * down * across).sum() / (image * down**2).sum())


def test_deskewing_makes_lines_upright():
    for slant in (-0.5, 0.5):
        X = bar(slant)
        upright = images.deskewed(X)
        assert abs(slant_of(X)) > 0.4 and abs(slant_of(upright)) < 0.05
        assert np.isclose(upright.sum(), X.sum(), rtol=0.05)
    assert np.array_equal(images.deskewed(bar(0)), bar(0))
    empty = np.zeros((1, 9), dtype=np.float32)
    assert np.array_equal(images.deskewed(empty), empty)


def test_shifts_of_one_and_two_pixels():
    X = np.arange(32, dtype=np.float32).reshape(2, 16)
    one, two = images.shifted(X, 1), images.shifted(X, 2)
    assert len(one) == 9 * 2 and len(two) == 25 * 2
    moved = one.reshape(9, 2, 4, 4)
    assert np.array_equal(moved[4], X.reshape(2, 4, 4))  # the middle one is not moved
    assert np.array_equal(moved[5, :, :, :3], X.reshape(2, 4, 4)[:, :, 1:])
    assert not moved[5, :, :, 3].any()
    assert np.array_equal(images.shifted(X, 0), X)


def centres(X):
    """Centre of mass of each image: rows and columns."""
    all_images = X.reshape(len(X), 28, 28).astype(float)
    rows, columns = np.mgrid[:28, :28]
    mass = all_images.sum(axis=(1, 2))
    y, x = ((all_images * g).sum(axis=(1, 2)) / mass for g in (rows, columns))
    return y, x


def test_values_between_pixels_are_those_of_scipy():
    from scipy.ndimage import map_coordinates

    rng = np.random.default_rng(0)
    image = rng.random((1, 9, 9), dtype=np.float32)
    y, x = rng.uniform(-2, 10, (2, 1, 9, 9)).astype(np.float32)
    reference = map_coordinates(np.pad(image[0], 3), [y[0] + 3, x[0] + 3], order=1)
    assert np.allclose(images.sampled(image, y, x).reshape(9, 9), reference, atol=1e-5)


def test_deformations_move_images_as_far_as_they_should(monkeypatch):
    X = blobs(2000)
    for waves in (0.0, images.WAVES):
        monkeypatch.setattr(images, "WAVES", waves)
        new = images.deformed(X, np.random.default_rng(1))
        for before, after in zip(centres(X), centres(new), strict=True):
            # A uniform shift up to 1 px has variance 1/3; slant, rotation and stretching about the
            # middle, from which centres are up to 3 px away, add less than 0.1; the displacement
            # at one place has the variance of the waves, and that of a blob a little less.
            variance = np.var(after - before)
            assert 1 / 3 + 0.5 * waves**2 - 0.05 < variance < 1 / 3 + waves**2 + 0.1
            assert abs(np.mean(after - before)) < 5 * np.sqrt(variance / len(X))
    assert np.array_equal(new, images.deformed(X, np.random.default_rng(1)))
    assert not np.array_equal(new, images.deformed(X, np.random.default_rng(2)))


def test_gradients_of_an_edge_point_across_it():
    """Ink that begins at the middle column: the direction to the right, at its places only."""
    image = np.zeros((1, 28, 28), dtype=np.float32)
    image[:, :, 14:] = 0.5
    sizes = images.gradients(image.reshape(1, -1)).reshape(12, 12, 12)
    right, middle = sizes[0], sizes[:, 3:9, :10]  # away from the borders, which are edges, too
    assert middle[1:].max() < 0.05 < 0.3 < right[3:9, 5:7].min()
    assert right[:, :3].max() == 0
    turned = images.gradients(image.transpose(0, 2, 1).reshape(1, -1)).reshape(12, 12, 12)
    assert np.allclose(turned[3], right.T, atol=1 / 255)  # three twelfths of a turn further


def test_tensors_have_the_same_images():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X = blobs(20)
    T = torch.from_numpy(X)
    for function in (images.deskewed, lambda X: images.deformed(X, np.random.default_rng(0))):
        assert np.allclose(function(T).numpy(), function(X), atol=1e-4)
    assert np.array_equal(images.shifted(T, 1).numpy(), images.shifted(X, 1))
    apart = np.abs(images.gradients(T).numpy() - images.gradients(X))
    assert apart.max() < 1.5 / 255 and np.mean(apart > 0.5 / 255) < 0.01


def test_machines_on_a_device_learn_the_same(monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    stand_in(monkeypatch)
    X, y, *_ = pose(Context()).split
    X = (X / 16).astype(np.float32)
    choice = virtual.Choice(True, "gradients", 3, copies=1, machines=2)
    here = virtual.trained(X[:60], y[:60], choice, Context(), 0)
    there = virtual.trained(torch.from_numpy(X[:60]), y[:60], choice, Context(device="cuda"), 0)
    first = virtual.trained(X[:60], y[:60], choice._replace(copies=0), Context(), 0).machines[0]
    assert here.n_points == there.n_points == 2 * len(first.posterior_.support)
    outputs = [here.decision_function(X[60:]), there.decision_function(torch.from_numpy(X[60:]))]
    assert np.corrcoef(*(one.ravel() for one in outputs))[0, 1] > 0.999
    alone = here.machines[0].decision_function(images.gradients(X[60:]))
    assert not np.allclose(alone, here.machines[1].decision_function(images.gradients(X[60:])))


def test_the_experiment_in_small():
    context = Context()
    result = virtual.run(context, pose(context))
    choice, rejection = result.tables
    errors = [row.values[0] for row in choice.rows]
    assert [row.verdict == "chosen" for row in choice.rows] == [e == min(errors) for e in errors]
    measured = [row.values[1] for row in rejection.rows]
    assert measured[0] < 5 and measured[-1] < measured[0]
    parts = ("choosing virtual digits", "training with virtual digits", "testing virtual digits")
    assert tuple(context.seconds) == parts

"""Sums over the coordinates of points, in float64 on a device.

The points' coordinates Z stay there; vectors of weights and of points go to and fro.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from bayespoint.gpu.arrays import copy_on, to_device, to_host

PART = 16_384  # rows at a time, where a scaled copy of all would be large


class DeviceCoordinates:
    """Coordinates Z of new points, in float64 on a device; outputs are arrays.

    Parameters
    ----------
    Z : tensor of shape (n, n_coordinates)
        The coordinates.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, Z: Any) -> None:
        self.Z = Z

    def __len__(self) -> int:
        return len(self.Z)

    def __matmul__(self, weights: NDArray) -> NDArray[np.float64]:
        return outputs(self.Z, weights)

    @classmethod
    def joined(cls, parts: list[DeviceCoordinates]) -> DeviceCoordinates:
        """Several coordinates of the same points, one after another."""
        import torch

        return cls(torch.cat([part.Z for part in parts], dim=1))

    def split(self, sizes: list[int]) -> list[DeviceCoordinates]:
        """The opposite, by the number of coordinates of each part."""
        return [DeviceCoordinates(part) for part in self.Z.split(sizes, dim=1)]

    def variances(self, factors: NDArray) -> NDArray[np.float64]:
        """Squared lengths of F^T z, (n, n_factors)."""
        F = copy_on(self.Z.device, factors)
        return np.stack([variances(self.Z, one) for one in F], axis=1)


def with_column(Z: Any, values: Any) -> Any:
    """Z with one more column, of numbers or of one number."""
    wider = Z.new_empty((len(Z), Z.shape[1] + 1))
    wider[:, :-1], wider[:, -1] = Z, values
    return wider


def load_solvers(X: Any) -> None:
    """Load what factorises matrices, which torch does once, and not safely from several threads."""
    import torch

    one = torch.eye(2, dtype=torch.float64, device=X.device)
    torch.linalg.solve_triangular(torch.linalg.cholesky_ex(one)[0], one, upper=False)


def outputs(Z: Any, weights: NDArray) -> NDArray[np.float64]:
    """Z w."""
    return to_host(Z @ to_device(weights, Z.device, Z.dtype))


def pull(Z: Any, forces: NDArray) -> NDArray[np.float64]:
    """Z^T s."""
    return to_host(Z.T @ to_device(forces, Z.device, Z.dtype))


def curvature(Z: Any, rate: NDArray) -> Any:
    """Z^T diag(rate) Z, as a tensor."""
    r = to_device(rate, Z.device, Z.dtype)[:, None]
    total = Z.new_zeros((Z.shape[1], Z.shape[1]))
    for begin in range(0, len(Z), PART):
        part = Z[begin : begin + PART]
        total.addmm_((part * r[begin : begin + PART]).T, part)
    return (total + total.T) / 2


def variances(Z: Any, factor: Any) -> NDArray[np.float64]:
    """Squared length of F^T z for every point; F is an array or a tensor."""
    F = to_device(factor, Z.device, Z.dtype)
    parts = (Z[begin : begin + PART] for begin in range(0, len(Z), PART))
    return np.concatenate([to_host((part @ F).square().sum(dim=1)) for part in parts])


def solve_lower(L: Any, rows: Any) -> Any:
    """The rows L^-1 r, for a lower triangular L."""
    import torch

    return torch.linalg.solve_triangular(L, rows.T, upper=False).T


def posterior_root(Z: Any, rate: NDArray, prior: NDArray) -> Any:
    """F, upper triangular, with F F^T the inverse of Z^T diag(rate) Z + prior, as a tensor.

    The prior is a matrix, or its diagonal.
    """
    import torch

    precision, added = curvature(Z, rate), to_device(prior, Z.device, Z.dtype)
    precision += torch.diag(added) if added.ndim == 1 else added
    if not bool(precision.isfinite().all()):
        raise LinAlgError("the messages overflow")
    L, failed = torch.linalg.cholesky_ex(precision)
    if bool(failed):
        raise LinAlgError("the matrix is not positive definite")
    one = torch.eye(len(L), dtype=L.dtype, device=L.device)
    return torch.linalg.solve_triangular(L, one, upper=False).T.contiguous()


def times_covariance(factor: Any, weights: NDArray) -> NDArray[np.float64]:
    """F F^T v."""
    return to_host(factor @ (factor.T @ to_device(weights, factor.device, factor.dtype)))

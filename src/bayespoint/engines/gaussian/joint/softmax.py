"""The mode of the softmax model of all classes together, and the Gaussian around it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.special import log_softmax

from bayespoint.engines.base import Progress
from bayespoint.engines.gaussian.joint.gaussians import JointGaussian, coupled
from bayespoint.engines.gaussian.joint.sites import cavities
from bayespoint.engines.gaussian.newton import OutputDescent
from bayespoint.tools.numbers import EPSILON


class SoftmaxMode(OutputDescent):
    r"""On the way to the mode of :math:`\sum_i k_i \log p(y_i | f_i) + \log p(w)`.

    A step takes the log-likelihood for the quadratic function that it is near the current outputs:
    the messages with rates :math:`k p` and shifts :math:`k (e_y - p) + \Pi f`.

    Parameters
    ----------
    gaussian : JointGaussian
        The prior; steps change it.
    codes, weight : ndarray of shape (n,)
        Class of each point, and how many copies it counts for.
    """

    def __init__(
        self, gaussian: JointGaussian, codes: NDArray[np.intp], weight: NDArray[np.float64]
    ) -> None:
        super().__init__(gaussian.space, gaussian.prior.mean, gaussian.width)
        self.gaussian, self.weight = gaussian, weight
        self._own = np.eye(self.f.shape[1])[codes]

    def find(self, engine: Any, progress: Progress) -> None:
        """Step to the mode, and find the Gaussian around it."""
        super().find(engine, progress)
        if self.decrement > 1 / EPSILON:  # along what all classes have in common, where no slope is
            raise LinAlgError("the step is lost in rounding errors")
        if self.reason:
            self.go(self.step, self.change, -(self.decrement**2))
        else:  # slopes are rounding errors by now
            self.f = self.f + self.change
        self.slope, self.rate = self.derivatives(self.f)
        self.gaussian.renew(*self.messages())

    def derivatives(self, f: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By the outputs: k (e_y - p), and the rates k p."""
        p = np.exp(log_softmax(f, axis=1))
        return self.weight[:, None] * (self._own - p), self.weight[:, None] * p

    def factorise(self) -> None:
        """Find the Gaussian that the messages make."""
        self.gaussian.centre(*self.messages())

    def downhill(self, gradient: NDArray) -> NDArray[np.float64]:
        """The covariance of the Gaussian times -gradient."""
        return -self.gaussian.times_covariance(gradient)

    def hold(self, u: NDArray) -> NDArray[np.float64]:
        """The precision of the prior times weights."""
        return self.gaussian.prior.hold(u)

    def bent(self, rate: NDArray, change: NDArray) -> NDArray[np.float64]:
        """Pi times a change of outputs."""
        return coupled(rate, change)

    def log_evidence(self) -> float:
        """The logarithm of the integral of the Gaussian."""
        away = self.gaussian.mean - self.gaussian.prior.mean
        fit = self.weight @ log_softmax(self.gaussian.f, axis=1)[self._own > 0]
        objective = fit - 0.5 * np.vdot(away, self.hold(away))
        return float(objective + 0.5 * self.gaussian.log_determinant)

    def cavities(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and covariances of the outputs of each point, given all other labels."""
        return cavities(self.gaussian, self.messages(), self.weight)

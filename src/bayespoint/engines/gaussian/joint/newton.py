"""The mode of the softmax model of all classes together, and the Gaussian around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from bayespoint.engines.gaussian.joint.gaussians import JointGaussian, coupled
from bayespoint.engines.gaussian.joint.sites import cavities
from bayespoint.likelihoods import SoftmaxLikelihood
from bayespoint.posteriors import Messages

TRIALS = 60  # halvings of a step


class SoftmaxMode:
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

    likelihood = SoftmaxLikelihood()

    def __init__(
        self, gaussian: JointGaussian, codes: NDArray[np.intp], weight: NDArray[np.float64]
    ) -> None:
        self.gaussian, self.codes, self.weight = gaussian, codes, weight
        self.mean, self.f = gaussian.mean, gaussian.f
        self._own = np.eye(self.f.shape[1])[codes]
        self._messages = self._quadratic()

    def step(self) -> float:
        """One step of Newton's method; the largest change of an output, as a share of 1 + |f|."""
        gaussian, before = self.gaussian, self._objective(self.mean, self.f)
        self._messages = self._quadratic()
        gaussian.centre(*self._messages)
        towards, change = gaussian.mean - self.mean, gaussian.f - self.f
        largest = float(np.abs(change / (1 + np.abs(self.f))).max(initial=0.0))
        length = 1.0
        for _ in range(TRIALS):
            after = self._objective(self.mean + length * towards, self.f + length * change)
            if after >= before - 1e-12 * abs(before):
                break
            length /= 2
        self.mean, self.f = self.mean + length * towards, self.f + length * change
        return largest

    def finish(self) -> None:
        """The Gaussian around the current outputs, which are those of the mode."""
        self._messages = self._quadratic()
        self.gaussian.renew(*self._messages)
        self.mean, self.f = self.gaussian.mean, self.gaussian.f

    def messages(self) -> Messages:
        """Those of the last quadratic function."""
        return self._messages

    def log_evidence(self) -> float:
        """The logarithm of the integral of the Gaussian."""
        return self._objective(self.mean, self.f) + 0.5 * self.gaussian.log_determinant

    def cavities(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and covariances of the outputs of each point, given all other labels."""
        return cavities(self.gaussian, self._messages, self.weight)

    def _quadratic(self) -> Messages:
        p = np.exp(log_softmax(self.f, axis=1))
        rate = self.weight[:, None] * p
        slope = self.weight[:, None] * (self._own - p)
        return Messages(slope + coupled(rate, self.f), rate)

    def _objective(self, mean: NDArray, f: NDArray) -> float:
        away = mean - self.gaussian.prior.mean
        fit = self.weight @ log_softmax(f, axis=1)[np.arange(len(f)), self.codes]
        return float(fit - 0.5 * np.vdot(away, self.gaussian.prior.hold(away)))

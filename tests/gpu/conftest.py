"""Devices for the tests: torch's CPU, which runs everything but the CUDA source, and a GPU."""

import pytest
from tests.helpers.cuda_reference import stand_in

from bayespoint.gpu import devices

NO_GPU = devices.what_is_missing("cuda")
WITH_GPU = pytest.mark.skipif(bool(NO_GPU), reason=f"no GPU: {NO_GPU}")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=WITH_GPU)])
def device(request, monkeypatch):
    """A torch device, that a classifier with ``device="cuda"`` works on."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if request.param == "cpu":
        return stand_in(monkeypatch)
    return torch.device("cuda", torch.cuda.current_device())


@pytest.fixture
def gpu():
    """A GPU; tests that need one are skipped where there is none."""
    if NO_GPU:
        pytest.skip(f"no GPU: {NO_GPU}")
    import torch

    return torch.device("cuda", torch.cuda.current_device())

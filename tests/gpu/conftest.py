"""Devices for the tests: torch's CPU, which runs everything but the CUDA source, and a GPU."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from bayespoint.gpu import devices  # noqa: E402


def device_names():
    reason = devices.what_is_missing("cuda")
    yield "cpu"
    yield pytest.param("cuda", marks=pytest.mark.skipif(bool(reason), reason=f"no GPU: {reason}"))


@pytest.fixture(params=list(device_names()))
def device(request, monkeypatch):
    """A torch device, that a classifier with ``device="cuda"`` works on."""
    if request.param == "cpu":
        monkeypatch.setattr(devices, "STAND_IN", torch.device("cpu"))
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())

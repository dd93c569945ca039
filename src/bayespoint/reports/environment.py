"""The computer and the libraries that numbers were measured with."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import cpu_count
from threadpoolctl import threadpool_info

from bayespoint.tools.version import __version__

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "joblib")


def describe_environment() -> dict[str, Any]:
    """Processor, memory, system, versions and BLAS, ready for JSON.

    Several BLAS libraries may be loaded: numpy and scipy bring one each.
    """
    try:
        memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        memory = None
    own = {"python": platform.python_version(), "bayespoint": __version__}  # of the running code
    keys = ("internal_api", "version", "num_threads", "architecture")
    loaded = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return {
        "processor": processor_name(),
        "cores": cpu_count(),
        "memory_gb": memory,
        "system": f"{platform.system()} {platform.machine()}",
        "versions": own | {name: version(name) for name in LIBRARIES},
        "blas": [{key: library.get(key) for key in keys} for library in loaded],
    }


def processor_name() -> str:
    """The processor's name as the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def environment_words(found: Mapping[str, Any]) -> dict[str, str]:
    """What :func:`describe_environment` found, for people."""
    memory = "" if found["memory_gb"] is None else f", {found['memory_gb']:.0f} GB of memory"
    return {
        "computer": f"{found['processor']}, {found['cores']} cores{memory}, {found['system']}",
        "versions": ", ".join(f"{name} {number}" for name, number in found["versions"].items()),
        "BLAS": ", ".join(
            f"{blas['internal_api']} {blas['version']} (threads: {blas['num_threads']})"
            for blas in found["blas"]
        ),
    }

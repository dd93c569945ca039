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
    """Processor, memory, system, versions and BLAS, ready for JSON."""
    memory = memory_size()
    return {
        "processor": processor_name(),
        "cores": cpu_count(),
        "memory_gb": None if memory is None else round(memory / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": library_versions(),
        "blas": blas_libraries(),
    }


def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that do the work."""
    own = {"python": platform.python_version(), "bayespoint": __version__}  # of the running code
    return own | {name: version(name) for name in LIBRARIES}


def blas_libraries() -> list[dict[str, Any]]:
    """BLAS libraries that are loaded, with their number of threads.

    Several may be: numpy and scipy bring one each.
    """
    keys = ("internal_api", "version", "num_threads", "architecture")
    loaded = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return [{key: library.get(key) for key in keys} for library in loaded]


def processor_name() -> str:
    """The processor's name as the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def memory_size() -> int | None:
    """Bytes of main memory, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None


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

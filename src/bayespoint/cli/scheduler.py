"""Training on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bayespoint import BayesPointClassifier
from bayespoint.cli.output.errors import bad_data, bad_usage
from bayespoint.exceptions import ClusterError
from bayespoint.rows import Blocks
from bayespoint.tools.extras import require

PATIENCE = 10  # seconds until a scheduler must have answered


def fit_at(address: str | None, machine: BayesPointClassifier, rows: Blocks) -> None:
    """Fit the classifier on the cluster of the scheduler at an address, or here if None."""
    if address is None:
        machine.fit(rows)
        return
    with connected(address) as client:
        from bayespoint.classifier.dask import DaskBayesPointClassifier
        from bayespoint.rows.dask.cluster import Cluster
        from bayespoint.rows.dask.inputs import held

        params = machine.get_params(deep=False)
        able = DaskBayesPointClassifier._get_param_names()
        classifier = DaskBayesPointClassifier(
            client=client, **{name: params[name] for name in able if name != "client"}
        )
        local = classifier.fit(held(Cluster(client), rows)).to_local()
        machine.__dict__.update(vars(local))


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler; ends the command if there is none, or if it is lost."""
    require("distributed", "dask", "--scheduler")
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        bad_usage(f"--scheduler {address}: no scheduler answers there ({type(error).__name__})")
    with client:
        try:
            yield client
        except ClusterError as error:
            bad_data(f"{error}")

"""Clusters that tests share."""

import pytest


@pytest.fixture(scope="session")
def client():
    """A cluster of two threads in this process, which starts fast."""
    from distributed import Client

    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0") as one:
        yield one


@pytest.fixture(scope="session")
def workers():
    """A client of three worker processes on this computer, which nannies start again."""
    from distributed import Client, LocalCluster

    from dask import config

    with (
        # By default a LocalCluster gives up a worker that is away 15 s after any of its deaths.
        config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        LocalCluster(
            processes=True,
            n_workers=3,
            threads_per_worker=1,
            dashboard_address=":0",
            memory_limit="1GB",
        ) as cluster,
        Client(cluster) as one,
    ):
        yield one

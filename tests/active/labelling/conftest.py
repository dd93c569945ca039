"""Sessions on small pools, and their servers."""

import threading

import pandas as pd
import pytest
from tests.helpers.labelling import Client, make_session

from bayespoint.active.labelling.server import LabelServer


@pytest.fixture
def served(tmp_path):
    """A client of a session on a pool with hostile texts."""
    texts = ["<b>bold</b>", "<script>document.title='owned'</script>", "plain", "</p><img src=x>"]
    frame = pd.DataFrame({"text": [f"{word} {i}" for i in range(10) for word in texts]})
    session = make_session(tmp_path, frame, kind="text", columns=["text"])
    server = LabelServer(session, {"labelled.csv": lambda: b"label\n"})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield Client(server)
    server.shutdown()
    thread.join()
    server.server_close()
    session.end()

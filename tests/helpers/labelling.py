"""Labelling in tests: sessions, clients of their servers, and servers in their own process."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from bayespoint.active.labelling.items import Items
from bayespoint.active.labelling.journal import Journal
from bayespoint.active.labelling.session import Session


def line_pool(n=40, seed=0):
    """Points on a line; positive ones are "yes"."""
    x = np.random.default_rng(seed).normal(size=n).round(3)
    return pd.DataFrame({"x": x}), np.where(x > 0, "yes", "no")


def make_session(
    folder, frame, classes=("no", "yes"), given=None, kind="table", columns=(), **parameters
):
    """A session whose journal is in the folder; its learner does not run by itself."""
    items = Items(frame, "pool.csv", folder, kind, columns)
    points = frame.select_dtypes("number").to_numpy(dtype=float)
    if points.shape[1] == 0:
        points = np.arange(len(frame), dtype=float)[:, None]
    journal = Journal(folder / "pool.labels.jsonl", {"rows": len(frame)})
    return Session(items, points, np.array(classes), given or {}, journal, **parameters)


class Client:
    """Asks a server as the page does."""

    def __init__(self, server):
        self.server, self.port, self.token = server, server.port, server.token

    @classmethod
    def at(cls, address):
        """A client of the server that has printed this address."""
        port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/(.+)/", address).groups()
        return cls(SimpleNamespace(port=int(port), token=token))

    def request(self, method, path, body=None, headers=None):
        """Status, headers and content of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        headers = dict(headers or {})
        skip = "Host" in headers
        connection.putrequest(method, path, skip_host=skip)
        if body is not None:
            headers = {"Content-Type": "application/json", "Content-Length": len(body)} | headers
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, answer.headers, content

    def get(self, place, tab="one"):
        status, _, content = self.request("GET", f"/{self.token}/{place}?tab={tab}")
        assert status == 200, content
        return json.loads(content)

    def post(self, place, tab="one", **body):
        body = json.dumps({"tab": tab, **body}).encode()
        status, _, content = self.request("POST", f"/{self.token}/{place}", body)
        assert status == 200, content
        return json.loads(content)


def digits_pool(path):
    """The digits as columns of pixels, and what they are."""
    digits = load_digits(as_frame=True)
    digits.data.astype(int).to_csv(path, index=False)
    return digits.target.to_numpy()


# Ctrl-C is ignored in processes that a script starts in the background, and in their children.
START = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from bayespoint.cli import main
main()
"""


class Command:
    """``bayespoint label`` in its own process, which runs some code first."""

    def __init__(self, folder, *arguments, first=""):
        command = [sys.executable, "-c", first + START, "label", *map(str, arguments)]
        self._log = open(folder / "output.txt", "w+", encoding="utf-8")  # noqa: SIM115
        self._process = subprocess.Popen(
            [*command, "--no-browser"],
            cwd=folder,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env=os.environ,
        )
        end = time.monotonic() + 120
        while not (found := re.search(r"http://\S+", self.output())):
            assert time.monotonic() < end and self._process.poll() is None, self.output()
            time.sleep(0.05)
        self.address = found[0]

    def output(self):
        self._log.flush()
        self._log.seek(0)
        return self._log.read()

    def kill(self):
        """End it as a power cut does."""
        self._process.kill()
        self._process.wait()
        self._log.close()

    def end(self, number=signal.SIGINT):
        """Ctrl-C, or another signal; returns the exit code."""
        self.send(number)
        return self.wait()

    def send(self, number):
        """Send a signal."""
        self._process.send_signal(number)

    def wait(self):
        """The exit code, once it has ended by itself."""
        code = self._process.wait(120)
        self._log.close()
        return code

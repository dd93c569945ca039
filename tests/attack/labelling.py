"""Hostile journals of the labelling page, and hostile requests to it."""

from __future__ import annotations

import contextlib
import json
import socket
import tempfile
import threading
from functools import cache
from pathlib import Path

import numpy as np
from tests.attack.judge import Outcome, judged
from tests.helpers.labelling import line_pool, make_session

from bayespoint.active.labelling.server import LabelServer

VALUES = [
    None,
    True,
    -1,
    0,
    1.5,
    10**30,
    "",
    "1",
    "yes",
    "\ud800",
    [],
    {},
    [[1]],
    {"row": 1},
    "x" * 2000,
]
METHODS = ["GET", "POST", "HEAD", "PUT", "OPTIONS", "", "GET GET", "\x00", "PRI"]
PLACES = [
    "state?tab=one",
    "answer",
    "undo",
    "begin",
    "image/0",
    "export/labelled.csv",
    "page.js",
    "",
    "state?tab=" + "x" * 3000,
    "%00",
    "..%2f..%2fetc/passwd",
    "state?tab=%ff",
    "answer?tab",
]
HEADERS = [
    "Content-Length: 2",
    "Content-Length: 99",
    "Content-Length: x",
    "Transfer-Encoding: chunked",
    "Content-Length: 2\r\nContent-Length: 3",
    "Origin: null",
    "Expect: 100-continue",
    "Content-Type: text/plain",
    "X: " + "y" * 70_000,
    ": ",
    "Connection: close",
    "Range: bytes=0-1",
]
BODIES = [
    b"",
    b"{}",
    b"[]",
    b"{",
    b"\xff\xfe",
    b"[" * 9000,
    b'{"tab": 1}',
    b"null",
    b'"x"',
    b'{"tab": "one", "row": 0, "label": "yes"}',
    b'{"tab": "one", "row": 1e999, "label": null}',
]
EDITS = ["value", "drop key", "drop line", "copy line", "swap", "bytes", "number"]
UNKNOWN = (b"501", b"505")  # a method, a version of HTTP


@cache
def journal() -> bytes:
    """A journal of a session with some answers, one of them undone."""
    with tempfile.TemporaryDirectory() as folder:
        session = make_session(Path(folder), line_pool()[0])
        for label in ("yes", "no", None, "yes", "no", "yes"):
            session.answer("one", session.begin("one")["item"]["row"], label)
        session.undo("one")
        session.end()
        return Path(folder, "pool.labels.jsonl").read_bytes()


def attack_journal(kind: str, seed: int) -> tuple[str, Outcome]:
    """An edited journal, by its number: it is continued, or a JournalError says why not."""
    rng = np.random.default_rng([seed, 8])
    lines = journal().splitlines()
    place = int(rng.integers(len(lines)))
    how = str(
        rng.choice(["value", "drop key", "drop line", "copy line", "swap", "bytes", "number"])
    )
    if how in ("value", "drop key"):
        event = json.loads(lines[place])
        key = str(rng.choice(list(event)))
        if how == "value":
            event[key] = VALUES[rng.integers(len(VALUES))]
        else:
            del event[key]
        lines[place] = json.dumps(event).encode()
    elif how == "drop line":
        del lines[place]
    elif how == "copy line":
        lines.insert(int(rng.integers(1, len(lines) + 1)), lines[place])
    elif how == "swap":
        lines[place], lines[-1] = lines[-1], lines[place]
    elif how == "bytes":
        at = int(rng.integers(len(lines[place])))
        lines[place] = lines[place][:at] + rng.bytes(2) + lines[place][at + 1 :]
    else:
        lines[place] = lines[place].replace(b"1", rng.choice([b"NaN", b"1e999", b"-1", b"01"]))

    def case() -> str:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "pool.labels.jsonl").write_bytes(b"\n".join(lines) + b"\n")
            session = make_session(Path(folder), line_pool()[0])
            try:
                json.dumps(session.state("one"), allow_nan=False)
            finally:
                session.end()
        return ""

    return f"{how} in line {place + 1}", judged(case)


@cache
def server() -> LabelServer:
    """A server for all requests of this process."""
    folder = tempfile.mkdtemp()
    made = LabelServer(make_session(Path(folder), line_pool()[0]), {"labelled.csv": lambda: b"x\n"})
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return made


def attack_request(kind: str, seed: int) -> tuple[str, Outcome]:
    """A request, by its number: it gets an answer other than 500, or is closed if it has no end."""
    rng = np.random.default_rng([seed, 9])
    own = server()
    method, place = str(rng.choice(METHODS)), PLACES[rng.integers(len(PLACES))]
    token = own.token if rng.random() < 0.8 else "x"
    lines = [f"{method} /{token}/{place} {rng.choice(['HTTP/1.1', 'HTTP/1.0', 'HTTP/9', ''])}"]
    lines += [f"Host: 127.0.0.1:{own.port}"] if rng.random() < 0.9 else []
    body = BODIES[rng.integers(len(BODIES))]
    if rng.random() < 0.6:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [HEADERS[i] for i in rng.integers(len(HEADERS), size=rng.integers(3))]
    request = "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body
    if rng.random() < 0.2:
        request = request[: rng.integers(1, len(request))]
    if rng.random() < 0.1:
        at = int(rng.integers(len(request)))
        request = request[:at] + rng.bytes(3) + request[at:]

    def case() -> str:
        answer = exchange(own.port, request)
        status = answer.split(b" ", 2)[1] if answer.startswith(b"HTTP/") else b""
        if status.startswith(b"5") and status not in UNKNOWN:
            return f"answered {answer[:80]!r}"
        state = f"GET /{own.token}/state?tab=two HTTP/1.1\r\nHost: 127.0.0.1:{own.port}\r\n\r\n"
        healthy = exchange(own.port, state.encode())
        return "" if b" 200 " in healthy[:20] else f"the next request got {healthy[:80]!r}"

    return f"{lines[0][:60]}, {len(request)} bytes", judged(case)


def exchange(port: int, request: bytes) -> bytes:
    """What the server answers to bytes after which nothing follows."""
    answer = b""
    wire = socket.create_connection(("127.0.0.1", port), timeout=20)
    with wire, contextlib.suppress(OSError):  # it may close a request before its end
        wire.sendall(request)
        wire.shutdown(socket.SHUT_WR)
        while part := wire.recv(65_536):
            answer += part
    return answer

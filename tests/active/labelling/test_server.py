"""The server: who may ask, and what it says."""

import errno
import http.client
import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from tests.helpers.labelling import Client, Command, line_pool, make_session

from bayespoint.active.labelling import server as module
from bayespoint.active.labelling.items import Items
from bayespoint.active.labelling.server import LabelServer


def test_only_this_computer_and_only_with_the_token(served):
    assert served.server.server_address[0] == "127.0.0.1"
    good = f"/{served.token}/state?tab=one"
    assert served.request("GET", good)[0] == 200
    assert served.request("GET", good, headers={"Host": f"localhost:{served.port}"})[0] == 200
    for path in (
        "/",
        "/state?tab=one",
        "/x" + good,
        f"/{served.token[:-1]}/state?tab=one",
        "/page.js",
        "/../",
        f"/{served.token.swapcase()}/",
    ):
        for method in ("GET", "POST"):
            body = b"{}" if method == "POST" else None
            status, _, content = served.request(method, path, body)
            assert status == 403 and served.token.encode() not in content, path
            assert b"Open the one that bayespoint label printed" in content


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1", ""]
)
def test_foreign_hosts_are_refused(served, host):
    """So a page of others cannot reach the server under a name that it points here."""
    path = f"/{served.token}/state?tab=one"
    assert served.request("GET", path, headers={"Host": host})[0] == 403


def test_two_hosts_are_refused(served):
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as wire:
        own = f"127.0.0.1:{served.port}"
        lines = f"GET /{served.token}/ HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\n\r\n"
        wire.sendall(lines.encode())
        assert wire.recv(1000).startswith(b"HTTP/1.1 403")


def test_pages_of_others_cannot_post(served):
    path = f"/{served.token}/undo"
    body = b'{"tab": "one"}'
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}):
        assert served.request("POST", path, body, headers)[0] == 403
    assert served.request("POST", path, body, {"Content-Type": "text/plain"})[0] == 415
    own = {"Origin": f"http://127.0.0.1:{served.port}"}
    assert served.request("POST", path, body, own)[0] == 200


@pytest.mark.parametrize(
    ("place", "body", "status"),
    [
        ("answer", b"{", 400),
        ("answer", b"[]", 400),
        ("answer", b"\xff\xfe", 400),
        ("answer", b"{}", 400),
        ("answer", b'{"tab": "../x"}', 400),
        ("answer", b'{"tab": "one", "row": 0, "label": ["a"]}', 400),
        ("answer", b'{"tab": "one", "row": 0, "label": "maybe"}', 400),
        ("answer", b'{"tab": "one", "row": 1e400, "label": "yes"}', 200),  # another row than shown
        ("answer", b'{"tab": "one", "row": -1, "label": "yes"}', 200),
        ("answer", b'{"tab": "one", "row": {}, "label": "yes"}', 200),
        ("answer", b" " * 10_001, 400),
        ("answer", b"[" * 10_000, 400),
        ("answer", b'{"tab": ' + b"[" * 9_000 + b"]" * 900, 400),
        ("nothing", b'{"tab": "one"}', 404),
    ],
)
def test_broken_requests(served, place, body, status):
    n_before = len(served.server.session.answers.standing)
    assert served.request("POST", f"/{served.token}/{place}", body)[0] == status
    assert len(served.server.session.answers.standing) == n_before


@pytest.mark.parametrize(
    "place",
    [
        "x",
        "../page.js",
        "page/page.js",
        "image/../../etc/passwd",
        "image/-1",
        "image/1e3",
        "image/999",
        "image/0",
        "image/" + 5000 * "1",
        "export/../x",
        "export/model.bpm",
        "begin",
        "state?tab=<b>",
    ],
)
def test_places_that_are_not_there(served, place):
    assert served.request("GET", f"/{served.token}/{place}")[0] in (400, 404)


@pytest.mark.parametrize(
    ("method", "address", "length", "status"),
    [
        ("GET", "http://[", "", 400),
        ("GET", "http://[::1", "", 400),
        ("POST", "http://[", "2", 400),
        ("POST", "{own}", 5000 * "1", 400),
        ("POST", "{own}", "-1", 400),
        ("POST", "{own}", "1e3", 400),
        ("POST", "{own}", "٣", 400),
    ],
    ids=["open", "half", "post", "long", "negative", "exponent", "arabic"],
)
def test_broken_lines_are_answered(served, method, address, length, status):
    host = f"127.0.0.1:{served.port}"
    own = address.replace("{own}", f"/{served.token}/answer")
    lines = [f"{method} {own} HTTP/1.1", f"Host: {host}", "Content-Type: application/json"]
    lines += [f"Content-Length: {length}"] if length else []
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as wire:
        wire.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        assert wire.recv(1000).startswith(f"HTTP/1.1 {status}".encode())


@pytest.mark.parametrize("error", [MemoryError("much"), RecursionError(), KeyError("x")])
def test_every_request_is_answered(served, monkeypatch, error):
    def fail(tab):
        raise error

    monkeypatch.setattr(served.server.session, "state", fail)
    status, _, content = served.request("GET", f"/{served.token}/state?tab=one")
    assert status == 500 and type(error).__name__ in content.decode()


def test_a_deleted_journal_is_said(served):
    row = served.get("begin")["item"]["row"]
    served.server.session._journal.path.unlink()
    body = json.dumps({"tab": "one", "row": row, "label": "no"}).encode()
    status, _, content = served.request("POST", f"/{served.token}/answer", body)
    assert status == 507 and b"another program renamed, deleted or changed the journal" in content
    assert served.get("state")["labels"] == 0


def test_headers(served):
    for place in ("", "page.js", "chart.js", "page.css", "icon.svg", "begin?tab=one"):
        status, headers, content = served.request("GET", f"/{served.token}/{place}")
        assert status == 200 and content
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert "python" not in headers["Server"].lower()
    assert served.request("GET", f"/{served.token}/export/labelled.csv")[1][
        "Content-Disposition"
    ].startswith("attachment")


def test_the_page_needs_nothing_from_elsewhere(served):
    for name, _ in module.PAGE.values():
        place = "" if name == "page.html" else name
        content = served.request("GET", f"/{served.token}/{place}")[2].decode()
        outside = set(re.findall(r"https?://[\w./]+", content))
        assert outside <= {"http://www.w3.org/2000/svg"}
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", content)
        assert not re.search(r"\son\w+=|<script>|style=", content)


def test_a_person_answers(served):
    shown = served.get("begin")
    assert shown["classes"] == ["no", "yes"] and shown["downloads"] == ["labelled.csv"]
    row = shown["item"]["row"]
    assert shown["item"]["text"] == served.server.session.items._frame["text"][row]
    following = served.post("answer", row=row, label="yes")
    assert following["last"] == {"number": row + 1, "label": "yes", "opinion": None}
    assert following["item"]["row"] != row
    assert served.get("state")["labels"] == 1
    assert served.post("undo")["item"]["row"] == row
    assert served.get("state")["labels"] == 0
    assert served.post("look")["item"]["row"] == row  # no suspects: it stays
    assert served.post("close") == {}


def test_past_answers_are_listed_and_revised(served):
    rows = []
    for label in ("yes", None, "no"):
        rows.append(served.get("begin")["item"]["row"])
        served.post("answer", row=rows[-1], label=label)
    past = served.get("past")
    assert [(one["row"], one["label"]) for one in past] == [
        (rows[2], "no"),
        (rows[1], None),
        (rows[0], "yes"),
    ]
    assert past[0]["text"] == served.server.session.items._frame["text"][rows[2]]
    shown = served.post("look", row=rows[0])["item"]
    assert shown["row"] == rows[0] and shown["second"] and shown["before"] == "yes"
    served.post("answer", row=rows[0], label="no")
    assert dict(served.get("state")["counts"]) == {"no": 2}
    assert [one["row"] for one in served.get("past")] == [rows[0], rows[2], rows[1]]
    before = served.get("begin")["item"]["row"]
    for row in (before, -1, 10**9, "0", [0]):  # without an answer, or none of the rows
        assert served.post("look", row=row)["item"]["row"] == before


def test_instructions_are_on_the_page(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    session = make_session(tmp_path, frame, instructions="Say <b>yes</b> if\nit is good.")
    assert session.begin("one")["instructions"] == "Say <b>yes</b> if\nit is good."
    session.end()


def test_an_answer_is_on_disk_when_it_is_confirmed(served):
    path = served.server.session._journal.path
    for n in range(1, 6):
        row = served.get("begin")["item"]["row"]
        served.post("answer", row=row, label="no")
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert lines[-1]["row"] == row and len(lines) == n + 1


def test_a_full_disk_is_said_and_the_row_stays(served, monkeypatch):
    row = served.get("begin")["item"]["row"]

    def full(event):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(served.server.session._journal, "append", full)
    body = json.dumps({"tab": "one", "row": row, "label": "no"}).encode()
    status, _, content = served.request("POST", f"/{served.token}/answer", body)
    assert status == 507 and b"No space left" in content
    monkeypatch.undo()
    assert served.get("begin")["item"]["row"] == row and served.get("state")["labels"] == 0
    served.post("answer", row=row, label="no")
    assert served.get("state")["labels"] == 1


def test_it_ends_when_it_must(tmp_path):
    session = make_session(tmp_path, pd.DataFrame({"x": [1.0, 2.0]}))
    asked = iter([False, False, True])
    server = LabelServer(session, {}, must_end=lambda: next(asked, True))
    server.serve_forever(poll_interval=0.01)  # returns
    assert next(asked, None) is None
    server.server_close()
    session.end()


def test_a_port_in_use(served, tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    session = make_session(folder, pd.DataFrame({"x": [1.0, 2.0]}))
    with pytest.raises(OSError, match="in use"):
        LabelServer(session, {}, served.port)
    session.end()


# More connections than descriptors ---------------------------------------------------------------


def idle_connections(port, n):
    return [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(n)]


def wait_for(server, wire):
    """Wait until the server has a connection among those that are idle."""
    end = time.monotonic() + 20
    while wire.getsockname() not in {name_of(one) for one in list(server.idle)}:
        assert time.monotonic() < end
        time.sleep(0.01)


def name_of(connection):
    """The address of the other end; nothing once it is closed."""
    try:
        return connection.getpeername()
    except OSError:
        return None


def is_closed(wire):
    """Whether the server has closed a connection; waits for it."""
    wire.settimeout(0.2)
    try:
        return wire.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def test_idle_connections_give_way_the_oldest_first(served):
    served.server._most = 5
    wires = idle_connections(served.port, 20)
    wait_for(served.server, wires[-1])
    assert "labels" in served.get("state")  # with a connection of its own
    assert [is_closed(wire) for wire in wires] == [True] * 16 + [False] * 4
    # A connection that is used stays, and others give way.
    path = f"/{served.token}/state?tab=one"
    used = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    used.connect()
    first = used.sock
    for _ in range(6):
        used.request("GET", path)
        assert "labels" in json.loads(used.getresponse().read())
        wait_for(served.server, first)
        wires += idle_connections(served.port, 3)
        wait_for(served.server, wires[-1])
    assert used.sock is first
    used.close()
    for wire in wires:
        wire.close()


def test_where_all_connections_are_busy_a_new_one_is_closed(served):
    served.server._most = 2
    begun, go_on = threading.Semaphore(0), threading.Event()

    def slow():
        begun.release()
        go_on.wait(20)
        return b"label\n"

    served.server.downloads["labelled.csv"] = slow
    path = f"/{served.token}/export/labelled.csv"
    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(served.request, "GET", path) for _ in range(2)]
        for _ in answers:
            assert begun.acquire(timeout=20)
        (wire,) = idle_connections(served.port, 1)
        assert is_closed(wire)
        go_on.set()
        assert [answer.result()[::2] for answer in answers] == 2 * [(200, b"label\n")]
    assert "labels" in served.get("state")


class Waits(LabelServer):
    """A server without a descriptor that is free; counts how often it tries."""

    tries = 0


class Busy(Waits):
    """The wrong way, that of the standard library: it tries again at once."""

    get_request = ThreadingHTTPServer.get_request


@pytest.mark.parametrize(("kind", "is_busy"), [(Waits, False), (Busy, True)])
def test_no_core_is_busy_while_descriptors_are_missing(tmp_path, monkeypatch, kind, is_busy):
    session = make_session(tmp_path, pd.DataFrame({"x": [1.0, 2.0]}))
    server = kind(session, {})

    class Full:
        """A listening socket that accepts nothing."""

        def __getattr__(self, name):
            return getattr(listening, name)

        def accept(self):
            server.tries += 1
            raise OSError(errno.EMFILE, "Too many open files")

    listening, server.socket = server.socket, Full()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    with socket.create_connection(("127.0.0.1", server.port), timeout=10):
        thread.start()
        time.sleep(0.5)
        server.shutdown()
        thread.join()
    server.server_close()
    session.end()
    assert (server.tries > 100) == is_busy and server.tries > 0


def test_more_idle_connections_than_descriptors(tmp_path):
    """A process that may open 64 files answers while 400 connections are open."""
    resource = pytest.importorskip("resource")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most < 600:
        pytest.skip("this test may not open that many files itself")
    line_pool(30)[0].to_csv(tmp_path / "pool.csv", index=False)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))"
    command = Command(tmp_path, "pool.csv", "--classes", "no,yes", first=limit)
    client = Client.at(command.address)
    wires = []
    for _ in range(40):
        wires += idle_connections(client.port, 10)
        row = client.get("begin")["item"]["row"]
        client.post("answer", row=row, label="yes" if row % 2 else "no")
        if not client.get("state")["open"]:
            break
    wires += idle_connections(client.port, 400 - len(wires))
    assert client.get("state")["labels"] == 30
    for wire in wires:
        wire.close()
    assert command.end() == 0
    assert "Traceback" not in (tmp_path / "output.txt").read_text()


# Pictures ----------------------------------------------------------------------------------------


def test_pixels_become_a_picture():
    pytest.importorskip("PIL")
    from io import BytesIO

    from PIL import Image

    values = np.array([[0, 8, 16, 4, 2, 0], [16, 0, 0, 0, 0, 1]])
    frame = pd.DataFrame(values, columns=[f"p{i}" for i in range(6)])
    items = Items(frame, "pool", None, "pixels", list(frame), (2, 3))
    kind, content = items.picture(0)
    found = np.asarray(Image.open(BytesIO(content)))
    np.testing.assert_array_equal(found, [[0, 128, 255], [64, 32, 0]])
    assert kind == "image/png"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("values", "shades"),
    [
        ([0.0, 10.0, np.inf, -np.inf, np.nan, 5.0], [0, 255, 255, 0, 0, 128]),
        (6 * [np.nan], 6 * [0]),
        ([np.inf, -np.inf, np.nan, np.inf, np.inf, np.inf], [255, 0, 0, 255, 255, 255]),
        (6 * [3.0], 6 * [0]),
        ([-1.7e308, 1.7e308, 0.0, 0.0, 0.0, 0.0], [0, 255, 128, 128, 128, 128]),
    ],
)
def test_pixels_of_any_number(values, shades):
    frame = pd.DataFrame([values], columns=[f"p{i}" for i in range(6)])
    items = Items(frame, "pool", None, "pixels", list(frame), (2, 3))
    assert items._pixels.ravel().tolist() == shades


@pytest.mark.parametrize(
    ("error", "is_shown"), [(BrokenPipeError(), False), (TimeoutError(), False), (KeyError(), True)]
)
def test_a_browser_that_is_closed_prints_no_traceback(served, capsys, error, is_shown):
    try:
        raise error
    except (OSError, KeyError):
        served.server.handle_error(None, ("127.0.0.1", 1))
    assert ("Traceback" in capsys.readouterr().err) == is_shown

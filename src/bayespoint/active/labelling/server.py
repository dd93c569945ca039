"""The server of the page, for this computer only; the address contains a secret token."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from socket import SHUT_RDWR, socket
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bayespoint.active.labelling.pictures import PictureError
from bayespoint.active.labelling.session import RequestError, Session
from bayespoint.exceptions import one_line

resource: Any = import_module("resource") if find_spec("resource") else None  # Windows has none

ADDRESS = "127.0.0.1"
CONNECTIONS = 64  # at a time; a browser opens six for all tabs
PAUSE = 0.05  # seconds until a connection is tried again that could not be opened
LARGEST = 10_000  # bytes of a request
TAB = re.compile(r"[\w-]{1,64}", re.ASCII)
IMAGE = re.compile(r"image/([0-9]{1,15})")
LENGTH = re.compile(r"[0-9]{1,15}")
PAGE = {
    "": ("page.html", "text/html; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
    "chart.js": ("chart.js", "text/javascript; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "Cache-Control": "no-store",
}
Download = Callable[[], bytes]


class LabelServer(ThreadingHTTPServer):
    """Serves one session on the loopback address.

    Every path begins with a random token, and every request must have this computer as its host,
    so that other pages and other users have no access.

    Parameters
    ----------
    session : Session
        The session.
    downloads : mapping of str to callable
        Names of files, and functions that return their content.
    port : int, default=0
        The port; 0 takes a free one.
    must_end : callable, optional
        Is asked several times a second whether to end.
    """

    daemon_threads = True
    request_queue_size = 128  # connections that wait to be accepted
    # After a kill the port is free again at once. On Windows, this would share a port in use.
    allow_reuse_address = os.name == "posix"

    def __init__(
        self,
        session: Session,
        downloads: Mapping[str, Download],
        port: int = 0,
        *,
        must_end: Callable[[], bool] = lambda: False,
    ) -> None:
        self._must_end = must_end
        self.session, self.downloads = session, dict(downloads)
        self.token = secrets.token_urlsafe(24)
        self.idle: dict[socket, None] = {}  # open connections without a request, the oldest first
        self._open: set[socket] = set()
        self._most = most_connections()
        self._changing = threading.Lock()
        super().__init__((ADDRESS, port), Handler)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self.server_address[1]

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{ADDRESS}:{self.port}/{self.token}/"

    @property
    def hosts(self) -> set[str]:
        """Names of this server."""
        return {f"{ADDRESS}:{self.port}", f"localhost:{self.port}"}

    def stop(self) -> None:
        """End ``serve_forever`` soon, whichever thread asks for it."""
        threading.Thread(target=self.shutdown, daemon=True).start()

    def service_actions(self) -> None:
        """What is done between requests."""
        if self._must_end():
            self.stop()

    def get_request(self) -> tuple[socket, Any]:
        """A new connection; where none can be opened, an idle one is closed for the next try."""
        try:
            return super().get_request()
        except OSError:  # no descriptor is left, for instance
            self._close_idle()
            time.sleep(PAUSE)  # the selector would ask again at once, and keep a core busy
            raise

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether a connection may stay; if there are many, one that is idle is closed for it."""
        with self._changing:
            is_full = len(self._open) >= self._most
        if is_full and not self._close_idle():
            return False
        with self._changing:
            self._open.add(request)
            self.idle[request] = None
        return True

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._changing:
            self._open.discard(request)
            self.idle.pop(request, None)
        super().shutdown_request(request)

    def set_idle(self, request: socket, is_idle: bool) -> None:
        """Note whether a connection waits for a request, or one is being answered."""
        with self._changing:
            self.idle.pop(request, None)
            if is_idle and request in self._open:
                self.idle[request] = None

    def _close_idle(self) -> bool:
        """Close the connection that was idle for longest; its thread ends. False if none is."""
        with self._changing:
            oldest = next(iter(self.idle), None)
            if oldest is None:
                return False
            self.idle.pop(oldest)
            self._open.discard(oldest)
            with suppress(OSError):  # the browser has closed it
                oldest.shutdown(SHUT_RDWR)
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing if the browser has gone away; other errors of a request are shown."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def most_connections() -> int:
    """Connections at a time: the rest of the descriptors is for files."""
    if resource is None:
        return CONNECTIONS
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS if limit < 0 else min(CONNECTIONS, max(1, limit // 4))


class Refused(Exception):
    """A request that is refused."""

    def __init__(self, status: HTTPStatus, words: str) -> None:
        super().__init__(words)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: LabelServer
    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds; a silent connection does not keep its thread
    server_version, sys_version = "bayespoint", ""

    def do_GET(self) -> None:
        """Files of the page, images, the state of the session, and downloads."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Answers, and other actions of a person."""
        self._answer(self._post)

    def _get(self, place: str, query: dict[str, str]) -> tuple[str, bytes]:
        if place in PAGE:
            name, kind = PAGE[place]
            return kind, files(__package__).joinpath("page", name).read_bytes()
        if image := IMAGE.fullmatch(place):
            return self.server.session.items.picture(int(image[1]))
        if place == "begin":
            found = self.server.session.begin(tab_of(query))
            return as_json({**found, "downloads": list(self.server.downloads)})
        if place == "state":
            return as_json(self.server.session.state(tab_of(query)))
        if place == "past":
            return as_json(self.server.session.past())
        name = place.removeprefix("export/")
        if name != place and name in self.server.downloads:
            self._attachment = name
            return "application/octet-stream", self.server.downloads[name]()
        raise Refused(HTTPStatus.NOT_FOUND, "this page does not exist")

    def _post(self, place: str, query: dict[str, str]) -> tuple[str, bytes]:
        session, body = self.server.session, self._body()
        tab = tab_of(body)
        requests: dict[str, Callable[[], Any]] = {
            "answer": lambda: session.answer(tab, body.get("row"), body.get("label")),
            "undo": lambda: session.undo(tab),
            "look": lambda: session.look_again(tab, body.get("row")),
            "end": self.server.stop,
            "close": lambda: session.close(tab),
        }
        if place not in requests:
            raise Refused(HTTPStatus.NOT_FOUND, "this page does not exist")
        return as_json(requests[place]() or {})

    def _answer(self, handle: Callable[[str, dict[str, str]], tuple[str, bytes]]) -> None:
        self.server.set_idle(self.connection, False)
        try:
            self._answer_now(handle)
        finally:
            self.server.set_idle(self.connection, True)

    def _answer_now(self, handle: Callable[[str, dict[str, str]], tuple[str, bytes]]) -> None:
        self._attachment = ""
        status = HTTPStatus.OK
        try:
            kind, content = handle(*self._checked())
        except Exception as error:  # every request gets an answer
            status, words = failure(error)
            kind, content = as_json({"error": words})
            if isinstance(error, Refused):
                self.close_connection = True  # what is left of the request is not read
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if self._attachment:
            self.send_header("Content-Disposition", f'attachment; filename="{self._attachment}"')
        self.end_headers()
        self.wfile.write(content)

    def _checked(self) -> tuple[str, dict[str, str]]:
        """The path after the token, and the query; requests without the token are refused."""
        if self.headers.get_all("Host") not in [[host] for host in self.server.hosts]:
            raise Refused(HTTPStatus.FORBIDDEN, "the Host header is wrong")
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.server.hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "requests from other pages are not allowed")
        try:
            address = urlsplit(self.path)
        except ValueError:  # such as http://[
            raise Refused(HTTPStatus.BAD_REQUEST, "the address is not valid") from None
        token, _, place = address.path.removeprefix("/").partition("/")
        if not compare_digest(token.encode(), self.server.token.encode()):
            words = "this address is not valid any more. Open the one that bayespoint label printed"
            raise Refused(HTTPStatus.FORBIDDEN, words)
        return place, {name: values[-1] for name, values in parse_qs(address.query).items()}

    def _body(self) -> dict[str, Any]:
        """The JSON object of a request."""
        length = self.headers.get("Content-Length", "")
        if not LENGTH.fullmatch(length) or int(length) > LARGEST:
            words = f"Content-Length must be a number of at most {LARGEST}"
            raise Refused(HTTPStatus.BAD_REQUEST, words)
        # Pages of others can send forms without asking, but not this type.
        if self.headers.get("Content-Type", "").split(";")[0] != "application/json":
            words = "Content-Type must be application/json"
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, words)
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "the request is not a JSON object")
        return body

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not reported."""


def failure(error: Exception) -> tuple[HTTPStatus, str]:
    """The status and the message of a request that failed."""
    if isinstance(error, Refused):
        return error.status, str(error)
    if isinstance(error, (RequestError, PictureError)):
        return HTTPStatus.BAD_REQUEST, str(error)
    if isinstance(error, OSError):  # of the journal: the page says so and keeps the row
        return HTTPStatus.INSUFFICIENT_STORAGE, f"the answer was not saved: {error.strerror}"
    words = str(error) if isinstance(error, ValueError) else one_line(error)
    return HTTPStatus.INTERNAL_SERVER_ERROR, words


def tab_of(values: Mapping[str, Any]) -> str:
    """The name of the tab that sent the request."""
    name = values.get("tab")
    if not isinstance(name, str) or not TAB.fullmatch(name):
        raise Refused(HTTPStatus.BAD_REQUEST, "the request has no valid name of a tab")
    return name


def as_json(document: Any) -> tuple[str, bytes]:
    """A document for the page."""
    return "application/json", json.dumps(document).encode("ascii")

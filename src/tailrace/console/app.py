"""A small HTTP server beside the SQL one: `/`, `/console.json`, `/metrics`, `/health` (alive) and `/ready` (serving).

It shows names and numbers to whoever reaches it, so it listens on loopback only.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread
from typing import Any

from tailrace.console.metrics import CONTENT_TYPE, is_alive, metrics
from tailrace.console.queries import status
from tailrace.engine.engine import Engine
from tailrace.server.listener import TooOpen
from tailrace.server.loopback import addresses_of, is_loopback

_log = logging.getLogger("tailrace.console")

Answer = tuple[HTTPStatus, str, str]
_JSON, _HTML, _TEXT = "application/json", "text/html; charset=utf-8", "text/plain; charset=utf-8"
# Nothing from elsewhere is loaded, and nobody else may show the page inside theirs.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"


class Console:
    """`start` returns when it can be asked; `stop` ends it."""

    def __init__(self, engine: Engine, host: str, port: int) -> None:
        if not all(map(is_loopback, addresses_of(host))):
            raise TooOpen(
                f'refusing to serve the console on "{host}"',
                detail="Other machines can reach this address, and the console asks for no password.",
                hint="Listen on 127.0.0.1, behind a proxy that knows who may look.",
            )
        handler = type("Handler", (_Handler,), {"pages": _pages(engine)})
        self._server = ThreadingHTTPServer((host, port), handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, name="tailrace-console", daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _pages(engine: Engine) -> dict[str, Callable[[], Answer]]:
    page = files("tailrace.console").joinpath("page.html").read_text()

    def health() -> Answer:
        if is_alive(engine):
            return HTTPStatus.OK, _TEXT, "ok\n"
        return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, f"the tick loop has ended: {engine.loop.failure}\n"

    def ready() -> Answer:
        if engine.cluster.settled > 0 and is_alive(engine):
            return HTTPStatus.OK, _TEXT, "ready\n"
        return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, "not ready\n"

    return {
        "/": lambda: (HTTPStatus.OK, _HTML, page),
        "/console.json": lambda: (HTTPStatus.OK, _JSON, json.dumps(status(engine))),
        "/metrics": lambda: (HTTPStatus.OK, CONTENT_TYPE, metrics(engine)),
        "/health": health,
        "/ready": ready,
    }


class _Handler(BaseHTTPRequestHandler):
    pages: dict[str, Callable[[], Answer]]
    timeout = 30
    server_version, sys_version = "tailrace", ""

    def do_GET(self) -> None:
        try:
            code, kind, body = self._answer()
        except Exception as error:  # noqa: BLE001  one page that cannot be made is not the end of the server
            _log.warning("page not made path=%s error=%s", self.path, error)
            code, kind, body = HTTPStatus.INTERNAL_SERVER_ERROR, _TEXT, "internal error\n"
        content = body.encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def _answer(self) -> Answer:
        # A page of somebody else's, whose name was made to mean this machine, must not read along.
        host = re.sub(r":\d+$", "", self.headers.get("Host", "")).strip("[]")
        if host not in ("localhost", "127.0.0.1", "::1"):
            return HTTPStatus.FORBIDDEN, _TEXT, "ask for localhost\n"
        page = self.pages.get(self.path.partition("?")[0])
        return page() if page is not None else (HTTPStatus.NOT_FOUND, _TEXT, "no such page\n")

    def log_message(self, format: str, *arguments: Any) -> None:
        _log.debug(format, *arguments)

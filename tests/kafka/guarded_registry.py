"""A schema registry that wants to know who asks: the real one, behind a login or behind TLS with certificates."""

from __future__ import annotations

import ssl
import tempfile
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

from tailrace.testing.certificates import Certificate
from tailrace.testing.registry import Registry


class GuardedRegistry:
    """Answers whom `login`, the whole header, lets in; others get 401.  `clients`: who else may even connect."""

    def __init__(
        self, registry: Registry, login: str, certificate: Certificate | None = None, clients: Certificate | None = None
    ) -> None:
        guard = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                guard._answer(self)

            def do_POST(self) -> None:
                guard._answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._registry, self._login = registry, login
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate is not None:
            self._server.socket = _context(certificate, clients).wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if certificate is None else "https"
        self.url = f"{scheme}://localhost:{self._server.server_port}"
        self.turned_away = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0))) or None
        if request.headers.get("Authorization", "") != self._login:
            self.turned_away += 1
            status, answer = 401, b'{"message": "who are you?"}'
        else:
            status, answer = self._asked(request.command, request.path, body)
        request.send_response(status)
        request.send_header("Content-Length", str(len(answer)))
        request.end_headers()
        request.wfile.write(answer)

    def _asked(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        request = urllib.request.Request(self._registry.url + path, data=body, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()


def _context(certificate: Certificate, clients: Certificate | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:  # ssl reads files only
        key, chain = Path(directory, "key.pem"), Path(directory, "certificate.pem")
        key.write_text(certificate.key)
        chain.write_text(certificate.certificate)
        context.load_cert_chain(chain, key)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.certificate)
    return context

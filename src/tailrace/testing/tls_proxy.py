"""TLS before a real server that has none of its own: clients are met with a certificate, the server plainly.

    with TlsProxy(server.port, certificate) as proxy:
        client = connect(port=proxy.port, tls=True)
"""

import socket
import ssl
import tempfile
from pathlib import Path

from tailrace.testing.certificates import Certificate
from tailrace.testing.proxy import Proxy

_SSL_REQUEST = bytes.fromhex("0000000804d2162f")  # what a client of PostgreSQL asks before anything else


class TlsProxy(Proxy):
    """`asked_first`: clients ask for TLS as PostgreSQL's do, and are told that there is some."""

    def __init__(self, target: int, certificate: Certificate, *, asked_first: bool = False) -> None:
        self._asked_first = asked_first
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as directory:  # ssl reads files only
            key, chain = Path(directory, "key.pem"), Path(directory, "certificate.pem")
            key.write_text(certificate.key)
            chain.write_text(certificate.certificate)
            self._context.load_cert_chain(chain, key)
        self.refused = 0
        super().__init__(target)

    def _accepted(self, client: socket.socket) -> socket.socket | None:
        try:
            if self._asked_first and client.recv(8) == _SSL_REQUEST:
                client.sendall(b"S")
            return self._context.wrap_socket(client, server_side=True)
        except OSError:  # the client does not trust us
            self.refused += 1
            client.close()
            return None

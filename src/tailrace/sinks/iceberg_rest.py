"""pyiceberg's client of REST catalogs, with what it leaves to others: a time-out, and AWS's signature without boto."""

from __future__ import annotations

from typing import Any

from pyiceberg.catalog.rest import RestCatalog
from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter

from tailrace.sinks.aws_signing import Request, Signer

_SECONDS = (10.0, 60.0)  # to connect, and between two bytes: a catalog that hangs must not hold up all sinks


class Catalog(RestCatalog):
    """`signer` is None if the catalog is no service of AWS."""

    def __init__(self, name: str, signer: Signer | None, **properties: str) -> None:
        self._adapter = _Adapter(signer)  # first: the client asks for the catalog's settings as it is made
        super().__init__(name, **properties)

    def _create_session(self) -> Session:
        session = super()._create_session()
        session.mount("https://", self._adapter)
        session.mount("http://", self._adapter)
        return session


class _Adapter(HTTPAdapter):
    """Never sends a request twice: whether a commit that failed was done, only the table can tell."""

    def __init__(self, signer: Signer | None) -> None:
        super().__init__(max_retries=0)
        self._signer = signer

    def send(self, request: PreparedRequest, *arguments: Any, **options: Any) -> Response:
        if self._signer is not None:
            self._sign(request, self._signer)
        options["timeout"] = options.get("timeout") or _SECONDS
        return super().send(request, *arguments, **options)

    def _sign(self, request: PreparedRequest, signer: Signer) -> None:
        body, kind = request.body or b"", request.headers.get("content-type")
        asked = Request(
            method=request.method or "",
            url=request.url or "",
            headers={} if kind is None else {"content-type": str(kind)},
            body=body if isinstance(body, bytes) else str(body).encode(),
        )
        request.headers.update(signer.sign(asked))

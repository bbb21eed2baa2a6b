"""Tailrace over PostgreSQL's wire protocol, for psql, drivers and everything built on them."""

from tailrace.server.auth import Authenticator, Trust
from tailrace.server.listener import Server, TooOpen, tls_context
from tailrace.server.scram import Scram
from tailrace.server.startup import StartupInfo
from tailrace.verifier import Verifier

__all__ = ["Authenticator", "Scram", "Server", "StartupInfo", "TooOpen", "Trust", "Verifier", "tls_context"]

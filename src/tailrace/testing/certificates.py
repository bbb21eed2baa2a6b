"""A certificate that vouches for itself, for servers of tests on this machine and for their clients."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = "DNS:localhost,IP:127.0.0.1"


@dataclass(frozen=True, slots=True)
class Certificate:
    """PEM texts.  Whoever trusts `certificate` trusts a server, or a client, that has `key`."""

    certificate: str
    key: str


def make_certificate(directory: Path, names: str = HERE) -> Certificate:
    """For servers of these names.  Needs the command openssl."""
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    subject = ("-subj", "/CN=tests", "-days", "2", "-addext", f"subjectAltName={names}")
    authority = ("-addext", "basicConstraints=critical,CA:TRUE")
    command = ["openssl", "req", "-x509", *kind, *subject, *authority, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return Certificate(certificate=certificate.read_text(), key=key.read_text())

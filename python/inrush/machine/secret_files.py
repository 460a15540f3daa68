"""Files that this user alone can read, and the certificates that lie in them."""

from __future__ import annotations

import os
import ssl
from collections.abc import Sequence
from pathlib import Path


def write_secret(path: Path, text: str) -> None:
    """Only this user can read the file, from its first byte on; a link that another user has put there is not followed."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600), "w") as file:
        os.fchmod(file.fileno(), 0o600)  # one that is there already keeps its mode
        file.truncate()
        file.write(text)


def self_signed(hosts: Sequence[str]) -> tuple[str, str]:
    """A new certificate for these names and addresses, and its private key, both PEM."""
    from inrush import _core

    certificate, key = _core.self_signed([*hosts])
    return pem("CERTIFICATE", bytes(certificate)), pem("PRIVATE KEY", bytes(key))


def pem(what: str, der: bytes) -> str:
    """As every tool reads it."""
    return ssl.DER_cert_to_PEM_cert(der).replace("CERTIFICATE", what)

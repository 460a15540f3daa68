"""Files that this user alone can read, and the certificates that lie in them."""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Iterator, Sequence
from pathlib import Path


@contextlib.contextmanager
def opened_folder(folder: Path, follow: bool) -> Iterator[int]:
    """Opened once: an owner of the folder above may put a link in its place at any moment, which raises OSError unless it is
    followed."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | (0 if follow else os.O_NOFOLLOW))
    try:
        yield opened
    finally:
        os.close(opened)


def write_secret(path: Path, text: str, owner: tuple[int, int] | None = None, mode: int = 0o600) -> None:
    """Only its owner can read the file, from its first byte on. Readers see the old file or the new one, never a part.

    What is in its place, a link or a file that another user has put there, is replaced and never written to. owner: user
    and group in place of ourselves; then a link in place of the folder raises OSError.
    """
    part = path.name + ".part"
    with opened_folder(path.parent, follow=owner is None) as folder:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part, dir_fd=folder)
        opened = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            if owner is not None:
                os.fchown(opened, *owner)
            os.fchmod(opened, mode)
            file.write(text)
        os.replace(part, path.name, src_dir_fd=folder, dst_dir_fd=folder)


def self_signed(hosts: Sequence[str]) -> tuple[str, str]:
    """A new certificate for these names and addresses, and its private key, both PEM."""
    from inrush import _core

    certificate, key = _core.self_signed([*hosts])
    return pem("CERTIFICATE", bytes(certificate)), pem("PRIVATE KEY", bytes(key))


def pem(what: str, der: bytes) -> str:
    """As every tool reads it."""
    return ssl.DER_cert_to_PEM_cert(der).replace("CERTIFICATE", what)

"""Addresses of servers, as the core reads them: the one place of this half that asks what stands in one. Pure.

A password is never part of a message. Until an address is read, nothing of it but its scheme is repeated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict, cast
from urllib.parse import quote

from inrush.errors import UsageError

#: Words that name an engine, or a file: no part of them can be a password.
PLAIN = re.compile(r"null:\w+|[\w./~][\w./ ~+-]*")
#: One slash is a slip of the pen, and what follows a password all the same.
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:/")
#: An option whose value may be a secret, also of an address without a scheme: `HOST:PORT?token=…`. Words: twins of
#: `SECRET_WORDS` in rust/engines/src/engine/address.rs.
SECRET = re.compile(r"[?&;]\w*(?:credential|key|pass|pwd|secret|token|auth)\w*=", re.IGNORECASE)


class _Document(TypedDict):
    """What `_core.read_address` answers."""

    scheme: str
    user: str
    password: str | None
    hosts: list[tuple[str, int]]
    socket: str | None
    port: int
    database: str
    options: dict[str, str]
    secure: bool
    shown: str
    before: str
    behind: str
    problems: list[str]


@dataclass(frozen=True)
class ServerUrl:
    scheme: str
    user: str
    password: str | None = field(repr=False)
    #: Host and port, in the order in which they are tried; none of a file and of a Unix socket.
    hosts: tuple[tuple[str, int], ...]
    #: Folder or file of the server's Unix socket.
    socket: str | None
    #: Of the first host, or in the name of the socket; 0 where none is known.
    port: int
    #: As it is named, empty where it is left to the server; of an embedded engine its file.
    database: str
    #: Without user and password.
    options: Mapping[str, str]
    #: Encrypted from the first byte on, as servers of HTTP have it.
    secure: bool
    #: As people may read it, and as it can be read again: without password.
    shown: str
    #: Of what is shown: up to the database, and behind it.
    before: str
    behind: str
    #: Everything that is wrong with it; then all else is empty.
    problems: tuple[str, ...]

    @property
    def host(self) -> str:
        """The first one."""
        return self.hosts[0][0] if self.hosts else ""

    def with_database(self, name: str) -> str:
        """The same server's other database, without password."""
        return f"{self.before}/{quote(name, safe='')}{self.behind}"

    def check(self) -> ServerUrl:
        """Raises UsageError with all that is wrong."""
        if self.problems:
            raise UsageError(f"{self.shown}: {'; '.join(self.problems)}")
        return self


def read(text: str) -> ServerUrl:
    """Never raises: what cannot be read has problems."""
    from inrush import _core

    try:
        said = cast(_Document, json.loads(_core.read_address(text)))
    except UnicodeError:  # from bytes on the command line that are no UTF-8
        said = cast(_Document, json.loads(_core.read_address("")))
        said["problems"] = ["it is no UTF-8; write other bytes with %"]
    return ServerUrl(
        said["scheme"],
        said["user"],
        said["password"],
        tuple((host, port) for host, port in said["hosts"]),
        said["socket"],
        said["port"],
        said["database"],
        said["options"],
        said["secure"],
        said["shown"],
        said["before"],
        said["behind"],
        tuple(said["problems"]),
    )


def is_url(text: str) -> bool:
    """In place of the name of an engine."""
    return "://" in text


def shown(text: str) -> str:
    """An address, or a word that stands where one could, as people may read it."""
    return text if PLAIN.fullmatch(text) else read(text).shown


def masked(text: str) -> str:
    """Free text, up to the first address or secret in it: where a password ends, cannot be seen there. Without a scheme, what
    stands before the last @ may be one."""
    if found := SCHEME.search(text):
        return f"{text[: found.end()]}…"
    if found := SECRET.search(text):
        text = f"{text[: found.end()]}…"
    _, at, behind = text.rpartition("@")
    return f"…{at}{behind}" if at else text


def without_password(text: str) -> str:
    """The name of an engine as it is, and of an address what is shown. Raises UsageError for what cannot be read."""
    return read(text).check().shown if is_url(text) else text

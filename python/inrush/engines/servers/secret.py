"""The password of a server that inrush started: in one file of its instance, which only the user of inrush can read.

The instance's address names the file and not the password: it can stand in arguments, plans, results and logs.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from inrush.border import address
from inrush.engines.servers import private
from inrush.errors import TargetError

#: Option of a URL. Twin of `PASSFILE` in rust/engines/src/engine/url.rs; libpq's name.
OPTION = "passfile"
FILE = "passfile"
#: In front of the password: it is good for every port, database and user of this server, as in `~/.pgpass`.
ANY = "*:*:*:*:"
BYTES = 24


def make(data: Path) -> None:
    """Gives the instance in this folder a new password, if it has none."""
    if found(data) is None:
        private.write(data / FILE, f"{ANY}{secrets.token_hex(BYTES)}\n")


def share(folders: Sequence[Path]) -> None:
    """Gives instances that stand as one the same password: that of the first one that has one, else a new one."""
    password = next((own for data in folders if (own := found(data))), None) or secrets.token_hex(BYTES)
    for data in folders:
        if found(data) is None:
            private.write(data / FILE, f"{ANY}{password}\n")


def found(data: Path) -> str | None:
    """The password of the instance in this folder; None: it has none."""
    return in_file(data / FILE)


def in_file(file: Path) -> str | None:
    """The password in a file that inrush made for this user; None of any other file."""
    text = private.text_of(file)
    return text.strip().removeprefix(ANY) if text is not None and text.startswith(ANY) else None


def of(data: Path) -> str:
    """The password. Raises TargetError where there is none."""
    if (password := found(data)) is None:
        raise TargetError(
            f"{data} has no {FILE} of this user with the password of its server, which is therefore not started; choose another "
            "--data, or remove the folder if its data can go"
        )
    return password


def named(url: str, data: Path) -> str:
    """The address with the file of the password."""
    return with_file(url, str(data / FILE))


def to_variable(data: Path, variable: str, command: str) -> str:
    """A shell's command with the password in a variable of its environment alone. Pure."""
    return f'{variable}="$(cut -d: -f5 {shlex.quote(str(data / FILE))})" {command}'


def to_curl(data: Path, user: str, address: str) -> str:
    """A shell's command that fetches an address of HTTP with user and password, which are in no argument. Pure."""
    line = f's/.*:\\(.*\\)/user = "{user}:\\1"/'
    return f"sed {shlex.quote(line)} {shlex.quote(str(data / FILE))} | curl -sS --fail -K - {shlex.quote(address)}"


def with_file(url: str, file: str) -> str:
    """An address that names a file with its password. Pure."""
    return f"{url}{'&' if '?' in url else '?'}{OPTION}={quote(file)}"


def file_in(url: str) -> str:
    """The file with its password that an address names; empty: none. Pure."""
    return address.read(url).options.get(OPTION, "")

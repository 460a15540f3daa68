"""Where the live page is served, and which readers may see it."""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

from inrush.errors import UsageError

LOOPBACK = "127.0.0.1"
TOKEN, TOKEN_FILE = "INRUSH_LIVE_TOKEN", "INRUSH_LIVE_TOKEN_FILE"
#: A shorter one could be found by trying.
SHORTEST_TOKEN = 16
COOKIE = "inrush_live"


@dataclass(frozen=True)
class Address:
    host: str
    #: 0: one that is free.
    port: int = 0

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def url(self, port: int) -> str:
        """Of all addresses of this machine, by its name."""
        host = socket.gethostname() if self.host in ("0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def read_address(text: str | None) -> Address:
    """`HOST`, `HOST:PORT`, `[::1]:PORT` or `:PORT`; None: a free port of this machine alone. Raises UsageError."""
    if not text:
        return Address(LOOPBACK)
    host, colon, port = text.rpartition(":")
    if text.isdecimal():
        raise UsageError(
            f"--live-address {text}: a port alone; write :{text} for this machine alone, or HOST:{text}"
        )
    if not colon or (text.count(":") > 1 and not text.startswith("[")):
        host, port = text, "0"
    if text.startswith("[") and text.endswith("]"):
        host, port = text, "0"
    if not port.isdecimal() or int(port) > 65_535:
        raise UsageError(
            f"--live-address {text}: {port or 'nothing'} is no port; write HOST:PORT, as 127.0.0.1:8080"
        )
    return Address(host.strip("[]") or LOOPBACK, int(port))


class Access:
    """The token, and what stands for it in a browser: a cookie of this process."""

    def __init__(self, token: str, made_for_page: bool = False) -> None:
        """made_for_page: inrush has made the token, for this page alone. The printed address has it then, and never has the user's."""
        self._token, self.made_for_page = token, made_for_page
        self.cookie = secrets.token_urlsafe(32)
        # Browsers keep one of a name for all ports of a host: another page must not take the place of this one's.
        self.cookie_name = f"{COOKIE}_{secrets.token_hex(4)}"

    def path(self) -> str:
        """Behind the address of the page, as it is printed."""
        return f"login?token={self._token}" if self.made_for_page else ""

    def is_token(self, given: str) -> bool:
        return same(given, self._token)

    def allows(self, authorization: str, cookie: str) -> bool:
        """authorization: of a program, `Bearer TOKEN`. cookie: of a browser that has given the token."""
        scheme, _, given = authorization.partition(" ")
        return (scheme.lower() == "bearer" and self.is_token(given.strip())) or same(cookie, self.cookie)


def same(a: str, b: str) -> bool:
    return hmac.compare_digest(a.encode(), b.encode())


def access(address: Address) -> Access:
    """The token of the environment, which no process that we start inherits; without one, a token for this page alone: other users
    of this machine reach every port of it.

    Raises UsageError where others could look and there is none, or it is too short.
    """
    token, file = os.environ.pop(TOKEN, ""), os.environ.pop(TOKEN_FILE, "")
    if file and not token:
        try:
            token = Path(file).read_text(encoding="utf-8").strip()
        except OSError as e:
            raise UsageError(f"{TOKEN_FILE}: {file}: {e.strerror}") from e
    if token and len(token) < SHORTEST_TOKEN:
        raise UsageError(
            f"{TOKEN}: a token has at least {SHORTEST_TOKEN} characters, as `openssl rand -hex 16` writes"
        )
    if not token and not address.is_loopback:
        raise UsageError(
            f"--live-address {address.host}: others can reach it; give a token by {TOKEN} or {TOKEN_FILE}, or leave the "
            "address out: the page is then for this machine alone (`ssh -L` brings it to yours)"
        )
    return Access(token) if token else Access(secrets.token_urlsafe(24), made_for_page=True)


#: A reader that is gone without a word, or takes nothing, is ended by the kernel after so long.
GONE_MS = 30_000


def listening_socket(address: Address) -> socket.socket:
    """Bound and listening. Raises UsageError with what to do."""
    try:
        family, kind, proto, _, at = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with contextlib.ExitStack() as half:
            found = half.enter_context(socket.socket(family, kind, proto))
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, GONE_MS)  # connections inherit it
            found.bind(at)
            found.listen(128)
            half.pop_all()
    except OSError as e:
        raise UsageError(
            f"--live-address {address.host}:{address.port}: {e.strerror or e}; name another port, or none"
        ) from e
    return found

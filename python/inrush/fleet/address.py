"""`--fleet`: where the workers are, and what is refused before anyone is asked. Pure."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from inrush.border.address import read
from inrush.errors import UsageError

OPTION, INSECURE = "--fleet", "--fleet-insecure"
WAIT = "--fleet-wait"
#: What a start takes on hosts that are there: Python, its imports, a connection. A queue or an image takes longer, s.
WAIT_S = 60.0
FORMS = "local:N, tcp://HOST:PORT or tls://HOST:PORT"
#: Each worker is a process with its threads, and the machine has so many cores at most.
MOST_LOCAL = 64
#: Where the nodes of a fleet on this machine listen.
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class SchedulerAddress:
    #: Of a scheduler; empty of a fleet on this machine, which inrush starts.
    scheduler: str = ""
    #: Workers on this machine.
    local: int = 0


def parse(text: str, insecure: bool = False) -> SchedulerAddress:
    """Raises UsageError with what is wrong, and what to write."""
    if text.startswith("local:"):
        count = text.removeprefix("local:")
        if not count.isdecimal() or not 1 <= int(count) <= MOST_LOCAL:
            raise UsageError(f"{OPTION} {text}: the number of workers is from 1 to {MOST_LOCAL}")
        return SchedulerAddress(local=int(count))
    at = read(text)
    host, port = at.hosts[0] if len(at.hosts) == 1 else ("", 0)
    if at.scheme not in ("tcp", "tls") or not host or not port or at.database.strip("/"):
        # What was written may hold a password.
        raise UsageError(f"{OPTION}: not an address of a scheduler; it is {FORMS}")
    if at.user or at.password is not None or at.options or "#" in text:
        raise UsageError(
            f"{OPTION}: the address of a scheduler is {FORMS}, without user, password or query; certificates are "
            "named by Dask's own configuration (docs/fleet.md)"
        )
    if at.scheme == "tcp" and not insecure:
        raise UsageError(
            f"{OPTION} {text}: without TLS plans and tables travel in clear, and everyone who reaches the scheduler, also "
            f"another user of this machine, can run programs on its workers; start Dask with TLS and say tls:// "
            f"(docs/fleet.md), or say {INSECURE} where network and machines are your own"
        )
    return SchedulerAddress(at.before)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def reached_only_here(url: str) -> bool:
    """Whether a server's address means another one, or none, on another host."""
    return not read(url).hosts or has_loopback(url)


def has_loopback(url: str) -> bool:
    return any(is_loopback(host) for host, _ in read(url).hosts)

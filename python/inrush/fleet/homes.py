"""Which workers are on the hosts of servers: each is asked for the addresses of its own host."""

from __future__ import annotations

from collections.abc import Sequence

from inrush.border.pipeline import ShardServer
from inrush.fleet import remote
from inrush.fleet.dealing import homes_of
from inrush.fleet.link import Link
from inrush.fleet.place import on_all, refused

#: A worker resolves names for so long at most, s.
ASK_S = 10.0


def asked(link: Link, workers: Sequence[str], servers: Sequence[ShardServer]) -> dict[str, list[str]]:
    """Worker -> hosts of servers that it is on. Raises TargetError of a worker that does not answer."""
    return asked_of(link, workers, [*dict.fromkeys(of["host"] for of in servers if of["host"])])


def asked_of(link: Link, workers: Sequence[str], hosts: Sequence[str]) -> dict[str, list[str]]:
    if not hosts:
        return {}
    with refused():
        found = on_all(lambda worker: link.call(worker, ASK_S, remote.home, hosts), workers)
    said = {worker: answer["hosts"] for worker, answer in zip(workers, found, strict=True)}
    spaces = {worker: answer["spaces"] for worker, answer in zip(workers, found, strict=True)}
    return homes_of(said, spaces, remote.spaces())

"""Which workers are on the hosts of servers, and which are those that a study names: each is asked for the addresses and the name
of its own host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inrush.border.pipeline import ShardServer
from inrush.fleet import remote
from inrush.fleet.dealing import homes_of
from inrush.fleet.link import Link
from inrush.fleet.taken import on_all, refused

#: A worker resolves names for so long at most, s.
ASK_S = 10.0


def asked(link: Link, workers: Sequence[str], servers: Sequence[ShardServer]) -> dict[str, list[str]]:
    """Worker -> hosts of servers that it is on. Raises TargetError of a worker that does not answer."""
    return asked_of(link, workers, [*dict.fromkeys(of["host"] for of in servers if of["host"])])


def asked_of(link: Link, workers: Sequence[str], hosts: Sequence[str]) -> dict[str, list[str]]:
    if not hosts:
        return {}
    answers = answered(link, workers, hosts)
    said = {worker: answer["hosts"] for worker, answer in answers.items()}
    spaces = {worker: answer["spaces"] for worker, answer in answers.items()}
    return homes_of(said, spaces, remote.spaces())


def known_as(link: Link, there: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> dict[str, set[str]]:
    """Worker -> what it is called, and those of these names and addresses that its host is. there: as of `Link.workers`."""
    wanted = [*dict.fromkeys(filter(None, names))]
    answers = answered(link, [*there], wanted) if wanted else {}
    return {
        worker: {str(said.get("name", "")), answers[worker]["name"], *answers[worker]["hosts"]}
        for worker, said in there.items()
        if worker in answers
    }


def answered(link: Link, workers: Sequence[str], hosts: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Worker -> as of `remote.home`."""
    with refused():
        found = on_all(lambda worker: link.call(worker, ASK_S, remote.home, hosts), workers)
    return dict(zip(workers, found, strict=True))

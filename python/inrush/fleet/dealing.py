"""Which workers have an end of a pipeline's load, and which watch the hosts of its shards. Pure.

A host of a shard gets no end of the load where there are enough other workers: a load server or a client would take from the
shard's processors what the shard is measured with.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from inrush.border.pipeline import SeenServer, ShardServer
from inrush.fleet.address import is_loopback
from inrush.load.pipeline.shard_servers import said_address

#: Worker -> hosts of servers, as their addresses name them, that it is on.
Homes = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class Dealt:
    #: The load server's worker, and behind it those of clients.
    ends: tuple[str, ...]
    #: On hosts of shards, without an end.
    watchers: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.ends, *self.watchers)


class NotThere(Exception):
    """A worker that the study names for an end."""

    def __init__(self, end: int, name: str, is_taken: bool) -> None:
        key = "clients_on" if end else "load_server_on"
        why = (
            "each of its workers has another end; start one more there"
            if is_taken
            else "no worker has that name or host"
        )
        super().__init__(f"pipeline.{key}: {name}: {why}")


def dealt_as_named(
    row: Sequence[str], wanted: int, homes: Homes, on: Sequence[str], known_as: Mapping[str, Collection[str]]
) -> Dealt:
    """As `dealt`, but for ends that the study names. on: of each end a name; empty, or behind its end: any. known_as: worker ->
    what it is called, and what its host is. A worker that is named has that end also on the host of a shard.

    Raises NotThere.
    """
    taken = dict[int, str]()
    for end, name in enumerate(on[:wanted]):
        called = [worker for worker in row if name in known_as[worker]] if name else []
        free = [worker for worker in called if worker not in taken.values()]
        if name and not free:
            raise NotThere(end, name, bool(called))
        if name:
            taken[end] = free[0]
    others = dealt([worker for worker in row if worker not in taken.values()], wanted - len(taken), homes)
    more = iter(others.ends)
    ends = [taken[end] if end in taken else next(more, "") for end in range(wanted)]
    return Dealt(tuple(filter(None, ends)), others.watchers)


def dealt(row: Sequence[str], wanted: int, homes: Homes) -> Dealt:
    """row: all workers, in the order in which they are taken; wanted: ends.

    Where too few are on hosts of their own, those on hosts of shards are taken too: first such of which a host has another one.
    """
    free = [worker for worker in row if not homes.get(worker)]
    needed, spare, known = list[str](), list[str](), set[str]()
    for worker in row:
        if own := set(homes.get(worker, ())):
            (needed if own - known else spare).append(worker)
            known |= own
    also = {*[*spare, *needed][: max(0, wanted - len(free))]}
    taken = [worker for worker in row if worker in also or worker in free]
    return Dealt(tuple(taken[:wanted]), tuple(worker for worker in needed if worker not in also))


def homes_of(
    said: Mapping[str, Collection[str]], spaces: Mapping[str, Mapping[str, str]], ours: Mapping[str, str]
) -> dict[str, list[str]]:
    """said: worker -> hosts that it says it is. spaces: as of `remote.spaces`, of each worker; ours: of this process. A host of
    loopback is the one that inrush is on. An address that several hosts have is not known to be the server's."""
    networks: dict[str, set[str]] = {}
    for worker, hosts in said.items():
        for host in hosts:
            networks.setdefault(host, set()).add(spaces[worker]["network"])
    return {
        worker: [
            host for host in hosts
            if (spaces[worker]["network"] == ours["network"] if is_loopback(host) else len(networks[host]) == 1)
        ]
        for worker, hosts in said.items()
    }  # fmt: skip


def seen(
    of: Dealt, ends: int, servers: Sequence[ShardServer], homes: Homes
) -> tuple[Dealt, list[SeenServer]]:
    """What one run takes of the workers of its study, and which of its processes sees which server: one without an end, if
    there is one on its host. ends: that this run has, of those that the study has at most."""
    taken, idle = of.ends[:ends], (*of.watchers, *of.ends[ends:])
    looking = (*of.watchers, *taken, *of.ends[ends:])
    by_server = {
        server["role"]: next((w for w in looking if server["host"] in homes.get(w, ())), None)
        for server in servers
    }
    watchers = tuple(worker for worker in idle if worker in by_server.values())
    run = Dealt(taken, watchers)
    found: list[SeenServer] = [
        {**server, "process": run.all.index(worker)}
        for server in servers
        if (worker := by_server[server["role"]]) is not None
    ]
    return run, found


def said_dealt(of: Dealt, names: Mapping[str, str], servers: Sequence[ShardServer], homes: Homes) -> str:
    """One line. names: worker -> its host."""
    first, *clients = (names[worker] for worker in of.ends)
    does = [
        f"{first} is the load server",
        f"{', '.join(clients)} {'is the client' if len(clients) == 1 else 'are clients'}",
    ]
    run, each = seen(of, len(of.ends), servers, homes)
    watched: dict[str, list[str]] = {}
    for server in each:
        watched.setdefault(names[run.all[server["process"]]], []).append(at(server))
    does += [f"{name} watches what is at {' and '.join(there)}" for name, there in watched.items()]
    return "; ".join(does)


def said_unseen(servers: Sequence[ShardServer], homes: Homes) -> str:
    """One line of those that no worker is beside; empty where each is seen."""
    known = {host for hosts in homes.values() for host in hosts}
    blind = [at(of) for of in servers if of["host"] and of["host"] not in known]
    if not blind:
        return ""
    return (
        f"no worker is on the host of {', '.join(blind)}: the cores and the disk of what is there are not seen; start a worker "
        "there, which gets no end of the load"
    )


def at(server: ShardServer) -> str:
    return said_address(server["host"], server["port"])

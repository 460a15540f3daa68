"""Which host of a pipeline's run does what, where it has hosts: a load server on the first, clients on those behind, and behind
them those that watch a shard's host. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from inrush.border.pipeline import Pipelines

#: Process of the load server; clients follow.
SERVER = 0


def clients_at(how: Pipelines) -> int:
    """Client hosts of a run: not more than it has pipelines."""
    hosts = how.get("client_hosts", 1)
    return min(hosts, how["count"])


def pipelines_of(client: int, how: Pipelines) -> Sequence[int]:
    """Those of one client host, as they are numbered over all."""
    return range(client, how["count"], clients_at(how))


def files_at(client: int, how: Pipelines, files: int) -> list[int]:
    """Files that one client host makes and loads: each pipeline of the run has equally many."""
    mine = set(pipelines_of(client, how))
    return [n for n in range(files) if n % how["count"] in mine]


def what(process: int, shards: str = "") -> str:
    """shards: of a process without an end of the load, those whose servers it watches."""
    if shards:
        return f"the watcher of {shards}"
    return "the load server" if process == SERVER else f"client {process}"

"""The servers of a pipeline's shards, by their addresses, and which of them the run's processes watch. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inrush.border import address
from inrush.border.pipeline import AnyPlan, SeenServer, ShardServer, shards_of
from inrush.engines import server

#: Role of all of them; of several each is a part of it, by the first of its shards.
SHARDS = "shards"


def servers_of(plan: AnyPlan) -> list[ShardServer]:
    """Those that inrush does not watch itself: none that it has started, and none inside of the load server."""
    if plan["watch"]["processes"].get(SHARDS):
        return []
    return servers_at(
        str(plan["target"]["engine"]), [str(shard["target"]["url"]) for shard in shards_of(plan)]
    )


def servers_at(engine: str, urls: Sequence[str]) -> list[ShardServer]:
    """urls: by shard. Shards of one address are namespaces of one server."""
    twin = server(engine)
    if twin.embedded or twin.protocol is None:
        return []
    at: dict[tuple[str, int], list[int]] = {}
    for shard, url in enumerate(urls):
        hosts = address.read(url).hosts
        # Of several addresses in one, and of a socket, no host is known by it.
        at.setdefault(hosts[0] if len(hosts) == 1 else ("", 0), []).append(shard)
    return [
        {"role": SHARDS if len(at) == 1 else f"{SHARDS}/shard_{shards[0]}", "engine": engine, "host": host, "port": port,
         "shards": shards}
        for (host, port), shards in at.items()
    ]  # fmt: skip


def said_address(host: str, port: int) -> str:
    return f"{f'[{host}]' if ':' in host else host}:{port}"


def seen_by(process: int, seen: Sequence[SeenServer]) -> list[SeenServer]:
    return [of for of in seen if of["process"] == process]


def watchers_behind(ends: int, seen: Sequence[SeenServer]) -> list[int]:
    """Processes of the run that have no end of the load."""
    return sorted({of["process"] for of in seen if of["process"] >= ends})


def whole_of(plan: AnyPlan, found: Mapping[str, bool]) -> list[str]:
    """Roles that are all of the shards together; empty where one is the whole itself, or not all are watched.

    found: role -> whether its processes were found."""
    roles = [of["role"] for of in servers_of(plan)]
    return roles if len(roles) > 1 and all(found.get(role) for role in roles) else []


def shards_said(shards: Sequence[int]) -> str:
    """`shard 1`, `shards 0 and 1`, `shards 0 to 3`."""
    numbers = sorted(shards)
    if len(numbers) == 1:
        return f"shard {numbers[0]}"
    if len(numbers) > 2 and numbers == [*range(numbers[0], numbers[-1] + 1)]:
        return f"shards {numbers[0]} to {numbers[-1]}"
    return f"shards {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"

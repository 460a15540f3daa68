"""What a MySQL Cluster of inrush's own is made of: its settings, and the one file that its processes read. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inrush.errors import UsageError

#: Settings of inrush's own; all others are parameters of a data node, by NDB's names.
NODES, REPLICAS, SLOTS, THREADS, SEND_DELAY = "nodes", "replicas", "api_slots", "threads", "max_send_delay_us"
SQL = "sql"
OWN = (NODES, REPLICAS, SLOTS, THREADS, SEND_DELAY, SQL)
USUAL: Mapping[str, str] = {NODES: "2", REPLICAS: "2", SLOTS: "64", THREADS: "auto1"}
#: Ids of nodes are 1 to 255, those of data nodes the first 144.
MOST_IDS, MOST_NODES, MOST_REPLICAS = 255, 144, 4
MOST_DELAY_US = 11_000
LOOPBACK = "127.0.0.1"
#: From so many CPUs on NDB's own choice of threads has one that sends.
SENDS_FROM = 8
#: Types of threads whose number can be said.
TYPES = ("main", "ldm", "query", "tc", "recv", "send", "rep", "io", "recover", "idxbld")
#: Parameters that inrush sets itself, lower case.
RESERVED = frozenset(
    {
        "nodeid", "id", "hostname", "serverport", "datadir", "filesystempath", "portnumber", "noofreplicas", "maxsenddelay",
        "threadconfig", "automaticthreadconfig", "numcpus", "maxnoofexecutionthreads", "stoponerror",
    }
)  # fmt: skip
#: Of these, those that a setting of inrush's own says.
BY_OWN: Mapping[str, str] = {
    "noofreplicas": REPLICAS, "maxsenddelay": SEND_DELAY, "threadconfig": THREADS, "automaticthreadconfig": THREADS,
    "numcpus": THREADS, "maxnoofexecutionthreads": THREADS,
}  # fmt: skip
#: What a data node takes of memory by parameters, as shipped: lower case -> bytes.
SHIPPED_MEMORY: Mapping[str, int] = {
    "datamemory": 98 << 20, "sharedglobalmemory": 128 << 20, "diskpagebuffermemory": 64 << 20, "longmessagebuffer": 64 << 20,
    "redobuffer": 32 << 20, "transactionmemory": 0, "totalsendbuffermemory": 0,
}  # fmt: skip
#: What it takes beside, at least.
REST_BYTES = 200 << 20
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True)
class Makeup:
    """What does not change while data lies in the cluster, and how its nodes run."""

    nodes: int
    replicas: int
    slots: int
    #: Lines of the file that say which threads a data node has.
    threads: tuple[str, ...]
    send_delay_us: int
    #: A node of SQL joins them, by an id of its own.
    sql: bool = False

    @property
    def management_id(self) -> int:
        return self.nodes + 1

    @property
    def sql_id(self) -> int:
        return self.management_id + self.slots + 1

    @property
    def names(self) -> list[str]:
        """Of its data nodes, by their ids."""
        return [f"node_{k}" for k in range(1, self.nodes + 1)]


def shape(settings: Mapping[str, str]) -> Makeup:
    """Of `OWN`; the others are passed over. Raises UsageError for the first that is no such value."""
    chosen = {**USUAL, **settings}
    has_sql = wants_sql(chosen)
    nodes = whole(chosen, NODES, 1, MOST_NODES)
    replicas = whole(chosen, REPLICAS, 1, MOST_REPLICAS)
    if nodes % replicas:
        raise UsageError(
            f"ndb,{NODES}={nodes}: each group of nodes holds {replicas} replicas, so the number of nodes is a multiple of {replicas}"
        )
    slots = whole(chosen, SLOTS, 1, MOST_IDS - nodes - 1 - has_sql)
    lines, sends = threads(chosen[THREADS])
    delay_us = whole(chosen, SEND_DELAY, 0, MOST_DELAY_US) if SEND_DELAY in chosen else 0
    if delay_us and not sends:
        raise UsageError(
            f"ndb,{SEND_DELAY}={delay_us}: it does nothing in nodes without a thread that sends; name one, as in "
            f"{THREADS}=main:1+ldm:1+recv:1+rep:1+send:1"
        )
    return Makeup(nodes, replicas, slots, tuple(lines), delay_us, has_sql)


def wants_sql(chosen: Mapping[str, str]) -> bool:
    """Whether a node of SQL is wanted. Raises UsageError for another word."""
    word = chosen.get(SQL, "false")
    if word not in ("true", "false"):
        raise UsageError(f"ndb,{SQL}={word}: it is true or false")
    return word == "true"


def whole(chosen: Mapping[str, str], name: str, least: int, most: int) -> int:
    word = chosen[name]
    if not word.isascii() or not word.isdigit() or not least <= int(word) <= most:
        raise UsageError(f"ndb,{name}={word}: it is a whole number from {least} to {most}")
    return int(word)


def threads(word: str) -> tuple[list[str], bool]:
    """Lines of the file, and whether one of the threads sends. `auto4`: as NDB chooses for 4 CPUs; `4`: so many threads that
    execute; `main:1+ldm:2+recv:1`: so many of each type. Raises UsageError."""
    if auto := re.fullmatch(r"auto([1-9]\d{0,2})", word):
        return ["AutomaticThreadConfig=1", f"NumCPUs={auto[1]}"], int(auto[1]) >= SENDS_FROM
    if re.fullmatch(r"[1-9]\d?", word):
        return [f"MaxNoOfExecutionThreads={word}"], False
    counts: dict[str, int] = {}
    for part in word.split("+"):
        named = re.fullmatch(r"([a-z]+):(\d{1,3})", part)
        if named is None or named[1] not in TYPES or named[1] in counts:
            raise UsageError(
                f"ndb,{THREADS}={word}: write auto1 (as NDB chooses for so many CPUs), a number of threads, or the number of each "
                f"type, as in main:1+ldm:2+recv:1+send:1; types are {', '.join(TYPES)}"
            )
        counts[named[1]] = int(named[2])
    config = ",".join(f"{kind}={{count={count}}}" for kind, count in counts.items())
    return [f"ThreadConfig={config}"], counts.get("send", 0) > 0


def one_case(settings: Mapping[str, str], over: Mapping[str, str]) -> dict[str, str]:
    """`settings` with `over` over them; NDB's names are the same in any case. Raises UsageError for one that is there twice."""
    lower: dict[str, str] = {}
    for name in over:
        if (first := lower.setdefault(name.lower(), name)) != name:
            raise UsageError(f"ndb: {first} and {name} are one setting, and a setting is given once")
    return {**{name: value for name, value in settings.items() if name.lower() not in lower}, **over}


@dataclass(frozen=True)
class Hosts:
    """Where the processes of a cluster are."""

    management: str
    #: One address for each data node.
    nodes: tuple[str, ...]
    clients: str


def here(of: Makeup) -> Hosts:
    return Hosts(LOOPBACK, (LOOPBACK,) * of.nodes, LOOPBACK)


def file(
    of: Makeup,
    parameters: Mapping[str, str],
    port: int,
    node_ports: Sequence[int],
    home: Path,
    hosts: Hosts | None = None,
) -> str:
    """config.ini: one duplicate in it would be fatal to the management server. hosts: this one."""
    at = hosts or here(of)
    default = [
        f"NoOfReplicas={of.replicas}",
        # A node that fails ends, so that it is seen.
        "StopOnError=1",
        *of.threads,
        *([f"MaxSendDelay={of.send_delay_us}"] if of.send_delay_us else []),
        *(f"{name}={value}" for name, value in parameters.items()),
    ]
    sections = [("ndbd default", default)]
    sections += [
        (
            "ndb_mgmd",
            [
                f"HostName={at.management}",
                f"NodeId={of.management_id}",
                f"PortNumber={port}",
                f"DataDir={home / 'management'}",
            ],
        )
    ]
    sections += [
        ("ndbd", [f"HostName={host}", f"NodeId={k}", f"ServerPort={node_port}", f"DataDir={home / name}"])
        for k, (name, node_port, host) in enumerate(zip(of.names, node_ports, at.nodes, strict=True), start=1)
    ]
    first = of.management_id + 1
    sections += [("api", [f"HostName={at.clients}", f"NodeId={k}"]) for k in range(first, first + of.slots)]
    sections += [("mysqld", [f"HostName={LOOPBACK}", f"NodeId={of.sql_id}"])] if of.sql else []
    return "".join(f"[{name}]\n" + "".join(f"{line}\n" for line in lines) for name, lines in sections)


def memory_bytes(parameters: Mapping[str, str]) -> int:
    """What a data node takes at least. Parameters that cannot be read are left to the server to refuse."""
    given = {name.lower(): amount(value) for name, value in parameters.items()}
    return REST_BYTES + sum(given.get(name) or shipped for name, shipped in SHIPPED_MEMORY.items())


def amount(value: str) -> int | None:
    """Bytes of a value as NDB writes it: `80M`."""
    found = re.fullmatch(r"(\d+)\s*([kmg]?)", value.strip().lower())
    return int(found[1]) * UNITS[found[2]] if found else None

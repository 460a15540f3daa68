"""Where an engine is: an address, the instance that inrush started there, and the release of its programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

#: Option of a target: how sessions of a run reach a server on this machine. The first value is what they do anyway.
TRANSPORT = "transport"
TCP, UNIX = TRANSPORTS = ("tcp", "unix")
#: Role of the processes of a server, all together.
SERVER = "server"
LOG = "server.log"


@dataclass(frozen=True)
class Release:
    engine: str
    version: str
    #: Prefix with the programs.
    path: Path
    #: Package names and hashes, for the record.
    source: str = ""


@dataclass
class Instance:
    """A server that inrush started, of one process (and its children) or of several."""

    engine: str
    data: Path
    url: str
    port: int
    pid: int
    log: Path
    release: Release
    settings: Mapping[str, str] = field(default_factory=dict)
    #: Limit of its processes -> what a probe was held to, in the limit's unit.
    held: Mapping[str, float] = field(default_factory=dict)
    #: Processes that its limit of memory had ended before it was launched: the probe of that limit.
    kills_before: int = 0
    #: Of a server of several processes each by its name, in the order in which they began; `pid` is the first of them.
    #: Empty: it is one.
    processes: Mapping[str, int] = field(default_factory=dict)

    @property
    def pids(self) -> list[int]:
        return list(self.processes.values()) or [self.pid]

    def log_of(self, process: str = "") -> Path:
        """Where a process writes; the first one's is the server's."""
        first = not process or self.processes.get(process) == self.pid
        return self.log if first else log_of(self.data, process)


@dataclass(frozen=True)
class Target:
    """An engine at an address; `instance` when inrush started it."""

    engine: str
    #: Without password.
    url: str
    options: Mapping[str, str] = field(default_factory=dict)
    instance: Instance | None = None
    #: Name of the storage that its data lies on; empty where the study has one place for an engine.
    storage: str = ""

    @property
    def processes(self) -> dict[str, list[int]]:
        """Role -> process ids; empty if remote or embedded. Of several, each is also a part of the role: `server/<its name>`."""
        if self.instance is None:
            return {}
        parts = {f"{SERVER}/{name}": [pid] for name, pid in self.instance.processes.items()}
        return {SERVER: self.instance.pids, **parts}


def log_of(data: Path, process: str = "") -> Path:
    """The log of an instance's first process, or of another one."""
    return data / (f"{process}.log" if process else LOG)


class Stop(Enum):
    CLEAN = "clean"
    KILL = "kill"


@dataclass(frozen=True)
class Cold:
    #: What was done and checked.
    how: str


@dataclass(frozen=True)
class NotCold:
    reason: str

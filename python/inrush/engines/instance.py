"""Where an engine is: an address, the instance that inrush started there, and the release of its programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

#: Option of a target: how sessions of a run reach a server on this machine. The first value is what they do anyway.
TRANSPORT = "transport"
TCP, UNIX = TRANSPORTS = ("tcp", "unix")


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
    """A server that inrush started."""

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
        """Role -> process ids; empty if remote or embedded."""
        return {"server": [self.instance.pid]} if self.instance else {}


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

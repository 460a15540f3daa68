"""What the parent of a process says to it, a JSON object a line: the first is a `Document`, those behind it are words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

from inrush.border.events import Written
from inrush.border.load import LoadPlan

if TYPE_CHECKING:
    from typing_extensions import Required

#: Drives a run, or its share of one; makes the files of its share first; a run by several processes of this machine, or of a
#: fleet; a run with loads by client and load server; what such a load has on one host; an end of a load; such ends, one after
#: the other; a node of a fleet on this machine.
Does = Literal["drive", "make_and_drive", "share_out", "fleet", "loads", "part", "end", "ends", "node"]


class FleetOfRun(TypedDict):
    """The workers of a Dask cluster that a run is made on."""

    scheduler: str
    #: Of a fleet on this machine, with its certificate and the variables that its workers read; empty: each has its own.
    folder: str
    #: Those that all runs of the study take; empty: any.
    workers: Sequence[str]
    #: Worker -> hosts of shards that it is on. Those that are none of `workers` watch them, and no more.
    homes: Mapping[str, Sequence[str]]


class Document(TypedDict, total=False):
    """What a process is for. It may hold passwords, so no part of it is an argument."""

    does: Required[Does]
    #: Of a run (`AnyPlan`), or of a part of a pipeline.
    plan: Mapping[str, object]
    #: The folder of its tables, or where a node keeps its files.
    parts: str
    #: Variables that it has beyond those of its parent: passwords are among them, and other programs read what it is started with.
    environment: Mapping[str, str]
    #: It comes before all else on its machine.
    realtime: bool
    #: It ends by itself when it has heard nothing for so long.
    leash_s: float
    fleet: FleetOfRun
    #: Of Dask's own program.
    arguments: Sequence[str]


class Word(TypedDict, total=False):
    """`go`: begin, or go on behind a barrier, at an instant. `resume`: go on behind a pause. `stop`: end in order. `alive`: to be
    answered. `load`: begin with a plan. The others are for the parts of a pipeline over hosts: `make` files, be `ready`,
    `open` the load server, `measure` the way that a client is to `fill`, `end` with all tables written."""

    do: Required[
        Literal["go", "resume", "stop", "alive", "load", "make", "ready", "open", "measure", "fill", "end"]
    ]
    #: `go`: of the process's CLOCK_MONOTONIC; what other processes have written.
    at_ns: int
    others: Sequence[Written]
    #: `resume`: those of the server, by role; its threads by id.
    processes: Mapping[str, Sequence[int]]
    threads: Mapping[str, str]
    #: `load`.
    plan: LoadPlan
    #: Where a part listens or sends to, and by what it knows those that may.
    host: str
    port: int
    token: str
    senders: int
    address: str
    fingerprint: str

"""What a dialect plans: tables, operations, proofs and probes, as statements of one engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from inrush.border.plan import ChecksumItem, Directives, Statement

#: A statement -> its rows; raises what the core raises.
Ask = Callable[[Statement], list[list[Any]]]
#: Name among the settings read back: how the connection that reads them is encrypted.
TLS = "tls"
#: Name among the sizes: a write-ahead log, which holds nothing that the tables do not.
LOG = "log:wal"


@dataclass(frozen=True)
class TablePlan:
    """A table in one engine's dialect."""

    #: Physical, qualified and quoted name, as statements use it.
    name: str
    create: tuple[Statement, ...]
    #: Empties it so that the next repetition starts as the first did.
    fresh: tuple[Statement, ...]
    drop: tuple[Statement, ...]
    #: Column -> wire type, in column order.
    wire: Mapping[str, str]
    #: What the engine cannot keep exactly, as sentences for the report.
    losses: tuple[str, ...] = ()
    #: Why no rows can go into it; empty where they can.
    takes_no_rows: str = ""
    #: It has a key over its identity: no two rows share one, and a row is found by it.
    keyed: bool = False
    #: Cut into chunks by time, which have sizes of their own.
    chunked: bool = False
    #: Applied after the load where the layout asks for it (create index, cluster, …).
    after_load: tuple[str, ...] = ()


@dataclass(frozen=True)
class OpPlan:
    """An operation in one engine's dialect; parameters in placeholder order."""

    text: str
    method: str = ""
    params: tuple[str, ...] = ()
    #: A delete by age that takes whole pieces of so much data time, counted from 1970; 0: to the row.
    piece_s: float = 0.0
    directives: Directives | None = None


@dataclass(frozen=True)
class Unsupported:
    reason: str


@dataclass(frozen=True)
class Proof:
    """`checksum_query` returns one row of numbers in the order of `items`."""

    checksum_query: str
    items: tuple[ChecksumItem, ...]
    #: All columns in table order, any row order.
    read_back: str
    checksum_directives: Directives | None = None
    read_back_directives: Directives | None = None


@dataclass(frozen=True)
class Probes:
    """Statements that return rows of (name, value)."""

    sizes: tuple[Statement, ...] = ()
    counters: tuple[Statement, ...] = ()
    settings: tuple[Statement, ...] = ()
    version: Statement = ""
    #: Of maintenance that runs: rows of (`progress:` and what is done, 0…1); empty where the engine does not report it.
    progress: str = ""

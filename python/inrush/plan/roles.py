"""A role of a study as it is at one point: how many sessions, rows and batches. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inrush.border.plan import InputWay, Refill
from inrush.errors import Problem
from inrush.study.forms import Plain
from inrush.study.io import IoOf
from inrush.study.keys import KeysOf
from inrush.study.parts import Schedule
from inrush.study.samples import Collector

#: "As many as there are": rows of a table fed from files.
ALL_ROWS = 2**62


@dataclass(frozen=True)
class Sampling:
    """Samples of one table at one point."""

    count: int
    rows: int
    every_s: float
    #: Operations of one sample.
    parts: int
    collect: Collector | None = None


@dataclass(frozen=True)
class RoleInput:
    """Files of a table's rows that are made before."""

    name: str
    files: int
    way: InputWay
    cold: bool
    #: The step that sorts them, where there is one.
    sorted: str = ""


@dataclass(frozen=True)
class ActiveRole:
    """A role with sessions at this point. An insert into several tables is a role for each."""

    name: str
    operations: Mapping[str, int]
    #: Table that it writes; None for readers.
    table: str | None
    #: Tables that it touches; empty: those of its operations.
    tables: tuple[str, ...]
    sessions: int
    depth: int
    schedule: Schedule[Plain]
    rate_per_s: float
    #: When a session of a closed role sends again, and how long it waits then.
    refill: Refill | None = None
    delay_s: float = 0.0
    rows: int = 0
    #: Of them; another than 0 where loads before it have filled the table up to there.
    first_row: int = 0
    batch_rows: int = 0
    #: Rows that are due together; None: the schedule says when batches are.
    samples: Sampling | None = None
    #: Batches that may be due and not sent; None: any number.
    queue_calls: int | None = None
    calls: int | None = None
    until: str | None = None
    #: Length of its lists of keys, where its calls have any; and whether its reads by key ask for so many rows.
    keys_per_call: int = 1
    reads_many: bool = False
    #: How its keys are drawn; None: as its operations say.
    keys: KeysOf[Plain] | None = None
    #: Way out of its extracts, empty: the engine's first; and rows that a cursor fetches at a time.
    method: str = ""
    fetch_rows: int | None = None
    #: What its calls do with records of a file; None: it reads and writes rows.
    io: IoOf[Plain] | None = None
    #: The operation whose files its rows are read from; empty: they are made.
    source: str = ""
    #: The files that its rows lie in, and whether each is loaded on a connection of its own; None: they are made while they
    #: are sent.
    input: RoleInput | None = None
    connects: bool = False
    #: Of tables that no role writes.
    load_rows: int = 0
    notes: tuple[str, ...] = ()


def problem(key: str, value: str, remedy: str) -> Problem:
    return Problem("", key, value, remedy)

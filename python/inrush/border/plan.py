"""The plan: one run, fully spelled out, as `rust/rows/src/plan` reads it.

A class has the name of its Rust type and the same fields. `python/tests/test_border.py` asks the core for the fields of
every type and compares them with these. The types of the parts of a plan stand in four files, and can all be imported
from here. Times are integer nanoseconds; shares are parts per million.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypedDict, final

from inrush.border.operation import *
from inrush.border.segment import *
from inrush.border.statement import *
from inrush.border.table import *

if TYPE_CHECKING:
    from typing_extensions import NotRequired

    from inrush.border.labels import RunLabels

#: A plan of any other version is refused. `rust/rows/src/plan.rs` has the same number.
PLAN_VERSION: Final = 1


class ShardsPlan(TypedDict):
    #: In the order of their numbers.
    urls: Sequence[str]
    #: Sessions go straight to the shards. By table: the columns that place its rows, each with its type in the database.
    keys: NotRequired[Sequence[Sequence[Sequence[str]]]]


class Target(TypedDict):
    engine: str
    #: Without password.
    url: str
    options: Mapping[str, str]
    #: Of tests alone: what a wrapped engine does wrong.
    faults: NotRequired[Sequence[str]]
    #: Servers of the same kind that share the rows; `url` is their coordinator's.
    shards: NotRequired[ShardsPlan]


class RecordPlan(TypedDict):
    interval_ns: int
    flush_ns: int


class WatchPlan(TypedDict):
    #: 0: nothing is watched.
    every_ns: int
    #: Role -> process ids.
    processes: Mapping[str, Sequence[int]]
    data_dir: NotRequired[str]
    #: Role -> directory: the device below it is watched as the role's own, too.
    folders: NotRequired[Mapping[str, str]]
    #: Thread of these processes -> what it is, where the kernel knows it by the program's name alone.
    threads: NotRequired[Mapping[str, str]]
    #: Of a process that shares a run and is not the first one: it watches the machine as the first one does its own.
    machine: NotRequired[bool]


class SharePlan(TypedDict):
    """Which of several processes of a run this plan is of: each drives with all sessions of its own, and takes every
    `of`-th call. The first one does everything else."""

    #: 0 is the first.
    index: int
    of: int


class SessionsPlan(TypedDict):
    """What is the same in every run of a point."""

    version: int
    study: str
    seed: int
    epoch_ns: int
    target: Target
    tables: Sequence[TablePlan]
    operations: Sequence[OpPlan]
    segments: Sequence[Segment]
    record: RecordPlan
    watch: WatchPlan
    #: Absent: one process makes the run.
    share: NotRequired[SharePlan]


@final
class PointPlan(SessionsPlan):
    """A `RunPlan` before it is known which run it is of."""


@final
class RunPlan(SessionsPlan):
    run_id: str
    #: Carried for the report; the core does not read it.
    labels: NotRequired[RunLabels]

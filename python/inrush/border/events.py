"""What a run says while it goes on, a JSON object a line: `Event` in `rust/drive/src/run/mod.rs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class SegmentBegun(TypedDict):
    event: Literal["segment"]
    index: int
    label: str
    kind: str
    #: Empty unless the segment drives.
    phase: str
    t_ns: int


class Latencies(TypedDict):
    """A histogram in ns (`results/histogram.py`): buckets with counts, ascending."""

    bucket: Sequence[int]
    count: Sequence[int]
    n: int
    #: 0 of an empty one.
    min: int
    max: int
    sum: int


class RoleProgress(TypedDict):
    rows: int
    ops: int
    #: Since the last progress.
    rows_per_s: float
    ops_per_s: float
    #: Of the last interval that has ended.
    p99_ms: float | None
    errors: int
    #: So far; None on closed schedules.
    due: int | None
    #: Due and not done.
    backlog: int
    #: Of the last interval that has ended: how late the instrument itself was.
    lag_p99_ms: float | None
    #: Of all intervals that have ended: calls that were sent late, and outcome -> calls that ended in it.
    late: int
    failed: Mapping[str, int]
    #: Calls that ended ok in the intervals that have ended since the last progress: added up, nothing is missing.
    latency: Latencies


class Usage(TypedDict):
    """A row of the table `resources` (docs/results.md): what was sampled last."""

    role: str
    metric: str
    #: Block device or interface; empty for the role as a whole.
    device: str
    t_ns: int
    #: Cumulative, but of `rss_bytes` and memory.
    value: float


class LoadProgress(TypedDict):
    """Of a load by client and load server: how far it is, with what was stored before it was killed."""

    rows: int
    of: int
    #: So often it was killed and went on, and so long no client loaded in between.
    gaps: int
    gaps_s: float


class Progress(TypedDict):
    event: Literal["progress"]
    t_ns: int
    segment: int
    label: str
    phase: str
    repetition: int
    #: In run time, as `t_ns`.
    began_ns: int
    #: 0…1 of the segment's bounded work.
    share: float | None
    left_s: float | None
    roles: Mapping[str, RoleProgress]
    #: Busy cores; None: not known.
    client_cpu: float | None
    resources: Sequence[Usage]
    loaded: NotRequired[LoadProgress]
    #: Role of a machine in `resources` -> the name of the host, where client processes are on several.
    hosts: NotRequired[Mapping[str, str]]


class Note(TypedDict):
    event: Literal["note"]
    text: str


class Paused(TypedDict):
    event: Literal["paused"]
    index: int
    action: str


class Written(TypedDict):
    """What the sessions of a process have written of a table in one segment."""

    table: int
    issued: int
    acknowledged: int
    #: First row and rows of inserts of which no answer came.
    unanswered: Sequence[tuple[int, int]]


class Barrier(TypedDict):
    """A process has come to where it waits for the others of its run."""

    event: Literal["barrier"]
    index: int
    point: Literal["connect", "start", "end"]
    #: Between the word to start and the start, what its sessions need.
    needs_ns: int
    #: CLOCK_MONOTONIC at its run time 0.
    zero_ns: int
    #: At `end`: what its sessions have written in the segment.
    written: Sequence[Written]


class Began(TypedDict):
    """Of a process that started with others: how late its first and its last session began."""

    event: Literal["began"]
    index: int
    repetition: int
    #: The start, in its run time.
    t_ns: int
    first_late_ns: int
    last_late_ns: int


class Alive(TypedDict):
    """Of a process on a leash, for each `alive` that it was sent."""

    event: Literal["alive"]


class FilesMade(TypedDict):
    """Of a process that makes the files that its sessions load: they are there, and it waits for those of the others."""

    event: Literal["made"]
    files: int
    bytes: int
    took_s: float


class Finished(TypedDict):
    event: Literal["finished"]
    ended_by: str


class Failing(TypedDict):
    """Of a load over hosts that is ended for a failure; `failed` follows when its tables are dropped."""

    event: Literal["failing"]
    message: str


class Failed(TypedDict):
    event: Literal["failed"]
    kind: str
    message: str


class Ended(TypedDict):
    """Said by the parent itself, when the worker's last line was read."""

    event: Literal["ended"]


#: Of a run that times no single calls.
NO_LATENCIES: Latencies = {"bucket": (), "count": (), "n": 0, "min": 0, "max": 0, "sum": 0}

Event: TypeAlias = (
    SegmentBegun
    | Progress
    | Note
    | Paused
    | Barrier
    | Began
    | Alive
    | FilesMade
    | Finished
    | Failing
    | Failed
    | Ended
)

"""The plan: one run, fully spelled out, as `rust/src/plan` reads it.

A class has the name of its Rust type and the same fields. `python/tests/test_border.py` asks the core for the fields of
every type and compares them with these. Times are integer nanoseconds; shares are parts per million.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypedDict, final

from inrush.border.operation import (
    Asked,
    Assertion,
    ConstantParam,
    CountBounds,
    Freshness,
    HotSetKeys,
    KeyLaw,
    KeyParam,
    KeyPlan,
    NowMinus,
    OfSeries,
    OpPlan,
    OwnRangeKeys,
    ParamGen,
    ParamPlan,
    RowsRegenerate,
    SeenUntil,
    SeriesAt,
    UniformKeys,
    UniformParam,
    ZipfKeys,
)
from inrush.border.segment import (
    AskSegment,
    CallsWork,
    ChecksumItem,
    Closed,
    CollectPlan,
    Constant,
    ControlSegment,
    CountTrue,
    DriveSegment,
    Endless,
    NotNull,
    PauseSegment,
    Phase,
    Poisson,
    ProbePlan,
    ProbeSegment,
    ProbeTable,
    Product,
    ProofPlan,
    ProofSegment,
    RepeatPlan,
    RolePlan,
    RowsItem,
    RowsWork,
    SamplePlan,
    Samples,
    Schedule,
    Segment,
    SettleSegment,
    StatementSegment,
    SumHash,
    SumHigh,
    SumLength,
    SumLow,
    SumRows,
    SumScaled,
    SumWrapped,
    Until,
    UntilRole,
    UntilTime,
    UntilWork,
    ValueHash,
    Weighted,
    Work,
)
from inrush.border.statement import (
    Command,
    EachRow,
    Statement,
    UntilNoRows,
)
from inrush.border.table import (
    ColumnPlan,
    FileOrder,
    FileRows,
    GeneratedRows,
    Generator,
    Json,
    Limits,
    PinnedSeries,
    RowEvents,
    RowOrder,
    RowSource,
    SeriesRates,
    StoredTable,
    TablePlan,
)

if TYPE_CHECKING:
    from typing_extensions import NotRequired

    from inrush.border.labels import RunLabels

__all__ = [
    "PLAIN_VERSION",
    "PLAN_VERSION",
    "REPEAT_VERSION",
    "AskSegment",
    "Asked",
    "Assertion",
    "CallsWork",
    "ChecksumItem",
    "Closed",
    "CollectPlan",
    "ColumnPlan",
    "Command",
    "Constant",
    "ConstantParam",
    "ControlSegment",
    "CountBounds",
    "CountTrue",
    "DriveSegment",
    "EachRow",
    "Endless",
    "FileOrder",
    "FileRows",
    "Freshness",
    "GeneratedRows",
    "Generator",
    "HotSetKeys",
    "Json",
    "KeyLaw",
    "KeyParam",
    "KeyPlan",
    "Limits",
    "NotNull",
    "NowMinus",
    "OfSeries",
    "OpPlan",
    "OwnRangeKeys",
    "ParamGen",
    "ParamPlan",
    "PauseSegment",
    "Phase",
    "PinnedSeries",
    "PointPlan",
    "Poisson",
    "ProbePlan",
    "ProbeSegment",
    "ProbeTable",
    "Product",
    "ProofPlan",
    "ProofSegment",
    "RecordPlan",
    "RepeatPlan",
    "RolePlan",
    "RowEvents",
    "RowOrder",
    "RowSource",
    "RowsItem",
    "RowsRegenerate",
    "RowsWork",
    "RunPlan",
    "SamplePlan",
    "Samples",
    "Schedule",
    "SeenUntil",
    "Segment",
    "SeriesAt",
    "SeriesRates",
    "SessionsPlan",
    "SettleSegment",
    "Statement",
    "StatementSegment",
    "StoredTable",
    "SumHash",
    "SumHigh",
    "SumLength",
    "SumLow",
    "SumRows",
    "SumScaled",
    "SumWrapped",
    "TablePlan",
    "Target",
    "UniformKeys",
    "UniformParam",
    "Until",
    "UntilNoRows",
    "UntilRole",
    "UntilTime",
    "UntilWork",
    "ValueHash",
    "WatchPlan",
    "Weighted",
    "Work",
    "ZipfKeys",
]

#: Of a plan with texts alone as statements.
PLAIN_VERSION: Final = 1
#: Of a plan that has a statement with `repeat`, and no step.
REPEAT_VERSION: Final = 2
#: Of a plan with steps.
PLAN_VERSION: Final = 3


class Target(TypedDict):
    engine: str
    #: Without password.
    url: str
    options: Mapping[str, str]
    #: Of tests alone: what a wrapped engine does wrong.
    faults: NotRequired[Sequence[str]]


class RecordPlan(TypedDict):
    interval_ns: int
    flush_ns: int


class WatchPlan(TypedDict):
    #: 0: nothing is watched.
    every_ns: int
    #: Role -> process ids.
    processes: Mapping[str, Sequence[int]]
    data_dir: NotRequired[str]


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


@final
class PointPlan(SessionsPlan):
    """A `RunPlan` before it is known which run it is of."""


@final
class RunPlan(SessionsPlan):
    run_id: str
    #: Carried for the report; the core does not read it.
    labels: NotRequired[RunLabels]

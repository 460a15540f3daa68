"""What is called: operations, their parameters and what their answers promise (`rust/rows/src/plan/operation.rs`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from inrush.border.statement import Directives
from inrush.border.table import Json
from inrush.workload import OpKind, RowCall

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class ConstantParam(TypedDict):
    kind: Literal["constant"]
    value: Json


class NowMinus(TypedDict):
    kind: Literal["now_minus"]
    ns: int


class OfSeries(TypedDict):
    kind: Literal["of_series"]
    table: int
    column: str


class SeriesAt(TypedDict):
    kind: Literal["series_at"]
    table: int
    column: str
    series: int


class SeenUntil(TypedDict):
    kind: Literal["seen_until"]


UniformParam = TypedDict("UniformParam", {"kind": Literal["uniform"], "from": int, "to": int})


class KeyParam(TypedDict):
    kind: Literal["key"]
    #: Place among the operation's `keys`.
    keys: int
    #: Parameters of one draw are of one row.
    draw: int
    column: str


class ChangedParam(TypedDict):
    """What the call makes of a column in the row that its keys draw (`rust/rows/src/rows/changes.rs`)."""

    kind: Literal["changed"]
    #: Place among the operation's `keys`.
    keys: int
    column: str


class RangeKey(TypedDict):
    """A column of the series of a range."""

    kind: Literal["range_key"]
    column: str


class RangeFrom(TypedDict):
    kind: Literal["range_from"]


class RangeTo(TypedDict):
    kind: Literal["range_to"]


class PieceFrom(TypedDict):
    """Of a dump: the least value of the rows of the call's file."""

    kind: Literal["piece_from"]


class PieceTo(TypedDict):
    kind: Literal["piece_to"]


ParamGen: TypeAlias = (
    ConstantParam
    | NowMinus
    | OfSeries
    | SeriesAt
    | SeenUntil
    | UniformParam
    | KeyParam
    | ChangedParam
    | RangeKey
    | RangeFrom
    | RangeTo
    | PieceFrom
    | PieceTo
)


class ParamPlan(TypedDict):
    name: str
    type: str
    gen: ParamGen


class UniformKeys(TypedDict):
    kind: Literal["uniform"]


class ZipfKeys(TypedDict):
    kind: Literal["zipf"]
    exponent: float


class HotSetKeys(TypedDict):
    kind: Literal["hot_set"]
    draws_ppm: int
    rows_ppm: int


class OwnRangeKeys(TypedDict):
    kind: Literal["own_range"]


class EachOnceKeys(TypedDict):
    kind: Literal["each_once"]


KeyLaw: TypeAlias = UniformKeys | ZipfKeys | HotSetKeys | OwnRangeKeys | EachOnceKeys


class KeyPlan(TypedDict):
    """Rows that calls ask for, drawn by a law."""

    table: int
    first_row: int
    rows: int
    by: KeyLaw


class RowsLength(TypedDict):
    kind: Literal["rows"]
    rows: int


class ShareLength(TypedDict):
    kind: Literal["share"]
    #: Of the rows of a series.
    ppm: int


class TimeLength(TypedDict):
    kind: Literal["time"]
    ns: int


RangeLength: TypeAlias = RowsLength | ShareLength | TimeLength


class RangePlan(TypedDict):
    """Rows of one series in an interval of time, drawn anew for every call."""

    table: int
    #: Of the whole table, which does not change while it is read.
    rows: int
    #: Column of the table behind each column of the answer.
    columns: Sequence[str]
    #: The interval is of it, and the answer sorted by it.
    time: str
    length: RangeLength
    #: Absent: one that is long enough, each in proportion to its rows.
    series: NotRequired[int]
    #: Rows that a `cursor` fetches at a time.
    fetch_rows: NotRequired[int]


class DumpPlan(TypedDict):
    """A table written to files, one for each call (`rust/rows/src/plan/dump.rs`)."""

    table: int
    folder: str
    #: Its files are `<name>-00000.csv` and so on.
    name: str
    #: Call n has the rows from bounds[n] to before bounds[n + 1]; absent: one file with all rows.
    bounds: NotRequired[Sequence[int]]
    #: Rows that a `cursor` fetches at a time.
    fetch_rows: NotRequired[int]


class RowsRegenerate(TypedDict):
    kind: Literal["rows_regenerate"]
    table: int
    columns: Sequence[str]
    keys: NotRequired[Sequence[str]]
    may_be_empty: NotRequired[bool]


class Asked(TypedDict):
    kind: Literal["asked"]
    table: int
    columns: Sequence[str]
    keys: Sequence[str]


class CountBounds(TypedDict):
    kind: Literal["count_bounds"]
    table: int


class Freshness(TypedDict):
    kind: Literal["freshness"]
    table: int
    series: int


Assertion: TypeAlias = RowsRegenerate | Asked | CountBounds | Freshness


class OpPlan(TypedDict):
    name: str
    kind: OpKind
    table: NotRequired[int]
    #: What it does with the row of a key; its parameters are columns, by name. Engines that call rows take no text then.
    does: NotRequired[RowCall]
    text: str
    directives: NotRequired[Directives]
    method: str
    params: Sequence[ParamPlan]
    #: Of kinds `extract` and `query`.
    range: NotRequired[RangePlan]
    #: The same, in place of a range.
    dump: NotRequired[DumpPlan]
    keys: NotRequired[Sequence[KeyPlan]]
    members: NotRequired[Sequence[str]]
    holds: NotRequired[Sequence[Assertion]]
    deadline_ns: NotRequired[int]

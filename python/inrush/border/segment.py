"""What is done, segment by segment (`rust/rows/src/plan/segment.rs`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from inrush.border.statement import Statement

if TYPE_CHECKING:
    from typing_extensions import NotRequired

Phase: TypeAlias = Literal["load", "warm", "measure", "cool"]
Refill: TypeAlias = Literal["half", "round"]
InputWay: TypeAlias = Literal["client", "server", "parsed"]
SortBy: TypeAlias = Literal["number", "float"]
ProbeTable: TypeAlias = Literal["sizes", "counters", "settings"]
ValueHash: TypeAlias = Literal["postgresql", "crc32", "city_hash64", "read_back"]


# --- roles


class Closed(TypedDict):
    kind: Literal["closed"]
    think_ns: int
    #: How many calls of a session whose slots were all taken have ended when it sends again; absent: one.
    refill: NotRequired[Refill]
    #: How long it waits then; absent: 0.
    delay_ns: NotRequired[int]


class Constant(TypedDict):
    kind: Literal["constant"]
    rate_per_s: float


class Poisson(TypedDict):
    kind: Literal["poisson"]
    rate_per_s: float


class CollectPlan(TypedDict):
    name: str
    median_ns: int
    sigma: float
    most_ns: int


class Samples(TypedDict):
    kind: Literal["samples"]
    every_ns: int
    parts: int
    collect: NotRequired[CollectPlan]


Schedule: TypeAlias = Closed | Constant | Poisson | Samples


class InputPlan(TypedDict):
    """Files of generated rows (`rust/rows/src/plan/input.rs`)."""

    table: int
    #: Of all files together.
    rows: int
    #: Where they begin in the table; absent: with its first row.
    first_row: NotRequired[int]
    files: int
    #: Its files are `<name>-000000.tsv` and so on.
    folder: str
    name: str
    #: The kernel forgets them before they are loaded; absent: it does not.
    cold: NotRequired[bool]
    #: A step has sorted them: a file is one run of the keys.
    sorted: NotRequired[bool]
    way: InputWay


class RowsWork(TypedDict):
    kind: Literal["rows"]
    table: int
    first_row: int
    rows: int
    batch_rows: int
    #: The operation whose files they are read from; absent: they are made.
    dump: NotRequired[str]
    #: They lie in these files.
    input: NotRequired[InputPlan]


class CallsWork(TypedDict):
    kind: Literal["calls"]
    count: int


class Endless(TypedDict):
    kind: Literal["endless"]


Work: TypeAlias = RowsWork | CallsWork | Endless


class UntilWork(TypedDict):
    kind: Literal["work"]


class UntilRole(TypedDict):
    kind: Literal["role"]
    name: str


class UntilTime(TypedDict):
    kind: Literal["time"]
    ns: int


Until: TypeAlias = UntilWork | UntilRole | UntilTime


class Weighted(TypedDict):
    operation: str
    weight: int


class RolePlan(TypedDict):
    name: str
    operations: Sequence[Weighted]
    sessions: int
    depth: int
    schedule: Schedule
    work: Work
    until: Until
    #: Calls that may be due and not taken by a session; more of them end the role. Absent: any number.
    queue_calls: NotRequired[int]
    #: Each call is made on a connection of its own; absent: on that of its session.
    connects: NotRequired[bool]


# --- proofs and probes


class RowsItem(TypedDict):
    kind: Literal["rows"]


class NotNull(TypedDict):
    kind: Literal["not_null"]
    column: str


class Sum(TypedDict):
    kind: Literal["sum"]
    column: str
    signed: bool


class SumLow(TypedDict):
    kind: Literal["sum_low"]
    column: str


class SumHigh(TypedDict):
    kind: Literal["sum_high"]
    column: str
    signed: bool


class SumWrapped(TypedDict):
    kind: Literal["sum_wrapped"]
    column: str


class Product(TypedDict):
    kind: Literal["product"]
    key: str
    value: str


class SumScaled(TypedDict):
    kind: Literal["sum_scaled"]
    column: str
    bits: int


class CountTrue(TypedDict):
    kind: Literal["count_true"]
    column: str


class SumHash(TypedDict):
    kind: Literal["sum_hash"]
    column: str
    hash: ValueHash
    trimmed: NotRequired[bool]


class SumRows(TypedDict):
    kind: Literal["sum_rows"]
    hash: ValueHash
    columns: Sequence[str]
    unsigned: NotRequired[Sequence[str]]
    trimmed: NotRequired[Sequence[str]]


class SumLength(TypedDict):
    kind: Literal["sum_length"]
    column: str


#: One figure that engine and generator compute independently.
ChecksumItem: TypeAlias = (
    RowsItem
    | NotNull
    | Sum
    | SumLow
    | SumHigh
    | SumWrapped
    | Product
    | SumScaled
    | CountTrue
    | SumHash
    | SumRows
    | SumLength
)


class SeriesPart(TypedDict):
    """Series `first … first + count - 1` of a table."""

    first: int
    count: int


class ProofPlan(TypedDict):
    table: int
    first_row: int
    rows: int
    #: One row of numbers in the order of `items`; empty: read back only.
    screen: Statement
    items: Sequence[ChecksumItem]
    #: All columns in order; empty: not read back.
    read_back: Statement
    #: The same, asked only where rows of equal identity are one and no sum says which of them is there; absent: never.
    read_back_collapsed: NotRequired[Statement]
    #: Asked until it gives no rows, before anything is read; absent: what was acknowledged is seen at once.
    unseen: NotRequired[str]
    #: The operation whose files are read back in place of the table.
    dump: NotRequired[str]
    #: Of those rows only the ones of these series; without a checksum query. Absent: all of them.
    series: NotRequired[SeriesPart]


class ProbePlan(TypedDict):
    into: ProbeTable
    statement: Statement


class SamplePlan(TypedDict):
    every_ns: int
    probes: Sequence[ProbePlan]


# --- segments


class ControlSegment(TypedDict):
    kind: Literal["control"]
    label: str
    statements: Sequence[Statement]
    limit_ns: int


class RepeatPlan(TypedDict):
    at_least_ns: int
    max: int
    fresh: Sequence[Statement]
    proofs: Sequence[ProofPlan]


class DriveSegment(TypedDict):
    kind: Literal["drive"]
    label: str
    step: NotRequired[str]
    phase: Phase
    roles: Sequence[RolePlan]
    limit_ns: int
    retry_ns: NotRequired[int]
    repeat: NotRequired[RepeatPlan]
    sample: NotRequired[SamplePlan]


class StatementSegment(TypedDict):
    kind: Literal["statement"]
    label: str
    step: NotRequired[str]
    statements: Sequence[Statement]
    #: Of all of them together.
    limit_ns: int
    sample: NotRequired[SamplePlan]


class ProofSegment(TypedDict):
    kind: Literal["proof"]
    label: str
    proofs: Sequence[ProofPlan]


class ProbeSegment(TypedDict):
    kind: Literal["probe"]
    label: str
    step: NotRequired[str]
    probes: Sequence[ProbePlan]


class AskSegment(TypedDict):
    kind: Literal["ask"]
    label: str
    operations: Sequence[str]
    now_ns: int


class SettleSegment(TypedDict):
    kind: Literal["settle"]
    label: str
    step: NotRequired[str]
    ns: int


class PauseSegment(TypedDict):
    kind: Literal["pause"]
    label: str
    step: NotRequired[str]
    action: str


class InputsSegment(TypedDict):
    kind: Literal["inputs"]
    label: str
    inputs: Sequence[InputPlan]


SortPlan = TypedDict(
    "SortPlan",
    {
        "kind": Literal["sort"],
        "label": str,
        "step": "NotRequired[str]",
        "from": InputPlan,
        # As many files with as many rows each.
        "to": InputPlan,
        "column": int,
        # Absent: by its bytes.
        "by": "NotRequired[SortBy]",
        "limit_ns": int,
    },
)


Segment: TypeAlias = (
    ControlSegment
    | DriveSegment
    | StatementSegment
    | ProofSegment
    | ProbeSegment
    | AskSegment
    | SettleSegment
    | PauseSegment
    | InputsSegment
    | SortPlan
)

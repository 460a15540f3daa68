"""What is stored: tables, what their columns mean, and where rows come from (`rust/rows/src/plan/table.rs`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired

#: A value of a document that the core reads without a type of its own.
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
#: A generator by name and parameters. The core's catalogue (`_core.generators`) is their only list; studies are read by it.
Generator: TypeAlias = Mapping[str, Json]


class NotFinite(TypedDict, total=False):
    """Shares of a column's values."""

    nan_ppm: int
    inf_ppm: int
    minus_inf_ppm: int


class ColumnPlan(TypedDict):
    name: str
    #: One of `workload.TYPES`.
    type: str
    #: Type on the wire, chosen by the engine's twin.
    wire: str
    null_ppm: int
    #: Of floats.
    not_finite: NotRequired[NotFinite]
    #: Absent for tables fed from files.
    gen: NotRequired[Generator]


class SpelledAnyhow(TypedDict):
    """In a way of the server's own: numbers go in as they are written."""

    kind: Literal["any"]


class SpelledAsWritten(TypedDict):
    """With the digits behind the point that are written."""

    kind: Literal["written"]


class SpelledFixed(TypedDict):
    """With so many digits behind the point."""

    kind: Literal["fixed"]
    digits: int


#: How a server spells the numbers of a column that go in as texts.
Spelling: TypeAlias = SpelledAnyhow | SpelledAsWritten | SpelledFixed


class Limits(TypedDict, total=False):
    """A row with a value beyond these is rejected."""

    chars: int
    range: Sequence[int]
    #: Floats that the column does not take.
    no_nan: bool
    no_infinity: bool
    #: Texts of the column are numbers, spelled so.
    number: Spelling


class RowOrder(TypedDict):
    by: Literal["key", "time", "random"]


class FileOrder(TypedDict):
    by: Literal["file"]
    files: int


class PinnedSeries(TypedDict):
    """One series that has this share of all rows."""

    series: int
    share_ppm: int


class SeriesRates(TypedDict):
    """Log-normal around one row each period."""

    sigma: float
    pinned: NotRequired[PinnedSeries]


class RowChunks(TypedDict):
    """Rows in files, one for each chunk of a sky."""

    files: int
    profile: Literal["survey", "equal"]
    run_rows: int


class RowEvents(TypedDict):
    """Rows as events of series, where row i is not sweep i // series of series i % series."""

    #: Of the whole table.
    rows: int
    order: RowOrder | FileOrder
    rates: NotRequired[SeriesRates]
    #: One series without times, by key or at random.
    chunks: NotRequired[RowChunks]


class GeneratedRows(TypedDict):
    kind: Literal["generated"]
    series: int
    period_ns: int
    events: NotRequired[RowEvents]


class WrittenAs(TypedDict, total=False):
    """How a text file writes its rows, where that is not usual for its format."""

    delimiter: str
    null: str
    #: Empty: no field is quoted.
    quote: str
    escape: str
    comment: str
    #: Lines before the first row or the header.
    skip: int
    decimal: str
    thousands: str


class FileRows(TypedDict):
    kind: Literal["files"]
    paths: Sequence[str]
    format: str
    header: bool
    written: NotRequired[WrittenAs]
    reject_path: str
    reject_limit: int
    required: NotRequired[Sequence[str]]
    limits: NotRequired[Mapping[str, Limits]]
    #: Column of times -> iso, dmy, mdy, or a pattern such as `%d.%m.%y %H:%M`.
    times: NotRequired[Mapping[str, str]]
    #: Of times that name none: since when (s since 1970) clocks are so many seconds ahead of UTC.
    zone: NotRequired[Sequence[tuple[int, int]]]
    #: Columns of texts with values that are bytes in the files.
    bytes: NotRequired[Sequence[str]]


RowSource: TypeAlias = GeneratedRows | FileRows


class StoredTable(TypedDict):
    """A table without the rows that go into it."""

    #: In the database.
    name: str
    #: Seeds the generator.
    stream: str
    columns: Sequence[ColumnPlan]
    identity: Sequence[str]


class TablePlan(StoredTable):
    source: RowSource

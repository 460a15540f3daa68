"""Tables and operations as their author means them: no engine, no dialect, no I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from inrush import _core


@dataclass(frozen=True)
class ColumnType:
    """A type of columns: its entry in the core's table (`rust/rows/src/types.rs`)."""

    name: str
    #: In workloads: `decimal(p, s)`.
    written: str
    #: What databases and languages call it.
    also: tuple[str, ...]
    #: Its values, in messages.
    many: str
    #: truth, signed, unsigned, float, time, bits, text, bytes, spelled (texts in one form), list.
    holds: str
    #: Of numbers their bits, of times their units a second, of a list the type of its items.
    of: int | str | None
    #: Of a value, about.
    bytes: int
    #: A table that is fed from files may have it.
    fed: bool
    #: A statement takes its values one by one.
    bound: bool
    #: Of a spelled type: bytes of the longest text, and what PostgreSQL calls it.
    longest: int
    postgresql: str


def _table() -> Iterator[ColumnType]:
    for entry in json.loads(_core.types()):
        forms = {"longest": entry["longest"] or 0, "postgresql": entry["postgresql"] or ""}
        yield ColumnType(**{**entry, **forms, "also": tuple(entry["also"])})


def holding(*kinds: str) -> tuple[str, ...]:
    """The types that hold one of these."""
    return tuple(kind.name for kind in TYPES.values() if kind.holds in kinds)


#: All types by name; `docs/engines.md` maps each to every engine.
TYPES: Mapping[str, ColumnType] = {kind.name: kind for kind in _table()}
#: Those that files hold.
LOGICAL_TYPES = tuple(kind.name for kind in TYPES.values() if kind.fed)
#: Texts in one form; an engine that has no type of its own for one stores it as a text.
SPELLED = holding("spelled")
#: Lists that generators make alone: no table fed from files has them.
DRAWN_LISTS = tuple(name for name in holding("list") if not TYPES[name].fed)
#: Types of tables that `inrush load` fills, which the core knows as texts: of bytes, their hexadecimal digits.
DIGIT_TYPES = ("bytes",)

#: Of an operation, as a study's file says it: {"type": …, "gen": {…}}, and `list` where it stands for several.
Parameter: TypeAlias = Mapping[str, Any]
#: Kinds of operations that sessions call.
OpKind: TypeAlias = Literal["insert", "query", "together", "execute", "extract"]
#: Of one that sessions do not call: a step of its own.
Maintain: TypeAlias = Literal["maintain"]
#: Of one whose calls read or write records of a file.
Io: TypeAlias = Literal["io"]
IoKind: TypeAlias = Literal["read", "write"]
IoOrder: TypeAlias = Literal["sequential", "random"]
#: What a call of kind `key` does with the row of its key.
RowCall: TypeAlias = Literal["read", "insert", "update", "write", "delete"]
#: What the core runs and times, and what it does with the rows that a statement gives (`border/statement.py`).
Repeated: TypeAlias = Literal["", "each_row", "until_no_rows"]

FLOAT_TYPES = frozenset(holding("float"))
#: Values of a float that are no finite numbers, as a column names their shares: `nan_share`, …
NOT_FINITE = ("nan", "inf", "minus_inf")

#: Character sets of `char(n)`, as MySQL names them.
CHARSETS = ("utf8mb4", "latin1")

#: Logical type -> approximate bytes of a value; 8 of every other.
VALUE_BYTES = {kind.name: kind.bytes for kind in TYPES.values()}
#: Stored bytes by bytes of values, indexes and logs included, where nothing was measured yet.
STORED_SHARE = 2.0
#: A file of records is so many times as large as what may keep it in memory; of a smaller one figures may be of that memory.
TIMES_CACHES = 4


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    #: Generator by name and parameters, `{"kind": …, …}`; None for tables fed from files.
    gen: Mapping[str, Any] | None = None
    #: Share of NULL, 0…1.
    null_share: float = 0.0
    #: Of floats: what no generator makes by itself (nan, inf, minus_inf) -> its share, 0…1.
    not_finite: Mapping[str, float] = field(default_factory=dict)
    #: Of a text: it has at most so many characters, none of them a blank at its end; 0: any number.
    chars: int = 0
    #: Of such a text, one of `CHARSETS`.
    charset: str = "utf8mb4"
    #: Of a decimal: its digits, and how many of them stand behind the point.
    precision: int = 0
    scale: int = 0
    #: Of a bit: how many.
    bits: int = 0
    #: Takes no NULL, although files might hold one.
    required: bool = False
    #: Of a table that `inrush load` fills: its type in the database.
    declared: str = ""
    #: Of a table that it makes: a type of the database itself, in its words.
    made: str = ""

    @property
    def nullable(self) -> bool:
        return not self.required and (self.null_share > 0 or self.gen is None)

    @property
    def labels(self) -> tuple[str, ...]:
        """Of an enum, what its values may be, in their order. Twin of `GenPlan::labels`."""
        gen = self.gen or {}
        given = gen.get("values", ()) if gen.get("kind") == "categorical" else (gen.get("value"),)
        return tuple(label for label in given if isinstance(label, str)) if self.type == "enum" else ()

    @property
    def has_null_items(self) -> bool:
        """Of a list: whether its generator makes NULL in it."""
        return self.type.startswith("list") and int((self.gen or {}).get("null_ppm", 0)) > 0


@dataclass(frozen=True)
class FileSource:
    """The user's own files in place of a generator."""

    paths: tuple[str, ...]
    format: str  # csv, tsv, mysql, ndjson, parquet
    header: bool = True
    #: How rows are written where that is not usual for the format; names and values of `border.WrittenAs`.
    written: Mapping[str, str | int] = field(default_factory=dict)
    reject_limit: int = 1000
    #: Columns that may not be null, beside those of the table's identity.
    required: tuple[str, ...] = ()
    #: Column of times -> the one form that its texts have: iso, dmy (03/01/2026 is in January), mdy.
    times: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rates:
    """Series that differ in rate: log-normal around one row each period, with a phase of their own."""

    #: Standard deviation of the rate's natural logarithm.
    sigma: float
    #: A series with this share of all rows, 0…1.
    pinned: int | None = None
    share: float = 0.0


#: Of the sizes of files; twin of `ChunkProfile` in rust/rows/src/plan/table.rs.
Profile: TypeAlias = Literal["survey", "equal"]
PROFILES: tuple[Profile, ...] = get_args(Profile)


@dataclass(frozen=True)
class Chunks:
    """Rows in files, one for each chunk of a sky: neither series nor times, each file some runs of neighbouring keys."""

    files: int
    #: Rows of a run, about.
    run_rows: int
    #: Sizes of the files along their order: one of `PROFILES`.
    profile: Profile = "survey"


@dataclass(frozen=True)
class Partitions:
    """How one engine cuts a table by the time of its identity, or by the values of a column."""

    #: Data time of one partition.
    every_s: float
    #: Of engines that make every partition beforehand; later rows go to one more.
    count: int | None
    #: The workload's epoch, where engines begin that make every partition beforehand.
    epoch: str
    #: In place of these: a column, and the values that end its partitions; all from the last one on go to one more.
    column: str = ""
    below: tuple[int | str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Row i is sweep i // series, series i % series; sweeps are `period_s` apart in data time."""

    name: str
    columns: tuple[Column, ...]
    series: int = 1
    period_s: float = 1.0
    #: Columns that together are unique; tags + time on InfluxDB.
    identity: tuple[str, ...] = ()
    #: Layout name -> indexes, each "+"-free tuple of columns; the first is the primary key when unique.
    layouts: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    files: FileSource | None = None
    #: None: every series has a row each period.
    rates: Rates | None = None
    #: None: rows lie in no files of their own.
    chunks: Chunks | None = None
    #: Engine -> how it cuts the table; every other keeps it in one piece, or cuts it by a rule of its own.
    partitions: Mapping[str, Partitions] = field(default_factory=dict)

    def column(self, name: str) -> Column:
        return next(c for c in self.columns if c.name == name)

    @property
    def time(self) -> Column | None:
        """The column that the table is cut by: the time of its identity, else the first time that is never NULL."""
        times = [c for c in self.columns if c.type in ("time_ms", "time_us") and not c.nullable]
        return next((c for c in times if c.name in self.identity), times[0] if times else None)


@dataclass(frozen=True)
class KeyRows:
    """Rows of one table that calls ask for: a row number is drawn by a law, its columns are parameters."""

    table: str
    by: str = "uniform"
    #: Of `zipf`: the row of rank k is drawn in proportion to k^-exponent.
    exponent: float = 1.0
    #: Of `hot_set`, both 0…1: this share of the draws falls on this share of the rows.
    share_of_draws: float = 0.0
    share_of_rows: float = 0.0
    #: Rows from the table's first on; None: all that are loaded before anything is measured.
    rows: int | None = None
    #: Rows that are loaded when it is asked, where later steps add more; None: all of the table.
    held: int | None = None


@dataclass(frozen=True)
class RangeOf:
    """Rows of one series in a half-open interval of time. Exactly one of the lengths is given."""

    #: Column of `table` that the interval is of.
    time: str
    rows: int | None = None
    #: Of the rows of the series, 0…1.
    share: float | None = None
    seconds: float | None = None
    #: None: drawn among those that are long enough, each in proportion to its rows.
    series: int | None = None


@dataclass(frozen=True)
class DumpOf:
    """A table written to files, one for each call."""

    #: Where they lie; empty: in the folder of the run, and gone with it.
    folder: str
    #: How their names begin.
    name: str
    #: Call n has the rows from bounds[n] to before bounds[n + 1]; empty: one file with all rows.
    bounds: tuple[int, ...] = ()


@dataclass(frozen=True)
class RecordOf:
    """What each call does with one record of a file."""

    does: IoKind
    order: IoOrder
    record_bytes: int


@dataclass(frozen=True)
class AnswerForm:
    """What an answer is to look like, where the engine's language cannot say it."""

    #: What a row holds, by name and in this order.
    columns: tuple[str, ...]
    #: No row stands for a row of zeros, as of a count.
    zero_when_empty: bool = False


@dataclass(frozen=True)
class Prerequisite:
    """What an engine's statements need of the server: of its edition, its version, its settings."""

    #: A query for one value.
    sql: str
    #: That value, as text, of a server that has what is needed.
    equals: str
    #: Said of one that has not.
    reason: str


@dataclass(frozen=True)
class Operation:
    """One timed call."""

    name: str
    kind: OpKind | Maintain | Io
    table: str | None = None
    #: Parameter name -> {"type": …, "gen": {...}} in logical form.
    params: Mapping[str, Parameter] = field(default_factory=dict)
    #: The rows that its parameters with gen = "key" are columns of.
    key_rows: KeyRows | None = None
    #: The rows that a call of an extract asks for; of a query, what its parameters of a range are drawn from.
    range: RangeOf | None = None
    #: The same, in place of a range: its rows go to files.
    dump: DumpOf | None = None
    #: Of kind `io`: the size of its file; and what its calls do, as a role says it.
    file_bytes: int = 0
    record: RecordOf | None = None
    #: Of kind `extract`: its way out and, of a cursor, the rows that it fetches at a time, as the role says; empty: the
    #: engine's first.
    method: str = ""
    fetch_rows: int | None = None
    members: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    #: Seconds that data time is ahead of the clock when it is asked: those of the rows that steps have loaded before.
    ahead_s: float = 0.0
    #: Column of `table` behind each column of the answer, where rows of the answer are rows of the table.
    returns: tuple[str, ...] = ()
    #: Parameter -> the column of `table` that the statement compares it with.
    compared: Mapping[str, str] = field(default_factory=dict)
    #: What it does with the row of a key: the engine's twin makes its statement. Empty: it is no call by key.
    does: RowCall | Literal[""] = ""
    #: Of a read by key of several rows: column -> its parameter of each row, in the rows' order.
    each_row: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Of an update and a write by key: the columns that it changes, that of the version among them.
    changes: tuple[str, ...] = ()
    #: Of an update by key: the row's other columns as parameters, for engines that store whole rows.
    unchanged: Mapping[str, Parameter] = field(default_factory=dict)
    #: With `rows_regenerate`: no row may be the right answer although the keys have some.
    may_be_empty: bool = False
    #: Of a freshness reader: the series of the rows that it looks for.
    series: int = 0
    #: Parameter of a delete by age: rows before it go.
    deletes_before: str | None = None
    #: A call that takes longer is cancelled: outcome `timeout`. 0: none is.
    deadline_s: float = 0.0
    #: Dialect -> text with :name parameters and {table} names; "default" for all others.
    sql: Mapping[str, str] = field(default_factory=dict)
    #: Dialect -> the form of its answers, of those that cannot say it in their text.
    answers: Mapping[str, AnswerForm] = field(default_factory=dict)
    #: Engine -> why it cannot do this.
    unsupported: Mapping[str, str] = field(default_factory=dict)
    #: Of kind `maintain`: dialect -> its statements in order, each with its `repeat`.
    statements: Mapping[str, tuple[tuple[str, Repeated], ...]] = field(default_factory=dict)
    #: The same: engine -> what its server is asked before the first run.
    needs: Mapping[str, Prerequisite] = field(default_factory=dict)


@dataclass(frozen=True)
class Workload:
    name: str
    epoch: str  # RFC 3339, data time zero
    #: By name: rows, series, …; those ending in `_s` are seconds.
    sizes: Mapping[str, float]
    tables: Mapping[str, Table]
    operations: Mapping[str, Operation]
    #: Where it stands, for messages.
    file: str = ""

"""The Python twin of an engine: its dialect (pure) and its life (start, stop, cold)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

from inrush.border.load import Rule
from inrush.border.plan import ChecksumItem, Command
from inrush.engines.greeting import Protocol
from inrush.engines.sampled import Sampled
from inrush.errors import UsageError
from inrush.workload import Column, Operation, Table


@dataclass(frozen=True)
class TablePlan:
    """A table in one engine's dialect."""

    #: Physical, qualified and quoted name, as statements use it.
    name: str
    create: tuple[str, ...]
    #: Empties it so that the next repetition starts as the first did.
    fresh: tuple[str, ...]
    drop: tuple[Command, ...]
    #: Column -> wire type, in column order.
    wire: Mapping[str, str]
    #: What the engine cannot keep exactly, as sentences for the report.
    losses: tuple[str, ...] = ()
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


@dataclass(frozen=True)
class Probes:
    """Statements that return rows of (name, value)."""

    sizes: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    version: str = ""


#: Name among the settings read back: how the connection that reads them is encrypted.
TLS = "tls"


#: Option of a target: how sessions of a run reach a server on this machine. The first value is what they do anyway.
TRANSPORT = "transport"
TCP, UNIX = TRANSPORTS = ("tcp", "unix")

#: Name among the sizes: a write-ahead log, which holds nothing that the tables do not.
LOG = "log:wal"


class Survives(Enum):
    """What an acknowledged row survives: the normal form of durability, ordered."""

    NOTHING = 0
    PROCESS_CRASH = 1
    POWER_LOSS = 2


@dataclass(frozen=True)
class Durability:
    survives: Survives
    #: Longest time an acknowledged row can be lost for, where the engine bounds it (e.g. flush every second).
    window_s: float = 0.0
    #: The settings that say so, as read back from the server.
    because: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Release:
    engine: str
    version: str
    #: Prefix with the programs.
    path: Path
    #: Package names and hashes, for the record.
    source: str = ""


@dataclass
class Instance:
    """A server that inrush started."""

    engine: str
    data: Path
    url: str
    port: int
    pid: int
    log: Path
    release: Release
    settings: Mapping[str, str] = field(default_factory=dict)


class Stop(Enum):
    CLEAN = "clean"
    KILL = "kill"


@dataclass(frozen=True)
class Cold:
    #: What was done and checked.
    how: str


@dataclass(frozen=True)
class NotCold:
    reason: str


@dataclass(frozen=True)
class Target:
    """An engine at an address; `instance` when inrush started it."""

    engine: str
    #: Without password.
    url: str
    options: Mapping[str, str] = field(default_factory=dict)
    instance: Instance | None = None


def information_schema(schema: str, table: str, here: str, kind: str) -> str:
    """A table's columns by the views of SQL's standard. here: the connection's own schema; kind: the type's column."""

    def text(name: str) -> str:
        return "'" + name.replace("'", "''") + "'"

    return (
        f"SELECT column_name, {kind}, CASE is_nullable WHEN 'NO' THEN 1 ELSE 0 END "
        f"FROM information_schema.columns WHERE table_schema = {text(schema) if schema else here} "
        f"AND table_name = {text(table)} ORDER BY ordinal_position"
    )


#: PostgreSQL's.
HASH_PARTITIONS: Rule = {"kind": "hash_partitions"}


@dataclass(frozen=True)
class ShardedTable:
    """A coordinator's table: where its parts lie, in their order, and by which columns rows are placed."""

    #: With passwords, where the coordinator knows them.
    urls: tuple[str, ...]
    key: tuple[str, ...]
    rule: Rule
    #: As the loader shall call the table on the shards.
    name: str


#: A statement -> its rows; raises what the core raises.
Ask = Callable[[str], list[list[Any]]]


class Server(ABC):
    """Twin of rust/src/engine/<name>.rs: the dialect and the life of one engine."""

    name: ClassVar[str]
    #: As its makers write it, for sentences.
    title: ClassVar[str] = ""
    schemes: ClassVar[tuple[str, ...]]
    #: Insert methods, fastest first; factor `method`.
    methods: ClassVar[tuple[str, ...]]
    #: What studies call a method on every engine (`bulk`: whole batches, `multirow`: INSERTs of many rows) -> its name here.
    ways: ClassVar[Mapping[str, str]] = {}
    #: Runs inside the client's process.
    embedded: ClassVar[bool] = False
    #: At least a part of its work is done inside the client's process: CPU there is not the client's alone.
    works_in_client: ClassVar[bool] = False
    #: Dropping the namespace drops its tables.
    namespace_holds_tables: ClassVar[bool] = True
    #: Values that the option `transport` may have; empty: there is no choice.
    transports: ClassVar[tuple[str, ...]] = ()
    #: A table may have keys and indexes; without, every layout is the same table.
    indexes: ClassVar[bool] = True
    #: Sessions that may write at once; None: no limit.
    max_writers: ClassVar[int | None] = None
    #: Calls that one session can have in flight; twin of `max_depth` in rust/src/engine/mod.rs.
    max_depth: ClassVar[int] = 1
    #: Gives back what it was given; instruments keep nothing, so nobody asks them.
    answers: ClassVar[bool] = True
    #: The engine that its quiet answers are compared with: never itself.
    oracle: ClassVar[str] = "duckdb"
    #: Seconds of a call, and of a row of ten columns: orders of magnitude for a forecast; the pilot replaces them.
    rate: ClassVar[tuple[float, float]] = (5e-3, 5e-6)
    #: How its own statements write a list of keys: a pattern with `{name}` for the parameter, and the same for people.
    list_form: ClassVar[tuple[str, str]] = (r"\bIN\s*\(\s*:{name}\s*\)", "key IN (:{name})")
    #: `inrush load`: rows and the line of its ledger commit together (`Session::execute` in the core).
    transactional: ClassVar[bool] = False
    #: Names of tables are the same in capitals and small letters.
    folds_names: ClassVar[bool] = False
    #: A text of any length in a table of inrush's own, which may be NULL.
    long_text: ClassVar[str] = "text"
    #: Type of a column in the database, lower case and without length -> what its values may mean, the usual first.
    column_types: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    #: Floats beyond the finite ones that a column of floats holds: `nan`, `inf`.
    not_finite: ClassVar[frozenset[str]] = frozenset()
    #: Texts longer than a column's declared length are refused.
    bounds_texts: ClassVar[bool] = False
    #: Type of a column -> bytes that a text may have: one of more characters does not fit.
    text_bytes: ClassVar[Mapping[str, int]] = {}
    #: Type of a column -> least and greatest value that it takes, times in µs since 1970 where nothing else is said.
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = {}
    #: Digits of a second that a time's type keeps where it names no number of them.
    time_digits: ClassVar[int] = 6
    #: JSON is stored in another spelling than it came.
    rewrites_json: ClassVar[bool] = False
    #: A table that is made can have columns of days without a time.
    has_days: ClassVar[bool] = False
    #: Tables lie in a database that every connection names.
    in_database: ClassVar[bool] = False
    #: What rows are to survive -> how it is set: the end of an `--start`, or an entry of `[options.<engine>]`.
    survive_by: ClassVar[Mapping[Survives, str]] = {}
    #: Several servers of this kind stand as one behind a coordinator.
    coordinated: ClassVar[bool] = False
    #: It knows them by its configuration alone, which tells no passwords: theirs is its own.
    coordinator_configured: ClassVar[bool] = False
    #: A column that may be NULL is of another type, on the wire too, and cannot be a distribution key.
    null_is_a_type: ClassVar[bool] = False
    #: What a server of this kind speaks, and its port as shipped; None: nothing listens anywhere.
    protocol: ClassVar[Protocol | None] = None
    usual_port: ClassVar[int] = 0
    #: The extra (`inrush.extras`) that brings the engine's library; empty: inrush has it, or needs none.
    extra: ClassVar[str] = ""
    #: Variable that the engine's own programs read a password from.
    password_variable: ClassVar[str] = "INRUSH_PASSWORD"
    #: How a user gets the right to make the homes of runs.
    grant: ClassVar[str] = ""
    #: A query for the bytes that are free where its tables lie; empty where a server does not report.
    free_bytes: ClassVar[str] = ""
    #: Types of a table that `inrush load --create` makes depend on the server's version.
    types_by_version: ClassVar[bool] = False
    #: A database that every server of this kind has, where others can be made from (empty: none is named); None: none is made.
    first_database: ClassVar[str | None] = None

    # decides: pure, golden-tested, no I/O

    @abstractmethod
    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        """Statements that create the marked home of one run (schema, database, mark table)."""

    def foreign_objects(self, namespaces: Sequence[str]) -> str:
        """A query whose rows name what is not inrush's: tables of a file, homes of these names without its mark.

        Empty for an engine that cannot hold any.
        """
        return ""

    def find_foreign_objects(self, namespaces: Sequence[str], ask: Ask) -> list[str]:
        """What `foreign_objects` finds; an engine that needs more than one query asks them here."""
        statement = self.foreign_objects(namespaces)
        return [str(row[0]) for row in ask(statement)] if statement else []

    def ask_file(self, path: Path, statement: str) -> list[str]:
        """First values of a query on an embedded engine's file, opened for reading alone: opening it as a run does
        would change it already. Empty for what is no such file: a run will say so."""
        return []

    def deleting(self, plan: TablePlan) -> str:
        """A query with rows as long as deletes by age are worked on in the background; empty: they are done when answered."""
        return ""

    def drop_foreign_object(self, name: str) -> tuple[str, ...]:
        """What `--force` does to one of them; nothing where it is no obstacle."""
        return ()

    def lock(self, name: str, holder: str) -> tuple[str, ...]:
        """Statements that make a marked home which names its holder; they fail where it is there already.

        Empty for an engine that has no server which two studies could meet on. holder: has neither slash nor quote.
        """
        return ()

    def ask_holder(self, name: str) -> str:
        """A query for the holder of a lock; fails where there is no such lock."""
        return ""

    def parse_holder(self, rows: Sequence[Sequence[Any]]) -> str:
        """The holder, of the rows of `ask_holder`."""
        return str(rows[0][0]) if rows else ""

    @abstractmethod
    def drop_namespace(self, namespace: str) -> tuple[Command, ...]:
        """Statements that remove it; they touch nothing without inrush's mark."""

    @abstractmethod
    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan: ...

    @abstractmethod
    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported: ...

    @staticmethod
    def spread_list(text: str, param: str, names: Sequence[str]) -> str:
        """`IN (:param)` with one parameter for each of `names`."""
        each = ", ".join(f":{name}" for name in names)
        return re.sub(rf"\(\s*:{param}\s*\)", f"({each})", text)

    @abstractmethod
    def proof(self, table: Table, plan: TablePlan) -> Proof: ...

    def load_proof(
        self, table: Table, name: str, declared: Mapping[str, str], loose: Collection[str] = ()
    ) -> Proof:
        """The proof of a table that `inrush load` fills: every column has a figure, whatever its type, and all rows have one.

        name: as statements use it. declared: column -> type in the database. loose: columns that the database may round.
        Items of hash `read_back` are in no checksum query.
        """
        raise UsageError(f"{self.name}: inrush load does not prove its tables")

    def load_checksum_query(self, table: Table, name: str, items: Sequence[ChecksumItem]) -> str:
        """The statement of one row that has the figures of these items, in their order."""
        raise UsageError(f"{self.name}: inrush load does not prove its tables")

    def instant(self, column: Column, at_ns: int) -> str | None:
        """A time as this engine stores it in `column`, as a literal; None where proofs cannot ask by time."""
        return None

    @abstractmethod
    def probes(self, tables: Sequence[TablePlan]) -> Probes: ...

    @abstractmethod
    def durability(self, settings: Mapping[str, str]) -> Durability: ...

    def tls(self, target: Target, settings: Mapping[str, str]) -> str:
        """Version and cipher of the connections, `none` where they were not encrypted; empty where it is not known, or
        there is no connection. settings: as read back, where servers that know say it of the connection that asks."""
        return settings.get(TLS, "")

    # the tables of others, which `inrush load` fills

    def create_loaded(self, table: Table, name: str, sampled: Sampled) -> str:
        """The statement that makes the table of `inrush load --create`. name: as statements use it."""
        planned = self.plan_table(table, "", "inrush_load")
        return planned.create[0].replace(planned.name, name, 1)

    def create_database(self, name: str) -> str:
        """The statement that makes a database for a load. Only where `first_database` is not None."""
        return f'CREATE DATABASE "{name.replace(chr(34), 2 * chr(34))}"'

    def load_methods(self, table: Table) -> tuple[str, ...]:
        """The methods that can fill this table, fastest first."""
        return self.methods

    def describe(self, schema: str, table: str) -> str:
        """A query for (column, type, 1 where NULL is refused) of a table, in its columns' order; no row: no such table.

        schema: empty for the one that the connection is in.
        """
        return information_schema(schema, table, "current_schema()", "data_type")

    def unfit_for_load(self, schema: str, table: str) -> str:
        """A query whose rows say why this table cannot be loaded; empty where every table can."""
        return ""

    def create_keyed(self, name: str, columns: Mapping[str, str], key: Sequence[str]) -> str:
        """A table of inrush's own with a key, where it is not there yet. columns: name -> type of SQL's standard."""
        declared = ", ".join(f"{column} {kind} NOT NULL" for column, kind in columns.items())
        return f"CREATE TABLE IF NOT EXISTS {name} ({declared}, PRIMARY KEY ({', '.join(key)}))"

    def raw_columns(self, table: Table) -> Mapping[str, int]:
        """Columns of bytes that the core sends as they are -> n of a type `bit(n)`, 0 of others; twin of `ShardPlan::raw`.

        Without an entry rows have the hexadecimal digits, and the text of the insert makes bytes of them.
        """
        return {}

    def read_column(self, column: Column) -> str:
        """A column as a read-back selects it, so that its values come as the files have them."""
        return '"' + column.name.replace('"', '""') + '"'

    def schema_of(self, schema: str, table: str) -> str:
        """A query for one row: the schema (database) that holds this table, or would; one name, however it is spelled.

        schema: empty for the one that the connection is in.
        """
        return f"SELECT '{schema}'" if schema else "SELECT current_schema()"

    def copy_table(self, name: str, like: str) -> str:
        """An empty table of the same columns, where it is not there yet. Both names as statements use them."""
        return f"CREATE TABLE IF NOT EXISTS {name} AS SELECT * FROM {like} WHERE 1 = 0"

    # shards behind a coordinator; only where `coordinated`

    def ask_shards(self) -> str:
        """A query on a coordinator about the shards that it knows."""
        raise self._no_coordinator()

    def shard_urls(self, rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
        """Their addresses, of the rows of `ask_shards`; empty: it is no coordinator."""
        raise self._no_coordinator()

    def ask_sharded_table(self, schema: str, table: str) -> str:
        """A query on a coordinator about one of its tables; no row: there is none."""
        raise self._no_coordinator()

    def sharded_table(self, name: str, rows: Sequence[Sequence[Any]]) -> ShardedTable | None:
        """Where its parts lie, of the rows of `ask_sharded_table`; None: here. Raises UsageError."""
        raise self._no_coordinator()

    def leading(self, settings: Mapping[str, str], shards: Sequence[Instance]) -> Mapping[str, str]:
        """Settings of a coordinator of these shards, which inrush started and which run."""
        return settings

    def know_shards(self, urls: Sequence[str], passwords: Mapping[str, str]) -> Sequence[str]:
        """Statements that make shards known to their coordinator."""
        raise self._no_coordinator()

    def rule(self, kinds: Sequence[str], shards: int) -> Rule:
        """How a new table's rows are placed on shards. kinds: types of its key's columns."""
        return HASH_PARTITIONS

    def spread_table(
        self, name: str, columns: Sequence[tuple[str, str]], key: Sequence[str], urls: Sequence[str]
    ) -> Sequence[str]:
        """Statements that make the coordinator's table the whole of the shards' tables of that name."""
        raise self._no_coordinator()

    def _no_coordinator(self) -> UsageError:
        return UsageError(
            f"{self.name}: servers of this kind have no coordinator; name each shard by --shard"
        )

    # does: only for instances inrush started; embedded engines keep the defaults

    def fetch(self) -> Release:
        raise self._no_server()

    def start(self, data: Path, settings: Mapping[str, str]) -> Instance:
        """Returns when really ready."""
        raise self._no_server()

    def stop(self, instance: Instance, how: Stop) -> None:
        """Returns when gone."""
        raise self._no_server()

    def _no_server(self) -> UsageError:
        return UsageError(f"{self.name}: this engine is no server that inrush could fetch, start or stop")

    def run_target(self, target: Target, data: Path) -> Target:
        """Where one run of the study goes. Embedded engines without a file of the user's get a fresh one in
        `data`, and the options that the core needs to open it (the driver's path)."""
        return target

    def asked(self, instance: Instance) -> Mapping[str, str]:
        """Settings that a server of ours was started with, by the names under which it reports them."""
        return {}

    def by_profile(self, instance: Instance) -> Sequence[str]:
        """Those of `asked` that inrush chose by itself."""
        return ()

    def socket_url(self, instance: Instance) -> str | None:
        """The instance's address by its Unix socket; None where it has none (its path would be too long)."""
        return None

    def processes(self, target: Target) -> dict[str, list[int]]:
        """Role -> process ids; empty if remote or embedded."""
        return {}

    def make_cold(self, target: Target) -> Cold | NotCold:
        return NotCold("this engine has no cold protocol")

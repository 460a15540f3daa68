"""The plans of the two ends of a load. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypedDict

from inrush.border import plan as border
from inrush.border.load import (
    ClientFile,
    ClientPlan,
    FileStamp,
    ImportPlan,
    LedgerPlan,
    LinkPlan,
    MergeStep,
    Rule,
    ServerPlan,
    ShardPlan,
)
from inrush.border.statement import text_of
from inrush.engines.base.cluster import HASH_PARTITIONS
from inrush.engines.base.plans import OpPlan, TablePlan, Unsupported
from inrush.engines.base.sql import quote
from inrush.engines.base.twin import Twin
from inrush.errors import UsageError
from inrush.plan.ledger import LEDGER, ledger_statements, replica_load
from inrush.plan.single_role import single_role
from inrush.plan.units import ns
from inrush.workload import Operation, Table

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class TextFile(TypedDict):
    """A file, and how it is read."""

    path: str
    format: str
    header: bool
    written: border.WrittenAs
    #: How it was when its digest was taken. Without, as of an Arrow stream of our own, it may change.
    stamp: NotRequired[FileStamp]
    #: Of an Arrow stream: bytes of the file that it was made of, for each row.
    unit_bytes: NotRequired[float]


#: The source of a table with rows from elsewhere.
NO_FILES: TextFile = {"path": "-", "format": "csv", "header": False, "written": {}}


@dataclass(frozen=True)
class Wanted:
    """What a call of `inrush load` asks for, after its files were looked at."""

    table: Table
    #: Name as statements use it, quoted.
    target_table: str
    #: Column -> type in the database, of the distribution key.
    key: Mapping[str, str]
    method: str
    import_id: str
    #: In the order of their numbers.
    files: tuple[TextFile, ...]
    chunk_rows: int
    flush_rows: int
    connections: int
    parallel: int
    reject_limit: int
    patience_s: float
    #: Columns that the database does not take NULL in, and what else it does not take: `input.limits_of`.
    required: tuple[str, ...] = ()
    limits: Mapping[str, border.Limits] = field(default_factory=dict)
    #: Column of times -> how they are written: iso, dmy, mdy, or a pattern.
    times: Mapping[str, str] = field(default_factory=dict)
    #: Of those that name none, as of `study.zones.changes`; empty: UTC.
    zone: Sequence[tuple[int, int]] = ()
    bytes_per_s: float | None = None
    shard_rows_per_s: float | None = None
    #: How the key places rows on the shards.
    rule: Rule = field(default_factory=lambda: HASH_PARTITIONS)
    #: Where each shard also stores the rows of the shard before it, quoted; empty without replicas.
    replica_table: str = ""
    #: Number of each file in the ledger; their order without.
    numbers: tuple[int, ...] = ()
    #: What is summed over the rows of each chunk; nothing without.
    items: tuple[border.ChecksumItem, ...] = ()
    #: Beside the table; the connection's own schema without.
    ledger: str = ""
    #: Where rows may have keys that the table has; and where they come first, as statements use it.
    merge: Sequence[MergeStep] = ()
    stage: str = ""
    #: Folder of the files with its rejected rows.
    rejects: str = ""
    #: A `Begun` of `load/look.py`, for the end of the load.
    begun: object = field(default=None, compare=False)


def target_table(name: str) -> str:
    """`schema.table` or `table`, quoted: every connection of ours quotes as SQL's standard does."""
    return ".".join(quote(part) for part in name.split("."))


def replica_table(name: str) -> str:
    """Beside the table of a shard: the rows of the shard before it."""
    return target_table(f"{name}_replica")


def replica_places(shards: Sequence[tuple[str, border.Target]]) -> list[tuple[str, border.Target]]:
    """Where the rows of each shard are stored once more: on the next one, those of the last on the first."""
    return [
        (f"the replica of {name} on {beside}", target)
        for (name, _), (beside, target) in zip(shards, [*shards[1:], *shards[:1]], strict=True)
    ]


def table_plan(server: Twin, table: Table, physical: str) -> TablePlan:
    """The user's own table in the engine's dialect: the twin's, under the user's name."""
    planned = server.plan_table(table, "", "inrush_load")
    loading = server.loading
    wire = planned.wire
    if loading is not None:
        wire = {c.name: loading.wire_of(c, planned.wire[c.name]) for c in table.columns}
    create = tuple(text_of(first).replace(planned.name, physical, 1) for first in planned.create[:1])
    return TablePlan(
        name=physical,
        create=create,
        fresh=(),
        drop=(),
        wire=wire,
        losses=planned.losses,
        takes_no_rows=planned.takes_no_rows,
    )


def table_document(wanted: Wanted, planned: TablePlan, source: border.RowSource) -> border.TablePlan:
    columns: list[border.ColumnPlan] = [
        {
            "name": c.name,
            # Bytes travel as their hexadecimal digits.
            "type": "text" if c.type == "bytes" else c.type,
            "wire": planned.wire[c.name],
            "null_ppm": 1_000_000 if c.nullable else 0,
        }
        for c in wanted.table.columns
    ]
    return {
        "name": planned.name,
        "stream": wanted.table.name,
        "columns": columns,
        "source": source,
        "identity": list(wanted.table.identity),
    }


def read_as(file: TextFile) -> tuple[object, ...]:
    """Equal for files that are read in the same way."""
    return file["format"], file["header"], *sorted(file["written"].items())


def source_of(
    wanted: Wanted, paths: Sequence[str], file: TextFile, reject_path: str, reject_limit: int
) -> border.FileRows:
    """Files that are read as this one."""
    row_source: border.FileRows = {
        "kind": "files",
        "paths": list(paths),
        "format": file["format"],
        "header": file["header"],
        "written": file["written"],
        "reject_path": reject_path,
        "reject_limit": reject_limit,
        "required": list(wanted.required),
        "limits": dict(wanted.limits),
    }
    if wanted.times:
        row_source["times"] = dict(wanted.times)
    if wanted.zone:
        row_source["zone"] = list(wanted.zone)
    if of_bytes := [c.name for c in wanted.table.columns if c.type == "bytes"]:
        row_source["bytes"] = of_bytes
    return row_source


def server_plan(
    wanted: Wanted,
    server: Twin,
    shards: Sequence[tuple[str, border.Target]],
    listen: str,
    token: str,
    hash_threads: int = 0,
) -> ServerPlan:
    """Of a load server that is there for one import. shards: as of `import_plan`."""
    own = import_plan(wanted, server, shards)
    found: ServerPlan = {"role": "server", "listen": listen, "token": token, "load": own}
    if hash_threads:
        found["hash_threads"] = hash_threads
    return found


def import_plan(wanted: Wanted, server: Twin, shards: Sequence[tuple[str, border.Target]]) -> ImportPlan:
    """shards: name and target of each. Raises UsageError for a method that is not there."""
    physical, load = wanted.target_table, wanted.import_id
    copies = (wanted.replica_table, replica_load(load), replica_places(shards))
    return {
        "import": load,
        "key": [[name, kind] for name, kind in wanted.key.items()],
        "rule": wanted.rule,
        "shards": shard_documents(wanted, server, physical, load, shards),
        "replicas": shard_documents(wanted, server, *copies) if wanted.replica_table else [],
    }


def shard_documents(
    wanted: Wanted, server: Twin, physical: str, load: str, places: Sequence[tuple[str, border.Target]]
) -> list[ShardPlan]:
    """The places of one table, each with its plan and ledger. Raises UsageError for a method that is not there."""
    planned = table_plan(server, wanted.table, wanted.stage or physical)
    operation = Operation("insert", "insert", table=wanted.table.name)
    text = server.plan_operation(operation, wanted.method, {wanted.table.name: planned}, wanted.flush_rows)
    if isinstance(text, Unsupported):
        raise UsageError(f"--method {wanted.method}: {text.reason}")
    lines = ledger_statements(load, wanted.ledger or LEDGER)
    loading = server.loading
    raw = {} if loading is None else loading.raw_columns(wanted.table)
    # A copy has neither keys nor checks: it would take what the table refuses.
    can_undo = loading is not None and loading.transactional and not wanted.replica_table
    most = wanted.reject_limit if can_undo else 0
    return [
        shard_document(wanted, name, shard_plan(wanted, planned, text, target), lines, raw, most)
        for name, target in places
    ]


def shard_document(
    wanted: Wanted,
    name: str,
    plan: border.RunPlan,
    ledger: LedgerPlan,
    raw: Mapping[str, int],
    refused_most: int = 0,
) -> ShardPlan:
    """plan: what its engine is opened with. raw: as of `Loading.raw_columns`. refused_most: as of `ShardPlan`."""
    shard: ShardPlan = {
        "name": name,
        "plan": plan,
        "ledger": ledger,
        "connections": wanted.connections,
        "flush_rows": wanted.flush_rows,
        "patience_ns": ns(wanted.patience_s),
        "rows_per_s": wanted.shard_rows_per_s,
    }
    if wanted.merge:
        shard["merge"] = wanted.merge
    if refused_most:
        shard["refused_most"] = refused_most
    if raw:
        shard["raw"] = dict(raw)
    return shard


def shard_plan(wanted: Wanted, planned: TablePlan, insert: OpPlan, target: border.Target) -> border.RunPlan:
    """A plan of one role: what the engine is opened with."""
    work: border.RowsWork = {
        "kind": "rows", "table": 0, "first_row": 0, "rows": 1, "batch_rows": wanted.flush_rows
    }  # fmt: skip
    return {
        "version": border.PLAN_VERSION,
        "run_id": wanted.import_id,
        "study": "load",
        "seed": 0,
        "epoch_ns": 0,
        "target": target,
        # How texts are read is the client's alone.
        "tables": [table_document(wanted, planned, source_of(replace(wanted, times={}, zone=()), ["-"], NO_FILES, "-", 0))],
        "operations": [
            {"name": "insert", "kind": "insert", "table": 0, "text": insert.text, "method": insert.method, "params": []}
        ],
        "segments": [
            {
                "kind": "drive",
                "label": "load",
                "phase": "load",
                "limit_ns": 0,
                "roles": [single_role("loader", "insert", work, wanted.connections)],
            }
        ],
        "record": {"interval_ns": ns(1), "flush_ns": ns(2)},
        "watch": {"every_ns": 0, "processes": {}},
    }  # fmt: skip


def link_plan(address: str, token: str, tls: Mapping[str, str] | None = None) -> LinkPlan:
    """tls: `ca` (a file) or `fingerprint`."""
    return {"server": address, "token": token, "tls": None if tls is None else dict(tls)}


def client_plan(
    wanted: Wanted,
    server: Twin,
    link: LinkPlan,
    reject_folder: str,
    files: Sequence[int] | None = None,
    setup: ImportPlan | None = None,
) -> ClientPlan:
    """files: numbers of those that this client loads; all when None. setup: where the load server was not started for this import."""
    planned = table_plan(server, wanted.table, wanted.target_table)
    chosen = range(len(wanted.files)) if files is None else files
    places: dict[tuple[object, ...], int] = {}
    tables: list[border.TablePlan] = []

    def client_file(number: int) -> ClientFile:
        file = wanted.files[number]
        place = places.setdefault(read_as(file), len(places))
        if place == len(tables):
            source = source_of(wanted, [], file, "", wanted.reject_limit)
            tables.append(table_document(wanted, planned, source))
        # That of the ledger: the next command may name the files in another order.
        own = wanted.numbers[number] if wanted.numbers else number
        found: ClientFile = {
            "number": own,
            "table": place,
            "path": file["path"],
            "reject_path": f"{reject_folder}/{own:06}.csv",
        }
        if "stamp" in file:
            found["stamp"] = file["stamp"]
        if "unit_bytes" in file:
            found["unit_bytes"] = file["unit_bytes"]
        return found

    read = [client_file(number) for number in chosen]
    return {
        "role": "client",
        "link": link,
        "import": wanted.import_id,
        "setup": setup,
        "tables": tables,
        "files": read,
        "parallel": wanted.parallel,
        "chunk_rows": wanted.chunk_rows,
        "items": list(wanted.items),
        "reject_limit": wanted.reject_limit,
        "bytes_per_s": wanted.bytes_per_s,
        "in_order": bool(wanted.merge),
    }

"""Both ends of a load, and what is read of its tables, as `rust/load/src` reads them. Names are those of its types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from inrush.border.plan import ChecksumItem, RunPlan, TablePlan, Target

if TYPE_CHECKING:
    from typing_extensions import NotRequired

#: `import` is a word of Python.
_OfImport = TypedDict("_OfImport", {"import": str})


# --- placing rows on shards


class HashPartitions(TypedDict):
    """PostgreSQL's partitions by hash."""

    kind: Literal["hash_partitions"]


#: What stands before the remainder is taken.
Hash: TypeAlias = Literal["int_hash64", "city_hash64", "value"]


class Distributed(TypedDict):
    """ClickHouse's tables of engine Distributed."""

    kind: Literal["distributed"]
    hash: Hash
    #: Of the shards, in their order.
    weights: Sequence[int]


Rule: TypeAlias = HashPartitions | Distributed


# --- an import and its shards


class LedgerPlan(_OfImport):
    """Statements about the ledger; `import` is the import as a literal."""

    read: str
    #: Up to and with VALUES.
    insert: str


class MergeStep(TypedDict):
    """A statement."""

    text: str
    #: Of a line in the ledger, about rows that the table loses or does not take: what follows `, file, chunk` behind the text.
    noted: NotRequired[str | None]


class ShardPlan(TypedDict):
    name: str
    #: What its engine is opened with.
    plan: RunPlan
    ledger: LedgerPlan
    connections: int
    flush_rows: int
    patience_ns: int
    rows_per_s: float | None
    #: More rows of one chunk than this that the server refuses, each for itself, end the load; without, the first one does.
    refused_most: NotRequired[int]
    #: Columns of hexadecimal digits that are stored as bytes -> n of PostgreSQL's `bit(n)`, 0 of others.
    raw: NotRequired[Mapping[str, int]]
    #: Where rows may have keys that the table has already: from where the insert puts them into the table.
    merge: NotRequired[Sequence[MergeStep]]


class ImportPlan(_OfImport):
    #: Column and its type in the database, of the distribution key.
    key: Sequence[Sequence[str]]
    rule: NotRequired[Rule]
    shards: Sequence[ShardPlan]
    replicas: NotRequired[Sequence[ShardPlan]]


# --- the two ends


class ServerTls(TypedDict):
    """PEM files."""

    certificate: str
    key: str


class Serves(TypedDict):
    """Targets of a load server that waits for clients."""

    shards: Sequence[Target]
    coordinator: NotRequired[Target | None]


class ServerPlan(TypedDict):
    role: Literal["server"]
    listen: str
    token: str
    tls: NotRequired[ServerTls | None]
    load: NotRequired[ImportPlan]
    serves: NotRequired[Serves]
    #: Threads that place the rows of an import; 0: the thread of each connection does.
    hash_threads: NotRequired[int]


class LinkPlan(TypedDict):
    """The way to a load server."""

    server: str
    token: str
    #: `ca` (a file) or `fingerprint`.
    tls: dict[str, str] | None


class FileStamp(TypedDict):
    """A file as it was when its digest was taken."""

    bytes: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class ClientFile(TypedDict):
    #: In the ledger.
    number: int
    #: Its place in `tables`; the first without.
    table: NotRequired[int]
    path: str
    #: Of its own.
    reject_path: str
    #: Without, it may change while it is loaded.
    stamp: NotRequired[FileStamp | None]
    #: Of an Arrow stream: bytes of the file that it was made of, for each row.
    unit_bytes: NotRequired[float]


class ClientPlan(_OfImport):
    role: Literal["client"]
    link: LinkPlan
    setup: NotRequired[ImportPlan | None]
    silence_ns: NotRequired[int]
    #: What files hold and how they are read; the paths in them are those of each file.
    tables: NotRequired[Sequence[TablePlan]]
    files: Sequence[ClientFile]
    parallel: int
    chunk_rows: int
    items: NotRequired[Sequence[ChecksumItem]]
    reject_limit: int
    bytes_per_s: float | None
    reader_bytes_per_s: NotRequired[float | None]
    file_by_file: NotRequired[bool]
    #: A chunk is sent when the one before is stored.
    in_order: NotRequired[bool]


LoadPlan: TypeAlias = ClientPlan | ServerPlan


# --- what is read of a table, and of files


class Scan(TypedDict):
    """A table that is read as a whole: a `ScanPlan` before it is known where the table is."""

    #: The columns that the statement reads, in its order.
    table: TablePlan
    statement: str
    items: Sequence[ChecksumItem]


class ScanPlan(Scan):
    target: Target


class FilesPlan(TypedDict):
    """Files that are read as they are loaded."""

    tables: Sequence[TablePlan]
    #: Of the digest.
    columns: Sequence[str]
    items: NotRequired[Sequence[ChecksumItem]]
    #: Path of a file -> good rows of it that a server refused, by their numbers, in order.
    without: NotRequired[Mapping[str, Sequence[int]]]

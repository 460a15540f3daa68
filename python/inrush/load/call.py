"""What `inrush load` is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from inrush.border.load import Rule
from inrush.border.table import WrittenAs
from inrush.engines.base.merge import Merging


@dataclass(frozen=True)
class Call:
    """What the command line says."""

    files: tuple[str, ...]
    table: str
    into: str | None = None
    shards: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    method: str = ""
    create: bool = False
    parallel: int = 1
    connections: int = 1
    chunk_rows: int = 20_000
    flush_rows: int = 100_000
    reject_limit: int = 1_000
    patience_s: float = 60.0
    process_per_file: bool = False
    #: Threads of the load server that place rows; 0: the thread of each connection places its own.
    hash_threads: int = 0
    bytes_per_s: float | None = None
    shard_rows_per_s: float | None = None
    import_id: str | None = None
    #: Loads files that are stored already, or of which the table has lost rows.
    again: bool = False
    #: Empties the table first, unless it is being filled so already.
    truncate: bool = False
    #: Reads the table back and compares it with the files.
    verify: bool = False
    #: Counts the rows of the table, and leaves the sums of its columns to a later call.
    count_only: bool = False
    #: What becomes of a row whose key is in the table; None: the server refuses it.
    merging: Merging | None = None
    #: Each row also on the shard after its own.
    replica: bool = False
    #: Address of a load server that is there already, its token, and by what its certificate is known.
    server: str | None = None
    token_file: str | None = None
    ca: str | None = None
    fingerprint: str | None = None
    #: How the key places rows, where a table that is there says it.
    rule: Rule | None = None
    #: Types of a table that is made: those that nearly all values fit; and the order of day and month, see `read_dates`.
    strict: bool = False
    dates: str | None = None
    #: Patterns of dates: `FORMAT`, or `COLUMN=FORMAT`.
    date_formats: tuple[str, ...] = ()
    #: Of which times are that name none; empty: UTC.
    timezone: str = ""
    #: `reject_limit` is the command line's: rejected rows within it are no failure.
    limit_said: bool = False
    #: Whether line 1 of a text file is its header, yes or no, and names for the columns of files without one.
    header: str | None = None
    columns: str | None = None
    #: Of text files, where their first lines do not report: csv, tsv or mysql.
    format: str | None = None
    #: How the rows of text files are written, where their first lines do not say it: `WrittenAs`.
    written: WrittenAs = field(default_factory=WrittenAs)
    #: Of text files that are not UTF-8.
    encoding: str = ""
    #: Column of a new table -> its type.
    types: Mapping[str, str] = field(default_factory=dict)
    #: Looks and reads, and changes nothing.
    dry_run: bool = False
    #: Where the series of rows, bytes and files goes; None: none is written.
    series: str | None = None

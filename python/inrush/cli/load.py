"""Commands that load files."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from inrush.cli.words import (
    AsJson,
    ColumnNames,
    CommentMark,
    DateFormats,
    Dates,
    DecimalMark,
    Delimiter,
    EscapeMark,
    Format,
    Header,
    NullWord,
    Quiet,
    QuoteMark,
    Shards,
    SkipLines,
    Strict,
    ThousandsMark,
    Timezone,
)

HashThreads = Annotated[
    int,
    typer.Option(
        min=0,
        max=64,
        metavar="N",
        help="Place rows on shards by this many threads of the load server; 0: by the thread of each connection.",
    ),
]
#: Without `--reject-limit`.
REJECTS = 1_000


def load(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Files or patterns: CSV, TSV, MySQL text, JSON lines or Parquet, compressed or not; - for stdin.",
        ),
    ],
    table: Annotated[str, typer.Option(metavar="NAME", help="Load into this table, or schema.table.")],
    into: Annotated[
        str | None, typer.Option(metavar="URL", help="Load into this server or database file.")
    ] = None,
    shard: Shards = None,
    key: Annotated[
        str,
        typer.Option(
            metavar="COLUMN,…",
            help="Distribute rows by these columns, as in PARTITION BY HASH; for a new table of ClickHouse also its ORDER BY.",
        ),
    ] = "",
    create: Annotated[
        bool,
        typer.Option(
            "--create", help="Make the table from the files' columns, and the database if it is missing."
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Load even files that are stored already, or rows that the table has lost."
        ),
    ] = False,
    truncate: Annotated[
        bool,
        typer.Option(
            "--truncate",
            help="Empty the table before the first row is stored. A load that was killed goes on without that.",
        ),
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the table back and compare every row with the files.")
    ] = False,
    proof: Annotated[
        Literal["sums", "count"],
        typer.Option(
            metavar="sums|count",
            help="Hold the sums of all columns against the table when the last row is stored; or count its rows only, and "
            "leave the sums to the same command without this.",
        ),
    ] = "sums",
    replica: Annotated[
        bool, typer.Option("--replica", help="Store a second copy of each row, on the next shard.")
    ] = False,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="Insert by this method; default: the engine's fastest.")
    ] = "",
    parallel: Annotated[int, typer.Option(min=1, metavar="N", help="Read this many files at once.")] = 1,
    connections: Annotated[
        int, typer.Option(min=1, max=1_024, metavar="N", help="Write to each shard by this many connections.")
    ] = 1,
    chunk_rows: Annotated[
        int,
        typer.Option(
            min=1, max=1_000_000, metavar="N", help="Store this many rows at a time, whole or not at all."
        ),
    ] = 20_000,
    flush_rows: Annotated[
        int,
        typer.Option(
            min=1, max=10_000_000, metavar="N", help="Commit about this many rows in one transaction."
        ),
    ] = 100_000,
    reject_limit: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="End the load when more rows than this are rejected; fewer are no failure. Without it the limit is 1,000, and any rejected row gives exit code 1.",
        ),
    ] = None,
    upsert: Annotated[
        bool,
        typer.Option(
            "--upsert", help="A row whose --key is in the table takes the place of the row that is there."
        ),
    ] = False,
    on_conflict: Annotated[
        str | None,
        typer.Option(
            "--on-conflict", metavar="skip", help="skip: a row whose --key is in the table is left out."
        ),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Wait this long for a shard that cannot be reached, before the load ends.",
        ),
    ] = 60.0,
    process_per_file: Annotated[
        bool,
        typer.Option(
            "--process-per-file",
            help="Use a load server and a client for each file, one after the other; with --server only a client.",
        ),
    ] = False,
    hash_threads: HashThreads = 0,
    import_id: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name this import; default: made from the content of the files and the table.",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Send the rows to the `inrush load-server` at this address; it knows the databases.",
        ),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="With --server: read its token from this file."),
    ] = None,
    ca: Annotated[
        str | None, typer.Option(metavar="FILE", help="With --server: trust these certificates (PEM).")
    ] = None,
    fingerprint: Annotated[
        str | None,
        typer.Option(metavar="SHA256", help="With --server: trust the certificate with this fingerprint."),
    ] = None,
    strict: Strict = False,
    dates: Dates = None,
    date_format: DateFormats = None,
    timezone: Timezone = "",
    header: Header = None,
    columns: ColumnNames = None,
    format: Format = None,
    delimiter: Delimiter = None,
    quote: QuoteMark = None,
    escape: EscapeMark = None,
    null: NullWord = None,
    comment: CommentMark = None,
    skip: SkipLines = 0,
    decimal: DecimalMark = None,
    thousands: ThousandsMark = None,
    encoding: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The text is not UTF-8 but, for instance, windows-1252, latin-1 or utf-16."
        ),
    ] = "",
    type: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COLUMN=TYPE",
            help="With --create: give this column this type, one of inrush's or of the database's; given once for each.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Read the files, say what would be created and stored and which rows rejected, and change nothing.",
        ),
    ] = False,
    series: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.parquet",
            help="Write what the load did to this file: rows, bytes, files and the table's size, a row for each second.",
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Load files into one server or many shards: every row stored once, or rejected with line and reason."""
    from inrush.commands.load import load as command
    from inrush.load.call import Call
    from inrush.load.merge import merging_of
    from inrush.study.said import read_types, written_as

    keys = tuple(k.strip() for k in key.split(",") if k.strip())
    written = written_as(
        delimiter=delimiter, quote=quote, escape=escape, null=null, comment=comment, skip=skip, decimal=decimal,
        thousands=thousands,
    )  # fmt: skip
    call = Call(
        tuple(files), table, into, tuple(shard or ()), keys, method, create, parallel, connections, chunk_rows,
        flush_rows, REJECTS if reject_limit is None else reject_limit, patience, process_per_file,
        hash_threads=hash_threads, import_id=import_id, replica=replica, again=again, verify=verify, count_only=proof == "count", limit_said=reject_limit is not None,
        server=server, token_file=token_file, ca=ca, fingerprint=fingerprint, strict=strict, dates=dates,
        date_formats=tuple(date_format or ()), timezone=timezone,
        header=header, columns=columns, format=format, written=written, encoding=encoding, types=read_types(type or ()),
        dry_run=dry_run, series=series, merging=merging_of(upsert, on_conflict), truncate=truncate,
    )  # fmt: skip
    raise typer.Exit(command(call, as_json, quiet))


def loads(
    into: Annotated[
        str | None, typer.Option(metavar="URL", help="Look into this server or database file.")
    ] = None,
    shard: Shards = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only what was loaded into this table, or schema.table."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what was loaded into a database: when, from which files, how many rows stored and rejected."""
    from inrush.commands.loads import loads as command

    command(tuple(shard or ()) or ((into,) if into else ()), table, as_json)


def load_server(
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Listen on this address; port 0: a free one.")
    ] = "127.0.0.1:0",
    into: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Store the rows in this server or database file; with --shard: in this coordinator.",
        ),
    ] = None,
    shard: Shards = None,
    token_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Let in clients that know the token in this file. Default, if only this host can connect: a new token.",
        ),
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="TLS: use this certificate and the ones that signed it (PEM)."),
    ] = None,
    certificate_key: Annotated[
        str | None, typer.Option(metavar="FILE", help="TLS: use this private key (PEM).")
    ] = None,
    self_signed: Annotated[
        bool,
        typer.Option(
            "--self-signed", help="TLS: make a certificate, which clients trust by its fingerprint."
        ),
    ] = False,
    hash_threads: HashThreads = 0,
    as_json: AsJson = False,
) -> None:
    """Serve `inrush load --server` on this or other hosts, and store the rows that it sends."""
    from inrush.commands.load_server import load_server as command
    from inrush.load.serve import Serving

    call = Serving(
        listen, into, tuple(shard or ()), token_file, certificate, certificate_key, self_signed, hash_threads
    )
    raise typer.Exit(command(call, as_json))

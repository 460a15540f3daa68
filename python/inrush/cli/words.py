"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Study = Annotated[
    str,
    typer.Argument(metavar="STUDY", help="Name of a study (see `inrush studies`) or path of a study file."),
]
Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGET",
        help="Where to run: URLs (postgresql://user@host/db) or names of embedded engines. Default, without --start: the "
        "study's embedded engines.",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Run the study at this size: xs (seconds), s (minutes), full (as published)."
    ),
]
Start = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ENGINE[,SETTING=VALUE…]",
        help="Start this engine here for the length of the study, and run on it and on the targets that are named. "
        "Takes profile=default or tuned, and any setting of the engine.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "-P", metavar="KEY=VALUE", help="Change one value of the study; KEY=VALUE,VALUE… gives a list."
    ),
]
Repeats = Annotated[
    int | None,
    typer.Option(metavar="N", help="Measure every point in N blocks: short for -P repeats.count=N."),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Use this seed, which decides the rows and the order of runs: short for -P repeats.seed=N.",
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Give new columns the type that 99 % of their values fit, and reject rows with other values.",
    ),
]
Dates = Annotated[
    str | None,
    typer.Option(
        metavar="ORDER",
        help="Read dates such as 03/01/2026 as dmy (day first), mdy or text; COLUMN=dmy,… for single columns.",
    ),
]
DateFormats = Annotated[
    list[str] | None,
    typer.Option(
        "--date-format",
        metavar="[COLUMN=]FORMAT",
        help="Read dates by these signs, such as '%d.%m.%y %H:%M'; without a column all that are written so. Given once for each.",
    ),
]
Timezone = Annotated[
    str,
    typer.Option(
        metavar="ZONE",
        help="Times that name no zone are of this one, such as Europe/Berlin or +01:00. Default: UTC.",
    ),
]
Header = Annotated[
    str | None,
    typer.Option(
        metavar="yes|no", help="Say whether line 1 names the columns; default: its content decides."
    ),
]
ColumnNames = Annotated[
    str | None,
    typer.Option(metavar="NAME,…", help="Name the columns of files without a header, in their order."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Read text as csv, tsv, mysql (text of SELECT … INTO OUTFILE) or ndjson; default: the first lines decide.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR", help="Fields are apart by this character (or: tab); default: the first lines decide."
    ),
]
QuoteMark = Annotated[
    str | None, typer.Option("--quote", metavar="CHAR", help='Quotes around fields (or: none); default: ".')
]
EscapeMark = Annotated[
    str | None,
    typer.Option(
        "--escape", metavar="CHAR", help="What stands before a quote inside quotes, beside the quote itself."
    ),
]
NullWord = Annotated[
    str | None,
    typer.Option(
        "--null",
        metavar="WORD",
        help="A field without quotes that is this has no value; default: the rows decide.",
    ),
]
CommentMark = Annotated[
    str | None,
    typer.Option("--comment", metavar="CHAR", help="Lines that begin with this character are no rows."),
]
SkipLines = Annotated[
    int,
    typer.Option(
        "--skip", min=0, metavar="N", help="Leave out so many lines before the header or the first row."
    ),
]
DecimalMark = Annotated[
    str | None,
    typer.Option(
        "--decimal", metavar="CHAR", help="What stands before the fraction of a number, for instance a comma."
    ),
]
ThousandsMark = Annotated[
    str | None,
    typer.Option("--thousands", metavar="CHAR", help="What parts a number's digits into threes (or: space)."),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress and no notes, only the last lines and errors.")
]
Live = Annotated[
    bool,
    typer.Option("--live", help="Show the study in a browser while it runs; prints the address of the page."),
]
LiveAddress = Annotated[
    str | None,
    typer.Option(
        "--live-address",
        metavar="HOST:PORT",
        help="Serve the page of --live here. Default: a free port of this machine alone. An address that other machines reach "
        "needs a token (INRUSH_LIVE_TOKEN or INRUSH_LIVE_TOKEN_FILE).",
    ),
]
LiveStay = Annotated[
    bool,
    typer.Option("--live-stay", help="With --live: serve the report at the end, until Ctrl-C."),
]
LivePush = Annotated[
    str | None,
    typer.Option(
        "--live-push",
        metavar="URL",
        help="With --live: push its metrics to this Prometheus Pushgateway, every ten seconds.",
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Open the report in the browser, if there is one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Which = Annotated[
    str | None,
    typer.Argument(
        metavar="RESULTS", help="Results: path, id, beginning of an id, or study. Default: the latest."
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep the data of started servers, and files of DuckDB and SQLite while a study runs, in this folder.",
    ),
]
Places = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="DIR|NAME=DIR",
        help="Keep the data of started servers, and files of DuckDB and SQLite while a study runs, in this folder. NAME=DIR, given "
        "once for each, names storages: every engine runs on all of them.",
    ),
]
Input = Annotated[
    Path | None,
    typer.Option(
        "--input",
        metavar="DIR",
        help="Write the input files that a study makes (load steps with files, sorts, pipelines) to this folder, for instance on "
        "a disk of their own. It must exist. Default: with the data.",
    ),
]
Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME.LIMIT=VALUE",
        help="Limit started servers, by the name of a storage or an engine: slow.write_bytes_per_s=20M. Limits are memory, cpu, "
        "read_bytes_per_s, write_bytes_per_s, reads_per_s and writes_per_s. Needs root.",
    ),
]
Fleet = Annotated[
    str | None,
    typer.Option(
        "--fleet",
        metavar="local:N|tls://HOST:PORT",
        help="Run the client processes on the workers of this Dask scheduler, one on each; local:N starts N workers "
        "here.",
    ),
]
FleetInsecure = Annotated[
    bool,
    typer.Option(
        "--fleet-insecure",
        help="Accept a scheduler without TLS (tcp://), where network and machines are your own.",
    ),
]
FleetWait = Annotated[
    float,
    typer.Option(
        "--fleet-wait",
        metavar="SECONDS",
        help="Wait this long for the scheduler, and for as many workers as a run has client processes (-P clients=N).",
    ),
]
Shards = Annotated[
    list[str] | None,
    typer.Option(
        metavar="URL", help="Load into this shard; given once for each, in the order of the partitions."
    ),
]

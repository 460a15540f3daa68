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
        help="URLs (postgresql://user@host/db) or names of embedded engines; default, without --start: the embedded "
        "engines of the study.",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Preset of the study: xs (seconds), s (minutes), full (as published)."),
]
Start = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ENGINE[,SETTING=VALUE…]",
        help="Start this engine here for the length of the study, and run on it alone or beside the targets that are "
        "named; profile=default or tuned, and any setting of its own.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("-P", metavar="KEY=VALUE", help="Change one value of the study; a list: KEY=VALUE,VALUE…"),
]
Seed = Annotated[int | None, typer.Option(help="Seed in place of the study's own: decides rows and order.")]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="For new columns take a type that 99 % of the values fit; reject rows with other values.",
    ),
]
Dates = Annotated[
    str | None,
    typer.Option(
        metavar="ORDER",
        help="Dates such as 03/01/2026: dmy (day first), mdy or text; COLUMN=dmy,… for single columns.",
    ),
]
Header = Annotated[
    str | None,
    typer.Option(
        metavar="yes|no", help="Line 1 names the columns, or is data; default: its content decides."
    ),
]
ColumnNames = Annotated[
    str | None,
    typer.Option(metavar="NAME,…", help="Names for the columns of files without a header, in their order."),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no notes: only the last lines and errors.")
]
Live = Annotated[
    bool,
    typer.Option("--live", help="Show the study in a browser while it runs: prints the address of the page."),
]
LiveAddress = Annotated[
    str | None,
    typer.Option(
        "--live-address",
        metavar="HOST:PORT",
        help="Where --live serves the page; default: a free port of this machine alone. Beyond it, a token is needed "
        "(INRUSH_LIVE_TOKEN or INRUSH_LIVE_TOKEN_FILE).",
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
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable, on stdout.")]
Which = Annotated[
    str | None,
    typer.Argument(
        metavar="RESULTS", help="Results: path, id, beginning of an id or study; without it the latest."
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        help="Folder for the data of started servers, and for files of DuckDB and SQLite while a study runs."
    ),
]
Places = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="DIR|NAME=DIR",
        help="Folder for the data of started servers, and for files of DuckDB and SQLite while a study runs. With names, given "
        "once for each: storages, on all of which every engine runs.",
    ),
]
Input = Annotated[
    Path | None,
    typer.Option(
        "--input",
        metavar="DIR",
        help="Folder for the input files that a study makes (load steps with files, sorts, pipelines), for instance on a disk of "
        "their own; it must be there. Default: with the data.",
    ),
]
Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME.LIMIT=VALUE",
        help="Hold started servers to a limit: those on a storage, or those of an engine. slow.write_bytes_per_s=20M; memory, "
        "cpu, read_bytes_per_s, write_bytes_per_s, reads_per_s, writes_per_s. Needs root.",
    ),
]
Fleet = Annotated[
    str | None,
    typer.Option(
        "--fleet",
        metavar="local:N|tls://HOST:PORT",
        help="Client processes of each run live on the workers of this Dask scheduler, one on each; local:N starts N workers "
        "here.",
    ),
]
FleetInsecure = Annotated[
    bool,
    typer.Option(
        "--fleet-insecure",
        help="Take a scheduler without TLS (tcp://), where network and machines are your own.",
    ),
]
FleetWait = Annotated[
    float,
    typer.Option(
        "--fleet-wait",
        metavar="SECONDS",
        help="How long the scheduler is waited for, and as many workers as a run has client processes (-P clients=N).",
    ),
]
Shards = Annotated[
    list[str] | None,
    typer.Option(metavar="URL", help="URL of a shard; given once for each, in the order of the partitions."),
]

"""Commands about study files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    QuoteMark,
    SkipLines,
    Strict,
    Study,
    ThousandsMark,
)
from inrush.commands.printing import say, show, show_json, took


def studies(as_json: AsJson = False) -> None:
    """List the studies that come with inrush, one line each."""
    from inrush.study.shipped import shipped_studies
    from inrush.study.toml import read_toml
    from inrush.text import columns

    rows = [(s.name, str(read_toml(s.path).get("title", ""))) for s in shipped_studies()]
    if as_json:
        show_json([{"name": name, "title": title} for name, title in rows])
    else:
        show(columns(rows, ("study", "title")))


def config(
    study: Study,
    workload: Annotated[bool, typer.Option("--workload", help="Print the workload file instead.")] = False,
) -> None:
    """Print a study's file with its comments, as a start for your own."""
    from inrush.study.shipped import find_study, workload_path
    from inrush.study.toml import read_toml

    path = find_study(study).path
    used = workload_path(str(read_toml(path).get("workload", "")), path)
    say(f"# {used if workload else path}")
    show((used if workload else path).read_text().splitlines())


def new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Name of the new study; writes NAME.toml and NAME-workload.toml."
        ),
    ],
    source: Annotated[
        Path,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Read your rows from this file: CSV, TSV, MySQL text, JSON lines or Parquet.",
        ),
    ],
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Write the files to this folder.")] = Path(),
    strict: Strict = False,
    dates: Dates = None,
    date_format: DateFormats = None,
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
) -> None:
    """Write a study of your own data: workload and study, with a table inferred from a file."""
    from inrush.commands.dates import with_dates
    from inrush.study.chosen import Asked, read_dates
    from inrush.study.date_formats import read_formats
    from inrush.study.new import write_new
    from inrush.study.said import read_said, written_as
    from inrush.times import Times

    written = written_as(
        delimiter=delimiter, quote=quote, escape=escape, null=null, comment=comment, skip=skip, decimal=decimal,
        thousands=thousands,
    )  # fmt: skip
    said, formats = read_said(header, columns, format, written), read_formats(date_format or ())

    def write(dates: str | None) -> list[Path]:
        asked = Asked(strict, read_dates(dates), formats=formats)
        return write_new(name, [source], folder, asked, say, said)

    times = Times(["sampling_s"])
    with times.part("sampling_s"):
        paths = with_dates(write, dates)
    for path in paths:
        show([str(path)])
    say(took(times.whole_s, times.parts()))
    say(f"look at the types in {paths[0]}, then: inrush run {paths[-1]}")

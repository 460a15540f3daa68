"""`inrush new`: a workload and a study of the user's own, written from a file of their rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from inrush.errors import UsageError
from inrush.study.chosen import AS_FOUND, Asked, Chosen, choose_columns, forms, is_pattern, refuse_undecided
from inrush.study.column_lines import lines
from inrush.study.epoch import epoch_of
from inrush.study.formats import NAMED_FORMATS, TEXT_FORMATS
from inrush.study.found import Sniffed
from inrush.study.said import NOTHING_SAID, TextSaid, shown_line
from inrush.study.sniff import sniff

NAME = re.compile(r"[a-z][a-z0-9_-]{0,47}\Z")
BATCHES = (200, 1_000, 5_000, 20_000)


def write_new(
    name: str,
    sources: Sequence[Path],
    folder: Path,
    asked: Asked = AS_FOUND,
    note: Callable[[str], None] = lambda line: None,
    said: TextSaid = NOTHING_SAID,
) -> list[Path]:
    """Writes NAME-workload.toml and NAME.toml into `folder`; returns both.

    sources: files of one table, alike. note: gets a line for each column with a type in doubt. Raises UsageError for
    names and files that cannot be, DatesUndecided where only the user knows, and never overwrites.
    """
    if not NAME.match(name):
        raise UsageError(f"{name}: names are lower case letters, digits, - and _, and begin with a letter")
    if not sources:
        raise UsageError("give at least one file, --from my.csv")
    workload, study = folder / f"{name}-workload.toml", folder / f"{name}.toml"
    for path in (workload, study):
        if path.exists():
            raise UsageError(f"{path}: is there already; choose another name or remove it")
    seen = [sniff(path, said=said) for path in sources]
    for path, found in zip(sources[1:], seen[1:], strict=True):
        if [c.name for c in found.columns] != [c.name for c in seen[0].columns] or found.format != seen[
            0
        ].format:
            raise UsageError(f"{path}: has other columns than {sources[0]}; name files of one table")
    columns, names = choose_columns(seen, asked), [str(path) for path in sources]
    refuse_undecided(columns, names)
    epoch = epoch_of(seen, columns)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        rows = sum(s.rows for s in seen)
        workload.write_text(workload_text(name, sources, seen[0], columns, rows, epoch))
        study.write_text(study_text(name, workload.name, rows))
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written ({error.strerror or error})") from error
    if seen[0].format in TEXT_FORMATS:
        note(shown_line(seen[0].format, seen[0].written, "", seen[0].header, seen[0].no_header))
    for line in lines(columns, seen, names):
        note(line)
    first = next((column for column in columns if column.type in ("time_ms", "time_us")), None)
    if first is not None and is_pattern(first.form):
        note(
            f"data time zero is the usual {epoch[0]}, for {epoch[1]}; write the first day as epoch in {workload}"
        )
    return [workload, study]


def table_name(name: str) -> str:
    return re.sub(r"[^a-z0-9_]", "_", name)


def workload_text(
    name: str,
    sources: Sequence[Path],
    sniffed: Sniffed,
    columns: Sequence[Chosen],
    rows: int,
    epoch: tuple[str, str],
) -> str:
    """The workload file. Paths are absolute: the study may be run from anywhere. epoch: and what says so."""
    table = table_name(name)
    paths = ", ".join(quoted(str(path.resolve())) for path in sources)
    options = [f"paths = [{paths}]", f"format = {quoted(sniffed.format)}"]
    if sniffed.format not in NAMED_FORMATS:
        options.append(f"header = {str(sniffed.header).lower()}")
    options += [
        f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in sniffed.written.items()
    ]
    looked = f"all {rows:,} rows" if sniffed.complete else f"the first {rows:,} rows"
    # Of Parquet the first rows alone were counted, and the text above says all of them.
    counted = sniffed.every_row or not sniffed.complete
    listed = "\n".join(column_text(column if counted else replace(column, nulls=0)) for column in columns)
    if times := forms(columns):
        written = ", ".join(f"{quoted(name)} = {quoted(form)}" for name, form in times.items())
        options.append(f"times = {{ {written} }}")
    return f"""\
# Rows of your own. Types were chosen by {looked}; a value that does not fit
# is not stored: its row goes to a reject file with line and reason. Types: docs/workloads.md.
schema = 1
epoch = {quoted(epoch[0])}             # data time zero: {comment(epoch[1])}

[tables.{table}]
source = "files"
# Columns that together are unique, e.g. identity = ["id"]; needed for layouts = {{ pk = ["identity"] }}.
identity = []
columns = [
{listed}
]

[tables.{table}.files]
{chr(10).join(options)}
reject_limit = 1_000                       # more rejected rows than this end a run

[operations.insert]
kind = "insert"

# Add the questions that your users ask; :name is a parameter (docs/workloads.md).
[operations.count]
kind = "query"
table = "{table}"
holds = ["count_bounds"]
sql.default = "SELECT COUNT(*) AS n FROM {{{table}}}"
"""


def column_text(column: Chosen) -> str:
    nulls = f"  # {column.nulls:,} NULL" if column.nulls else ""
    return f"  {{ name = {quoted(column.name)}, type = {quoted(column.type)} }},{nulls}"


def study_text(name: str, workload: str, rows: int) -> str:
    return f"""\
# Change question and expectation to yours before the first run: what was expected is part of the result.
schema = 1
title = {quoted(f"{name}: batch size")}
question = "How large should the batches be in which these rows are stored?"
expect = "The largest batch is at least 2 times as fast as the smallest."
workload = {quoted(workload)}
kind = "fixed_volume"
engines = ["duckdb", "sqlite"]
factors.batch_rows = {batches_of(rows)}
schedule = {{ mode = "closed", limit_s = 3600 }}

[roles.writers]
operation = "insert"
table = "{table_name(name)}"
batch_rows = "@batch_rows"                 # all rows of the files are stored

[roles.readers]
operation = "count"
sessions = 1
until = "writers"

[repeats]
count = 5
seed = 1

[answer]
kind = "best"
of = "writers.makespan_s"
along = "batch_rows"
per = ["engine"]

[[expected]]
claim = "the largest batch is at least 2 times as fast"
values = {{ all = 2 }}
rule = {{ kind = "speed_up", of = "writers.makespan_s", along = "batch_rows", bound = "at_least" }}

[accept]
"writers.errors" = 0

[scale.xs]
repeats.count = 2

[scale.s]

[scale.full]
"""


def batches_of(rows: int) -> list[int]:
    """Sizes to compare, none of them larger than all rows: two at least, unless there is one row."""
    fit = [batch for batch in BATCHES if batch <= rows]
    return fit if len(fit) > 1 else sorted({max(1, rows // 10), max(1, rows)})


def comment(text: str) -> str:
    """Text behind a `#`, where TOML takes no line break and no other control character."""
    return "".join(c if c.isprintable() else " " for c in text)


def quoted(text: str) -> str:
    """A TOML string; JSON's escapes are TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

"""What a load would do: its files read as they would be stored, and the table that would be made. Nothing is changed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from inrush.border import address
from inrush.border import plan as border
from inrush.border.load import FilesPlan
from inrush.errors import from_core, problems_of, refuse
from inrush.load import create, preflight
from inrush.load.call import Call
from inrush.load.create import describe
from inrush.load.databases import MISSING, connecting
from inrush.load.discover import with_shards
from inrush.load.expand import expand
from inrush.load.input import (
    Input,
    as_declared,
    columns_of,
    file_document,
    limits_of,
    looked_at,
    open_inputs,
    refuse_unknown_numbers,
    refuse_zone_of_parquet,
    table_of,
    times_of,
    type_lines,
)
from inrush.load.null_word import null_lines, with_null_of_table
from inrush.load.preflight import call_problems
from inrush.load.prepare import no_table, value_lines
from inrush.load.readback import files_read
from inrush.load.rejects import first_reasons, merge_rejects
from inrush.load.remote import RemoteShards, link
from inrush.load.shards import Shards, shards_at, shards_of
from inrush.plan import ends
from inrush.study.formats import TEXT_FORMATS
from inrush.study.found import SAMPLE_ROWS
from inrush.study.said import read_said, shown_line
from inrush.study.zones import changes
from inrush.workload import Table

#: Rejected rows that are named.
SHOWN = 5


@dataclass(frozen=True)
class Outlook:
    """What a load would do, as lines; how many rows it would store and reject."""

    lines: tuple[str, ...]
    rows: int
    rejected: int

    def document(self) -> dict[str, object]:
        return {"dry_run": True, "rows": self.rows, "rows_rejected": self.rejected, "lines": list(self.lines)}


def dry_run(call: Call, note: Callable[[str], None]) -> Outlook:
    """Raises UsageError and TargetError as the load would."""
    from inrush import _core

    if wrong := [*call_problems(call)]:
        refuse([*wrong, *problems_of(lambda: expand(call.files))])
    names = expand(call.files)
    with tempfile.TemporaryDirectory(prefix="inrush-dry-run-") as spool:
        said = read_said(call.header, call.columns, call.format, call.written)
        inputs = open_inputs(names, Path(spool), SAMPLE_ROWS, said, encoding=call.encoding)
        refuse_zone_of_parquet(inputs, call.timezone)
        try:
            return outlook(call, inputs, Path(spool), note)
        except _core.CoreFailure as failure:
            raise from_core(*failure.args) from None


def outlook(call: Call, inputs: Sequence[Input], spool: Path, note: Callable[[str], None]) -> Outlook:
    """Of files that were looked at. Raises CoreFailure."""
    found: list[str] = []
    shards, call, there = reached(call, note, found)
    targets = shards.documents()
    looked, name = looked_at(inputs), call.table.rpartition(".")[2]
    with shards.held_open() if there else nullcontext():
        refuse(preflight.file_problems(call, inputs, shards, targets))
        if there:
            refuse(preflight.server_problems(shards, targets, call.table))
        described = describe(shards, targets[0][1], call.table) if there else []
        if not described and not call.create:
            raise no_table(targets, call.table)
        asked = create.asked_of(call, shards.loading)
        table = create.with_declared(table_of(looked, name, described, shards.loading, asked), described)
        own = [(c.name, c.made, True) for c in table.columns if c.made]
        if own and not described:
            # As the load will find them once the table is made, but for what the server alone knows.
            table = as_declared(table, shards.loading)
        times = times_of(looked, table, described, asked)
        of_files = columns_of(looked, name, described, asked)
        written = inputs[0].sniffed.written
        refuse_unknown_numbers(table, of_files, written, shards.loading, [i.shown for i in looked])
        found += table_lines(call, shards, targets, looked, table, described, there)
        found += value_lines(looked, table, described, asked, times, call.timezone)
    inputs = with_null_of_table(inputs, table, shards.loading, call.written)
    for line in null_lines(call, inputs):
        note(line)
    files = tuple(file_document(one, table, spool, str(Path.cwd())) for one in inputs)
    first = inputs[0].sniffed
    if first.format in TEXT_FORMATS:
        note(shown_line(first.format, first.written, call.encoding, first.header, first.no_header))
    ours = {c.name for c in table.columns}
    wanted = ends.Wanted(
        table=table, target_table=ends.target_table(call.table), key={}, method="", import_id="", files=files,
        chunk_rows=call.chunk_rows, flush_rows=call.flush_rows, connections=1, parallel=1, reject_limit=call.reject_limit,
        patience_s=0.0, required=tuple(c for c, _, nullable in described if not nullable and c in ours),
        limits=limits_of(described or own, table, shards.loading), times=times,
        zone=changes(call.timezone) if call.timezone else (),
    )  # fmt: skip
    if call.truncate:
        found.append("the table would be emptied first")
    rows, rejects = read(wanted, shards, spool)
    shown, rejected = first_reasons(rejects, SHOWN) if rejects is not None else ([], 0)
    said = f"{rows:,} row{'s' * (rows != 1)} would be stored"
    found.append(said + (f", {rejected:,} rejected:" if rejected else ", none rejected"))
    made = [
        file["path"] if file["format"] == "arrow" else one.at for file, one in zip(files, inputs, strict=True)
    ]
    places = {at: one.shown for at, one in zip(made, inputs, strict=True) if at != one.shown}
    for at, name_shown in places.items():  # what was unpacked is gone by then
        shown = [line.replace(at, name_shown, 1) for line in shown]
    found += shown
    if rejected > len(shown):
        found.append(f"and {rejected - len(shown):,} more")
    found.append(
        "nothing was changed: this was --dry-run; what the server would refuse (keys, checks) and files that are stored already are "
        "not looked at"
    )
    return Outlook(tuple(found), rows, rejected)


def reached(
    call: Call, note: Callable[[str], None], found: list[str]
) -> tuple[Shards | RemoteShards, Call, bool]:
    """The servers, the call with the shards behind a coordinator, and whether their databases are there."""
    if call.server:
        return RemoteShards(link(str(call.server), call.token_file, call.ca, call.fingerprint)), call, True
    shards = shards_of(call, note)
    for target in shards.targets if shards.loading.first_database is not None else ():
        failure = connecting(shards, target)
        if failure is None:
            continue
        if not call.create or not failure[1].endswith(MISSING):
            raise from_core(*failure)
        found.append(f"database {address.read(target.url).database} would be created")
        return shards, call, False
    behind = with_shards(call, shards, note)
    return (shards if behind is call else shards_at(behind.shards, lambda _: None)), behind, True


def table_lines(
    call: Call,
    shards: Shards | RemoteShards,
    targets: Sequence[tuple[str, border.Target]],
    looked: Sequence[Input],
    table: Table,
    described: Sequence[tuple[str, str, bool]],
    there: bool,
) -> list[str]:
    """The table with its types; of one that would be made the statement, and what is in doubt."""
    if described:
        kinds = {name: kind for name, kind, _ in described}
        columns = ", ".join(f"{c.name} {kinds[c.name]}" for c in table.columns)
        return [f"table {call.table} is there: {columns}"]
    columns_found = columns_of(looked, table.name, (), create.asked_of(call, shards.loading))
    version = create.version_of(shards, targets[0][1]) if there and shards.loading.types_by_version else ""
    statement = create.create_statement(
        call, shards, len(targets), table, ends.target_table(call.table), columns_found, version
    )
    asked = create.asked_of(call, shards.loading)
    return [f"would be created: {statement}", *type_lines(looked, table.name, asked)]


def read(wanted: ends.Wanted, shards: Shards | RemoteShards, spool: Path) -> tuple[int, Path | None]:
    """Good rows of all files, and the file of the others; None where there are none."""
    from inrush import _core

    (spool / "rejects").mkdir(exist_ok=True)
    document: FilesPlan = {
        "tables": files_read(wanted, shards.twin, str(spool / "rejects" / "{:06}.csv")),
        "columns": [],
    }
    found = json.loads(_core.read_files(json.dumps(document)))
    return int(found["rows"]), merge_rejects(spool)

"""Dumps of a point: which rows go into which file, and what asks for them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inrush.border.plan import DumpPlan
from inrush.engines.base.sql import quote
from inrush.engines.base.twin import Twin
from inrush.errors import Problem
from inrush.plan.documents import epoch_ns, last_sweep_ns, row_bytes
from inrush.plan.extracts import CURSOR, FETCH_ROWS
from inrush.plan.roles import ActiveRole
from inrush.plan.units import NS, ns
from inrush.study.dumps import MOST_FILES, dump_operation
from inrush.study.forms import Plain
from inrush.study.step_kinds import Dump
from inrush.workload import Column, DumpOf, Operation, Table, Workload

#: Units of a column of times in a second.
PER_S = {"time_ms": 1_000, "time_us": 1_000_000}
DAY_S = 86_400
#: Bytes of a CSV for each byte of its values: a time of 8 bytes takes 23.
CSV_SHARE = 2


@dataclass(frozen=True)
class Pieces:
    """How a table is cut into files."""

    column: Column
    bounds: tuple[int, ...]


def files_of(dump: DumpOf) -> int:
    return max(len(dump.bounds) - 1, 1)


def dumped(
    step: Dump[Plain], workload: Workload, server: Twin, rows: int
) -> tuple[Operation, int, list[Problem]]:
    """The extract that writes one file with each call, and how many it writes. rows: of its table."""
    operation = workload.operations[dump_operation(step.name)]
    table = workload.tables[operation.table or ""]
    by, files = step.by, step.files
    problems: list[Problem] = []
    pieces: Pieces | None = None
    if table.time is None and by == "time":
        problems.append(Problem("", "by", by, f"{table.name} has no time that is never NULL; dump it by key"))
    elif not table.identity:
        problems.append(
            Problem("", "by", by, f"{table.name} has no key; name its columns in `identity` of the workload")
        )
    elif by == "time":
        pieces = by_time(table, workload, server, rows, files)
    elif files is not None and files > 1:
        pieces = by_key(table, files)
        if pieces is None:
            remedy = f"keys of {table.name} are not whole numbers in turn (gen = cycle), so it is cut by none; write files = 1"
            problems.append(Problem("", "files", str(files), remedy))
    if pieces is not None and len(pieces.bounds) - 1 > MOST_FILES:
        remedy = f"that is a file for each of {len(pieces.bounds) - 1:,} partitions; write files = N, {MOST_FILES:,} at most"
        problems.append(Problem("", "files", "", remedy))
    assert operation.dump is not None
    dump = replace(operation.dump, bounds=pieces.bounds if pieces else ())
    sql = {"default": text(table, server, pieces, by)} if not problems else {"default": "SELECT 1"}
    problems = [replace(p, key=f"steps.{step.name}.{p.key}") for p in problems]
    return replace(operation, params=params(pieces), dump=dump, sql=sql), files_of(dump), problems


def text(table: Table, server: Twin, pieces: Pieces | None, by: str) -> str:
    """The rows of a piece as they are read back from the table, in order."""
    plan = server.plan_table(table, "none", "inrush")
    read = server.proof(table, plan).read_back.replace(plan.name, "{table}")
    where = ""
    if pieces is not None:
        name = quote(pieces.column.name)
        where = f" WHERE {name} >= :from AND {name} < :to"
    order = keys(table) if by == "key" else [table.time.name] if table.time else []
    return f"{read}{where} ORDER BY {', '.join(map(quote, order))}"


def keys(table: Table) -> list[str]:
    """Columns that order rows by key: the times of a series follow one another."""
    time = table.time.name if table.time else ""
    return [*(name for name in table.identity if name != time), *([time] if time in table.identity else [])]


def params(pieces: Pieces | None) -> dict[str, dict[str, object]]:
    if pieces is None:
        return {}
    return {end: {"type": pieces.column.type, "gen": {"kind": "piece", "end": end}} for end in ("from", "to")}


def by_time(table: Table, workload: Workload, server: Twin, rows: int, files: int | None) -> Pieces | None:
    """Partition after partition where the engine cuts the table by time and the study says nothing else."""
    assert table.time is not None
    own = table.partitions.get(server.name) if files is None else None
    if own is not None and own.column:  # cut by the values of a column: its partitions have no length in time
        own = None
    begin_ns, span_ns = epoch_ns(workload.epoch), last_sweep_ns(table, rows) + ns(table.period_s)
    if own is None and (files or 1) == 1:
        return None
    if own is not None:
        every_ns = ns(own.every_s)
        # Engines that make their partitions beforehand begin at the epoch, others at multiples since 1970.
        first_ns = begin_ns if server.partitions == "counted" else begin_ns // every_ns * every_ns
        most = -(-(begin_ns + span_ns - first_ns) // every_ns)
        ends = [first_ns + k * every_ns for k in range(min(most, MOST_FILES + 1) + 1)]
    else:
        count = files or 1
        ends = [begin_ns + span_ns * k // count for k in range(count + 1)]
    # Jitter and phases reach beyond the ends of the table: no row may lie outside of all files.
    margin_ns = DAY_S * NS + span_ns
    ends[0], ends[-1] = ends[0] - DAY_S * NS, ends[-1] + margin_ns
    unit = NS // PER_S[table.time.type]
    return Pieces(table.time, tuple(end // unit for end in ends))


def by_key(table: Table, files: int) -> Pieces | None:
    """Equal parts of the first key's values; None where these are not whole numbers in turn."""
    column = table.column(keys(table)[0])
    gen = column.gen or {}
    if gen.get("kind") != "cycle" or column.null_share > 0:
        return None
    first, last = int(gen["from"]), int(gen["to"])
    bounds = tuple(first + (last + 1 - first) * k // files for k in range(files + 1))
    return Pieces(column, bounds)


def dumped_bytes(roles: Sequence[ActiveRole], workload: Workload, held: Mapping[str, int]) -> int:
    """Approximate size of all files that these roles write. held: table -> its rows."""
    operations = (workload.operations[name] for role in roles for name in role.operations)
    tables = [o.table or "" for o in operations if o.dump is not None]
    return sum(held.get(name, 0) * row_bytes(workload.tables[name]) * CSV_SHARE for name in tables)


def dump_document(operation: Operation, method: str, index: Mapping[str, int]) -> DumpPlan:
    of = operation.dump
    assert of is not None
    dump: DumpPlan = {
        "table": index[operation.table or ""],
        "folder": of.folder,
        "name": of.name,
    }
    if of.bounds:
        dump["bounds"] = list(of.bounds)
    if method == CURSOR:
        dump["fetch_rows"] = operation.fetch_rows or FETCH_ROWS
    return dump

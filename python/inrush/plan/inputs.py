"""Load steps whose rows lie in files: how many files, and how they come in. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from inrush.border.plan import InputWay
from inrush.engines.base.plans import Unsupported
from inrush.engines.base.twin import Twin
from inrush.errors import Problem
from inrush.plan.chunks import files_between
from inrush.plan.documents import row_bytes
from inrush.plan.roles import ActiveRole, RoleInput
from inrush.plan.units import LOAD_BATCH_ROWS
from inrush.study.at_point import StudyAt
from inrush.study.forms import Plain
from inrush.study.inputs import CLIENT_FILE, CONNECTS, PARSED, SERVER_FILE, WRITTEN, StepFiles
from inrush.study.step_kinds import Load, Sort
from inrush.workload import Column, Table

WAYS: Mapping[str, InputWay] = {CLIENT_FILE: "client", SERVER_FILE: "server", PARSED: "parsed"}
#: Bytes of a text file for each byte of its values.
TEXT_SHARE = 1.5


def in_files(
    study: StudyAt[Plain], server: Twin, step: Load[Plain], role: ActiveRole, rows_of: Mapping[str, int]
) -> tuple[ActiveRole, list[Problem]] | Unsupported:
    """The role of such a step with the files that it loads. rows_of: table -> its rows when all loads have ended."""
    assert step.files is not None, "it was chosen by it"
    table, way = study.workload.tables[role.table or ""], way_of(step.files, server)
    if way != PARSED and way not in server.file_methods:
        has = ", ".join((*server.file_methods, PARSED))
        return Unsupported(f"{server.name} has no way in {way}; it has {has}")
    if way == PARSED and step.files.connect != CONNECTS[0]:
        return Unsupported(
            f"step {step.name}: rows of files that are parsed go in batches, which have no connection each"
        )
    escaped = [c.name for c in table.columns if may_be_escaped(c)]
    if way != PARSED and escaped and not server.reads_escapes:
        return Unsupported(
            f"{server.title} reads no backslash as an escape, and column {escaped[0]} of {table.name} may hold one, a tab or a "
            f"line end; files of it are only {PARSED}"
        )
    files = files_of(step.files, table, role, rows_of)
    sorts = {s.name for s in study.steps if isinstance(s, Sort)}
    by = step.files.sorted if step.files.sorted in sorts else ""
    return with_files(role, step.files, files or 1, way, by), problems_of(step, table, role, files)


def way_of(of: StepFiles[Plain], server: Twin) -> str:
    """As the study says, else the first that the engine has."""
    return of.way or (*server.file_methods, PARSED)[0]


def files_of(of: StepFiles[Plain], table: Table, role: ActiveRole, rows_of: Mapping[str, int]) -> int | None:
    """Those that the rows lie in by themselves, or that the step cuts them into; None where nothing says.

    rows_of: table -> its rows when all loads have ended.
    """
    if table.chunks is not None:
        return files_between(table.chunks, rows_of[table.name], role.first_row, role.first_row + role.rows)
    return of.count


def with_files(role: ActiveRole, of: StepFiles[Plain], files: int, way: str, sorted_by: str) -> ActiveRole:
    rows = LOAD_BATCH_ROWS if way == PARSED else math.ceil(role.rows / files)
    return replace(
        role,
        input=RoleInput(role.table or "", files, WAYS[way], of.cold, sorted_by),
        method="" if way == PARSED else way,
        batch_rows=rows,
        connects=of.connect != CONNECTS[0],
        notes=(),
    )


def may_be_escaped(column: Column) -> bool:
    """Whether a text may hold what a file of lines and tabs says by a backslash."""
    if column.type != "text":
        return False
    gen = column.gen or {}
    values = gen.get("values", [gen["value"]] if "value" in gen else None)
    said = gen.get("pattern") or gen.get("alphabet") or values
    plain = said is not None or gen.get("kind") == "text"
    return not plain or any(char in "".join(map(str, said or "")) for char in "\\\t\n\r")


def problems_of(step: Load[Plain], table: Table, role: ActiveRole, files: int | None) -> list[Problem]:
    """Columns that no file says, and more files than rows."""
    found: list[Problem] = []
    lost = [c.name for c in table.columns if c.type not in WRITTEN or c.not_finite]
    key = f"steps.{step.name}"
    if lost:
        remedy = (
            f"engines read no {', '.join(lost)} from the same text; files have whole numbers below 2^63, decimals, finite floats, "
            "texts and dates: load it without files"
        )
        found.append(Problem("", f"{key}.table", table.name, remedy))
    assert step.files is not None, "it was chosen by it"
    if table.chunks is not None and step.files.count is not None:
        remedy = f"{table.name} lies in {table.chunks.files:,} files by itself (chunks); remove it"
        found.append(Problem("", f"{key}.files.count", "", remedy))
    if files is None:
        found.append(Problem("", f"{key}.files", "", "write how many there are: count = N"))
    elif files > role.rows:
        remedy = f"a file has a row at least, and the step loads {role.rows:,}; take fewer files or more rows"
        found.append(Problem("", f"{key}.files.count", str(files), remedy))
    return found


def input_bytes(roles: Sequence[ActiveRole], tables: Mapping[str, Table]) -> int:
    """Approximate size of the files that are made."""
    of_files = [r for r in roles if r.input is not None and r.table is not None]
    return sum(round(r.rows * row_bytes(tables[r.table or ""]) * TEXT_SHARE) for r in of_files)

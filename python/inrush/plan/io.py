"""Records of a file as the core reads and writes them: which calls a role makes, and what is laid out before. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from inrush.border.plan import OpPlan as OperationDocument
from inrush.border.statement import Directives, Statement
from inrush.engines import ENGINES
from inrush.engines import server as server_of
from inrush.engines.base.plans import OpPlan, TablePlan, Unsupported
from inrush.engines.base.twin import Twin
from inrush.errors import Problem
from inrush.plan.maintenance import called_statement
from inrush.plan.roles import ActiveRole
from inrush.stats.quantity import show
from inrush.study.io import MIXED, READ
from inrush.workload import TIMES_CACHES, IoKind, Operation, RecordOf, Table, Workload

#: Records of all sessions at once.
MOST_HELD_BYTES = 4 << 30
#: Option of the engine: what the disk's controller keeps in memory, which inrush cannot ask for.
CONTROLLER_CACHE = "controller_cache_bytes"
#: Of a share: parts of which it is made.
PARTS = 1000
#: A file is laid out about so fast, bytes/s, where nothing was measured yet.
LAID_OUT_BYTES_PER_S = 200e6


def as_roles_call(workload: Workload, roles: Sequence[ActiveRole]) -> tuple[Workload, list[ActiveRole]]:
    """The workload with an operation for what each role does with records, and the roles as they call them.

    Of calls that are mixed, reads and writes are two operations with weights: each has figures of its own.
    """
    operations = dict(workload.operations)
    called = []
    for role in roles:
        if role.io is None:
            called.append(role)
            continue
        (name,) = role.operations
        weights = weights_of(role.io.does, role.io.read_share or 0.0)
        names = {}
        for does, weight in weights.items():
            copy = f"{name}/{role.name}" if len(weights) == 1 else f"{name}/{role.name}/{does}"
            record = RecordOf(does, role.io.order, role.io.record_bytes)
            operations[copy] = replace(workload.operations[name], name=copy, record=record)
            names[copy] = weight
        called.append(replace(role, operations=names))
    return replace(workload, operations=operations), called


def weights_of(does: str, read_share: float) -> dict[IoKind, int]:
    if does != MIXED:
        return {"read" if does == READ else "write": 1}
    share = Fraction(max(1, min(PARTS - 1, round(read_share * PARTS))), PARTS)
    return {"read": share.numerator, "write": share.denominator - share.numerator}


def io_problems(
    workload: Workload, roles: Sequence[ActiveRole], engine: str, options: Mapping[str, str]
) -> list[Problem]:
    """What a point cannot mean: records that are larger than their file, and more of them than fit into memory."""
    found = []
    for role in roles:
        if role.io is None:
            continue
        (name,), record_bytes = role.operations, role.io.record_bytes
        key = f"roles.{role.name}.io.record_bytes"
        size = workload.operations[name].file_bytes
        if record_bytes > size:
            remedy = (
                f"the file of operation {name} has {size:,} bytes; raise file_bytes, or use smaller records"
            )
            found.append(Problem("", key, f"{record_bytes:,}", remedy))
        if (held := record_bytes * role.sessions) > MOST_HELD_BYTES:
            remedy = (
                f"{role.sessions} sessions hold {show(held, 'bytes')} of records at once, and {show(MOST_HELD_BYTES, 'bytes')} "
                "are the most; use fewer sessions, or smaller records"
            )
            found.append(Problem("", key, f"{record_bytes:,}", remedy))
    direct = options.get("direct", "true")
    if direct not in ("true", "false") and any(role.io is not None for role in roles):
        found.append(Problem("", f"options.{engine}.direct", direct, "it is true or false"))
    if not (cache := options.get(CONTROLLER_CACHE, "0")).isdecimal():
        found.append(
            Problem("", f"options.{engine}.{CONTROLLER_CACHE}", cache, "it is a whole number of bytes")
        )
    return found


def planned_operation(
    server: Twin,
    operation: Operation,
    method: str,
    plans: Mapping[str, TablePlan],
    tables: Mapping[str, Table],
    batch_rows: int = 0,
) -> OpPlan | Unsupported:
    """An operation in the engine's dialect; records of a file are no database's, and rows are of no file."""
    if operation.does:
        if reason := operation.unsupported.get(server.name):
            return Unsupported(reason)
        name = operation.table or ""
        return server.plan_row_call(operation, tables[name], plans[name])
    if operation.kind == "maintain":
        return called_statement(operation, server, plans)
    if operation.kind == "io" and not server.takes_records:
        takes = ", ".join(name for name in ENGINES if server_of(name).takes_records)
        return Unsupported(
            f"{server.name} is a database: records of a file are read and written by the engine {takes}"
        )
    return server.plan_operation(operation, method, plans, batch_rows)


def io_directives(operation: Operation) -> Directives | None:
    """What its calls do; None of one that no role calls."""
    if operation.record is None:
        return None
    record = operation.record
    return {
        "io": {
            "does": record.does,
            "order": record.order,
            "record_bytes": record.record_bytes,
            "file_bytes": operation.file_bytes,
        }
    }


def file_bytes(operations: Sequence[OperationDocument]) -> int:
    """Of the file that a point's calls read and write; 0 where there is none."""
    directives = (operation.get("directives") for operation in operations)
    return max((d["io"]["file_bytes"] for d in directives if d and "io" in d), default=0)


def laid_out(operations: Sequence[OperationDocument]) -> list[Statement]:
    """The statement that writes the whole file before anything is measured."""
    size = file_bytes(operations)
    if not size:
        return []
    return [{"text": f"lay out {size} bytes", "directives": {"file": {"kind": "lay_out", "bytes": size}}}]


def laid_out_s(operations: Sequence[OperationDocument]) -> float:
    """Seconds of it in a forecast."""
    return file_bytes(operations) / LAID_OUT_BYTES_PER_S


def io_notes(operations: Sequence[OperationDocument], is_direct: bool) -> list[str]:
    """What a file's size is enough for, and what stands between the calls and the disk."""
    size = file_bytes(operations)
    if not size:
        return []
    notes = [
        f"the file has {show(size, 'bytes')}: figures are of the disk where memory and the controller's cache are at most "
        f"{show(size / TIMES_CACHES, 'bytes')} together; of larger caches they may be of these"
    ]
    if not is_direct:
        notes.append("direct = false: calls go through the kernel's cache, and figures are of it too")
    return notes

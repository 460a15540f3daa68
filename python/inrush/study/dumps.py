"""Steps of `do = "dump"` and loads `from` one: tables written to files, and read back from them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inrush.study.document import Node, given, unknown
from inrush.study.forms import Factors, FromFactor, count, read_form
from inrush.study.roles import MAX_FETCH, MAX_SESSIONS, WAYS_OUT, Role
from inrush.study.step_kinds import Dump, Load, Step
from inrush.workload import DumpOf, Operation, Workload

#: What rows may follow one another by, in a file and from one to the next.
BY = ("key", "time")
#: Files of one dump, at most.
MOST_FILES = 10_000


def dump_operation(step: str) -> str:
    """The operation of a dump: each of its calls writes a file."""
    return f"dump/{step}"


def parse_dump(
    node: Node, fields: Mapping[str, Node], factors: Factors, workload: Workload, common: Mapping[str, Any]
) -> Dump[FromFactor]:
    """Read as a role that calls one extract; what it writes into which file is planned at each point."""
    own = ("sessions", "method", "fetch_rows")
    readers = {
        "sessions": count(factors, 1, MAX_SESSIONS),
        "method": lambda one: read_form(one, factors, lambda way: way.text(WAYS_OUT, "way out"), ""),
        "fetch_rows": count(factors, 1, MAX_FETCH),
    }
    values = given({key: field for key, field in fields.items() if key in own}, readers)
    table = fields["table"].text(workload.tables, "table")
    if table and workload.tables[table].files is not None:
        fields["table"].problem("its rows lie in files already; dump a table that is generated")
    role: Role[FromFactor] = Role(
        name=str(common["name"]),
        operations={dump_operation(str(common["name"])): 1},
        table=(table,) if table else None,
        **values,
    )
    folder = fields["folder"].text() if "folder" in fields else ""
    return Dump(
        role=role,
        by=read_form(fields["by"], factors, lambda one: one.text(BY, "order of a dump"), BY[0]),
        files=count(factors, 1, MOST_FILES)(fields["files"]) if "files" in fields else None,
        folder=str(Path(node.file).parent.absolute() / Path(folder).expanduser()) if folder else "",
        **common,
    )


def read_source(
    node: Node, table: str, before: Sequence[Step[FromFactor]], names: Mapping[str, str]
) -> tuple[str | None, Load[FromFactor] | None]:
    """The dump that a load reads, and the load that had filled the table. names: step -> kind, of those before."""
    name = node.text()
    dump = next((s for s in before if isinstance(s, Dump) and s.name == name), None)
    if dump is None:
        if name and names.get(name) not in (None, "dump"):
            node.problem(f'step {name} is no dump; a load reads the files of a step of do = "dump"')
        elif name and name not in names:
            node.problem(unknown("earlier dump", name, [s.name for s in before if isinstance(s, Dump)]))
        return None, None
    dumped = dump.role.table[0] if isinstance(dump.role.table, tuple) else ""
    if table and dumped and dumped != table:
        node.problem(
            f"{name} is a dump of {dumped}; its rows go back into that table, which is emptied before"
        )
    loads = (s for s in before if isinstance(s, Load) and s.role.table == (dumped,))
    return name, next(loads, None)


def with_dumps(workload: Workload, steps: Sequence[Step[FromFactor]]) -> Workload:
    """The workload with the operation of every dump."""
    own = {
        (name := dump_operation(step.name)): Operation(
            name, "extract", table=step.role.table[0], dump=DumpOf(step.folder, step.name)
        )
        for step in steps
        if isinstance(step, Dump) and isinstance(step.role.table, tuple)
    }
    if not own:
        return workload
    operations = {**workload.operations, **own}
    return replace(workload, operations=operations)

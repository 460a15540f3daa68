"""Steps of a study that are one role at work: loads, reads, calls by key, extracts and calls on a file. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from inrush.study.by_key import alters
from inrush.study.document import Node, unknown
from inrush.study.dumps import read_source
from inrush.study.forms import Factors, FromFactor
from inrush.study.inputs import parse_files
from inrush.study.pipeline import parse_step_pipeline
from inrush.study.roles import parse_role
from inrush.study.step_kinds import Extract, Io, KeyCalls, Load, Read, RoleStep, Step
from inrush.workload import Operation, Workload

#: Operation of a load that the study does not name.
LOAD = "load"
#: Keys of a load by sessions -> what says it of a load by a pipeline.
OF_SESSIONS: Mapping[str, str] = {
    "sessions": "write pipeline.pipelines",
    "batch_rows": "write pipeline.chunk_rows",
    "depth": "remove it",
    "operation": "remove it",
    "schedule": "remove it",
    "files": "write pipeline.files",
}
#: Keys that a load of files has not -> what to do.
OF_FILES: Mapping[str, str] = {
    "from": "its files are made, and a dump has its own; remove one of the two",
    "depth": "a session loads one file after the other; remove it, or take more sessions",
    "schedule": "files are loaded one after the other, as fast as it goes; remove it",
    "operation": "the way in is that of its files; remove it",
}
#: Keys of a step that reads and not of its role: how long its parts last.
LENGTHS = ("seconds", "warm_s", "cool_s")
#: Longest that a step may be given.
MOST_S = 1e7


def read_seconds(node: Node) -> float:
    found = node.number(above=True)
    if found > MOST_S:
        node.problem("more than a hundred days; write seconds")
    return found


def role_step(
    kind: type[Load[Any]] | type[Read[Any]],
    node: Node,
    fields: Mapping[str, Node],
    factors: Factors,
    workload: Workload,
    common: Mapping[str, object],
) -> RoleStep[FromFactor] | None:
    """The step as a role of its name, read as any role is."""
    own = {key: field.value for key, field in fields.items() if key in kind.keys and key not in LENGTHS}
    name = str(common["name"])
    if kind is Load:
        own = {"operation": LOAD, "batch_rows": 1, **own}
        workload = with_load(workload)
    elif problem := not_read(own, workload, kind):
        node.at(*problem[:2]).problem(problem[2])
        return None
    role = parse_role(Node(node.file, node.key, own, node.problems), name, factors, workload, ())
    inserts = [o for o in role.operations if workload.operations[o].kind == "insert"]
    extracts = [o for o in role.operations if workload.operations[o].kind == "extract"]
    key = "operation" if "operation" in own else "operations"
    if kind is Load:
        if role.operations and not inserts:
            node.at("operation", own["operation"]).problem(
                "a load inserts; name an operation of kind insert, or none"
            )
        if isinstance(role.table, tuple) and len(role.table) > 1:
            node.at("table", list(role.table)).problem("a load fills one table; write a step for each")
        if "batch_rows" not in fields:  # said above, because every other role that inserts must say it
            role = replace(role, batch_rows=None)
        return Load(role=role, **common)  # type: ignore[arg-type]
    if kind is Extract and role.operations and not extracts:
        node.at(key, own.get(key)).problem(
            'no extract; an extract is an operation of kind = "extract", and queries are read by do = "read"'
        )
    elif kind is Io and role.operations and role.io is None and "io" in own:
        return None  # what is wrong with it was said
    elif kind in (Read, KeyCalls) and extracts:
        node.at(key, own.get(key)).problem(f'{extracts[0]} is an extract; its step is do = "extract"')
    seconds = read_seconds(fields["seconds"]) if "seconds" in fields else 0.0
    around = {key: read_seconds(fields[key]) for key in ("warm_s", "cool_s") if key in fields}
    if around and "calls" in fields and "seconds" not in fields:
        first = next(iter(around))
        fields[first].problem(
            f"calls are counted from the first to the last; write seconds = S, or remove {first}"
        )
    made = kind if kind is KeyCalls or kind is Extract or kind is Io else Read
    return made(role=role, seconds=seconds, **around, **common)  # type: ignore[arg-type]


def not_read(
    own: Mapping[str, Any], workload: Workload, step: type[Load[Any]] | type[Read[Any]]
) -> tuple[str, Any, str] | None:
    """Key, value and remedy of a step that names an operation of another kind of step. Such a role has other keys."""
    for key in ("operation", "operations"):
        value = own.get(key)
        called = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, dict) else ()
        known = [workload.operations[name] for name in called if name in workload.operations]
        if step is Read and (changing := next((o for o in known if alters(o)), None)) is not None:
            return key, value, f'{changing.name} is a{article(changing)} by key; its step is do = "call"'
        if step is KeyCalls and known and not any(alters(o) for o in known):
            return key, value, f'{known[0].name} changes no row by its key; its step is do = "read"'
        for name in called:
            kind = workload.operations[name].kind if name in workload.operations else ""
            if kind in ("insert", "maintain"):
                remedy = f'{name} is no query; rows go in by do = "load", maintenance by do = "statement"'
                return key, value, remedy
            if kind and (kind == "io") != (step is Io):
                right = (
                    'it reads rows, by do = "read" or "extract"' if step is Io else 'its step is do = "io"'
                )
                return key, value, f"{name} is of kind {kind}; {right}"
    return None


def article(operation: Operation) -> str:
    return f"n {operation.does}" if operation.does[0] in "aeiou" else f" {operation.does}"


def load_of_dump(
    node: Node,
    fields: Mapping[str, Node],
    factors: Factors,
    workload: Workload,
    common: Mapping[str, object],
    steps: Sequence[Step[FromFactor]],
    names: Mapping[str, str],
) -> RoleStep[FromFactor] | None:
    """The table's rows once more, out of files: as many as the load before it had."""
    if "rows" in fields:
        fields["rows"].problem("its rows are those of the dump; remove it")
    source, first = read_source(fields["from"], fields["table"].text(), steps, names)
    if source is None or first is None:
        return None
    own = {key: field for key, field in fields.items() if key != "from"}
    own["rows"] = node.at("rows", {"total": 1})
    step = role_step(Load, node, own, factors, workload, common)
    assert isinstance(step, Load)
    return replace(step, role=replace(step.role, rows=first.role.rows), source=source)


def load_of_files(
    node: Node,
    fields: Mapping[str, Node],
    factors: Factors,
    workload: Workload,
    common: Mapping[str, object],
    before: Mapping[str, str],
) -> RoleStep[FromFactor] | None:
    """Generated rows, out of files that are made before."""
    for key, remedy in OF_FILES.items():
        if key in fields:
            fields[key].problem(remedy)
    name = fields["table"].text()
    if name in workload.tables and workload.tables[name].files is not None:
        fields["table"].problem("its rows come from files already; name a table with generators")
    found = parse_files(fields["files"], factors)
    if found.sorted and before.get(found.sorted) != "sort":
        named = fields["files"].at("sorted", found.sorted)
        named.problem(
            unknown(
                'earlier step of do = "sort"', found.sorted, [n for n, do in before.items() if do == "sort"]
            )
        )
    own = {key: field for key, field in fields.items() if key not in ("files", *OF_FILES)}
    step = role_step(Load, node, own, factors, workload, common)
    return replace(step, files=found) if isinstance(step, Load) else None


def load_by_pipeline(
    node: Node,
    fields: Mapping[str, Node],
    factors: Factors,
    workload: Workload,
    common: Mapping[str, object],
    steps: Sequence[Step[FromFactor]],
    names: Mapping[str, str],
) -> RoleStep[FromFactor] | None:
    """Rows or a dump's files as of any load; client and load server put them in."""
    for key, remedy in OF_SESSIONS.items():
        if key in fields:
            fields[key].problem(f"of a load by a pipeline the loader decides it; {remedy}")
    name = fields["table"].text()
    if name in workload.tables and workload.tables[name].files is not None:
        fields["table"].problem("its rows come from files already; name a table with generators")
    elif name in workload.tables and not workload.tables[name].identity:
        fields["table"].problem("rows are placed by the table's identity, and it has none")
    found = parse_step_pipeline(fields["pipeline"], factors, "from" in fields)
    own = {key: field for key, field in fields.items() if key not in ("pipeline", *OF_SESSIONS)}
    if "from" in fields:
        step = load_of_dump(node, own, factors, workload, common, steps, names)
    else:
        step = role_step(Load, node, own, factors, workload, common)
    return replace(step, pipeline=found) if isinstance(step, Load) else None


def with_load(workload: Workload) -> Workload:
    """The workload with the insert of loads that name none."""
    if LOAD in workload.operations:
        return workload
    operations = {**workload.operations, LOAD: Operation(LOAD, "insert")}
    return replace(workload, operations=operations)

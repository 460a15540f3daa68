"""Factors and roles of a study file, and what must hold between the parts. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from inrush.study.document import I64, Node, Reader, given, unknown
from inrush.study.forms import (
    BestOf,
    Factors,
    FromFactor,
    Ref,
    Rows,
    count,
    read_batch,
    read_form,
    read_reference,
    read_rows,
    values_of,
)
from inrush.study.io import IoOf, parse_io_of
from inrush.study.keys import KeysOf, parse_keys_of
from inrush.study.parts import Schedule, parse_schedule
from inrush.study.samples import SamplesSpec, parse_samples
from inrush.study.sources import Events, parse_events
from inrush.workload import Workload

ROLE_KEYS = (
    "operation", "operations", "table", "sessions", "depth", "batch_rows", "rows", "samples", "events", "calls", "schedule",
    "until",
    "keys_per_call", "keys", "method", "fetch_rows", "io",
)  # fmt: skip
#: In place of `rows` and `schedule`.
DUE = ("samples", "events")
FACTOR_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
#: Names that points carry already.
TAKEN = ("engine", "block", "order", "point")
MAX_SESSIONS = 4096
#: Placeholders of one statement: SQLite takes 32,766.
MAX_KEYS = 30_000
#: Rows of one fetch.
MAX_FETCH = 2**31 - 1
#: Ways out of all engines, by what each calls its own; `Twin.ways_out` says which has which.
WAYS_OUT = ("rows", "arrow", "copy", "binary", "cursor", "text", "native", "rowbinary")


@dataclass(frozen=True)
class Role(Generic[Ref]):
    """Sessions that do the same thing; an insert into several tables becomes a role per table."""

    name: str
    #: Operation -> weight.
    operations: Mapping[str, int]
    #: Tables written, or read by a `together`. None: the operation's own.
    table: tuple[str, ...] | Ref | None = None
    #: Whether the rows of each table are a role of their own, `writers/metrics`, also where there is one table: a factor of lists
    #: says so at a point.
    by_table: bool = False
    sessions: int | Ref = 1
    depth: int | Ref = 1
    batch_rows: int | Ref | BestOf[Ref] | None = None
    rows: Rows[Ref] | None = None
    #: In place of rows and schedule.
    samples: SamplesSpec[Ref] | None = None
    #: The same: rows that come one by one.
    events: Events[Ref] | None = None
    calls: int | Ref | None = None
    #: Length of the lists of keys in its calls; None: they have none.
    keys_per_call: int | Ref | None = None
    #: How its keys are drawn; None: as its operations say.
    keys: KeysOf[Ref] | None = None
    #: What its calls do with records of a file; None: they are of rows.
    io: IoOf[Ref] | None = None
    #: Way out of an extract, None: the engine's first; and rows that its cursor fetches at a time.
    method: str | Ref | None = None
    fetch_rows: int | Ref | None = None
    #: None: the study's.
    schedule: Schedule[Ref] | None = None
    #: Ends with this role; None: when its work is done, or with the measured time.
    until: str | None = None


def parse_factors(node: Node | None) -> dict[str, tuple[Any, ...]]:
    factors = {}
    for name, child in node.members().items() if node else ():
        if not FACTOR_NAME.match(name) or name in TAKEN:
            child.problem(
                f"factors are named by lower case letters, digits and _, and not {', '.join(TAKEN)}"
            )
        values = tuple(factor_value(item) for item in child.items(at_least=1))
        labels = [label(value) for value in values]
        for i, text in enumerate(labels):
            if text in labels[:i]:
                child.at(i, text).problem("is there twice; remove one")
        factors[name] = values or (0,)
    return factors


def factor_value(node: Node) -> Any:
    """A number, a text, true/false, a list of texts, or a table with a `name` and such values."""
    value = node.value
    if isinstance(value, dict):
        members = node.members()
        if "name" not in members:
            node.problem('a factor value that is a table needs a name, { name = "…", … }')
        elif not members["name"].text():
            return {"name": ""}
        return {key: plain_value(child) for key, child in members.items()}
    return plain_value(node)


def plain_value(node: Node) -> Any:
    value = node.value
    if isinstance(value, list):
        return node.texts()
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return node.integer(*I64)
    if isinstance(value, float):
        return node.number(low=-1e18)
    return node.text()


def label(value: Any) -> Any:
    """A factor's value as labels, figures and messages carry it: plain."""
    if isinstance(value, Mapping):
        return value.get("name", "")
    if isinstance(value, tuple):
        return "+".join(value)
    return value


def parse_roles(node: Node | None, factors: Factors, workload: Workload) -> dict[str, Role[FromFactor]]:
    if node is None:
        return {}
    members = node.members()
    if not members:
        node.problem("write at least one role, [roles.writers]")
    roles = {}
    for name, child in members.items():
        if not FACTOR_NAME.match(name):
            child.problem("roles are named by lower case letters, digits and _")
        roles[name] = parse_role(child, name, factors, workload, [n for n in members if n != name])
    for name, child in members.items():
        check_until(child, name, roles)
    return roles


def parse_role(
    node: Node, name: str, factors: Factors, workload: Workload, others: Sequence[str]
) -> Role[FromFactor]:
    fields = node.fields(ROLE_KEYS)
    operations = parse_operations(node, fields, workload)
    inserts = [o for o in operations if workload.operations[o].kind == "insert"]
    readers: dict[str, Reader] = {
        "table": lambda table: parse_tables(table, factors, workload),
        "sessions": count(factors, 0, MAX_SESSIONS),
        "depth": count(factors, 1, 65_536),
        "batch_rows": lambda rows: read_batch(rows, factors),
        "rows": lambda rows: read_rows(rows, factors),
        "samples": lambda samples: parse_samples(samples, factors),
        "events": lambda events: parse_events(events, factors),
        "calls": count(factors, 1, 10**12),
        "schedule": lambda schedule: parse_schedule(schedule, factors, of_role=True),
        "until": lambda until: until.text(others, "role") or None,
        "keys_per_call": count(factors, 1, MAX_KEYS),
        "keys": lambda keys: parse_keys_of(keys, factors),
        "method": lambda method: read_form(method, factors, lambda one: one.text(WAYS_OUT, "way out"), ""),
        "fetch_rows": count(factors, 1, MAX_FETCH),
        "io": lambda io: parse_io_of(io, factors),
    }
    role: Role[FromFactor] = Role(name=name, operations=operations, **given(fields, readers))
    if "keys" in fields and operations and not any(has_keys(o, workload) for o in operations):
        fields["keys"].problem(
            f'operation {next(iter(operations))} asks for no key; give it a parameter {{ gen = "key", column = "…" }}, or '
            "remove this line"
        )
    if "keys_per_call" in fields and (alone := [o for o in operations if not has_list(o, workload)]):
        fields["keys_per_call"].problem(
            f"operation {alone[0]} asks for no list of keys and reads no row by its key; give it a parameter with list = true, or "
            "remove this line"
        )
    if operations and not any(workload.operations[o].kind == "extract" for o in operations):
        for key in ("method", "fetch_rows"):
            if key in fields:
                fields[key].problem("only a role that extracts has a way out; remove it")
    check_io(node, fields, operations, workload)
    if inserts and len(operations) > 1:
        node.problem("an insert is a role of its own; give the other operations to another role")
    if inserts:
        check_insert(node, fields, role, workload.operations[inserts[0]].table, workload)
    elif operations:
        for key in ("rows", "batch_rows", *DUE):
            if key in fields:
                fields[key].problem("only a role that inserts has it; remove it")
    return role


def check_insert(
    node: Node, fields: Mapping[str, Node], role: Role[FromFactor], own: str | None, workload: Workload
) -> None:
    """A role that inserts says how many rows it has and when they are due. own: table of its operation."""
    generated = [t for t in written(role, own) if t in workload.tables and workload.tables[t].files is None]
    timed = next((key for key in DUE if key in fields), None)
    if "rows" not in fields and timed is None and generated:
        node.problem(
            "a role that inserts needs `rows`, { total = N } or { per_session = N }, or `samples`, { count = N }, or "
            "`events`, { per_s = N, for_s = S }"
        )
    if timed is not None:
        for key in ("rows", "schedule", *(other for other in DUE if other != timed)):
            if key in fields:
                fields[key].problem(f"{timed} say how many rows there are and when they are due; remove it")
        if [t for t in written(role, own) if t in workload.tables and t not in generated]:
            fields[timed].problem("rows of files are not due at a known time; write rows")
    for key, there in (("batch_rows", role.batch_rows or role.samples), ("table", role.table or own)):
        if not there and key not in fields:
            node.problem(f"a role that inserts needs `{key}`")
    if "calls" in fields:
        fields["calls"].problem("a role that inserts has rows, not calls")
    if "until" in fields:
        fields["until"].problem("a role that inserts ends when its rows are in; remove it")


def check_io(
    node: Node, fields: Mapping[str, Node], operations: Mapping[str, int], workload: Workload
) -> None:
    """Calls of records say what they do, and no others say it."""
    of_files = [o for o in operations if workload.operations[o].kind == "io"]
    if of_files and len(operations) > 1:
        node.problem(f'{of_files[0]} is of kind io, a role of its own: mixed calls are io.does = "mixed"')
    if of_files and "io" not in fields:
        node.problem(f"{of_files[0]} is of kind io; write io = {{ does = …, order = …, record_bytes = … }}")
    elif operations and not of_files and "io" in fields:
        fields["io"].problem("only calls of an operation of kind io have it; remove it")


def has_list(operation: str, workload: Workload) -> bool:
    """Whether its calls can ask for several keys: a list of them, or rows by their keys."""
    of = workload.operations[operation]
    return of.does == "read" or any(param.get("list") for param in of.params.values())


def has_keys(operation: str, workload: Workload) -> bool:
    """Of itself, or of a member."""
    of = workload.operations[operation]
    return any(workload.operations[name].key_rows is not None for name in of.members or (operation,))


def written(role: Role[FromFactor], own: str | None) -> tuple[str, ...]:
    """Tables that a role writes whatever the point; none where a factor says."""
    if isinstance(role.table, tuple):
        return role.table
    return (own,) if role.table is None and own else ()


def parse_operations(node: Node, fields: Mapping[str, Node], workload: Workload) -> dict[str, int]:
    if ("operation" in fields) == ("operations" in fields):
        node.problem('write operation = "name", or operations = { name = weight }')
        return {}
    if "operation" in fields:
        name = fields["operation"].text(workload.operations, "operation")
        return {name: 1} if name else {}
    weights = {}
    for name, child in fields["operations"].members().items():
        if name not in workload.operations:
            child.problem(unknown("operation", name, workload.operations))
        else:
            weights[name] = child.integer(1, 10**6)
    if not weights and not fields["operations"].members():
        fields["operations"].problem("write at least one, { name = weight }")
    return weights


def parse_tables(node: Node, factors: Factors, workload: Workload) -> tuple[str, ...] | FromFactor | None:
    """A table, a list of tables, or a factor of either."""
    if isinstance(node.value, str) and node.value.startswith("@"):
        reference = read_reference(node, factors)
        for value in values_of(node, reference, factors) if reference else ():
            for table in value.value if isinstance(value.value, tuple) else (value.value,):
                if table not in workload.tables:
                    Node(value.file, value.key, table, value.problems).problem(
                        unknown("table", str(table), workload.tables)
                    )
        return reference
    if isinstance(node.value, list):
        return node.texts(workload.tables, "table", at_least=1) or None
    name = node.text(workload.tables, "table")
    return (name,) if name else None


def check_refill(node: Node | None, roles: Collection[Role[FromFactor]], workload: Workload) -> None:
    """What a study's own schedule says of batches, where every role has another schedule, or calls that are due."""
    written = node.members() if node is not None and isinstance(node.value, dict) else {}

    def follows(role: Role[FromFactor]) -> bool:
        kinds = {workload.operations[name].kind for name in role.operations}
        return not (role.schedule or role.samples or role.events or "together" in kinds)

    if roles and not any(follows(role) for role in roles):
        for key in ("refill", "delay_s"):
            if key in written:
                written[key].problem(
                    "no role sends by it: each has a schedule of its own, calls that are due, or pages"
                )


def check_until(node: Node, name: str, roles: Mapping[str, Role[FromFactor]]) -> None:
    """Ends must not wait for each other."""
    seen = {name}
    role = roles[name]
    while role.until:
        if role.until in seen:
            node.problem("waits, by way of `until`, for its own end; end one role by its work")
            return
        seen.add(role.until)
        role = roles[role.until]

"""What the steps of a study need of one another: rows are loaded before they are read, and by loads alone. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from inrush.study.at_point import steps_at
from inrush.study.by_key import alters
from inrush.study.document import Node
from inrush.study.forms import Factors, FromFactor, Plain
from inrush.study.operations import tables_of
from inrush.study.roles import Role, label
from inrush.study.step_kinds import Dump, KeyCalls, Load, Read, Roles, Statement, Step
from inrush.workload import Operation, Workload


def check_order(
    node: Node, steps: Sequence[tuple[int, Step[FromFactor] | None]], factors: Factors, workload: Workload
) -> None:
    """What is read was loaded before, and by one step: at each value of the factors that say which tables."""
    first = {name: values[0] for name, values in factors.items()}
    forms = [role.table for _, step in steps if step is not None for role in step.sessions.values()]
    chosen = [name for _, step in steps if step is not None for name in step.only]
    named = list(dict.fromkeys([*(form.factor for form in forms if isinstance(form, FromFactor)), *chosen]))
    for values in itertools.product(*(factors[name] for name in named)):
        point = dict(zip(named, values, strict=True))
        where = "".join(f", where {name} is {label(value)}" for name, value in point.items())
        done = [
            (i, at)
            for i, step in steps
            for at in ([None] if step is None else steps_at((step,), {**first, **point}))
        ]
        check_order_at(node, done, where, workload)


def check_order_at(
    node: Node, steps: Sequence[tuple[int, Step[Plain] | None]], where: str, workload: Workload
) -> None:
    #: Table -> the step that loads it; empty: perhaps one that could not be read.
    loaded: dict[str, str] = {}
    #: Table -> why no load adds rows to it.
    fixed = {
        name: "its rows come from files, which one load reads to the end"
        for name, table in workload.tables.items()
        if table.files is not None
    }
    #: Table -> the load that adds rows to it.
    added: dict[str, str] = {}
    #: Table -> the step whose calls change its rows.
    changed: dict[str, str] = {}
    for i, step in steps:
        if step is None:
            loaded = {**dict.fromkeys(workload.tables, ""), **loaded}
            continue
        if step.without:
            continue
        if isinstance(step, Load):
            for name in step.role.table or ():
                if step.source is not None and name in changed:
                    node.at(i, name).at("from", step.source).problem(
                        f"{changed[name]} has changed rows of {name}{where}, and they are not what the dump has; load it before"
                    )
                elif problem := load_problem(step, name, loaded, fixed, where):
                    node.at(i, name).at("table", name).problem(problem)
                loaded[name] = loaded.get(name) or step.name
                if step.adds:
                    added.setdefault(name, step.name)
                if step.pipeline is not None:
                    fixed.setdefault(
                        name, f"{step.name} fills it by the loader, whose ledger proves all of its rows"
                    )
            continue
        if isinstance(step, Roles):
            check_roles_at(node.at(i, step.name), step, loaded, fixed, workload, where)
            fixed |= {name: f"{by} writes it" for name, by in loaded.items() if by in step.sessions}
            continue
        for table in tables_touched(step, workload):
            if isinstance(step, KeyCalls) and any(o.table == table for o in altering(step.role, workload)):
                changed.setdefault(table, step.name)
                fixed.setdefault(table, f"{step.name} changes its rows")
            if isinstance(step, Dump) and table in changed:
                node.at(i, step.name).at("table", table).problem(
                    f"{changed[table]} has changed rows of this table{where}, and a dump has those of its load; dump it before"
                )
            if isinstance(step, Dump):
                fixed.setdefault(table, f"{step.name} dumps it")
            if isinstance(step, Dump) and table in added:
                node.at(i, step.name).at("table", table).problem(
                    f"{added[table]} adds rows to this table{where}, and a dump has those of one load; dump another table"
                )
            if table not in loaded:
                node.at(i, step.name).problem(
                    f"it needs rows of {table}, which no step before it loads{where}; load them first"
                )


def altering(role: Role[Plain], workload: Workload) -> list[Operation]:
    """Of its operations those whose calls add rows by their keys, change or delete them."""
    called = [workload.operations[name] for name in role.operations if name in workload.operations]
    return [operation for operation in called if alters(operation)]


def load_problem(
    step: Load[Plain], table: str, loaded: Mapping[str, str], fixed: Mapping[str, str], where: str
) -> str:
    """Why the step cannot load this table after the steps before it; empty where it can."""
    if step.adds and table not in loaded:
        return f"no step before it loads {table}{where}, so there are no rows to add to; remove adds, or load it first"
    if step.adds and table in fixed:
        return f"{fixed[table]}{where}; rows are added to a table that only loads by sessions fill"
    if loaded.get(table) and step.source is None and not step.adds:
        return (
            f"{loaded[table]} loads this table already{where}; a table is loaded once, or again from a dump. For the rows "
            "behind those of the first load, write adds = true"
        )
    return ""


def check_roles_at(
    node: Node,
    step: Roles[Plain],
    loaded: dict[str, str],
    fixed: Mapping[str, str],
    workload: Workload,
    where: str,
) -> None:
    """Its writers add rows to what loads by sessions have filled, or fill a table; its readers look at any of those."""
    mine: dict[str, str] = {}
    for name, role in step.sessions.items():
        inserts = [workload.operations[o] for o in role.operations if workload.operations[o].kind == "insert"]
        own = [o.table for o in inserts if o.table]
        for table in (role.table or own) if inserts else ():
            if why := fixed.get(table) or (table in mine and f"{mine[table]} writes it in the same step"):
                node.at("roles", name).at(name.partition(".")[2], name).problem(
                    f"{table} takes no rows from this role{where}: {why}"
                )
            mine.setdefault(table, name)
    for name, role in step.sessions.items():
        for table, operation in tables_read(role, workload).items():
            of = workload.operations[operation]
            if table not in loaded and table not in mine:
                node.at("roles", name).at(name.partition(".")[2], name).problem(
                    f"it needs rows of {table}, which no step before it loads{where}; load them first"
                )
            elif table in mine and table not in loaded and (of.key_rows is not None or of.range is not None):
                node.at("roles", name).at(name.partition(".")[2], name).problem(
                    f"{operation} asks for rows of {table} by number, which {mine[table]} only writes{where}; "
                    "read them in a later step"
                )
    loaded.update(mine)


def tables_read(role: Role[Plain], workload: Workload) -> dict[str, str]:
    """Table -> a query, or maintenance, that needs its rows; a page goes without its members that look at other tables than its role names."""
    only = set(role.table or ())
    members = [m for name in role.operations for m in workload.operations[name].members or (name,)]
    queries = [m for m in members if workload.operations[m].kind in ("query", "extract", "maintain")]
    looks = {m: tables_of(workload.operations[m], workload) for m in queries}
    return {t: m for m, tables in looks.items() if not only or set(tables) <= only for t in tables}


def tables_touched(step: Step[Plain], workload: Workload) -> list[str]:
    names, only = [], set[str]()
    if isinstance(step, Read):
        names, only = list(step.role.operations), set(step.role.table or ())
    elif isinstance(step, Dump):
        return list(step.role.table or ())
    elif isinstance(step, Statement):
        names = [step.operation]
    each = [
        tables_of(workload.operations[member], workload)
        for name in names
        if name in workload.operations
        for member in workload.operations[name].members or (name,)
    ]
    # A page goes without its members that look at other tables than its role names.
    each = [tables for tables in each if not only or set(tables) <= only]
    return list(dict.fromkeys(table for tables in each for table in tables))

"""Which roles of a study work at one point, and what contradicts itself there. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import cast

from inrush.border.plan import Refill
from inrush.engines.base.twin import Twin
from inrush.errors import Problem, refuse
from inrush.plan.roles import ALL_ROWS, ActiveRole, Sampling, problem
from inrush.plan.units import LOAD_BATCH_ROWS
from inrush.study.at_point import StudyAt
from inrush.study.forms import RATES_LIE, RATES_PER_S, BestOf, OfAge, PerSession, Plain, rows_of
from inrush.study.operations import tables_of
from inrush.study.parts import REFILLS, Schedule
from inrush.study.roles import Role
from inrush.study.samples import SamplesSpec
from inrush.study.sources import Events

#: Of a role with events: fewer due would not show whether they wait for each other, nor fewer in its queue.
LEAST_BATCHES = 10


def active_roles(study: StudyAt[Plain], server: Twin, engine: str) -> list[ActiveRole]:
    """Those that work at the point. Raises UsageError."""
    roles: list[ActiveRole] = []
    problems: list[Problem] = []
    for role in study.roles.values():
        role = replace(role, operations=calls_on(study, role))
        if role.sessions == 0 or role.table == () or not role.operations:
            continue
        if "insert" in {study.workload.operations[o].kind for o in role.operations}:
            roles += writers(study, server, role, problems)
        else:
            roles.append(reader(study, role, problems))
    problems += deep_problems(study, server, roles, engine)
    problems += deadline_problems(study, roles)
    writing = [role for role in roles if role.table is not None]
    if not writing and study.kind == "fixed_volume":
        problems.append(
            problem("roles", "", 'no role inserts here; kind = "mixed" allows points that only read')
        )
    measure = study.measure
    if not writing and measure is not None and measure.seconds <= 0 and any(r.calls is None for r in roles):
        problems.append(
            problem("schedule.measure_s", "", "points that only read need measure_s, their length")
        )
    roles = [replace(ended(role, roles), load_rows=study.load_rows) for role in roles]
    refuse(problems)
    return roles


def calls_on(study: StudyAt[Plain], role: Role[Plain]) -> Mapping[str, int]:
    """Its operations, of those by key the ones on its tables; all where it names none."""
    of, tables = study.workload.operations, role.table
    return {o: n for o, n in role.operations.items() if not tables or not of[o].does or of[o].table in tables}


def deadline_problems(study: StudyAt[Plain], roles: Sequence[ActiveRole]) -> list[Problem]:
    """Roles with operations of several deadlines: the core watches the call that a session sent first, by one."""
    found = []
    for role in roles:
        deadlines = {name: study.workload.operations[name].deadline_s for name in role.operations}
        if len(set(deadlines.values())) > 1:
            said = ", ".join(f"{name} {s:g} s" if s else f"{name} none" for name, s in deadlines.items())
            remedy = "a role has one deadline for all that it calls: give its operations the same deadline_s, or roles of their own"
            found.append(problem(f"roles.{role.name.partition('/')[0]}.operations", said, remedy))
    return found


def deep_problems(
    study: StudyAt[Plain], server: Twin, roles: Sequence[ActiveRole], engine: str
) -> list[Problem]:
    """Roles with sessions that would have more calls in flight than the engine, or its insert method, can hold."""
    found, method = [], method_of(study, server)
    for role in roles:
        most = server.max_depth if role.table is None else server.depths.get(method, server.max_depth)
        writing = "" if most == server.max_depth else f" that inserts by {method}"
        key = f"roles.{role.name.partition('/')[0]}.depth"
        pages = [name for name in role.operations if study.workload.operations[name].kind == "together"]
        extracts = [n for n in role.operations if study.workload.operations[n].kind == "extract"]
        if extracts and role.depth > 1:
            remedy = f"{extracts[0]} is an extract, and a session reads one answer to its end; remove it, or use more sessions"
            found.append(problem(key, str(role.depth), remedy))
        elif pages and role.depth > 1:
            remedy = (
                f"{pages[0]} is a page: its queries are sent at once, and one page after the other; remove it"
            )
            found.append(problem(key, str(role.depth), remedy))
        elif pages and (role.refill or role.delay_s):
            remedy = f"{pages[0]} is a page: its queries are sent at once, and one page after the other; remove refill and delay_s"
            found.append(problem(f"roles.{role.name.partition('/')[0]}.schedule", "", remedy))
        elif role.depth > most:
            calls = f"{most} call{'s' * (most > 1)}"
            remedy = f"a session of {engine}{writing} has {calls} in flight at most: say -P {key}={most}, or use more sessions"
            found.append(problem(key, str(role.depth), remedy))
    return found


def method_of(study: StudyAt[Plain], server: Twin) -> str:
    """The engine's name of the insert method; its first one where the study names none."""
    asked = study.method or server.methods[0]
    return server.ways.get(asked, asked)


def writers(
    study: StudyAt[Plain], server: Twin, role: Role[Plain], problems: list[Problem]
) -> list[ActiveRole]:
    (operation,) = role.operations
    own = study.workload.operations[operation].table
    tables = role.table or ((own,) if own else ())
    split = len(tables) > 1 or role.by_table
    notes = writer_notes(server, role.sessions * study.clients * len(tables))
    found = []
    for table in tables:
        if role.samples is not None:
            found.append(sampler(study, role, role.samples, table, split, notes))
        elif role.events is not None:
            found.append(subscriber(role, role.events, table, split, notes))
            if not RATES_PER_S[0] <= (rate := found[-1].rate_per_s) <= RATES_PER_S[1]:
                key = f"roles.{role.name}.events"
                problems.append(
                    problem(key, f"{rate:g} batches a second", f"{RATES_LIE}: another batch_rows")
                )
        elif role.rows is None and study.workload.tables[table].files is None:
            said = "say how many, { total = N }, { per_session = N } or { age_s = N }"
            problems.append(problem(f"roles.{role.name}.rows", "", said))
        else:
            found.append(writer(study, role, table, split, notes, problems))
    return found


def writer(
    study: StudyAt[Plain],
    role: Role[Plain],
    table: str,
    split: bool,
    notes: tuple[str, ...],
    problems: list[Problem],
) -> ActiveRole:
    """A role that writes so many rows, or those of the table's files."""
    # Of all client processes.
    writing = role.sessions * study.clients
    rows = rows_of_table(study, role, table, writing, problems)
    share = rows // writing if isinstance(role.rows, PerSession) or writing > 1 else rows
    batch, note = batch_of(role, share, table)
    if batch > max(share, 1):
        problems.append(
            problem(
                f"roles.{role.name}.batch_rows",
                f"{batch:,}",
                f"a session has {share:,} rows ({rows:,} over {writing}); a larger batch would be the same "
                "point under another name. Lower it or raise the rows",
            )
        )
    batches = -(-rows // max(batch, 1))
    if study.workload.tables[table].files is None and batches % writing:
        notes = (*notes, f"{role.name}: {batches} batches do not divide evenly among {writing} sessions")
    schedule = role.schedule or study.schedule
    return ActiveRole(
        name=f"{role.name}/{table}" if split else role.name,
        operations=dict(role.operations),
        table=table,
        tables=(table,),
        sessions=role.sessions,
        depth=role.depth,
        schedule=schedule,
        rate_per_s=rate_of(schedule),
        refill=refill_of(schedule),
        delay_s=float(schedule.delay_s),
        rows=rows,
        batch_rows=batch,
        notes=(*notes, *note),
    )


def rows_of_table(
    study: StudyAt[Plain], role: Role[Plain], table: str, writing: int, problems: list[Problem]
) -> int:
    """Rows that the role writes into it. writing: sessions."""
    match role.rows:
        case None:
            return ALL_ROWS
        case OfAge():
            of = study.workload.tables[table]
            if of.rates is not None or of.chunks is not None or of.files is not None:
                remedy = f"rows of {table} are not sweep after sweep, so its age is not known before; say {{ total = N }}"
                problems.append(problem(f"roles.{role.name}.rows", "age_s", remedy))
            return of.series * ceil(round(role.rows.seconds / of.period_s, 9))
        case _:
            return rows_of(role.rows, writing)


def sampler(
    study: StudyAt[Plain],
    role: Role[Plain],
    samples: SamplesSpec[Plain],
    table: str,
    split: bool,
    notes: tuple[str, ...],
) -> ActiveRole:
    """A role that writes samples: each is split evenly over its sessions, or in parts near the batch asked for."""
    of = study.workload.tables[table]
    rows = of.series if samples.rows is None else samples.rows
    wanted = role.sessions
    if role.batch_rows is not None:
        batch, note = batch_of(role, rows, table)
        wanted, notes = -(-rows // batch), (*notes, *note)
    parts = even_parts(rows, min(wanted, rows))
    if parts != wanted:
        notes = (
            *notes,
            f"{role.name}: {rows:,} rows a sample in {parts} equal parts, as {wanted} would not be equal",
        )
    return ActiveRole(
        name=f"{role.name}/{table}" if split else role.name,
        operations=dict(role.operations),
        table=table,
        tables=(table,),
        sessions=role.sessions,
        depth=role.depth,
        schedule=study.schedule,
        rate_per_s=0.0,
        rows=samples.count * rows,
        batch_rows=rows // parts,
        samples=Sampling(samples.count, rows, samples.every_s or of.period_s, parts, samples.collect),
        notes=notes,
    )


def subscriber(
    role: Role[Plain],
    events: Events[Plain],
    table: str,
    split: bool,
    notes: tuple[str, ...],
) -> ActiveRole:
    """A role that writes events: a batch is due when its last event has come, so batches are equally spaced."""
    batch, note = batch_of(role, ALL_ROWS, table)
    batches = max(round(events.per_s * events.for_s / batch), LEAST_BATCHES)
    return ActiveRole(
        name=f"{role.name}/{table}" if split else role.name,
        operations=dict(role.operations),
        table=table,
        tables=(table,),
        sessions=role.sessions,
        depth=role.depth,
        schedule=Schedule(mode="constant"),
        rate_per_s=events.per_s / batch,
        rows=batches * batch,
        batch_rows=batch,
        queue_calls=None if events.queue_rows is None else max(events.queue_rows // batch, LEAST_BATCHES),
        notes=(*notes, *note),
    )


def even_parts(rows: int, parts: int) -> int:
    """The least number of equal parts that is not below `parts`."""
    return next(n for n in range(max(parts, 1), rows + 1) if rows % n == 0)


def batch_of(role: Role[Plain], share: int, table: str) -> tuple[int, tuple[str, ...]]:
    """Rows of one insert. The best of another study is not larger than what a session has."""
    form = role.batch_rows
    if form is None:  # of a step that loads: as rows are loaded anywhere
        return min(LOAD_BATCH_ROWS, max(share, 1)), ()
    if not isinstance(form, BestOf):
        return form, ()
    found = form.best.get(table)
    if found is None:
        batch = form.otherwise
        note = f"{role.name}: batch of {batch:,} rows, as study {form.study} has no result yet"
    else:
        batch, note = found, f"{role.name}: batch of {found:,} rows, the best of study {form.study}"
    if batch > share:
        batch = max(share, 1)
        note += f"; cut to the {batch:,} rows of a session"
    return batch, (note,)


def reader(study: StudyAt[Plain], role: Role[Plain], problems: list[Problem]) -> ActiveRole:
    workload, tables = study.workload, role.table or ()
    for name in role.operations if tables else ():
        operation = workload.operations[name]
        looks_at = [tables_of(workload.operations[m], workload) for m in operation.members or (name,)]
        if not any(set(looked) <= set(tables) for looked in looks_at):
            problems.append(
                problem(
                    f"roles.{role.name}.table", "+".join(tables), f"operation {name} looks at other tables"
                )
            )
    schedule = role.schedule or study.schedule
    return ActiveRole(
        name=role.name,
        operations=dict(role.operations),
        table=None,
        tables=tables,
        sessions=role.sessions,
        depth=role.depth,
        schedule=schedule,
        rate_per_s=rate_of(schedule),
        refill=refill_of(schedule),
        delay_s=float(schedule.delay_s),
        calls=role.calls,
        until=role.until,
        keys_per_call=role.keys_per_call or 1,
        reads_many=role.keys_per_call is not None,
        keys=role.keys,
        io=role.io,
        method=role.method or "",
        fetch_rows=role.fetch_rows,
    )


def ended(role: ActiveRole, roles: Sequence[ActiveRole]) -> ActiveRole:
    """`until` of a role that is not there at this point means the measured time instead.

    Of a role that is one per table, `writers` means all of its parts: the core reads it so.
    """
    if role.until is None:
        return role
    there = any(r.name == role.until or r.name.startswith(f"{role.until}/") for r in roles)
    return role if there else replace(role, until=None)


def writer_notes(server: Twin, sessions: int) -> tuple[str, ...]:
    if server.max_writers is None or sessions <= server.max_writers:
        return ()
    return (
        f"{server.name} lets {server.max_writers} session{'s' * (server.max_writers > 1)} write at a time: "
        "the others wait for it, and that wait is measured",
    )


def refill_of(schedule: Schedule[Plain]) -> Refill | None:
    return None if schedule.refill == REFILLS[0] else cast("Refill", schedule.refill)


def rate_of(schedule: Schedule[Plain]) -> float:
    return float(schedule.rate_per_s) if schedule.rate_per_s is not None else 0.0

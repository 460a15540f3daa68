"""The roles of a study at one point: how many sessions, rows and batches, and what contradicts itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inrush.border.plan import InputWay, Refill
from inrush.engines.twin import Twin
from inrush.errors import Problem
from inrush.plan.units import LOAD_BATCH_ROWS
from inrush.study.forms import (
    RATES_LIE,
    RATES_PER_S,
    Best,
    BestOf,
    FromFactor,
    OfAge,
    PerSession,
    best_value,
    resolve,
    rows_of,
    rows_of_age,
)
from inrush.study.io import IoCalls
from inrush.study.keys import KeysOf
from inrush.study.operations import tables_of
from inrush.study.parts import REFILLS, Schedule
from inrush.study.roles import Role
from inrush.study.samples import Collector, SamplesSpec
from inrush.study.sources import Events
from inrush.study.study import Study

#: Of a role with events: fewer due would not show whether they wait for each other, nor fewer in its queue.
LEAST_BATCHES = 10
#: "As many as there are": rows of a table fed from files.
ALL_ROWS = 2**62


@dataclass(frozen=True)
class Sampling:
    """Samples of one table at one point."""

    count: int
    rows: int
    every_s: float
    #: Operations of one sample.
    parts: int
    collect: Collector | None = None


@dataclass(frozen=True)
class RoleInput:
    """Files of a table's rows that are made before."""

    name: str
    files: int
    way: InputWay
    cold: bool
    #: The step that sorts them, where there is one.
    sorted: str = ""


@dataclass(frozen=True)
class ActiveRole:
    """A role with sessions at this point. An insert into several tables is a role for each."""

    name: str
    operations: Mapping[str, int]
    #: Table that it writes; None for readers.
    table: str | None
    #: Tables that it touches; empty: those of its operations.
    tables: tuple[str, ...]
    sessions: int
    depth: int
    schedule: Schedule
    rate_per_s: float
    #: When a session of a closed role sends again, and how long it waits then.
    refill: Refill | None = None
    delay_s: float = 0.0
    rows: int = 0
    #: Of them; another than 0 where loads before it have filled the table up to there.
    first_row: int = 0
    batch_rows: int = 0
    #: Rows that are due together; None: the schedule says when batches are.
    samples: Sampling | None = None
    #: Batches that may be due and not sent; None: any number.
    queue_calls: int | None = None
    calls: int | None = None
    until: str | None = None
    #: Length of its lists of keys, where its calls have any; and whether its reads by key ask for so many rows.
    keys_per_call: int = 1
    reads_many: bool = False
    #: How its keys are drawn, in plain values; None: as its operations say.
    keys: KeysOf | None = None
    #: Way out of its extracts, empty: the engine's first; and rows that a cursor fetches at a time.
    method: str = ""
    fetch_rows: int | None = None
    #: What its calls do with records of a file, in plain values; None: it reads and writes rows.
    io: IoCalls | None = None
    #: The operation whose files its rows are read from; empty: they are made.
    source: str = ""
    #: The files that its rows lie in, and whether each is loaded on a connection of its own; None: they are made while they
    #: are sent.
    input: RoleInput | None = None
    connects: bool = False
    #: Of tables that no role writes.
    load_rows: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Broken:
    problems: tuple[Problem, ...]


def active_roles(
    study: Study, server: Twin, point: Mapping[str, object], best: Mapping[str, Sequence[Best]]
) -> list[ActiveRole] | Broken:
    roles: list[ActiveRole] = []
    problems: list[Problem] = []
    for role in study.roles.values():
        sessions = int(resolve(role.sessions, point))
        tables = tables_at(role, point)
        role = replace(role, operations=calls_on(study, role, tables))
        if sessions == 0 or tables == () or not role.operations:
            continue
        if "insert" in {study.workload.operations[o].kind for o in role.operations}:
            roles += writers(study, server, role, sessions, tables or (), point, best, problems)
        else:
            roles.append(reader(study, role, sessions, tables or (), point, problems))
    problems += deep_problems(study, server, roles, point)
    problems += deadline_problems(study, roles)
    writing = [role for role in roles if role.table is not None]
    if not writing and study.kind == "fixed_volume":
        problems.append(
            problem("roles", "", 'no role inserts here; kind = "mixed" allows points that only read')
        )
    if (
        not writing
        and not study.steps
        and study.schedule.measure_s <= 0
        and any(r.calls is None for r in roles)
    ):
        problems.append(
            problem("schedule.measure_s", "", "points that only read need measure_s, their length")
        )
    load_rows = int(resolve(study.load_rows, point))
    roles = [replace(ended(role, roles, study), load_rows=load_rows) for role in roles]
    return Broken(tuple(problems)) if problems else roles


def calls_on(study: Study, role: Role, tables: tuple[str, ...] | None) -> Mapping[str, int]:
    """Its operations, of those by key the ones on these tables; all where it names none."""
    of = study.workload.operations
    return {o: n for o, n in role.operations.items() if not tables or not of[o].does or of[o].table in tables}


def deadline_problems(study: Study, roles: Sequence[ActiveRole]) -> list[Problem]:
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
    study: Study, server: Twin, roles: Sequence[ActiveRole], point: Mapping[str, object]
) -> list[Problem]:
    """Roles with sessions that would have more calls in flight than the engine, or its insert method, can hold."""
    found, engine, method = [], str(point.get("engine", server.name)), method_at(study, server, point)
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
            remedy = f"a session of {engine}{writing} has {calls} in flight at most: say -P {depth_word(study, role)}={most}, or use more sessions"
            found.append(problem(key, str(role.depth), remedy))
    return found


def depth_word(study: Study, role: ActiveRole) -> str:
    """What `-P` changes a role's depth by: its factor where it has one."""
    name = role.name.partition("/")[0]
    named = study.roles.get(name)
    return named.depth.factor if named and isinstance(named.depth, FromFactor) else f"roles.{name}.depth"


def method_at(study: Study, server: Twin, point: Mapping[str, object]) -> str:
    """The engine's name of the insert method; its first one where the study names none."""
    asked = resolve(study.method, point) or server.methods[0]
    return server.ways.get(asked, asked)


def tables_at(role: Role, point: Mapping[str, object]) -> tuple[str, ...] | None:
    """None where the role does not say; () where it has none at this point."""
    found = resolve(role.table, point)
    return (found,) if isinstance(found, str) else found


def writers(
    study: Study,
    server: Twin,
    role: Role,
    sessions: int,
    tables: tuple[str, ...],
    point: Mapping[str, object],
    best: Mapping[str, Sequence[Best]],
    problems: list[Problem],
) -> list[ActiveRole]:
    (operation,) = role.operations
    own = study.workload.operations[operation].table
    tables = tables or ((own,) if own else ())
    is_list = isinstance(resolve(role.table, point), tuple) and not isinstance(role.table, tuple)
    split = len(tables) > 1 or is_list
    # Of all client processes.
    writing = sessions * int(resolve(study.clients, point))
    notes = writer_notes(server, writing * len(tables))
    schedule = role.schedule or study.schedule
    found = []
    for table in tables:
        from_files = study.workload.tables[table].files is not None
        if role.samples is not None:
            found.append(sampler(study, role, role.samples, sessions, table, split, point, best, notes))
            continue
        if role.events is not None:
            found.append(subscriber(role, role.events, sessions, table, split, point, best, notes))
            if not RATES_PER_S[0] <= (rate := found[-1].rate_per_s) <= RATES_PER_S[1]:
                key = f"roles.{role.name}.events"
                problems.append(
                    problem(key, f"{rate:g} batches a second", f"{RATES_LIE}: another batch_rows")
                )
            continue
        match role.rows:
            case None:
                rows = ALL_ROWS
            case OfAge():
                of = study.workload.tables[table]
                if of.rates is not None or of.chunks is not None or from_files:
                    remedy = f"rows of {table} are not sweep after sweep, so its age is not known before; say {{ total = N }}"
                    problems.append(problem(f"roles.{role.name}.rows", "age_s", remedy))
                rows = rows_of_age(role.rows, of, point)
            case _:
                rows = rows_of(role.rows, writing, point)
        if role.rows is None and not from_files:
            problems.append(
                problem(
                    f"roles.{role.name}.rows",
                    "",
                    "say how many, { total = N }, { per_session = N } or { age_s = N }",
                )
            )
            continue
        share = rows // writing if isinstance(role.rows, PerSession) or writing > 1 else rows
        batch, note = batch_at(role, share, {**point, "table": table}, best)
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
        if from_files:
            pass
        elif batches % writing:
            notes = (*notes, f"{role.name}: {batches} batches do not divide evenly among {writing} sessions")
        found.append(
            ActiveRole(
                name=f"{role.name}/{table}" if split else role.name,
                operations=dict(role.operations),
                table=table,
                tables=(table,),
                sessions=sessions,
                depth=int(resolve(role.depth, point)),
                schedule=schedule,
                rate_per_s=rate_at(schedule, point),
                refill=refill_at(schedule, point),
                delay_s=float(resolve(schedule.delay_s, point)),
                rows=rows,
                batch_rows=batch,
                notes=(*notes, *note),
            )
        )
    return found


def sampler(
    study: Study,
    role: Role,
    samples: SamplesSpec,
    sessions: int,
    table: str,
    split: bool,
    point: Mapping[str, object],
    best: Mapping[str, Sequence[Best]],
    notes: tuple[str, ...],
) -> ActiveRole:
    """A role that writes samples: each is split evenly over its sessions, or in parts near the batch asked for."""
    of = study.workload.tables[table]
    rows = of.series if samples.rows is None else int(resolve(samples.rows, point))
    wanted = sessions
    if role.batch_rows is not None:
        batch, note = batch_at(role, rows, {**point, "table": table}, best)
        wanted, notes = -(-rows // batch), (*notes, *note)
    parts = even_parts(rows, min(wanted, rows))
    if parts != wanted:
        notes = (
            *notes,
            f"{role.name}: {rows:,} rows a sample in {parts} equal parts, as {wanted} would not be equal",
        )
    count = int(resolve(samples.count, point))
    return ActiveRole(
        name=f"{role.name}/{table}" if split else role.name,
        operations=dict(role.operations),
        table=table,
        tables=(table,),
        sessions=sessions,
        depth=int(resolve(role.depth, point)),
        schedule=study.schedule,
        rate_per_s=0.0,
        rows=count * rows,
        batch_rows=rows // parts,
        samples=Sampling(count, rows, samples.every_s or of.period_s, parts, samples.collect),
        notes=notes,
    )


def subscriber(
    role: Role,
    events: Events,
    sessions: int,
    table: str,
    split: bool,
    point: Mapping[str, object],
    best: Mapping[str, Sequence[Best]],
    notes: tuple[str, ...],
) -> ActiveRole:
    """A role that writes events: a batch is due when its last event has come, so batches are equally spaced."""
    per_s = float(resolve(events.per_s, point))
    batch, note = batch_at(role, ALL_ROWS, {**point, "table": table}, best)
    batches = max(round(per_s * events.for_s / batch), LEAST_BATCHES)
    queue_rows = None if events.queue_rows is None else int(resolve(events.queue_rows, point))
    return ActiveRole(
        name=f"{role.name}/{table}" if split else role.name,
        operations=dict(role.operations),
        table=table,
        tables=(table,),
        sessions=sessions,
        depth=int(resolve(role.depth, point)),
        schedule=Schedule(mode="constant"),
        rate_per_s=per_s / batch,
        rows=batches * batch,
        batch_rows=batch,
        queue_calls=None if queue_rows is None else max(queue_rows // batch, LEAST_BATCHES),
        notes=(*notes, *note),
    )


def even_parts(rows: int, parts: int) -> int:
    """The least number of equal parts that is not below `parts`."""
    return next(n for n in range(max(parts, 1), rows + 1) if rows % n == 0)


def batch_at(
    role: Role, share: int, point: Mapping[str, object], best: Mapping[str, Sequence[Best]]
) -> tuple[int, tuple[str, ...]]:
    """Rows of one insert. The best of another study is not larger than what a session has."""
    form = role.batch_rows
    if form is None:  # of a step that loads: as rows are loaded anywhere
        return min(LOAD_BATCH_ROWS, max(share, 1)), ()
    if not isinstance(form, BestOf):
        return int(resolve(form, point)), ()
    found = best_value(best.get(form.study, ()), point)
    if found is None:
        batch = int(resolve(form.otherwise, point))
        note = f"{role.name}: batch of {batch:,} rows, as study {form.study} has no result yet"
    else:
        batch, note = found, f"{role.name}: batch of {found:,} rows, the best of study {form.study}"
    if batch > share:
        batch = max(share, 1)
        note += f"; cut to the {batch:,} rows of a session"
    return batch, (note,)


def reader(
    study: Study,
    role: Role,
    sessions: int,
    tables: tuple[str, ...],
    point: Mapping[str, object],
    problems: list[Problem],
) -> ActiveRole:
    workload = study.workload
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
        sessions=sessions,
        depth=int(resolve(role.depth, point)),
        schedule=schedule,
        rate_per_s=rate_at(schedule, point),
        refill=refill_at(schedule, point),
        delay_s=float(resolve(schedule.delay_s, point)),
        calls=None if role.calls is None else int(resolve(role.calls, point)),
        until=role.until,
        keys_per_call=1 if role.keys_per_call is None else int(resolve(role.keys_per_call, point)),
        reads_many=role.keys_per_call is not None,
        keys=None if role.keys is None else role.keys.at(point),
        io=None if role.io is None else role.io.at(point),
        method=str(resolve(role.method, point) or ""),
        fetch_rows=None if role.fetch_rows is None else int(resolve(role.fetch_rows, point)),
    )


def ended(role: ActiveRole, roles: Sequence[ActiveRole], study: Study) -> ActiveRole:
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


def refill_at(schedule: Schedule, point: Mapping[str, object]) -> Refill | None:
    found = resolve(schedule.refill, point)
    return None if found == REFILLS[0] else found


def rate_at(schedule: Schedule, point: Mapping[str, object]) -> float:
    rate = resolve(schedule.rate_per_s, point)
    return float(rate) if rate is not None else 0.0


def problem(key: str, value: str, remedy: str) -> Problem:
    return Problem("", key, value, remedy)

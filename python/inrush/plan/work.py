"""What the roles of a point do while it is measured: rows, calls, and the time that a schedule gives them. Pure.

For forecasts alone (`plan/cost.py`): nothing of it crosses the border.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from inrush.engines.base.twin import Twin
from inrush.plan.documents import row_bytes
from inrush.plan.roles import ALL_ROWS, ActiveRole
from inrush.workload import Table


@dataclass(frozen=True)
class Work:
    """One role in one repetition."""

    role: str
    #: Written; 0 of readers.
    rows: int
    #: Batches or calls.
    calls: float
    #: Calls under way at once: no more than the engine lets write.
    parallel: int
    #: Values of one row.
    row_bytes: float
    #: Seconds that its schedule lasts; None: closed, as fast as it goes.
    due_s: float | None = None
    #: It is a step by itself, or a part of one, which is cut after so long; empty in a study without steps.
    step: str = ""
    limit_s: float = float("inf")


@dataclass(frozen=True)
class Lasts:
    """What decides how long a point takes, beside the engine."""

    work: tuple[Work, ...] = ()
    #: A reader goes on for so long, whatever the writers do; in a study with steps it is work of its step.
    measure_s: float = 0.0
    #: A volume is repeated into fresh tables until it was measured so long, so many times at most.
    at_least_s: float = 0.0
    max_repetitions: int = 1
    #: The measured segment lasts no longer; infinite where steps have limits of their own.
    limit_s: float = float("inf")
    #: Read back after the measurement.
    proven_rows: int = 0
    #: It stores files of the user's, which are read when the study runs: nobody knows before how many rows they hold.
    of_files: bool = False


def works(
    roles: Sequence[ActiveRole],
    tables: Mapping[str, Table],
    server: Twin,
    limits: Mapping[str, tuple[str, float]],
) -> tuple[Work, ...]:
    """Of every role with work that is known beforehand: not of those that end with another role, or with the time.

    limits: role -> its step and the seconds after which that is cut, of a study with steps.
    """
    found = []
    for role in roles:
        step, limit_s = limits.get(role.name.partition("/")[0], ("", float("inf")))
        if role.table is not None and role.rows < ALL_ROWS:
            found.append(replace(writing(role, tables[role.table], server), step=step, limit_s=limit_s))
        elif role.table is None and role.calls is not None:
            due_s = role.calls / role.rate_per_s if role.rate_per_s > 0 else None
            found.append(
                Work(role.name, 0, role.calls, role.sessions * role.depth, 0.0, due_s, step, limit_s)
            )
    return tuple(found)


def writing(role: ActiveRole, table: Table, server: Twin) -> Work:
    batches = role.rows / max(role.batch_rows, 1)
    due_s = None
    if role.samples is not None:
        due_s = role.samples.count * role.samples.every_s
    elif role.rate_per_s > 0:
        due_s = batches / role.rate_per_s
    parallel = min(role.sessions, server.max_writers or role.sessions)
    return Work(role.name, role.rows, batches, max(parallel, 1), row_bytes(table), due_s)


def read_until_time(roles: Sequence[ActiveRole]) -> bool:
    """Whether a reader goes on for the measured time: it has neither calls to make nor a role to end with."""
    return any(role.table is None and role.calls is None and role.until is None for role in roles)


def read_back(rows: Callable[[str], int], tables: Mapping[str, Table], most: int) -> int:
    """Rows that are read back of all tables. rows: of a table, when all is quiet."""
    return sum(min(rows(name), most) for name, table in tables.items() if table.files is None)

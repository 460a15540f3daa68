"""A study at one point: values stand where factors were named, and only the steps that the point does are left. Pure.

Plans are made of a `StudyAt[Plain]`: its types have no place for a factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Generic

from inrush.study.forms import Best, BestOf, FromFactor, Plain, Ref, option_text
from inrush.study.parts import RecordSpec, Schedule
from inrush.study.pipeline import Pipeline
from inrush.study.roles import Role, label
from inrush.study.settings import SettingsOf
from inrush.study.shards import OverShards
from inrush.study.step_kinds import Step
from inrush.workload import Workload


@dataclass(frozen=True, kw_only=True)
class StudyAt(Generic[Ref]):
    """What a study runs. Values may differ between points."""

    name: str
    kind: str
    workload: Workload
    roles: Mapping[str, Role[Ref]]
    schedule: Schedule[Ref]
    record: RecordSpec
    #: What runs in place of roles, of kind `pipeline`.
    pipeline: Pipeline[Ref] | None = None
    #: What runs in place of roles, of kind `steps`; their roles are among `roles` too.
    steps: tuple[Step[Ref], ...] = ()
    #: Name -> the steps whose durations and rows it adds up.
    totals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Of every table; a table without it keeps `none`. "@layout" where it is a factor.
    layout: str | Ref = "none"
    #: Of the rows of generated tables; None: by time, sweep after sweep.
    row_order: str | Ref | None = None
    #: None: the engine's fastest.
    method: str | Ref | None = None
    #: Client processes, each with all sessions of every role.
    clients: int | Ref = 1
    #: None: sessions are on one server.
    shards: OverShards[Ref] | None = None
    #: Rows that a table holds before anything is measured, if no role writes to it.
    load_rows: int | Ref = 0
    #: Engine -> option -> value, e.g. sqlite.synchronous.
    options: SettingsOf[Ref] = field(default_factory=dict)
    #: Engine -> setting that its server is started with -> value, e.g. ndb.nodes; servers of inrush's own alone have them.
    start: SettingsOf[Ref] = field(default_factory=dict)


def study_at(
    study: StudyAt[FromFactor],
    engine: str,
    point: Mapping[str, Any],
    best: Mapping[str, Sequence[Best]],
) -> StudyAt[Plain]:
    """What the study runs at a point. best: study -> what it found, for `best_of`."""
    steps = steps_at(study.steps, point)
    roles = roles_of(steps) if study.steps else plain(study.roles, point)
    conditions = {**point, "engine": engine}
    return StudyAt(
        **{
            **{of.name: plain(getattr(study, of.name), point) for of in fields(StudyAt)},
            "steps": steps,
            "roles": {
                name: with_best(role, study.workload, conditions, best) for name, role in roles.items()
            },
            "options": settings_at(study.options, point),
            "start": settings_at(study.start, point),
        }
    )


def plain(value: Any, point: Mapping[str, Any]) -> Any:
    """The value with those of factors in place of their names, however deep these stand."""
    if isinstance(value, FromFactor):
        found = point[value.factor]
        return found[value.field] if value.field else found
    if isinstance(value, Role):
        table = plain(value.table, point)
        by_table = isinstance(value.table, FromFactor) and isinstance(table, tuple)
        value = replace(value, table=(table,) if isinstance(table, str) else table, by_table=by_table)
    if isinstance(value, Mapping):
        return {key: plain(one, point) for key, one in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(one, point) for one in value)
    if is_dataclass(value) and not isinstance(value, Workload | type):
        return replace(value, **{of.name: plain(getattr(value, of.name), point) for of in fields(value)})
    return value


def steps_at(steps: Iterable[Step[FromFactor]], point: Mapping[str, Any]) -> tuple[Step[Plain], ...]:
    """The steps that the point does: those of other values of its factors are left out."""
    return tuple(plain(step, point) for step in steps if is_done_at(step, point))


def is_done_at(step: Step[FromFactor], point: Mapping[str, Any]) -> bool:
    return all(label(point[name]) in values for name, values in step.only.items())


def roles_of(steps: Iterable[Step[Ref]]) -> dict[str, Role[Ref]]:
    return {name: role for step in steps for name, role in step.sessions.items()}


def settings_at(settings: SettingsOf[FromFactor], point: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        engine: {name: option_text(plain(value, point)) for name, value in of.items()}
        for engine, of in settings.items()
    }


def with_best(
    role: Role[Plain], workload: Workload, conditions: Mapping[str, Any], best: Mapping[str, Sequence[Best]]
) -> Role[Plain]:
    """The role with what another study found best for each table, where its batches are that."""
    form = role.batch_rows
    if not isinstance(form, BestOf):
        return role
    found = {
        table: best_value(best.get(form.study, ()), {**conditions, "table": table})
        for table in workload.tables
    }
    of_tables = {table: value for table, value in found.items() if value is not None}
    return replace(role, batch_rows=replace(form, best=of_tables))


def best_value(found: Sequence[Best], conditions: Mapping[str, Any]) -> int | None:
    """The value found under the nearest conditions: all that both name agree, and most are named."""
    fitting = [best for best in found if all(conditions.get(k, v) == v for k, v in best.where.items())]
    if not fitting:
        return None
    return max(fitting, key=lambda best: sum(k in conditions for k in best.where)).value

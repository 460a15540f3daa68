"""A study at one point: values stand where factors were named, and only the steps that the point does are left. Pure.

Plans are made of a `StudyAt[Plain]`: its types have no place for a factor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Generic, TypeAlias

from inrush.study.forms import Best, BestOf, FromFactor, Plain, Ref, option_text
from inrush.study.parts import RecordSpec, Schedule
from inrush.study.pipeline import Pipeline
from inrush.study.roles import Role, label
from inrush.study.settings import SettingsOf
from inrush.study.shards import OverShards
from inrush.study.step_kinds import LoadOverShards, Measure, Step
from inrush.workload import Workload


@dataclass(frozen=True, kw_only=True)
class StudyAt(Generic[Ref]):
    """What a study runs. Values may differ between points."""

    name: str
    kind: str
    workload: Workload
    schedule: Schedule[Ref]
    record: RecordSpec
    #: What runs, one after the other; a study without steps has one, `Measure`, and one of kind `pipeline` `LoadOverShards`.
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

    @property
    def roles(self) -> dict[str, Role[Ref]]:
        """Of all steps, by their names in the plan."""
        return {name: role for step in self.steps for name, role in step.sessions.items()}

    @property
    def measure(self) -> Measure[Ref] | None:
        """The one step of a study without steps."""
        return next((step for step in self.steps if isinstance(step, Measure)), None)

    @property
    def pipeline(self) -> Pipeline[Ref] | None:
        """Of the one step of a study that loads over shards."""
        return next((step.pipeline for step in self.steps if isinstance(step, LoadOverShards)), None)


def study_at(
    study: StudyAt[FromFactor],
    engine: str,
    point: Mapping[str, Any],
    best: Mapping[str, Sequence[Best]],
) -> StudyAt[Plain]:
    """What the study runs at a point. best: study -> what it found, for `best_of`."""

    def best_of(named: str) -> dict[str, int]:
        conditions = {table: {**point, "engine": engine, "table": table} for table in study.workload.tables}
        found = {table: best_value(best.get(named, ()), of) for table, of in conditions.items()}
        return {table: value for table, value in found.items() if value is not None}

    values = {of.name: getattr(study, of.name) for of in fields(StudyAt)}
    own: dict[str, Any] = {
        "steps": steps_at(values.pop("steps"), point, best_of),
        "options": settings_at(values.pop("options"), point),
        "start": settings_at(values.pop("start"), point),
    }
    return StudyAt(**plain(values, point), **own)


#: Study -> table -> the value that it found best.
BestOfTables: TypeAlias = Callable[[str], Mapping[str, int]]


def no_best(study: str) -> dict[str, int]:
    return {}


def plain(value: Any, point: Mapping[str, Any], best_of: BestOfTables = no_best) -> Any:
    """The value with those of factors in place of their names, however deep these stand."""
    if isinstance(value, FromFactor):
        found = point[value.factor]
        return found[value.field] if value.field else found
    if isinstance(value, BestOf):
        return replace(value, otherwise=plain(value.otherwise, point), best=best_of(value.study))
    if isinstance(value, Role):
        table = plain(value.table, point)
        by_table = isinstance(value.table, FromFactor) and isinstance(table, tuple)
        value = replace(value, table=(table,) if isinstance(table, str) else table, by_table=by_table)
    if isinstance(value, Mapping):
        return {key: plain(one, point, best_of) for key, one in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(one, point, best_of) for one in value)
    if is_dataclass(value) and not isinstance(value, Workload | type):
        own = {of.name: plain(getattr(value, of.name), point, best_of) for of in fields(value)}
        return replace(value, **own)
    return value


def steps_at(
    steps: Iterable[Step[FromFactor]], point: Mapping[str, Any], best_of: BestOfTables = no_best
) -> tuple[Step[Plain], ...]:
    """The steps that the point does: those of other values of its factors are left out."""
    return tuple(plain(step, point, best_of) for step in steps if is_done_at(step, point))


def is_done_at(step: Step[FromFactor], point: Mapping[str, Any]) -> bool:
    return all(label(point[name]) in values for name, values in step.only.items())


def settings_at(settings: SettingsOf[FromFactor], point: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        engine: {name: option_text(plain(value, point)) for name, value in of.items()}
        for engine, of in settings.items()
    }


def best_value(found: Sequence[Best], conditions: Mapping[str, Any]) -> int | None:
    """The value found under the nearest conditions: all that both name agree, and most are named."""
    fitting = [best for best in found if all(conditions.get(k, v) == v for k, v in best.where.items())]
    if not fitting:
        return None
    return max(fitting, key=lambda best: sum(k in conditions for k in best.where)).value

"""What results say of the loads of a study that is planned: the laws of claims, for `inrush plan`. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from inrush.analysis.points import Analysis, Measured, is_number
from inrush.border.labels import start_of
from inrush.errors import UsageError
from inrush.model.forecast import Refused
from inrush.plan.cost import Continued
from inrush.plan.planned import StudyPlan
from inrush.predict.claims import far_off, forecast_of
from inrush.predict.training import Training, trainings
from inrush.study.step_kinds import Load
from inrush.text import number, show_level, show_s


@dataclass(frozen=True)
class Value:
    """A figure at a point: the mean of its runs, or what a law makes of others."""

    at: float
    lo: float
    hi: float
    #: The law, empty where it was measured; and the largest value that was.
    law: str = ""
    level: float = 0.0
    largest: float = 0.0


def continued(analysis: Analysis, plan: StudyPlan) -> dict[str, Continued]:
    """Point -> its loads by these results; none of a point whose loads no law of theirs reaches.

    Of runs whose engine was asked for the same: others say nothing of how long its loads take.
    """
    analysis = replace(analysis, runs=alike(analysis.runs, plan))
    of = str(analysis.study.get("id", ""))
    found: dict[str, Continued] = {}
    loads = [step.name for step in plan.study.steps if isinstance(step, Load)]
    seconds = {name: by_point(analysis, plan, f"{name}.duration_s") for name in loads}
    sizes = {name: by_point(analysis, plan, f"{name}.after_bytes") for name in loads}
    for point in plan.planned:
        step_s = {name: at[point] for name, at in seconds.items() if point in at}
        if step_s:
            held = [at[point].at for at in sizes.values() if point in at]
            found[point] = Continued(
                {name: value.at for name, value in step_s.items()},
                max(held, default=None),
                tuple(f"{point}: {sentence(name, value, of)}" for name, value in step_s.items()),
            )
    return found


def alike(runs: Sequence[Measured], plan: StudyPlan) -> list[Measured]:
    """Those that a run of the plan is like in all but its numbers: how many rows there are is what is continued."""
    # How many rows of a file are a batch follows from how many rows there are.
    loads = {step.name: step.files is None for step in plan.study.steps if isinstance(step, Load)}
    planned = {asked(str(run.labels["engine"]), run.labels, loads) for run in plan.runs}
    return [m for m in runs if asked(m.run.engine, m.run.labels, loads) in planned]


def asked(engine: str, labels: Mapping[str, Any], loads: Mapping[str, bool]) -> str:
    """What a run asks of its engine: settings, so what its rows survive, too; layout, way in, sessions and batches.

    loads: load step -> whether the size of its batches is asked for.
    """
    words = {k: v for k, v in labels.get("factors", {}).items() if not is_number(v)}
    same = [labels.get(name) for name in ("method", "layout", "options", "indexes", "clients")]
    sessions = {r: n for r, n in labels.get("sessions", {}).items() if r.partition("/")[0] in loads}
    batches = {r: n for r, n in labels.get("batch_rows", {}).items() if loads.get(r.partition("/")[0])}
    return json.dumps([engine, start_of(labels), words, same, sessions, batches], sort_keys=True, default=str)


def by_point(analysis: Analysis, plan: StudyPlan, figure: str) -> dict[str, Value]:
    try:
        trained = trainings(analysis, None, figure)
    except UsageError:
        return {}
    found = {}
    for point in plan.points:
        labels = {"engine": point.engine, **point.labels}
        for training in trained:
            x = labels.get(training.along)
            if is_number(x) and all(labels.get(name) == value for name, value in training.group):
                value = value_at(training, float(x))  # type: ignore[arg-type]
                if value is not None:
                    found[point.id] = value
    return found


def value_at(training: Training, x: float) -> Value | None:
    """None where the law of these runs does not reach so far."""
    growth = training.growth
    if growth is None or growth.what not in ("load", "size"):
        return None
    runs: Mapping[float, list[float]] = {
        r.x: [s.value for s in training.runs if s.x == r.x] for r in training.runs
    }
    if x in runs:
        return Value(fmean(runs[x]), min(runs[x]), max(runs[x]))
    largest = max(runs)
    try:
        made = forecast_of(far_off(training) if growth.what == "load" else training, x)
    except Refused:
        if growth.what != "size" or x < largest:
            return None
        # A table grows by its rows: a claim says how sure that is, a forecast of room need not.
        size = fmean(runs[largest]) * x / largest
        return Value(size, size, size, "proportion", 0.0, largest)
    return Value(made.median, made.lo, made.hi, made.model, made.level, largest)


def sentence(step: str, value: Value, results: str) -> str:
    if not value.law:
        return f"{step} takes {show_s(value.at)}, as measured in {results}"
    return (
        f"{step} takes {show_s(value.at)} [{show_s(value.lo)}, {show_s(value.hi)}] ({show_level(value.level)}, {value.law}), "
        f"continued from up to {number(value.largest)} of {results}"
    )

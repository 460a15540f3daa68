"""What results say of the loads of a study that is planned: the laws of claims, for `inrush plan`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from inrush.analysis.points import Analysis, is_number
from inrush.errors import UsageError
from inrush.model.forecast import Refused
from inrush.plan.cost import Continued
from inrush.plan.planned import StudyPlan
from inrush.predict.claims import far_off, forecast_of
from inrush.predict.training import Training, trainings
from inrush.study.step_kinds import Load
from inrush.text import number, percent, show_s


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
    """Point -> its loads by these results; none of a point whose loads no law of theirs reaches."""
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
        f"{step} takes {show_s(value.at)} [{show_s(value.lo)}, {show_s(value.hi)}] ({percent(value.level)}, {value.law}), "
        f"continued from up to {number(value.largest)} of {results}"
    )

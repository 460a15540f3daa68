"""The studies of batches and of writers that say what an engine needs: of each engine the newest, and its most demanding group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inrush.analysis.points import Analysis, Measured, is_number
from inrush.errors import UsageError
from inrush.model.curve import curve
from inrush.predict.training import Training, trainings
from inrush.stats.measures import writing_roles

Source = tuple[Analysis, Training]


def of_kind(analyses: Sequence[Analysis], along: str | None) -> dict[str, Source]:
    """Engine -> its most demanding group of the newest study along a factor (None: along sessions that write)."""
    sources: dict[str, Source] = {}
    for analysis in analyses:
        try:
            groups = trainings(analysis, along)
        except UsageError:
            continue
        for engine in dict.fromkeys(dict(t.group)["engine"] for t in groups):
            mine = [
                t for t in groups if dict(t.group)["engine"] == engine and t.figure.endswith(".rows_per_s")
            ]
            wanted = [t for t in mine if t.kind == ("batch" if along else "load") and writes(analysis, t)]
            if wanted and engine not in sources:
                sources[engine] = (analysis, chosen_group(wanted))
    return sources


def writes(analysis: Analysis, training: Training) -> bool:
    role = training.figure.rsplit(".", 1)[0]
    return any(role in writing_roles(m.run.plan) for m in analysis.runs)


def chosen_group(trainings: Sequence[Training]) -> Training:
    """Of methods the best, as one may choose it; of tables and readers the hardest, as one may not."""
    best: dict[tuple[Any, ...], Training] = {}
    for t in trainings:
        key = tuple((k, v) for k, v in t.group if k != "method")
        if key not in best or highest(t) > highest(best[key]):
            best[key] = t
    return min(best.values(), key=highest)


def highest(t: Training) -> float:
    """Best mean rate at any value of the factor."""
    of = curve([r.x for r in t.runs], [r.value for r in t.runs])
    return float(of.y.max())


def runs_of(analysis: Analysis, training: Training) -> list[Measured]:
    used = {r.run_id for r in training.runs}
    return [m for m in analysis.runs if m.run.run_id in used and is_number(dict(m.point).get(training.along))]

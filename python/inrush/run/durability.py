"""Before a study runs: may its engines be held against each other?

Each server is asked for its settings as the runs will ask it; what acknowledged rows survive must then be the same on
all, or the study asks for the comparison.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inrush.analysis.comparability import holds_engines_together, told_unequal
from inrush.engines.base import Durability
from inrush.errors import UsageError
from inrush.guards.verdicts import is_instrument
from inrush.plan.plan import PlannedRun, StudyPlan
from inrush.run.site import Site, environment

#: Limit of one statement, s.
ASK_S = 30.0

#: A run's point, its factors, and what rows survive on its engine.
Asked = Callable[[PlannedRun], Durability | None]


def refuse_unequal(plan: StudyPlan, sites: Mapping[str, Site], data: Path) -> None:
    """Raises UsageError when the study compares engines whose rows survive different things, unasked.

    data: folder for the files that embedded engines open to be asked.
    """
    if plan.study.unequal_durability or not compares(plan):
        return
    found: dict[str, Durability | None] = {}

    def asked(run: PlannedRun) -> Durability | None:
        target = run.plan["target"]
        key = json.dumps([target["engine"], target.get("options", {})], sort_keys=True)
        if key not in found:
            found[key] = ask(run.plan, sites[target["engine"]], data)
        return found[key]

    if told := unequal(plan.runs, asked):
        raise UsageError(
            f"{plan.study.name} compares engines whose acknowledged rows survive different things ({told}); make them "
            "equal by settings (docs/engines.md says which), or compare them all the same with --unequal-durability"
        )


def compares(plan: StudyPlan) -> bool:
    """Whether the answer will hold engines against each other."""
    engines = {e for e in (run.plan["target"]["engine"] for run in plan.runs) if not is_instrument(e)}
    answer = plan.study.answer
    along, per = (answer.along, tuple(answer.per)) if answer else (None, ())
    return holds_engines_together(len(engines), along, per, {**plan.study.factors, "engine": sorted(engines)})


def unequal(runs: Sequence[PlannedRun], asked: Asked) -> str | None:
    """What differs at points that are equal but for their engine, as words; None where nothing does."""
    at: dict[str, dict[str, str]] = {}
    for run in runs:
        engine = str(run.plan["target"]["engine"])
        if not is_instrument(engine) and (known := asked(run)) is not None:
            factors = {k: v for k, v in run.labels.get("factors", {}).items() if k != "engine"}
            at.setdefault(json.dumps(factors, sort_keys=True, default=str), {})[engine] = known.survives.name
    return told_unequal(at.values())


def ask(plan: Mapping[str, Any], site: Site, data: Path) -> Durability | None:
    """What rows survive by the settings of the run's server; None where it could not be asked: the run will say why."""
    from inrush import _core

    statements = [
        probe["statement"]
        for segment in plan["segments"]
        if segment["kind"] == "probe"
        for probe in segment["probes"]
        if probe["into"] == "settings"
    ]
    data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=data) as scratch, environment(site.environment):
        target = site.server.run_target(site.target, Path(scratch))
        options = {**plan["target"].get("options", {}), **target.options}
        address = json.dumps({"engine": target.engine, "url": target.url, "options": options})
        settings: dict[str, str] = {}
        try:
            for statement in statements:
                settings |= {
                    str(row[0]): str(row[1])
                    for row in json.loads(_core.control(address, statement, ASK_S))["rows"]
                }
        except _core.CoreFailure:
            return None
    return site.durability(settings, data)

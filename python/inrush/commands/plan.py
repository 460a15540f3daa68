"""`inrush plan`: what a study would do, and how long that takes, by usual rates or by results that are there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inrush.commands.printing import opened_store, say, show, show_json
from inrush.errors import InrushError, in_one_line_each
from inrush.extras import EXTRAS, is_absent

if TYPE_CHECKING:
    from inrush.plan.cost import Continued
    from inrush.results.store import Store
    from inrush.run.call import Prepared

#: Results of the study that are read at most, the newest first: an engine that none of them has is forecast by usual rates.
MOST_RESULTS = 5


def plan(prepared: Prepared, as_json: bool) -> None:
    """Prints the plan with its forecast, and what this machine does not permit. Changes nothing, and asks no server."""
    from inrush.commands.running import usual_data
    from inrush.run.preflight import rights_problems

    store, call, found = opened_store(), prepared.call, prepared.named_targets
    data = Path(call.data) if call.data else usual_data(store, prepared)
    for reason in found.left_out.values():
        say(f"left out: {reason}")
    for problem in in_one_line_each(rights_problems(prepared, data)):
        say(f"warning: {problem}")
    if as_json:
        show_json({**prepared.document(), "runs": [dict(r.plan) for r in prepared.plan.all_runs]})
        return
    from inrush.machine import host
    from inrush.plan.cost import cost
    from inrush.report.plan_text import plan_lines
    from inrush.targets.ready import local, short_of_rooms

    known = (
        host.read_or_none(lambda _: host.meminfo_bytes("MemTotal"), data),
        host.read_or_none(lambda _: host.cgroup_memory_bytes(), data),
    )
    memory = [float(m) for m in known if isinstance(m, int)]
    of_engines = dict.fromkeys(local(found), min(memory)) if memory else {}
    forecast = cost(prepared.plan, continued=continued(store, prepared), memory_bytes=of_engines)
    show(plan_lines(prepared.plan, call.input, forecast))
    for line in short_of_rooms(forecast, found, data, Path(call.input) if call.input else None):
        say(f"warning: {line}")


def continued(store: Store, prepared: Prepared) -> dict[str, Continued]:
    """Point -> what the newest results of the study say of its loads, those of each engine from the newest that has it where
    it stood as it will stand."""
    from inrush.study.step_kinds import Load

    plan = prepared.plan
    if not any(isinstance(step, Load) for step in plan.study.steps) or any(map(is_absent, EXTRAS["stats"])):
        return {}
    from inrush.guards.analyse import analyse
    from inrush.predict.continued import continued as by_results
    from inrush.results.store import Results
    from inrush.run.prepare import call_from
    from inrush.stats.measures import study_record

    known: dict[str, Continued] = {}
    left = MOST_RESULTS
    try:
        studies = store.studies()
    except InrushError as error:
        say(f"no load is continued from results: {error}")
        return {}
    for study in reversed(studies):
        try:
            if study.name != plan.study.name or study.doc.get("status") != "done":
                continue
            then = call_from(study.doc["call"])
            stood = {e: then.deploys(e) == prepared.call.deploys(e) for e in plan.study.engines}
            if not any(stood.values()):
                continue
            by_law = by_results(analyse(study_record(Results(study.path))), plan)
        except (InrushError, LookupError) as error:
            say(f"{study.path.name}: its loads are not continued, since it cannot be read ({error})")
            continue
        known = {**{p.id: by_law[p.id] for p in plan.points if p.id in by_law and stood[p.engine]}, **known}
        left -= 1
        if not left or plan.planned.keys() <= known.keys():
            break
    return known

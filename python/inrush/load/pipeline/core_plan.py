"""The part of a run's plan that the core does: loads by client and load server are pauses to it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inrush.border.pipeline import AnyPlan, AnySegment, loads_of, roles_of, shards_of, step_of
from inrush.border.plan import WatchPlan
from inrush.plan.pipeline import LOAD, READY

Doc = dict[str, Any]

#: Of the pauses in place of what is done on shards, by the labels of their segments.
CREATE, PROVE, DROP = "create", "proof", "drop"
#: The engine of a run that works on shards, of which the core has none.
NONE = {"engine": "null", "url": "", "options": {}}


def core_plan(plan: AnyPlan, watch: WatchPlan) -> Doc:
    """What the core reads of it, segment by segment. watch: what it watches."""
    kept = {key: value for key, value in plan.items() if key != "loads"}
    segments = [paused(s) if s["kind"] == "load" else s for s in plan["segments"]]
    for role, of in loads_of(plan).items():
        if "earlier" in of:
            segments = continued(segments, role)
        if shards_of(plan):
            kept |= {"target": NONE, "tables": [], "operations": []}
            segments = [s if s["kind"] == "pause" else pause(s, f"{s['label']}:{role}") for s in segments]
    processes = {role: pids for role, pids in watch["processes"].items() if pids}
    return {**kept, "watch": {**watch, "processes": processes}, "segments": segments}


def paused(of: AnySegment) -> Any:
    return pause(of, f"{LOAD}:{roles_of(of)[0]['name']}")


def pause(of: AnySegment, action: str) -> Any:
    of_step = {"step": step} if (step := step_of(of)) else {}
    return {"kind": "pause", "label": of["label"], **of_step, "action": action}


def continued(segments: Sequence[Any], role: str) -> list[AnySegment]:
    """What was done before the load is not done again: its tables stay. Settings are asked for: the server may be another."""
    actions = [s.get("action", "") for s in segments]
    first = actions.index(f"{READY}:{role}")
    return [nothing(s) if k < first else s for k, s in enumerate(segments)]


def nothing(segment: Any) -> Any:
    """Of a probe what is compared; of all else a segment that takes no time, so that the others keep their numbers."""
    probes = [p for p in segment.get("probes", ()) if p["into"] == "settings"]
    if probes:
        return {**segment, "probes": probes}
    return {"kind": "settle", "label": segment["label"], "ns": 0}

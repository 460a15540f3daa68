"""The part of a run's plan that the core does: loads by client and load server are pauses to it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inrush.border.pipeline import AnySegment, LoadingPlan, StepLoad
from inrush.plan.loads import LOAD, READY

Doc = dict[str, Any]

#: Keys of the plan that the core does not read.
OWN = ("kind", "loads")


def core_plan(plan: LoadingPlan) -> Doc:
    """What the core reads of it, segment by segment."""
    kept = {key: value for key, value in plan.items() if key not in OWN}
    segments = [paused(s) if s["kind"] == "load" else s for s in plan["segments"]]
    for step, of in plan["loads"].items():
        if "earlier" in of:
            segments = continued(segments, step)
    return {**kept, "segments": segments}


def paused(of: StepLoad) -> Any:
    return {"kind": "pause", "label": of["label"], "step": of["step"], "action": f"{LOAD}:{of['step']}"}


def continued(segments: Sequence[Any], step: str) -> list[AnySegment]:
    """What was done before the load is not done again: its tables stay. Settings are asked for: the server may be another."""
    actions = [s.get("action", "") for s in segments]
    first = actions.index(f"{READY}:{step}")
    return [nothing(s) if k < first else s for k, s in enumerate(segments)]


def nothing(segment: Any) -> Any:
    """Of a probe what is compared; of all else a segment that takes no time, so that the others keep their numbers."""
    probes = [p for p in segment.get("probes", ()) if p["into"] == "settings"]
    if probes:
        return {**segment, "probes": probes}
    return {"kind": "settle", "label": segment["label"], "ns": 0}

"""What tells the client's own CPU from that of an engine in its process: the measured work once more, on the null engine.

Pure. The calibrating run makes the same rows in the same batches and draws the same parameters, and stores nothing.
What a row or a call costs there is the client's own; `own_share` takes it from the CPU of the whole process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inrush.plan.roles import ALL_ROWS

Doc = dict[str, Any]

#: Bare: engines in our process take columns as they are, without a wire.
FLOOR = "null"
#: How the names of these runs begin, in place of a point's.
OWN_SHARE = "own share: "
#: Costs are per row and per call, so that less of them than the study writes is enough.
ROWS = 1_000_000
TIME_NS = 1_000_000_000
AT_LEAST_NS = 300_000_000
REPETITIONS = 30


def calibration_plan(plan: Mapping[str, Any]) -> Doc:
    """The measured segment of a point's plan on the null engine; equal for all engines that do the same work."""
    measured = next(s for s in plan["segments"] if s.get("phase") == "measure")
    return {
        **plan,
        "target": {"engine": FLOOR, "url": "", "options": {}},
        "tables": [
            {**t, "name": t["stream"], "columns": [{**c, "wire": ""} for c in t["columns"]]}
            for t in plan["tables"]
        ],
        "operations": [operation(o) for o in plan["operations"]],
        "segments": [shortened(measured)],
    }


def operation(document: Mapping[str, Any]) -> Doc:
    """Nothing is answered, so there is no text and nothing that must hold."""
    method = "bulk" if document["kind"] == "insert" else ""
    params = sorted(document["params"], key=lambda p: str(p["name"]))
    return {**document, "text": "", "method": method, "params": params, "holds": []}


def shortened(segment: Mapping[str, Any]) -> Doc:
    """Fewer rows and less time. What ends with its work is repeated until it was long enough to be measured."""
    roles = [{**r, "work": less(r), "until": sooner(r["until"])} for r in segment["roles"]]
    found = {k: v for k, v in segment.items() if k != "repeat"} | {"roles": roles}
    if any(r["until"]["kind"] == "time" for r in roles):
        return found
    repeat = {"at_least_ns": AT_LEAST_NS, "max": REPETITIONS, "fresh": [], "proofs": []}
    return found | {"repeat": repeat}


def less(role: Mapping[str, Any]) -> Doc:
    work: Doc = dict(role["work"])
    if work["kind"] == "rows" and work["rows"] < ALL_ROWS:
        work["rows"] = min(work["rows"], max(ROWS, role["sessions"] * work["batch_rows"]))
    schedule = role["schedule"]
    if schedule["kind"] == "samples":
        samples = -(-TIME_NS // schedule["every_ns"])
        work["rows"] = min(work["rows"], samples * schedule["parts"] * work["batch_rows"])
    return work


def sooner(until: Mapping[str, Any]) -> Doc:
    return {**until, "ns": min(until["ns"], TIME_NS)} if until["kind"] == "time" else dict(until)

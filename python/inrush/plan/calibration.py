"""What separates the client's own CPU from that of an engine in its process: the measured work once more, on the null engine.

Pure. The calibrating run makes the same rows in the same batches and draws the same parameters, and stores nothing.
What a row or a call costs there is the client's own; `client_overhead` takes it from the CPU of the whole process.
"""

from __future__ import annotations

from inrush.border.plan import (
    ColumnPlan,
    DriveSegment,
    OpPlan,
    PointPlan,
    RolePlan,
    RowsWork,
    SessionsPlan,
    TablePlan,
    Until,
    Work,
)
from inrush.plan.roles import ALL_ROWS

#: Bare: engines in our process take columns as they are, without a wire.
FLOOR = "null"
#: How the names of these runs begin, in place of a point's.
CLIENT_OVERHEAD = "client overhead: "
#: Costs are per row and per call, so that less of them than the study writes is enough.
ROWS = 1_000_000
TIME_NS = 1_000_000_000
AT_LEAST_NS = 300_000_000
REPETITIONS = 30


def calibration_plan(plan: SessionsPlan) -> PointPlan:
    """The measured segments of a point's plan on the null engine; equal for all engines that do the same work."""
    measured = [s for s in plan["segments"] if s["kind"] == "drive" and s["phase"] == "measure"]
    return {
        **plan,
        "target": {"engine": FLOOR, "url": "", "options": {}},
        "tables": [without_wire(table) for table in plan["tables"]],
        "operations": [operation(o) for o in plan["operations"]],
        # Files are read as they are where they are loaded from.
        "segments": [*(s for s in plan["segments"] if s["kind"] == "inputs"), *map(shortened, measured)],
    }


def without_wire(table: TablePlan) -> TablePlan:
    columns: list[ColumnPlan] = [{**column, "wire": ""} for column in table["columns"]]
    return {**table, "name": table["stream"], "columns": columns}


def operation(document: OpPlan) -> OpPlan:
    """Nothing is answered, so there is no text and nothing that must hold."""
    method = "bulk" if document["kind"] == "insert" else ""
    params = sorted(document["params"], key=lambda p: p["name"])
    made: OpPlan = {**document, "text": "", "method": method, "params": params, "holds": []}
    if "io" in document.get("directives", {}):
        # Nothing is read or written there, whatever the size of a record.
        del made["directives"]
    return made


def shortened(segment: DriveSegment) -> DriveSegment:
    """Fewer rows and less time. What ends with its work is repeated until it was long enough to be measured."""
    roles: list[RolePlan] = [{**r, "work": less(r), "until": sooner(r["until"])} for r in segment["roles"]]
    drive: DriveSegment = {**segment, "roles": roles}
    drive.pop("repeat", None)
    if not any(r["until"]["kind"] == "time" for r in roles):
        drive["repeat"] = {"at_least_ns": AT_LEAST_NS, "max": REPETITIONS, "fresh": [], "proofs": []}
    return drive


def less(role: RolePlan) -> Work:
    work, schedule = role["work"], role["schedule"]
    if work["kind"] != "rows":
        return work
    rows, batch_rows = work["rows"], work["batch_rows"]
    if "input" in work:
        return work
    if rows < ALL_ROWS:
        rows = min(rows, max(ROWS, role["sessions"] * batch_rows))
    if schedule["kind"] == "samples":
        samples = -(-TIME_NS // schedule["every_ns"])
        rows = min(rows, samples * schedule["parts"] * batch_rows)
    made: RowsWork = {**work, "rows": rows}
    # On the null engine no dump leaves a file: the rows are made.
    made.pop("dump", None)
    return made


def sooner(until: Until) -> Until:
    return {**until, "ns": min(until["ns"], TIME_NS)} if until["kind"] == "time" else until


def is_price(point: str) -> bool:
    """Runs that price the client's own work are no points of the study."""
    return point.startswith(CLIENT_OVERHEAD)

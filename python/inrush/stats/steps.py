"""The steps of a run: when each ran, what one of them is as a run by itself, and what it left on the disk. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from inrush.border.pipeline import AnyPlan, each_role, loads_of, step_of
from inrush.border.tables import SegmentRow
from inrush.results.schema import of_load
from inrush.stats.record import RunRecord

#: Tables whose rows belong to a segment and to the work in it.
OF_SEGMENTS = (
    "segments",
    "repetitions",
    "samples",
    "files",
    "intervals",
    "sends",
    "hist",
    "failures",
    "sessions",
)
#: What engines name their sizes: `table:NAME` and `indexes:NAME` (SQLite: one `index:NAME` each).
ROWS, INDEXES = ("table",), ("indexes", "index")
#: Engines that have one figure for a whole database: InfluxDB's shards with their logs.
WHOLE = ("disk",)


def segments_of_steps(run: RunRecord) -> dict[str, SegmentRow]:
    """Step -> the segment that is its work, in the order in which they ran; none of a run without steps."""
    return {
        str(s["step"]): s
        for s in sorted(run.rows("segments"), key=lambda s: s["segment"])
        if s.get("step") and s["kind"] != "probe"
    }


def step_windows(run: RunRecord) -> dict[str, tuple[int, int]]:
    """Step -> (start_ns, end_ns)."""
    return {name: (s["start_ns"], s["end_ns"]) for name, s in segments_of_steps(run).items()}


def steps_of(run: RunRecord) -> dict[str, RunRecord]:
    """Step -> the run as if this step had been all of it; a run without steps is its only one, without a name."""
    return {step: of_step(run, step) for step in segments_of_steps(run)} or {"": run}


#: In the place of a segment of another step.
ELSEWHERE = {"kind": "elsewhere"}


def of_step(run: RunRecord, step: str) -> RunRecord:
    """The run as if this step had been all of it: what is counted, timed and scheduled is its own."""
    mine = [s["segment"] for s in run.rows("segments") if s.get("step") == step]
    wanted = pa.array(mine, pa.uint16())
    tables = {
        name: table.filter(pc.is_in(table["segment"], value_set=wanted)) if name in OF_SEGMENTS else table
        for name, table in run.tables.items()
    }
    # Tables name a segment by its place in the plan, so each keeps it.
    segments = [
        {k: v for k, v in s.items() if k != "step"} if step_of(s) == step else ELSEWHERE
        for s in run.plan.get("segments", ())
    ]
    plan: dict[str, object] = {**run.plan, "segments": segments}
    if step in loads_of(run.plan):
        tables["resources"] = of_load(tables["resources"])
        # Those of its files; another load of the run has its own.
        tables["counters"] = tables["counters"].filter(
            pc.is_in(tables["counters"]["segment"], value_set=wanted)
        )
    return replace(run, plan=cast("AnyPlan", plan), tables=tables, _rows={})


def held_bytes(run: RunRecord, step: str) -> dict[str, float]:
    """`before` and `after` of a step that was probed after it: tables with their indexes, in bytes."""
    work = segments_of_steps(run)[step]["segment"]
    of = {s["segment"]: s for s in run.rows("segments") if s["kind"] == "probe"}
    sizes: dict[int, dict[str, float]] = {}
    for row in run.rows("sizes"):
        size = number(row["value"])
        if row["segment"] in of and size is not None:
            sizes.setdefault(row["segment"], {})[str(row["name"])] = size
    after = [s for s in sizes if of[s].get("step") == step]
    before = [s for s in sizes if s < work]
    # What lies on the disk may have changed in a step behind the last look at it.
    between = [
        s["segment"] for s in segments_of_steps(run).values() if before and max(before) < s["segment"] < work
    ]
    if not after or not before or between:
        return {}
    found = {"before": bytes_of_tables(sizes[max(before)]), "after": bytes_of_tables(sizes[after[0]])}
    # An engine that gives no sizes of tables has none of them.
    return found if found["after"] else {}


def bytes_per_row(run: RunRecord, step: str, sizes: Mapping[str, float]) -> float | None:
    """Of a load what its rows added, of another step what all loaded rows take then, each with all tables and indexes.

    sizes: `held_bytes`. None without rows, or where the table of a load has become smaller.
    """
    loads = loaded_rows(run)
    if step in loads:
        rows = sum(loads[step].values())
        added = sizes["after"] - sizes["before"]
        return added / rows if rows and added > 0 else None
    windows = segments_of_steps(run)
    # A load from a dump brings back the rows of an earlier one, other loads behind one another add to them.
    standing: dict[int, float] = {}
    behind = added_by(run)
    for load, of_tables in loads.items():
        if windows[load]["segment"] < windows[step]["segment"]:
            for table, rows in of_tables.items():
                standing[table] = rows + (standing.get(table, 0.0) if load in behind else 0.0)
    rows = sum(standing.values())
    return sizes["after"] / rows if rows else None


def loaded_rows(run: RunRecord) -> dict[str, dict[int, float]]:
    """Step that loads -> each of its tables -> rows that were acknowledged, in the order in which they ran."""
    done: dict[tuple[int, str], float] = {}
    for r in run.rows("repetitions"):
        key = (r["segment"], r["role"])
        done[key] = done.get(key, 0.0) + r["rows"]
    # Rows of a role that reads are answers: they lie in no table.
    writers = [
        (step_of(segment), str(role["name"]), int(role["work"]["table"]))
        for segment, role in each_role(run.plan)
        if step_of(segment) and role["work"]["kind"] == "rows"
    ]
    loads: dict[str, dict[int, float]] = {}
    for step, s in segments_of_steps(run).items():
        for of, role, table in writers:
            if of == step:
                tables = loads.setdefault(step, {})
                tables[table] = tables.get(table, 0.0) + done.get((s["segment"], role), 0.0)
    return loads


def added_by(run: RunRecord) -> set[str]:
    """Steps whose rows follow those of earlier loads of their table."""
    return {
        step_of(segment)
        for segment, role in each_role(run.plan)
        if role["work"]["kind"] == "rows" and role["work"].get("first_row", 0) > 0
    }


def bytes_of_tables(sizes: Mapping[str, float]) -> float:
    return (total(sizes, ROWS) or total(sizes, WHOLE)) + total(sizes, INDEXES)


def total(sizes: Mapping[str, float], kinds: Iterable[str]) -> float:
    return sum(size for name, size in sizes.items() if name.partition(":")[0] in kinds)


def number(value: str) -> float | None:
    """Bytes of a probe; None for what is no number (NULL of a table that is not there any more)."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None

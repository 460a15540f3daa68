"""Pages that a step's answers took: by the engine's own counters, or by the bytes that its process read. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inrush.stats.record import RunRecord
from inrush.stats.steps import number, segments_of_steps

#: Kinds of steps that give answers, and change nothing: all that is read is theirs.
READING = ("read", "extract")


def page_figures(run: RunRecord, step: str, rows: float, process_bytes: float | None) -> dict[str, float]:
    """Metric -> value; empty of other steps, and where the run does not say which counters there are.

    rows: of its answers. process_bytes: what the engine's process read from the device in the step, where that is known.
    """
    known = run.summary.get("page_counters")
    if known is None or run.labels.get("steps", {}).get(step) not in READING:
        return {}
    page_bytes = float(known["page_bytes"])
    unit = page_bytes if known["in_bytes"] else 1.0
    read, asked = (counted_in(run, step, known[what], known["begin_anew"]) for what in ("read", "asked"))
    figures = {} if asked is None else {"pages_asked": asked / unit, "page_bytes": page_bytes}
    if known["read"]:
        pages = None if read is None else read / unit
    else:
        pages = None if process_bytes is None else process_bytes / page_bytes
    if pages is None:
        return figures
    figures |= {"pages_read": pages, "page_bytes": page_bytes}
    return figures | ({"pages_per_row": pages / rows} if rows else {})


def counted_in(run: RunRecord, step: str, names: Sequence[str], begin_anew: bool) -> float | None:
    """By how much the counters grew from the last look before the step to the first one after it; None without both.

    A server that was started between two looks counts from 0 again, if its counters begin anew; one that is less than
    before began anew in any case.
    """
    work = segments_of_steps(run)[step]["segment"]
    segments = {s["segment"]: s for s in run.rows("segments")}
    looks: dict[int, dict[str, float]] = {}
    for row in run.rows("counters"):
        value = number(row["value"])
        # The first of a look that is repeated meanwhile would be no look after the step.
        if segments[row["segment"]]["kind"] == "probe" and value is not None:
            looks.setdefault(row["segment"], {})[str(row["name"])] = value
    before = max((s for s in looks if s < work), default=None)
    after = min((s for s in looks if s > work), default=None)
    if before is None or after is None or not any(n in looks[s] for n in names for s in (before, after)):
        return None
    started = any(before < s < work and of["kind"] == "pause" for s, of in segments.items())
    first: Mapping[str, float] = {} if started and begin_anew else looks[before]
    return sum(since(first.get(name, 0.0), looks[after].get(name, 0.0)) for name in names)


def since(before: float, after: float) -> float:
    return after - before if after >= before else after

"""Does a role that inserts at a rate keep up with what is due? Its queue over time, and the rules that decide. Pure.

*Pending* are rows of batches that were due and not sent. They are counted at every poll, the end of an interval of the run
(`record.interval_s`), from 0 at the start of each repetition. M is their highest number so far.

A repetition *keeps up* where all three rules hold:

stored      every row that was due was stored: no insert failed, and the queue was never full
no growth   M did not grow at `GROWING_POLLS` polls, or less than half of M was pending at the last poll before the end of
            the events. A poll at which M stays and less than half of it is pending begins the count anew
in time     of the batches stored in the last tenth the median one took no longer from its due than `LATE_SHARE` of the
            events' time beside the median insert: a rate that is a few percent too high shows here, whatever the batch

The first two are those of hdbpp-benchmark, which allows five failed stores and polls every 10 s.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from inrush.results.histogram import Histogram, bucket_upper, merge, of_table, rank
from inrush.stats.measures import measured_repetitions

if TYPE_CHECKING:
    from inrush.border.tables import RepetitionRow
    from inrush.stats.record import RunRecord

#: M that grew at so many polls grows.
GROWING_POLLS = 6
#: Of the time in which events come, what the last of them may be late by.
LATE_SHARE = 0.02
#: Of that time, what counts as its end.
LAST_SHARE = 0.1
QUANTILES = {"p50": 0.5, "p99": 0.99}
NS = 1e9


@dataclass(frozen=True)
class Sources:
    """What is due of one role, by its plan."""

    role: str
    batches_per_s: float
    batch_rows: int
    rows: int
    equally_spaced: bool

    @property
    def due_s(self) -> float:
        return math.ceil(self.rows / self.batch_rows) / self.batches_per_s


@dataclass(frozen=True)
class Queue:
    """Pending rows of one repetition at its polls, in time order."""

    pending: Sequence[int]
    #: Of them, those at polls before the last event had come.
    while_due: int

    @property
    def most(self) -> int:
        return max(self.pending, default=0)

    @property
    def at_end(self) -> int:
        return self.pending[self.while_due - 1] if self.while_due else 0

    @property
    def grew(self) -> int:
        """The highest count of polls at which M grew, while events came."""
        most = count = highest = 0
        for pending in self.pending[: self.while_due]:
            if pending > most:
                most, count = pending, count + 1
            elif 2 * pending < most:
                count = 0
            highest = max(highest, count)
        return highest

    @property
    def grows(self) -> bool:
        return self.grew >= GROWING_POLLS and 2 * self.at_end >= max(self.pending[: self.while_due])


def sources(plan: Mapping[str, Any]) -> Iterator[tuple[int, Sources]]:
    """(segment, what is due) of every measured role that inserts rows at a rate."""
    for at, segment in enumerate(plan.get("segments", ())):
        for role in segment.get("roles", ()) if segment.get("phase") == "measure" else ():
            how, work = role["schedule"], role.get("work", {})
            if how["kind"] in ("constant", "poisson") and work.get("kind") == "rows":
                constant = how["kind"] == "constant"
                yield (
                    at,
                    Sources(role["name"], how["rate_per_s"], work["batch_rows"], work["rows"], constant),
                )


def pending_figures(run: RunRecord) -> dict[str, float]:
    """Figures of roles that insert at a rate; of several repetitions the worst, and none where no poll was made."""
    held = measured_repetitions(run)
    figures: dict[str, float] = {}
    for segment, of in sources(run.plan):
        mine = [r for r in held if r["role"] == of.role and r["segment"] == segment]
        queues = [found for r in mine if (found := queue(run, r, of)).pending]
        if not queues:
            continue
        figures[f"{of.role}.pending_max"] = float(max(q.most for q in queues))
        figures[f"{of.role}.pending_end"] = float(max(q.at_end for q in queues))
        figures[f"{of.role}.pending_grew"] = float(max(q.grew for q in queues))
        latency = histograms(run, segment, of.role)
        figures |= {f"{of.role}.{name}": value for name, value in event_figures(latency, of).items()}
        for kind, suffix in (("latency", ""), ("on_time", "_on_time")):
            if any(k[0] == kind for k in latency):
                up = all(keeps_up(r, q, of, latency, kind) for r, q in zip(mine, queues, strict=True))
                figures[f"{of.role}.keeps_up{suffix}"] = float(up)
    return figures


FIGURES = (pending_figures,)


def keeps_up(
    totals: RepetitionRow,
    of_queue: Queue,
    of: Sources,
    latency: Mapping[tuple[str, int, int], Histogram],
    kind: str,
) -> bool:
    """By the three rules. kind: `latency`, or `on_time` for a client that is never late."""
    if totals["errors"] or totals["unsent"] or totals["rows"] < of.rows or of_queue.grows:
        return False
    last_ns = totals["start_ns"] + (1 - LAST_SHARE) * of.due_s * NS
    ended = [h for (k, r, t), h in latency.items() if (k, r) == (kind, totals["repetition"]) and t > last_ns]
    service = [h for (k, r, _), h in latency.items() if (k, r) == ("service", totals["repetition"])]
    if not ended or not service:
        return False
    most_ns = merge(service).quantile_ns(0.5) + LATE_SHARE * of.due_s * NS
    return merge(ended).quantile_ns(0.5) <= most_ns


def queue(run: RunRecord, totals: RepetitionRow, of: Sources) -> Queue:
    found = polls(run, totals, of)
    due_ns = totals["start_ns"] + of.due_s * NS
    return Queue([rows for _, rows in found], sum(end <= due_ns for end, _ in found))


def polls(run: RunRecord, totals: RepetitionRow, of: Sources) -> list[tuple[int, int]]:
    """(end of an interval in ns, rows that were due and not sent then), in time order."""
    table = run.tables.get("intervals")
    if table is None or table.num_rows == 0:
        return []
    mine = table.filter(
        pc.and_(
            pc.equal(table["role"], of.role),
            pc.and_(
                pc.equal(table["segment"], pa.scalar(totals["segment"], table["segment"].type)),
                pc.equal(table["repetition"], pa.scalar(totals["repetition"], table["repetition"].type)),
            ),
        )
    ).sort_by("t_ns")
    ends = [t + dt for t, dt in zip(mine["t_ns"].to_pylist(), mine["dt_ns"].to_pylist(), strict=True)]
    return [
        (end, calls * of.batch_rows) for end, calls in zip(ends, mine["backlog"].to_pylist(), strict=True)
    ]


def histograms(run: RunRecord, segment: int, role: str) -> dict[tuple[str, int, int], Histogram]:
    """(kind, repetition, end of the interval in ns) -> histogram of a role with one operation."""
    table = run.tables.get("hist")
    if table is None or table.num_rows == 0:
        return {}
    mine = table.filter(
        pc.and_(
            pc.equal(table["role"], role),
            pc.equal(table["segment"], pa.scalar(segment, table["segment"].type)),
        )
    )
    found = of_table(mine, ("kind", "repetition", "t_ns", "dt_ns")) if mine.num_rows else {}
    return {(str(k), int(r), int(t) + int(dt)): h for (k, r, t, dt), h in found.items() if h.n}


def event_figures(latency: Mapping[tuple[str, int, int], Histogram], of: Sources) -> dict[str, float]:
    """From when an event came until its batch was committed: its wait for a full batch, and the latency of the batch.

    Of equally spaced events: of a batch of B the one that came j-th from the end had waited j gaps when the batch was due.
    """
    if not of.equally_spaced:
        return {}
    figures = {}
    for kind, name in (("latency", "event"), ("on_time", "event_on_time")):
        each = [h for (k, _, _), h in latency.items() if k == kind]
        for quantile, q in QUANTILES.items() if each else ():
            gap_ns = NS / (of.batches_per_s * of.batch_rows)
            figures[f"{name}_{quantile}_s"] = event_quantile_ns(merge(each), of.batch_rows, gap_ns, q) / NS
    return figures


def event_quantile_ns(batches: Histogram, batch_rows: int, gap_ns: float, q: float) -> float:
    """Quantile of latency + j gap_ns over all batches and all j from 0 to batch_rows - 1, ns.

    Exact but for the buckets of the batches: the least time at or below which ceil(q n) events lie.
    """
    values = [bucket_upper(int(b), batches.grouping_power) for b in batches.bucket]
    counts = [int(c) for c in batches.count]
    wanted = rank(q, batches.n * batch_rows)

    def below(limit: float) -> int:
        return sum(
            count * max(0, min(batch_rows, math.floor((limit - value) / gap_ns) + 1))
            for value, count in zip(values, counts, strict=True)
            if value <= limit
        )

    low, high = 0.0, values[-1] + (batch_rows - 1) * gap_ns + 1
    while high - low > max(1.0, 1e-6 * high):
        middle = (low + high) / 2
        low, high = (low, middle) if below(middle) >= wanted else (middle, high)
    return high

"""What an answer about a rate rests on: the rates, volumes and lengths that were measured, and what the machine has. Pure.

An answer never goes beyond a measured ceiling, and for more than four times the measured volume it is "not shown".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inrush.analysis.points import Analysis, Measured, Point
from inrush.model.intervals import reach_bin
from inrush.stats import stats
from inrush.stats.measures import measured_windows, writing_roles
from inrush.stats.record import RunRecord

#: An answer is shown for up to so many times the rows that a run has stored, and the seconds that it took.
SHOWN_TIMES = 4.0
#: A run this long has met a flush, a checkpoint and a merge; a shorter one supports only SHOWN_TIMES its own length.
STEADY_S = 600.0


@dataclass(frozen=True)
class Ceilings:
    """The most that was measured of an engine, and what the machine of its runs has; None where that is not known."""

    #: Best mean rate of a point.
    rows_per_s: float
    cores: float | None = None
    disk_write_bytes_per_s: float | None = None
    disk_free_bytes: float | None = None


@dataclass(frozen=True)
class Shown:
    """The largest fill that reached a rate."""

    rows: int = 0
    seconds: float = 0.0


def evidence(analyses: Sequence[Analysis], engine: str, group: Mapping[str, Any]) -> list[Measured]:
    """Runs of an engine with valid rates, of every study with factors that agree with the group where they have them."""
    wanted = {**group, "engine": engine}
    return [
        m
        for analysis in analyses
        for m in analysis.runs
        if m.counts
        and not any(m.broken(f"{role}.rows_per_s") for role in writing_roles(m.run.plan))
        and dict(m.point).get("engine") == engine
        and all(wanted[k] == v for k, v in m.point if k in wanted)
        and written_rows_per_s(m) > 0
    ]


def ceilings(runs: Sequence[Measured]) -> Ceilings:
    rates: dict[tuple[str, Point], list[float]] = {}
    for m in runs:
        rates.setdefault((str(m.run.plan.get("study")), m.point), []).append(written_rows_per_s(m))
    best = max((float(np.exp(np.mean(np.log(of)))) for of in rates.values()), default=0.0)
    envs = [m.run.env for m in runs]
    return Ceilings(
        best,
        least([cores(env) for env in envs]),
        least([env.get("disk_write_bytes_per_s") for env in envs]),
        least([env.get("data_free_bytes") for env in envs]),
    )


def cores(env: Mapping[str, Any]) -> float | None:
    """Of the machine: physical ones where that is known, and no more than its quota gives."""
    counted = [env.get(k) for k in ("cpu_physical", "cpu_capacity_cores", "cgroup_cpu_cores", "cpu_logical")]
    return least(counted)


def least(values: Sequence[Any]) -> float | None:
    return min((float(v) for v in values if v), default=None)


def written_rows_per_s(m: Measured) -> float:
    writers = writing_roles(m.run.plan)
    return sum(
        v
        for k, v in m.figures.items()
        for role, _, metric in [k.rpartition(".")]
        if metric == "rows_per_s" and role in writers and "/" not in role
    )


def shown_at(runs: Sequence[Measured], rows_per_s: float) -> Shown:
    """The most rows that one fill stored at this rate or a higher one, and the longest such fill."""
    fills = [fill for m in runs if written_rows_per_s(m) >= rows_per_s for fill in fills_of(m.run)]
    return Shown(max((f.rows for f in fills), default=0), max((f.seconds for f in fills), default=0.0))


def fills_of(run: RunRecord) -> list[Shown]:
    """Each repetition: the rows of all writers, and the seconds from the first one's start to the last one's end."""
    windows, writers = measured_windows(run), writing_roles(run.plan)
    fills: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for s in run.rows("repetitions"):
        if s["segment"] in windows and s["role"] in writers:
            fills.setdefault((s["segment"], s["repetition"]), []).append(s)
    return [
        Shown(
            int(sum(s["rows"] for s in of)),
            (max(s["end_ns"] for s in of) - min(s["start_ns"] for s in of)) / 1e9,
        )
        for of in fills.values()
    ]


def not_shown(found: Ceilings, shown: Shown, rows_per_s: float, seconds: float) -> list[str]:
    """Why the measured runs do not show a rate for a time; empty where they do."""
    if rows_per_s > found.rows_per_s:
        return [f"the highest rate measured is {found.rows_per_s:,.0f} rows/s"]
    rows = rows_per_s * seconds
    why = []
    if rows > SHOWN_TIMES * shown.rows:
        why.append(
            f"{rows:,.0f} rows are asked for; the largest run at this rate stored {shown.rows:,} "
            f"(an answer is shown for up to {SHOWN_TIMES:g} times that)"
        )
    if shown.seconds < STEADY_S and seconds > SHOWN_TIMES * shown.seconds:
        why.append(
            f"the longest run at this rate took {shown.seconds:.2g} s: checkpoints and merges come later, and a run "
            f"below {STEADY_S:g} s supports no longer time"
        )
    return why


def exceeded(
    found: Ceilings, cores: float | None, write_bytes_per_s: float | None, disk_bytes: float | None
) -> list[str]:
    """What the machine of the runs does not have."""
    from inrush.stats.quantity import show

    why = []
    if cores is not None and found.cores is not None and cores > found.cores:
        why.append(f"{cores:.2g} cores would be busy, and there are {found.cores:.2g}")
    limit = found.disk_write_bytes_per_s
    if write_bytes_per_s is not None and limit is not None and write_bytes_per_s > limit:
        needed, most = (show(v, "x.bytes_per_s") for v in (write_bytes_per_s, limit))
        why.append(f"{needed} would be written, and the disk takes {most}")
    if disk_bytes is not None and found.disk_free_bytes is not None and disk_bytes > found.disk_free_bytes:
        needed, most = (show(v, "x.bytes") for v in (disk_bytes, found.disk_free_bytes))
        why.append(f"{needed} would be stored, and {most} were free")
    return why


@dataclass(frozen=True)
class Record:
    """How claims of one kind and reach have done."""

    kind: str
    claims: int
    inside: int

    @property
    def share(self) -> float:
        """Lower end of the 95 % interval of the share of intervals that held."""
        return stats.wilson(self.inside, self.claims).low


#: (kind of claim, bin of its reach) -> its record.
Records = Mapping[tuple[str, int], Record]


def records_of(
    entries: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]], version: int
) -> dict[tuple[str, int], Record]:
    """entries: claims and their scores. version: of the model; scores of another say nothing of it."""
    records: dict[tuple[str, int], Record] = {}
    for doc, score in entries:
        if score is None or score["verdict"] == "invalid" or doc["model_version"] != version:
            continue
        key = (str(doc["kind"]), reach_bin(float(doc["forecast"]["reach"])))
        before = records.get(key, Record(key[0], 0, 0))
        records[key] = Record(key[0], before.claims + 1, before.inside + int(bool(score["inside"])))
    return records

"""One look at a study that runs, as a document of plain values: what the page and the terminal show. Pure.

Every figure is there twice where people read it: as a number for charts, and as text in the words of the report. The
document is of bounded size: the steps of the run in hand are asked for by the number of the first that is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inrush.analysis.wording import name as name_of
from inrush.plan.planned import PlannedRun
from inrush.report.live.calls import QUANTILES, quantile_s
from inrush.report.live.distance import Distance, distances
from inrush.report.live.points import PointSoFar
from inrush.report.live.seen import RoleSeen, StudySeen
from inrush.report.live.series import RoleSlice, Slice
from inrush.report.over_time import CHARTS
from inrush.stats.quantity import show
from inrush.text import percent, show_s

#: Version of the document.
SNAPSHOT_SCHEMA = 1
#: Planned runs that are named; of the others the number.
NEXT_NAMED = 5

#: Percentiles as people read them.
LABELS = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9"}

Doc = dict[str, Any]


def snapshot(
    seen: StudySeen, points: Sequence[PointSoFar], claims: Sequence[Doc], figure: str, now_s: float
) -> Doc:
    """figure: what `points` are about, as people say it."""
    left_s = seen.clock.left_s() if seen.status == "running" else None
    ahead = seen.ahead()
    return {
        "schema": SNAPSHOT_SCHEMA,
        "now_s": now_s,
        "study": {
            key: str(seen.study.get(key) or "") for key in ("id", "name", "title", "question", "expect")
        },
        "status": seen.status,
        "began_s": seen.began_s,
        "runs": {"n": seen.clock.n, "of": max(seen.clock.of, len(seen.planned)), **dict(seen.ended_runs)},
        "run": run_in_hand(seen, now_s),
        "roles": {name: role_now(name, role, seen) for name, role in seen.roles.items()},
        "resources": [
            used(role, seen.using.hosts.get(role), device, of)
            for (role, device), of in sorted(seen.using.now.items())
        ],
        "now": together(seen),
        "limits": [limit(distance) for distance in distances(seen, now_s)],
        "points": {"figure": figure, "rows": [point_row(point) for point in points]},
        "claims": list(claims),
        "next": {
            "runs": [next_run(run) for run in ahead[:NEXT_NAMED]],
            "more": max(0, len(ahead) - NEXT_NAMED),
        },
        "left": None if left_s is None else show_s(left_s),
        "ends_s": None if left_s is None else now_s + left_s,
        "messages": [{"at_s": at_s, "text": text} for at_s, text in seen.messages],
        "series": {
            "version": seen.series.version,
            "steps": len(seen.series.steps),
            "every_s": seen.series.every_s,
            #: Of which run, where it is not the one in hand.
            "before": "" if seen.run is None or seen.series.run == seen.run.run_id else seen.series.point,
        },
    }


def run_in_hand(seen: StudySeen, now_s: float) -> Doc | None:
    if seen.run is None:
        return None
    progress, segment = seen.progress, seen.segment
    here = (
        progress
        if progress is not None and segment is not None and progress["segment"] == segment.index
        else None
    )
    loaded = here.get("loaded") if here is not None else None
    return {
        "id": seen.run.run_id,
        "point": seen.run.point,
        "block": seen.run.block,
        "segment": None if segment is None else segment.label,
        "kind": None if segment is None else segment.kind,
        "number": None if segment is None else segment.index + 1,
        "segments": len(seen.run.plan["segments"]),
        "repetition": 0 if here is None else here["repetition"],
        "share": None if here is None else here["share"],
        "left_s": None if here is None else here["left_s"],
        "took": show_s(now_s - seen.run_began_s),
        "loaded": None if loaded is None else dict(loaded),
        #: Seconds without a word of the sessions, so that a view that stands still says so.
        "silent_s": None
        if here is None or seen.heard_s is None
        else round(max(0.0, now_s - seen.heard_s), 1),
    }


def together(seen: StudySeen) -> Doc:
    """What all roles do now, in four words: their rate, the slowest p99, errors and the client's processors."""
    each = seen.rates().values()
    rows, calls = sum(rows for rows, _ in each), sum(calls for _, calls in each)
    p99 = [quantile_s(role.recent.histogram(), 0.99) for role in seen.roles.values()]
    slowest = max((s for s in p99 if s is not None), default=None)
    cores = None if seen.progress is None else seen.progress["client_cpu"]
    return {
        "rate": show(rows, "x.rows_per_s") if rows else show(calls, "x.ops_per_s") if calls else None,
        "p99": None if slowest is None else show(slowest, "x.latency_s"),
        "errors": sum(role.progress["errors"] for role in seen.roles.values()),
        "client": None if cores is None else f"{cores:.2f} cores",
    }


def role_now(name: str, role: RoleSeen, seen: StudySeen) -> Doc:
    rows_per_s, ops_per_s = seen.rates().get(name, (0.0, 0.0))
    now, recent = role.progress, role.recent.histogram()
    times = {short: quantile_s(recent, q) for short, q in QUANTILES.items()}
    lag_s = None if now["lag_p99_ms"] is None else now["lag_p99_ms"] / 1e3
    return {
        "rows": now["rows"],
        "calls": now["ops"],
        "rows_per_s": rows_per_s,
        "ops_per_s": ops_per_s,
        "rate": show(rows_per_s, "x.rows_per_s") if rows_per_s else show(ops_per_s, "x.ops_per_s"),
        "times": {short: None if s is None else show(s, "x.latency_s") for short, s in times.items()},
        "times_s": times,
        "errors": now["errors"],
        "outcomes": dict(role.outcomes),
        "due": now["due"],
        "backlog": now["backlog"],
        "late": now["late"],
        "lag": None if lag_s is None else show(lag_s, "x.lag_s"),
    }


#: What a role or a device uses -> the figure that it is shown as, and how it is called beside others.
SHOWN: Mapping[str, tuple[str, str]] = {
    "busy_cores": ("x.busy_cores", "CPU"),
    "cores": ("x.busy_cores", "of"),
    "steal_cores": ("x.busy_cores", "steal"),
    "iowait_cores": ("x.busy_cores", "waits for disks"),
    "rss_bytes": ("x.rss_bytes", "memory"),
    "mem_available_bytes": ("x.rss_bytes", "memory free"),
    "dirty_bytes": ("x.rss_bytes", "not yet written"),
    "read_bytes_per_s": ("x.read_bytes_per_s", "read"),
    "write_bytes_per_s": ("x.read_bytes_per_s", "written"),
    "ios_per_s": ("x.ios", "I/Os a second"),
    "busy_share": ("x.busy_share", "busy"),
    "rx_bytes_per_s": ("x.read_bytes_per_s", "received"),
    "tx_bytes_per_s": ("x.read_bytes_per_s", "sent"),
    "io_pressure_share": ("x.busy_share", "stalled by disks"),
}


def used(role: str, host: str | None, device: str, of: Mapping[str, float]) -> Doc:
    """What a role or a device uses: numbers, and a text for each in the order above. host: of a machine, one of several."""
    said = [
        {"what": called, "value": show(of[what], figure)}
        for what, (figure, called) in SHOWN.items()
        if what in of
    ]
    called = role if host is None else f"host {host}"
    return {"role": role, "called": called, "device": device, "values": dict(of), "said": said}


def limit(of: Distance) -> Doc:
    said = None if of.now is None else show(of.now, of.figure)
    return {
        "what": of.what,
        "figure": name_of(of.figure),
        "limit": show(of.limit, of.figure),
        "now": said,
        "share": of.share,
        "used": None if of.share is None else percent(of.share),
        "crossed": of.share is not None and of.share > 1,
    }


def point_row(point: PointSoFar) -> Doc:
    return {
        "point": point.title,
        "runs": point.runs,
        "centre": point.centre,
        "low": point.low,
        "high": point.high,
        "shown": point.shown,
        "invalid": point.invalid,
    }


def next_run(run: PlannedRun) -> Doc:
    return {"id": run.run_id, "point": run.point, "block": run.block}


def step_rows(steps: Sequence[Slice]) -> list[Doc]:
    """For charts: a row for each step, with the values of each chart."""
    return [
        {
            "t": round(step.end_s, 1),
            **{chart.name: chart.of_moment(moment(step)) for chart in CHARTS if chart.of_moment is not None},
        }
        for step in steps
    ]


def moment(step: Slice) -> Doc:
    return {
        "roles": {name: step_figures(of, step.seconds) for name, of in step.roles.items()},
        "cores": {name: rounded(s / step.seconds) for name, s in step.busy_s.items()},
    }


def step_figures(of: RoleSlice, seconds: float) -> Doc:
    """Percentiles in ms, over all calls of the step: those that failed are slower than every other."""
    calls = None if of.latency is None else of.latency.with_failed(of.failed)
    times = {short: quantile_s(calls, q) for short, q in QUANTILES.items()}
    return {
        "rows_per_s": rounded(of.rows / seconds),
        "ops_per_s": rounded(of.ops / seconds),
        "failed_per_s": rounded(of.failed / seconds),
        # Without zeros, which a logarithmic axis does not have.
        "times_ms": {LABELS[short]: rounded(1e3 * s) if s else None for short, s in times.items()},
    }


def rounded(value: float) -> float:
    """Four digits are more than a chart shows."""
    return float(f"{value:.4g}")

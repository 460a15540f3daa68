"""A study while it runs, as metrics: OpenMetrics, the older text of Prometheus, or its binary form with native histograms.

Names and units follow OpenMetrics: base units, the unit at the end of the name, `_total` for what only rises. Labels are
`engine` and `role`; which point runs is in `inrush_run_info`, so that a series does not change its name with each run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from inrush.report.live import native
from inrush.report.live.calls import Calls
from inrush.report.live.distance import distances
from inrush.report.live.family import Family, Labels, Sample
from inrush.report.live.seen import StudySeen
from inrush.report.live.usage import Used

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def families(seen: StudySeen, now_s: float) -> list[Family]:
    """Everything that is known of the study now."""
    found = [
        *of_study(seen, now_s),
        *of_roles(seen),
        *of_resources(seen.using.now, seen.using.hosts),
        *of_limits(seen, now_s),
    ]
    return [family for family in found if family.samples or family.histograms]


def of_study(seen: StudySeen, now_s: float) -> Iterator[Family]:
    name = str(seen.study.get("name", ""))
    run = seen.run
    info = {"study": name, "results": str(seen.study.get("id", ""))}
    if run is not None:
        segment = "" if seen.segment is None else seen.segment.label
        info |= {"run": run.run_id, "point": run.point, "engine": seen.engine(), "segment": segment}
    yield Family("inrush_run", "info", "The study, and its run in hand.", samples=[Sample(info, 1)])
    running = Sample({}, float(seen.status == "running"))
    yield Family("inrush_running", "gauge", "1 while the study runs.", samples=[running])
    yield Family(
        "inrush_runs_planned", "gauge", "Runs of the study.", samples=[Sample({}, len(seen.planned))]
    )
    ended = [Sample({"status": status}, n) for status, n in sorted(seen.ended_runs.items())]
    yield Family("inrush_runs_ended", "counter", "Runs that have ended, by status.", samples=ended)
    left_s = seen.clock.left_s() if seen.status == "running" else None
    if left_s is not None:
        yield seconds("inrush_left", "Until the study ends, if it goes on like that.", left_s)
    if seen.progress is not None and seen.progress["share"] is not None:
        share = [Sample({}, seen.progress["share"])]
        yield Family("inrush_segment_done_ratio", "gauge", "Of the segment's work.", "ratio", share)


def seconds(name: str, help: str, value: float) -> Family:
    return Family(f"{name}_seconds", "gauge", help, "seconds", [Sample({}, value)])


def of_roles(seen: StudySeen) -> Iterator[Family]:
    totals = [({"engine": engine, "role": role}, total) for (engine, role), total in seen.totals.items()]
    rows = [Sample(of, t.rows) for of, t in totals]
    yield Family("inrush_rows", "counter", "Rows of calls that ended ok.", samples=rows)
    calls = [Sample(of, t.ops) for of, t in totals]
    yield Family("inrush_calls", "counter", "Calls that ended, in any way.", samples=calls)
    failed = [
        Sample({**of, "outcome": outcome}, n) for of, t in totals for outcome, n in sorted(t.failed.items())
    ]
    yield Family("inrush_failed_calls", "counter", "Calls that did not end ok, by outcome.", samples=failed)
    late = [Sample(of, t.late) for of, t in totals]
    yield Family(
        "inrush_late_calls", "counter", "Calls sent more than 1 ms after they were due.", samples=late
    )
    yield Family(
        "inrush_latency_seconds",
        "histogram",
        "From when a call was due until it was done; calls that ended ok.",
        "seconds",
        histograms=[(of, t.calls) for of, t in totals],
    )
    now = [({"engine": seen.engine(), "role": name}, role) for name, role in seen.roles.items()]
    waiting = [Sample(of, r.progress["backlog"]) for of, r in now if r.progress["due"] is not None]
    yield Family("inrush_backlog_calls", "gauge", "Calls that are due and not done.", "calls", waiting)
    lags = [(of, r.progress["lag_p99_ms"]) for of, r in now]
    lag = [Sample(of, ms / 1e3) for of, ms in lags if ms is not None]
    yield Family(
        "inrush_lag_p99_seconds", "gauge", "How late the client itself sent, 99 % of calls.", "seconds", lag
    )


#: What is used -> metric, unit and help. Values that are a second are gauges: the counters are the kernel's own.
USED: Mapping[str, tuple[str, str, str]] = {
    "busy_cores": ("inrush_busy_cores", "cores", "Processors that are busy."),
    "steal_cores": ("inrush_steal_cores", "cores", "Processors that the host gave to other guests."),
    "iowait_cores": ("inrush_iowait_cores", "cores", "Processors that wait for disks."),
    "rss_bytes": ("inrush_resident_bytes", "bytes", "Resident memory."),
    "mem_available_bytes": ("inrush_memory_available_bytes", "bytes", "Memory that is free or can be freed."),
    "dirty_bytes": ("inrush_memory_dirty_bytes", "bytes", "Page cache that is not written yet."),
    "read_bytes_per_s": ("inrush_read_bytes_per_second", "bytes_per_second", "Read from storage."),
    "write_bytes_per_s": ("inrush_written_bytes_per_second", "bytes_per_second", "Written to storage."),
    "ios_per_s": ("inrush_ios_per_second", "ios_per_second", "Reads and writes of a device."),
    "busy_share": ("inrush_device_busy_ratio", "ratio", "Time in which a device is busy."),
    "rx_bytes_per_s": ("inrush_received_bytes_per_second", "bytes_per_second", "Received by an interface."),
    "tx_bytes_per_s": ("inrush_sent_bytes_per_second", "bytes_per_second", "Sent by an interface."),
    "io_pressure_share": ("inrush_io_pressure_ratio", "ratio", "Time in which a task waits for disks."),
}  # fmt: skip


def of_resources(using: Used, hosts: Mapping[str, str]) -> Iterator[Family]:
    for what, (name, unit, help) in USED.items():
        samples = [
            Sample(labels_of(role, device, hosts), of[what])
            for (role, device), of in sorted(using.items())
            if what in of
        ]
        yield Family(name, "gauge", help, unit, samples)


def labels_of(role: str, device: str, hosts: Mapping[str, str]) -> dict[str, str]:
    found = {"role": role, **({"device": device} if device else {})}
    return {**found, "host": hosts[role]} if role in hosts else found


def of_limits(seen: StudySeen, now_s: float) -> Iterator[Family]:
    each = {
        (d.figure, d.what, number(d.limit)): d.share for d in distances(seen, now_s) if d.share is not None
    }
    samples = [
        Sample({"figure": figure, "what": what, "limit": at}, share)
        for (figure, what, at), share in each.items()
    ]
    yield Family(
        "inrush_limit_used_ratio",
        "gauge",
        "How far a limit is used up; above 1 it is crossed.",
        "ratio",
        samples,
    )


# --- as text


def rendered(accept: str, found: Sequence[Family]) -> tuple[str, bytes]:
    """Content type and body, by what is asked for: the newest form that both know."""
    if native.PROTOBUF.split(";")[0] in accept and "io.prometheus.client.MetricFamily" in accept:
        return native.PROTOBUF, native.encoded(found)
    if "application/openmetrics-text" in accept:
        return OPEN, open_text(found).encode()
    return TEXT, plain_text(found).encode()


def open_text(found: Sequence[Family]) -> str:
    lines = []
    for family in found:
        lines += [f"# TYPE {family.name} {family.kind}"]
        lines += [f"# UNIT {family.name} {family.unit}"] if family.unit else []
        lines += [f"# HELP {family.name} {escaped(family.help)}"]
        suffix = {"counter": "_total", "info": "_info"}.get(family.kind, "")
        lines += body(family, suffix)
    return "\n".join([*lines, "# EOF", ""])


def plain_text(found: Sequence[Family]) -> str:
    """The format before OpenMetrics: the suffix is part of the name, info is a gauge, and there are no units."""
    lines = []
    for family in found:
        suffix = {"counter": "_total", "info": "_info"}.get(family.kind, "")
        name, kind = f"{family.name}{suffix}", "gauge" if family.kind == "info" else family.kind
        lines += [f"# HELP {name} {escaped(family.help)}", f"# TYPE {name} {kind}", *body(family, suffix)]
    return "\n".join([*lines, ""])


def body(family: Family, suffix: str) -> list[str]:
    lines = [f"{family.name}{suffix}{labelled(s.labels)} {number(s.value)}" for s in family.samples]
    for labels, calls in family.histograms:
        for le, count in buckets(calls):
            lines.append(f"{family.name}_bucket{labelled({**labels, 'le': le})} {count}")
        lines.append(f"{family.name}_sum{labelled(labels)} {number(calls.sum_ns / 1e9)}")
        lines.append(f"{family.name}_count{labelled(labels)} {calls.n}")
    return lines


def labelled(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{escaped(value, quoted=True)}"' for name, value in labels.items()) + "}"


def escaped(text: str, quoted: bool = False) -> str:
    found = text.replace("\\", "\\\\").replace("\n", "\\n")
    return found.replace('"', '\\"') if quoted else found


def number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


#: Bounds of the text's buckets, ns: 1 and 1.5 times each power of two, from 1 µs to 1,100 s. Buckets of the core end
#: there, so each count is exact.
BOUNDS_NS = tuple(sorted(bound for power in range(10, 41) for bound in (1 << power, 3 << (power - 1))))


def buckets(calls: Calls) -> list[tuple[str, int]]:
    """Bound in seconds -> calls at or below it; the core's buckets are below their bound, so none is counted twice."""
    counts = sorted(calls.counts.items())
    found, seen, at = [], 0, 0
    for bound in BOUNDS_NS:
        while at < len(counts) and native.upper_ns(counts[at][0]) < bound:
            seen += counts[at][1]
            at += 1
        found.append((repr(bound / 1e9), seen))
    return [*found, ("+Inf", calls.n)]

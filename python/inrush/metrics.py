"""Every metric, once: its unit, the words for it, which way is better, what a late client does to it. `stats` computes it.

A figure is named `<role>.<metric>` or `<step>.<metric>`. In a step what is watched has its role before the metric:
`load.server_busy_cores`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

#: What a closed role loses while its client does not run: its whole work takes longer, its calls do, its rate falls.
Slowed: TypeAlias = Literal["", "work", "calls", "rate"]


@dataclass(frozen=True)
class Metric:
    name: str
    #: Before `of writers` in a sentence; empty: the name without its unit.
    said: str = ""
    #: Empty: by the ending of the name (`ENDINGS`).
    unit: str = ""
    more_is_better: bool = False
    #: It counts what went wrong, so 0 is a measurement; of a time it would mean that nothing was measured.
    fault: bool = False
    slowed: Slowed = ""
    #: What a role does that has it as its rate: one that writes, one that reads.
    verbs: tuple[str, str] | None = None
    #: Its column in the table of steps; None: it has none.
    column: str | None = None
    #: Its name in Bencher Metric Format; None: it is not exported there.
    bencher: str | None = None
    #: Of a percentile: the metrics that together count what it is a percentile of.
    counted_by: tuple[str, ...] = ()


#: Ending of a name -> unit, for metrics that name none. The first that fits.
ENDINGS = {
    "bytes_per_s": "bytes/s", "_us_per_row": "us/row", "_us_per_op": "us/call", "_s": "s", "bytes": "bytes", "_cores": "cores",
    "_share": "%",
}  # fmt: skip
#: Roles that are watched and do not stand in a study; a step's metrics of them begin with their names.
WATCHED = ("client", "server", "load_server", "shards")


def percentiles(
    kind: str, quantiles: str, counted_by: tuple[str, ...], slowed: Slowed = ""
) -> Iterator[Metric]:
    exported = {"latency_p50_s": "latency-p50", "latency_p99_s": "latency-p99"}
    for quantile in quantiles.split():
        name = f"{kind}_{quantile}_s"
        column = "p50 of calls" if name == "latency_p50_s" else None
        yield Metric(name, slowed=slowed, counted_by=counted_by, column=column, bencher=exported.get(name))


#: Of every step, first in its table: its length.
OF_LENGTH = (Metric("duration_s", column="duration", bencher="duration"),)
#: Of a role: what limits, rules and answers of a study may name.
OF_ROLE = (
    Metric("makespan_s", "makespan", slowed="work", bencher="makespan"),
    Metric("rows", more_is_better=True, column="rows"),
    Metric("rows_per_s", "rate", "rows/s", True, slowed="rate", verbs=("stores", "returns"), column="rows/s", bencher="throughput-rows"),
    Metric("bytes_per_s", "byte rate", "", True, slowed="rate", verbs=("takes in", "takes in")),
    Metric("ops_per_s", "call rate", "calls/s", True, slowed="rate", verbs=("makes", "answers"), bencher="throughput"),
    Metric("keys_per_s", "key rate", "keys/s", True, slowed="rate", verbs=("looks up", "looks up")),
    Metric("bytes", more_is_better=True),
    Metric("ops", "calls", more_is_better=True),
    Metric("ok", more_is_better=True),
    Metric("errors", fault=True),
    Metric("wrong", "wrong answers", fault=True),
    Metric("late", fault=True),
    Metric("unsent", fault=True),
    Metric("unseen", fault=True),
    Metric("achieved_share", "share of due calls that succeeded", more_is_better=True),
    Metric("attempted_share", "share of calls sent", more_is_better=True),
    Metric("failed_share", "share of calls that failed", fault=True, bencher="failed-calls"),
    Metric("attempts_per_s", "rate of attempts", "calls/s", True, slowed="rate"),
    Metric("sends"),
    Metric("ops_per_send", "calls per send", "calls/send", True),
    Metric("bytes_per_send", "bytes per send", "bytes/send", True),
    Metric("client_cpu_us_per_row", "client CPU per row"),
    Metric("client_cpu_us_per_op", "client CPU per call"),
    *percentiles("latency", "p50 p90 p99 p999", ("ops", "unsent"), "calls"),
    *percentiles("service", "p50 p90 p99 p999", ("ops",), "calls"),
    *percentiles("wait", "p50 p90 p99 p999", ("ok",)),
    *percentiles("lag", "p50 p90 p99 p999", ("ok",)),
    *percentiles("on_time", "p50 p90 p99 p999", ("ops", "unsent")),
    *percentiles("freshness", "p50 p90 p99 p999", ("freshness_n", "unseen"), "calls"),
    *percentiles("first_row", "p50 p90 p99 p999", ("ok",), "calls"),
    Metric("keeps_up", more_is_better=True),
    Metric("pending_max"),
    Metric("pending_end"),
    Metric("pending_grew"),
    *percentiles("event", "p50 p99", ("rows",)),
    Metric("samples", more_is_better=True),
    Metric("stored_share", more_is_better=True),
    Metric("in_time_share", more_is_better=True),
    Metric("caught_up", more_is_better=True),
    Metric("sample_s", "worst sample"),
    *(m for kind in ("sample", "collect", "queue", "insert") for m in percentiles(kind, "p50 p90 p99", ("samples",))),
    Metric("latency_s", "worst latency"),
    Metric("stall_s", "longest stall", slowed="calls", column="longest stall"),
    Metric("before_ops_per_s", "call rate before the statement", "calls/s", True, slowed="rate"),
    Metric("settled_s", "time until settled", column="settled after"),
    Metric("settled_bytes", "bytes written until settled"),
    Metric("kept_rate", "rate kept", "%", True, slowed="rate", column="rate kept"),
    Metric("busy_cores", "busy cores"),
    Metric("user_cores"),
    Metric("system_cores"),
    Metric("cpu_us_per_row", "CPU per row"),
    Metric("cpu_us_per_op", "CPU per call"),
    Metric("files", more_is_better=True),
    Metric("file_bytes_per_s", "byte rate of a file", more_is_better=True, verbs=("takes in", "takes in")),
    Metric("file_p50_s"),
    Metric("file_p90_s"),
)  # fmt: skip
#: Of a step in which a statement runs beside roles.
OF_ALTER = (Metric("statement_s", "the statement", slowed="calls", column="statement"),)
#: Of the machine on which inrush runs: `host.<metric>`, of a step `<step>.host_<metric>`.
OF_HOST = (
    Metric("user_cores"),
    Metric("system_cores"),
    Metric("irq_cores"),
    Metric("softirq_cores"),
    Metric("iowait_cores"),
    Metric("steal_cores"),
    Metric("page_cache_bytes"),
    Metric("dirty_bytes"),
    Metric("interrupts_per_s", unit="interrupts/s"),
    Metric("context_switches_per_s", unit="switches/s"),
    Metric("packets_per_s", unit="packets/s"),
    Metric("loopback_packets_per_s", unit="packets/s"),
    Metric("packets_per_op", "packets per call", "packets/call"),
)
#: Of steps with sessions: what is watched, by row and by call.
OF_WORK = (
    Metric("client_cpu_us_per_row", "client CPU per row"),
    Metric("server_cpu_us_per_row", "server CPU per row"),
    Metric("client_cpu_us_per_op", "client CPU per call"),
    Metric("server_cpu_us_per_op", "server CPU per call"),
)
#: Of every step: what the client and a watched server computed in it, and what they read and wrote.
OF_ENDS_OF_A_STEP = (
    Metric("server_busy_cores", column="server"),
    Metric("client_busy_cores", column="client"),
    *(Metric(f"{role}_{what}") for what in ("user_cores", "system_cores") for role in ("client", "server")),
    Metric("server_read_bytes", column="server read"),
    Metric("server_write_bytes", column="server wrote"),
    Metric("client_read_bytes"),
    Metric("client_write_bytes"),
)
#: Of the devices below the input files and below the data.
OF_DEVICES = (
    Metric("input_device_read_bytes_per_s", column="input disk, read", more_is_better=True),
    Metric("data_device_read_bytes_per_s", column="data disk, read", more_is_better=True),
    Metric("data_device_write_bytes_per_s", column="data disk, written", more_is_better=True),
)
#: Of a load that client and load server do.
OF_LOAD_SERVER = tuple(
    Metric(f"load_server_{what}")
    for what in ("busy_cores", "user_cores", "system_cores", "read_bytes", "write_bytes")
)
#: Of steps that read and change nothing: pages, by the engine's counters, and a page's size.
OF_PAGES = (
    Metric("pages_read", column="pages read"),
    Metric("pages_asked"),
    Metric("pages_per_row", column="pages/row"),
    Metric("page_bytes", column="a page"),
)
#: Of steps that may change what lies on the disk: of all tables with their indexes, by the engine's own figures.
OF_SIZES = (
    Metric("before_bytes"),
    Metric("after_bytes", bencher="stored"),
    Metric("grown_bytes", "size change", column="size, change"),
    Metric("bytes_per_row", unit="bytes/row", column="bytes/row"),
)
#: Of a load that outgrew the engine's cache.
OF_LOAD = (
    Metric("knee_rows", "rows from which on the rate falls", "rows", True),
    Metric("level_rows", "rows up to which the rate is level", "rows", True),
)

METRICS = {
    metric.name: metric
    for group in (OF_LENGTH, OF_ALTER, OF_ROLE, OF_WORK, OF_ENDS_OF_A_STEP, OF_HOST, OF_DEVICES, OF_LOAD_SERVER, OF_PAGES, OF_SIZES, OF_LOAD)
    for metric in group
}  # fmt: skip


def names(*groups: tuple[Metric, ...]) -> tuple[str, ...]:
    return tuple(metric.name for group in groups for metric in group)


def metric_of(figure: str) -> Metric:
    """Of `writers.rows_per_s`, and of a bare metric; what is watched in a step has the metric of its role. A figure that is
    none of these, such as a factor, goes by its name."""
    name = figure.rsplit(".", 1)[-1]
    if (found := METRICS.get(name)) is not None:
        return found
    watched = next((w for w in ("host", *WATCHED) if name.startswith(f"{w}_")), "")
    more = name.endswith(("_per_s", "_per_send", "_share"))
    return METRICS.get(name.removeprefix(f"{watched}_")) or Metric(name, more_is_better=more)


def unit_of(figure: str) -> str:
    """`rows/s`, `bytes`, `s`; empty for a bare number."""
    metric = metric_of(figure)
    return metric.unit or next((u for ending, u in ENDINGS.items() if metric.name.endswith(ending)), "")


def lower_is_better(figure: str) -> bool:
    return not metric_of(figure).more_is_better


def counts_faults(figure: str) -> bool:
    return metric_of(figure).fault


def slowed_alike(*kinds: Slowed) -> tuple[str, ...]:
    """The metrics that a client which does not run moves so."""
    return tuple(metric.name for metric in METRICS.values() if metric.slowed in kinds)

"""The figures that limits, rules and answers of a study file may name; `stats/measures.py` computes them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

from inrush.study.document import Node, Reader, unknown

#: Figures of a role that limits and answers may name.
METRICS = (
    "makespan_s", "rows_per_s", "bytes_per_s", "ops_per_s", "keys_per_s", "rows", "bytes", "ops", "ok", "errors", "wrong",
    "late", "unsent", "unseen", "achieved_share", "attempted_share", "failed_share", "attempts_per_s", "sends", "ops_per_send", "bytes_per_send", "client_cpu_us_per_row", "client_cpu_us_per_op",
    *(f"{kind}_{q}_s" for kind in ("latency", "service", "wait", "lag", "on_time", "freshness", "first_row") for q in ("p50", "p90", "p99", "p999")),
    "keeps_up", "pending_max", "pending_end", "pending_grew", "event_p50_s", "event_p99_s",
    "samples", "stored_share", "in_time_share", "caught_up", "sample_s",
    *(f"{kind}_{q}_s" for kind in ("sample", "collect", "queue", "insert") for q in ("p50", "p90", "p99")),
    "latency_s", "busy_cores", "user_cores", "system_cores", "cpu_us_per_row", "cpu_us_per_op", "files", "file_bytes_per_s", "file_p50_s", "file_p90_s",
)  # fmt: skip
#: Roles that are watched but do not stand in a study.
WATCHED = ("client", "server", "load_server", "shards")
#: Figures of the machine on which inrush runs, as `host.METRIC`; of a step `STEP.host_METRIC`.
OF_HOST = (
    "user_cores", "system_cores", "irq_cores", "softirq_cores", "iowait_cores", "steal_cores", "page_cache_bytes", "dirty_bytes",
    "interrupts_per_s", "context_switches_per_s", "packets_per_s", "loopback_packets_per_s", "packets_per_op",
)  # fmt: skip
#: Role, or step, of a study -> the figures that it has.
Named: TypeAlias = Mapping[str, Collection[str]]


def check_measure(node: Node, name: str, roles: Named) -> None:
    """`role.metric`, both known."""
    role, dot, metric = name.rpartition(".")
    known = {**dict.fromkeys(WATCHED, METRICS), "host": OF_HOST, **roles}
    of = role.split("/", 1)[0]
    if dot and of in known and metric not in known[of] and any(n.startswith(f"{of}.") for n in known):
        roles_of = [n for n in known if n.startswith(f"{of}.")]
        node.problem(
            f"step {of} has several roles: name one of {', '.join(roles_of)}, or choose from {', '.join(known[of])}"
        )
    elif not dot:
        node.problem('name a figure as "role.metric", e.g. "writers.makespan_s"')
    elif of not in known:
        node.problem(unknown("role", role, known))
    elif not known[of]:
        node.problem(f"a study with steps has it for each of them: <step>.{of}_{metric}")
    elif metric not in known[of]:
        node.problem(unknown("figure", metric, known[of]))


def figure(roles: Named) -> Reader:
    """`role.metric`, both known."""

    def read(node: Node) -> str:
        if name := node.text():
            check_measure(node, name, roles)
        return name

    return read

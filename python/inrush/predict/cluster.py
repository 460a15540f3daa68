"""Claims about more nodes or clients of a cluster, by a closed network; and how many of them a rate needs. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from inrush.analysis.points import Analysis, Measured, Point, is_number
from inrush.border.pipeline import each_role
from inrush.errors import UsageError
from inrush.model.cluster import (
    CLIENT,
    FULL,
    INTERRUPTS,
    THREADS,
    ClusterLaw,
    ClusterRun,
    ClusterShape,
    Needed,
    law_of,
    missed,
    needed,
    resampled,
)
from inrush.model.curve import curve, linear
from inrush.model.forecast import LARGEST_RESIDUAL, UNCALIBRATED, Forecast, Refused, refuse_far
from inrush.model.intervals import LEVEL, Scored, spread, width
from inrush.stats.quantity import digits
from inrush.text import number, percent, show_level

NODES, CLIENTS = "nodes", "clients"
#: Laws of runs drawn again: more of them change an interval by less than a tenth.
DRAWS = 9
NODE = re.compile(r"(?:.*/)?node_?\d+")
SUFFIX = "_thread_cores"


@dataclass(frozen=True)
class ClusterRuns:
    """What the runs of a group say of their cluster."""

    runs: tuple[ClusterRun, ...]
    shape: ClusterShape


def cluster_runs(runs: Sequence[Measured], figure: str, cores: float) -> ClusterRuns | None:
    """None where threads of nodes were not watched. cores: of the machine that they share; 0: each has its own."""
    role = figure.rsplit(".", 1)[0]
    found = [of for m in runs if (of := cluster_run(m, figure, role)) is not None]
    plan = next((r for _, r in each_role(runs[0].run.plan) if r["name"] == role), None)
    if plan is None or len(found) < len(runs) or plan["schedule"]["kind"] != "closed":
        return None
    schedule, options = plan["schedule"], options_of(runs[0])
    clients = max(1, round(count(runs[0], CLIENTS)))
    shape = ClusterShape(
        # Where each client is a process of its own, the sessions are those of each.
        threads=max(1, int(plan["sessions"]) // (1 if "share" in runs[0].run.plan else clients)),
        parallel=max(1, int(plan.get("depth") or 1)),
        client_delay_s=(schedule.get("delay_ns") or schedule.get("think_ns") or 0) / 1e9,
        servers=servers_of(options, found),
        shared_cores=cores,
    )
    return ClusterRuns(tuple(found), shape)


def cluster_run(m: Measured, figure: str, role: str) -> ClusterRun | None:
    f, per_s = m.figures, float(m.figures.get(figure, 0.0))
    threads = {name: sum(thread_cores(f, kind) for kind in kinds) for name, kinds in THREADS.items()}
    if per_s <= 0 or not f.get("client.busy_cores") or not any(threads.values()):
        return None
    interrupts = f.get("host.softirq_cores", 0.0)
    # Client and server are either on one machine or on two: the other way has what else is sent there. Several hosts have no sum.
    packets = max(f.get("host.loopback_packets_per_s", 0.0), f.get("host.packets_per_s", 0.0))
    nodes = sum(
        v for k, v in f.items() if k.endswith(".busy_cores") and NODE.fullmatch(k.removesuffix(".busy_cores"))
    )
    busy = f["client.busy_cores"] + (f.get("server.busy_cores") or nodes or sum(threads.values()))
    spent = {CLIENT: f["client.busy_cores"], **threads, INTERRUPTS: interrupts, "all": busy}
    return ClusterRun(
        count(m, NODES), count(m, CLIENTS), per_s, {k: v / per_s for k, v in spent.items()},
        f.get(f"{role}.ops_per_send") or 1.0, packets / per_s if packets else 2.0,
    )  # fmt: skip


def thread_cores(figures: Mapping[str, float], kind: str) -> float:
    """Of all nodes together."""
    whole = figures.get(f"server.{kind}{SUFFIX}")
    if whole is not None:
        return whole
    end = f".{kind}{SUFFIX}"
    return sum(v for k, v in figures.items() if k.endswith(end) and NODE.fullmatch(k.removesuffix(end)))


def options_of(m: Measured) -> Mapping[str, Any]:
    return (m.run.plan.get("target") or {}).get("options") or {}


def count(m: Measured, factor: str) -> float:
    """Of the point, or as its server was started; one where neither says."""
    value = dict(m.point).get(factor, options_of(m).get(factor))
    return float(value) if value is not None and str(value).replace(".", "", 1).isdigit() else 1.0


def servers_of(options: Mapping[str, Any], runs: Sequence[ClusterRun]) -> dict[str, int]:
    """Threads of each kind on a node, by `threads` of its options; one of each that was seen where that does not say."""
    said = threads_said(str(options.get("threads") or ""))
    return {name: said.get(name, 1) for name in THREADS if all(r.cpu_s.get(name, 0.0) > 0 for r in runs)}


def threads_said(text: str) -> dict[str, int]:
    """`recv:8+tc:12+ldm:12+send:2` by kind; empty where it names none so."""
    parts = [part.partition(":") for part in text.split("+") if part]
    return {kind: int(n) for kind, _, n in parts if kind in THREADS and n.isdigit() and int(n)}


def forecast_of_cluster(
    of_runs: ClusterRuns, along: str, values: Sequence[tuple[float, float]], to: float,
    archive: Sequence[Scored] = (), level: float = LEVEL,
) -> Forecast | None:  # fmt: skip
    """By the closed network. None where it misses a small load by more than 15 %.

    values: of each run, the factor and its rate. Raises Refused for a number of nodes or clients that cannot be.
    """
    of = curve([x for x, _ in values], [y for _, y in values])
    refuse_far(to, float(of.x[-1]))
    if to != round(to):
        raise Refused(f"--to {number(to)}: there are only whole {along}")
    law = law_of(of_runs.runs, of_runs.shape)
    if missed(law, of_runs.runs) > np.log(1 + LARGEST_RESIDUAL):
        return None
    others = {r.clients if along == NODES else r.nodes for r in of_runs.runs}
    if len(others) > 1:
        raise Refused(f"{along} were not varied alone; say which group: --where")
    other = round(others.pop())
    at = (round(to), other) if along == NODES else (other, round(to))

    median, (full, busy) = law.rate(*at), law.fullest(*at)
    draws = [np.log(d.rate(*at)) for d in resampled(of_runs.runs, of_runs.shape, DRAWS)]
    run, reach = spread(of.squares, of.df), to / float(of.x[-1])
    wide = width(float(np.std(draws, ddof=1)), run, float(np.median(of.runs)), archive, reach, level)
    why = [
        f"closed network: {full} is full first, {percent(busy)} busy",
        *([unseen] if (unseen := law.unseen(at[0])) else []),
        *([] if wide.calibrated else [UNCALIBRATED]),
    ]
    each = float(of.y[0] / of.x[0])
    limits = law.limits(*at)
    # What grows with the factor is never full by it: only what stays as it is.
    grows = {NODES: {*THREADS, INTERRUPTS}, CLIENTS: {CLIENT}}[along]
    saturations = {k: v / each for k, v in limits.items() if k not in grows}
    return Forecast(
        to, median, median * float(np.exp(-wide.half)), median * float(np.exp(wide.half)), level, "network", wide.calibrated, reach,
        {"wire_s": law.wire_s, "interrupts_s": law.interrupts_s, **{f"{k}_demand_s": v for k, v in law.per_op_s.items()}},
        {"linear": linear(of, to, "rate")},
        min(saturations.values(), default=None), tuple(why), full if busy >= FULL else "load", saturations,
    )  # fmt: skip


@dataclass(frozen=True)
class Fleet:
    """How many nodes and clients a rate needs, each with a machine of its own; and by runs drawn again, from … to."""

    group: Point
    per_s: float
    found: Needed
    nodes: tuple[int, int]
    clients: tuple[int, int]
    level: float
    law: ClusterLaw
    #: Why so many nodes cost more than this; None where they do not.
    unseen: str | None

    def document(self) -> dict[str, Any]:
        return {
            "group": dict(self.group), "per_s": self.per_s, "nodes": self.found.nodes, "nodes_interval": list(self.nodes),
            "clients": self.found.clients, "clients_interval": list(self.clients), "level": self.level,
            "network_per_s": self.found.per_s, "full": self.found.full,
            "busy": self.found.busy, "threads": dict(self.law.shape.servers), "draws": DRAWS, "unseen": self.unseen,
        }  # fmt: skip


def fleets(
    analysis: Analysis, figure: str, per_s: float, threads: str | None = None, level: float = LEVEL
) -> list[Fleet]:
    """For each group of a study of nodes or clients. Raises UsageError where none says what an operation costs a node."""
    groups: dict[Point, list[Measured]] = {}
    for m in analysis.runs:
        if m.counts and not m.broken(figure) and m.figures.get(figure, 0.0) > 0:
            key = tuple(
                (k, v)
                for k, v in m.point
                if k not in (NODES, CLIENTS) and (k in analysis.factors or k == "engine")
            )
            groups.setdefault(key, []).append(m)
    found = []
    for group, runs in groups.items():
        of = cluster_runs(runs, figure, 0.0)
        if of is not None:
            found.append(fleet(group, of, per_s, threads, level))
    if not found:
        raise UsageError(
            f"{figure}: no run says what an operation costs each node ({', '.join(k + SUFFIX for k in THREADS)} of the server, "
            "client.busy_cores); this needs results of a cluster whose threads were watched"
        )
    return found


def fleet(group: Point, of: ClusterRuns, per_s: float, threads: str | None, level: float) -> Fleet:
    shape = of.shape
    if threads:
        said = threads_said(threads)
        if not said or (others := set(said) - set(shape.servers)):
            wrong = f"no run watched {', '.join(sorted(others))}" if said else "names no threads"
            raise UsageError(
                f"--threads {threads}: {wrong}; runs watched {', '.join(shape.servers)}; write ldm:12+recv:8"
            )
        # Costs were measured on the threads that there were; the way between is theirs too.
        shape = replace(shape, servers={**shape.servers, **said})
    law = replace(law_of(of.runs, of.shape), shape=shape)
    first = needed(law, per_s)
    if first is None:
        raise Refused(f"{per_s:,.0f}/s: no number of nodes and clients up to 4,096 gives it")
    at = (first.nodes, first.clients)
    drawn = [replace(d, shape=shape) for d in resampled(of.runs, of.shape, DRAWS)]
    # How much faster or slower the same cluster is by each draw, it needs fewer or more of both.
    more = [first.per_s / d.rate(*at) for d in drawn]
    low, high = (float(np.quantile(more, q)) for q in ((1 - level) / 2, (1 + level) / 2))

    def between(n: int, step: int) -> tuple[int, int]:
        return max(step, step * int(n * min(low, 1.0) / step)), step * int(np.ceil(n * max(high, 1.0) / step))

    nodes, clients = between(first.nodes, 2), between(first.clients, 1)
    return Fleet(group, per_s, first, nodes, clients, level, law, law.unseen(first.nodes))


def fleet_lines(found: Sequence[Fleet], figure: str) -> list[str]:
    lines = []
    for f in found:
        group = ", ".join(f"{v}" if k == "engine" else f"{k} {v}" for k, v in f.group)
        have = ", ".join(f"{n} {kind}" for kind, n in f.law.shape.servers.items())
        lines += [
            f"{group}: {figure} of {digits(f.per_s)} needs {f.found.nodes} nodes [{f.nodes[0]}, {f.nodes[1]}] and "
            f"{f.found.clients} clients [{f.clients[0]}, {f.clients[1]}] ({show_level(f.level)} of {DRAWS} draws of the runs; uncalibrated)",
            f"  {f.found.full} is full first: {percent(f.found.busy)} busy there",
            f"  the closed network says {digits(f.found.per_s)}",
            f"  each node and client has a machine of its own, as fast as the one measured, and a node {have} threads",
            *([f"  {f.unseen}"] if f.unseen else []),
        ]
    return lines


def is_cluster_factor(along: str, runs: Sequence[Measured]) -> bool:
    return along in (NODES, CLIENTS) and all(is_number(dict(m.point).get(along)) for m in runs)

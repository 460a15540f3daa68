"""What the machine did in a typical run: where processor time went, and what the kernel kept of files. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from inrush.analysis.answer import Answer
from inrush.analysis.points import Analysis
from inrush.report.charts import Figure, Row, finished, label
from inrush.report.drawn import shown_points
from inrush.report.panel_lines import legible, others_said
from inrush.report.time_lines import panel_charts, stacked
from inrush.report.timeline import Panel, drawn_panels, slopes, thinned, typical_runs
from inrush.stats.headroom import idle_share_of
from inrush.stats.hosts import HOST, WatchedHost, hosts_of, on
from inrush.stats.measures import figure_windows
from inrush.stats.processors import CACHE, DIRTY, STATES
from inrush.stats.record import RunRecord
from inrush.stats.watched import watched

MB = 1e6
#: Of one run.
MOST_HOSTS = 4
#: A state of the processors that never takes so much of a core has no line.
LEAST_CORES = 0.01
#: Metric -> its line.
KEPT = {CACHE: "page cache", DIRTY[0]: "dirty", DIRTY[1]: "being written"}


def machine_lines(analysis: Analysis, answer: Answer) -> list[Figure]:
    """One typical run per engine, of several hosts a figure each; none of results that do not have the split."""
    found = []
    for n, m in enumerate(typical_runs(analysis, answer.figure, shown_points(analysis, answer))):
        hosts = hosts_of(m.run)
        for host in fullest(m.run, hosts):
            held = legible(drawn_panels(machine_panels(m.run, host), m.run))
            if held:
                more = (
                    f" Of {len(hosts)} hosts those that had the least idle."
                    if len(hosts) > MOST_HOSTS
                    else ""
                )
                found.append(Figure(
                    f"machine-{n}{'-' + host.label.partition('/')[2] if host.name else ''}",
                    f"The machine in a run{on(host)}: {label(m.point, analysis)}",
                    f"Run {m.run.run_id}, the one nearest the median. What all processors did, for our roles and for others; what each role computed "
                    "in the kernel, of its busy cores; what the kernel kept of files, without memory that processes share, and what of it was "
                    f"not on a disk yet.{more}{others_said(held)}",
                    finished(stacked(panel_charts(held))),
                    ((answer.figure, m.point),),
                ))  # fmt: skip
    return found


def fullest(run: RunRecord, hosts: Sequence[WatchedHost]) -> list[WatchedHost]:
    """The ones with the least idle, in their order."""
    idle = {host.role: idle_share_of(run, host) for host in hosts}
    least = sorted(hosts, key=lambda host: 1.0 if (share := idle[host.role]) is None else share)[:MOST_HOSTS]
    return [host for host in hosts if host in least]


def machine_panels(run: RunRecord, host: WatchedHost) -> list[Panel]:
    """Over the measured segments, or over all steps."""
    windows = [*figure_windows(run).values()]
    found = watched(run, {*STATES.values(), *KEPT})
    if not windows or host.role not in found.get("cpu_user_s", {}):
        return []
    start_s, end_s = min(start for start, _ in windows) / 1e9, max(end for _, end in windows) / 1e9
    most = float((run.env if not host.name else {}).get("cpu_logical") or inf)

    states: list[Row] = []
    for figure, metric in STATES.items():
        if (looks := found.get(metric, {}).get(host.role)) is not None:
            line = slopes(looks[0] / 1e9, looks[1], figure.removesuffix("_cores"), start_s, end_s)
            states += line if any(row["y"] > LEAST_CORES for row in line) else []
    kernel = [
        row
        for role, (t_ns, used_s) in found["cpu_system_s"].items()
        if is_on(role, host)
        for row in slopes(t_ns / 1e9, used_s, role, start_s, end_s, most)
    ]
    kept: list[Row] = []
    for metric, name in KEPT.items():
        if (looks := found.get(metric, {}).get(host.role)) is not None:
            t_s = looks[0] / 1e9
            inside = (t_s >= start_s) & (t_s <= end_s)
            kept += thinned(t_s[inside] - start_s, looks[1][inside] / MB, name) if inside.any() else []
    drawn = (("all processors, cores", states), ("in the kernel, cores", kernel), ("kept of files, MB", kept))
    return [Panel(title, list(rows)) for title, rows in drawn if rows]


def is_on(role: str, host: WatchedHost) -> bool:
    """Whether what it computes is computed on this machine."""
    whole = role.partition("/")[0]
    if whole == HOST:
        return False
    return host.roles is None or role in host.roles or whole in host.roles

"""How much processor a run left unused: of the machine that the client ran on, and of it by the client itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from inrush.stats.measures import measured_windows
from inrush.stats.record import RunRecord
from inrush.stats.watched import cumulative, spent_in


def idle_share(run: RunRecord) -> float | None:
    """Of the machine's processors, over the measured segments; steal is not idle. None where the machine was not watched."""
    windows = measured_windows(run).values()

    def over_windows(metric: str) -> float | None:
        held = cumulative(run, metric).get("host")
        return None if held is None else spent_in(run, held, windows)

    total_s, busy_s = over_windows("cpu_total_s"), over_windows("cpu_busy_s")
    if not total_s or busy_s is None:
        return None
    return min(1.0, max(0.0, 1 - busy_s / total_s))


def client_share(run: RunRecord, figures: Mapping[str, float]) -> float | None:
    """Processors that inrush itself kept busy, over those that it had. None where either is not known.

    An engine in the client's process is not counted, where the null engine's run separates the two.
    """
    cores = float(run.env.get("cgroup_cpu_cores") or run.env.get("cpu_logical") or 0)
    busy = figures.get("instrument.busy_cores", figures.get("client.busy_cores"))
    return busy / cores if cores and busy is not None else None

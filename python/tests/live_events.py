"""Events of a run as its core says them, for tests of what is shown meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inrush.border.events import Latencies, Progress, RoleProgress, Usage
from inrush.results.histogram import of_values

MEASURED = 1


def latencies(values_ns: Iterable[int]) -> Latencies:
    values = list(values_ns)
    of = of_values(values)
    return {
        "bucket": of.bucket.tolist(), "count": of.count.tolist(), "n": of.n, "min": of.min_ns, "max": of.max_ns,
        "sum": of.sum_ns,
    }  # fmt: skip


def role(rows: int, ops: int, new_ns: Iterable[int] = (), **more: Any) -> RoleProgress:
    """new_ns: latencies of the calls that ended since the event before."""
    found: dict[str, Any] = {
        "rows": rows, "ops": ops, "rows_per_s": 0.0, "ops_per_s": 0.0, "p99_ms": None, "errors": 0, "due": None,
        "backlog": 0, "lag_p99_ms": None, "late": 0, "failed": {}, "latency": latencies(new_ns),
    }  # fmt: skip
    return {**found, **more}


def progress(
    at_s: float,
    roles: Mapping[str, RoleProgress],
    segment: int = MEASURED,
    repetition: int = 0,
    began_s: float = 0.0,
    resources: Sequence[Usage] = (),
    phase: str = "measure",
    **more: Any,
) -> Progress:
    found: dict[str, Any] = {
        "event": "progress", "t_ns": int(at_s * 1e9), "segment": segment, "label": phase, "phase": phase,
        "repetition": repetition, "began_ns": int(began_s * 1e9), "share": None, "left_s": None, "roles": roles,
        "client_cpu": 0.5, "resources": resources,
    }  # fmt: skip
    return {**found, **more}


def usage(metric: str, at_s: float, value: float, role: str = "client", device: str = "") -> Usage:
    return {"role": role, "metric": metric, "device": device, "t_ns": int(at_s * 1e9), "value": value}

"""Sealed runs and studies made up with known truths, as `store` would read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from inrush.analysis.points import Analysis, Measured
from inrush.guards.analyse import analyse, analysis_of
from inrush.results.histogram import of_values
from inrush.stats.record import Absent, RunRecord, StudyRecord

SECOND = 10**9

TYPES: dict[str, dict[str, pa.DataType]] = {
    "segments": {"segment": pa.uint16(), "kind": pa.string(), "label": pa.string(), "phase": pa.string(),
                 "start_ns": pa.uint64(), "end_ns": pa.uint64(), "ended_by": pa.string(), "client_cpu_ns": pa.uint64()},
    "repetitions": {"segment": pa.uint16(), "repetition": pa.uint32(), "role": pa.string(), "start_ns": pa.uint64(),
              "end_ns": pa.uint64(), "rows": pa.uint64(), "bytes": pa.uint64(), "ops": pa.uint64(), "ok": pa.uint64(),
              "errors": pa.uint64(), "wrong": pa.uint64(), "late": pa.uint64(), "unsent": pa.uint64(),
              "sessions": pa.uint32(), "cpu_ns": pa.uint64(), "unseen": pa.uint64(), "queued_ns": pa.uint64()},
    "samples": {"segment": pa.uint16(), "repetition": pa.uint32(), "role": pa.string(), "sample": pa.uint64(),
                "due_ns": pa.uint64(), "collected_ns": pa.uint64(), "sent_ns": pa.uint64(), "done_ns": pa.uint64(),
                "rows": pa.uint64(), "missing": pa.uint32(), "seen_ns": pa.uint64(), "sent_on_time_ns": pa.uint64(),
                "done_on_time_ns": pa.uint64()},
    "intervals": {"segment": pa.uint16(), "repetition": pa.uint32(), "role": pa.string(), "op": pa.string(),
                  "t_ns": pa.uint64(), "dt_ns": pa.uint64(), "rows": pa.uint64(), "bytes": pa.uint64(),
                  "ops": pa.uint64(), "errors": pa.uint64(), "late": pa.uint64(), "in_flight": pa.uint32(),
                  "backlog": pa.uint64(), "cum_rows": pa.uint64()},
    "sends": {"segment": pa.uint16(), "repetition": pa.uint32(), "role": pa.string(), "t_ns": pa.uint64(),
              "dt_ns": pa.uint64(), "ops": pa.uint64(), "sends": pa.uint64(), "bytes": pa.uint64()},
    "hist": {"segment": pa.uint16(), "repetition": pa.uint32(), "role": pa.string(), "op": pa.string(),
             "kind": pa.string(), "t_ns": pa.uint64(), "dt_ns": pa.uint64(), "grouping_power": pa.uint8(),
             "bucket": pa.list_(pa.uint32()), "count": pa.list_(pa.uint64()), "n": pa.uint64(), "min_ns": pa.uint64(),
             "max_ns": pa.uint64(), "sum_ns": pa.uint64()},
    "failures": {"segment": pa.uint16(), "repetition": pa.uint32(), "role": pa.string(), "op": pa.string(),
                 "outcome": pa.string(), "count": pa.uint64(), "first_message": pa.string(), "first_ns": pa.uint64()},
    "resources": {"role": pa.string(), "t_ns": pa.uint64(), "metric": pa.string(), "device": pa.string(),
                  "value": pa.float64()},
    "sessions": {"segment": pa.uint16(), "repetition": pa.uint32(), "role": pa.string(), "session": pa.uint32(),
                 "cpu_ns": pa.uint64(), "busy_ns": pa.uint64(), "ops": pa.uint64(), "rows": pa.uint64()},
    "proofs": {"segment": pa.uint16(), "repetition": pa.uint32(), "table": pa.string(), "item": pa.string(),
               "expected": pa.string(), "found": pa.string(), "holds": pa.bool_()},
    "sizes": {"segment": pa.uint16(), "t_ns": pa.uint64(), "name": pa.string(), "value": pa.string()},
    "settings": {"segment": pa.uint16(), "t_ns": pa.uint64(), "name": pa.string(), "value": pa.string()},
    "counters": {"segment": pa.uint16(), "t_ns": pa.uint64(), "name": pa.string(), "value": pa.string()},
}  # fmt: skip

ENV = {
    "cpu_model": "Imaginary 9000", "cpu_logical": 8, "mem_total_bytes": 16 * 2**30, "core_build_profile": "release",
    "kernel": "6.1.0", "os": "An OS", "inrush": "0.1.0", "disk_fsync_per_s": 2000.0, "disk_write_bytes_per_s": 5e8,
    "data_filesystem": "ext4", "python": "3.11",
}  # fmt: skip


ZERO = {pa.string(): "", pa.bool_(): True, pa.float64(): 0.0}
#: Table -> column, its type, and what it holds where a row does not say: looked up once, for thousands of runs.
COLUMNS = {name: [(c, kind, ZERO.get(kind, 0)) for c, kind in types.items()] for name, types in TYPES.items()}
EMPTY = {
    name: pa.table({c: pa.array([], kind) for c, kind in types.items()}) for name, types in TYPES.items()
}


def table(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    if not rows:
        return EMPTY[name]
    given = set().union(*rows)
    return pa.table(
        {
            c: pa.array([r.get(c, zero) for r in rows] if c in given else [zero] * len(rows), kind)
            for c, kind, zero in COLUMNS[name]
        }
    )


def role_plan(
    name: str, operation: str = "insert", kind: str = "closed", sessions: int = 1
) -> dict[str, Any]:
    schedule = {"kind": kind, "think_ns": 0} if kind == "closed" else {"kind": kind, "rate_per_s": 100.0}
    return {"name": name, "operations": [{"operation": operation, "weight": 1}], "sessions": sessions, "depth": 1,
            "schedule": schedule, "work": {"kind": "endless"}, "until": {"kind": "work"}}  # fmt: skip


def run(
    engine: str = "duckdb",
    factors: Mapping[str, Any] | None = None,
    block: int = 1,
    order: int = 0,
    *,
    makespan_s: float | Sequence[float] = 2.0,
    rows: int = 50_000,
    row_bytes: int = 100,
    batch_rows: int = 1000,
    writers: int = 1,
    latency_ns: Sequence[int] | None = None,
    service_ns: Sequence[int] | None = None,
    lag_ns: Sequence[int] = (),
    failed: int = 0,
    schedule: str = "closed",
    reader_ns: Sequence[int] = (),
    client_cores: float = 0.5,
    rate: Callable[[float], float] = lambda t_s: 1.0,
    interval_s: float = 0.1,
    env: Mapping[str, Any] | None = None,
    doc: Mapping[str, Any] | None = None,
    totals: Mapping[str, Any] | None = None,
    more: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    without: Sequence[str] = (),
    resources: bool = True,
    noise: Mapping[str, float] | None = None,
) -> RunRecord:
    """A run of one writing role (and readers), each repetition of the volume taking a given makespan.

    latency_ns, service_ns: of the writers' calls that succeeded; by default all alike. failed: calls that failed beside
    them. rate: relative speed over time. noise: steal, psi
    and others as shares. more: rows to add to tables; without: tables to leave out.
    """
    spans = [makespan_s] if isinstance(makespan_s, int | float) else list(makespan_s)
    ops = rows // batch_rows
    calls = (
        list(latency_ns) if latency_ns is not None else [int(spans[0] / max(1, ops) * writers * SECOND)] * ops
    )
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in TYPES}
    t_ns = SECOND
    for repetition, span_s in enumerate(spans):
        end_ns = t_ns + round(span_s * SECOND)
        where = {"segment": 2, "repetition": repetition, "role": "writers"}
        tables["repetitions"].append(
            {**where, "start_ns": t_ns, "end_ns": end_ns, "rows": rows, "bytes": rows * row_bytes, "ops": ops + failed,
             "ok": ops, "errors": failed,
             "sessions": writers, "cpu_ns": int(0.2 * span_s * SECOND * writers), "queued_ns": 0, **(totals or {})}
        )  # fmt: skip
        steps = max(1, round(span_s / interval_s))
        weights = np.array([rate(i * interval_s) for i in range(steps)])
        shares = weights / weights.sum() * rows
        for i, part in enumerate(np.diff(np.round(np.concatenate([[0], np.cumsum(shares)])))):
            tables["intervals"].append(
                {**where, "op": "insert", "t_ns": t_ns + int(i * interval_s * SECOND), "dt_ns": int(interval_s * SECOND),
                 "rows": int(part), "bytes": int(part) * row_bytes, "ops": max(1, round(shares[i]) // batch_rows),
                 "errors": failed if i == 0 else 0}
            )  # fmt: skip
        if failed:
            tables["failures"].append(
                {
                    **where,
                    "op": "insert",
                    "outcome": "timeout",
                    "count": failed,
                    "first_message": "no answer in 1 s",
                }
            )
        for kind, values in (
            ("latency", calls),
            ("service", calls if service_ns is None else service_ns),
            ("lag", list(lag_ns)),
            ("on_time", on_time_ns(calls, lag_ns) if lag_ns else []),
        ):
            if values:
                tables["hist"].append(
                    {
                        **where,
                        "op": "insert",
                        "t_ns": t_ns,
                        "dt_ns": end_ns - t_ns,
                        **hist(values),
                        "kind": kind,
                    }
                )
        if reader_ns:
            mine = {**where, "role": "readers"}
            tables["repetitions"].append({**mine, "start_ns": t_ns, "end_ns": end_ns, "ops": len(reader_ns),
                                    "ok": len(reader_ns), "sessions": 1, "cpu_ns": 10**6, "queued_ns": 0})  # fmt: skip
            tables["hist"].append({**mine, "op": "page", "kind": "latency", "t_ns": t_ns, **hist(reader_ns)})
        t_ns = end_ns
    tables["segments"] += [
        {"segment": 0, "kind": "control", "label": "create", "end_ns": SECOND, "ended_by": "work"},
        {"segment": 2, "kind": "drive", "label": "measure", "phase": "measure", "start_ns": SECOND, "end_ns": t_ns,
         "ended_by": "work"},
    ]  # fmt: skip
    tables["proofs"].append(
        {"segment": 3, "table": "t", "item": "rows", "expected": str(rows), "found": str(rows), "holds": True}
    )
    tables["settings"].append({"segment": 1, "name": "version", "value": f"{engine} 1.0"})
    if resources:
        tables["resources"] = resource_rows(t_ns, client_cores, dict(noise or {}), 8)
    for name, extra in (more or {}).items():
        tables[name] += [dict(r) for r in extra]
    roles = [role_plan("writers", "insert", schedule, writers)]
    if reader_ns:
        roles.append(role_plan("readers", "page"))
    labels = {
        "factors": {"engine": engine, **dict(factors or {})},
        "block": block,
        "order": order,
        "engine": engine,
    }
    plan = {
        "version": 1, "run_id": "r", "study": "synthetic", "operations": [{"name": "insert", "kind": "insert", "holds": []}, {"name": "page", "kind": "together", "holds": [{"kind": "count_bounds"}]}], "seed": 1, "target": {"engine": engine, "url": f"{engine}:///t" if engine in ("duckdb", "sqlite") else f"{engine}://db.example/t"},
        "segments": [{"kind": "control", "label": "create"}, {"kind": "drive", "label": "measure", "phase": "measure",
                     "roles": roles, "limit_ns": 600 * SECOND}], "labels": labels,
    }  # fmt: skip
    summary = {"status": "done", "block": block, "order": order, "labels": labels, "failure": None, "hash": "0" * 64,
               "durability": {"survives": "POWER_LOSS"}, **(doc or {})}  # fmt: skip
    held = {name: table(name, found) for name, found in tables.items() if name not in without}
    return RunRecord(f"b{block:02d}-{order:04d}-{engine}", plan, {**ENV, **(env or {})}, summary, held)


def on_time_ns(latency_ns: Sequence[int], lag_ns: Sequence[int]) -> list[int]:
    """Each call's latency less its own lag; the longer list gives what the shorter does not have."""
    lags = [*lag_ns, *[0] * len(latency_ns)]
    return [max(0, latency - lag) for latency, lag in zip(latency_ns, lags, strict=False)]


def hist(values: Sequence[int]) -> dict[str, Any]:
    h = of_values(values)
    return {"grouping_power": 7, "bucket": h.bucket.tolist(), "count": h.count.tolist(), "n": h.n,
            "min_ns": h.min_ns, "max_ns": h.max_ns, "sum_ns": h.sum_ns}  # fmt: skip


def resource_rows(
    end_ns: int, client_cores: float, noise: Mapping[str, float], cores: int
) -> list[dict[str, Any]]:
    """Two samples a second of cumulative figures that grow steadily."""
    rows = []
    for t_ns in range(0, end_ns + SECOND, SECOND // 2):
        t_s = t_ns / SECOND
        busy = client_cores + 0.8 + noise.get("others", 0.0) * cores
        host = {"cpu_total_s": cores * t_s, "cpu_busy_s": busy * t_s, "cpu_steal_s": noise.get("steal", 0.0) * cores * t_s,
                "psi_cpu_some_s": noise.get("psi", 0.0) * t_s}  # fmt: skip
        rows += [{"role": "host", "t_ns": t_ns, "metric": m, "value": v} for m, v in host.items()]
        rows += [
            {"role": "host", "t_ns": t_ns, "metric": "dev_write_bytes", "device": "sda", "value": 5e7 * t_s},
            {"role": "client", "t_ns": t_ns, "metric": "cpu_s", "value": client_cores * t_s},
            {"role": "server", "t_ns": t_ns, "metric": "cpu_s", "value": 0.8 * t_s},
            {"role": "server", "t_ns": t_ns, "metric": "rss_bytes", "value": 2e8 + 1e6 * t_s},
        ]
    return rows


STUDY: dict[str, Any] = {
    "id": "synthetic-1", "study": "synthetic", "title": "Batch size", "kind": "fixed_volume", "seed": 1,
    "question": "Which batch size stores 50,000 rows soonest?", "expect": "Larger is better.",
    "answer": {"kind": "best", "of": "writers.makespan_s", "along": "batch_rows", "per": ["engine"]},
    "accept": {"writers.errors": 0}, "published": [], "repeats": {"count": 5, "order": "shuffled_after_pilot", "seed": 1},
}  # fmt: skip


Truth = Mapping[tuple[str, int], float]
Carry = Callable[[tuple[str, int] | None], float]


def drawn(
    truth: Truth, blocks: int, spread: float, seed: int, carry: Carry, shuffled: bool = True
) -> Iterator[tuple[str, int, int, int, float]]:
    """Engine, value, block, order and makespan of a pilot and of shuffled blocks over points of known makespans.

    spread: sd of the log of a run's noise, and of a block's; carry: factor that the run before leaves on this one.
    """
    rng = np.random.default_rng(seed)
    points = list(truth)
    for block in range(blocks + 1):
        block_effect = rng.normal(0, spread)
        order = rng.permutation(len(points)) if block and shuffled else np.arange(len(points))
        before: tuple[str, int] | None = None
        for place, i in enumerate(order):
            noise = float(np.exp(block_effect + rng.normal(0, spread)))
            yield *points[i], block, place, truth[points[i]] * noise * carry(before)
            before = points[i]


def untouched(_: tuple[str, int] | None) -> float:
    return 1.0


def study(
    truth: Truth,
    *,
    blocks: int = 5,
    spread: float = 0.05,
    seed: int = 1,
    carry: Carry = untouched,
    doc: Mapping[str, Any] | None = None,
    absent: Sequence[Absent] = (),
    along: str = "batch_rows",
    shuffled: bool = True,
    **every: Any,
) -> StudyRecord:
    """`drawn` as sealed runs with all their tables; points are (engine, value of `along`)."""
    runs = [
        run(engine, {along: value}, block, place, makespan_s=makespan_s, **every)
        for engine, value, block, place, makespan_s in drawn(truth, blocks, spread, seed, carry, shuffled)
    ]
    return StudyRecord({**STUDY, "answer": {**STUDY["answer"], "along": along}, **(doc or {})}, runs, absent)


def trial(
    truth: Truth,
    *,
    blocks: int = 5,
    spread: float = 0.05,
    seed: int = 1,
    doc: Mapping[str, Any] | None = None,
    along: str = "batch_rows",
) -> Analysis:
    """The same study by its makespans alone, without tables: hundreds of them in a second."""
    runs = [
        figured(engine, {along: value}, block, place, {MAKESPAN: makespan_s})
        for engine, value, block, place, makespan_s in drawn(truth, blocks, spread, seed, untouched)
    ]
    made = {**STUDY, "answer": {**STUDY["answer"], "along": along}, **(doc or {})}
    return analysis_of(StudyRecord(made, [m.run for m in runs]), runs)


#: The figure of every made-up study.
MAKESPAN = "writers.makespan_s"


def figured(
    engine: str,
    factors: Mapping[str, Any],
    block: int,
    order: int,
    figures: Mapping[str, float],
    confirms: bool = False,
) -> Measured:
    """A run of which only its figures are known."""
    labels = {"engine": engine, "factors": dict(factors), "block": block, "order": order}
    doc = {"labels": {**labels, "confirms": confirms}, "block": block, "order": order, "status": "done",
           "durability": {"survives": "POWER_LOSS"}}  # fmt: skip
    return Measured(RunRecord(f"b{block:02d}-{order:04d}-{engine}", {}, ENV, doc), figures, ())


def analysed(runs: Sequence[RunRecord], doc: Mapping[str, Any]) -> Analysis:
    """A study of these runs, judged as every study is."""
    return analyse(StudyRecord({**STUDY, "accept": {}, **doc}, list(runs)))


def analysis_with(runs: Sequence[Measured], doc: Mapping[str, Any]) -> Analysis:
    """A study of runs with figures alone."""
    return analysis_of(StudyRecord({**STUDY, "accept": {}, **doc}, [m.run for m in runs]), list(runs))


def unequal(truth: Mapping[tuple[str, int], float], **how: Any) -> StudyRecord:
    """A study whose rows survive power loss, except on SQLite."""
    record = study(truth, **how)
    weaker = {"durability": {"survives": "PROCESS_CRASH"}}
    runs = [replace(r, summary={**r.summary, **weaker}) if r.engine == "sqlite" else r for r in record.runs]
    return replace(record, runs=runs)

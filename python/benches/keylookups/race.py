"""Records by their key: inrush at every depth against pgbench's pipelines, and each engine against its own depth 1.

A round is one run of the study `depth.toml` or `batches.toml` beside this file: the table is loaded, proven and read, and
every answer is judged. pgbench reads the same table of the same server in the same run, and looks at no answer. CPU of
inrush is that of its whole process, pgbench's that of its own.
"""

from __future__ import annotations

import copy
import csv
import json
import resource
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import count
from math import nan
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benches import ingest
from benches.floors import Parts
from benches.lookups import reported
from benches.places import call, url_of
from benches.rounds import Rounds
from inrush.engines import server
from inrush.plan.plan import plan_study
from inrush.plan.planned import PlannedRun
from inrush.results.histogram import Histogram, merge
from inrush.study.reading import load_study

FOLDER = Path(__file__).parent
PUBLISHED = FOLDER.parent / "published" / "batches.csv"
#: Of the peer: calls of a pipeline, and seconds.
PIPELINE, SECONDS = 128, 2
#: Our connections by the words of the study.
CONNECTIONS = {"one": 1, "four": 4}
REFILLS = {"half": "_128", "each": "_128_each", "round": "_128_round"}
DEPTHS = (16, 64, 128)
#: Of one connection.
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
MYSQL_LIKE = ("mysql", "mariadb")
CURVES = ("postgresql", *MYSQL_LIKE, "valkey")
#: The bars: rows/s of a pipeline against the peer's, the same for each second of CPU, and against depth 1.
FASTER, CHEAPER, DEEPER = 1.1, 3.0, 2.0


class Read(NamedTuple):
    """What a step found, or the peer."""

    per_s: float
    per_cpu_s: float
    p50_ms: float = 0.0
    p99_ms: float = 0.0


def comparisons() -> Iterator[Parts]:
    if url_of("postgresql") and shutil.which("pgbench"):
        yield from against_pgbench()
    for engine in MYSQL_LIKE:
        if url_of(engine):
            yield from against_depth_1(engine)
    for engine in CURVES:
        if url_of(engine):
            yield from against_published(engine)


def against_pgbench() -> Iterator[Parts]:
    round_ = Round(
        "depth", "postgresql", [(table, c) for table in ("record", "short") for c in CONNECTIONS.values()]
    )
    rounds = Rounds(round_)
    peer = rf"pgbench \startpipeline of {PIPELINE}"
    for word, c in CONNECTIONS.items():
        refills = {f"record, refill {how}": ("record", f"{word}{step}") for how, step in REFILLS.items()}
        for what, (table, step) in {**refills, "short, refill half": ("short", f"short_{word}_128")}.items():
            name = f"keylookups postgresql, {c} connection{'s' if c > 1 else ''}, {what}"
            us, them = round_.place(step), round_.place(peer_of(table, c))
            yield name, peer, "records/s", FASTER, rounds.figure(us), rounds.figure(them)
            yield (
                f"{name}, client",
                peer,
                "records/CPU-s",
                CHEAPER,
                rounds.figure(us + 1),
                rounds.figure(them + 1),
            )


def against_depth_1(engine: str) -> Iterator[Parts]:
    round_ = Round("depth", engine)
    rounds = Rounds(round_)
    for word, c in CONNECTIONS.items():
        steps = {f"record, depth {d}": (f"{word}_{d}", f"{word}_1") for d in DEPTHS}
        steps["short, depth 128"] = (f"short_{word}_128", f"short_{word}_1")
        for what, (deep, single) in steps.items():
            name = f"keylookups {engine}, {c} connection{'s' if c > 1 else ''}, {what}"
            us, them = rounds.figure(round_.place(deep)), rounds.figure(round_.place(single))
            yield name, "its depth 1", "records/s", DEEPER, us, them


def against_published(engine: str) -> Iterator[Parts]:
    round_ = Round("batches", engine)
    rounds = Rounds(round_)
    for way in ("list", "together"):
        for n in BATCHES:
            name = curve(engine, way, n)
            us = rounds.figure(round_.place(f"{way}_{n}"))
            yield (
                name,
                f"RonDB's Rondis, MSET of {n}",
                "records/s",
                1.0,
                us,
                partial(published().__getitem__, n),
            )


def curve(engine: str, way: str, n: int) -> str:
    return f"keylookups {engine}, one connection, {'a list of' if way == 'list' else 'calls in flight:'} {n}"


def note(name: str) -> str | None:
    """Percentiles of a batch, medians of the rounds of a comparison: of a list its call, of calls sent together each."""
    for (engine, way, n), reads in CURVE.items():
        if name == curve(engine, way, n):
            p50, p99 = median(r.p50_ms for r in reads), median(r.p99_ms for r in reads)
            return f"p50 {p50:.3f} ms, p99 {p99:.3f} ms"
    return None


#: By (engine, way, batch): every round.
CURVE: dict[tuple[str, str, int], list[Read]] = {}


@cache
def published() -> Mapping[int, float]:
    lines = (line for line in PUBLISHED.read_text().splitlines() if not line.startswith("#"))
    return {int(row["batch"]): float(row["rows_per_s"]) for row in csv.DictReader(lines)}


class Round:
    """One run of a study; the peer works before its reads or after them, every other time."""

    def __init__(self, study: str, engine: str, peers: Sequence[tuple[str, int]] = ()) -> None:
        self.study, self.engine, self.peers, self.turn = study, engine, peers, count()
        self.names = [*steps_of(planned(study, engine)), *(peer_of(*peer) for peer in peers)]
        #: Steps without a comparison are not made.
        self.compared: set[str] = set()

    def place(self, name: str) -> int:
        """Of its rate among the figures of a round; the rate for each second of CPU stands behind it."""
        self.compared.add(name)
        return 2 * self.names.index(name)

    def __call__(self) -> tuple[float, ...]:
        reads = self.read(first=next(self.turn) % 2 == 0)
        for name in self.compared:
            way, _, n = name.rpartition("_")
            if self.study == "batches":
                CURVE.setdefault((self.engine, way, int(n)), []).append(reads[name])
        of_all = (reads.get(name, Read(nan, nan)) for name in self.names)
        return tuple(figure for read in of_all for figure in (read.per_s, read.per_cpu_s))

    def read(self, first: bool) -> Mapping[str, Read]:
        plan = copy.deepcopy(dict(planned(self.study, self.engine)))
        tables = {table["stream"]: table["name"] for table in plan["tables"]}
        found: dict[str, Read] = {}

        def peers() -> None:
            for table, connections in self.peers:
                if (name := peer_of(table, connections)) in self.compared:
                    found[name] = pgbench(tables[table], columns(plan, table), connections)

        left_out = [s for s in plan["segments"] if reads(s) and s["roles"][0]["name"] not in self.compared]
        segments = plan["segments"] = [s for s in plan["segments"] if s not in left_out]
        reading = [k for k, segment in enumerate(segments) if reads(segment)]
        if self.peers:
            pause = {"kind": "pause", "label": "peers", "action": "peers"}
            segments.insert(reading[0] if first else reading[-1] + 1, pause)
        with ingest.executed(self.engine, plan, paused=peers) as came:
            return {**found, **steps(came)}


def reads(segment: Mapping[str, Any]) -> bool:
    return segment["kind"] == "drive" and all(role["work"]["kind"] != "rows" for role in segment["roles"])


@cache
def planned(study: str, engine: str) -> Mapping[str, Any]:
    """The plan of a run; of the points of a study one, whose table all of them read: `list_16` of `list` where keys are 16."""
    read = load_study(str(FOLDER / f"{study}.toml"), engines=(engine,))
    runs = [run for run in plan_study(read, {engine: server(engine)}).runs if run.block == 1]
    runs.sort(key=lambda run: number_of(run) or 0)
    plans: list[dict[str, Any]] = [
        json.loads(json.dumps(run.plan).replace(run.namespace, runs[0].namespace)) for run in runs
    ]
    whole, *others = [with_number(plan, number_of(run)) for plan, run in zip(plans, runs, strict=True)]
    last = max(k for k, segment in enumerate(whole["segments"]) if reads(segment)) + 1
    whole["segments"][last:last] = [
        segment for plan in others for segment in plan["segments"] if reads(segment)
    ]
    known = {operation["name"] for operation in whole["operations"]}
    whole["operations"] += [o for plan in others for o in plan["operations"] if o["name"] not in known]
    return whole


def number_of(run: PlannedRun) -> int | None:
    keys = run.labels["factors"].get("keys")
    return keys if isinstance(keys, int) else None


def with_number(plan: dict[str, Any], number: int | None) -> dict[str, Any]:
    """Steps that read, and their operations, by a name of their own among those of other points."""
    if number is None:
        return plan
    of_reads = {
        o["operation"] for s in plan["segments"] if reads(s) for r in s["roles"] for o in r["operations"]
    }

    def name(known: str) -> str:
        return f"{known}_{number}" if known in of_reads else known

    for operation in plan["operations"]:
        operation["name"] = name(operation["name"])
    for role in (r for s in plan["segments"] if reads(s) for r in s["roles"]):
        role["name"] = f"{role['name']}_{number}"
        role["operations"] = [{**o, "operation": name(o["operation"])} for o in role["operations"]]
    return plan


def steps_of(plan: Mapping[str, Any]) -> Iterator[str]:
    return (segment["roles"][0]["name"] for segment in plan["segments"] if reads(segment))


def steps(came: Mapping[str, list[Any]]) -> Mapping[str, Read]:
    """Step -> what it found. Raises RuntimeError where a row is missing or an answer was wrong."""
    if broken := [p for p in came["proofs"] if not p["holds"]]:
        raise RuntimeError(f"rows are missing or wrong, so there is no rate: {broken[0]}")
    cpu = iter(
        r["value"] for r in came["resources"] if r["metric"] == "repetition_cpu_s" and r["role"] == "client"
    )
    found = {}
    for totals in came["repetitions"]:
        cpu_s, name = next(cpu), totals["role"]
        if name.startswith("load"):
            continue
        if totals["errors"] or not totals["ok"]:
            raise RuntimeError(f"{name}: {totals['errors']} of {totals['ops']} failed: {came['failures']}")
        # A key drawn twice for a list is one row of its answer.
        keys = totals["ok"] * keys_of(name)
        latency = merge([histogram(h) for h in came["hist"] if h["kind"] == "latency" and h["role"] == name])
        found[name] = Read(
            keys / ((totals["end_ns"] - totals["start_ns"]) / 1e9), keys / cpu_s,
            latency.quantile_ns(0.5) / 1e6, latency.quantile_ns(0.99) / 1e6,
        )  # fmt: skip
    return found


def histogram(row: Mapping[str, Any]) -> Histogram:
    bucket, counts = (np.array(row[name], np.int64) for name in ("bucket", "count"))
    return Histogram(row["grouping_power"], bucket, counts, row["min_ns"], row["max_ns"], row["sum_ns"])


def keys_of(step: str) -> int:
    way, _, n = step.rpartition("_")
    return int(n) if way == "list" else 1


# --- theirs


def peer_of(table: str, connections: int) -> str:
    return f"pgbench {table} {connections}"


def columns(plan: Mapping[str, Any], table: str) -> str:
    (found,) = (t for t in plan["tables"] if t["stream"] == table)
    return ", ".join(column["name"] for column in found["columns"])


def pgbench(table: str, columns: str, connections: int) -> Read:
    """Records per second as pgbench reports them, and per second of its CPU."""
    rows = planned("depth", "postgresql")["segments"]
    keys = max(
        r["work"]["rows"]
        for s in rows
        if s["kind"] == "drive"
        for r in s["roles"]
        if r["work"]["kind"] == "rows"
    )
    one = f"\\set id random(1, {keys})\nSELECT {columns} FROM {table} WHERE id = :id;\n"
    with ingest.folder() as path:
        script = path / "pipeline.sql"
        script.write_text(f"\\startpipeline\n{one * PIPELINE}\\endpipeline\n")
        c = str(connections)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        shown = call([
            "pgbench", "-n", "-M", "prepared", "-T", str(SECONDS), "-c", c, "-j", c, "-f", str(script),
            str(url_of("postgresql")),
        ])  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    done, per_s = reported(shown)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Read(per_s * PIPELINE, done * PIPELINE / cpu_s)

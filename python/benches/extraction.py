"""Rows out of engines: an extract of inrush, each of its values compared, against each server's own client writing a file.

Same server, table, rows and order (by key), warm. All sides of a round follow each other, in an order that turns. A client
is timed from its start to its end, less a call that asks for one row; inrush from when its call was due to its last row,
its CPU is that of the session's thread. What it compares the rows with is made afterwards, and is in neither.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from benches import ingest
from benches.floors import Parts
from benches.loading import children_cpu_s
from benches.places import INSTANCES, ask, client_words, program, url_of
from benches.rounds import Rounds
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import TablePlan, Unsupported
from inrush.targets.deployment import Deployment, at_deployment
from inrush.workload import Column, Operation, Table

#: Rows of an extract, unless others are asked for; memory at the last is compared with that at the first.
ROWS = (1_000_000, 10_000_000)
#: The best that was published of an archive out of a warm server, rows/s.
PUBLISHED = 0.86e6
#: Memory at the most rows, of that at the fewest.
MEMORY_BAR = 1 / 1.1
NAMESPACE = "inrush_bench_extraction"
PERIOD_S = 0.001
WAYS = {"postgresql": ("copy", "binary"), "mysql": ("binary", "text"), "mariadb": ("binary", "text")}
#: Holds the table whole, so that warm means the same on each engine.
POOL_BYTES = 2 << 30
COLUMNS = ("time", "value", "set_value", "quality")
#: Of its key and time, its two values and its quality: 44 bytes a row of PostgreSQL's binary COPY.
TABLE = Table(
    "extraction",
    (
        Column("id", "i32", {"kind": "cycle", "from": 1, "to": 1}),
        Column("time", "time_us", {"kind": "sweep_time"}),
        Column("value", "f64", {"kind": "uniform", "from": -1000, "to": 1000}),
        Column("set_value", "f64", {"kind": "uniform", "from": 0, "to": 10}),
        Column("quality", "i16", {"kind": "uniform", "from": 0, "to": 4}),
    ),
    period_s=PERIOD_S,
    identity=("id", "time"),
    layouts={"pk": (("id", "time"),)},
)
STARTS = 9
BINARY_ROW, BINARY_ENDS = 44, 21
#: Runs the worker and says its own peak of memory last: a new program inherits its parent's `ru_maxrss`.
WORKER = """
import sys
from inrush.agent.program import main
code = main()
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
sys.exit(code)
"""


@dataclass(frozen=True)
class Read:
    """One extract, or one call of a client."""

    seconds: float
    client_cpu_s: float
    #: Of inrush's process; 0 of others.
    peak_mb: float = 0.0
    #: Of the whole process: interpreter, generator and comparison too.
    process_cpu_s: float = 0.0


#: By (engine, rows, side).
READS: dict[tuple[str, int, str], list[Read]] = {}


def comparisons(sizes: Sequence[int] = ROWS) -> Iterator[Parts]:
    for engine, ways in WAYS.items():
        if url_of(engine) is None:
            continue
        peers = peers_of(engine)
        if not peers:
            print(f"no client of {engine} here: its extractions are left out", flush=True)
            continue
        most = max(sizes)
        rounds = {rows: Rounds(Round(engine, rows, most, ways, tuple(peers))) for rows in sizes}
        for rows in sizes:
            yield from of_size(engine, rows, rounds[rows], ways, tuple(peers))
        if len(set(sizes)) > 1:
            for k, way in enumerate(ways):
                yield (
                    f"{engine} extraction, {way}, memory at {most:,} rows", f"at {min(sizes):,}", "MB", MEMORY_BAR,
                    rounds[most].figure(3 * k + 2), rounds[min(sizes)].figure(3 * k + 2),
                )  # fmt: skip


def of_size(
    engine: str, rows: int, round_: Rounds, ways: Sequence[str], peers: Sequence[str]
) -> Iterator[Parts]:
    """Figures of a round stand side by side, (rows/s, rows/CPU-s, MB) each, the ways before the peers."""
    for k, way in enumerate(ways):
        name = label(engine, way, rows)
        for n, peer in enumerate(peers):
            wall, cpu = 3 * (len(ways) + n), 3 * (len(ways) + n) + 1
            yield name, peer, "rows/s", 1.0, round_.figure(3 * k), round_.figure(wall)
            yield f"{name}, client", peer, "rows/CPU-s", 1.0, round_.figure(3 * k + 1), round_.figure(cpu)
        yield name, "best published", "rows/s", 1.0, round_.figure(3 * k), lambda: PUBLISHED


def label(engine: str, way: str, rows: int) -> str:
    return f"{engine} extraction, {way}, {rows:,} rows"


def note(name: str) -> str | None:
    """CPU-seconds and memory of inrush's whole process, medians of the rounds of a comparison."""
    for (engine, rows, way), reads in READS.items():
        if name.startswith(label(engine, way, rows)):
            cpu_s, peak_mb = (median(r.process_cpu_s for r in reads), median(r.peak_mb for r in reads))
            return f"the whole process {cpu_s:.2f} CPU-s, {peak_mb:.0f} MB"
    return None


class Round:
    """Each way and each peer once; the first of a round is the last of the next."""

    def __init__(
        self, engine: str, rows: int, most: int, ways: tuple[str, ...], peers: tuple[str, ...]
    ) -> None:
        self.engine, self.rows, self.most = engine, rows, most
        self.ways, self.sides, self.turn = ways, (*ways, *peers), count()

    def __call__(self) -> tuple[float, ...]:
        loaded(self.engine, self.most)
        warm(self.engine, self.rows)
        order = self.sides if next(self.turn) % 2 == 0 else self.sides[::-1]
        reads = {side: self.read(side) for side in order}
        for side, read in reads.items():
            READS.setdefault((self.engine, self.rows, side), []).append(read)
        return tuple(
            figure
            for read in (reads[side] for side in self.sides)
            for figure in (self.rows / read.seconds, self.rows / read.client_cpu_s, read.peak_mb)
        )

    def read(self, side: str) -> Read:
        if side in self.ways:
            return extracted(self.engine, side, self.rows)
        return less_its_start(self.engine, side, self.rows)


# --- the table


@cache
def planned(engine: str) -> TablePlan:
    return server(engine).plan_table(TABLE, "pk", NAMESPACE)


@cache
def loaded(engine: str, rows: int) -> None:
    """The table, in the order of its key, proven. A server at an address loses it when the bench ends."""
    twin, table = server(engine), planned(engine)
    if engine not in INSTANCES:
        atexit.register(dropped, engine)
    elif engine != "postgresql":
        ask(engine, f"SET GLOBAL innodb_buffer_pool_size = {POOL_BYTES}")
    way = twin.ways.get("bulk", "bulk")
    insert = twin.plan_operation(
        Operation("insert", "insert", table=TABLE.name), way, {TABLE.name: table}, ingest.USUAL_BATCH
    )
    if isinstance(insert, Unsupported):
        raise RuntimeError(f"{engine}: {insert.reason}")
    proof = twin.proof(TABLE, table)
    work = {
        "kind": "rows", "table": 0, "first_row": 0, "rows": rows, "batch_rows": ingest.BATCH.get(engine, 10_000),
    }  # fmt: skip
    segments = [
        ingest.control("create", [*twin.drop_namespace(NAMESPACE), *twin.open_namespace(NAMESPACE), *table.create]),
        ingest.drive([ingest.role("writers", "insert", work)], limit_s=3600),
        {"kind": "proof", "label": "proof", "proofs": [{
            "table": 0, "first_row": 0, "rows": rows, "screen": proof.checksum_query, "items": [dict(i) for i in proof.items],
        }]},
        ingest.control("analyze", [f"ANALYZE {'' if engine == 'postgresql' else 'TABLE '}{table.name}"]),
    ]  # fmt: skip
    operation = {"name": "insert", "kind": "insert", "table": 0, "text": insert.text, "method": way}
    plan = ingest.document_of_run(engine, segments, [operation], [ingest.document(TABLE, planned(engine))])
    with ingest.executed(engine, plan) as tables:
        if broken := [p for p in tables["proofs"] if not p["holds"]]:
            raise RuntimeError(f"{engine}: rows are missing or wrong, so there is no rate: {broken[0]}")


def dropped(engine: str) -> None:
    for statement in server(engine).drop_namespace(NAMESPACE):
        ask(engine, statement)


@cache
def warm(engine: str, rows: int) -> None:
    """The pages of these rows are in memory before the first round."""
    called(peers_of(engine)[next(iter(peers_of(engine)))](query(engine, rows)), None, client_words(engine)[1])


def query(engine: str, rows: int) -> str:
    """What inrush asks for, its parameters written into it."""
    from_us, to_us = ingest.EPOCH_NS // 1000, ingest.EPOCH_NS // 1000 + round(rows * PERIOD_S * 1e6)
    ends = (at(engine, us) for us in (from_us, to_us))
    return statement(engine, "1", *ends)


def at(engine: str, us: int) -> str:
    """A time as a literal of UTC, as the table keeps it."""
    seconds, rest = divmod(us, 1_000_000)
    text = f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(seconds))}.{rest:06d}"
    return f"timestamptz '{text}+00'" if engine == "postgresql" else f"'{text}'"


def statement(engine: str, series: str, first: str, end: str) -> str:
    return (
        f"SELECT {', '.join(COLUMNS)} FROM {planned(engine).name}"
        f" WHERE id = {series} AND time >= {first} AND time < {end} ORDER BY time"
    )


# --- ours


def extracted(engine: str, way: str, rows: int) -> Read:
    """One extract by a worker of its own, as a run of a study has it."""
    twin = server(engine)
    deployment = Deployment(twin, Target(engine, str(url_of(engine)), {}, INSTANCES.get(engine)))
    role = ingest.role("readers", "all", {"kind": "calls", "count": 1})
    segments = [ingest.drive([role], limit_s=3600)]
    plan = ingest.document_of_run(
        engine, segments, [operation(engine, way, rows)], [ingest.document(TABLE, planned(engine))]
    )
    with ingest.folder() as path:
        (path / "parts").mkdir()
        own = at_deployment(plan, deployment, path)
        document = json.dumps({"does": "drive", "plan": own, "parts": str(path / "parts")})
        command = [sys.executable, "-c", WORKER]
        before = children_cpu_s()
        done = subprocess.run(command, input=document + "\n", capture_output=True, text=True, check=False)
        process_cpu_s = children_cpu_s() - before
        if done.returncode != 0:
            raise RuntimeError(f"{engine} extraction by {way} failed: {(done.stdout + done.stderr)[-400:]}")
        tables = {part.stem: ingest.rows_of(part) for part in (path / "parts").glob("*.arrows")}
    (totals,) = tables["repetitions"]
    if (totals["ok"], totals["rows"]) != (1, rows):
        raise RuntimeError(f"{engine} extraction by {way} has no rate: {tables['failures'] or totals}")
    seconds = sum(h["sum_ns"] for h in tables["hist"] if h["kind"] == "latency") / 1e9
    return Read(seconds, totals["cpu_ns"] / 1e9, int(done.stdout.split()[-1]) / 1024, process_cpu_s)


def operation(engine: str, way: str, rows: int) -> Mapping[str, Any]:
    marks = ("$1", "$2", "$3") if engine == "postgresql" else ("?", "?", "?")
    return {
        "name": "all", "kind": "extract", "table": 0, "text": statement(engine, *marks), "method": way,
        "params": [
            {"name": "id", "type": "i32", "gen": {"kind": "range_key", "column": "id"}},
            {"name": "from", "type": "time_us", "gen": {"kind": "range_from"}},
            {"name": "to", "type": "time_us", "gen": {"kind": "range_to"}},
        ],
        # The first rows of the table: of those alone the range is drawn, so that it is all of them.
        "range": {
            "table": 0, "rows": rows, "columns": list(COLUMNS), "time": "time",
            "length": {"kind": "rows", "rows": rows}, "series": 0,
        },
    }  # fmt: skip


# --- theirs


#: A query -> a command that prints its answer.
Command = Callable[[str], list[str]]


def peers_of(engine: str) -> Mapping[str, Command]:
    """Name of a peer, as a comparison shows it -> its command; none where its program is not here."""
    name = "psql" if engine == "postgresql" else engine
    client = program(engine, name)
    if client is None:
        return {}
    if engine == "postgresql":
        psql = [client, "-X", "-q", "-v", "ON_ERROR_STOP=1", str(url_of(engine))]
        return {
            "psql COPY, binary, to a file": lambda text: [*psql, "-c", f"COPY ({text}) TO STDOUT (FORMAT binary)"],
            "psql SELECT, -A -t, to a file": lambda text: [*psql, "-A", "-t", "-c", text],
        }  # fmt: skip
    words = [
        client, "--no-defaults", *client_words(engine)[0], "--quick", "--batch", "--skip-column-names", "--execute",
    ]  # fmt: skip
    return {f"{name} --quick --batch, to a file": lambda text: [*words, unquoted(text)]}


def unquoted(text: str) -> str:
    """With the names as a client without ANSI_QUOTES takes them."""
    return text.replace('"', "`")


def less_its_start(engine: str, peer: str, rows: int) -> Read:
    start = start_of(engine, peer)
    read = called(peers_of(engine)[peer](query(engine, rows)), rows, client_words(engine)[1])
    less = Read(read.seconds - start.seconds, read.client_cpu_s - start.client_cpu_s)
    if less.seconds <= 0 or less.client_cpu_s <= 0:
        raise RuntimeError(f"{peer}: {rows:,} rows cost no more than its start; ask for more --rows")
    return less


@cache
def start_of(engine: str, peer: str) -> Read:
    """Medians of calls for one row."""
    calls = [called(peers_of(engine)[peer]("SELECT 1"), None, client_words(engine)[1]) for _ in range(STARTS)]
    return Read(median(c.seconds for c in calls), median(c.client_cpu_s for c in calls))


def called(command: list[str], rows: int | None = None, variables: Mapping[str, str] | None = None) -> Read:
    """Raises RuntimeError where the client fails, or where the file has not as many rows."""
    with ingest.folder() as path:
        file = path / "rows"
        before, began = children_cpu_s(), time.perf_counter()
        environment = {**os.environ, **(variables or {})}
        with file.open("wb") as out:
            done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=False, env=environment)
        read = Read(time.perf_counter() - began, children_cpu_s() - before)
        if done.returncode != 0:
            raise RuntimeError(f"{Path(command[0]).name} failed: {done.stderr.decode()[-400:]}")
        if rows is not None and (got := rows_in(file)) != rows:
            raise RuntimeError(f"{Path(command[0]).name} wrote {got} rows of {rows}, so it has no rate")
    return read


def rows_in(file: Path) -> int:
    """Of lines, or of PostgreSQL's binary format with rows of one width."""
    with file.open("rb") as data:
        if data.read(6) == b"PGCOPY":
            return (file.stat().st_size - BINARY_ENDS) // BINARY_ROW
        data.seek(0)
        return sum(block.count(b"\n") for block in iter(lambda: data.read(1 << 20), b""))

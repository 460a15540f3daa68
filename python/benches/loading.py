"""`inrush load`, digests, ledger and proof included, against COPY by psql: the same CSV, table, durability and warm page cache.

Wall time is that of the whole command: interpreter, look at the file, both processes, ledger, proof.
"""

from __future__ import annotations

import atexit
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from benches.floors import Parts
from benches.ingest import folder
from benches.places import INSTANCES, url_of
from inrush.engines import server
from inrush.engines.postgresql.shards import WORKER
from inrush.load.input import file_document, open_inputs, table_of
from inrush.load.process import End
from inrush.load.shards import loading_of
from inrush.plan import ends
from inrush.plan.ledger import LEDGER
from inrush.targets.shards import cluster_of

#: About 210 MB.
ROWS = 2_000_000
#: Through a coordinator a row costs many times as much.
FEW_ROWS = 100_000
SHARDS = 8
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
TABLE = "inrush_bench_load"
DATABASE = "inrush_bench_shard_{k}"
KEY = "device"
#: What people keep of devices: numbers of every width, and a time.
COLUMNS = {
    "seen_at": "timestamp with time zone", "device": "integer", "port": "integer", "bytes_in": "bigint",
    "bytes_out": "bigint", "packets": "bigint", "errors": "bigint", "load": "double precision",
    "temperature": "double precision", "latency": "double precision",
}  # fmt: skip
#: Parsed and validated by the client, bytes of the file per second of its CPU.
PARSE_MB = 400.0


@dataclass(frozen=True)
class Repetition:
    seconds: float
    client_cpu_s: float
    #: None for a server with unknown processes.
    server_cpu_s: float | None


#: Of each comparison, by side.
REPETITIONS: dict[tuple[str, str], list[Repetition]] = {}


def comparisons() -> Iterator[Parts]:
    yield (
        "loading client, numeric columns",
        "bar of 400 MB",
        "MB/CPU-s",
        1.0,
        parsed_mb_per_cpu_s,
        lambda: PARSE_MB,
    )
    yield (
        "loading client, sums of all columns",
        "no sums",
        "MB/CPU-s",
        0.95,
        parsed_mb_per_cpu_s,
        partial(parsed_mb_per_cpu_s, False),
    )
    if not (shutil.which("psql") and url_of("postgresql")):
        return
    for kind in ("UNLOGGED ", ""):
        for workers in (1, 2):
            name = (
                f"loading {'one file' if workers == 1 else 'two files'}, {'unlogged' if kind else 'logged'}"
            )
            peer = "psql \\copy" if workers == 1 else "two psql \\copy at once"
            yield (
                name,
                peer,
                "rows/s",
                1.0,
                partial(ours, name, workers, kind),
                partial(theirs, name, workers, kind),
            )
    name = f"loading {SHARDS} shards"
    yield (
        name,
        f"{SHARDS} psql \\copy at once",
        "rows/s",
        1.0,
        partial(to_shards, name),
        partial(copies_to_shards, name),
    )
    name = f"loading {SHARDS} shards, coordinator"
    yield (
        name, "psql \\copy into it", "rows/s", 2.0,
        partial(to_shards, name, FEW_ROWS), partial(copy_to_coordinator, name),
    )  # fmt: skip


def note(name: str) -> str | None:
    """CPU-seconds of a comparison's two sides, medians of its rounds; None where none were taken."""

    def side(which: str) -> str:
        repetitions = REPETITIONS[name, which]
        servers = [s.server_cpu_s for s in repetitions if s.server_cpu_s is not None]
        of_server = f" + server {median(servers):.2f}" if servers else ""
        return f"client {median(s.client_cpu_s for s in repetitions):.2f}{of_server}"

    return f"CPU-s: {side('ours')}, peer's {side('theirs')}" if (name, "theirs") in REPETITIONS else None


# --- one server


def ours(name: str, workers: int, kind: str) -> float:
    url = str(url_of("postgresql"))
    with tables([url], kind):
        command = inrush_load(parts(workers), "--into", url, "--parallel", workers, "--connections", workers)
        return repetition(name, "ours", ROWS, [command], [url])


def theirs(name: str, workers: int, kind: str) -> float:
    url = str(url_of("postgresql"))
    with tables([url], kind):
        return repetition(name, "theirs", ROWS, [copy(url, part) for part in parts(workers)], [url])


# --- shards: databases of one server


def to_shards(name: str, rows: int = ROWS) -> float:
    with shards() as urls, tables(urls):
        into = [word for url in urls for word in ("--shard", url)]
        return repetition(name, "ours", rows, [inrush_load(parts(1, rows), *into, "--key", KEY)], urls)


def copies_to_shards(name: str) -> float:
    """Each takes an eighth of the file, whatever the keys of its rows: no row is placed."""
    with shards() as urls, tables(urls):
        commands = [copy(url, part) for url, part in zip(urls, parts(SHARDS), strict=True)]
        return repetition(name, "theirs", ROWS, commands, urls)


def copy_to_coordinator(name: str) -> float:
    """PostgreSQL places the rows itself, through the foreign tables that `inrush load --create` makes."""
    whole = str(url_of("postgresql"))
    with shards() as urls, tables(urls):
        cluster = cluster_of(server("postgresql"))
        made = (
            *cluster.know_shards(urls, {}),
            *cluster.spread_table(TABLE, list(COLUMNS.items()), (KEY,), urls),
        )
        try:
            psql(whole, *made)
            return repetition(name, "theirs", FEW_ROWS, [copy(whole, parts(1, FEW_ROWS)[0])], urls)
        finally:
            psql(whole, f"DROP TABLE IF EXISTS {TABLE}")
            psql(whole, *(f"DROP SERVER IF EXISTS {WORKER.format(k=k)} CASCADE" for k in range(SHARDS)))


@contextmanager
def shards() -> Iterator[list[str]]:
    whole = str(url_of("postgresql"))
    names = [DATABASE.format(k=k) for k in range(SHARDS)]
    dropped = [f"DROP DATABASE IF EXISTS {name} WITH (FORCE)" for name in names]
    psql(whole, *dropped, *(f"CREATE DATABASE {name}" for name in names))
    try:
        yield [f"{whole.rpartition('/')[0]}/{name}" for name in names]
    finally:
        psql(whole, *dropped)


@contextmanager
def tables(urls: Sequence[str], kind: str = "") -> Iterator[None]:
    """An empty table on each, no ledger, and nothing of the last load left to be written."""
    columns = ", ".join(f"{column} {type_} NOT NULL" for column, type_ in COLUMNS.items())
    gone = f"DROP TABLE IF EXISTS {TABLE}, {LEDGER}"
    for url in urls:
        psql(url, gone, f"CREATE {kind}TABLE {TABLE} ({columns})")
    psql(urls[0], "CHECKPOINT")
    try:
        yield
    finally:
        for url in urls:
            psql(url, gone)


# --- a repetition


def repetition(
    name: str, side: str, rows: int, commands: Sequence[Sequence[str]], urls: Sequence[str]
) -> float:
    """Rows per second of wall time of `commands` at once. Raises RuntimeError when rows are missing."""
    with folder() as results:
        environment = {**os.environ, "INRUSH_RESULTS": str(results)}
        client, backend, began = children_cpu_s(), server_cpu_s(), time.perf_counter()
        at_once(commands, environment)
        seconds = time.perf_counter() - began
        server_s = None if backend is None else (server_cpu_s() or 0.0) - backend
        REPETITIONS.setdefault((name, side), []).append(
            Repetition(seconds, children_cpu_s() - client, server_s)
        )
    stored = sum(int(psql(url, f"SELECT COUNT(*) FROM {TABLE}")) for url in urls)
    if stored != rows:
        raise RuntimeError(f"{name}: {stored} rows were stored of {rows}, so there is no rate")
    return rows / seconds


def at_once(commands: Sequence[Sequence[str]], environment: dict[str, str]) -> None:
    started = [
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for command in commands
    ]
    try:
        said = [process.communicate()[0] for process in started]
    finally:
        for process in started:
            if process.returncode is None:  # the bench is ending: so does this
                process.terminate()
                process.wait()
    for process, words in zip(started, said, strict=True):
        if process.returncode != 0:
            raise RuntimeError(f"{process.args!r} failed: {words.strip()[-400:]}")


def inrush_load(files: Sequence[Path], *words: object) -> list[str]:
    return [sys.executable, "-m", "inrush.cli", "load", *map(str, files), "--table", TABLE, *map(str, words)]


def copy(url: str, file: Path) -> list[str]:
    return ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", url, "-c", f"\\copy {TABLE} from '{file}' csv"]


def psql(url: str, *commands: str) -> str:
    """What the statements print, each its own transaction."""
    given = [word for command in commands for word in ("-c", command)]
    done = subprocess.run(
        ["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", url, *given],
        capture_output=True, text=True, check=False, env={**os.environ, "PGOPTIONS": "-c client_min_messages=warning"},
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"psql failed: {done.stderr.strip()[-400:]}")
    return done.stdout.strip()


def children_cpu_s() -> float:
    """Of all programs that have ended, those they started included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def server_cpu_s() -> float | None:
    """Of a server that the bench started: its first process, those it has and those that have ended."""
    instance = INSTANCES.get("postgresql")
    if instance is None:
        return None
    children = Path(f"/proc/{instance.pid}/task/{instance.pid}/children").read_text().split()
    ticks = cpu_ticks(instance.pid, ended=True)
    for child in children:
        with suppress(OSError):  # gone meanwhile: its parent has its time now
            ticks += cpu_ticks(int(child))
    return ticks / CLOCK_TICKS


def cpu_ticks(pid: int, ended: bool = False) -> int:
    """Of a process, user and system; with that of its children that have ended."""
    behind_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, behind_name[11 : 15 if ended else 13]))


# --- the client alone


def parsed_mb_per_cpu_s(summed: bool = True) -> float:
    """The client process reads, parses, validates, sums and sends to a load server whose shard keeps nothing.

    summed: every column, for the proof against PostgreSQL, as `inrush load` does.
    """
    file = parts(1)[0]
    with folder() as here:
        inputs = open_inputs([str(file)], here / "spool")
        described = [(column, type_, False) for column, type_ in COLUMNS.items()]
        loading = loading_of(server("postgresql"))
        table = table_of(inputs, TABLE, described, loading.column_types)
        wanted = ends.Wanted(
            table=table, target_table=TABLE, key={}, method="bulk", import_id="bench",
            files=(file_document(inputs[0], table, here / "spool", str(here)),), chunk_rows=20_000, flush_rows=100_000,
            connections=1, parallel=1, reject_limit=0, patience_s=60.0,
            items=loading.proof(table, TABLE, COLUMNS).items if summed else (),
        )  # fmt: skip
        null = server("null")
        target = {"engine": "null", "url": "", "options": {}}
        shard = ends.server_plan(wanted, null, [("null", target)], "127.0.0.1:0", "bench")
        with End(shard, here / "server.log", {}) as load_server:
            address = load_server.wait_for("listening", unheard)["address"]
            document = ends.client_plan(wanted, null, ends.link_plan(address, "bench"), str(here))
            with End(document, here / "client.log", {}) as client:
                last = client.wait_for("finished", unheard, load_server)
                # It has ended or is about to. Until it is waited for, the kernel still has its time.
                cpu_s = cpu_ticks(client.pid) / CLOCK_TICKS
            load_server.stop(unheard)
    if last["rows_stored"] != ROWS:
        raise RuntimeError(f"{last['rows_stored']} rows arrived of {ROWS}, so there is no rate")
    return file.stat().st_size / 1e6 / cpu_s


def unheard(_: object) -> None: ...


# --- the rows


@cache
def parts(count: int, rows: int = ROWS) -> list[Path]:
    """The rows in `count` CSV files of equal length, in the page cache."""
    each = rows // count
    cut = [whole().slice(k * each, each) for k in range(count)]
    files = [place() / f"{rows}-{count}-{k}.csv" for k in range(count)]
    for file, part in zip(files, cut, strict=True):
        pacsv.write_csv(part, file, pacsv.WriteOptions(include_header=False, quoting_style="none"))
    os.sync()
    return files


@cache
def place() -> Path:
    path = Path(tempfile.mkdtemp(prefix="inrush-bench-load-", dir="/var/tmp"))
    atexit.register(shutil.rmtree, path)
    return path


@cache
def whole() -> pa.Table:
    random = np.random.default_rng(1)
    row = np.arange(ROWS)
    counters = {name: random.integers(0, 10**digits, ROWS) for name, digits in
                (("bytes_in", 13), ("bytes_out", 12), ("packets", 9), ("errors", 3))}  # fmt: skip
    return pa.table({
        "seen_at": pa.array(1_767_225_600_000 + row // 5_000 * 1_000 + row % 1_000, pa.timestamp("ms", "UTC")),
        "device": pa.array(row % 5_000, pa.int32()),
        "port": pa.array(row % 48, pa.int32()),
        **counters,
        "load": np.round(random.uniform(0, 100, ROWS), 2),
        "temperature": np.round(random.normal(40, 12, ROWS), 1),
        "latency": random.lognormal(0, 1, ROWS),
    })  # fmt: skip

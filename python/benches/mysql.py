"""MySQL and MariaDB: rows against the client's LOAD DATA LOCAL from a ready file, key look-ups against sysbench.

The client is given the file in the format that LOAD DATA reads without options; ours makes the rows while it sends them.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from benches import ingest
from benches.floors import Parts
from inrush import _core
from inrush.engines import server
from inrush.engines.base import Instance

ENGINES = ("mysql", "mariadb")
ROWS = ingest.ROWS
DATABASE = "inrush_peers"
#: Rows of the table that keys are looked up in, and how long.
KEYS, LOOKUP_S = 100_000, 4
SESSIONS = (1, 2)


def comparisons() -> Iterator[Parts]:
    for engine in ENGINES:
        if ingest.url_of(engine) is None:
            continue
        if shutil.which(client_program(engine)):
            peer = "the client's LOAD DATA LOCAL"
            yield f"{engine} load", peer, "rows/s", 1.0, rate(engine, "load"), load_data(engine)
            if engine == "mariadb":
                yield f"{engine} bulk execute", peer, "rows/s", 1.3, rate(engine, "bulk"), load_data(engine)
        if shutil.which("sysbench"):
            for sessions in SESSIONS:
                ours, theirs = lookups(engine, sessions), point_selects(engine, sessions)
                name = f"{engine} look-ups, {sessions} session{'s' * (sessions > 1)}"
                yield name, "sysbench", "look-ups/s", 0.95, lambda f=ours: f()[0], lambda f=theirs: f()[0]  # type: ignore[misc]
                yield (
                    f"{name}, client",
                    "sysbench",
                    "look-ups/CPU-s",
                    1.0,
                    lambda f=ours: f()[1],
                    lambda f=theirs: f()[1],
                )  # type: ignore[misc]


def offer(instance: Instance) -> None:
    """What the comparisons need to know of a server that was started for them."""
    os.environ[f"INRUSH_{instance.engine.upper()}_URL"] = instance.url
    os.environ[variable(instance.engine)] = str(instance.release.path / "usr" / "bin" / instance.engine)


def rate(engine: str, method: str) -> Callable[[], float]:
    return lambda: ingest.ours(engine, method)


# --- the client


def load_data(engine: str) -> Callable[[], float]:
    def load() -> float:
        file = tab_file()
        table = server(engine).plan_table(ingest.TABLE, "none", DATABASE)
        call(
            engine,
            f"CREATE DATABASE IF NOT EXISTS {DATABASE}; DROP TABLE IF EXISTS {table.name}; {table.create[0]}",
        )
        statement = f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE {table.name}"
        speed = ingest.timed(lambda: call(engine, statement))
        if (stored := call(engine, f"SELECT COUNT(*) FROM {table.name}").strip()) != str(ROWS):
            raise RuntimeError(f"the client stored {stored} rows of {ROWS}, so it has no rate")
        call(engine, f"DROP TABLE {table.name}")
        return speed

    return load


def call(engine: str, statements: str) -> str:
    at = urlsplit(str(ingest.url_of(engine)))
    login = [f"--host={at.hostname}", f"--port={at.port or 3306}", f"--user={at.username or 'root'}"]
    command = [
        client_program(engine),
        "--no-defaults",
        "--local-infile=1",
        "--batch",
        "--skip-column-names",
        *login,
    ]
    done = subprocess.run(
        [*command, "--execute", f"SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES'); {statements}"],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def variable(engine: str) -> str:
    return f"INRUSH_{engine.upper()}_CLIENT"


def client_program(engine: str) -> str:
    return os.environ.get(variable(engine), engine)


@cache
def tab_file() -> Path:
    """The rows as LOAD DATA reads them: tabs between values, times with a blank."""
    path = Path(tempfile.mkdtemp(prefix="inrush-bench-tab-", dir="/var/tmp")) / "rows.txt"
    rows = ingest.arrow_rows()
    times = pc.strftime(rows["seen_at"].cast(pa.timestamp("ms")), "%Y-%m-%d %H:%M:%S")
    rows = rows.set_column(0, "seen_at", times)
    pacsv.write_csv(
        rows, path, pacsv.WriteOptions(include_header=False, quoting_style="none", delimiter="\t")
    )
    return path


# --- look-ups by key


def point_selects(engine: str, sessions: int) -> Callable[[], tuple[float, float]]:
    """sysbench: look-ups per second of wall time, and per second of its CPU."""

    def run() -> tuple[float, float]:
        keys(engine)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = sysbench(engine, "run", f"--threads={sessions}", f"--time={LOOKUP_S}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = re.search(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec", told)
        if found is None:
            raise RuntimeError(f"sysbench says no rate:\n{told}")
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return float(found[2]), int(found[1]) / cpu_s

    return run


def lookups(engine: str, sessions: int) -> Callable[[], tuple[float, float]]:
    """Ours, of the same keys in the same table."""

    def run() -> tuple[float, float]:
        keys(engine)
        param = {"name": "k", "type": "i32", "gen": {"kind": "uniform", "from": 1, "to": KEYS}}
        text = f"SELECT c FROM {DATABASE}.sbtest1 WHERE id = ?"
        plan: dict[str, Any] = {
            "version": 1, "run_id": "bench", "study": "bench", "seed": 1, "epoch_ns": 0,
            "target": {"engine": engine, "url": str(ingest.url_of(engine)), "options": {}},
            "tables": [],
            "operations": [{"name": "look_up", "kind": "query", "text": text, "params": [param]}],
            "segments": [{"kind": "drive", "label": "measure", "phase": "measure", "limit_ns": 60 * 10**9, "roles": [{
                "name": "readers", "operations": [{"operation": "look_up", "weight": 1}], "sessions": sessions, "depth": 1,
                "schedule": {"kind": "closed", "think_ns": 0}, "work": {"kind": "endless"},
                "until": {"kind": "time", "ns": LOOKUP_S * 10**9},
            }]}],
            "record": {"interval_ns": 10**9, "flush_ns": 10**9},
            "watch": {"every_ns": 0, "processes": {}, "data_dir": ""},
            "labels": {},
        }  # fmt: skip
        with ingest.folder() as path:
            handle = _core.start(json.dumps(plan), str(path))
            events: list[Any] = []
            while not events or events[-1]["event"] not in ("finished", "failed"):
                events += [json.loads(e) for e in handle.poll(60.0)]
            (shot,) = ingest.rows_of(path / "shots.arrows")
        if events[-1]["event"] == "failed" or shot["errors"]:
            raise RuntimeError(f"look-ups failed: {events[-1]}, {shot['errors']} errors")
        return shot["ops"] / ((shot["end_ns"] - shot["start_ns"]) / 1e9), shot["ops"] / (shot["cpu_ns"] / 1e9)

    return run


@cache
def keys(engine: str) -> None:
    """sysbench's own table, made once."""
    call(engine, f"DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE}")
    sysbench(engine, "prepare")


def sysbench(engine: str, *words: str) -> str:
    at = urlsplit(str(ingest.url_of(engine)))
    login = [
        f"--mysql-host={at.hostname}",
        f"--mysql-port={at.port or 3306}",
        f"--mysql-user={at.username or 'root'}",
    ]
    table = [f"--mysql-db={DATABASE}", "--tables=1", f"--table-size={KEYS}"]
    command = ["sysbench", "oltp_point_select", "--db-driver=mysql", *login, *table, *words[1:], words[0]]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout

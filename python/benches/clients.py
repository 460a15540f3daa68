"""`inrush load` against the client that a database comes with: one CSV file into an empty table, whole commands, from start to end.

The table is there before, with the types of the file and without keys, except where its name says *created*. Both sides
read the file from the page cache. `inrush load` does what its peer does not: it parses and refuses, keeps a ledger, and
holds the table against the file; *counted* is with `--proof count`.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benches.floors import Parts
from benches.ingest import folder
from benches.loading import at_once, children_cpu_s, inrush_load, place
from benches.places import ask, client_words, program, url_of
from inrush.plan.ledger import LEDGER

TABLE = "inrush_bench_load"
#: Columns by kind, of a file of ten and of one of forty, about 210 and 460 MB.
NARROW = ("time", *["i32"] * 2, *["i64"] * 4, *["f64"] * 3)
WIDE = ("time", *["i32"] * 10, *["i64"] * 14, *["f64"] * 15)
ROWS = {NARROW: 2_000_000, WIDE: 1_000_000}
TYPES = {
    "postgresql": {"time": "timestamp", "i32": "integer", "i64": "bigint", "f64": "double precision"},
    "mysql": {"time": "datetime", "i32": "int", "i64": "bigint", "f64": "double"},
    "mariadb": {"time": "datetime", "i32": "int", "i64": "bigint", "f64": "double"},
    "clickhouse": {"time": "DateTime", "i32": "Int32", "i64": "Int64", "f64": "Float64"},
    "duckdb": {"time": "TIMESTAMP", "i32": "INTEGER", "i64": "BIGINT", "f64": "DOUBLE"},
    "sqlite": {"time": "TEXT", "i32": "INTEGER", "i64": "INTEGER", "f64": "REAL"},
}  # fmt: skip
EMBEDDED = ("duckdb", "sqlite")
#: Engine -> the program that loads its files, and the rate of it that `inrush load` is to reach.
PEERS = {
    "postgresql": ("psql", 1.0), "mysql": ("mysql", 1.0), "mariadb": ("mariadb", 1.0),
    "clickhouse": ("clickhouse-client", 1.0), "duckdb": ("duckdb", 0.8), "sqlite": ("sqlite3", 3.0),
}  # fmt: skip
SERVERS = tuple(engine for engine in PEERS if engine not in EMBEDDED)
#: The rate with two connections.
TWO = 1.3
#: (name, side) -> CPU-seconds of the programs.
CPU_S: dict[tuple[str, str], list[float]] = {}


@dataclass(frozen=True)
class Case:
    name: str
    engine: str
    columns: tuple[str, ...] = NARROW
    options: tuple[str, ...] = ()
    created: bool = False
    kind: str = "csv"


def cases(engine: str) -> Iterator[tuple[Case, float]]:
    bar = PEERS[engine][1]
    yield Case(f"clients {engine}", engine), bar
    yield Case(f"clients {engine}, counted", engine, options=("--proof", "count")), bar
    yield Case(f"clients {engine}, 40 columns", engine, WIDE), bar
    if engine == "postgresql":
        yield Case(f"clients {engine}, created", engine, options=("--create",), created=True), bar
        yield Case(f"clients {engine}, two connections", engine, options=("--connections", "2")), TWO
    if engine in ("postgresql", "duckdb"):
        yield Case(f"clients {engine}, Parquet", engine, kind="parquet"), bar


def comparisons() -> Iterator[Parts]:
    for engine, (peer, _) in PEERS.items():
        if engine not in EMBEDDED and url_of(engine) is None:
            continue
        if engine != "duckdb" and program(engine, peer) is None:
            print(f"no {peer} here: loads of {engine} are left out", flush=True)
            continue
        for case, bar in cases(engine):
            said = "ADBC" if (engine, case.kind) == ("postgresql", "parquet") else peer
            yield case.name, said, "rows/s", bar, partial(ours, case), partial(theirs, case)


def note(name: str) -> str | None:
    """CPU-seconds of the programs of both sides, medians of the rounds; None where none were taken."""
    if (name, "theirs") not in CPU_S:
        return None
    return f"CPU-s of clients: {median(CPU_S[name, 'ours']):.2f}, peer's {median(CPU_S[name, 'theirs']):.2f}"


def ours(case: Case) -> float:
    into = f"{case.engine}://{embedded(case.engine)}" if case.engine in EMBEDDED else str(url_of(case.engine))
    words = inrush_load([file(case.columns, case.kind)], "--into", into, *case.options)
    return rate(case, "ours", words, case.created)


def theirs(case: Case) -> float:
    create = create_table(case) if case.created else None
    return rate(case, "theirs", peer_words(case, file(case.columns, case.kind), create), case.created)


def rate(case: Case, side: str, words: list[str], created: bool) -> float:
    """Rows per second of wall time. Raises RuntimeError where rows are missing."""
    gone(case.engine)
    if not created:
        statement(case.engine, create_table(case))
    environment = (
        {**os.environ, **client_words(case.engine)[1]} if case.engine not in EMBEDDED else dict(os.environ)
    )
    with folder() as results:
        environment["INRUSH_RESULTS"] = str(results)
        before, began = children_cpu_s(), time.perf_counter()
        at_once([words], environment)
        seconds = time.perf_counter() - began
        CPU_S.setdefault((case.name, side), []).append(children_cpu_s() - before)
    stored = statement(case.engine, f"SELECT count(*) FROM {TABLE}")
    gone(case.engine)
    if stored != ROWS[case.columns]:
        raise RuntimeError(
            f"{case.name}, {side}: {stored} rows are there of {ROWS[case.columns]}, so it has no rate"
        )
    return ROWS[case.columns] / seconds


def peer_words(case: Case, path: Path, create: str | None) -> list[str]:
    """The peer's command line."""
    engine, read = case.engine, f"{TABLE} from '{path}'"
    if engine == "duckdb":
        text = f'import duckdb; duckdb.connect({str(embedded(engine))!r}).execute("COPY {read} (FORMAT {case.kind})")'
        return [sys.executable, "-c", text]
    if engine == "sqlite":
        return ["sqlite3", str(embedded(engine)), ".mode csv", f".import {path} {TABLE}"]
    if case.kind == "parquet":
        return [sys.executable, "-c", ADBC, str(url_of(engine)), str(path), TABLE]
    client, words = str(program(engine, PEERS[engine][0])), client_words(engine)[0]
    if engine == "postgresql":
        made = ["-c", create] if create else []
        return [client, "-X", "-q", "-v", "ON_ERROR_STOP=1", *words, *made, "-c", f"\\copy {read} csv"]
    if engine == "clickhouse":
        insert = f"{client} {' '.join(words)} --query 'INSERT INTO {TABLE} FORMAT CSV' < {path}"
        return ["bash", "-c", insert]
    load = f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE {TABLE} FIELDS TERMINATED BY ','"
    return [client, "--no-defaults", "--local-infile=1", *words, f"--execute={load}"]


#: Record batches of a Parquet file, by COPY in binary.
ADBC = """
import sys, adbc_driver_postgresql.dbapi as pg, pyarrow.parquet as pq
url, path, table = sys.argv[1:]
with pg.connect(url) as there, there.cursor() as cursor:
    file = pq.ParquetFile(path)
    import pyarrow as pa
    cursor.adbc_ingest(table, pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches()), mode="append")
    there.commit()
"""


# --- tables


def create_table(case: Case) -> str:
    types = TYPES[case.engine]
    columns = ", ".join(f"c{k} {types[kind]}" for k, kind in enumerate(case.columns))
    behind = " ENGINE = MergeTree ORDER BY tuple()" if case.engine == "clickhouse" else ""
    return f"CREATE TABLE {TABLE} ({columns}){behind}"


def gone(engine: str) -> None:
    if engine in EMBEDDED:
        for left in place().glob(f"{embedded(engine).name}*"):
            left.unlink()
        return
    for table in (TABLE, LEDGER):
        ask(engine, f"DROP TABLE IF EXISTS {table}")
    if engine == "postgresql":
        ask(engine, "CHECKPOINT")


def embedded(engine: str) -> Path:
    return place() / f"bench.{engine}"


def statement(engine: str, text: str) -> int | None:
    """The first figure of its answer."""
    if engine not in EMBEDDED:
        rows = ask(engine, text)
        return int(str(rows[0][0])) if rows else None
    there: Any = (duckdb if engine == "duckdb" else sqlite3).connect(str(embedded(engine)))
    with closing(there):
        found = there.execute(text).fetchone()
        there.commit()
        return int(found[0]) if found and isinstance(found[0], int) else None


# --- rows


@cache
def file(columns: tuple[str, ...], kind: str) -> Path:
    """In the page cache; CSV without a header, for `.import` and LOAD DATA take it as a row."""
    random, rows = np.random.default_rng(1), ROWS[columns]
    made = {
        "time": lambda: pa.array(1_767_225_600 + np.arange(rows) // 100, pa.timestamp("s")),
        "i32": lambda: pa.array(random.integers(0, 5_000, rows), pa.int32()),
        "i64": lambda: pa.array(random.integers(0, 10**12, rows)),
        "f64": lambda: pa.array(np.round(random.normal(40, 12, rows), 4)),
    }
    table = pa.table({f"c{k}": made[of]() for k, of in enumerate(columns)})
    path = place() / f"{len(columns)}.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    else:
        pacsv.write_csv(table, path, pacsv.WriteOptions(include_header=False, quoting_style="none"))
    os.sync()
    return path

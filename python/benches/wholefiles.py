"""Files into tables as they are: `client_file` of inrush against each server's own client on the same files, one after the other.

Same server, empty table, files and warm page cache, twice: one connection, or process, for each file; one for all of them. All
sides of a round follow each other, in an order that turns. A client is timed from its start to its end, and so is its CPU.
inrush is timed from when its load was due to its last commit; its CPU is that of the session's thread. The rows of each side
are counted afterwards.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from statistics import median

from benches import ingest
from benches.floors import Parts
from benches.loading import children_cpu_s
from benches.places import INSTANCES, ask, client_words, program, url_of
from benches.rounds import Rounds
from inrush.engines import server
from inrush.engines.base.plans import TablePlan, Unsupported
from inrush.workload import Column, Operation, Table

ENGINES = ("postgresql", "mysql", "mariadb", "clickhouse")
ROWS, FILES = 500_000, 50
NAMESPACE = "inrush_bench_files"
#: A key and two numbers, as a key index has them.
TABLE = Table(
    "files",
    (
        Column(
            "source_id",
            "text",
            {
                "kind": "format",
                "pattern": "%05dx%03d-%06d",
                "fields": [
                    {"kind": "uniform", "from": 8745, "to": 12514},
                    {"kind": "uniform", "from": 1, "to": 300},
                    {"kind": "sequence", "start": 1, "step": 1},
                ],
            },
            chars=28,
            charset="latin1",
        ),
        Column("chunk_id", "i32", {"kind": "uniform", "from": 0, "to": 146_331}),
        Column("sub_chunk_id", "i32", {"kind": "uniform", "from": 0, "to": 155}),
    ),
    identity=("source_id",),
    layouts={"pk": (("source_id",),)},
)
SIDES = ("inrush, a connection for each file", "inrush, one connection", "client for each file", "one client")


@dataclass(frozen=True)
class Loaded:
    seconds: float
    client_cpu_s: float


#: By (engine, side).
LOADS: dict[tuple[str, str], list[Loaded]] = {}


def comparisons() -> Iterator[Parts]:
    for engine in ENGINES:
        if url_of(engine) is None or (engine == "clickhouse" and engine not in INSTANCES):
            continue
        if client_of(engine) is None:
            print(f"no client of {engine} here: its files are left out", flush=True)
            continue
        rounds = Rounds(Round(engine))
        for ours, theirs in ((0, 2), (1, 3)):
            name, peer = (
                f"{engine} files, {SIDES[ours].removeprefix('inrush, ')}",
                f"its own, {SIDES[theirs]}",
            )
            yield name, peer, "rows/s", 1.0, rounds.figure(2 * ours), rounds.figure(2 * theirs)
            yield (
                f"{name}, client",
                peer,
                "rows/CPU-s",
                1.0,
                rounds.figure(2 * ours + 1),
                rounds.figure(2 * theirs + 1),
            )


def note(name: str) -> str | None:
    """Medians of seconds and of the client's CPU, of all four sides."""
    engine = name.partition(" files")[0]
    of = [LOADS.get((engine, side)) for side in SIDES]
    if not name.startswith(f"{engine} files") or not all(of):
        return None
    said = [
        f"{side} {median(x.seconds for x in loads or ()):.2f} s, {median(x.client_cpu_s for x in loads or ()):.2f} CPU-s"
        for side, loads in zip(SIDES, of, strict=True)
    ]
    return "; ".join(said)


class Round:
    """Each side once; the first of a round is the last of the next."""

    def __init__(self, engine: str) -> None:
        self.engine, self.turn = engine, count()

    def __call__(self) -> tuple[float, ...]:
        order = SIDES if next(self.turn) % 2 == 0 else SIDES[::-1]
        loads = {side: self.load(side) for side in order}
        for side, loaded in loads.items():
            LOADS.setdefault((self.engine, side), []).append(loaded)
        return tuple(
            x for side in SIDES for x in (ROWS / loads[side].seconds, ROWS / loads[side].client_cpu_s)
        )

    def load(self, side: str) -> Loaded:
        anew(self.engine)
        found = (
            inrush(self.engine, side == SIDES[0]) if side.startswith("inrush") else theirs(self.engine, side)
        )
        ((rows,),) = ask(self.engine, f"SELECT count(*) FROM {planned(self.engine).name}")
        if int(str(rows)) != ROWS:
            raise RuntimeError(f"{self.engine}, {side}: {rows} rows are there of {ROWS}, so it has no rate")
        return found


@cache
def planned(engine: str) -> TablePlan:
    return server(engine).plan_table(TABLE, "pk", NAMESPACE)


def anew(engine: str) -> None:
    """An empty table."""
    twin = server(engine)
    segments = [
        ingest.control(
            "create",
            [*twin.drop_namespace(NAMESPACE), *twin.open_namespace(NAMESPACE), *planned(engine).create],
        )
    ]
    with ingest.executed(engine, ingest.document_of_run(engine, segments, [], [])):
        pass


@cache
def folder() -> Path:
    """Kept until the bench ends."""
    made = Path(tempfile.mkdtemp(prefix="inrush-bench-files-", dir="/var/tmp"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def inrush(engine: str, each: bool) -> Loaded:
    twin = server(engine)
    insert = twin.plan_operation(
        Operation("insert", "insert", table=TABLE.name), "client_file", {TABLE.name: planned(engine)}
    )
    if isinstance(insert, Unsupported):
        raise RuntimeError(f"{engine}: {insert.reason}")
    files = {
        "table": 0,
        "rows": ROWS,
        "files": FILES,
        "folder": str(folder()),
        "name": "rows",
        "way": "client",
    }
    work = {
        "kind": "rows", "table": 0, "first_row": 0, "rows": ROWS, "batch_rows": ROWS // FILES, "input": files,
    }  # fmt: skip
    role = {**ingest.role("loader", "insert", work), "connects": each}
    segments = [{"kind": "inputs", "label": "inputs", "inputs": [files]}, ingest.drive([role], limit_s=600)]
    operation = {"name": "insert", "kind": "insert", "table": 0, "text": insert.text, "method": "client_file"}
    plan = ingest.document_of_run(engine, segments, [operation], [ingest.document(TABLE, planned(engine))])
    with ingest.executed(engine, plan) as tables:
        (totals,) = tables["repetitions"]
    if (totals["ok"], totals["rows"]) != (FILES, ROWS):
        raise RuntimeError(f"{engine} by files has no rate: {tables['failures'] or totals}")
    return Loaded((totals["end_ns"] - totals["start_ns"]) / 1e9, totals["cpu_ns"] / 1e9)


def paths() -> list[Path]:
    return [folder() / f"rows-{n:06}.tsv" for n in range(FILES)]


def theirs(engine: str, side: str) -> Loaded:
    """A process for each file, or one that is given all of them."""
    if not paths()[-1].is_file():  # made by the first load of ours, whose turn may be later
        inrush(engine, False)
        anew(engine)
    calls = [[path] for path in paths()] if side == "client for each file" else [paths()]
    before, began = children_cpu_s(), time.perf_counter()
    for files in calls:
        call(engine, files)
    return Loaded(time.perf_counter() - began, children_cpu_s() - before)


def client_of(engine: str) -> str | None:
    names = {"postgresql": "psql", "clickhouse": "clickhouse-client"}
    return program(engine, names.get(engine, engine))


def call(engine: str, files: list[Path]) -> None:
    client, table = client_of(engine), planned(engine).name
    assert client is not None, "it was looked for"
    columns = ", ".join(c.name for c in TABLE.columns)
    words, variables = client_words(engine)
    if engine == "postgresql":
        copies = "\n".join(f"\\copy {table} ({columns}) FROM '{file}'" for file in files)
        done = run([client, "-X", "-q", "-v", "ON_ERROR_STOP=1", str(url_of(engine))], copies)
    elif engine == "clickhouse":
        query = f"INSERT INTO {table.replace(chr(34), '`')} ({columns}) FORMAT TabSeparated"
        command = [
            client,
            *words,
            "--query",
            query,
        ]
        text = b"".join(file.read_bytes() for file in files)
        done = subprocess.run(command, input=text, capture_output=True, check=False)
    else:
        loads = "\n".join(
            f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE {table.replace(chr(34), '`')} CHARACTER SET utf8mb4 ({columns});"
            for file in files
        )
        done = run([client, "--no-defaults", "--local-infile=1", *words], loads, variables)
    if done.returncode != 0:
        raise RuntimeError(f"{Path(client).name} failed: {done.stderr.decode()[-400:]}")


def run(
    command: list[str], text: str, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, **(variables or {})}
    return subprocess.run(command, input=text.encode(), capture_output=True, check=False, env=environment)

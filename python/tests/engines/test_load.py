"""`inrush load` on a real PostgreSQL: every row once or rejected, whatever is killed, and where it belongs."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.engines.base.instance import Target
from inrush.errors import InrushError, UsageError
from inrush.load.call import Call
from inrush.load.check import Loaded
from inrush.load.expand import expand
from inrush.load.input import open_inputs
from inrush.load.process import End
from inrush.load.run import load, prepare
from inrush.load.shards import shards_of
from inrush.plan import ends
from tests.engines.servers import control, databases, with_database

SHARDS = 3
COLUMNS = "id bigint, at timestamptz, dev int, v float8, name text"


def silent(*_: Any) -> None: ...


def rows_file(path: Path, first: int, rows: int, bad: int = 0) -> Path:
    lines = ["id,at,dev,v,name"]
    for i in range(first, first + rows):
        lines.append(f"{i},2026-01-01 00:00:{i % 60:02}.{i % 1000:03}+00,{i % 977},{i * 0.25},n{i % 31}")
    lines += [f"{first + k},2026-13-01,1,2,x" for k in range(bad)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def table(postgresql: Target) -> Iterator[str]:
    """A name of one test, dropped in all databases that it may be in."""
    name = f"load_{random.randrange(1 << 40):x}"
    yield name
    control(postgresql, f"DROP TABLE IF EXISTS {name}")


@pytest.fixture(scope="module")
def workers(postgresql: Target) -> Iterator[list[str]]:
    """Databases of one server that stand for shards; it forgets them when they go."""
    with databases(postgresql, SHARDS) as urls:
        yield urls
        for k in range(SHARDS):
            control(postgresql, f"DROP SERVER IF EXISTS inrush_shard_{k} CASCADE")


def call(table: str, files: list[Path], **words: Any) -> Call:
    return Call(tuple(map(str, files)), table, create=True, chunk_rows=500, flush_rows=1_500, **words)


def run(wanted: Call, folder: Path) -> Loaded:
    return load(wanted, folder, silent, silent)


def count(target: Target | str, table: str) -> tuple[int, int, int]:
    """(rows, distinct ids, sum of ids)"""
    where = target if isinstance(target, Target) else Target("postgresql", target)
    [[rows, distinct, total]] = control(
        where, f"SELECT COUNT(*), COUNT(DISTINCT id), COALESCE(SUM(id), 0)::bigint FROM {table}"
    )
    return int(rows), int(distinct), int(total)


def test_rows_in_are_rows_stored_and_rejected_and_a_second_call_stores_nothing(
    postgresql: Target, table: str, tmp_path: Path
) -> None:
    files = [
        rows_file(tmp_path / "a.csv", 0, 3_000, bad=2),
        rows_file(tmp_path / "b.csv", 3_000, 2_000, bad=1),
    ]
    control(
        postgresql, f"CREATE TABLE {table} (id bigint, at timestamptz, dev int, v float8, name varchar(20))"
    )
    wanted = call(table, files, into=postgresql.url, parallel=2, connections=2)
    first = run(wanted, tmp_path / "loads")
    assert (first.rows_stored, first.rejected, first.proven) == (5_000, 3, True)
    assert count(postgresql, table) == (5_000, 5_000, 5_000 * 4_999 // 2)
    assert first.rejects is not None
    rejected = first.rejects.read_text().splitlines()
    assert len(rejected) == 4 and all("2026-13-01" in line for line in rejected[1:])
    again = run(wanted, tmp_path / "loads")
    assert (again.rows_stored, again.rows_before, again.rejected) == (0, 5_000, 3)
    assert count(postgresql, table)[0] == 5_000


def test_a_text_file_is_loaded_without_libraries_that_take_long_to_start(
    postgresql: Target, table: str, tmp_path: Path
) -> None:
    control(postgresql, f"CREATE TABLE {table} ({COLUMNS})")
    file = rows_file(tmp_path / "a.csv", 0, 3_000)
    words = ["load", str(file), "--into", postgresql.url, "--table", table]
    slow = ("duckdb", "pyarrow", "numpy", "scipy")
    code = (
        "import atexit, sys\nfrom inrush.cli import main\n"
        f"atexit.register(lambda: print([name for name in {slow} if name in sys.modules]))\n"
        f"sys.argv = ['inrush', *{words!r}]\nmain()\n"
    )
    environment = {**os.environ, "INRUSH_RESULTS": str(tmp_path / "results")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    assert count(postgresql, table)[0] == 3_000


def test_compressed_files_and_a_process_per_file_store_the_same(
    postgresql: Target, table: str, tmp_path: Path
) -> None:
    plain = [rows_file(tmp_path / f"{n}.csv", n * 700, 700) for n in range(3)]
    packed = []
    for path in plain:
        packed.append(path.with_suffix(".csv.gz"))
        packed[-1].write_bytes(gzip.compress(path.read_bytes()))
    done = run(call(table, packed, into=postgresql.url, process_per_file=True), tmp_path / "loads")
    assert (done.rows_stored, done.files, done.proven) == (2_100, 3, True)
    assert count(postgresql, table) == (2_100, 2_100, 2_100 * 2_099 // 2)


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        (COLUMNS, ["id"]),
        (COLUMNS, ["dev"]),
        (COLUMNS, ["name"]),
        (COLUMNS, ["at"]),
        ("id bigint, at timestamptz, dev smallint, v float8, name varchar(9)", ["dev", "name", "id"]),
        ("id bigint, at timestamp, dev int, v float8, name char(7)", ["name", "at"]),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, list) else "",
)
def test_rows_lie_where_the_coordinators_own_rule_looks_for_them(
    postgresql: Target, workers: list[str], table: str, tmp_path: Path, columns: str, key: list[str]
) -> None:
    file = rows_file(tmp_path / "a.csv", 0, 2_000)
    for url in workers:
        control(Target("postgresql", url), f"CREATE TABLE {table} ({columns})")
    done = run(
        call(table, [file], into=postgresql.url, shards=tuple(workers), key=tuple(key)), tmp_path / "loads"
    )
    assert (done.rows_stored, done.proven) == (2_000, True)
    names = ", ".join(key)
    for k, url in enumerate(workers):
        stored = count(url, table)[0]
        assert stored > 0
        # PostgreSQL's own function says of every row on the worker that it belongs to this remainder.
        rule = f"satisfies_hash_partition('{table}'::regclass, {SHARDS}, {k}, {names})"
        [[right]] = control(
            postgresql, f"SELECT COUNT(*) FROM (SELECT * FROM {table}_{k} OFFSET 0) here WHERE {rule}"
        )
        assert int(right) == stored
    assert count(postgresql, table) == (2_000, 2_000, 2_000 * 1_999 // 2)
    control(postgresql, f"DROP TABLE {table} CASCADE")


def test_a_look_up_on_the_coordinator_asks_one_worker(
    postgresql: Target, workers: list[str], table: str, tmp_path: Path
) -> None:
    file = rows_file(tmp_path / "a.csv", 0, 1_000)
    run(call(table, [file], into=postgresql.url, shards=tuple(workers), key=("id",)), tmp_path / "loads")
    for wanted in (0, 17, 999):
        explained = control(postgresql, f"EXPLAIN SELECT * FROM {table} WHERE id = {wanted}")
        assert sum("Foreign Scan" in line for [line] in explained) == 1
        assert control(postgresql, f"SELECT COUNT(*) FROM {table} WHERE id = {wanted}") == [["1"]]
    control(postgresql, f"DROP TABLE {table} CASCADE")


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_embedded_databases_are_loaded_once_too(engine: str, tmp_path: Path) -> None:
    file = rows_file(tmp_path / "a.csv", 0, 2_000)
    wanted = call("t", [file], into=f"{engine}:///{tmp_path}/db")
    assert run(wanted, tmp_path / "loads").rows_stored == 2_000
    again = run(wanted, tmp_path / "loads")
    assert (again.rows_stored, again.rows_before, again.proven) == (0, 2_000, True)


@pytest.mark.parametrize("engine", ["mysql", "mariadb", "clickhouse"])
def test_other_servers_are_loaded_once_too(
    engine: str, request: pytest.FixtureRequest, table: str, tmp_path: Path
) -> None:
    target: Target = request.getfixturevalue(engine)
    database = "default" if engine == "clickhouse" else "inrush_load_test"
    if engine != "clickhouse":
        control(target, f"CREATE DATABASE IF NOT EXISTS {database}")
    wanted = call(table, [rows_file(tmp_path / "a.csv", 0, 2_000)], into=with_database(target.url, database))
    try:
        assert run(wanted, tmp_path / "loads").rows_stored == 2_000
        again = run(wanted, tmp_path / "loads")
        assert (again.rows_stored, again.rows_before, again.proven) == (0, 2_000, True)
        here = Target(engine, with_database(target.url, database))
        assert [str(v) for v in control(here, f"SELECT COUNT(*), SUM(id) FROM {table}")[0]] == [
            "2000",
            "1999000",
        ]
    finally:
        control(target, f"DROP TABLE IF EXISTS {database}.{table}")


def test_columns_that_take_no_null_are_filled_on_clickhouse_too(clickhouse: Target, tmp_path: Path) -> None:
    name = f"load_{random.randrange(1 << 40):x}"
    control(clickhouse, f"CREATE TABLE {name} (id Int64, dev Int16, name Nullable(String)) ENGINE = Log")
    try:
        file = tmp_path / "a.csv"
        file.write_text("id,dev,name\n1,-7,x\n2,,x\n3,9,\n")
        done = run(Call((str(file),), name, into=clickhouse.url), tmp_path / "loads")
        assert (done.rows_stored, done.rejected, done.proven) == (2, 1, True)
        stored = control(clickhouse, f"SELECT id, dev, isNull(name) FROM {name} ORDER BY id")
        assert [[int(v) for v in row] for row in stored] == [[1, -7, 0], [3, 9, 1]]
    finally:
        control(clickhouse, f"DROP TABLE {name}")


def documents(wanted: Call, folder: Path) -> tuple[ends.Wanted, Any, list[tuple[str, Any]]]:
    shards = shards_of(wanted, silent)
    targets = shards.documents()
    inputs = open_inputs(expand(wanted.files), folder / "spool")
    return prepare(wanted, inputs, shards, targets, folder, silent), shards, targets


@pytest.mark.ci
@pytest.mark.parametrize("victim", ["client", "server"])
def test_kill_9_at_random_points_of_either_end_stores_every_row_once(
    postgresql: Target, workers: list[str], table: str, tmp_path: Path, victim: str, whole: bool
) -> None:
    rows, folder = 30_000, tmp_path / "loads"
    files = [rows_file(tmp_path / f"{n}.csv", n * rows, rows, bad=n) for n in range(2)]
    held = sum(f.stat().st_size for f in files) / 10.0
    for url in workers:
        control(Target("postgresql", url), f"CREATE TABLE {table} ({COLUMNS})")
    # Held to a rate, so that kills fall inside of it.
    wanted, shards, targets = documents(
        call(table, files, shards=tuple(workers), key=("id",), parallel=2, bytes_per_s=held), folder
    )
    (folder / "rejects").mkdir(parents=True)
    random.seed(victim)
    wanted_kills = 20 if whole else 6
    kills, finished = 0, None
    while finished is None:
        with End(
            ends.server_plan(wanted, shards.twin, targets, "127.0.0.1:0", "t"), tmp_path / "s.log", {}
        ) as server:
            address = server.wait_for("listening", silent)["address"]
            while finished is None:
                document = ends.client_plan(
                    wanted, shards.twin, ends.link_plan(address, "t"), str(folder / "rejects")
                )
                with End(document, tmp_path / "c.log", {}) as client:
                    finished = killed_or_finished(client, server, victim, kills < wanted_kills)
                kills += finished is None
                if victim == "server":
                    break
    assert kills == wanted_kills
    counts = [count(url, table) for url in workers]
    assert [sum(c[0] for c in counts), sum(c[1] for c in counts), sum(c[2] for c in counts)] == [
        2 * rows, 2 * rows, 2 * rows * (2 * rows - 1) // 2,
    ]  # fmt: skip
    assert finished["rejected"] == 1
    # Where a kill fell between two shards, one of them had its part of a chunk.
    stored = finished["rows_stored"] + finished["rows_before"] + finished["rows_of_others"]
    assert stored == 2 * rows


def killed_or_finished(client: End, server: End, victim: str, may_kill: bool) -> Any:
    """The client's last word; None when the victim was killed before it."""
    wait = random.randrange(1, 3)
    while True:
        event = client.next(0.05)
        if event is None or event["event"] == "note":
            continue
        if event["event"] == "finished":
            return event
        assert event["event"] == "progress", event
        wait -= 1
        if may_kill and wait == 0:
            (client if victim == "client" else server).kill()
            return None


def test_what_cannot_be_loaded_is_one_clear_line(postgresql: Target, table: str, tmp_path: Path) -> None:
    file = rows_file(tmp_path / "a.csv", 0, 10)
    cases: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: run(Call((str(tmp_path / "no.csv"),), table, into=postgresql.url), tmp_path),
            "no such file",
        ),
        (lambda: run(Call((str(file),), table, into=postgresql.url), tmp_path), "--create"),
        (lambda: run(Call((str(file),), table), tmp_path), "--into"),
        (lambda: run(call(table, [file], into=postgresql.url, method="telepathy"), tmp_path), "telepathy"),
        (lambda: run(call(table, [file], into=postgresql.url, key=("colour",)), tmp_path), "colour"),
    ]
    for attempt, said in cases:
        with pytest.raises(UsageError, match=said):
            attempt()


def test_a_client_without_the_token_is_refused(postgresql: Target, table: str, tmp_path: Path) -> None:
    file = rows_file(tmp_path / "a.csv", 0, 10)
    wanted, shards, targets = documents(call(table, [file], into=postgresql.url), tmp_path)
    with End(
        ends.server_plan(wanted, shards.twin, targets, "127.0.0.1:0", "right"), tmp_path / "s.log", {}
    ) as server:
        address = server.wait_for("listening", silent)["address"]
        document = ends.client_plan(wanted, shards.twin, ends.link_plan(address, "wrong"), str(tmp_path))
        with End(document, tmp_path / "c.log", {}) as client, pytest.raises(InrushError, match="token"):
            client.wait_for("finished", silent)
    assert count(postgresql, table)[0] == 0


def test_more_rejects_than_allowed_end_the_load(postgresql: Target, table: str, tmp_path: Path) -> None:
    file = rows_file(tmp_path / "a.csv", 0, 100, bad=20)
    control(postgresql, f"CREATE TABLE {table} ({COLUMNS})")
    with pytest.raises(InrushError, match="rejected"):
        run(call(table, [file], into=postgresql.url, reject_limit=5), tmp_path)

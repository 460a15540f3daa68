"""`--upsert` and `--on-conflict skip` on servers: the ledger adds up to the table, whatever was replaced, killed or refused."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.engines.base.instance import Target
from inrush.errors import InrushError, UsageError
from tests.engines.test_load_proof import Place, database
from tests.test_load_merge import ROWS, two_files
from tests.test_load_refused_rows import written

from .servers import control, each_kind
from .test_load import call, run, table, workers
from .test_load_refused_rows import here, rejects_of

__all__ = ["here", "table", "workers"]

CREATE = "CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v >= 0), name varchar(40))"
WORDS: dict[str, Any] = {"key": ("id",), "chunk_rows": 500, "flush_rows": 1_100}


@pytest.fixture(params=each_kind(["postgresql", "timescaledb", "mysql", "mariadb"], {"timescaledb"}))
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from database(request.getfixturevalue(request.param))


def content(place: Place, table: str = "t") -> dict[int, tuple[int, str]]:
    return {int(n): (int(v), str(name)) for n, v, name in place.ask(f"SELECT id, v, name FROM {table}")}


@pytest.mark.parametrize("merging", ["update", "skip"])
def test_all_imports_together_are_the_table(place: Place, merging: str, tmp_path: Path) -> None:
    first, second, updated, skipped = two_files(tmp_path)
    place.ask(CREATE)
    assert place.load([first], tmp_path / "loads").verdict == "proven"
    done = place.load([second], tmp_path / "loads", merging=merging, **WORDS)
    expected = updated if merging == "update" else skipped
    assert content(place) == expected
    gone = 2 * ROWS - len(expected)
    assert (done.rows_stored, done.rows_in_ledger, done.merged) == (ROWS, ROWS, gone)
    assert done.verdict == "proven", done.why
    assert f"of all 2 imports that filled the table, without {gone:,} rows" in done.why, done.why
    assert place.load([second], tmp_path / "loads", merging=merging, **WORDS).verdict == "proven"
    # The file that came first is proven over the rows of both.
    assert place.load([first], tmp_path / "loads").verdict == "proven"
    place.ask("UPDATE t SET name = 'b' WHERE id = 1")
    done = place.load([second], tmp_path / "loads", merging=merging, **WORDS)
    assert done.verdict == "different" and "`name`" in done.why, done.why


def test_rows_that_were_there_before_every_import_are_replaced_and_counted(
    place: Place, tmp_path: Path
) -> None:
    place.ask(CREATE)
    place.ask("INSERT INTO t VALUES (1, 0, 'old'), (2, 0, 'old')")
    file = written(tmp_path, ["2,5,new", "3,5,new"])
    done = place.load([file], tmp_path / "loads", merging="update", **WORDS)
    assert (done.verdict, done.rows_stored, done.merged) == (
        "counted",
        2,
        1,
    ) and "held 2 rows before" in done.why
    assert content(place) == {1: (0, "old"), 2: (5, "new"), 3: (5, "new")}


def test_a_refused_row_among_rows_that_merge_is_one_rejected_row(place: Place, tmp_path: Path) -> None:
    first, second, updated, _ = two_files(tmp_path)
    place.ask(CREATE)
    place.load([first], tmp_path / "loads")
    lines = second.read_text().splitlines()
    lines[700:700] = ["1,-1,below", f"5,1,{'x' * 41}"]
    second.write_text("\n".join(lines) + "\n")
    done = place.load([second], tmp_path / "loads", merging="update", **WORDS)
    assert (done.rows_stored, done.rejected, done.verdict) == (ROWS, 2, "proven"), done.why
    assert set(rejects_of(done)) == {"701", "702"}
    assert content(place) == updated


def test_a_key_that_is_equal_and_spelled_otherwise_is_as_the_last_one_spells_it(
    mysql: Target, tmp_path: Path
) -> None:
    for place in database(mysql):
        place.ask("CREATE TABLE t (id varchar(9) PRIMARY KEY, v int, name varchar(40))")
        words = {**WORDS, "merging": "update"}
        assert (
            place.load([written(tmp_path, ["a1,1,a", "A1,2,b"])], tmp_path / "loads", **words).verdict
            == "proven"
        )
        done = place.load([written(tmp_path, ["a1,3,c", "b1,1,d"])], tmp_path / "loads", **words)
        assert done.verdict == "proven", done.why
        assert [list(map(str, row)) for row in place.ask("SELECT id, v, name FROM t ORDER BY id")] == [
            ["a1", "3", "c"], ["b1", "1", "d"]
        ]  # fmt: skip


def test_two_loads_at_once_add_up_under_read_committed_too(mysql: Target, tmp_path: Path) -> None:
    for place in database(mysql):
        place.ask(CREATE)
        place.ask("SET GLOBAL transaction_isolation = 'READ-COMMITTED'")
        try:
            two_at_once(place, "t", tmp_path)
        finally:
            place.ask("SET GLOBAL transaction_isolation = 'REPEATABLE-READ'")


def test_a_table_that_was_changed_after_a_load_was_stopped_takes_its_rows(
    here: Place, tmp_path: Path
) -> None:
    """Where rows come first is made anew."""
    here.ask("CREATE TABLE t (id int PRIMARY KEY, v int, name varchar(3))")
    file = written(tmp_path, ["1,1,longer", "2,1,also longer"])
    with pytest.raises(InrushError):
        here.load([file], tmp_path / "loads", merging="update", reject_limit=0, **WORDS)
    here.ask("ALTER TABLE t ALTER COLUMN name TYPE varchar(40)")
    assert here.load([file], tmp_path / "loads", merging="update", **WORDS).rows_stored == 2
    assert (
        here.ask("SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'inrush_merge%'")
        == []
    )


def test_mysql_is_not_asked_to_replace_by_another_key(mysql: Target, tmp_path: Path) -> None:
    for place in database(mysql):
        place.ask("CREATE TABLE t (id int PRIMARY KEY, v int, name varchar(40) UNIQUE)")
        with pytest.raises(UsageError, match="also unique by name"):
            place.load([written(tmp_path, ["1,1,a"])], tmp_path / "loads", merging="update", **WORDS)
        assert place.rows() == 0


def test_an_engine_without_transactions_refuses_it(clickhouse: Target, tmp_path: Path) -> None:
    for place in database(clickhouse):
        place.ask("CREATE TABLE t (id Int32, v Int32, name String) ENGINE = MergeTree ORDER BY id")
        with pytest.raises(UsageError, match="--upsert: clickhouse has no transactions"):
            place.load([written(tmp_path, ["1,1,a"])], tmp_path / "loads", merging="update", **WORDS)


def test_each_shard_merges_its_own_rows(
    postgresql: Target, workers: list[str], table: str, tmp_path: Path
) -> None:
    first, second, updated, _ = two_files(tmp_path)
    for url in workers:
        control(Target("postgresql", url), CREATE.replace(" t ", f" {table} "))
    words: dict[str, Any] = {"into": postgresql.url, "shards": tuple(workers), "key": ("id",)}
    run(call(table, [first], **words), tmp_path / "loads")
    done = run(replace(call(table, [second], merging="update", **words), create=False), tmp_path / "loads")
    assert (done.verdict, done.merged) == ("proven", 2 * ROWS - len(updated)), done.why
    found = [
        row
        for url in workers
        for row in control(Target("postgresql", url), f"SELECT id, v, name FROM {table}")
    ]
    assert {int(n): (int(v), name) for n, v, name in found} == updated and len(found) == len(updated)


def command(file: Path, here: Place, table: str = "t") -> list[str]:
    return [
        sys.executable, "-m", "inrush", "load", str(file), "--into", here.url, "--table", table, "--chunk-rows", "300",
        "--flush-rows", "700", "--upsert", "--key", "id",
    ]  # fmt: skip


def test_two_loads_at_once_into_one_table_add_up(here: Place, tmp_path: Path) -> None:
    """Each holds the lock while it looks at what it replaces, however the table is spelled: else rows of the other would be in no
    line."""
    here.ask(CREATE)
    two_at_once(here, "public.t", tmp_path)


def two_at_once(place: Place, spelled: str, folder: Path) -> None:
    draw = random.Random(9)
    files = [
        written(folder, [f"{draw.randrange(4_000)},{k % 9},{name}{k}" for k in range(20_000)], f"{name}.csv")
        for name in "ab"
    ]
    environment = {**os.environ, "INRUSH_RESULTS": str(folder / "results")}
    both = [
        subprocess.Popen(command(file, place, name), env=environment, stdout=subprocess.DEVNULL)
        for file, name in zip(files, ("t", spelled), strict=True)
    ]
    assert [one.wait(timeout=120) for one in both] == [0, 0]
    done = place.load([files[0]], folder / "loads", merging="update", **WORDS)
    assert done.verdict == "proven" and len(content(place)) == place.rows() <= 4_000, done.why


@pytest.mark.slow
def test_killed_twenty_times_every_row_is_there_once(here: Place, tmp_path: Path) -> None:
    killed_twenty_times(here, tmp_path)


def killed_twenty_times(place: Place, folder: Path) -> None:
    """The command with all that it started, at moments all over it, in as many loads as that takes."""
    draw, kills, loads = random.Random(11), 0, 0
    while kills < 20:
        table, loads = f"t{loads}", loads + 1
        place.ask(CREATE.replace("TABLE t ", f"TABLE {table} "))
        kills += killed_load(place, folder / table, table, draw, 20 - kills)
    assert kills >= 3 * loads, "each kill left something to do"


def killed_load(place: Place, folder: Path, table: str, draw: random.Random, most: int) -> int:
    """How often it was killed before it ended with every row there once."""
    folder.mkdir()
    rows = [(draw.randrange(30_000), f"n{k}") for k in range(100_000)]
    bad = {k for k in range(len(rows)) if k % 9_973 == 7}
    file = written(folder, [f"{n},{-1 if k in bad else 1},{name}" for k, (n, name) in enumerate(rows)])
    environment = {**os.environ, "INRUSH_RESULTS": str(folder / "results")}
    kills, wait_s = 0, 0.7
    while kills < most:
        running = subprocess.Popen(
            command(file, place, table), env=environment, stdout=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(wait_s + draw.random())
        if running.poll() is not None:
            break
        os.killpg(running.pid, 9)
        running.wait()
        kills += 1
        wait_s += 0.05
    done = place.load([file], folder / "results" / "loads", table, merging="update", **WORDS)
    assert done.verdict == "proven" and done.rejected == len(bad), done.why
    expected = {n: (1, name) for k, (n, name) in enumerate(rows) if k not in bad}
    assert content(place, table) == expected
    return kills

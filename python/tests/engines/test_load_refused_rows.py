"""One row that a server refuses is one rejected row, whatever it refuses it for: keys, references, checks, triggers, texts."""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.engines.base.instance import Target
from inrush.load.run import Loaded
from tests.engines.test_load_proof import Place, database

from .servers import control
from .test_load import call, run, table, workers

__all__ = ["table", "workers"]

ROWS = 20_000


@pytest.fixture(params=["postgresql", "mysql", "mariadb"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from database(request.getfixturevalue(request.param))


@pytest.fixture
def here(postgresql: Target) -> Iterator[Place]:
    yield from database(postgresql)


def rejects_of(done: Loaded) -> dict[str, tuple[str, str]]:
    """Line -> (reason, text)."""
    assert done.rejects is not None
    with done.rejects.open(newline="") as lines:
        found = [(row["line"], (row["reason"], row["text"])) for row in csv.DictReader(lines)]
    assert len(dict(found)) == len(found)
    return dict(found)


def test_each_row_that_is_refused_has_its_line_and_the_server_s_reason(place: Place, tmp_path: Path) -> None:
    place.ask("CREATE TABLE kinds (kind int PRIMARY KEY)")
    place.ask("INSERT INTO kinds VALUES (1), (2), (3)")
    place.ask(
        "CREATE TABLE t (id int PRIMARY KEY, kind int, v int CHECK (v >= 0), name varchar(10), n numeric(6,2), "
        "FOREIGN KEY (kind) REFERENCES kinds (kind))"
    )
    rows = [f"{n},{1 + n % 3},{n % 5},x{n},{n % 100}.25" for n in range(ROWS)]
    bad = {700: "7,1,1,twice,1", 701: "8,1,1,twice,1", 5_000: "5000,9,1,no kind,1", 12_345: "12345,1,-1,below,1",
           15_000: "15000,1,1,x,1234567", 19_999: "19999,1,1,x,one"}  # fmt: skip
    for at, row in bad.items():
        rows[at] = row
    rows.insert(9_000, "9000a,1,1,the reader's,1")
    file = tmp_path / "a.csv"
    file.write_text("id,kind,v,name,n\n" + "\n".join(rows) + "\n")
    done = place.load([file], tmp_path / "loads", chunk_rows=3_000, flush_rows=9_000, verify=True)
    assert (done.rows_stored, done.rejected) == (ROWS - len(bad), len(bad) + 1)
    assert done.verdict in ("proven", "counted"), done.why
    assert place.rows() == ROWS - len(bad) == done.rows_in_ledger
    found = rejects_of(done)
    assert found.pop("9002")[0] == "not an integer"
    lines = {str(at + 2 + (at >= 9_000)): row for at, row in bad.items()}
    assert {line: text for line, (_, text) in found.items()} == lines
    said = [reason for _, (reason, _) in sorted(found.items(), key=lambda of: int(of[0]))]
    words = ["uplicate", "uplicate", "oreign key", "", "", ""]
    assert all(word in reason for word, reason in zip(words, said, strict=True)), said
    again = place.load([file], tmp_path / "loads", chunk_rows=3_000)
    assert (again.rows_stored, again.rows_before, again.rejected) == (0, ROWS - len(bad), len(bad) + 1)


def test_rows_refused_by_one_shard_alone_are_in_no_sum(
    postgresql: Target, workers: list[str], table: str, tmp_path: Path
) -> None:
    for url in workers:
        control(Target("postgresql", url), f"CREATE TABLE {table} (id int, v int CHECK (v >= 0), name text)")
    draw = random.Random(7)
    bad = set(draw.sample(range(ROWS), 25))
    file = tmp_path / "a.csv"
    file.write_text("id,v,name\n" + "".join(f"{n},{-1 if n in bad else n},x{n}\n" for n in range(ROWS)))
    words: dict[str, Any] = {
        "into": postgresql.url,
        "shards": tuple(workers),
        "key": ("id",),
    }
    done = run(call(table, [file], connections=2, verify=True, **words), tmp_path / "loads")
    assert (done.rows_stored, done.rejected, done.verdict) == (ROWS - 25, 25, "proven"), done.why
    assert {int(line) - 2 for line in rejects_of(done)} == bad
    again = run(call(table, [file], **words), tmp_path / "loads")
    assert (again.rows_stored, again.rows_before, again.rejected) == (0, ROWS - 25, 25)
    assert again.verdict == "proven", again.why


def command(file: Path, here: Place, *words: str) -> list[str]:
    return [
        sys.executable, "-m", "inrush", "load", str(file), "--into", here.url, "--table", "t", "--chunk-rows", "500",
        "--flush-rows", "1000", "--connections", "2", *words,
    ]  # fmt: skip


def with_bad_rows(here: Place, file: Path, rows: int, bad: set[int]) -> None:
    here.ask("CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v >= 0), name text)")
    file.write_text("id,v,name\n" + "".join(f"{n},{-1 if n in bad else n},x{n}\n" for n in range(rows)))


def rejected_lines(results: Path) -> list[int]:
    [rejects] = results.rglob("rejected.csv")
    with rejects.open(newline="") as lines:
        return sorted(int(row["line"]) - 2 for row in csv.DictReader(lines))


def test_two_commands_of_one_import_store_each_row_once_and_reject_each_once(
    here: Place, tmp_path: Path
) -> None:
    draw = random.Random(11)
    rows, bad = 30_000, set(draw.sample(range(30_000), 60))
    file = tmp_path / "a.csv"
    with_bad_rows(here, file, rows, bad)
    environment = {**os.environ, "INRUSH_RESULTS": str(tmp_path / "results")}
    both = [
        subprocess.Popen(
            command(file, here), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120) for process in both]
    assert here.rows() == rows - len(bad), said
    last = subprocess.run(command(file, here), env=environment, capture_output=True, text=True, timeout=120)
    assert "proven" in last.stdout and last.returncode == 1, (said, last.stdout, last.stderr)
    assert rejected_lines(tmp_path / "results") == sorted(bad)


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_killed_anywhere_every_row_is_stored_once_or_rejected_once(
    here: Place, tmp_path: Path, attempt: int
) -> None:
    draw = random.Random(attempt)
    # More than a load stores before the second kill.
    rows, bad = 240_000, set(draw.sample(range(240_000), 300))
    file = tmp_path / "a.csv"
    with_bad_rows(here, file, rows, bad)
    environment = {**os.environ, "INRUSH_RESULTS": str(tmp_path / "results")}
    killed = 0
    while killed < 7:
        process = subprocess.Popen(
            command(file, here),
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(draw.uniform(0.3, 2.0))
        if process.poll() is not None:
            break
        os.killpg(process.pid, 9)
        process.wait()
        killed += 1
    last = subprocess.run(command(file, here), env=environment, capture_output=True, text=True, timeout=300)
    assert last.returncode == 1, last.stderr
    assert "proven" in last.stdout, last.stdout + last.stderr
    stored = {int(row[0]) for row in here.ask("SELECT id FROM t")}
    assert here.rows() == rows - 300 and stored == set(range(rows)) - bad
    assert rejected_lines(tmp_path / "results") == sorted(bad)
    assert killed >= 2

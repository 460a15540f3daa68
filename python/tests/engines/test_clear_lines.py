"""What ends a run, as a user of `inrush run` sees it: one clear line for each run, the exit code, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benches.kill_checks import NAMESPACES
from inrush.engines import server
from inrush.engines.base.instance import Instance, Stop, Target
from inrush.engines.servers import life, server_limits
from inrush.targets.ask import ask

from .servers import REQUIRE, SETTINGS, need, own_server

EMBEDDED = ("sqlite", "duckdb")
MIB = 1 << 20
#: Bytes of a tmpfs beside what an empty server takes of it, which the load does not fit in.
ROOM = {
    "postgresql": 128 * MIB, "mysql": 64 * MIB, "clickhouse": 64 * MIB, "sqlite": 30 * MIB, "duckdb": 30 * MIB,
}  # fmt: skip
#: Bytes of the tmpfs while a server is created. How many one needs then, for a while, is its version's.
AMPLE = 2048 * MIB
WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.events]
series = 100
period_s = 1
identity = ["id", "time"]
columns = [
  { name = "id", type = "i32", gen = "cycle", from = 1, to = 100 },
  { name = "time", type = "time_ms", gen = "sweep_time" },
  { name = "value", TYPE },
]
[operations.long]
kind = "extract"
table = "events"
params.id = { gen = "range", column = "id" }
params.from = { gen = "range", end = "from" }
params.to = { gen = "range", end = "to" }
range = { rows = 500 }
returns = ["time", "value"]
sql.default = "SELECT time, value FROM {table} WHERE id = :id AND time >= :from AND time < :to ORDER BY time"
[operations.slow]
kind = "maintain"
table = "events"
sql.postgresql = "SELECT pg_sleep(60)"
sql.default = "SELECT count(*) FROM {table} a, {table} b, {table} c WHERE a.value + b.value + c.value = 1.5"
[operations.large]
kind = "maintain"
table = "events"
sql.default = "SELECT length(repeat('x', 900000000))"
"""
STUDY = """
schema = 1
title = "Ends"
question = "How does it end?"
expect = "In one line."
workload = "work.toml"
kind = "steps"
engines = ["ENGINE"]
repeats = { count = 1, pilot = false }
schedule = { mode = "closed", limit_s = 40 }
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = ROWS }
"""
FLOAT = 'type = "f64", gen = "uniform", from = 0, to = 99'
SLOW = '[[steps]]\nname = "slow"\ndo = "statement"\noperation = "slow"\nlimit_s = 1\n'


@dataclass(frozen=True)
class Said:
    code: int
    #: Of stderr, without the one that names the report.
    lines: list[str]


def said(
    folder: Path, engine: str, *words: str, rows: int = 20_000, column: str = FLOAT, more: str = ""
) -> Said:
    """`inrush run` of such a study in a process of its own."""
    (folder / "work.toml").write_text(WORKLOAD.replace("TYPE", column))
    (folder / "ends.toml").write_text(STUDY.replace("ENGINE", engine).replace("ROWS", str(rows)) + more)
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1", "INRUSH_RESULTS": str(folder / "results"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "inrush.cli", "run", str(folder / "ends.toml"), *words, "--quiet"],
        env=environment, capture_output=True, text=True, check=False, timeout=400,
    )  # fmt: skip
    lines = done.stderr.splitlines()
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    if lines and lines[-1].startswith("report: "):  # a run was begun
        *lines, took, _ = lines
        assert took.startswith("took "), done.stderr
    return Said(done.returncode, lines)


def settings_of(engine: str) -> str:
    return "".join(f",{name}={value}" for name, value in SETTINGS[engine].items())


def started(engine: str, data: Path, *settings: str) -> list[str]:
    return ["--start", ",".join([engine + settings_of(engine), *settings]), "--data", str(data)]


def left_by(engine: str, data: Path, folder: Path) -> list[str]:
    """What is there of the run afterwards: processes, files of its own, and schemas or databases with locks among them."""
    found = [f"process {pid}" for pid in life.working_in(data)]
    found += [str(path) for path in data.glob("*") if path.name not in (engine, "lost+found")]
    found += [str(path) for path in folder.glob("results/*/data/*")]
    if engine in EMBEDDED:
        return found
    instance = own_server(engine).start(data / engine, SETTINGS[engine])
    try:
        found += names(Target(engine, instance.url))
    finally:
        own_server(engine).stop(instance, Stop.CLEAN)
    return found


def names(target: Target) -> list[str]:
    address = {"engine": target.engine, "url": target.url, "options": {}}
    rows = ask(address, NAMESPACES[target.engine], 30.0)
    return [str(name) for (name,) in rows if str(name).startswith("inrush_")]


@contextlib.contextmanager
def small_disk(folder: Path, engine: str) -> Iterator[Path]:
    """A file system with an empty server of the engine, if it has one, and ROOM beside."""
    data = folder / "small"
    data.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={AMPLE},mode=755", "inrush-test", str(data)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        refused = done.stderr.strip() if done.returncode else None
    except FileNotFoundError as e:
        refused = str(e)
    if refused is not None:
        (pytest.fail if os.environ.get(REQUIRE) else pytest.skip)(f"no small file system here: {refused}")
    try:
        if engine not in EMBEDDED:
            mine = own_server(engine)
            mine.stop(mine.start(data / engine, SETTINGS[engine]), Stop.CLEAN)
        size = shutil.disk_usage(data).used + ROOM[engine]
        subprocess.run(["mount", "-o", f"remount,size={size}", str(data)], check=True)
        yield data
    finally:
        for pid in life.working_in(data):
            os.kill(pid, 9)
        subprocess.run(["umount", "--lazy", str(data)], check=True)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "engine",
    [pytest.param(e, marks=pytest.mark.slow if e == "mysql" else []) for e in ROOM],  # a minute to fill
)
def test_a_full_data_disk_is_one_line_with_what_to_do(engine: str, folder: Path) -> None:
    if engine not in EMBEDDED:
        need(engine)
    with small_disk(folder, engine) as data:
        words = [engine, "--data", str(data)] if engine in EMBEDDED else started(engine, data)
        found = said(folder, engine, *words, rows=20_000_000)
        assert found.code == 1, found
        (line,) = found.lines
        assert any(word in line for word in ("No space left", "is full", "was full")), line
        assert line.endswith("; make room, or take fewer rows"), line
        assert left_by(engine, data, folder) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", [*EMBEDDED, "postgresql"])
def test_a_range_longer_than_any_series_is_one_line_with_the_longest(engine: str, folder: Path) -> None:
    data, words = placed(engine, folder)
    more = '[[steps]]\nname = "long"\ndo = "extract"\noperation = "long"\ncalls = 3\n'
    found = said(folder, engine, *words, more=more)
    assert found.code == 1, found
    # Of an engine in the client's process a second run prices the client's own work.
    assert len(found.lines) == (2 if engine in EMBEDDED else 1)
    for line in found.lines:
        assert line.endswith(
            "operation long: range: no series has 500 rows, the longest has 200; ask for fewer"
        )
    assert left_by(engine, data, folder) == []


def placed(engine: str, folder: Path) -> tuple[Path, list[str]]:
    data = folder / "data"
    if engine in EMBEDDED:
        return data, [engine, "--data", str(data)]
    need(engine)
    return data, started(engine, data)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", [*EMBEDDED, "postgresql"])
@pytest.mark.parametrize(("accept", "code"), [("", 0), ('[accept]\n"slow.duration_s" = 100\n', 3)])
def test_a_statement_past_its_limit_is_one_line_and_invalid_where_the_answer_rests_on_it(
    accept: str, code: int, engine: str, folder: Path
) -> None:
    data, words = placed(engine, folder)
    found = said(folder, engine, *words, more=SLOW + accept)
    assert found.code == code, found
    (line,) = found.lines
    assert "Step slow was cancelled at its limit, 1." in line and "0 statements had ended" in line, line
    assert line.endswith("Raise limit_s or lower the work"), line
    assert left_by(engine, data, folder) == []


@pytest.mark.parametrize(
    ("engine", "column", "says"),
    [
        ("influxdb", 'type = "blob", gen = "bytes", min_bytes = 1, max_bytes = 9',
         "InfluxDB has no blob, and column value (blob) of events is one; choose another type, or leave out influxdb"),
        ("mysql", 'type = "decimal(38, 35)", gen = "decimal"',
         "MySQL has decimals of at most 30 digits behind the point, and column value of events is decimal(38, 35); give it "
         "fewer, or leave out mysql"),
    ],
)  # fmt: skip
def test_a_type_that_the_engine_has_not_is_refused_in_one_line_before_it_starts(
    engine: str, column: str, says: str, folder: Path
) -> None:
    found = said(folder, engine, "--start", engine, "--data", str(folder / "data"), column=column)
    assert found.code == 2, found
    (line,) = found.lines
    assert line.startswith("inrush: ") and line.endswith(says), line
    assert not (folder / "data").exists() and not list(folder.glob("results/*"))


def permitted(folder: Path) -> None:
    if (why := server_limits.not_permitted(folder, {"memory": 4e8})) is not None:
        (pytest.fail if os.environ.get(REQUIRE) else pytest.skip)(f"no limits here: {why}")


def group_of(data: Path) -> list[Path]:
    return [path for path in server_limits.existing(data).folders.values() if path.exists()]


@pytest.mark.timeout(300)
def test_a_server_that_its_limit_of_memory_ended_while_it_started_says_so(folder: Path) -> None:
    need("mysql")
    permitted(folder)
    found = said(folder, "mysql", *started("mysql", folder / "data"), "--limit", "mysql.memory=300M")
    assert found.code == 1, found
    (line,) = found.lines
    assert (
        f"MySQL in {folder / 'data/mysql'}, while it started, was ended by its limit of memory, 300 MB"
        in line
    )
    assert "give it more (limit.memory)" in line and "performance_schema=OFF" in line
    assert life.working_in(folder) == {} and group_of(folder / "data/mysql") == []
    assert not list(folder.glob("results/*"))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_server_that_its_limit_of_memory_ended_in_a_run_says_so(folder: Path) -> None:
    need("postgresql")
    permitted(folder)
    more = SLOW.replace("slow", "large").replace("limit_s = 1", "limit_s = 60")
    words = [*started("postgresql", folder / "data"), "--limit", "postgresql.memory=300M"]
    found = said(folder, "postgresql", *words, more=more)
    assert found.code == 1, found
    (line,) = found.lines
    data = folder / "data/postgresql"
    assert f"PostgreSQL in {data} was ended by its limit of memory, 300 MB; give it more" in line
    assert "the connection was lost" in line, "what the client saw stays"
    # Its server was not there to drop the run's schema: that is marked, and the next run drops it first.
    assert (
        group_of(data) == [] and life.working_in(folder) == {} and not list(folder.glob("results/*/data/*"))
    )


def test_a_probe_that_the_limit_ended_before_the_server_is_not_the_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = {"kills": 1}
    monkeypatch.setattr(server_limits.Group, "memory_kills", lambda _: counted["kills"])
    release = own_server("postgresql").fetched()
    instance = Instance("postgresql", folder, "", 1, 1, folder, release, {}, {"memory": 3e8}, kills_before=1)  # type: ignore[arg-type]
    assert server_limits.memory_kills(instance) == 0
    counted["kills"] = 2
    assert server_limits.memory_kills(instance) == 1
    instance.held = {}
    assert server_limits.memory_kills(instance) == 0
    assert server("postgresql").lifecycle is not None

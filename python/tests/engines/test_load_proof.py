"""`inrush load` proves the table and not its ledger, and knows a file by what it holds."""

from __future__ import annotations

import gzip
import io
import os
import random
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from inrush.engines.base.instance import Target
from inrush.errors import InrushError, RowsMissing, UsageError
from inrush.load.call import Call
from inrush.load.check import Loaded
from inrush.load.run import load
from tests.engines.flipping import Flipping
from tests.engines.servers import control, databases, with_database
from tests.engines.test_load import rows_file, silent
from tests.engines.test_load_server import serving

from .servers import each_kind

ROWS = 3_000
ENGINES = ["postgresql", "mysql", "mariadb", "clickhouse", "timescaledb"]
COLUMNS = {
    "postgresql": "id bigint, at timestamptz, dev int, v float8, name text",
    "timescaledb": "id bigint, at timestamptz, dev int, v float8, name text",
    "mysql": "id bigint, at datetime(6), dev int, v double, name varchar(20)",
    "mariadb": "id bigint, at datetime(6), dev int, v double, name varchar(20)",
    "clickhouse": "id Int64, at Int64, dev Int32, v Float64, name String",
}


class Place:
    """A database of the test's own on a server."""

    def __init__(self, server: Target, name: str) -> None:
        self.server, self.name, self.engine = server, name, server.engine
        self.url = with_database(server.url, name)
        self.target = Target(self.engine, self.url)

    def ask(self, statement: str) -> list[list[Any]]:
        return control(self.target, statement)

    def make(self, table: str = "t") -> None:
        tail = " ENGINE = MergeTree ORDER BY id" if self.engine == "clickhouse" else ""
        self.ask(f"CREATE TABLE {table} ({COLUMNS[self.engine]}){tail}")

    def rows(self, table: str = "t") -> int:
        return int(self.ask(f"SELECT COUNT(*) FROM {table}")[0][0])

    def content(self, table: str = "t") -> list[list[Any]]:
        return self.ask(f"SELECT id, at, dev, v, name FROM {table} ORDER BY id, at, dev, v, name")

    def load(self, files: list[Path], folder: Path, table: str = "t", **words: Any) -> Loaded:
        words = {"into": self.url, "chunk_rows": 500, "flush_rows": 1_000, **words}
        return load(Call(tuple(map(str, files)), table, **words), folder, silent, silent)


@pytest.fixture(params=each_kind(ENGINES))
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from database(request.getfixturevalue(request.param))


@pytest.fixture
def here(postgresql: Target) -> Iterator[Place]:
    yield from database(postgresql)


def database(server: Target) -> Iterator[Place]:
    name = f"load_{random.randrange(1 << 40):x}"
    control(server, f"CREATE DATABASE {name}")
    yield Place(server, name)
    control(server, f"DROP DATABASE {name}")


def part_of_two(here: Place, tmp_path: Path, **words: Any) -> list[Path]:
    """Two files of which a part is stored: the middle of the second one has more bad rows than are allowed."""
    files = [rows_file(tmp_path / f"{n}.csv", n * ROWS, ROWS, bad=9 * n) for n in range(2)]
    lines = files[1].read_text().splitlines()
    middle = 1 + ROWS // 2
    files[1].write_text("\n".join([*lines[:middle], *lines[-9:], *lines[middle:-9]]) + "\n")
    here.make()
    for attempt in range(20):
        # Slower each time, until something is stored before the bad rows are read.
        held = 1_000_000.0 / (1 + attempt)
        with pytest.raises(InrushError, match="rejected"):
            here.load(files, tmp_path, reject_limit=5, bytes_per_s=held, **words)
        if here.rows():
            break
    assert 0 < here.rows() < 2 * ROWS
    return files


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return rows_file(tmp_path / "a.csv", 0, ROWS)


# --- the table and not its ledger


def test_an_empty_table_is_proven_by_the_sums_of_every_column(
    place: Place, file: Path, tmp_path: Path
) -> None:
    done = place.load([file], tmp_path, create=True)
    assert (done.verdict, done.rows_stored, done.proven) == ("proven", ROWS, True)
    assert set(done.columns) == {"id", "at", "dev", "v", "name"}
    assert "not compared" not in done.columns.values()
    again = place.load([file], tmp_path)
    assert (again.verdict, again.rows_stored, again.rows_before) == ("proven", 0, ROWS), again.why


@pytest.mark.parametrize("lost", ["truncate", "drop", "drop, no --create", "some rows"])
def test_rows_that_the_table_lost_are_said_and_only_again_loads_them_anew(
    place: Place, file: Path, tmp_path: Path, lost: str
) -> None:
    place.make()
    place.load([file], tmp_path)
    if lost == "some rows":
        if place.engine == "clickhouse":
            pytest.skip("deletes of this ClickHouse are done later")
        place.ask("DELETE FROM t WHERE id < 7")
    else:
        place.ask("TRUNCATE TABLE t" if lost == "truncate" else "DROP TABLE t")
    left = ROWS - 7 if lost == "some rows" else 0
    with pytest.raises(RowsMissing, match="--again") as missing:
        place.load([file], tmp_path, create=lost == "drop")
    assert missing.value.exit_code == 3 and "\n" not in str(missing.value)
    assert f"{ROWS:,}" in str(missing.value) and f"{left:,}" in str(missing.value)
    assert ("--create --again" in str(missing.value)) is lost.startswith("drop")
    assert ("empty the table first" in str(missing.value)) is (lost == "some rows")
    if lost == "some rows":
        return
    again = place.load([file], tmp_path, create=True, again=True)
    assert (again.verdict, again.rows_stored, again.rows_before) == ("proven", ROWS, 0)
    assert place.rows() == ROWS
    assert place.load([file], tmp_path).verdict == "proven"


def test_a_load_of_which_rows_were_lost_meanwhile_stores_nothing_more(here: Place, tmp_path: Path) -> None:
    files = part_of_two(here, tmp_path)
    here.ask("TRUNCATE TABLE t")
    with pytest.raises(RowsMissing):
        here.load(files, tmp_path)
    assert here.rows() == 0


def test_an_import_that_goes_on_is_proven_with_the_sums_of_what_was_stored_before(
    here: Place, tmp_path: Path
) -> None:
    files = part_of_two(here, tmp_path)
    done = here.load(files, tmp_path)
    assert done.rows_before > 0 and done.rows_before + done.rows_stored == 2 * ROWS
    assert (done.verdict, done.rejected, here.rows()) == ("proven", 9, 2 * ROWS)


def test_a_table_that_held_rows_is_counted_and_a_second_import_is_proven_with_the_first(
    place: Place, file: Path, tmp_path: Path
) -> None:
    place.make()
    place.ask(
        "INSERT INTO t VALUES (-1, "
        + ("0" if place.engine == "clickhouse" else "'2026-01-01'")
        + ", 1, 1, 'x')"
    )
    done = place.load([file], tmp_path)
    assert (done.verdict, done.proven) == ("counted", False)
    place.make("u")
    place.load([file], tmp_path, "u")
    second = rows_file(tmp_path / "b.csv", ROWS, ROWS)
    assert place.load([second], tmp_path, "u").verdict == "proven"


@pytest.mark.parametrize(
    "change",
    ["SET id = id + 4294967296", "SET v = v + 0.0000001", "SET name = 'n32'", "SET dev = -1", "SET name = NULL",
     "SET at = at + interval '1' second"],
)  # fmt: skip
def test_one_changed_value_of_any_type_is_found_by_the_next_command(
    place: Place, file: Path, tmp_path: Path, change: str
) -> None:
    if place.engine == "clickhouse":
        pytest.skip("updates of this ClickHouse are done later; its sums are tested through a proxy")
    place.make()
    place.load([file], tmp_path)
    place.ask(f"UPDATE t {change} WHERE id = 1234")
    done = place.load([file], tmp_path)
    assert (done.verdict, done.proven) == ("different", False)
    [column] = [name for name, how in done.columns.items() if "different" in how]
    assert column == change.split()[1]


def test_rows_that_no_import_stored_are_no_proof(here: Place, file: Path, tmp_path: Path) -> None:
    here.make()
    here.load([file], tmp_path)
    here.ask("INSERT INTO t SELECT * FROM t WHERE id < 5")
    done = here.load([file], tmp_path)
    assert (done.verdict, done.rows_stored) == ("different", 0) and "5 rows more" in done.why


TYPES = {
    "postgresql": "a boolean, b smallint, c real, d float8, e date, f uuid, g char(5), h varchar(9), i timestamp, "
    "j float8[], k text",
    "mysql": "a boolean, b smallint, c float, d double, e date, f char(36), g char(5), h varchar(9), i datetime(6), "
    "j int unsigned, k text",
    "clickhouse": "a UInt8, b Nullable(Int16), c Float32, d Nullable(Float64), e String, f String, g Nullable(String), "
    "h String, i Int64, j Array(Float64), k Nullable(String)",
}  # fmt: skip


@pytest.mark.parametrize("engine", list(TYPES))
def test_values_of_every_type_sum_up_as_the_server_sums_them(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    draw, lines = random.Random(3), ["a,b,c,d,e,f,g,h,i,j,k"]
    lists = engine != "mysql"
    for k in range(2_000):
        text = "".join(draw.choice("aé€😀 z") for _ in range(draw.randrange(200)))
        d = draw.choice(
            ["-0.0", "0", "1e-308", "-1.5", str(draw.gauss(0, 1) * 10.0 ** draw.randrange(-40, 40))]
        )
        null = engine != "clickhouse"
        lines.append(
            f"{('true', 'false')[k % 2]},{k % 7 - 3 if k % 5 else ''},{draw.gauss(0, 1)!r},{d if k % 11 or not null else ''},"
            f"{1950 + k % 100}-03-{k % 28 + 1:02},{draw.getrandbits(128):032x},"
            f"{'' if k % 13 == 0 and null else 'ab' + ' ' * (k % 3)},h{k % 9},2026-01-01 00:00:{k % 60:02}.{k:06},"
            f"{(chr(34) + '[' + str(k) + ',0.5]' + chr(34)) if lists else k},{chr(34)}{text}{chr(34)}"
        )
    file = tmp_path / "a.csv"
    file.write_text("\n".join(lines) + "\n")
    for place in database(request.getfixturevalue(engine)):
        tail = " ENGINE = MergeTree ORDER BY b" if engine == "clickhouse" else ""
        place.ask(f"CREATE TABLE t ({TYPES[engine]}){tail.replace('BY b', 'BY i')}")
        done = place.load([file], tmp_path, verify=True)
        assert (done.verdict, done.rejected) == ("proven", 0), (done.why, done.columns)


EDGES = [
    "1902-01-01",
    "1969-12-31",
    "1970-01-01",
    "2000-01-01",
    "2026-07-01",
    "2037-12-31",
    "2038-01-01",
    "2106-02-07",
]


@pytest.mark.parametrize("type_", ["timestamptz", "timestamp"])
def test_times_of_all_years_are_summed_to_the_microsecond(here: Place, tmp_path: Path, type_: str) -> None:
    """PostgreSQL sums times near 1970 by double precision, which holds their microseconds; others by numerics."""
    draw = random.Random(7)
    times = [f"{day} {time}" for day in EDGES for time in ("00:00:00.000001", "00:00:00", "23:59:59.999999")]
    for year in range(1000, 9000, 4):
        clock = f"{draw.randrange(24):02}:{draw.randrange(60):02}:{draw.randrange(60):02}.{draw.randrange(10**6):06}"
        times.append(f"{year}-{draw.randrange(12) + 1:02}-{draw.randrange(28) + 1:02} {clock}")
    file = tmp_path / "a.csv"
    file.write_text("id,at\n" + "".join(f"{k},{at}\n" for k, at in enumerate(times)))
    here.ask(f"CREATE TABLE t (id bigint, at {type_})")
    done = here.load([file], tmp_path)
    assert (done.verdict, done.rejected) == ("proven", 0), (done.why, done.columns)
    for row in (0, len(EDGES) * 3 - 1, len(times) - 1):
        here.ask(f"UPDATE t SET at = at + interval '1 microsecond' WHERE id = {row}")
        assert here.load([file], tmp_path).columns["at"].count("different"), row
        here.ask(f"UPDATE t SET at = at - interval '1 microsecond' WHERE id = {row}")
    assert here.load([file], tmp_path).verdict == "proven"


# --- a network that changes what passes


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("engine", ["postgresql", "mysql", "clickhouse"])
def test_a_table_that_a_changed_bit_made_different_is_never_proven(
    engine: str, seed: int, request: pytest.FixtureRequest, file: Path, tmp_path: Path
) -> None:
    for place in database(request.getfixturevalue(engine)):
        place.make()
        place.make("u")
        place.load([file], tmp_path, "u")
        right = place.content("u")
        with Flipping(place.url, seed) as proxy:
            try:
                done = place.load([file], tmp_path, into=proxy.url, patience_s=0.5)
                verdict = done.verdict
            except InrushError:
                verdict = "failed"
        assert proxy.flipped == 1
        assert verdict in ("failed", "different", "missing") or place.content() == right, verdict


# --- the same file is the same import


def test_a_file_is_known_by_what_it_holds(here: Place, file: Path, tmp_path: Path) -> None:
    here.make("c2")
    here.load([file], tmp_path, "c2")
    os.utime(file, (1, 1))
    moved = tmp_path / "elsewhere" / "other.csv"
    moved.parent.mkdir()
    shutil.copy(file, moved)
    localhost = here.url.replace("127.0.0.1", "localhost")
    assert localhost != here.url
    for words in (
        {},
        {"table": "public.c2"},
        {"into": localhost},
        {"chunk_rows": 700},
        {"files": [moved]},
    ):
        words = {"files": [file], "table": "c2", **words}
        again = here.load(words.pop("files"), tmp_path, **words)
        assert (again.rows_stored, again.rows_before, again.verdict) == (0, ROWS, "proven")
    assert here.rows("c2") == ROWS


def test_an_import_goes_on_with_the_chunks_that_it_was_begun_with(here: Place, tmp_path: Path) -> None:
    files = part_of_two(here, tmp_path, chunk_rows=300, connections=2, parallel=2)
    done = here.load(files[::-1], tmp_path, chunk_rows=777, parallel=2)
    assert (done.verdict, here.rows()) == ("proven", 2 * ROWS)
    assert done.rows_before + done.rows_stored == 2 * ROWS


def test_a_file_of_another_import_is_refused_with_its_date(here: Place, file: Path, tmp_path: Path) -> None:
    here.make()
    here.load([file], tmp_path)
    more = rows_file(tmp_path / "b.csv", ROWS, ROWS)
    with pytest.raises(UsageError, match=r"a\.csv.*20\d\d-\d\d-\d\d.*--again") as refused:
        here.load([file, more], tmp_path)
    assert "b.csv" not in str(refused.value) and here.rows() == ROWS
    assert here.load([more], tmp_path).rows_stored == ROWS
    # Into another table it is another import.
    here.make("u")
    assert here.load([file], tmp_path, "u").rows_stored == ROWS


def test_a_changed_file_after_a_load_that_was_not_finished_is_refused_with_its_rows(
    here: Place, tmp_path: Path
) -> None:
    files = part_of_two(here, tmp_path)
    before = here.rows()
    for file in files:
        first, _, rest = file.read_text().partition("\n")
        file.write_text(f"{first}\n-1,2026-01-01,1,1,x\n{rest}")
    with pytest.raises(
        UsageError, match=r"was not finished, and [\d,]+ of its rows are in table .*To remove them"
    ):
        here.load(files, tmp_path)
    assert here.rows() == before


def test_a_changed_file_is_another_import(here: Place, file: Path, tmp_path: Path) -> None:
    here.make()
    here.load([file], tmp_path)
    stat = file.stat()
    file.write_text(file.read_text().replace("n7\n", "n9\n", 1))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert file.stat().st_size == stat.st_size
    assert here.load([file], tmp_path).rows_stored == ROWS


def test_two_databases_of_one_server_are_two_places(postgresql: Target, file: Path, tmp_path: Path) -> None:
    for place in (p for _ in range(2) for p in database(postgresql)):
        assert place.load([file], tmp_path, create=True).rows_stored == ROWS


def test_a_table_of_another_database_has_its_ledger_beside_it(
    mysql: Target, file: Path, tmp_path: Path
) -> None:
    for place in database(mysql):
        place.load([file], tmp_path, create=True)
        for other in database(mysql):
            again = other.load([file], tmp_path, f"{place.name}.t")
            assert (again.rows_stored, again.rows_before, place.rows()) == (0, ROWS, ROWS)


def test_standard_input_is_known_by_what_it_holds(
    here: Place, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.make()
    for stored in (ROWS, 0):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(file.read_bytes())))
        assert here.load([Path("-")], tmp_path).rows_stored == stored
    assert here.load([file], tmp_path).rows_stored == 0
    assert here.rows() == ROWS


def test_a_packed_file_and_a_parquet_file_are_known_by_what_they_hold(
    here: Place, file: Path, tmp_path: Path
) -> None:
    here.make()
    assert here.load([file], tmp_path).rows_stored == ROWS
    packed = tmp_path / "b.csv.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert here.load([packed], tmp_path).rows_before == ROWS
    # Another one of that name, size and time: stored blocks of gzip have the length of what they hold.
    others = []
    plain = rows_file(tmp_path / "e.csv", 10_000, ROWS).read_text()
    for name, folder in (("n1", "x"), ("n2", "y")):
        others.append(tmp_path / folder / "e.csv.gz")
        others[-1].parent.mkdir()
        others[-1].write_bytes(gzip.compress(plain.replace("n30", f"{name}0").encode(), 0))
        os.utime(others[-1], (1, 1))
    assert others[0].stat().st_size == others[1].stat().st_size
    assert [here.load([path], tmp_path).rows_stored for path in others] == [ROWS, ROWS]
    assert here.rows() == 3 * ROWS
    table = pacsv.read_csv(rows_file(tmp_path / "d.csv", 2 * ROWS, ROWS))
    table = table.set_column(1, "at", table["at"].cast(pa.timestamp("us", "UTC")))
    for stored in (ROWS, 0):
        pq.write_table(table, tmp_path / "d.parquet")
        done = here.load([tmp_path / "d.parquet"], tmp_path)
        assert (done.rows_stored, done.verdict) == (stored, "proven")


# --- shards and copies


@pytest.fixture
def shards(postgresql: Target) -> Iterator[list[str]]:
    with databases(postgresql, 2) as urls:
        yield urls


@pytest.mark.parametrize("gone", [0, 1])
def test_a_table_that_one_shard_lost_is_named_and_comes_back_when_it_is_dropped_everywhere(
    shards: list[str], file: Path, tmp_path: Path, gone: int
) -> None:
    def loaded(**words: Any) -> Loaded:
        wanted = Call((str(file),), "t", shards=tuple(shards), key=("id",), **words)
        return load(wanted, tmp_path, silent, silent)

    create = f"CREATE TABLE t ({COLUMNS['postgresql']})"
    control(Target("postgresql", shards[1 - gone]), create)
    with pytest.raises(UsageError, match="the other shards have one; make it there"):
        loaded()
    control(Target("postgresql", shards[gone]), create)
    assert loaded().verdict == "proven"
    control(Target("postgresql", shards[gone]), "DROP TABLE t")
    for words in ({}, {"create": True}, {"create": True, "again": True}):
        with pytest.raises(
            RowsMissing, match="there is no table t, and the other shards have one"
        ) as missing:
            loaded(**words)
        assert shards[gone].partition("?")[0].rpartition("/")[2] in str(missing.value)
        assert shards[1 - gone].partition("?")[0].rpartition("/")[2] not in str(missing.value)
    control(Target("postgresql", shards[1 - gone]), "DROP TABLE t")
    again = loaded(create=True, again=True)
    assert (again.verdict, again.rows_stored) == ("proven", ROWS)


@pytest.mark.parametrize("where", ["t", "t_replica"])
def test_a_changed_value_on_any_shard_or_copy_is_found(
    shards: list[str], file: Path, tmp_path: Path, where: str
) -> None:
    for url in shards:
        control(Target("postgresql", url), f"CREATE TABLE t ({COLUMNS['postgresql']})")
    wanted = Call((str(file),), "t", None, tuple(shards), ("id",), chunk_rows=500, replica=True)
    done = load(wanted, tmp_path, silent, silent)
    assert (done.verdict, done.rows_on_replicas) == ("proven", ROWS)
    assert load(replace(wanted, verify=True), tmp_path, silent, silent).verified
    changed = control(
        Target("postgresql", shards[1]),
        f"UPDATE {where} SET name = 'n99' WHERE id = (SELECT MIN(id) FROM {where}) RETURNING id",
    )
    assert len(changed) == 1
    done = load(wanted, tmp_path, silent, silent)
    assert done.verdict == "different" and "name" in done.why
    turned = replace(wanted, shards=tuple(shards[::-1]))
    with pytest.raises(UsageError, match="in another order"):
        load(turned, tmp_path, silent, silent)
    control(Target("postgresql", shards[0]), "DELETE FROM t WHERE id = (SELECT MAX(id) FROM t)")
    with pytest.raises(RowsMissing, match=shards[0].rpartition("/")[2]):
        load(wanted, tmp_path, silent, silent)


def test_a_load_server_reads_back_for_its_clients(here: Place, file: Path, tmp_path: Path) -> None:
    here.make()
    with serving(tmp_path, here.url) as shown:
        words = {"into": None, "server": shown["address"], "token_file": shown["token_file"], "verify": True}
        done = here.load([file], tmp_path, **words)
        assert (done.verdict, done.verified) == ("proven", True)
        here.ask("UPDATE t SET dev = dev + 1 WHERE id = 5")
        done = here.load([file], tmp_path, **words)
        assert (done.verdict, done.verified) == ("different", None)


# --- read back


@pytest.mark.parametrize("engine", ["postgresql", "mysql", "clickhouse", "sqlite", "duckdb"])
def test_verify_reads_the_table_back_and_compares_it_with_the_files(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    files = [rows_file(tmp_path / f"{n}.csv", n * ROWS, ROWS, bad=n) for n in range(2)]
    if engine in ("sqlite", "duckdb"):
        url = f"{engine}:///{tmp_path}/db"
        done = load(
            Call(tuple(map(str, files)), "t", url, create=True, verify=True), tmp_path, silent, silent
        )
        assert (done.verdict, done.verified) == ("proven", True)
        return
    for place in database(request.getfixturevalue(engine)):
        place.make()
        done = place.load(files, tmp_path, verify=True)
        assert (done.verdict, done.verified, done.costs["verify_s"] > 0) == ("proven", True, True)


def test_two_values_that_changed_places_are_found_and_need_not_be_read_back(
    here: Place, file: Path, tmp_path: Path
) -> None:
    here.make()
    here.load([file], tmp_path)
    here.ask("UPDATE t SET name = CASE id WHEN 1 THEN 'n2' ELSE 'n1' END WHERE id IN (1, 2)")
    for verify in (False, True):
        done = here.load([file], tmp_path, verify=verify)
        assert (done.verdict, done.verified) == ("different", None)
        assert "values of `name` stand in other rows" in done.why


def test_verify_of_a_table_that_holds_other_rows_is_refused_before_anything_is_stored(
    here: Place, file: Path, tmp_path: Path
) -> None:
    here.make()
    here.ask("INSERT INTO t VALUES (-1, '2026-01-01', 1, 1, 'x')")
    with pytest.raises(UsageError, match="--verify"):
        here.load([file], tmp_path, verify=True)
    assert here.rows() == 1

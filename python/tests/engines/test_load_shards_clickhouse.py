"""ClickHouse shards behind a Distributed table: placed as the server itself places rows, each read once through it."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Instance, Stop
from inrush.engines.clickhouse import shards as clickhouse_shards
from inrush.engines.servers import life
from inrush.errors import UsageError
from inrush.load.call import Call
from inrush.load.check import Loaded
from inrush.load.expand import expand
from inrush.load.input import LOOK_ROWS, open_inputs
from inrush.load.process import End
from inrush.load.run import found_shards, load, prepare
from inrush.plan import ends
from inrush.targets import instances

from .servers import need, own_server, scratch
from .test_load import killed_or_finished, rows_file, silent
from .test_load_trouble import Loading, wait_until

SHARDS = 3
ASKED = f"clickhouse,shards={SHARDS},profile=default,mark_cache_size=16777216"

Cluster = tuple[Path, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Its folder, and what its start told: the server in front, then the shards."""
    need("clickhouse")
    with scratch() as data:
        rows = instances.start([ASKED], data, silent).rows
        try:
            yield data, rows
        finally:
            instances.stop(["clickhouse"], data, silent)
            assert not life.working_in(data)


def ask(url: str, statement: str, **settings: str) -> list[list[Any]]:
    from inrush import _core

    options = {f"set.{name}": value for name, value in settings.items()}
    document = json.dumps({"engine": "clickhouse", "url": url, "options": options})
    rows: list[list[Any]] = json.loads(_core.control(document, statement, 30.0))["rows"]
    return rows


def call(table: str, files: list[Path], into: str, **words: Any) -> Call:
    return Call(tuple(map(str, files)), table, into, chunk_rows=500, flush_rows=1_500, **words)


def run(wanted: Call, folder: Path) -> Loaded:
    return load(wanted, folder, silent, silent)


def count(url: str, table: str) -> tuple[int, int, int]:
    """(rows, distinct ids, sum of ids)"""
    [[rows, distinct, total]] = ask(url, f"SELECT count(), uniqExact(id), sum(id) FROM {table}")
    return int(rows), int(distinct), int(total)


@pytest.mark.slow
def test_the_one_in_front_and_its_shards_are_listed_and_a_second_start_is_refused(cluster: Cluster) -> None:
    data, rows = cluster
    assert [row["role"] for row in rows] == ["coordinator", "shard 0", "shard 1", "shard 2"]
    assert all(row["running"] and row["url"] for row in rows) and len({row["url"] for row in rows}) == 4
    assert instances.status(["clickhouse"], data, silent).rows == rows
    with pytest.raises(UsageError, match="runs already at"):
        instances.start(["clickhouse"], data, silent)


@pytest.mark.ci
def test_the_one_in_front_knows_its_shards_and_its_tables_their_key(cluster: Cluster, tmp_path: Path) -> None:
    _, rows = cluster
    into = rows[0]["url"]
    first, second = rows_file(tmp_path / "a.csv", 0, 3_000), rows_file(tmp_path / "b.csv", 3_000, 2_000)
    # Without a key a new table lies in front alone, and that is said.
    said: list[str] = []
    alone = load(call("alone", [first], into, create=True), tmp_path, said.append, silent)
    assert (alone.rows_stored, len(alone.shards)) == (3_000, 1) and "--key" in said[0]
    wanted = call("found", [first], into, create=True, key=("id",))
    done = run(wanted, tmp_path)
    assert (done.rows_stored, done.proven, len(done.shards)) == (3_000, True, SHARDS)
    # The same command again: the table is found by then, and the import is the same one.
    again = run(wanted, tmp_path)
    assert (again.import_id, again.rows_stored, again.rows_before) == (done.import_id, 0, 3_000)
    # The key is the table's own.
    more = run(call("found", [second], into), tmp_path)
    assert (more.rows_stored, more.proven, len(more.shards)) == (2_000, True, SHARDS)
    with pytest.raises(UsageError, match="placed by id"):
        run(call("found", [second], into, key=("dev",)), tmp_path)
    assert count(into, "found") == (5_000, 5_000, 5_000 * 4_999 // 2)
    here = [count(row["url"], "found")[0] for row in rows[1:]]
    assert sum(here) == 5_000 and min(here) > 0
    for k, row in enumerate(rows[1:]):
        [[right]] = ask(row["url"], f"SELECT count() FROM found WHERE intHash64(id) % {SHARDS} = {k}")
        assert int(right) == here[k]
    # A plain table in front is loaded where it is.
    ask(into, "CREATE TABLE plain (id Int64, at Int64, dev Int32, v Float64, name String) ENGINE = Log")
    plain = run(call("plain", [first], into), tmp_path)
    assert (plain.rows_stored, len(plain.shards)) == (3_000, 1)


COLUMNS = "id Int64, small Int16, whole Int32, big UInt64, flag UInt8, name String"
EDGES = {"id": 63, "small": 15, "whole": 31}


def keyed_rows(path: Path, rows: int = 4_000) -> Path:
    """Numbers of both signs and of all magnitudes up to the ends of their types, texts of 0 to 200 bytes."""
    draw = random.Random(7)

    def signed(bits: int, i: int) -> int:
        ends = (0, -1, 1, 2**bits - 1, -(2**bits))
        return ends[i] if i < len(ends) else draw.randrange(2 ** draw.randint(1, bits)) * draw.choice((1, -1))

    lines = ["id,small,whole,big,flag,name"]
    for i in range(rows):
        text = "".join(draw.choice("abcdefgh ÄßЖ語🙂") for _ in range(200))
        text = text.encode()[: i % 201].decode(errors="ignore")
        big = (2**64 - 1, 2**63, 0)[i] if i < 3 else draw.getrandbits(draw.randint(1, 64))
        numbers = [signed(EDGES[name], i) for name in EDGES]
        lines.append(f'{",".join(map(str, numbers))},{big},{i % 2},"{text}"')
    path.write_text("\n".join(lines) + "\n")
    return path


KEYS = ["intHash64(id)", "intHash64(small)", "intHash64(big)", "id", "small", "whole", "cityHash64(flag)",
        "cityHash64(name)", "cityHash64(small, name, whole, big)"]  # fmt: skip


@pytest.mark.ci
def test_rows_lie_where_the_server_itself_puts_them(cluster: Cluster, tmp_path: Path) -> None:
    _, rows = cluster
    into, shards = rows[0]["url"], [row["url"] for row in rows[1:]]
    file = keyed_rows(tmp_path / "a.csv")
    for n, by in enumerate(KEYS):
        check_placed(into, shards, f"placed_{n}", by, file, tmp_path)


def check_placed(into: str, shards: list[str], table: str, by: str, file: Path, tmp_path: Path) -> list[int]:
    """Loads, and has the server insert the same rows through a Distributed table of the same key. Rows on each shard."""
    for url in shards:
        for name in (table, f"{table}_theirs"):
            ask(url, f"CREATE TABLE {name} ({COLUMNS}) ENGINE = MergeTree ORDER BY tuple()")
    for name in (table, f"{table}_theirs"):
        ask(into, f"CREATE TABLE {name} ({COLUMNS}) ENGINE = Distributed(inrush, default, {name}, {by})")
    done = run(call(table, [file], into), tmp_path / "loads")
    lines = file.read_text().splitlines()[1:]
    assert (done.rows_stored, done.rejected, done.proven, len(done.shards)) == (
        len(lines),
        0,
        True,
        len(shards),
    )
    ask(into, f"INSERT INTO {table}_theirs SELECT * FROM {table}", insert_distributed_sync="1")
    everything = "SELECT * FROM {} ORDER BY id, small, whole, big, flag, name"
    ours = [ask(url, everything.format(table)) for url in shards]
    theirs = [ask(url, everything.format(f"{table}_theirs")) for url in shards]
    assert [len(part) for part in ours] == [len(part) for part in theirs], by
    assert ours == theirs, by
    # What is read through the one in front is the file, every row once.
    read = ask(into, everything.format(table))
    texts = sorted(f'{",".join(str(v) for v in row[:5])},"{row[5]}"' for row in read)
    assert texts == sorted(lines)
    return [len(part) for part in ours]


@pytest.mark.slow
def test_a_key_of_text_or_of_several_columns_is_placed_by_cityhash(cluster: Cluster, tmp_path: Path) -> None:
    _, rows = cluster
    file = rows_file(tmp_path / "a.csv", 0, 2_000)
    with file.open("a") as more:
        more.write("1,2026-01-01 00:00:00+00,,1,x\n")  # a key that is NULL has no place
    for table, key in (("texts", ("name",)), ("several", ("dev", "name"))):
        done = run(call(table, [file], rows[0]["url"], create=True, key=key), tmp_path / "loads")
        assert (done.rows_stored, done.rejected, done.proven) == (
            2_001 - (key != ("name",)),
            int(key != ("name",)),
            True,
        )
        for k, row in enumerate(rows[1:]):
            [[here, wrong]] = ask(
                row["url"],
                f"SELECT count(), countIf(cityHash64({', '.join(key)}) % {SHARDS} != {k}) FROM {table}",
            )
            assert int(here) > 0 and int(wrong) == 0


@pytest.mark.slow
def test_tables_of_another_name_on_the_shards_are_found(cluster: Cluster, tmp_path: Path) -> None:
    _, rows = cluster
    into = rows[0]["url"]
    for row in rows[1:]:
        ask(row["url"], "CREATE DATABASE other")
        ask(row["url"], f"CREATE TABLE other.local ({COLUMNS}) ENGINE = MergeTree ORDER BY id")
    ask(into, f"CREATE TABLE whole ({COLUMNS}) ENGINE = Distributed(inrush, 'other', 'local', id)")
    done = run(call("whole", [keyed_rows(tmp_path / "a.csv", 1_000)], into), tmp_path / "loads")
    assert (done.rows_stored, done.proven, len(done.shards)) == (1_000, True, SHARDS)
    assert ask(into, "SELECT count() FROM whole") == [["1000"]]


@pytest.mark.slow
def test_rows_that_have_no_place_of_their_own_are_refused(cluster: Cluster, tmp_path: Path) -> None:
    _, rows = cluster
    into, file = rows[0]["url"], keyed_rows(tmp_path / "a.csv", 10)
    for name, parameters, said in (
        ("anywhere", "inrush, default, t, rand()", r"not placed by rand\(\)"),
        ("keyless", "inrush, default, t", "no sharding key"),
        ("shifted", "inrush, default, t, intHash64(id + 1)", "not placed by intHash64"),
    ):
        ask(into, f"CREATE TABLE {name} ({COLUMNS}) ENGINE = Distributed({parameters})")
        with pytest.raises(UsageError, match=said):
            run(call(name, [file], into), tmp_path)
    with pytest.raises(UsageError, match="leave --shard out"):
        run(call("t", [file], into, shards=(rows[1]["url"],)), tmp_path)
    # A Distributed table is never loaded as if its rows were its own.
    with pytest.raises(UsageError, match="stores rows later and elsewhere"):
        run(Call((str(file),), "anywhere", shards=(into, rows[1]["url"]), key=("id",)), tmp_path)
    assert ask(into, "SELECT count() FROM system.tables WHERE name = 't'") == [["0"]]


@pytest.mark.slow
def test_shards_have_rows_by_their_weight(folder: Path, tmp_path: Path) -> None:
    need("clickhouse")
    rows = instances.start(["clickhouse,shards=2,profile=default"], folder, silent).rows
    try:
        path = folder / "clickhouse-kept" / "config.xml"
        path.write_text(path.read_text().replace("<shard>", "<shard><weight>3</weight>", 1))
        ask(rows[0]["url"], "SYSTEM RELOAD CONFIG")
        into, shards = rows[0]["url"], [row["url"] for row in rows[1:]]
        file = keyed_rows(tmp_path / "a.csv")
        with pytest.raises(UsageError, match="different weight"):
            run(call("new", [file], into, create=True, key=("id",)), tmp_path)
        many, few = check_placed(into, shards, "weighed", "intHash64(id)", file, tmp_path)
        assert 2 < many / few < 4
    finally:
        instances.stop(["clickhouse"], folder, silent)


def made(begun: list[dict[str, Any]], table: str) -> None:
    """Tables for `rows_file`, whose bad rows no column of them takes."""
    columns = "id Int64, at Int64, dev Int32, v Float64, name String"
    for row in begun[1:]:
        ask(row["url"], f"CREATE TABLE {table} ({columns}) ENGINE = MergeTree ORDER BY id")
    place = f"Distributed(inrush, default, {table}, intHash64(id))"
    ask(begun[0]["url"], f"CREATE TABLE {table} ({columns}) ENGINE = {place}")


def grown(url: str, table: str, done: Loaded, rows: int) -> None:
    """Every row of 0…rows-1 is there; rows that are there twice were said, with their number."""
    found, distinct, _ = count(url, table)
    assert distinct == rows
    detail = re.match(r"the table has ([\d_]+) rows more than the ledger", done.why)
    assert found == rows + (int(detail[1].replace("_", "")) if detail else 0)
    assert (detail is not None) == (done.verdict == "different")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_shard_that_is_killed_while_it_loads_comes_back_and_every_row_is_there(
    folder: Path, tmp_path: Path
) -> None:
    need("clickhouse")
    begun = instances.start(["clickhouse,shards=2,profile=default"], folder, silent).rows
    own, rows, draw = own_server("clickhouse"), 40_000, random.Random(3)
    try:
        into = begun[0]["url"]
        files = [rows_file(tmp_path / f"{n}.csv", n * rows, rows, bad=n) for n in range(2)]
        made(begun, "t")
        wanted = call(
            "t", files, into, parallel=2, patience_s=5.0,
            bytes_per_s=sum(f.stat().st_size for f in files) / 40.0,
        )  # fmt: skip
        loading = Loading(wanted, tmp_path / "loads")
        loading.start()
        for n in range(6):
            before = loading.stored
            wait_until(lambda: loading.stored > before or loading.done or loading.broken)  # noqa: B023
            assert loading.done is None and loading.broken is None, (n, loading.broken)
            time.sleep(draw.random() / 3)
            if n == 5:
                loading.wanted = replace(wanted, bytes_per_s=None)
            victim = kept(folder, n % 2)
            own.stop(victim, Stop.KILL)
            again = own.start(victim.data, victim.settings)
            assert again.url == victim.url
            instances.write(server("clickhouse"), folder, again)
        loading.join(300)
        done = loading.done
        assert loading.broken is None and done is not None, loading.broken
        assert done.rejected == 1
        assert done.rows_stored + done.rows_before == done.rows_in_ledger == 2 * rows
        # A chunk that is there twice is no proof.
        assert done.proven == (count(into, "t")[0] == 2 * rows), done.why
        assert any("same command" in m for m in loading.messages), loading.messages
        # The one in front reads them again: a shard comes back at its address.
        grown(into, "t", done, 2 * rows)
    finally:
        instances.stop(["clickhouse"], folder, silent)


def kept(folder: Path, k: int) -> Instance:
    return instances.parts(server("clickhouse"), folder)[1 + k]


@pytest.mark.slow
def test_a_client_that_is_killed_loses_and_doubles_nothing(cluster: Cluster, tmp_path: Path) -> None:
    _, begun = cluster
    into, rows, folder = begun[0]["url"], 20_000, tmp_path / "loads"
    files = [rows_file(tmp_path / f"{n}.csv", n * rows, rows, bad=n) for n in range(2)]
    held = sum(f.stat().st_size for f in files) / 8.0
    made(begun, "killed")
    asked = call("killed", files, into, parallel=2, bytes_per_s=held)
    found, shards = found_shards(asked, silent)
    targets = shards.documents()
    inputs = open_inputs(expand(found.files), folder / "spool", LOOK_ROWS)
    wanted = prepare(found, inputs, shards, targets, folder, silent)
    (folder / "rejects").mkdir(parents=True)
    random.seed("client")
    kills, finished = 0, None
    document = ends.server_plan(wanted, shards.twin, targets, "127.0.0.1:0", "t")
    with End(document, tmp_path / "s.log", {}) as server:
        way = ends.link_plan(server.wait_for("listening", silent)["address"], "t")
        while finished is None:
            document = ends.client_plan(wanted, shards.twin, way, str(folder / "rejects"))
            with End(document, tmp_path / "c.log", {}) as client:
                finished = killed_or_finished(client, server, "client", kills < 10)
            kills += finished is None
    assert (kills, finished["rejected"]) == (10, 1)
    assert finished["rows_stored"] + finished["rows_before"] == 2 * rows
    assert count(into, "killed") == (2 * rows, 2 * rows, rows * (2 * rows - 1))


# what is decided without a server

SHARD = ["2", "1", "1", "ch2", "9000", "default", ""]


def detail(definition: str, *shards: list[str], engine: str = "Distributed") -> list[list[str]]:
    each = shards or (["1", "1", "1", "ch1", "9000", "default", "10.0.0.1:18123"], SHARD)
    return [[engine, definition, "db", *shard] for shard in each]


def test_shards_are_reached_where_inrush_or_the_shipped_ports_say() -> None:
    found = clickhouse_shards.sharded_table(
        "t", detail("Distributed('c', 'db', 't', cityHash64(`a`, b)) SETTINGS x = 1")
    )
    assert found is not None
    assert found.urls == ("clickhouse://default@10.0.0.1:18123/db", "clickhouse://default@ch2:8123/db")
    assert (found.key, found.name) == (("a", "b"), "t")
    assert found.rule == {"kind": "distributed", "hash": "city_hash64", "weights": [1, 1]}
    renamed = clickhouse_shards.sharded_table("t", detail("Distributed(c, other, t_local, id)"))
    assert renamed is not None and (renamed.name, renamed.key) == ("other.t_local", ("id",))
    assert clickhouse_shards.sharded_table("t", detail("MergeTree ORDER BY id", engine="MergeTree")) is None


@pytest.mark.parametrize(
    ("definition", "shard", "said"),
    [
        ("Distributed(c, db, t, id)", [*SHARD[:2], "2", *SHARD[3:]], "replicas"),
        ("Distributed(c, db, t, id)", [*SHARD[:4], "9440", *SHARD[5:]], "not the port of HTTP"),
        ("Distributed(c, db, t, id)", ["0", *SHARD[1:]], "no cluster c"),
        ("Distributed(c, db, t)", SHARD, "no sharding key"),
        ("Distributed(c, currentDatabase(), t, id)", SHARD, "name the database"),
        ("Distributed(c, db, t, sipHash64(id))", SHARD, "not placed by sipHash64"),
        ("Distributed(c, db, t, id % 4)", SHARD, "not placed by id % 4"),
        ("Distributed(c, db, t, intHash64(f(a, b)))", SHARD, "not placed by"),
    ],
)
def test_what_cannot_be_placed_is_said_with_a_remedy(definition: str, shard: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        clickhouse_shards.sharded_table("t", detail(definition, shard))

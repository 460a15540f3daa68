"""A sharded PostgreSQL of inrush's own: started as one, found by `inrush load`, with a replica of every row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Stop, Target
from inrush.engines.postgresql import shards as postgresql_shards
from inrush.engines.servers import life
from inrush.errors import TargetError, UsageError
from inrush.load.call import Call
from inrush.load.check import Loaded
from inrush.load.run import load
from inrush.plan import ends
from inrush.targets import instances, shards

from .servers import control, need, own_server, scratch
from .test_load import count, rows_file, silent
from .test_load_server import loaded, serving

SHARDS = 2
ASKED = f"postgresql,shards={SHARDS},profile=default,shared_buffers=16MB,max_connections=40"


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """Its folder, and what its start told: the coordinator, then the shards."""
    need("postgresql")
    with scratch() as data:
        rows = instances.start([ASKED], data, silent).rows
        try:
            yield data, rows
        finally:
            instances.stop(["postgresql"], data, silent)
            assert not life.working_in(data)


def run(wanted: Call, folder: Path) -> Loaded:
    return load(wanted, folder, silent, silent)


def call(table: str, files: list[Path], into: str, **words: Any) -> Call:
    return Call(tuple(map(str, files)), table, into, chunk_rows=500, flush_rows=1_500, **words)


@pytest.mark.slow
def test_coordinator_and_shards_are_listed_and_a_second_start_is_refused(cluster: Any) -> None:
    data, rows = cluster
    assert [row["role"] for row in rows] == ["coordinator", "shard 0", "shard 1"]
    assert all(row["running"] and row["url"] for row in rows) and len({row["url"] for row in rows}) == 3
    assert instances.status(["postgresql"], data, silent).rows == rows
    with pytest.raises(UsageError, match="runs already at"):
        instances.start(["postgresql"], data, silent)


@pytest.mark.ci
def test_a_coordinator_knows_its_shards_and_its_tables_their_key(cluster: Any, tmp_path: Path) -> None:
    _, rows = cluster
    into = rows[0]["url"]
    first, second = rows_file(tmp_path / "a.csv", 0, 3_000), rows_file(tmp_path / "b.csv", 3_000, 2_000)
    # Without a key a new table is the coordinator's own, and that is said.
    said: list[str] = []
    alone = load(call("alone", [first], into, create=True), tmp_path, said.append, silent)
    assert (alone.rows_stored, len(alone.shards)) == (3_000, 1) and "--key" in said[0]
    done = run(call("found", [first], into, create=True, key=("id", "name")), tmp_path)
    assert (done.rows_stored, done.proven, len(done.shards)) == (3_000, True, SHARDS)
    # The table is there: the key is its own.
    again = run(call("found", [second], into), tmp_path)
    assert (again.rows_stored, again.proven, len(again.shards)) == (2_000, True, SHARDS)
    with pytest.raises(UsageError, match="placed by id,name"):
        run(call("found", [second], into, key=("dev",)), tmp_path)
    assert count(Target("postgresql", into), "found") == (5_000, 5_000, 5_000 * 4_999 // 2)
    here = [count(row["url"], "found")[0] for row in rows[1:]]
    assert sum(here) == 5_000 and min(here) > 0
    for k in range(SHARDS):
        rule = f"satisfies_hash_partition('found'::regclass, {SHARDS}, {k}, id, name)"
        [[right]] = control(
            Target("postgresql", into),
            f"SELECT COUNT(*) FROM (SELECT * FROM found_{k} OFFSET 0) here WHERE {rule}",
        )
        assert int(right) == here[k]
    # A plain table of the coordinator's is loaded where it is.
    control(
        Target("postgresql", into),
        "CREATE TABLE plain (id bigint, at timestamptz, dev int, v float8, name text)",
    )
    plain = run(call("plain", [first], into), tmp_path)
    assert (plain.rows_stored, len(plain.shards)) == (3_000, 1)


@pytest.mark.ci
def test_what_a_stopped_shard_had_lies_on_its_replica_to_the_row(cluster: Any, tmp_path: Path) -> None:
    data, rows = cluster
    into = rows[0]["url"]
    files = [rows_file(tmp_path / f"{n}.csv", n * 2_000, 2_000) for n in range(2)]
    wanted = call("twice", files, into, create=True, key=("id",), replica=True, parallel=2)
    done = run(wanted, tmp_path)
    assert (done.rows_stored, done.rows_in_ledger, done.rows_on_replicas, done.proven) == (
        4_000, 4_000, 4_000, True,
    )  # fmt: skip
    again = run(wanted, tmp_path)
    assert (again.rows_stored, again.rows_before, again.rows_on_replicas) == (0, 4_000, 4_000)
    # Every row once through the coordinator: copies are no part of its table.
    assert count(Target("postgresql", into), "twice") == (4_000, 4_000, 4_000 * 3_999 // 2)
    everything = "SELECT id::text, at::text, dev::text, v::text, name FROM {} ORDER BY id"
    had = control(Target("postgresql", rows[1]["url"]), everything.format("twice"))
    assert len(had) > 0
    own, [_, lost, _] = own_server("postgresql"), instances.parts(server("postgresql"), data)
    own.stop(lost, Stop.KILL)
    try:
        notes: list[str] = []
        detail = instances.status(["postgresql"], data, notes.append).rows
        assert [(r["role"], r["running"]) for r in detail] == [
            ("coordinator", True), ("shard 1", True), ("shard 0", False),
        ]  # fmt: skip
        assert "shard 0 has ended by itself" in notes[0] and str(lost.log) in notes[0]
        beside = control(Target("postgresql", rows[2]["url"]), everything.format("twice_replica"))
        assert beside == had
    finally:
        instances.write(server("postgresql"), data, own.start(lost.data, lost.settings))


@pytest.mark.slow
def test_a_load_server_says_where_copies_lie_whatever_its_client_says(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, rows = cluster
    planned = ends.import_plan

    def elsewhere(*words: Any) -> Any:
        made = planned(*words)
        for place in made["shards"] + made["replicas"]:
            place["plan"]["target"] = {**place["plan"]["target"], "url": "postgresql://127.0.0.9:1/nowhere"}
        return made

    monkeypatch.setattr(ends, "import_plan", elsewhere)
    file = rows_file(tmp_path / "a.csv", 0, 2_000)
    words = [word for row in rows[1:] for word in ("--shard", row["url"])]
    with serving(tmp_path, rows[0]["url"], *words) as shown:
        done = loaded(tmp_path / "loads", "far", file, shown, key=("id",), replica=True)
    assert (done.rows_stored, done.rows_in_ledger, done.rows_on_replicas, done.proven) == (
        2_000, 2_000, 2_000, True,
    )  # fmt: skip
    assert [s["rows"] for s in done.shards[:2]] == [s["rows"] for s in done.shards[2:]]
    everything = "SELECT id::text, at::text, dev::text, v::text, name FROM {} ORDER BY id"
    for k, row in enumerate(rows[1:]):
        had = control(Target("postgresql", row["url"]), everything.format("far"))
        beside = control(
            Target("postgresql", rows[1 + (k + 1) % SHARDS]["url"]), everything.format("far_replica")
        )
        assert had and beside == had


@pytest.mark.slow
def test_a_load_without_replicas_gets_them_when_it_is_asked_again(cluster: Any, tmp_path: Path) -> None:
    _, rows = cluster
    file = rows_file(tmp_path / "a.csv", 0, 1_000)
    words = {"create": True, "key": ("id",)}
    assert run(call("later", [file], rows[0]["url"], **words), tmp_path).rows_on_replicas is None
    done = run(call("later", [file], rows[0]["url"], replica=True, **words), tmp_path)
    assert (done.rows_in_ledger, done.rows_on_replicas, done.proven) == (1_000, 1_000, True)
    assert sum(count(row["url"], "later")[0] for row in rows[1:]) == 1_000


@pytest.mark.slow
def test_a_shard_that_does_not_start_stops_the_others_and_shows_its_log(folder: Path) -> None:
    need("postgresql")
    instances.start([ASKED], folder, silent)
    instances.stop(["postgresql"], folder, silent)
    with (folder / "postgresql-kept-shard-1" / "cluster" / "postgresql.conf").open("a") as conf:
        conf.write("no_such_setting = 1\n")
    with pytest.raises(TargetError, match=r"(?s)the others were stopped|no_such_setting") as said:
        instances.start([ASKED], folder, silent)
    assert "no_such_setting" in str(said.value) and "2 shards" in str(said.value)
    assert not life.working_in(folder)
    with pytest.raises(UsageError, match="has 2 shards"):
        instances.start([ASKED.replace("shards=2", "shards=3")], folder, silent)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("mysql,shards=2", "no coordinator"),
        ("postgresql,shards=0", "1 to 64"),
        ("postgresql,shards=many", "1 to 64"),
    ],
)
def test_shards_that_cannot_be_are_refused(words: str, said: str) -> None:
    [(twin, settings)] = instances.chosen([words])
    with pytest.raises(UsageError, match=said):
        shards.split(twin, settings)


def test_what_a_shards_url_says_of_tls_is_told_to_the_coordinator_and_read_back() -> None:
    url = "postgresql://load%40er@db.example:5433/rows?sslmode=verify-full&sslrootcert=/etc/ca.pem"
    known = "\n".join(postgresql_shards.servers([url], {url: "p:w"}))
    for option in ("'sslmode', 'verify-full'", "'sslrootcert', '/etc/ca.pem'", "'port', '5433'"):
        assert option in known
    server = '{"host": "db.example", "port": "5433", "dbname": "rows", "sslmode": "verify-full", "sslrootcert": "/etc/ca.pem"}'
    user = '{"user": "load@er", "password": "p:w"}'
    [found] = postgresql_shards.worker_urls("postgresql", [("inrush_shard_0", server, user)])
    assert found == url.replace("load%40er@", "load%40er:p%3Aw@")


def test_partitions_that_are_no_shards_are_refused() -> None:
    def row(bound: str, there: str = "{}") -> tuple[str | None, ...]:
        return ("p", '["id"]', bound, '{"host": "a"}', "{}", there)

    hashed = "FOR VALUES WITH (modulus 2, remainder {})"
    rows = [row(hashed.format(1)), row(hashed.format(0))]
    found = postgresql_shards.sharded_table("postgresql", "t", rows)
    assert found is not None and found.key == ("id",) and len(found.urls) == 2
    for wrong in (
        [row(hashed.format(0))],
        [row("FOR VALUES FROM (1) TO (2)"), rows[0]],
        [row(hashed.format(0), '{"table_name": "other"}'), rows[0]],
        [(*rows[0][:1], "[null]", *rows[0][2:]), rows[1]],
    ):
        with pytest.raises(UsageError):
            postgresql_shards.sharded_table("postgresql", "t", wrong)
    assert postgresql_shards.sharded_table("postgresql", "t", [("r", None, None, None, None, None)]) is None

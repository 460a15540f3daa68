"""PostgreSQL by its Unix socket: runs, loads and shards by libpq's URLs, and what is said when nobody is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Instance, Stop, Target
from inrush.engines.servers import life, secret
from inrush.run import oracle
from inrush.targets.deployment import Deployment

from .border import run
from .servers import control, need, own_server, scratch
from .test_contract import planned
from .test_load import call, count, rows_file
from .test_load import run as load
from .test_tls import refusal, tls_of


@pytest.fixture(scope="module")
def instance() -> Iterator[Instance]:
    """Its folder has a name with capitals and blanks; a comma would separate hosts to libpq."""
    need("postgresql")
    own = own_server("postgresql")
    with scratch() as folder:
        instance = own.start(folder / "My data here", {"shared_buffers": "16MB"})
        try:
            yield instance
        finally:
            own.stop(instance, Stop.CLEAN)


def url(instance: Instance, database: str = "postgres") -> str:
    return secret.named(
        f"postgresql://postgres@:{instance.port}/{database}?host={socket_folder(instance)}", instance.data
    )


def socket_folder(instance: Instance) -> str:
    return str(instance.data / "cluster").replace(" ", "%20")


def by_socket(instance: Instance) -> Target:
    return Target("postgresql", url(instance))


def test_every_form_of_libpqs_reaches_the_folders_server(instance: Instance) -> None:
    folder = socket_folder(instance)
    without = (
        f"postgresql:///postgres?host={folder}&port={instance.port}",
        f"postgresql://postgres@{folder.replace('/', '%2F')}:{instance.port}/postgres",
        f"postgres://nowhere.example:1/postgres?host={folder}&port={instance.port}&sslmode=require",
    )
    forms = (url(instance), *(secret.named(form, instance.data) for form in without))
    for form in forms:
        detail = control(Target("postgresql", form), "SELECT inet_client_addr() IS NULL, current_user")
        assert detail == [["true", "postgres"]], form
    assert control(Target("postgresql", instance.url), "SELECT inet_client_addr() IS NULL") == [["false"]]


def test_a_run_by_the_socket_is_proven_and_says_that_nothing_was_encrypted(
    instance: Instance, folder: Path
) -> None:
    target = by_socket(instance)
    assert tls_of(target) == "none, by a Unix socket"
    assert tls_of(Target("postgresql", instance.url)) == "none"
    plan = planned("postgresql", "bulk").plan
    ran = run(Deployment(server("postgresql"), target), plan, folder)
    assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last
    assert not ran.broken() and not ran.tables["failures"]
    assert {p["item"] for p in ran.tables["proofs"]} >= {"rows", "read_back"}
    assert ran.totals("writers")["rows"] == 10_000
    assert all(v.holds for v in oracle.verdicts(ran.plan, ran.tables["answers"], _core.generate))
    assert any(row["name"].startswith("table:") for row in ran.tables["sizes"])


def test_a_statement_is_cancelled_by_a_second_connection_to_the_socket(instance: Instance) -> None:
    with pytest.raises(_core.CoreFailure) as late:
        control(by_socket(instance), "SELECT pg_sleep(600)", 0.3)
    assert late.value.args[0] == "deadline"
    busy = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'"
    assert control(by_socket(instance), busy) == [["0"]]


def test_files_are_loaded_over_shards_that_coordinator_and_loader_reach_by_sockets(
    instance: Instance, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        control(by_socket(instance), f"CREATE DATABASE {name}")
    shards = tuple(url(instance, name) for name in ("first", "second"))
    first, second = rows_file(tmp_path / "a.csv", 0, 2_000), rows_file(tmp_path / "b.csv", 2_000, 1_000)
    done = load(call("spread", [first], into=url(instance), shards=shards, key=("id",)), tmp_path / "loads")
    assert (done.rows_stored, done.proven, len(done.shards)) == (2_000, True, 2)
    # The coordinator tells where they are: as a folder, which the load finds again.
    again = load(call("spread", [second], into=url(instance)), tmp_path / "loads")
    assert (again.rows_stored, again.proven, len(again.shards)) == (1_000, True, 2)
    assert count(by_socket(instance), "spread") == (3_000, 3_000, 3_000 * 2_999 // 2)
    assert min(count(shard, "spread")[0] for shard in shards) > 0
    [[options]] = control(
        by_socket(instance), "SELECT srvoptions::text FROM pg_foreign_server WHERE srvname = 'inrush_shard_1'"
    )
    assert f"host={instance.data / 'cluster'}" in options


def test_nobody_at_the_socket_is_one_line_that_names_it(instance: Instance, folder: Path) -> None:
    wrong = url(instance).replace(f":{instance.port}/", ":1/")
    message = refusal(Target("postgresql", wrong))
    assert f"there is no socket at {instance.data}/cluster/.s.PGSQL.1;" in message
    deep = f"postgresql:///postgres?host={folder}/{'d' * 100}"
    message = refusal(Target("postgresql", deep))
    assert "the path of a socket 107 at most" in message and "symbolic link" in message


@pytest.mark.slow
def test_a_server_in_a_folder_too_deep_for_a_socket_runs_without_and_a_killed_ones_is_made_anew(
    folder: Path,
) -> None:
    own = own_server("postgresql")
    deep = folder / ("d" * (life.SOCKET_PATH_BYTES - len(bytes(folder)) - 4))
    server = own.start(deep, {"shared_buffers": "16MB"})
    assert control(server, "SHOW unix_socket_directories") == [[""]]
    own.stop(server, Stop.CLEAN)
    server = own.start(folder / "pg", {"shared_buffers": "16MB"})
    own.stop(server, Stop.KILL)
    lock = server.data / "cluster" / f".s.PGSQL.{server.port}.lock"
    # As if the dead server's id were another process's by now: ours.
    lock.write_text(lock.read_text().replace(str(server.pid), "1", 1))
    again = own.start(folder / "pg", {"shared_buffers": "16MB"})
    assert control(by_socket(again), "SELECT 1") == [["1"]]
    own.stop(again, Stop.CLEAN)
    assert not list(again.data.rglob(".s.PGSQL.*"))

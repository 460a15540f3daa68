"""`inrush load` on MySQL and MariaDB: rows and ledger line are one transaction, whatever is killed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.engines.base.instance import Target
from inrush.errors import UsageError
from inrush.plan import ends
from inrush.plan.ledger import LEDGER, rows_in_ledger

from .servers import control, with_database
from .test_load import End, call, documents, killed_or_finished, rows_file, run, silent

DATABASE = "inrush_load_kills"
COLUMNS = "id bigint, at datetime(6), dev int, v double, name varchar(20)"


@pytest.fixture(params=["mysql", "mariadb"])
def place(request: pytest.FixtureRequest) -> Iterator[Target]:
    """A database of the test's own."""
    server: Target = request.getfixturevalue(request.param)
    control(server, f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    yield Target(server.engine, with_database(server.url, DATABASE))
    control(server, f"DROP DATABASE {DATABASE}")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["load", "multirow"])
def test_kill_9_at_random_points_of_the_load_server_stores_every_row_once(
    place: Target, method: str, tmp_path: Path, whole: bool
) -> None:
    rows, folder = 20_000, tmp_path / "loads"
    files = [rows_file(tmp_path / f"{n}.csv", n * rows, rows, bad=n) for n in range(2)]
    control(place, f"CREATE TABLE t ({COLUMNS})")
    # Held to a rate, so that kills fall inside of it.
    held = sum(f.stat().st_size for f in files) / 10.0
    wanted, shards, targets = documents(
        call("t", files, into=place.url, parallel=2, connections=2, bytes_per_s=held, method=method), folder
    )
    (folder / "rejects").mkdir(parents=True)
    random.seed(f"{place.engine} {method}")
    wanted_kills = 20 if whole else 6
    kills, finished = 0, None
    while finished is None:
        document = ends.server_plan(wanted, shards.twin, targets, "127.0.0.1:0", "t")
        with End(document, tmp_path / "s.log", {}) as server:
            address = server.wait_for("listening", silent)["address"]
            document = ends.client_plan(
                wanted, shards.twin, ends.link_plan(address, "t"), str(folder / "rejects")
            )
            with End(document, tmp_path / "c.log", {}) as client:
                finished = killed_or_finished(client, server, "server", kills < wanted_kills)
        kills += finished is None
    assert kills == wanted_kills
    [[stored, distinct, total]] = control(place, "SELECT COUNT(*), COUNT(DISTINCT id), SUM(id) FROM t")
    assert [int(stored), int(distinct), int(total)] == [2 * rows, 2 * rows, 2 * rows * (2 * rows - 1) // 2]
    assert finished["rejected"] == 1 and finished["rows_stored"] + finished["rows_before"] == 2 * rows
    [[in_ledger]] = control(place, rows_in_ledger(wanted.import_id))
    assert int(in_ledger) == 2 * rows


def test_a_table_without_transactions_is_refused(place: Target, tmp_path: Path) -> None:
    control(place, f"CREATE TABLE t ({COLUMNS}) ENGINE=MyISAM")
    with pytest.raises(UsageError, match="MyISAM has no transactions"):
        run(call("t", [rows_file(tmp_path / "a.csv", 0, 10)], into=place.url), tmp_path)


@pytest.mark.parametrize("method", ["bulk", "load", "multirow"])
def test_every_method_commits_rows_with_their_lines(place: Target, method: str, tmp_path: Path) -> None:
    if method == "bulk" and place.engine == "mysql":
        pytest.skip("bulk execute is MariaDB's")
    control(place, f"CREATE TABLE t ({COLUMNS}, PRIMARY KEY (id))")
    good = rows_file(tmp_path / "a.csv", 0, 1_200)
    done = run(call("t", [good], into=place.url, method=method), tmp_path / "loads")
    assert (done.rows_stored, done.proven) == (1_200, True)
    # A batch that the server refuses leaves neither rows nor lines: here its last row is there already.
    clash = rows_file(tmp_path / "b.csv", 5_000, 700)
    clash.write_text(clash.read_text() + "0,2026-01-01,0,0,twice\n")
    with pytest.raises(Exception, match=r"(?i)duplicate"):
        refused = call("t", [clash], into=place.url, method=method, patience_s=0.2, reject_limit=0)
        run(refused, tmp_path / "loads")
    [[rows]] = control(place, "SELECT COUNT(*) FROM t")
    [[lines]] = control(place, f"SELECT COALESCE(SUM(row_count), 0) FROM {LEDGER}")
    assert int(rows) == int(lines) and int(rows) < 1_901
    done = run(call("t", [clash], into=place.url, method=method), tmp_path / "loads")
    assert (done.rows_stored + done.rows_before, done.rejected) == (700, 1), done.reason

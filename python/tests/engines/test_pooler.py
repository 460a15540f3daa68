"""Through PgBouncer in transaction mode: each transaction has another of two sessions of the server."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.border import address
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.engines.servers.debian import Packages
from inrush.engines.servers.ports import free_port
from inrush.targets.deployment import Deployment
from tests.engines.test_contract import WAYS, planned
from tests.engines.test_load_merge import CREATE, WORDS, content, killed_twenty_times
from tests.engines.test_load_proof import Place
from tests.test_load_merge import ROWS, two_files

from .border import run
from .servers import REQUIRE, control, password_of, scratch

PGBOUNCER = Packages("pgbouncer", "pgbouncer-12", "bookworm", ("pgbouncer",), "usr/sbin/pgbouncer")
SESSIONS = 2


@pytest.fixture(scope="module")
def pooler(postgresql: Target) -> Iterator[Target]:
    """The server of the tests behind a pooler with two sessions for each database."""
    release = PGBOUNCER.cached()
    if release is None and not os.environ.get(REQUIRE):
        pytest.skip(f"no pgbouncer here; {REQUIRE}=1 fetches it")
    release = release or PGBOUNCER.release()
    of, port = address.read(postgresql.url), free_port()
    with scratch() as folder:
        yield from behind(postgresql, of, folder, port, PGBOUNCER.program_in(release.path))


def behind(
    postgresql: Target, of: address.ServerUrl, folder: Path, port: int, program: Path
) -> Iterator[Target]:
    (folder / "users").write_text(f'"{of.user}" "{password_of(postgresql)}"\n')
    (folder / "ini").write_text(
        f"[databases]\n* = host=127.0.0.1 port={of.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"auth_type = plain\nauth_file = {folder}/users\npool_mode = transaction\ndefault_pool_size = {SESSIONS}\n"
        "unix_socket_dir =\nuser = nobody\n"
    )
    with (folder / "log").open("w") as log:
        running = subprocess.Popen([program, folder / "ini"], stdout=log, stderr=log)
    try:
        url = postgresql.url.replace(f":{of.port}/", f":{port}/")
        target = Target("postgresql", url)
        until = time.monotonic() + 20
        while True:
            try:
                control(target, "SELECT 1")
                break
            except Exception:
                assert running.poll() is None and time.monotonic() < until, (folder / "log").read_text()
                time.sleep(0.1)
        yield target
    finally:
        running.terminate()
        running.wait()


@pytest.fixture
def place(pooler: Target, postgresql: Target) -> Iterator[Place]:
    name = f"pooled_{random.randrange(1 << 40):x}"
    control(postgresql, f"CREATE DATABASE {name}")
    yield Place(pooler, name)
    # The pooler keeps its sessions.
    control(postgresql, f"DROP DATABASE {name} WITH (FORCE)")


def test_a_load_is_proven(place: Place, tmp_path: Path) -> None:
    first, second, updated, _ = two_files(tmp_path)
    place.ask(CREATE)
    first.write_text(first.read_text() + "9999,-1,below\n")
    done = place.load([first], tmp_path / "loads", connections=4, chunk_rows=100, flush_rows=200)
    assert (done.verdict, done.rows_stored, done.rejected) == ("proven", ROWS, 1), done.why
    done = place.load([second], tmp_path / "loads", merging="update", **WORDS)
    assert done.verdict == "proven" and content(place) == updated, done.why


@pytest.mark.slow
def test_a_load_that_is_killed_twenty_times_has_every_row_once(place: Place, tmp_path: Path) -> None:
    killed_twenty_times(place, tmp_path)


@pytest.mark.parametrize("method", WAYS["postgresql"])
def test_rows_are_stored_and_answers_right_by_each_method(pooler: Target, method: str, folder: Path) -> None:
    deployment = Deployment(server("postgresql"), pooler)
    plan: Any = planned("postgresql", method).plan
    try:
        ran = run(deployment, plan, folder)
        assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last
        assert not ran.broken() and not ran.tables["failures"], (ran.broken(), ran.tables["failures"])
    finally:
        deployment.drop_leftover(plan)


@pytest.mark.parametrize(
    ("words", "fails"), [("", False), ("pooler=transaction", False), ("pooler=none", True)]
)
def test_many_readers_share_two_sessions(pooler: Target, words: str, fails: bool, folder: Path) -> None:
    """Statements that one session keeps are none of the other's: what is said against the pooler fails."""
    url = pooler.url + (f"{'&' if '?' in pooler.url else '?'}{words}" if words else "")
    deployment = Deployment(server("postgresql"), Target("postgresql", url))
    plan: Any = planned("postgresql", "multirow", "roles.writers.sessions=4").plan
    try:
        ran = run(deployment, plan, folder)
        failed = ran.last["event"] != "finished" or bool(ran.tables.get("failures"))
        assert failed is fails, (ran.last, ran.tables.get("failures"))
    finally:
        deployment.drop_leftover(plan)

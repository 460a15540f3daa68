"""Real servers for tests: one of each, started once a session, in a folder that `nobody` can enter.

`INRUSH_<ENGINE>_URL` names one that runs already; of several processes (`-n`) it is the first one's, and the others start
their own. Another one is started if it is fetched, and its tests are skipped, and say so, if it is not. Nothing is
downloaded unless servers are required. `make test` starts none.
"""

from __future__ import annotations

import base64
import contextlib
import os
import random
import shutil
import signal
import tempfile
import urllib.request
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import pytest

from inrush.border.plan import Statement
from inrush.engines import server
from inrush.engines.base.instance import Instance, Stop, Target
from inrush.engines.servers import life, secret
from inrush.engines.servers.own_server import OwnServer
from inrush.targets.ask import ask

#: Set where real servers must be there: then a missing one fails instead of being skipped.
REQUIRE = "INRUSH_REQUIRE_SERVERS"
#: Set where none is started, as by `make test`.
START_NONE = "INRUSH_START_NO_SERVERS"
#: Servers that share wire and life with another one. Where a test takes seconds on each server, theirs are slow ones.
AS_ANOTHER = ("timescaledb", "mariadb")
#: pytest-xdist's name of the first process.
FIRST = "gw0"
#: Small: six servers and their tests share a machine.
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "postgresql": {"shared_buffers": "64MB", "max_wal_size": "512MB"},
    "timescaledb": {"shared_buffers": "64MB", "max_wal_size": "512MB"},
    "mysql": {"innodb_buffer_pool_size": "128M", "innodb_redo_log_capacity": "32M"},
    "mariadb": {"innodb_buffer_pool_size": "128M", "innodb_log_file_size": "32M"},
    "clickhouse": {},
    "influxdb": {},
    "ndb": {
        "DataMemory": "80M",
        "TransactionMemory": "32M",
        "SharedGlobalMemory": "16M",
        "DiskPageBufferMemory": "4M",
        "LongMessageBuffer": "8M",
        "RedoBuffer": "4M",
        "TotalSendBufferMemory": "8M",
        "NoOfFragmentLogFiles": "4",
    },
    # What was acknowledged is there after a kill.
    "valkey": {"appendonly": "yes", "appendfsync": "always"},
    "questdb": {},
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """Empty; pytest's own folders are closed to the user that servers run as."""
    with scratch() as path:
        yield path


#: Where the folders of tests are, and how their names begin; the process that made them follows.
SCRATCH, PREFIX = Path("/var/tmp"), "inrush-test-"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=SCRATCH))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def own_server(engine: str) -> OwnServer:
    found = server(engine).lifecycle
    assert isinstance(found, OwnServer)
    return found


def each_kind(cases: Iterable[Any], dear: Collection[Any] = AS_ANOTHER) -> list[Any]:
    """Parameters of a test on each of these servers, or on a server with something else behind it; *dear* ones are slow."""
    values = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*v, marks=[pytest.mark.slow] * (v[0] in dear or v in dear)) for v in values]


def need(engine: str) -> None:
    """Skips, or fetches, or fails: see REQUIRE and START_NONE."""
    if server(engine).lifecycle is None:
        pytest.skip(f"inrush starts no {engine}; INRUSH_{engine.upper()}_URL names one")
    if os.environ.get(REQUIRE):
        own_server(engine).fetch()
    elif os.environ.get(START_NONE):
        pytest.skip(f"{START_NONE} is set; `make test-all` starts a {engine} that is fetched")
    elif own_server(engine).fetched() is None:
        pytest.skip(f"no {engine} here; `inrush engines fetch {engine}` gets one, {REQUIRE}=1 demands it")


def started(engine: str) -> Iterator[Target]:
    """One for all tests of a session; stopped at its end, however that comes."""
    if url := running(engine, os.environ):
        yield Target(engine, url)
        return
    need(engine)
    with scratch() as path:
        instance = own_server(engine).start(path / engine, SETTINGS[engine])
        try:
            yield Target(engine, instance.url, {}, instance)
        finally:
            own_server(engine).stop(instance, Stop.CLEAN)


def running(engine: str, environment: Mapping[str, str]) -> str | None:
    """The server that runs already, where it is this process's: two that make and drop on one server disturb each other."""
    first = environment.get("PYTEST_XDIST_WORKER", FIRST) == FIRST
    return environment.get(f"INRUSH_{engine.upper()}_URL") if first else None


def fixture_of(engine: str) -> Callable[..., Any]:
    def target() -> Iterator[Target]:
        yield from started(engine)

    return pytest.fixture(scope="session", name=engine)(target)


postgresql = fixture_of("postgresql")
timescaledb = fixture_of("timescaledb")
mysql = fixture_of("mysql")
mariadb = fixture_of("mariadb")
clickhouse = fixture_of("clickhouse")
influxdb = fixture_of("influxdb")
ndb = fixture_of("ndb")
valkey = fixture_of("valkey")
questdb = fixture_of("questdb")


@pytest.fixture(scope="session")
def postgresql_programs() -> None:
    need("postgresql")


def with_database(url: str, name: str) -> str:
    """The same server and log-in, and another database."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def password_of(target: Target) -> str:
    return secret.in_file(Path(secret.file_in(target.url))) or ""


def written(influxdb: Target, database: str, line: bytes) -> None:
    """A line of InfluxDB's, past inrush."""
    parts = urlsplit(influxdb.url)
    login = base64.b64encode(f"{parts.username}:{password_of(influxdb)}".encode()).decode()
    address = f"http://{parts.hostname}:{parts.port}/write?db={database}"
    request = urllib.request.Request(address, line, {"Authorization": f"Basic {login}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 204


@contextlib.contextmanager
def databases(server: Target, count: int) -> Iterator[list[str]]:
    """Addresses of so many new databases of one server, which stand for servers of their own; dropped at the end."""
    names = [f"inrush_part_{random.randrange(1 << 40):x}" for _ in range(count)]
    for name in names:
        control(server, f"CREATE DATABASE {name}")
    try:
        yield [with_database(server.url, name) for name in names]
    finally:
        for name in names:
            control(server, f"DROP DATABASE {name} WITH (FORCE)")


def end_on_sigterm() -> None:
    """A session that is asked to end, ends as by Ctrl-C: what it started is stopped."""

    def ask(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, ask)


def end_those_left(above: Path = SCRATCH) -> None:
    """Ends the servers of sessions that were killed: they would take the processors and the memory of all later tests."""
    for folder in above.glob(f"{PREFIX}*-*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if not owner.isdecimal() or life.started_at(int(owner)) is not None:
            continue
        for pid in life.servers_in(folder):
            life.end(pid, signal.SIGKILL, folder, limit_s=10.0)
        shutil.rmtree(folder, ignore_errors=True)  # another session may be at it too


def control(instance: Instance | Target, statement: Statement, limit_s: float = 30.0) -> list[list[Any]]:
    """Rows of one statement, through the core."""
    twin = server(instance.engine)
    target = twin.run_target(Target(instance.engine, instance.url), Path("/nowhere"))
    return ask(
        {"engine": instance.engine, "url": instance.url, "options": dict(target.options)}, statement, limit_s
    )

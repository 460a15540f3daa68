"""Before the first run: what stands in the way is said of all targets at once, in seconds, and leaves no results."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.commands.running import check_targets
from inrush.engines import ENGINES, server
from inrush.engines.base import protocol_probe as greeting
from inrush.engines.base.protocol_probe import SSL_REQUEST, Port, Protocol, heard, port_of, protocol_of
from inrush.engines.postgresql.release import installed, is_file
from inrush.errors import UsageError
from inrush.machine import host
from inrush.run.call import Prepared, StudyCall
from inrush.run.preflight import admit
from inrush.run.prepare import prepare
from inrush.targets.deployment import Deployment
from inrush.targets.deployments import deployment_at
from tests.terminal import Inrush

POSTGRESQL = "postgresql://me@db.example/d"
GREETING = b"\x4a\0\0\0\x0a9.7.0\0" + b"x" * 60
#: MySQL's error before any log-in.
BLOCKED = b"\x20\0\0\0\xff\x69\x04Host is blocked"
FATAL = b'SFATAL\0C28P01\0Mpassword authentication failed for user "me"\0\0'
PASSWORD_REFUSED = b"E" + (4 + len(FATAL)).to_bytes(4, "big") + FATAL

#: The first word of a client (empty: it was only connected to) -> what the server says to it; None: it closes.
Says = Callable[[bytes], bytes | None]


def mysql(word: bytes) -> bytes | None:
    return GREETING if not word else b""


def postgresql(word: bytes) -> bytes | None:
    if not word:
        return b""
    return b"N" if word == SSL_REQUEST else None if word.startswith(b"GET") else PASSWORD_REFUSED


def http(word: bytes) -> bytes | None:
    return b"" if not word.startswith(b"GET") else b"HTTP/1.0 204 No Content\r\n\r\n"


def resp(word: bytes) -> bytes | None:
    """As Valkey: it answers a line, and waits for the end of one."""
    if not word.endswith(b"\r\n"):
        return b""
    return b"+PONG\r\n" if word == b"PING\r\n" else b"-ERR unknown command\r\n"


def ndb_management(word: bytes) -> bytes | None:
    """It reads lines, and closes at a command that it does not know."""
    if not word:
        return b""
    return b"version\nid: 591618\nstring: mysql-9.7.2 ndb-9.7.2\n\n" if word == b"get version\n\n" else None


def silent(_: bytes) -> bytes | None:
    return b""


def closing(word: bytes) -> bytes | None:
    return None if word else b""


def babbling(word: bytes) -> bytes | None:
    return b"" if word else b"220 mail.example ready"


@contextlib.contextmanager
def listening(says: Says) -> Iterator[int]:
    """A port where so is answered."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                connection.sendall(says(b"") or b"")
                while word := connection.recv(65536):
                    answer = says(word)
                    if answer is None:
                        return
                    connection.sendall(answer)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


SPEAKERS: dict[Protocol, Says] = {
    Protocol.POSTGRESQL: postgresql,
    Protocol.MYSQL: mysql,
    Protocol.HTTP: http,
    Protocol.RESP: resp,
    Protocol.NDB_MANAGEMENT: ndb_management,
}


@pytest.mark.parametrize("expected", Protocol)
@pytest.mark.parametrize("real", Protocol)
def test_a_server_is_known_by_what_it_answers(expected: Protocol, real: Protocol) -> None:
    with listening(SPEAKERS[real]) as port:
        began = time.monotonic()
        assert heard(Port("127.0.0.1", port), expected) is real
        assert time.monotonic() - began < 2.5


@pytest.mark.parametrize("expected", Protocol)
@pytest.mark.slow
def test_a_port_that_says_nothing_is_called_silent_and_one_that_closes_or_babbles_is_not(
    expected: Protocol,
) -> None:
    with listening(silent) as port, pytest.raises(greeting.NoGreeting):
        heard(Port("127.0.0.1", port), expected)
    for says in (closing, babbling):
        with listening(says) as port:
            assert heard(Port("127.0.0.1", port), expected) is None


def test_an_answer_is_of_one_protocol_alone() -> None:
    assert protocol_of(b"S") is protocol_of(b"N") is protocol_of(PASSWORD_REFUSED) is Protocol.POSTGRESQL
    # Greetings of 78 and 83 bytes begin with the letters that PostgreSQL answers.
    for length in (b"N", b"S", b"\x4a"):
        assert protocol_of(length + b"\0\0\0\x0a5.7") is Protocol.MYSQL
    assert protocol_of(BLOCKED) is Protocol.MYSQL and protocol_of(b"HTTP/1.1 400") is Protocol.HTTP
    for length in (10, 255):  # what stands where MySQL has the first byte of its packet
        assert protocol_of(b"E" + length.to_bytes(4, "big") + b"SFATAL\0") is Protocol.POSTGRESQL
    for other in (b"", b"SSH-2.0-OpenSSH", b"220 mail", b"\x15\x03\x01\0\x02\x02", b"EHLO there"):
        assert protocol_of(other) is None, other


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("postgresql://me@db/d", Port("db", 5432)),
        ("postgresql://me:x@[::1]:6000/d?sslmode=require", Port("::1", 6000)),
        ("postgresql://me@a/d?host=b&port=7", Port("b", 7)),
        ("postgresql://me@:5433/d?host=/var/run/postgresql", None),
        ("postgresql://me@%2Fvar%2Frun%2Fpostgresql/d", None),
        ("mysql://me@localhost/?socket=/tmp/s", None),
        ("mysql://", Port("localhost", 3306)),
        ("postgresql://a,b/d", None),
        ("clickhouse://h:8443/?secure=true", None),
        ("clickhouse://h:8123/?secure=false", Port("h", 8123)),
        ("postgresql://h:port/d", None),
    ],
)
def test_a_url_leads_to_a_port_or_is_left_to_the_core(url: str, port: Port | None) -> None:
    assert port_of(url) == port


def test_every_server_that_can_be_reached_has_a_protocol_a_port_and_a_way_to_get_rights() -> None:
    twins = [server(name) for name in ENGINES]
    for twin in twins:
        has = twin.protocol is not None
        assert has == bool(twin.grant) == bool(twin.lock("inrush_x", "")), twin.name


# The whole command.


def test_all_targets_that_cannot_be_used_are_named_at_once_and_leave_no_results(inrush: Inrush) -> None:
    with listening(postgresql) as port, listening(mysql) as other:
        began = time.monotonic()
        urls = [
            f"mysql://me@127.0.0.1:{port}/d",
            f"postgresql://me@127.0.0.1:{port}/d",
            f"clickhouse://me@127.0.0.1:{other}/d",
            "influxdb://127.0.0.1:1/",
        ]
        said = inrush("run", "quickstart", *urls, "--scale", "xs")
        took_s = time.monotonic() - began
    assert said.code == 2 and said.out == "" and "Traceback" not in said.err
    assert took_s < 3 + 2, "a second of the command itself, on a busy machine"
    lines = said.err.splitlines()
    assert len(lines) == 4, said.err
    mine = sorted(line.removeprefix("inrush: ") for line in lines)
    detail = dict(zip(("clickhouse", "influxdb", "mysql", "postgresql"), mine, strict=True))
    assert f"port {port} answers in the protocol of PostgreSQL, and mysql speaks MySQL" in detail["mysql"]
    assert (
        f"port {other} answers in the protocol of MySQL, and clickhouse speaks HTTP" in detail["clickhouse"]
    )
    assert "password authentication failed" in detail["postgresql"] and "PGPASSWORD" in detail["postgresql"]
    assert "nothing listens on port 1" in detail["influxdb"]
    assert inrush.store.studies() == [] and list(inrush.store.root.iterdir()) == []


@pytest.mark.slow
def test_ports_that_take_connections_and_stay_silent_are_named_within_three_seconds(inrush: Inrush) -> None:
    with listening(silent) as port:
        schemes = ("clickhouse", "influxdb", "mysql", "postgresql")
        began = time.monotonic()
        said = inrush(
            "run", "quickstart", *(f"{s}://me@127.0.0.1:{port}/d" for s in schemes), "--scale", "xs"
        )
        took_s = time.monotonic() - began
    assert took_s < 3
    lines = said.err.splitlines()
    assert said.code == 2 and said.out == "" and len(lines) == len(schemes), said.err
    for scheme, line in zip(schemes, sorted(line.removeprefix("inrush: ") for line in lines), strict=True):
        assert line.startswith(
            f"{scheme}://me@127.0.0.1:{port}/d: port {port} takes connections and says nothing within 2.2 s"
        )
    assert inrush.store.studies() == []


def test_a_resume_asks_its_targets_too_and_changes_nothing(inrush: Inrush) -> None:
    call = StudyCall("quickstart", "xs", targets=("postgresql://me@127.0.0.1:1/d",))
    folder = inrush.store.new_study(
        "telemetry-quickstart", {"call": call.document(), "status": "interrupted"}
    )
    before = (folder.path / "study.json").read_text()
    said = inrush("run", "--resume")
    assert said.code == 2 and "nothing listens on port 1" in said.err
    assert (folder.path / "study.json").read_text() == before


@pytest.mark.parametrize("words", [("sqlite",), ("--start", "postgresql")])
def test_a_file_where_the_folder_for_data_should_be_is_one_line(
    inrush: Inrush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    def started(*_: object) -> None:
        raise AssertionError("a server was started")

    monkeypatch.setattr("inrush.targets.deployments.started", started)
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        said = inrush("run", "quickstart", *words, "--scale", "xs", "--data", str(place))
        assert said.code == 2 and said.err.count("\n") == 1, said.err
        assert f"{tmp_path / 'file'}: is a file" in said.err and "--data" in said.err
    assert inrush.store.studies() == []


def test_a_database_file_that_cannot_be_made_is_one_line(inrush: Inrush, tmp_path: Path) -> None:
    for place, says in (
        (tmp_path, "is a folder; name a file"),
        (tmp_path / "no" / "x.db", "there is no folder"),
    ):
        said = inrush("run", "quickstart", f"sqlite://{place}", "--scale", "xs")
        assert said.code == 2 and says in said.err and said.err.count("\n") == 1, said.err
    assert inrush.store.studies() == []


@pytest.mark.parametrize(
    ("engine", "says"), [("sqlite", "file is not a database"), ("duckdb", "not a valid DuckDB database file")]
)
def test_a_file_that_is_no_database_is_one_line_before_the_first_run(
    inrush: Inrush, tmp_path: Path, engine: str, says: str
) -> None:
    file = tmp_path / "letter.db"
    file.write_text("Dear reader, this is a letter, long enough to have a header. " * 20)
    before = file.read_bytes()
    said = inrush("run", "quickstart", f"{engine}://{file}", "--scale", "xs")
    assert said.code == 2 and says in said.err and said.err.count("\n") == 1, said.err
    assert said.err.rstrip().endswith("; name another file")
    assert inrush.store.studies() == [] and file.read_bytes() == before


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_file_without_bytes_and_one_of_the_engine_are_ready(tmp_path: Path, engine: str) -> None:
    (empty := tmp_path / "empty.db").touch()
    begun = tmp_path / "begun.db"
    deployment, _ = deployment_at(engine, f"{engine}://{begun}")
    deployment.ask("CREATE TABLE t (i INTEGER)")
    for file in (empty, begun):
        found = prepare(StudyCall("quickstart", "xs", targets=(f"{engine}://{file}",)))
        assert admit(found, tmp_path, tmp_path, force=True) == []


# What servers are asked.


def called(url: str = POSTGRESQL) -> Prepared:
    return prepare(StudyCall("quickstart", "xs", targets=(url,)))


def server_that(
    monkeypatch: pytest.MonkeyPatch, answers: Callable[[str], list[list[Any]]], heard: Protocol | None = None
) -> list[str]:
    """Takes the place of the network: every statement that is asked."""
    asked: list[str] = []

    def ask(self: Deployment, statement: str, place: object = None) -> list[list[Any]]:
        asked.append(statement)
        return answers(statement)

    monkeypatch.setattr(Deployment, "ask", ask)
    monkeypatch.setattr(greeting, "heard", lambda port, expected: heard or expected)
    return asked


def refusing(word: str, message: str, kind: str = "statement") -> Callable[[str], list[list[Any]]]:
    from inrush import _core

    def answer(statement: str) -> list[list[Any]]:
        if word in statement:
            raise _core.CoreFailure(kind, f"{POSTGRESQL}: {message}\n  in: {statement}")
        said = "PostgreSQL 17.2 (Debian 17.2-1) on x86_64, compiled by gcc"
        return [["version", said]] if "version()" in statement else []

    return answer


def test_a_server_that_is_ready_says_its_version_and_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked, found = server_that(monkeypatch, refusing("nothing", "")), called()
    (line,) = admit(found, tmp_path, tmp_path)
    assert line == f"{POSTGRESQL}: reachable, version PostgreSQL 17.2, tables can be made"
    made = next(s for s in asked if s.startswith("CREATE SCHEMA"))
    assert any("CREATE TABLE" in s for s in asked)
    home = made.split('"')[1]
    dropped = [s for s in asked if "DROP SCHEMA" in s]
    assert home.startswith("inrush_check_") and home in dropped[-1]


def test_a_user_who_may_make_no_table_is_told_which_right_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    denied = refusing("CREATE SCHEMA", "statement failed: ERROR: permission denied for database d")
    asked, found = server_that(monkeypatch, denied), called()
    with pytest.raises(UsageError) as refused:
        admit(found, tmp_path, tmp_path)
    assert str(refused.value) == (
        f"{POSTGRESQL}: ERROR: permission denied for database d; a study makes tables of its own there: "
        "GRANT CREATE ON DATABASE … TO the user"
    )
    assert "DROP SCHEMA" in asked[-1], "what was made before it failed is dropped"


def test_a_log_in_that_is_refused_is_the_core_s_own_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server_that(monkeypatch, refusing("version", 'database "d" does not exist; create it', "target"))
    found = called()
    with pytest.raises(UsageError, match=f'^{POSTGRESQL}: database "d" does not exist; create it$'):
        admit(found, tmp_path, tmp_path)


def test_a_server_that_keeps_its_version_to_itself_is_ready_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server_that(monkeypatch, refusing("version()", "statement failed: no"))
    found = called()
    assert "version unknown, tables" in admit(found, tmp_path, tmp_path)[0]


@pytest.mark.parametrize(
    ("free", "says"), [(10**15, "1000 TB free"), (1000, "1.00 kB free; the study holds up to")]
)
def test_free_space_is_said_where_the_server_tells_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, says: str
) -> None:
    def answer(statement: str) -> list[list[Any]]:
        if "system.disks" in statement:
            return [[str(free)]]
        return [["version", "25.3"]] if "version()" in statement else []

    server_that(monkeypatch, answer)
    found = called("clickhouse://h/d")
    assert says in admit(found, tmp_path, tmp_path)[0].replace(",", "")


def test_a_disk_of_this_machine_with_less_room_than_the_forecast_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = prepare(StudyCall("quickstart", "xs", targets=("sqlite",)))
    assert admit(found, tmp_path, tmp_path) == []
    monkeypatch.setattr(host, "free_bytes", lambda _: 1000)
    (line,) = admit(found, tmp_path, tmp_path)
    assert line.startswith(f"{tmp_path}: 1.00 kB free; the study holds up to ")


def test_a_folder_for_data_that_is_made_is_said_with_the_one_that_it_is_made_in(
    inrush: Inrush, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent, there = tmp_path / "mnt" / "nvme", tmp_path
    called = StudyCall("quickstart", "xs", targets=("sqlite",))
    check_targets(inrush.store, prepare(replace(called, data=str(absent))), quiet=False)
    assert capsys.readouterr().err == f"{absent}: there is no such folder; it is made in {tmp_path}\n"
    check_targets(inrush.store, prepare(replace(called, storages={"fast": str(absent)})), quiet=False)
    assert f"{absent}: there is no such folder" in capsys.readouterr().err
    for named in (replace(called, data=str(there)), called):
        check_targets(inrush.store, prepare(named), quiet=False)
    check_targets(inrush.store, prepare(replace(called, data=str(absent))), quiet=True)
    assert capsys.readouterr().err == "" and not absent.exists()


def test_a_host_that_does_not_answer_is_said_after_two_seconds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def late(*_: object) -> Protocol:
        raise TimeoutError

    monkeypatch.setattr(greeting, "heard", late)
    found = called()
    with pytest.raises(UsageError, match="no answer within 2 s; check host, port and firewall"):
        admit(found, tmp_path, tmp_path)
    assert greeting.CONNECT_S == 2


# Programs of this machine.


def test_an_entry_of_path_that_cannot_be_looked_at_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    too_long = "x" * 300
    assert not is_file(Path(too_long) / "pg_config")
    usual = installed()
    monkeypatch.setenv("PATH", f"{too_long}:/proc/1/fd:{os.environ['PATH']}")
    assert installed() == usual

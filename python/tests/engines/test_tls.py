"""Engines through TLS on real servers: who is let in by which certificate, and what is said when nobody is."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Stop, Target
from tests.engines.certificates import HOST, make_certificate
from tests.engines.servers import control, need, own_server, scratch
from tests.engines.test_wires import passes_its_own_tests


@pytest.fixture(scope="module")
def certificates() -> Iterator[Path]:
    """A folder with `ca`, `server` signed by it and `untrusted`: each `.crt` and `.key`, as servers want to own them."""
    with scratch() as folder:
        make_certificate(folder, "ca")
        make_certificate(folder, "stranger")
        make_certificate(folder, "server", signed_by="ca")
        yield folder


def at(target: Target, query: str, host: str = HOST, login: str | None = None) -> Target:
    url = target.url.replace("127.0.0.1", host)
    if login is not None:
        scheme, _, rest = url.partition("://")
        # A new user may work in no database yet.
        place = rest.rpartition("@")[2].partition("?")[0].replace("/inrush", "/")
        return Target(target.engine, f"{scheme}://{login}@{place}?{query}")
    return Target(target.engine, f"{url}{'&' if '?' in url else '?'}{query}")


def refusal(target: Target, statement: str = "SELECT 1") -> str:
    """What the failure to connect says: one line."""
    with pytest.raises(_core.CoreFailure) as failed:
        control(target, statement)
    message = str(failed.value)
    assert "\n" not in message
    return message


# PostgreSQL


@pytest.fixture(scope="module")
def secured(certificates: Path) -> Iterator[Target]:
    """A PostgreSQL with the certificate `server`."""
    need("postgresql")
    own = own_server("postgresql")
    files = {
        "ssl_cert_file": str(certificates / "server.crt"),
        "ssl_key_file": str(certificates / "server.key"),
    }
    with scratch() as folder:
        instance = own.start(folder / "pg", {"shared_buffers": "16MB", "ssl": "on", **files})
        try:
            yield Target("postgresql", instance.url, {}, instance)
        finally:
            own.stop(instance, Stop.CLEAN)


def pg_is_encrypted(target: Target) -> bool:
    mine = "SELECT count(*) FROM pg_stat_ssl WHERE ssl AND pid = pg_backend_pid()"
    return control(target, mine) == [["1"]]


def test_postgresql_is_encrypted_as_far_as_the_mode_asks(secured: Target, certificates: Path) -> None:
    assert not pg_is_encrypted(secured), "nothing asked, on this machine"
    for mode in ("disable", "allow"):
        assert not pg_is_encrypted(at(secured, f"sslmode={mode}")), mode
    for mode in ("require", "prefer"):
        assert pg_is_encrypted(at(secured, f"sslmode={mode}")), mode
    root = f"sslrootcert={certificates / 'ca.crt'}"
    assert pg_is_encrypted(at(secured, f"sslmode=verify-full&{root}"))
    assert pg_is_encrypted(at(secured, f"sslmode=verify-ca&{root}", "127.0.0.1"))


def tls_of(target: Target) -> str:
    """What a run on this target records of its connections."""
    engine = server(target.engine)
    rows = [row for statement in engine.probes(()).settings for row in control(target, statement)]
    return engine.tls(target, {str(name): str(value) for name, value, *_ in rows})


def test_a_run_on_postgresql_records_version_and_cipher_or_none(secured: Target) -> None:
    assert tls_of(secured) == "none"
    assert tls_of(at(secured, "sslmode=require")).startswith("TLSv1.3 TLS_")


def test_postgresql_with_another_root_or_host_is_refused_in_one_line(
    secured: Target, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(certificates))  # no root of the user's own
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "stranger.crt"))
    message = refusal(at(secured, "sslmode=verify-full"))
    assert "signed by no authority in" in message and "sslrootcert=" in message
    root = f"sslrootcert={certificates / 'ca.crt'}"
    message = refusal(at(secured, f"sslmode=verify-full&{root}", "127.0.0.1"))
    assert "not for host 127.0.0.1" in message
    message = refusal(at(secured, "sslmode=verify-full&sslrootcert=/no/such/file"))
    assert "sslrootcert=/no/such/file" in message


def test_a_postgresql_without_tls_is_preferred_to_none_and_refused_where_it_is_required(
    postgresql: Target,
) -> None:
    assert not pg_is_encrypted(at(postgresql, "sslmode=prefer"))
    assert "the server does not speak TLS" in refusal(at(postgresql, "sslmode=require"))


def test_a_statement_is_cancelled_through_tls(secured: Target, certificates: Path) -> None:
    target = at(secured, f"sslmode=verify-full&sslrootcert={certificates / 'ca.crt'}")
    with pytest.raises(_core.CoreFailure, match="not finished after"):
        control(target, "SELECT pg_sleep(600)", 0.2)
    running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'"
    assert control(secured, running) == [["0"]]


@pytest.mark.timeout(900)  # it may have to be compiled
def test_the_wire_of_postgresql_passes_its_own_tests_through_tls(secured: Target) -> None:
    passes_its_own_tests(secured, "postgresql::", PGSSLMODE="require")


# MySQL and MariaDB: both make certificates of their own


@pytest.fixture(params=["mysql", "mariadb"])
def packets(request: pytest.FixtureRequest) -> Target:
    target: Target = request.getfixturevalue(request.param)
    return target


def cipher(target: Target) -> str:
    ((_, name),) = control(target, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")
    return str(name)


def test_mysql_is_encrypted_as_far_as_the_mode_asks(packets: Target) -> None:
    assert cipher(packets) == "", "nothing asked, on this machine"
    assert cipher(at(packets, "ssl-mode=DISABLED", "127.0.0.1")) == ""
    for mode in ("PREFERRED", "REQUIRED"):
        assert cipher(at(packets, f"ssl-mode={mode}", "127.0.0.1")) != "", mode


def test_a_run_on_mysql_records_version_and_cipher_or_none(packets: Target) -> None:
    assert tls_of(packets) == "none"
    secret = at(packets, "ssl-mode=REQUIRED", "127.0.0.1")
    assert tls_of(secret).startswith("TLSv1.") and cipher(secret) in tls_of(secret)


def test_a_mysql_of_another_root_is_refused_in_one_line(packets: Target, certificates: Path) -> None:
    untrusted = f"ssl-mode=VERIFY_CA&ssl-ca={certificates / 'stranger.crt'}"
    message = refusal(at(packets, untrusted, "127.0.0.1"))
    assert "the server's certificate is" in message


def test_mysql_is_verified_by_the_root_that_it_made(mysql: Target) -> None:
    ((data,),) = control(mysql, "SELECT @@datadir")
    root = f"ssl-ca={Path(data) / 'ca.pem'}"
    assert cipher(at(mysql, root, "127.0.0.1")) != "", "a root asks for verification"
    message = refusal(at(mysql, f"ssl-mode=VERIFY_IDENTITY&{root}", "127.0.0.1"))
    assert "certificate" in message


def test_a_user_who_must_use_tls_logs_in_by_password_through_it(packets: Target) -> None:
    control(packets, "DROP USER IF EXISTS inrush_tls")
    control(packets, "CREATE USER inrush_tls IDENTIFIED BY 'p§ss' REQUIRE SSL")
    try:
        login = "inrush_tls:p%C2%A7ss"
        allowed = at(packets, "ssl-mode=REQUIRED&allow-cleartext-password=true", "127.0.0.1", login)
        assert control(allowed, "SELECT CURRENT_USER()") == [["inrush_tls@%"]]
        refusal(at(packets, "ssl-mode=DISABLED", "127.0.0.1", login))
        refusal(at(packets, "ssl-mode=REQUIRED", "127.0.0.1", "inrush_tls:wrong"))
    finally:
        control(packets, "DROP USER inrush_tls")


def test_a_password_itself_goes_to_a_verified_mysql_only(mysql: Target) -> None:
    ((data,),) = control(mysql, "SELECT @@datadir")
    control(mysql, "DROP USER IF EXISTS inrush_forgotten")
    control(mysql, "CREATE USER inrush_forgotten IDENTIFIED WITH caching_sha2_password BY 'hidden'")
    try:
        login = "inrush_forgotten:hidden"

        def who(query: str) -> object:
            # The server forgets what it knows of passwords, and asks for the next one itself.
            control(mysql, "FLUSH PRIVILEGES")
            return control(at(mysql, query, "127.0.0.1", login), "SELECT CURRENT_USER()")

        control(mysql, "FLUSH PRIVILEGES")
        message = refusal(at(mysql, "ssl-mode=REQUIRED", "127.0.0.1", login))
        assert "ssl-ca=FILE" in message and "allow-cleartext-password=true" in message
        assert "hidden" not in message
        here = [["inrush_forgotten@%"]]
        assert who(f"ssl-ca={Path(data) / 'ca.pem'}") == here
        assert who("ssl-mode=REQUIRED&allow-cleartext-password=true") == here
        assert who("ssl-mode=DISABLED") == here, "on this machine, under the server's key"
    finally:
        control(mysql, "DROP USER inrush_forgotten")


# Engines that are asked for TLS by `secure`, behind a proxy that ends it


@pytest.fixture(params=["clickhouse", "influxdb", "valkey"])
def behind_tls(request: pytest.FixtureRequest, certificates: Path) -> Iterator[Target]:
    target: Target = request.getfixturevalue(request.param)
    before, _, port = target.url.rstrip("/").rpartition(":")
    port, slash, path = port.partition("/")
    with tls_in_front(int(port), certificates) as front:
        yield Target(target.engine, f"{before}:{front}{slash}{path}")


@contextlib.contextmanager
def tls_in_front(port: int, certificates: Path) -> Iterator[int]:
    """A port whose connections are TLS, each handed on to `port` of this machine."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.crt", certificates / "server.key")

    def hand_on(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                sink.sendall(piece)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def serve(accepted: socket.socket) -> None:
        with contextlib.suppress(OSError):  # a handshake that the client ends
            outer = context.wrap_socket(accepted, server_side=True)
            with outer, socket.create_connection(("127.0.0.1", port)) as inner:
                back = threading.Thread(target=hand_on, args=(inner, outer))
                back.start()
                hand_on(outer, inner)
                back.join()

    def accept(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the listener was closed
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept, args=(listener,))
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()


@pytest.mark.parametrize("engine", ["clickhouse", "influxdb", "valkey"])
def test_where_the_server_does_not_tell_the_url_says_whether_a_run_was_encrypted(engine: str) -> None:
    def detail(query: str) -> str:
        database = "0" if engine == "valkey" else "db"
        return server(engine).tls(Target(engine, f"{engine}://host:1/{database}{query}"), {})

    assert detail("") == detail("?secure=false") == detail("?secure=0") == "none"
    assert detail("?secure=true").startswith("TLS") and detail("?secure=1&verify=false").startswith("TLS")


#: Something that every server answers.
ASKED = {"clickhouse": "SELECT 'here'", "influxdb": "SHOW DATABASES", "valkey": "ECHO here"}


def test_an_engine_is_asked_through_tls_where_its_url_says_secure(
    behind_tls: Target, certificates: Path, request: pytest.FixtureRequest
) -> None:
    root, statement = f"ca_cert={certificates / 'ca.crt'}", ASKED[behind_tls.engine]
    answer = control(request.getfixturevalue(behind_tls.engine), statement)
    assert control(at(behind_tls, f"secure=true&{root}"), statement) == answer
    assert control(at(behind_tls, "secure=true&verify=false", "127.0.0.1"), statement) == answer
    message = refusal(at(behind_tls, f"secure=true&{root}", "127.0.0.1"), statement)
    assert "not for host 127.0.0.1" in message
    message = refusal(at(behind_tls, f"secure=true&ca_cert={certificates / 'stranger.crt'}"), statement)
    assert "signed by no authority in" in message and "ca_cert=" in message

"""Addresses on a PostgreSQL that is there: what their options do, and that a password goes to the server alone."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush import _core
from inrush.cli import main
from inrush.engines.base.instance import Stop, Target
from tests.engines.certificates import make_certificate
from tests.engines.servers import control, need, own_server, scratch
from tests.test_addresses import LEFT, RIGHT, hidden

#: Of a user who needs a password, with every character that addresses write otherwise.
SECRET, WRITTEN = f"{LEFT}#/?@%& '{RIGHT}", f"{LEFT}%23%2F%3F%40%25%26%20%27{RIGHT}"


@pytest.fixture(scope="module")
def asking() -> Iterator[Target]:
    """A PostgreSQL with TLS that asks the user `loader` for a password."""
    need("postgresql")
    own = own_server("postgresql")
    with scratch() as folder:
        make_certificate(folder, "server")
        rules = folder / "rules.conf"
        rules.write_text("host all loader 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n")
        rules.chmod(0o644)
        files = {"ssl_cert_file": str(folder / "server.crt"), "ssl_key_file": str(folder / "server.key")}
        settings = {"shared_buffers": "16MB", "ssl": "on", "hba_file": str(rules), **files}
        instance = own.start(folder / "pg", settings)
        try:
            target = Target("postgresql", instance.url, {}, instance)
            quoted = SECRET.replace("'", "''")
            control(target, f"CREATE ROLE loader LOGIN SUPERUSER PASSWORD '{quoted}'")
            yield target
        finally:
            own.stop(instance, Stop.CLEAN)


def url(asking: Target, query: str = "", hosts: str = "") -> str:
    assert asking.instance is not None
    place = hosts.replace("PORT", str(asking.instance.port)) or f"127.0.0.1:{asking.instance.port}"
    return f"postgresql://loader:{WRITTEN}@{place}/postgres{query}"


def asked(address: str, statement: str) -> str:
    return str(control(Target("postgresql", address), statement)[0][0])


def refusal(address: str) -> str:
    with pytest.raises(_core.CoreFailure) as failed:
        control(Target("postgresql", address), "SELECT 1")
    hidden(str(failed.value), address)
    return str(failed.value)


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def test_options_of_clouds_do_what_they_mean(asking: Target) -> None:
    more = "?connect_timeout=5&application_name=mine&options=-c%20work_mem%3D5MB"
    assert asked(url(asking, more), "SHOW application_name") == "mine"
    assert asked(url(asking, more), "SHOW work_mem") == "5MB"
    assert asked(url(asking), "SHOW application_name") == "inrush"
    login = f"?user=loader&password={WRITTEN}"
    assert asked(url(asking, login).replace(f"loader:{WRITTEN}@", ""), "SELECT current_user") == "loader"


@pytest.mark.parametrize("binding", ["require", "prefer", "disable"])
def test_a_password_is_bound_to_the_certificate(asking: Target, binding: str) -> None:
    bound = url(asking, f"?sslmode=require&channel_binding={binding}")
    assert asked(bound, "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()") == "true"


def test_a_binding_that_cannot_be_is_refused(asking: Target) -> None:
    assert "needs TLS" in refusal(url(asking, "?channel_binding=require"))
    trusted = url(asking, "?sslmode=require&channel_binding=require").replace("loader", "postgres")
    assert "channel_binding=require asks for" in refusal(trusted)


def test_of_several_hosts_the_first_that_is_what_is_asked_for_is_taken(asking: Target) -> None:
    closed = closed_port()
    two = f"127.0.0.1:{closed},127.0.0.1:PORT"
    for wanted in ("any", "read-write", "primary", "prefer-standby"):
        assert asked(url(asking, f"?target_session_attrs={wanted}", two), "SELECT 1") == "1", wanted
    said = refusal(url(asking, "?target_session_attrs=standby", two))
    assert "none of 2 hosts" in said and f"port {closed}" in said and "a primary" in said
    read_only = "?target_session_attrs=read-only&options=-c%20default_transaction_read_only%3Don"
    assert asked(url(asking, read_only, two), "SHOW transaction_read_only") == "on"


@pytest.mark.parametrize(
    "command",
    [
        "load rows.csv --table t --create --into {}",
        pytest.param("run telemetry-quickstart {} --scale xs", marks=pytest.mark.slow),
    ],
)
def test_a_password_is_in_no_output_and_no_file(
    command: str,
    asking: Target,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("id,n\n1,2\n")
    for n, of in enumerate((url(asking), url(asking).replace("%23", "#").replace("%27", "'"))):
        words = command.replace(" t ", f" t{n} ").split(" ")
        monkeypatch.setattr(sys, "argv", ["inrush", *(word.replace("{}", of) for word in words)])
        monkeypatch.setattr(sys, "stdout", sys.stdout)
        monkeypatch.setattr(sys, "stderr", sys.stderr)
        try:
            main()
            code: object = 0
        except SystemExit as ended:
            code = ended.code
        said = capfd.readouterr()
        hidden(said.out + said.err, words)
        # 3: the machine was busy; what a test holds of the files holds all the same.
        assert code in (0, 3, None), said.err
        assert "PGPASSWORD" not in os.environ
    for path in tmp_path.rglob("*"):
        if path.is_file():
            hidden(path.read_bytes().decode(errors="replace"), path)

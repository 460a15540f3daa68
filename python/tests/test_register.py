"""Servers are found without `--data` in every folder where one was started."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from inrush.engines.base.instance import Instance, Release
from inrush.engines.mysql.life import DATABASE, MysqlLife
from inrush.engines.servers import origin
from inrush.errors import UsageError
from inrush.targets import instances, register
from inrush.targets.deployment import lifecycle_of
from inrush.targets.instances import (
    everywhere,
    kept_folder,
    startable,
    status_everywhere,
    stop_everywhere,
    write,
)
from tests.terminal import Inrush


def silent(_: str) -> None: ...


def running(data: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Instance:
    """As `engines start` leaves it, with this process in place of the server."""
    twin = next(t for t in startable() if t.name == name)
    kept = kept_folder(twin, data)
    kept.mkdir(parents=True)
    pid = os.getpid()
    origin.write(kept, pid, 4711)
    release = Release(name, "1.0", Path("/"))
    made = Instance(name, kept, lifecycle_of(twin).url_of(4711), 4711, pid, kept / "log", release)
    write(twin, data, made)
    register.remember(data)
    monkeypatch.setattr(
        type(lifecycle_of(twin)), "stop", lambda self, instance, how: origin.remove(instance.data)
    )
    return made


def test_a_folder_is_known_once_and_until_it_is_gone(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    for folder in (a, b, a):
        folder.mkdir(exist_ok=True)
        register.remember(folder)
    assert register.folders() == [a, b]
    a.rmdir()
    assert register.folders() == [b]
    register.remember(b)
    assert json.loads(register.file().read_text()) == [str(b)], "what is gone is dropped from the list"
    register.forget(b)
    assert register.folders() == []


@pytest.mark.parametrize("text", ["", "{", "{}", "[3, null]", '["/nowhere/at/all"]'])
def test_a_damaged_list_is_none(text: str, tmp_path: Path) -> None:
    register.file().parent.mkdir(exist_ok=True)
    register.file().write_text(text)
    assert register.folders() == []
    register.remember(tmp_path)
    assert register.folders() == [tmp_path]


def test_a_list_that_cannot_be_written_keeps_no_server_from_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(register, "file", lambda: tmp_path / "file" / "list.json")
    register.remember(tmp_path)
    assert register.folders() == []


def test_a_server_in_another_folder_is_told_and_stopped_without_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = running(tmp_path / "there", "postgresql", monkeypatch)
    folders = everywhere(tmp_path / "usual")
    assert folders == [tmp_path / "usual", tmp_path / "there"]
    rows = status_everywhere([], folders, silent).rows
    assert [row["engine"] for row in rows] == [twin.name for twin in startable()], "each engine once"
    (detail,) = [row for row in rows if row["running"]]
    assert (detail["url"], detail["data"]) == (there.url, str(there.data))
    (ended,) = stop_everywhere(["postgresql"], folders, silent).rows
    assert ended["data"] == str(there.data) and not ended["running"]
    assert register.folders() == [], "nothing is started there any more"
    with pytest.raises(UsageError, match="none was started"):
        stop_everywhere(["postgresql"], everywhere(tmp_path / "usual"), silent)


def test_a_name_that_runs_twice_is_not_guessed_and_all_stops_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("a", "b"):
        running(tmp_path / place, "postgresql", monkeypatch)
    folders = everywhere(tmp_path / "a")
    assert len(folders) == 2, "the usual folder is not listed twice"
    assert sum(row["running"] for row in status_everywhere(["postgresql"], folders, silent).rows) == 2
    with pytest.raises(UsageError, match="name one of them with --data, or stop all"):
        stop_everywhere(["postgresql"], folders, silent)
    assert len(stop_everywhere(["all"], folders, silent).rows) == 2
    assert stop_everywhere([], folders, silent).rows == []


def test_the_command_looks_everywhere_unless_a_folder_is_named(
    inrush: Inrush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running(tmp_path / "there", "postgresql", monkeypatch)
    rows = inrush("engines", "status", "postgresql", "--json").json
    assert [row["running"] for row in rows] == [True]
    rows = inrush("engines", "status", "postgresql", "--json", "--data", str(tmp_path / "other")).json
    assert [row["running"] for row in rows] == [False]


def test_a_mysql_of_ours_has_a_database_in_its_url(tmp_path: Path) -> None:
    lives = [own for twin in startable() if isinstance(own := twin.lifecycle, MysqlLife)]
    assert [own.name for own in lives] == ["mysql", "mariadb"]
    assert all(own.url_of(3307).endswith(f":3307/{DATABASE}") for own in lives)
    assert instances.ACTIONS.keys() >= instances.EVERYWHERE.keys()

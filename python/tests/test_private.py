"""Folders and files of servers among other users' ones: what a stranger has put there is neither followed nor changed.

Only root can be somebody else, so most of these need root.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.engines.servers import life, origin, private, secret
from inrush.errors import TargetError
from inrush.machine.secret_files import write_secret
from inrush.targets import instances

#: Debian's `daemon` and `nobody`: the first is nobody's server.
STRANGER, SERVANT = 1, 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what belongs to another user")


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder that is none of inrush's business."""
    there = tmp_path / "planted"
    there.mkdir(mode=0o755)
    return there


def state(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_mode, found.st_uid, found.st_gid


def test_a_link_in_the_place_of_a_folder_is_refused_and_its_target_stays_as_it_is(
    tmp_path: Path, planted: Path
) -> None:
    before, link = state(planted), tmp_path / "mysql"
    link.symlink_to(planted)
    for owner in (life.User(), life.servant()):
        with pytest.raises(TargetError, match=r"mysql is a link, and is left alone; choose another --data"):
            private.folder(link, owner)
    link.unlink()
    link.symlink_to(tmp_path / "nothing")
    with pytest.raises(TargetError, match="is a link"):
        private.folder(link, life.servant())
    assert state(planted) == before and not (tmp_path / "nothing").exists()


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mysql").touch()
    with pytest.raises(TargetError, match="is no folder of ours"):
        private.folder(tmp_path / "mysql")


@as_root
def test_a_folder_of_another_user_is_refused_and_stays_as_it_is(planted: Path) -> None:
    os.chown(planted, STRANGER, STRANGER)
    before = state(planted)
    with pytest.raises(TargetError, match=r"planted belongs to user daemon, and is left alone"):
        private.folder(planted, life.servant())
    assert state(planted) == before


@as_root
@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_a_folder_below_one_of_another_user_is_refused_and_not_made(planted: Path, mode: int) -> None:
    os.chown(planted, STRANGER, STRANGER)
    planted.chmod(mode)
    with pytest.raises(TargetError, match=r"planted belongs to user daemon, and could be replaced"):
        private.folder(planted / "mysql", life.servant())
    assert not (planted / "mysql").exists()


@pytest.mark.parametrize(("mode", "goes"), [(0o777, False), (0o1777, True), (0o755, True)])
def test_a_folder_below_one_that_everybody_changes_is_refused(planted: Path, mode: int, goes: bool) -> None:
    planted.chmod(mode)
    if goes:
        assert private.folder(planted / "mysql").is_dir()
        return
    with pytest.raises(TargetError, match="planted can be changed by every user"):
        private.folder(planted / "mysql")


@as_root
def test_a_stranger_s_link_above_is_refused_and_one_of_ours_is_not(tmp_path: Path, planted: Path) -> None:
    link = tmp_path / "usual"
    link.symlink_to(planted)
    assert private.folder(link / "mysql").is_dir()
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    with pytest.raises(TargetError, match="usual belongs to user daemon"):
        private.folder(link / "other")


@as_root
def test_folders_of_the_user_who_called_sudo_are_taken(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(planted, 1234, 1234)
    with pytest.raises(TargetError, match="belongs to user 1234"):
        private.folder(planted / "mysql")
    monkeypatch.setenv("SUDO_UID", "1234")
    assert private.folder(planted / "mysql").stat().st_uid == 0


def test_the_folder_of_an_instance_is_ours_and_its_server_cannot_change_it(tmp_path: Path) -> None:
    for above in (tmp_path, *tmp_path.parents):
        if above == Path(tempfile.gettempdir()):
            break
        above.chmod(0o755)
    found = private.instance_folder(tmp_path / "mysql", life.servant()).stat()
    assert found.st_uid == os.geteuid()
    assert found.st_mode & 0o777 == (0o711 if os.geteuid() == 0 else 0o700), "others list nothing in it"


def test_what_is_written_replaces_a_link_and_follows_none(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("theirs")
    for name in ("config", "config.part"):
        (tmp_path / name).symlink_to(other)
    private.write(tmp_path / "config", "ours", life.servant())
    assert other.read_text() == "theirs" and not (tmp_path / "config").is_symlink()
    assert (tmp_path / "config").read_text() == "ours"
    assert (tmp_path / "config").stat().st_mode & 0o777 == 0o600


@as_root
def test_a_secret_is_never_written_into_a_file_that_another_user_has_put_there(tmp_path: Path) -> None:
    """One that has it open would read along."""
    token = tmp_path / "token"
    token.write_text("theirs")
    os.chown(token, life.servant().uid or 0, -1)
    with token.open() as held:
        write_secret(token, "ours")
        held.seek(0)
        assert held.read() == "theirs"
    assert token.read_text() == "ours" and token.stat().st_uid == os.geteuid()


@pytest.fixture
def sleeper() -> Iterator[int]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process.pid
        process.kill()


@as_root
@pytest.mark.parametrize("how", ["theirs", "link"])
def test_a_record_that_another_user_has_written_ends_nothing(
    tmp_path: Path, sleeper: int, how: str, planted: Path
) -> None:
    """`stop all` as root: whoever wrote the record would say which process it ends."""
    kept = tmp_path / "postgresql-kept"
    kept.mkdir()
    origin.write(kept, sleeper, 5_000)
    document = {
        "engine": "postgresql",
        "data": str(kept),
        "url": "",
        "port": 5_000,
        "pid": sleeper,
        "log": "",
    }
    document["release"] = {"engine": "postgresql", "version": "1", "path": ""}
    record = tmp_path / "postgresql.instance.json"
    record.write_text(json.dumps(document))
    assert len(instances.status(["postgresql"], tmp_path, print).rows) == 1, "it would be found"
    assert instances.parts(instances.server("postgresql"), tmp_path)
    for file in (record, kept / origin.FILE):
        if how == "link":
            file.rename(planted / file.name)
            file.symlink_to(planted / file.name)
            os.chown(file, STRANGER, STRANGER, follow_symlinks=False)
        else:
            os.chown(file, STRANGER, STRANGER)
    assert instances.stop(["all"], tmp_path, print).rows == []
    assert instances.stop_everywhere([], [tmp_path], print).rows == []
    assert life.started_at(sleeper) is not None


def test_a_password_is_made_once_and_read_by_its_owner_alone(tmp_path: Path) -> None:
    secret.make(tmp_path)
    password = secret.of(tmp_path)
    secret.make(tmp_path)
    assert secret.of(tmp_path) == password and len(password) == 2 * secret.BYTES
    file = tmp_path / secret.FILE
    assert file.stat().st_mode & 0o777 == 0o600 and file.read_text() == f"*:*:*:*:{password}\n"
    (tmp_path / "shard").mkdir()
    secret.share([tmp_path, tmp_path / "shard"])
    assert secret.of(tmp_path / "shard") == password
    if os.geteuid() == 0:
        os.chown(file, STRANGER, STRANGER)
        with pytest.raises(TargetError, match="has no passfile of this user"):
            secret.of(tmp_path)


def test_an_address_names_the_file_of_its_password_and_not_the_password() -> None:
    url = secret.named("postgresql://me@h:1/d", Path("/a folder/é"))
    assert url == "postgresql://me@h:1/d?passfile=/a%20folder/%C3%A9/passfile"
    assert secret.file_in(url) == "/a folder/é/passfile"
    more = secret.named("questdb://me@h:1/d?http=9", Path("/f"))
    assert (
        more == "questdb://me@h:1/d?http=9&passfile=/f/passfile" and secret.file_in("mysql://h/d?x=1") == ""
    )

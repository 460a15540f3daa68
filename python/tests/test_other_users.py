"""Other users of the machine, and what inrush writes: where, and who else can change or hold it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from inrush.engines.base.instance import Release
from inrush.engines.ndb import sql as ndb_sql
from inrush.engines.servers import life, private
from inrush.engines.servers.own_server import ServerPlace
from inrush.errors import TargetError, UsageError
from inrush.results.store.folders import StudyFolder
from inrush.results.store.root import Root
from tests.strategies import ENVIRONMENT

STRANGER = 12_345


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a folder away")
@pytest.mark.parametrize("below", ["", "mine"])
def test_a_folder_that_another_user_has_made_in_one_of_everyones_is_refused(
    below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everyones, planted = tmp_path / "tmp", tmp_path / "tmp" / "results"
    planted.mkdir(parents=True)
    everyones.chmod(0o1777)
    os.chown(planted, STRANGER, STRANGER)
    (tmp_path / "link").symlink_to(planted)
    for named in (planted, tmp_path / "link"):
        with pytest.raises(UsageError, match=f"tmp/results: belongs to user {STRANGER}, who can change"):
            Root(named / below).refuse_unwritable()
    monkeypatch.setenv("SUDO_UID", str(STRANGER))
    Root(planted / below).refuse_unwritable()
    monkeypatch.delenv("SUDO_UID")
    everyones.chmod(0o755)  # a folder of the user's, as a container has it: it was named on purpose
    Root(planted / below).refuse_unwritable()


def test_nothing_is_written_that_every_user_can_change_whatever_the_umask_is(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,name\n1,a\n2,b\n")
    words = f"load rows.csv --into sqlite:///{tmp_path}/rows.db --table rows --create --key id".split()
    subprocess.run(
        [sys.executable, "-m", "inrush.cli", *words], cwd=tmp_path, env={**ENVIRONMENT, "INRUSH_RESULTS": "results"},
        umask=0, check=True, capture_output=True, timeout=240,
    )  # fmt: skip
    written = [tmp_path / "rows.db", *(tmp_path / "results").rglob("*")]
    assert [str(path) for path in written if path.stat().st_mode & stat.S_IWOTH] == []
    assert len(written) > 2


def test_no_other_user_can_hold_a_lock_of_ours(tmp_path: Path) -> None:
    """`flock` takes a file that is open for reading alone: then `inrush engines start` would wait for ever."""
    for name, mode in (("new.lock", None), ("of_an_earlier_inrush.lock", 0o644)):
        path = tmp_path / name
        if mode is not None:
            path.touch()
            path.chmod(mode)
        with life.locked(path):
            assert path.stat().st_mode & 0o777 == 0o600


def test_who_may_not_write_results_cannot_hold_their_lock(tmp_path: Path) -> None:
    """Of a folder that a group shares, its members can: they go on with a study of another one."""
    for umask, mode in ((0o022, 0o600), (0o002, 0o660), (0o077, 0o600)):
        study = StudyFolder(tmp_path / f"{umask:o}")
        study.path.mkdir()
        before = os.umask(umask)
        try:
            with study.locked():
                assert (study.path / ".lock").stat().st_mode & 0o777 == mode
        finally:
            os.umask(before)
    lock = study.path / ".lock"
    lock.chmod(0o644)
    with study.locked():
        assert lock.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_another_user_neither_holds_a_study_nor_is_told_a_traceback(tmp_path: Path) -> None:
    for above in (tmp_path, *tmp_path.parents):
        if above.stat().st_uid == os.geteuid() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o055)
    study = StudyFolder(tmp_path / "study")
    study.path.mkdir(mode=0o755)
    study.is_locked()
    hold = (
        "import fcntl, os, sys, pathlib; from inrush.results.store.folders import StudyFolder\n"
        f"os.setgid({STRANGER}); os.setuid({STRANGER}); path = pathlib.Path({str(study.path)!r})\n"
        "assert os.listdir(path) == ['.lock']; print(StudyFolder(path).is_locked(), flush=True)\n"
        "try: fcntl.flock(os.open(path / '.lock', os.O_RDONLY), fcntl.LOCK_EX); print('held', flush=True)\n"
        "except PermissionError: print('refused', flush=True)\n"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**ENVIRONMENT}
    ) as stranger:  # fmt: skip
        assert stranger.stdout is not None
        assert [stranger.stdout.readline().strip() for _ in range(2)] == ["True", "refused"]
        with study.locked():
            pass
        stranger.communicate("")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a folder away")
def test_nothing_is_removed_behind_a_link_that_a_server_has_put_in_place_of_its_folder(
    tmp_path: Path,
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    elsewhere.mkdir()
    home.mkdir()
    (elsewhere / "mysql.sock").touch()
    os.chown(home, STRANGER, STRANGER)
    private.remove(home / "sql" / "mysql.sock")  # no folder, and nothing to remove
    (home / "sql").symlink_to(elsewhere)
    with pytest.raises(TargetError, match="sql is a link"):
        private.remove(home / "sql" / "mysql.sock")
    place = ServerPlace(Release("ndb", "1", home), tmp_path, home, life.User(STRANGER, STRANGER), 1, {})
    (tmp_path / ndb_sql.PORT).write_text("1")
    with pytest.raises(TargetError, match="sql is a link"):
        ndb_sql.make(place, home)
    assert [path.name for path in elsewhere.iterdir()] == ["mysql.sock"]
    (home / "sql").unlink()
    (home / "sql").mkdir()
    (home / "sql" / "mysql.sock").symlink_to(elsewhere)
    private.remove(home / "sql" / "mysql.sock")
    assert list((home / "sql").iterdir()) == [] and elsewhere.is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a folder away")
@pytest.mark.parametrize("swapped", [False, True])
def test_a_link_that_a_server_has_put_in_place_of_its_folder_is_not_followed(
    swapped: bool, tmp_path: Path
) -> None:
    """Its home is its own, and so are the names in it, whenever inrush writes there."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    elsewhere.mkdir()
    server = life.User(STRANGER, STRANGER)
    home.mkdir()
    os.chown(home, STRANGER, STRANGER)
    if swapped:
        (home / "conf").symlink_to(elsewhere)
        with pytest.raises(TargetError, match="conf is a link"):
            private.write(home / "conf" / "server.conf", "text", server)
        assert list(elsewhere.iterdir()) == []
        return
    (home / "conf").mkdir()
    private.write(home / "conf" / "server.conf", "text", server)
    found = home / "conf" / "server.conf"
    assert found.read_text() == "text" and found.stat().st_uid == STRANGER
    assert found.stat().st_mode & 0o777 == 0o600 and [p.name for p in found.parent.iterdir()] == [found.name]

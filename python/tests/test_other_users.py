"""Other users of the machine, and what inrush writes: where, and who else can change or hold it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from inrush.engines import life
from inrush.errors import UsageError
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
    with pytest.raises(UsageError, match=f"user {STRANGER}, who can change"):
        Root(planted / below).refuse_unwritable()
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

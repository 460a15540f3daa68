"""Other users of the machine, and what inrush writes: where, and who else can change or hold it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inrush.errors import UsageError
from inrush.results.store.root import Root

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

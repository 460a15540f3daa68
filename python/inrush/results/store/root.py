"""Where results lie: for modules that put something beside them, or look which there are, and read none."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from inrush.errors import UsageError
from inrush.machine.users import trusted

#: Name of the environment variable that moves `results/` elsewhere.
RESULTS_VARIABLE = "INRUSH_RESULTS"


def sealed_runs(study: Path) -> list[Path]:
    """Folders of the runs of a study that are complete."""
    return sorted(p.parent for p in study.glob("*/run.json"))


def unsealed_runs(study: Path) -> list[Path]:
    """Folders of its runs that were begun and not sealed."""
    return sorted(p.parent for p in study.glob("*/plan.json") if not (p.parent / "run.json").is_file())


class Root:
    """The folder of all results."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or Path(os.environ.get(RESULTS_VARIABLE) or "results")

    @property
    def instances_path(self) -> Path:
        """Data of the servers that inrush starts, where `--data` says nothing else.

        Servers refuse to run as root and then run as a user that cannot enter root's folders: as root it is a
        folder of everyone's, one for each folder of results.
        """
        if os.geteuid() != 0:
            return self.root / "instances"
        return Path("/var/tmp/inrush") / hashlib.sha256(str(self.root.resolve()).encode()).hexdigest()[:8]

    @property
    def predictions_path(self) -> Path:
        """Claims and their scores."""
        return self.root / "predictions"

    def refuse_file(self) -> None:
        """Raises UsageError where a file is in the place of the folder."""
        if self.root.exists() and not self.root.is_dir():
            raise UsageError(
                f"{self.root.absolute()}: is a file, not a folder; name a folder for results: {RESULTS_VARIABLE}=DIR"
            )

    def refuse_unwritable(self) -> None:
        """Raises UsageError where nothing can be written: before a server is started for it."""
        self.refuse_file()
        self.refuse_planted()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as e:
            raise UsageError(
                f"{self.root.absolute()}: results cannot be written here ({e.strerror or e}); give rights or make room, or "
                f"name another folder: {RESULTS_VARIABLE}=DIR"
            ) from e

    def refuse_planted(self) -> None:
        """Raises UsageError where another user has made the folder in one of everyone's, such as /tmp: that user may change
        what is written here, and put links in its place."""
        ours, named, there = trusted(), self.root.absolute(), self.root.resolve()
        for folder in dict.fromkeys((named, *named.parents, there, *there.parents)):
            try:
                owner, above = folder.lstat().st_uid, folder.parent.stat().st_mode
            except OSError:  # it is not there yet
                continue
            if owner not in ours and above & stat.S_IWOTH:
                raise UsageError(
                    f"{folder}: belongs to user {owner}, who can change what is written there; name another folder for "
                    f"results: {RESULTS_VARIABLE}=DIR"
                )

    @property
    def loads_path(self) -> Path:
        """Rejects, logs and unpacked input of `inrush load`, by import."""
        return self.root / "loads"

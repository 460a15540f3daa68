"""The folder of all studies, and the folder of one while it is written."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from inrush.errors import UsageError
from inrush.results.schema import RESULT_SCHEMA
from inrush.results.store.files import Doc, read_json, write_json
from inrush.results.store.reading import Results
from inrush.results.store.root import Root
from inrush.results.store.sealing import EARLIER, OpenRun

#: Below a study's data: files that it makes once for all its runs, and removes at its end.
FILES = "files"


class Store(Root):
    """All studies below one folder."""

    def new_study(self, name: str, doc: Mapping[str, Any]) -> StudyFolder:
        """A folder of its own for one execution of a study; the name says when it was begun."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        for n in range(100):
            path = self.root / (f"{_slug(name)}-{stamp}" + (f"-{n}" if n else ""))
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue
            folder = StudyFolder(path)
            folder.write(
                {"schema": RESULT_SCHEMA, "id": path.name, "study": name, "status": "running", **doc}
            )
            return folder
        raise UsageError(
            f"{self.root}: a hundred studies were begun in this second; begin the next one later"
        )

    def studies(self) -> list[StudyFolder]:
        """Oldest first."""
        self.refuse_file()
        if not self.root.is_dir():
            return []
        found = [StudyFolder(p.parent) for p in self.root.glob("*/study.json")]
        return sorted(found, key=lambda s: (s.begun_unix_ns, s.path.name))

    def latest(self, name: str | None = None) -> StudyFolder:
        """The study begun last; of one name, if given."""
        found = [s for s in self.studies() if name is None or s.name == name]
        if not found:
            of = f" of study {name}" if name else ""
            raise UsageError(f"{self.root}: no results{of} yet; `inrush run quickstart` makes some")
        return found[-1]

    def find(self, spec: str | None, without: Collection[str] = ()) -> Results:
        """Results by path, id, unique beginning of an id, study name (its latest) or nothing (the latest).

        The path of one run gives that run alone. without: ids that are not meant by "the latest", only by their own
        name; where there are no others they are.
        """
        if spec is None or spec == "latest":
            others = [s for s in self.studies() if s.path.name not in without]
            return Results((others[-1] if others else self.latest()).path)
        for path in (Path(spec), self.root / spec):
            if (path / "study.json").is_file():
                return Results(path)
            if (path / "plan.json").is_file():
                return Results(path.parent, only=path.name)
        studies = self.studies()
        # `batch` as well as `telemetry-batch`: what `inrush run` takes, the others take.
        named = [s for s in studies if s.name == spec or s.name.partition("-")[2] == spec]
        named = [s for s in named if s.path.name not in without] or named
        begins = named or [s for s in studies if s.path.name.startswith(spec)]
        if len(begins) == 1 or (begins and all(s.name == begins[0].name for s in begins)):
            return Results(begins[-1].path)
        if begins:
            names = ", ".join(s.path.name for s in begins)
            raise UsageError(f"{spec}: more than one study begins so ({names}); name one")
        raise UsageError(f"{spec}: no results of that name in {self.root}; `inrush runs` lists them")

    def one(self, spec: str) -> StudyFolder:
        """The one study folder of this store with this id, or the only one with an id that begins so. Raises UsageError.

        Never a path: what is named lies directly in the folder of all results.
        """
        begins = [s for s in self.studies() if s.path.name.startswith(spec) and not s.path.is_symlink()]
        found = [s for s in begins if s.path.name == spec] or begins
        if len(found) == 1 and spec:
            return found[0]
        if found:
            names = ", ".join(s.path.name for s in found)
            raise UsageError(f"{spec or 'an empty name'}: more than one study begins so ({names}); name one")
        raise UsageError(f"{spec}: no study of this id in {self.root}; `inrush runs` lists them")


class StudyFolder:
    """One execution of a study, while it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data: Path | None = None
        self._inputs: Path | None = None
        self._locked = False

    @cached_property
    def doc(self) -> Doc:
        return read_json(self.path / "study.json")

    @property
    def name(self) -> str:
        return str(self.doc.get("study", ""))

    @property
    def begun_unix_ns(self) -> int:
        return int(self.doc.get("begun_unix_ns", 0))

    @property
    def data_path(self) -> Path:
        """Where embedded engines keep their files while the study runs; emptied after every run."""
        return self._data or self.path / "data"

    def keep_data_in(self, data: Path) -> None:
        """Embedded engines keep their files in a folder of this study's own in `data`."""
        self._data = data / self.path.name

    def keep_inputs_in(self, folder: Path) -> None:
        """Input files that are made lie in a folder of this study's own in `folder`, and not with the data."""
        self._inputs = folder / self.path.name

    @property
    def files_path(self) -> Path:
        """What users' files were turned into, for all runs."""
        return self.data_path / FILES

    @property
    def inputs_path(self) -> Path:
        """The input files that are made, for all runs."""
        return (self._inputs or self.data_path) / FILES

    @property
    def inputs_apart(self) -> Path | None:
        """The same where the call names a folder for them."""
        return self.inputs_path if self._inputs is not None else None

    def remove_files(self) -> None:
        """At the end of the study."""
        for place in {self.files_path, self.inputs_path}:
            shutil.rmtree(place, ignore_errors=True)

    def data_in(self, storage: Path | None) -> Path:
        """The same on a storage of the study; None: it has none."""
        return storage / self.path.name if storage is not None else self.data_path

    def leave_data(self, storages: Iterable[Path] = ()) -> None:
        """At the end of it: empty folders among others are not left behind."""
        for place in (*filter(None, (self._data, self._inputs)), *map(self.data_in, storages)):
            with suppress(OSError):  # it was never made, or something is left in it for a resume
                place.rmdir()

    def write(self, changes: Mapping[str, Any]) -> None:
        """Changes keys of study.json, whole or not at all."""
        old = self.doc if (self.path / "study.json").is_file() else {}
        doc = {**old, **changes}
        write_json(self.path / "study.json", doc)
        self.__dict__["doc"] = doc

    def discard_if_empty(self) -> None:
        """Removes a study that was refused before its first run: there is nothing to go on with."""
        if not Results(self.path).runs:
            shutil.rmtree(self.path)

    def delete(self) -> None:
        """Removes the folder; what it links to stays. Raises UsageError while an inrush works on it.

        study.json goes last: a deletion that was cut short is named and done again.
        """
        with self.locked():
            for child in sorted(self.path.iterdir(), key=lambda p: p.name == "study.json"):
                if child.is_dir() and not child.is_symlink():
                    shutil.rmtree(child)
                else:
                    child.unlink()
            self.path.rmdir()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One inrush at a time works on a study; the lock ends with its process, however that ends.

        Within a lock that this object holds already, another one is the same.
        """
        if self._locked:
            yield
            return
        with self._lock_file() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"{self.path}: another inrush is working on this study; wait for it"
                ) from None
            self._locked = True
            try:
                yield
            finally:
                self._locked = False

    def _lock_file(self) -> IO[bytes]:
        """Who can read it can hold the lock, so that those who may not write it read it neither: others, and also the group
        where it does not share the folder. Raises PermissionError for them."""
        opened = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o660)
        status = os.fstat(opened)
        if status.st_uid == os.geteuid():
            os.fchmod(opened, 0o660 if status.st_mode & stat.S_IWGRP else 0o600)
        return os.fdopen(opened, "r+b")

    def is_locked(self) -> bool:
        """Whether an inrush is working on it now; True where that is not ours to ask."""
        if self._locked:
            return True
        try:
            with self.locked():
                return False
        except (UsageError, PermissionError):
            return True

    def sealed(self, run: str) -> Doc | None:
        """run.json of a run that is complete, else None."""
        path = self.path / run / "run.json"
        return read_json(path) if path.is_file() else None

    def leftover(self, run: str) -> OpenRun | None:
        """A run that was begun and never sealed; also one that was killed between seal and clearing away."""
        path = self.path / run
        if (path / EARLIER).is_dir():  # killed while its next worker was made ready
            (path / "parts").mkdir(exist_ok=True)
        if not (path / "parts").is_dir():
            return None
        if (path / "run.json").is_file():
            shutil.rmtree(path / EARLIER, ignore_errors=True)
            shutil.rmtree(path / "parts")
            return None
        return OpenRun(path)

    def go_on(
        self,
        run: str,
        plan: Callable[[Sequence[str]], Mapping[str, Any]],
        env: Mapping[str, Any],
        keep: bool,
    ) -> OpenRun:
        """A run that was killed, for its next worker. keep: what the last one has left is part of the run.

        plan: of the folders of what earlier workers have left.
        """
        path = self.path / run
        parts = path / "parts"
        if keep:
            (path / EARLIER).mkdir(exist_ok=True)
            parts.rename(path / EARLIER / f"{len(OpenRun(path).earlier):04}")
        else:
            shutil.rmtree(parts)
        parts.mkdir()
        opened = OpenRun(path)
        write_json(parts / "env.json", env)
        write_json(parts / "plan.json", plan([str(p) for p in opened.earlier]))
        return opened

    def quarantine(self, run: str) -> Path | None:
        """Moves what is left of a run out of the way; None if there is nothing."""
        path = self.path / run
        if not path.exists():
            return None
        quarantine = self.path / "quarantine"
        quarantine.mkdir(exist_ok=True)
        taken = len(list(quarantine.glob(f"{run}.*")))
        to = quarantine / f"{run}.{taken + 1}"
        path.rename(to)
        return to

    def open_run(self, run: str, plan: Mapping[str, Any], env: Mapping[str, Any]) -> OpenRun:
        """A new folder for one run; what an earlier attempt left is moved to quarantine."""
        self.quarantine(run)
        path = self.path / run
        (path / "parts").mkdir(parents=True)
        write_json(path / "plan.json", plan)
        write_json(path / "env.json", env)
        return OpenRun(path)


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "study"

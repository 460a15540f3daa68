"""Results on disk: the only module that knows their paths.

    results/<study id>/study.json              what was asked and planned; says `running` until it is done
    results/<study id>/<run>/plan.json env.json    written before the run
                             parts/<table>.arrows  appended by the core while it runs
                             <table>.parquet       when sealed
                             run.json              last, by rename: a run without it never happened
    results/<study id>/aside/<run>.<n>          half-written runs, kept for the curious, counted by nobody

A run that is sealed is never written again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from inrush.errors import ResultUnreadable, UsageError
from inrush.results.schema import RESULT_SCHEMA, SCHEMAS, conform, empty

Doc = dict[str, Any]

#: Name of the environment variable that moves `results/` elsewhere.
RESULTS_VARIABLE = "INRUSH_RESULTS"


class Store:
    """All studies below one folder."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or Path(os.environ.get(RESULTS_VARIABLE) or "results")

    @property
    def instances_path(self) -> Path:
        """Data of the servers that inrush starts, where `--data` says nothing else.

        Servers refuse to run as root and then run as a user who cannot enter root's folders: as root it is a
        folder of everyone's, one for each folder of results.
        """
        if os.geteuid() != 0:
            return self.root / "instances"
        return Path("/var/tmp/inrush") / hashlib.sha256(str(self.root.resolve()).encode()).hexdigest()[:8]

    @property
    def loads_path(self) -> Path:
        """Rejects, logs and unpacked input of `inrush load`, by import."""
        return self.root / "loads"

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

    def find(self, spec: str | None) -> Results:
        """Results by path, id, unique beginning of an id, study name (its latest) or nothing (the latest).

        The path of one run gives that run alone.
        """
        if spec is None or spec == "latest":
            return Results(self.latest().path)
        for path in (Path(spec), self.root / spec):
            if (path / "study.json").is_file():
                return Results(path)
            if (path / "plan.json").is_file():
                return Results(path.parent, only=path.name)
        studies = self.studies()
        # `batch` as well as `telemetry-batch`: what `inrush run` takes, the others take.
        named = [s for s in studies if s.name == spec or s.name.partition("-")[2] == spec]
        begins = named or [s for s in studies if s.path.name.startswith(spec)]
        if len(begins) == 1 or (begins and all(s.name == begins[0].name for s in begins)):
            return Results(begins[-1].path)
        if begins:
            names = ", ".join(s.path.name for s in begins)
            raise UsageError(f"{spec}: more than one study begins so ({names}); name one")
        raise UsageError(f"{spec}: no results of that name in {self.root}; `inrush runs` lists them")


class StudyFolder:
    """One execution of a study, while it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path

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
        return self.path / "data"

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

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One inrush at a time works on a study; the lock ends with its process, however that ends."""
        with (self.path / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"{self.path}: another inrush is working on this study; wait for it"
                ) from None
            yield

    def is_locked(self) -> bool:
        """Whether an inrush is working on it now."""
        try:
            with self.locked():
                return False
        except UsageError:
            return True

    def sealed(self, run: str) -> Doc | None:
        """run.json of a run that is complete, else None."""
        path = self.path / run / "run.json"
        return read_json(path) if path.is_file() else None

    def leftover(self, run: str) -> OpenRun | None:
        """A run that was begun and never sealed; also one that was killed between seal and clearing away."""
        path = self.path / run
        if not (path / "parts").is_dir():
            return None
        if (path / "run.json").is_file():
            shutil.rmtree(path / "parts")
            return None
        return OpenRun(path)

    def set_aside(self, run: str) -> Path | None:
        """Moves what is left of a run out of the way; None if there is nothing."""
        path = self.path / run
        if not path.exists():
            return None
        aside = self.path / "aside"
        aside.mkdir(exist_ok=True)
        taken = len(list(aside.glob(f"{run}.*")))
        to = aside / f"{run}.{taken + 1}"
        path.rename(to)
        return to

    def open_run(self, run: str, plan: Mapping[str, Any], env: Mapping[str, Any]) -> OpenRun:
        """A new folder for one run; what an earlier attempt left is set aside."""
        self.set_aside(run)
        path = self.path / run
        (path / "parts").mkdir(parents=True)
        write_json(path / "plan.json", plan)
        write_json(path / "env.json", env)
        return OpenRun(path)


@dataclass(frozen=True)
class OpenRun:
    """A run that is being written; the core writes `parts`, `seal` ends it."""

    path: Path

    @property
    def plan_path(self) -> Path:
        return self.path / "plan.json"

    @property
    def parts(self) -> Path:
        return self.path / "parts"

    @property
    def log(self) -> Path:
        return self.path / "worker.log"

    def table(self, name: str) -> pa.Table:
        """A table as far as it is written."""
        path = self.parts / f"{name}.arrows"
        batches = list(whole_batches(path)) if path.is_file() else []
        return conform(name, pa.Table.from_batches(batches)) if batches else empty(name)

    def seal(self, doc: Mapping[str, Any]) -> Doc:
        """Parts become Parquet, then run.json appears: from here on the run counts."""
        tables = {
            p.stem: _to_parquet(p, self.path / f"{p.stem}.parquet")
            for p in sorted(self.parts.glob("*.arrows"))
        }
        _sync(self.path)
        sealed = {"schema": RESULT_SCHEMA, **doc, "run": self.path.name, "tables": tables}
        write_json(self.path / "run.json", sealed)
        shutil.rmtree(self.parts)
        if self.log.is_file() and self.log.stat().st_size == 0:
            self.log.unlink()
        return sealed


@dataclass(frozen=True)
class SealedRun:
    """A run that is complete, as the report reads it."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @cached_property
    def doc(self) -> Doc:
        """run.json: status, labels, block, order, hash, times, failure."""
        doc = read_json(self.path / "run.json")
        check_schema(doc, self.path / "run.json")
        return doc

    @cached_property
    def plan(self) -> Doc:
        return read_json(self.path / "plan.json")

    @cached_property
    def env(self) -> Doc:
        return read_json(self.path / "env.json")

    @property
    def labels(self) -> Doc:
        return dict(self.doc.get("labels", {}))

    @cached_property
    def tables(self) -> Mapping[str, pa.Table]:
        """All tables, read when first asked for; empty ones for what the run did not write."""
        return _Tables(self)

    def table(self, name: str) -> pa.Table:
        return self.tables[name]

    def damage(self) -> list[str]:
        """What differs from what was sealed, as messages; empty when nothing does."""
        found = []
        for name, sealed in self.doc.get("tables", {}).items():
            path = self.path / sealed["file"]
            if not path.is_file():
                found.append(f"{path}: table {name} is missing; restore the folder from where it was copied")
            elif _sha256(path) != sealed["sha256"]:
                found.append(
                    f"{path}: table {name} is not as it was sealed; restore it or run the study again"
                )
        return found


class _Tables(Mapping[str, pa.Table]):
    """Lazy: a study of a thousand runs is opened without reading a table."""

    def __init__(self, run: SealedRun) -> None:
        self._run = run
        self._read: dict[str, pa.Table] = {}
        self._names = sorted(set(SCHEMAS) | set(run.doc.get("tables", {})))

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def _load(self, name: str) -> pa.Table:
        sealed = self._run.doc.get("tables", {}).get(name)
        if sealed is None:
            return empty(name)
        path = self._run.path / sealed["file"]
        try:
            return conform(name, pq.read_table(path))
        except (OSError, pa.ArrowException) as e:
            raise ResultUnreadable(
                f"{path}: {e}; the run was sealed with this table: restore the folder"
            ) from e

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Results:
    """A study's results, as far as they are sealed."""

    def __init__(self, path: Path, only: str | None = None) -> None:
        self.path = path
        self.only = only

    @cached_property
    def study(self) -> Doc:
        """study.json: title, question, expect, answer, accept, published, planned runs, stopped, unsupported."""
        doc = read_json(self.path / "study.json")
        check_schema(doc, self.path / "study.json")
        return doc

    @cached_property
    def runs(self) -> list[SealedRun]:
        """Sealed runs in planned order: block, then order in the block."""
        if self.only is not None and not (self.path / self.only / "run.json").is_file():
            raise ResultUnreadable(
                f"{self.path / self.only}: this run was never sealed, so it has no figures; "
                f"go on with `inrush run --resume {self.path.name}`"
            )
        found = [
            SealedRun(p.parent) for p in self.path.glob("*/run.json") if self.only in (None, p.parent.name)
        ]
        return sorted(found, key=lambda r: (r.doc.get("block", 0), r.doc.get("order", 0), r.id))

    @property
    def unsealed(self) -> list[str]:
        """Folders of runs that were begun and not sealed."""
        return sorted(
            p.parent.name for p in self.path.glob("*/plan.json") if not (p.parent / "run.json").is_file()
        )

    @property
    def report_path(self) -> Path:
        return self.path / "report.html"

    @property
    def exports_path(self) -> Path:
        return self.path / "exports"


def read_json(path: Path) -> Doc:
    try:
        doc = json.loads(path.read_text())
    except FileNotFoundError:
        raise ResultUnreadable(
            f"{path}: missing; the folder is not one of inrush's or was copied in part"
        ) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as e:
        raise ResultUnreadable(f"{path}: {e}; restore the file, or leave this folder out") from e
    if not isinstance(doc, dict):
        raise ResultUnreadable(f"{path}: not a JSON object; restore the file, or leave this folder out")
    return doc


def write_json(path: Path, doc: Mapping[str, Any]) -> None:
    """Whole or not at all, also when the power goes: temporary file, fsync, rename, fsync of the folder."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w") as f:
        json.dump(doc, f, indent=1, sort_keys=False, ensure_ascii=False)
        f.write("\n")
        f.flush()
        os.fsync(f.fileno())
    temporary.rename(path)
    _sync(path.parent)


def check_schema(doc: Mapping[str, Any], path: Path) -> None:
    """Older results are read; newer ones are refused, because their meaning is not known here."""
    version = doc.get("schema")
    if not isinstance(version, int) or version < 1:
        raise ResultUnreadable(f"{path}: schema is {version!r}; a result of inrush has a number there")
    if version > RESULT_SCHEMA:
        raise ResultUnreadable(
            f"{path}: schema {version} was written by a newer inrush; this one reads up to {RESULT_SCHEMA}: update it"
        )


def whole_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Batches of an Arrow stream up to the last whole one: a kill cuts a stream anywhere.

    Nothing when not even the schema is there.
    """
    with path.open("rb") as f:
        try:
            reader = pa.ipc.open_stream(f)
        except (pa.ArrowInvalid, OSError):
            return
        while True:
            try:
                batch = reader.read_next_batch()
            except (StopIteration, pa.ArrowInvalid, OSError):
                return
            yield batch


def _to_parquet(part: Path, path: Path) -> Doc:
    """Writes a table's Parquet from its stream; returns its entry in run.json."""
    name = path.stem
    temporary = path.with_name(path.name + ".tmp")
    rows = 0
    schema = SCHEMAS.get(name)
    metadata = {b"inrush.schema": str(RESULT_SCHEMA).encode(), b"inrush.table": name.encode()}
    writer: pq.ParquetWriter | None = None
    for batch in whole_batches(part):
        table = conform(name, pa.Table.from_batches([batch]))
        if writer is None:
            schema = table.schema
            writer = pq.ParquetWriter(temporary, schema.with_metadata(metadata), compression="zstd")
        writer.write_table(table.replace_schema_metadata(metadata))
        rows += table.num_rows
    if writer is None:
        writer = pq.ParquetWriter(
            temporary, (schema or pa.schema([])).with_metadata(metadata), compression="zstd"
        )
    writer.close()
    with temporary.open("rb") as f:
        os.fsync(f.fileno())
    temporary.rename(path)
    return {"file": path.name, "rows": rows, "bytes": path.stat().st_size, "sha256": _sha256(path)}


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as f:
        while chunk := f.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "study"

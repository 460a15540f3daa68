"""Where the programs of MySQL Cluster come from: a folder or a tarball that the user names, else Debian's source.

No distribution has packages of them. They are kept with the client library, its headers, and the part of inrush that is
compiled against both: the binding. inrush ships nothing of theirs, whose licence is the GPL.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from inrush.engines.base.instance import Release
from inrush.engines.ndb import build as ndb_build
from inrush.engines.servers import client_libraries, life, private
from inrush.errors import TargetError

#: Folder in which the programs, the client library and its headers lie, at any depth.
HOME = "INRUSH_NDB_HOME"
#: The same, packed.
TARBALL = "INRUSH_NDB_TARBALL"
PROGRAMS = ("ndbmtd", "ndb_mgmd")
#: Kept where they are there: nothing of inrush needs them.
FURTHER = ("ndb_mgm", "ndb_waiter", "flexAsynch")
#: A SQL node's program, and the folders beside it that it reads, kept as they lie; below this folder.
SQL_PROGRAM, SQL_FOLDER, SQL_READS = "mysqld", "sql", ("lib", "share")
LIBRARY = "libndbclient.so"
HEADER = "NdbApi.hpp"
HEADERS = "include"
#: inrush's own, and what it becomes.
BINDING_SOURCE = Path(__file__).with_name("shim.cpp")
BINDING = client_libraries.NDB
RECORD = "release.json"
COMPILE_S = 600.0
HINT = f"name an unpacked MySQL Cluster by {HOME}, or a tarball of one by {TARBALL}"


@dataclass(frozen=True)
class ClusterPrograms:
    """The offer: one folder in the cache, of whatever was named last."""

    engine: str = "ndb"
    #: Takes lines about a build.
    note: Callable[[str], object] = lambda line: None

    @property
    def folder(self) -> Path:
        return life.cache_folder() / self.engine

    def release(self) -> Release:
        with life.locked(self.folder.with_name(f".{self.engine}.lock")):
            release = self._programs() or self._made()
            bind(release.path)
        return release

    def cached(self) -> Release | None:
        found = self._programs()
        return found if found is not None and is_bound(found.path) else None

    def program_in(self, folder: Path) -> Path:
        return folder / "ndbmtd"

    def at_hand(self) -> bool:
        """Whether a fetch takes seconds: nothing has to be built."""
        return bool(named()) or self._programs() is not None

    def _programs(self) -> Release | None:
        """Those in the cache, unless others are named now."""
        record = self.folder / RECORD
        if not record.is_file():
            return None
        doc = json.loads(record.read_text())
        if (asked := source()) and asked != doc["source"]:
            return None
        return Release(self.engine, doc["version"], self.folder, doc["source"])

    def _made(self) -> Release:
        """Raises TargetError; the finished folder appears in one piece."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder.parent, prefix=".ndb-") as scratch:
            work = Path(scratch)
            came_from = source()
            if home := os.environ.get(HOME):
                found = Path(home)
            elif tarball := os.environ.get(TARBALL):
                found = unpacked(Path(tarball), work / "unpacked")
            else:
                found, came_from = ndb_build.built(work, HINT, self.note)
            part = work / "part"
            gather(found, part)
            if found != Path(home or ""):
                keep_sql(found, part)
            version = version_of(part)
            private.write(
                part / RECORD, json.dumps({"version": version, "source": came_from}, indent=1) + "\n"
            )
            shutil.rmtree(self.folder, ignore_errors=True)
            part.rename(self.folder)
        return Release(self.engine, version, self.folder, came_from)


def named() -> str | None:
    """What the user names: a folder or a tarball. Raises TargetError for one that is not there."""
    for variable, kind in ((HOME, "folder"), (TARBALL, "file")):
        if value := os.environ.get(variable):
            path = Path(value)
            if not (path.is_dir() if variable == HOME else path.is_file()):
                raise TargetError(f"{variable} is {value}, where there is no {kind}; {HINT}")
            return value
    return None


def source() -> str:
    """What is named, for the record: a tarball by its hash, so that another one of the same name is another. Empty: nothing is."""
    path = named()
    if not path or os.environ.get(HOME):
        return path or ""
    hashed = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return f"{Path(path).name}, sha256 {hashed}"


def unpacked(tarball: Path, into: Path) -> Path:
    try:
        with tarfile.open(tarball) as packed:
            packed.extractall(into, filter="data")
    except (tarfile.TarError, OSError) as error:
        first = str(error).splitlines()[0].rstrip(":")
        raise TargetError(f"{tarball} could not be unpacked: {first}; {HINT}") from None
    return into


def gather(found: Path, into: Path) -> None:
    """Programs, library and headers in one folder. Raises TargetError with what is missing."""
    into.mkdir(mode=0o755)
    files = [path for path in sorted(found.rglob("*")) if path.is_file()]
    by_name = {path.name: path for path in files}
    # The file that the links of a full installation point at has the longest name.
    library = max(
        (p for p in files if p.name.startswith(f"{LIBRARY}.")), key=lambda p: len(p.name), default=None
    )
    missing = [name for name in (*PROGRAMS, HEADER) if name not in by_name]
    if missing or library is None:
        lacks = [*missing, *([] if library else [f"{LIBRARY}.*"])]
        raise TargetError(f"{found} has no {', '.join(lacks)}; {HINT}")
    for name in (*PROGRAMS, *FURTHER):
        if name in by_name:
            shutil.copy2(by_name[name], into / name)
            (into / name).chmod(0o755)
    shutil.copy2(library, into / library.name)
    (into / LIBRARY).symlink_to(library.name)
    (into / HEADERS).mkdir()
    for header in headers(by_name[HEADER], files):
        shutil.copy2(header, into / HEADERS / header.name)


def keep_sql(found: Path, into: Path) -> None:
    """What a SQL node runs with, of an archive that has one: nothing else of it stays. A folder stays where it is."""
    program = next((path for path in sorted(found.rglob(SQL_PROGRAM)) if path.is_file()), None)
    if program is None:
        return
    base, kept = program.parent.parent, into / SQL_FOLDER
    (kept / "bin").mkdir(parents=True)
    shutil.copy2(program, kept / "bin" / SQL_PROGRAM)
    for name in SQL_READS:
        if base.is_relative_to(found) and (base / name).is_dir():
            shutil.copytree(base / name, kept / name, symlinks=True)


def headers(first: Path, files: Iterable[Path]) -> list[Path]:
    """Those beside the first one, and those of the folder above where the two lie as in an installation."""
    folders = [first.parent]
    if first.parent.name == "ndbapi":
        folders.append(first.parent.parent)
    return [path for path in files if path.parent in folders and path.suffix in (".h", ".hpp")]


def version_of(folder: Path) -> str:
    program = folder / "ndbmtd"
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        said = (done.stdout + done.stderr).strip()
    except OSError as error:
        said = str(error)
    if found := re.search(r"ndb-(\d[\d.]*)", said):
        return found[1]
    raise TargetError(f"ndbmtd does not run here: {' '.join(said.split())[-300:]}; {HINT}")


# inrush's own part, compiled against what was fetched


def bind(folder: Path) -> None:
    """Compiles the binding where it is not there, or of another inrush. Raises TargetError with the compiler's words."""
    if is_bound(folder):
        return
    compiler = os.environ.get("CXX") or life.program(
        "c++",
        "inrush's binding to MySQL Cluster is compiled with it (on Debian: apt-get install g++), or name another by CXX",
    )
    part = folder / f"{BINDING}.part"
    library = next(iter(sorted(folder.glob(f"{LIBRARY}.*"))))
    command: list[str | Path] = [compiler, "-O2", "-std=c++20", "-shared", "-fPIC", "-I", folder / HEADERS]
    command += ["-o", part, BINDING_SOURCE, library, f"-Wl,-rpath,{folder}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMPILE_S)
        said, failed = done.stderr.strip(), done.returncode != 0
    except (OSError, subprocess.TimeoutExpired) as error:
        said, failed = str(error), True
    if failed:
        part.unlink(missing_ok=True)
        errors = [line for line in said.splitlines() if "error" in line] or said.splitlines()
        raise TargetError(
            f"{compiler} could not compile inrush's binding to MySQL Cluster in {folder}: {' '.join(errors[:1])}"
        )
    part.replace(folder / BINDING)
    private.write(folder / f"{BINDING}.made", made_of() + "\n")


def is_bound(folder: Path) -> bool:
    made = folder / f"{BINDING}.made"
    return (folder / BINDING).is_file() and made.is_file() and made.read_text().strip() == made_of()


def made_of() -> str:
    """By which a binding of an older inrush is known."""
    return hashlib.sha256(BINDING_SOURCE.read_bytes()).hexdigest() if BINDING_SOURCE.is_file() else ""

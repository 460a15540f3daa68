"""The ordinary apt client with a state of its own, so that it needs no root and changes nothing of the machine's."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inrush.engines.servers import life
from inrush.errors import TargetError

#: Address of a Debian mirror, for machines whose apt has none.
MIRROR = "INRUSH_DEBIAN_MIRROR"
#: Keys that sign Debian's suites.
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
APT_HELPER = Path("/usr/lib/apt/apt-helper")


@dataclass(frozen=True)
class Package:
    """One file to download, as apt lists it."""

    url: str
    file: str
    size_bytes: int
    sha256: str


def root() -> Path:
    return life.cache_folder() / "debian"


def configured(suite: str, kind: str = "deb") -> Path:
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
    config.write_text(config_of(home, output_of(["apt-config", "dump"])))
    run(config, ["update", "-q"], suite)
    (home / "ok").touch()
    return config


def config_of(home: Path, system: str) -> str:
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
    listed = output_of(
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
        run(config, download, " ".join(packages))
    except TargetError:
        run(config, ["update", "-q"], " ".join(packages))
        listed = closure(config, packages)
        run(config, download, " ".join(packages))
    return listed


def closure(config: Path, packages: Sequence[str]) -> list[Package]:
    """Every package that `packages` need on a machine that has none."""
    none = config.parent / "none"
    (none / "partial").mkdir(parents=True, exist_ok=True)
    listed = run(
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


def fetch_pool(file: str, sha256: str, into: Path) -> Path:
    """A file of the mirror's pool that is known by its hash, which apt checks. Raises TargetError."""
    helper = life.program(str(APT_HELPER), "it is a part of apt")
    path = into / file.rpartition("/")[2]
    done = subprocess.run(
        [helper, "download-file", f"{mirror().rstrip('/')}/pool/{file}", path, f"SHA256:{sha256}"],
        env=environment(),
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
    config = configured(suite, "deb-src")
    download = ["source", "-q", "--download-only", package]
    try:
        run(config, download, package, into)
    except TargetError:  # the suite has moved on
        run(config, ["update", "-q"], package)
        run(config, download, package, into)


def run(config: Path, arguments: Sequence[str], what: str, folder: Path | None = None) -> str:
    done = subprocess.run(
        ["apt-get", *arguments],
        cwd=folder,
        env=environment(APT_CONFIG=str(config)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = "\n  ".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise TargetError(f"apt-get {arguments[0]} for {what} failed with code {done.returncode}:\n  {last}")
    return done.stdout


def output_of(command: Sequence[str]) -> str:
    done = subprocess.run(
        command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.stdout + (done.stderr if done.returncode else "")


def environment(**more: str) -> Mapping[str, str]:
    return {**os.environ, "LC_ALL": "C", **more}

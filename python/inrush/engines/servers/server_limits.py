"""Limits of a server that inrush starts: one control group for all of its processes, and proof that it holds them.

Each limit is checked by its effect before the server runs: a probe inside of the group must be slowed, or be refused the memory.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from inrush.engines.base.instance import Instance
from inrush.engines.servers import life
from inrush.errors import Problem, TargetError, refuse
from inrush.machine import cgroup, host
from inrush.machine.cgroup import CONTROLLERS, DEVICE_FILES, Group
from inrush.text import number

#: Settings of a server that are limits: `limit.memory=512MB`.
PREFIX = "limit."
AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMGT]i?)?B?")
UNITS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
         "ki": 1 << 10, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}  # fmt: skip
#: Limit -> the least and the most that can be asked for; more could not be checked within a second or two.
LEAST = {
    "memory": 32e6,
    "cpu": 0.05,
    "read_bytes_per_s": 1e5,
    "write_bytes_per_s": 1e5,
    "reads_per_s": 10,
    "writes_per_s": 10,
}
MOST = {"read_bytes_per_s": 1e9, "write_bytes_per_s": 1e9, "reads_per_s": 1e5, "writes_per_s": 1e5}
#: A probe may be faster than its limit by so much: the kernel shares out by tenths of a second.
TOLERANCE = 1.25
PROBE_S = 1.0
#: At a disk without a limit.
LOOKS = 3
#: What the memory probe takes above its limit.
ABOVE_BYTES = 32 << 20

PROBE = Path(__file__).with_name("limit_probe.py")


def split(settings: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """A server's own settings, and those that are limits, without their prefix."""
    limits = {k.removeprefix(PREFIX): v for k, v in settings.items() if k.startswith(PREFIX)}
    return {k: v for k, v in settings.items() if not k.startswith(PREFIX)}, limits


def limits_of(words: Mapping[str, str]) -> dict[str, float]:
    """Limit -> bytes, cores, bytes/s or operations/s. Raises UsageError with all that is wrong. Pure but for the cores."""
    found, problems = {}, []
    for name, word in words.items():
        problem = problem_of(name, word)
        if problem is not None:
            problems.append(f"{PREFIX}{name}={word}: {problem}")
        else:
            found[name] = amount(word)
    refuse(map(Problem.sentence, problems))
    return found


def problem_of(name: str, word: str) -> str | None:
    """What is wrong with one limit; None: nothing."""
    if name not in CONTROLLERS:
        return f"there is no such limit; it is one of {', '.join(CONTROLLERS)}"
    value = amount(word)
    if math.isnan(value):
        return "write a number, with k, M, G, Ki, Mi or Gi behind it where it is one of bytes"
    most = most_of(name)
    if not LEAST[name] <= value <= most:
        return (
            f"from {number(LEAST[name])} to {number(most)}, by what this machine has and what can be checked"
        )
    return None


def most_of(name: str) -> float:
    """Above what the machine has there is nothing to limit."""
    if name == "cpu":
        return len(os.sched_getaffinity(0)) * 0.95
    if name == "memory":
        return 0.9 * (host.meminfo_bytes("MemTotal") or math.inf)
    return MOST[name]


def amount(word: str) -> float:
    """NaN of what is none."""
    found = AMOUNT.fullmatch(word.strip())
    return float(found[1]) * UNITS[found[2] or ""] if found else math.nan


def name_of(data: Path) -> str:
    """Of the group of the server in this folder."""
    return f"inrush-server-{hashlib.sha256(str(data.absolute()).encode()).hexdigest()[:12]}"


def device_of(data: Path) -> str:
    """`major:minor` of the whole disk below a folder. Raises OSError where it lies on none (tmpfs, overlay, network)."""
    return (host.block_folder(data) / "dev").read_text().strip()


def not_permitted(data: Path, limits: Mapping[str, float]) -> str | None:
    """Why this machine does not hold a server in this folder to these limits; None: it would. Makes a group and removes it."""
    try:
        group(data, limits, trial=True).remove()
    except OSError as e:
        where = f": {e.filename}" if e.filename else ""
        return f"{e.strerror or e}{where}"
    return None


def group(data: Path, limits: Mapping[str, float], trial: bool = False) -> Group:
    """Raises OSError."""
    device = device_of(data) if DEVICE_FILES.keys() & limits.keys() else ""
    return cgroup.made(name_of(data) + ("-trial" if trial else ""), limits, device, cgroup.CGROUPS)


def made(data: Path, limits: Mapping[str, float]) -> tuple[Group, dict[str, float]]:
    """The group of the server in `data`, empty, and what each limit was seen to hold a probe to (its unit).

    Raises TargetError where the kernel refuses it, or where a probe is not slowed.
    """
    try:
        made = group(data, limits)
    except OSError as e:
        raise TargetError(f"{data}: limits are not permitted here ({e.strerror or e}: {e.filename})") from e
    try:
        return made, {name: probed_limit(made, data, name, value) for name, value in limits.items()}
    except BaseException:
        made.remove()
        raise


def remove(data: Path) -> None:
    """When the server has ended; of one without limits there is nothing."""
    existing(data).remove()


def existing(data: Path) -> Group:
    """The group of the server in `data`, as one with every limit."""
    version = cgroup.version_of(cgroup.CGROUPS)
    folders = cgroup.folders_of(name_of(data), dict.fromkeys(CONTROLLERS, 0.0), version, cgroup.CGROUPS)
    return Group(version, folders)


def memory_kills(instance: Instance) -> int:
    """Processes of a server that its limit of memory has ended since it was launched."""
    if "memory" not in instance.held:
        return 0
    return max(0, existing(instance.data).memory_kills() - instance.kills_before)


def memory_clause(what: str, limit: float, remedy: str) -> str:
    """What became of a server that its own limit of memory ended, and what to do. limit: bytes. Pure."""
    less = f", or take a setting that needs less ({remedy})" if remedy else ""
    return (
        f"{what} was ended by its limit of memory, {limit / 1e6:,.0f} MB; give it more ({PREFIX}memory){less}"
    )


def probed_limit(made: Group, data: Path, name: str, limit: float) -> float:
    """What a probe in the group came to. Raises TargetError where the limit did not hold it, or had nothing to hold."""
    if name == "memory":
        code, _ = probe(made, name, int(limit) + ABOVE_BYTES, data)
        if code != -signal.SIGKILL:
            raise TargetError(
                f"{PREFIX}memory={number(limit)}: a process of the group took {number(limit + ABOVE_BYTES)} bytes and was not ended; the "
                "kernel does not hold this limit"
            )
        return limit
    n = math.ceil(limit) + 1 if name == "cpu" else max(8, int(limit * PROBE_S))
    if name in DEVICE_FILES:
        refuse_slower(data, name, n, limit)
    within = float(probe(made, name, n, data)[1])
    if within > limit * TOLERANCE:
        raise TargetError(
            f"{PREFIX}{name}={number(limit)}: a probe in {data} came to {number(within, 3)}; the kernel does not hold this limit"
        )
    return within


def refuse_slower(data: Path, name: str, n: int, limit: float) -> None:
    """Raises TargetError where the disk does no more than the limit anyway; a busy one is looked at several times."""
    best = 0.0
    for _ in range(LOOKS):
        best = max(best, float(probe(None, name, n, data)[1]))
        if best > limit * TOLERANCE:
            return
    raise TargetError(
        f"{PREFIX}{name}={number(limit)}: the disk of {data} comes to {number(best, 3)} without a limit, so this one has nothing to hold; "
        "take less, or leave it out"
    )


def probe(made: Group | None, name: str, n: int, data: Path) -> tuple[int, str]:
    """Exit code and figure of a process that does so much, inside of the group or of none."""
    procs = [str(path) for path in made.procs] if made is not None else []
    path = data / f".limit-{os.getpid()}"
    try:
        done = subprocess.run(
            [sys.executable, "-S", "-E", str(PROBE), name, str(n), str(path), *procs],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        path.unlink(missing_ok=True)
    if done.returncode != 0 and name != "memory":
        raise TargetError(f"{data}: the probe of {PREFIX}{name} failed: {done.stderr.strip()[-200:]}")
    return done.returncode, done.stdout.strip() or "nan"


def outside(home: Path, group: Group, patience_s: float = 1.0) -> set[int]:
    """Processes of the server that its limits do not hold. The kernel takes one that is ending out of its group first."""
    free = life.working_in(home).keys() - group.members()
    end = time.monotonic() + patience_s
    while free and time.monotonic() < end:
        time.sleep(0.02)
        free &= life.working_in(home).keys() - group.members()
    return free

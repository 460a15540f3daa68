"""Settings of servers that inrush starts: the profiles of profiles.toml, filled in for this machine."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inrush.errors import UsageError
from inrush.study.toml import read_toml

FILE = Path(__file__).parent / "profiles.toml"
#: What a server gets when no profile is named: engines that are held against each other share one budget.
USUAL = "tuned"
#: MySQL's buffer pool: bytes of a chunk, and the most instances that it chooses by itself.
POOL_CHUNK, POOL_INSTANCES = 128 << 20, 64
UNITS = {"": 1, "kB": 1 << 10, "M": 1 << 20, "MB": 1 << 20, "GB": 1 << 30}


def settings(engine: str, profile: str | None = None, memory_bytes: int | None = None) -> dict[str, str]:
    """Values by the engine's own names. memory_bytes: of this machine when it is None. Raises UsageError."""
    chosen = profile or USUAL
    profiles = table()[engine]
    if chosen not in profiles:
        raise UsageError(f"{engine}: there is no profile {chosen}; it is one of {', '.join(profiles)}")
    share = budget(memory_bytes or memory())
    return {name: value(entry, share) for name, entry in profiles[chosen].items()}


def value(entry: Mapping[str, Any], share: Mapping[str, int], cores: int | None = None) -> str:
    """A setting as the engine reads it: as written, or a part of the budget in the engine's unit."""
    if "budget" not in entry:
        return json.dumps(entry["value"]) if isinstance(entry["value"], bool) else str(entry["value"])
    unit = entry.get("unit", "")
    taken = share[entry["budget"]]
    if "whole" in entry:
        step = pool_step(taken, cores)
        taken = -(-taken // step) * step
    return f"{taken // UNITS[unit]}{unit}"


def pool_step(taken: int, cores: int | None = None) -> int:
    """Bytes of which a buffer pool of MySQL is a multiple: a chunk for each of the instances that it makes by itself.

    cores: those that this process may use where it is None.
    """
    usable = cores or len(os.sched_getaffinity(0))
    instances = min(POOL_INSTANCES, taken // (2 * POOL_CHUNK), usable // 4) if taken > 1 << 30 else 1
    return POOL_CHUNK * max(1, instances)


def budget(memory_bytes: int) -> dict[str, int]:
    """Bytes that a tuned server may use: the same for every engine."""
    limits = table()["budget"]
    cache = memory_bytes * limits["cache_percent"] // 100
    cache = max(limits["cache_least_bytes"], min(limits["cache_most_bytes"], cache))
    # Whole MB: some engines round, and what was asked for should be what they say.
    return {"cache": cache >> 20 << 20, "log": limits["log_bytes"]}


def memory() -> int:
    """Bytes of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@functools.cache
def table() -> dict[str, Any]:
    return read_toml(FILE)

"""Resources of a pipeline beyond the machine's: what its study throttles, or limits by a CPU quota, has a capacity that is known. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from inrush.border.pipeline import shards_of
from inrush.model.pipeline import Part
from inrush.stats.files import throttles
from inrush.stats.record import RunRecord
from inrush.study.pipeline import ROLE

#: A resource is seen as full from this share of its servers.
FULL_SHARE = 0.85
INPUT_DISK, LOAD_SERVER, SHARDS = "input disk", "load server", "shards"


def quota_parts(run: RunRecord) -> list[Part]:
    """An input disk of so many bytes a second, a load server of so many cores, shards of so many rows a second each.

    A rate of each pipeline's own is no shared resource: it is what one load gives.
    """
    held = throttles(run)
    found = []
    if "device_bytes_per_s" in held:
        found.append(Part(INPUT_DISK))
    if cores := held.get("load_server_cores"):
        found.append(Part(LOAD_SERVER, cores))
    if "shard_rows_per_s" in held:
        shares = shard_rows(run)
        uneven = tuple(shares) if len(set(shares)) > 1 else None
        found.append(Part(SHARDS, 1.0, len(shards_of(run.plan)), uneven))
    return found


def quota_busy(run: RunRecord, figures: Mapping[str, float]) -> dict[str, float]:
    """Servers of each of them that the run kept busy, by its own rates."""
    held = throttles(run)
    busy = {}
    if device := held.get("device_bytes_per_s"):
        busy[INPUT_DISK] = figures.get(f"{ROLE}.bytes_per_s", 0.0) / device
    if "load_server_cores" in held:
        busy[LOAD_SERVER] = figures.get("load_server.busy_cores", 0.0)
    if shard := held.get("shard_rows_per_s"):
        busy[SHARDS] = figures.get(f"{ROLE}.rows_per_s", 0.0) / shard
    return busy


def shard_rows(run: RunRecord) -> list[float]:
    """Rows that each shard stored, in their order."""
    held = {r["name"]: float(r["value"]) for r in run.rows("counters") if r["name"].endswith(" rows")}
    return [held.get(f"shard {k} rows", 0.0) for k in range(len(shards_of(run.plan)))]

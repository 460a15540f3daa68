"""Files that went through a pipeline, one by one: the sample is a file. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from inrush.border.pipeline import loads_of, whole_load
from inrush.stats.gaps import gaps_of, worked_ns

if TYPE_CHECKING:
    from inrush.stats.record import RunRecord

FloatArray = NDArray[np.float64]
#: Of the input bytes; above it the files came from memory in part, although they were to come from the disk.
CACHED_SHARE = 0.01


@dataclass(frozen=True)
class Files:
    """In the order in which they began; arrays of one length."""

    #: Place among the files of its pipeline.
    order: NDArray[np.int64]
    pipeline: NDArray[np.int64]
    #: From the run's first due; `elapsed_s` until the last row was stored, without gaps in which no client worked.
    start_s: FloatArray
    elapsed_s: FloatArray
    bytes: FloatArray

    @property
    def bytes_per_s(self) -> FloatArray:
        return self.bytes / self.elapsed_s


def is_pipeline(run: RunRecord) -> bool:
    return whole_load(run.plan) is not None


def files_of(run: RunRecord) -> Files | None:
    """None for a run without files."""
    rows = sorted(run.rows("files"), key=lambda r: (r["start_ns"], r["file"]))
    if not rows:
        return None
    seen: dict[int, int] = {}
    order = []
    for r in rows:
        order.append(seen.get(r["pipeline"], 0))
        seen[r["pipeline"]] = order[-1] + 1
    due, gaps = min(r["due_ns"] for r in rows), gaps_of(run)
    return Files(
        np.array(order),
        np.array([r["pipeline"] for r in rows]),
        np.array([(r["start_ns"] - due) / 1e9 for r in rows]),
        np.array([max(worked_ns(r["start_ns"], r["end_ns"], gaps), 1) / 1e9 for r in rows]),
        np.array([r["bytes"] for r in rows], np.float64),
    )


def file_figures(run: RunRecord) -> dict[str, float]:
    """`pipelines.file_bytes_per_s` is the median over files; a file's rate is its bytes over its own time."""
    found = files_of(run)
    if found is None:
        return {}
    role = str(run.rows("files")[0]["role"])
    return {
        f"{role}.files": float(len(found.bytes)),
        f"{role}.file_bytes_per_s": float(np.median(found.bytes_per_s)),
        f"{role}.file_p50_s": float(np.quantile(found.elapsed_s, 0.5)),
        f"{role}.file_p90_s": float(np.quantile(found.elapsed_s, 0.9)),
    }


FIGURES = (file_figures,)


def cached_share(run: RunRecord) -> float | None:
    """Of the input, what the kernel held in memory when the clock started; None where it was not looked at."""
    held = {r["name"]: float(r["value"]) for r in run.rows("counters") if r["name"].startswith("inputs_")}
    whole = held.get("inputs_bytes", 0.0)
    return held["inputs_cached_bytes"] / whole if whole else None


#: Counters of a table that is fed from files; `rows_read` are those that were stored.
COUNTED = "inrush.files."
READ, REJECTED = ".rows_read", ".rows_rejected"


def rejected_rows(run: RunRecord) -> dict[str, tuple[int, int]]:
    """Table that was fed from files (of a pipeline: its role) -> rows rejected, and of how many; empty without files.

    A table that several segments fed has the most that one of them rejected.
    """
    counts: dict[tuple[str, int], dict[str, int]] = {}
    for r in run.rows("counters"):
        for kind in (READ, REJECTED):
            if r["name"].startswith(COUNTED) and r["name"].endswith(kind):
                table = r["name"].removeprefix(COUNTED).removesuffix(kind)
                counts.setdefault((table, r["segment"]), {})[kind] = int(r["value"])
    found: dict[str, tuple[int, int]] = {}
    for (table, _), of in counts.items():
        new = of.get(REJECTED, 0), of.get(REJECTED, 0) + of.get(READ, 0)
        found[table] = max(found.get(table, new), new)
    for f in run.rows("files"):
        rejected, of_all = found.get(f["role"], (0, 0))
        new_rejected = f["rejected"] or 0
        found[f["role"]] = rejected + new_rejected, of_all + new_rejected + f["rows"]
    return found


def loaded_by_ends(run: RunRecord) -> Collection[str]:
    """Roles whose calls are files that client and load server load: no call of theirs is timed as those of sessions are."""
    return set(loads_of(run.plan))


def gain_per_doubling(ratio: float, small: float, large: float) -> float:
    """What one doubling of the size brings, from the rate's ratio between two sizes: 0.05 is 5 %."""
    return float(ratio ** (1 / np.log2(large / small)) - 1)


def throttles(run: RunRecord) -> Mapping[str, float]:
    """What holds the load on purpose, of what is not 0: `device_bytes_per_s` …, `load_server_cores`."""
    load = whole_load(run.plan)
    how = cast("Mapping[str, float]", load["pipelines"] if load is not None else {})
    names: Sequence[str] = (
        "device_bytes_per_s",
        "pipeline_bytes_per_s",
        "shard_rows_per_s",
        "load_server_cores",
    )
    return {name: float(how[name]) for name in names if how.get(name)}

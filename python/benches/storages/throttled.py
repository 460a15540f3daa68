"""Two storages, one held to a quarter of what the other's server writes: do the loads differ as device writes per row say?

`python -m benches.storages.throttled --data DIR`, as root, on a disk. First the fast storage alone tells how much a load
writes to the device; a quarter of that becomes the limit of the slow one. Both storages then run in turns in one study.
The device writes of each server are counted by its control group, so that its neighbours on the disk do not count.
"""

from __future__ import annotations

import argparse
import bisect
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from inrush.engines import server_limits
from inrush.machine import cgroup
from inrush.results.store import Results, SealedRun, Store

STUDY = Path(__file__).with_name("load.toml")
#: Far above what a load writes: it makes the group that counts.
OPEN = "100M"
#: No checkpoint and no new file of the log in a load: what reaches the device is the log, row by row.
SERVER = (
    "postgresql,profile=default,max_wal_size=16GB,checkpoint_timeout=30min,wal_init_zero=off,wal_recycle=off"
)
WITHIN = 0.15
LOOK_S = 0.02


class Writes:
    """Bytes that each server has written to the device so far, looked at until the study ends."""

    def __init__(self, places: dict[str, Path]) -> None:
        self.files = {name: counter_of(folder) for name, folder in places.items()}
        self.seen: dict[str, list[tuple[int, int]]] = {name: [] for name in places}
        self.ended = threading.Event()

    def look(self) -> None:
        while not self.ended.wait(LOOK_S):
            for name, file in self.files.items():
                if (total := written(file)) is not None:
                    self.seen[name].append((time.time_ns(), total))

    def between(self, name: str, begin_ns: int, end_ns: int) -> int:
        """Between the last looks before both."""
        first, last = (bisect.bisect_right(self.seen[name], (t, 1 << 62)) - 1 for t in (begin_ns, end_ns))
        return self.seen[name][last][1] - self.seen[name][max(first, 0)][1]


def counter_of(folder: Path) -> Path:
    """The file that counts what the group of the server in a storage moved."""
    name = server_limits.name_of(folder / "postgresql")
    if cgroup.version_of() == 1:
        return cgroup.CGROUPS / "blkio" / name / "blkio.throttle.io_service_bytes"
    return cgroup.CGROUPS / name / "io.stat"


def written(file: Path) -> int | None:
    """Of all devices; None while the group is not there."""
    try:
        words = file.read_text().split()
    except OSError:
        return None
    if file.name == "io.stat":
        return sum(int(w.removeprefix("wbytes=")) for w in words if w.startswith("wbytes="))
    return sum(int(n) for what, n in pairwise(words) if what == "Write")


@contextmanager
def looked_at(places: dict[str, Path]) -> Iterator[Writes]:
    writes = Writes(places)
    looking = threading.Thread(target=writes.look)
    looking.start()
    try:
        yield writes
    finally:
        writes.ended.set()
        looking.join()


def run(
    results: Path, places: dict[str, Path], limits: dict[str, str], *overrides: str
) -> tuple[Results, Writes]:
    """The study on these storages, each server in a group."""
    words = [w for name, folder in places.items() for w in ("--data", f"{name}={folder}")]
    words += [w for name, value in limits.items() for w in ("--limit", f"{name}.write_bytes_per_s={value}")]
    names = ",".join(f'"{name}"' for name in places)
    changes = [w for change in (f"storage=[{names}]", *overrides) for w in ("-P", change)]
    command = [sys.executable, "-m", "inrush", "run", str(STUDY), "--start", SERVER, *words, *changes]
    with looked_at(places) as writes:
        done = subprocess.run(command, env={**os.environ, "INRUSH_RESULTS": str(results)}, check=False)
    assert done.returncode in (0, 3), "the study says what failed"
    return Results(Store(results).studies()[-1].path), writes


def loads(found: Results, writes: Writes) -> dict[str, list[dict[str, float]]]:
    """Storage -> rows/s and device writes per row of each measured load."""
    loads: dict[str, list[dict[str, float]]] = {}
    for sealed in found.runs:
        if sealed.labels["block"] > 0:
            storage = str(sealed.labels["factors"]["storage"])
            loads.setdefault(storage, []).append(load(sealed, writes, storage))
    return loads


def load(sealed: SealedRun, writes: Writes, storage: str) -> dict[str, float]:
    rows, span_ns = 0, 0
    for part in sealed.table("repetitions").to_pylist():
        rows, span_ns = rows + part["rows"], span_ns + part["end_ns"] - part["start_ns"]
    device = writes.between(storage, sealed.doc["begun_unix_ns"], sealed.doc["ended_unix_ns"])
    on = sealed.doc["storage"]
    assert on["said_by_server"] and on["files"].startswith(on["folder"]), on
    return {"rows_per_s": rows / (span_ns / 1e9), "bytes_per_row": device / rows}


def middle(of: list[dict[str, float]], what: str) -> float:
    return statistics.median(one[what] for one in of)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--data", type=Path, required=True)
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    places = {name: given.data / name for name in ("fast", "slow")}
    results = given.data / "results"
    alone = loads(*run(results, {"fast": places["fast"]}, {"fast": OPEN}, "repeats.count=2"))["fast"]
    limit = middle(alone, "rows_per_s") * middle(alone, "bytes_per_row") / 4
    # What the device takes of a row on the fast storage, and the limit: said before the slow one runs.
    claimed = limit / middle(alone, "bytes_per_row")
    print(f"limit {limit / 1e6:.3f} MB/s; claimed on slow: {claimed:,.0f} rows/s", flush=True)
    found = loads(*run(results, places, {"fast": OPEN, "slow": f"{limit:.0f}"}))
    slow = middle(found["slow"], "rows_per_s")
    document = {
        "limit_bytes_per_s": limit,
        "claimed_rows_per_s": claimed,
        "slow_rows_per_s": slow,
        "fast_rows_per_s": middle(found["fast"], "rows_per_s"),
        "error": slow / claimed - 1,
        "error_by_own_writes": slow * middle(found["slow"], "bytes_per_row") / limit - 1,
        "loads": {"alone": alone, **found},
    }
    print(json.dumps(document, indent=1))
    if given.out:
        given.out.write_text(json.dumps(document, indent=1) + "\n")
    sys.exit(abs(document["error"]) > WITHIN)


if __name__ == "__main__":
    main()

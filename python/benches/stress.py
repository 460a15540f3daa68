"""64 readers and 64 writers at once for ten minutes: does the client stay as it is? `python -m benches.stress postgresql`.

A sample of 6,400 rows a second is split over 64 writers while 64 readers ask for one switch after the other. Afterwards
the client's memory must be flat (its trend over the last four fifths below 5 %), it must hold as many files as in
the beginning, and no connection may have been refused. The server's limit of connections is raised, and recorded as every setting.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from inrush.results.store import Results
from inrush.stats.measures import measured_windows
from inrush.stats.record import RunRecord
from inrush.stats.watched import cumulative

SESSIONS = 64
#: Settings that limit connections, by engine; room for control connections too. ClickHouse also refuses inserts while
#: more parts wait for merging than these: 64 inserts of 100 rows a second outrun it where it shares two cores.
LIMITS = {
    **dict.fromkeys(("postgresql", "timescaledb", "mysql", "mariadb"), "max_connections=160"),
    "clickhouse": "max_connections=160,merge_tree.parts_to_delay_insert=3000,merge_tree.parts_to_throw_insert=6000",
}
FLAT = 0.05
STUDY = """
schema = 1
title = "Stress: 64 readers and 64 writers"
question = "Does the client stay as it is?"
expect = "Yes."
workload = "telemetry"
kind = "fixed_volume"
engines = ["{engine}"]
layout = "pk"
sizes = {{ ports = 6_400, retention_s = 60 }}
schedule = {{ mode = "closed", at_least_s = 0, limit_s = {limit} }}
record = {{ interval_s = 1, watch_s = 1 }}
[roles.writers]
operation = "insert"
table = "port_data_counters"
sessions = 64
samples = {{ count = {seconds} }}
[roles.readers]
operation = "pc_node"
sessions = 64
schedule = {{ mode = "closed", think_s = 0.2 }}
until = "writers"
[roles.deletes]
operation = "pc_delete"
schedule = {{ mode = "constant", rate_per_s = 0.1 }}
until = "writers"
[repeats]
count = 1
pilot = false
[accept]
"writers.errors" = 0
"readers.errors" = 0
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("engine", choices=sorted(LIMITS))
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--data", type=Path, default=Path("/var/tmp"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="inrush-stress-", dir=asked.data) as name:
        folder = Path(name)
        folder.chmod(0o755)
        found = stressed(asked.engine, asked.seconds, folder)
    print(json.dumps(found, indent=1))
    return 0 if found["met"] else 1


def stressed(engine: str, seconds: int, folder: Path) -> dict[str, object]:
    study = folder / "stress.toml"
    study.write_text(STUDY.format(engine=engine, seconds=seconds, limit=seconds + 600))
    command = [sys.executable, "-m", "inrush.cli", "run", str(study), "--json", "--start", f"{engine},{LIMITS[engine]}",
               "--data", str(folder / "data")]  # fmt: skip
    environment = {**os.environ, "INRUSH_RESULTS": str(folder / "results"), "NO_COLOR": "1"}
    files: dict[int, list[int]] = {}
    # A file, not a pipe: a pipe is not emptied while the worker is watched.
    with (folder / "said.json").open("w") as said:
        process = subprocess.Popen(command, stdout=said, env=environment)
        while process.poll() is None:
            for pid in workers(process.pid):
                files.setdefault(pid, []).append(open_files(pid))
            time.sleep(1.0)
    run_dir = json.loads((folder / "said.json").read_text())["run_dir"]
    return judged(engine, seconds, Results(Path(run_dir)), files)


def judged(engine: str, seconds: int, results: Results, files: dict[int, list[int]]) -> dict[str, object]:
    """Of the counted run; a failed one is not met."""
    run = next(r for r in results.runs if r.doc["block"] == 1)
    record = RunRecord(run.id, run.plan, run.env, run.doc, run.tables)
    ((start_ns, end_ns),) = measured_windows(record).values()
    t_ns, rss = cumulative(record, "rss_bytes")["client"]
    late = (t_ns >= start_ns + (end_ns - start_ns) / 5) & (t_ns <= end_ns)
    slope = float(np.polyfit(t_ns[late], rss[late], 1)[0]) * float(t_ns[late][-1] - t_ns[late][0])
    grown = slope / float(rss[late].mean())
    failures = {f["outcome"]: f["count"] for f in record.rows("failures")}
    # While connections are made and closed, fewer are held: the growth is that of the middle, between the medians of
    # its halves, as what is sampled opens a few for a moment.
    held = max(files.values(), key=len)
    middle = held[len(held) // 4 : -len(held) // 4 or None]
    settings = {r["name"]: r["value"] for r in record.rows("settings")}
    repetitions = {s["role"]: s for s in record.rows("repetitions")}
    found: dict[str, Any] = {
        "engine": engine,
        "seconds": seconds,
        "sessions": sum(repetitions[role]["sessions"] for role in ("writers", "readers")),
        "rows": repetitions["writers"]["rows"],
        "answers": repetitions["readers"]["ok"],
        "failures": failures,
        "rss_mb": round(float(rss[late].mean()) / 1e6, 1),
        "rss_grown": round(grown, 4),
        "files": [float(np.median(middle[: len(middle) // 2])), float(np.median(middle[len(middle) // 2 :]))],
        "max_connections": settings.get("max_connections"),
    }
    found["met"] = (
        abs(grown) < FLAT
        and found["files"][1] <= found["files"][0]
        and not failures
        and run.doc["status"] == "done"
    )
    return found


def workers(parent: int) -> list[int]:
    """Processes that measure: children of the command."""
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [
            int(p) for p in children if b"inrush.agent.program" in Path(f"/proc/{p}/cmdline").read_bytes()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []


def open_files(pid: int) -> int:
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return 0


if __name__ == "__main__":
    sys.exit(main())

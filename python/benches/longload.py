"""A load of hours that is killed three times: is it one series, every row once, and does inrush stay as small as it began?

`python -m benches.longload mysql --rows 100_000_000 --rate 40_000`: a resumable load of the key index's rows from files, by the
loader, held to a rate of rows. inrush, then a client, then the database server is killed at a quarter, half and three
quarters of the rows, and `inrush run --resume` does the rest. Memory is the median of a process' resident set over a part of
the load that no kill cuts: a tenth after its first minute, and the last tenth.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benches.kills import SETTINGS
from inrush.engines.servers import life
from inrush.guards.analyse import analyse
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from tests import killing

VICTIMS = ("inrush", "client", "database")
#: Processes of a load that are inrush's own.
OWN = ("client", "load_client", "load_server")
STUDY = """
schema = 1
title = "A long load that is killed"
question = "Is every row there once, in one series?"
expect = "Yes."
workload = "bulkindex"
kind = "steps"
engines = ["{engine}"]
layout = "pk"
sizes.files = {files}
repeats = {{ count = 1, seed = 1, pilot = false }}
record = {{ interval_s = 10, sizes_s = 30 }}
answer = {{ kind = "comparison", of = "load.rows_per_s" }}
[[steps]]
name = "load"
do = "load"
table = "secondary_index_equal"
rows = {{ total = {rows} }}
pipeline = {{ files = {files}, shard_rows_per_s = {rate} }}
resumable = true
limit_s = 86_400
"""
WARM_NS, SHORTEST_NS = 60_000_000_000, 180_000_000_000


@dataclass(frozen=True)
class Memory:
    """Resident set of one kind of process in one stretch, bytes."""

    role: str
    stretch: int
    at_first: float
    at_last: float

    @property
    def grown(self) -> float:
        return self.at_last / self.at_first - 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("engine", choices=("mysql", "mariadb", "postgresql"))
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--rate", type=int, default=40_000)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--data", type=Path, default=Path("/var/tmp"))
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="inrush-long-", dir=asked.data))
    folder.chmod(0o755)
    try:
        return reported(campaign(asked.engine, asked.rows, asked.rate, asked.files, folder), asked.rows)
    finally:
        for pid in life.working_in(folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        print(f"results and data are in {folder}", flush=True)


def campaign(engine: str, rows: int, rate: int, files: int, folder: Path) -> RunRecord:
    """The run, resumed after each kill. Raises RuntimeError where it does not end well."""
    path, results = folder / "long.toml", folder / "results"
    path.write_text(STUDY.format(engine=engine, rows=rows, rate=rate, files=files))
    settings = ",".join(f"{name}={value}" for name, value in SETTINGS[engine].items())
    start = ("--start", f"{engine},{settings}", "--data", str(folder / "data"))
    words: tuple[str, ...] = ("run", str(path), *start)
    for n, victim in enumerate(VICTIMS, 1):
        print(f"{time.strftime('%H:%M:%S')} until row {n * rows // 4:,}, then {victim} is killed", flush=True)
        said = killed(results, words, victim, n * rows // 4)
        print(said.strip().rpartition("\n")[2], flush=True)
        words = ("run", "--resume")
    with killing.inrush(results, *words) as process:
        said, _ = process.communicate()
    print(said, flush=True)
    if process.returncode not in (0, 3):  # 3: with notes, as on a machine that others use too
        raise RuntimeError(f"the load that was resumed ended with {process.returncode}")
    (study,) = results.glob("*/study.json")
    (one,) = analyse(study_record(Results(study.parent))).runs
    return one.run


def killed(results: Path, words: Sequence[str], victim: str, at: int) -> str:
    """Runs inrush until so many rows are stored, then kills one kind of its processes; what it said."""
    began_ns = time.time_ns()
    with killing.inrush(results, *words) as process:
        while process.poll() is None and killing.stored(results, began_ns) < at:
            time.sleep(2)
        if process.poll() is not None:
            raise RuntimeError(f"it ended before row {at:,}: {process.communicate()[0]}")
        for pid in [process.pid] if victim == "inrush" else killing.processes(results, victim):
            os.kill(pid, signal.SIGKILL)
        return process.communicate()[0]


def reported(run: RunRecord, rows: int) -> int:
    """Prints what was found; 1 where a row, an interval or a proof is missing."""
    gaps = run.summary["gaps"]
    stored = sum(i["rows"] for i in run.rows("intervals") if i["role"] == "load")
    wrong = [p for p in run.rows("proofs") if not p["holds"]]
    seconds = sum(i["dt_ns"] for i in run.rows("intervals") if i["role"] == "load") / 1e9
    print(
        f"{stored:,} rows in intervals of {seconds:,.0f} s, {len(gaps)} gaps; proofs that do not hold: {wrong}"
    )
    for memory in memories(run):
        print(json.dumps(asdict(memory) | {"grown": round(memory.grown, 4)}))
    return 0 if stored == rows and len(gaps) == len(VICTIMS) and not wrong else 1


def memories(run: RunRecord) -> Iterator[Memory]:
    """Of each of inrush's own processes in each stretch that is long enough."""
    (load,) = (s for s in run.rows("segments") if s["kind"] == "load")
    gaps: Sequence[Mapping[str, int]] = run.summary["gaps"]
    ends = [load["start_ns"], *(t for gap in gaps for t in (gap["from_ns"], gap["until_ns"])), load["end_ns"]]
    samples = [
        (role, t_ns, value)
        for role, t_ns, metric, value in zip(
            *(run.tables["resources"][name].to_pylist() for name in ("role", "t_ns", "metric", "value")),
            strict=True,
        )
        if metric == "rss_bytes" and role in OWN
    ]
    for n, (begin, end) in enumerate(zip(ends[::2], ends[1::2], strict=True)):
        if end - begin < SHORTEST_NS:
            continue
        tenth = (end - begin) // 10
        for role in OWN:
            own = [(t_ns, value) for of, t_ns, value in samples if of == role]
            parts = [
                [value for t, value in own if since <= t <= since + tenth]
                for since in (begin + WARM_NS, end - tenth)
            ]
            if all(parts):
                yield Memory(role, n, median(parts[0]), median(parts[1]))


if __name__ == "__main__":
    sys.exit(main())

"""CPU and I/O per role: what inrush says of a server in half a minute, against pidstat and iostat in the same half minute."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benches import influxdb, ingest
from benches.floors import Parts
from benches.places import INSTANCES
from inrush.engines import server
from inrush.engines.base.plans import TablePlan, Unsupported
from inrush.workload import Operation

SECONDS = 30
#: Time before and after, in which the work goes on and only inrush looks.
AROUND_S = 2
#: A load that one process of a server takes at ease: CPU and writes in every second.
LINES_PER_S, BATCH_ROWS = 10_000, 500
WATCH_NS = 200_000_000


class Half:
    """One half minute, looked at by both; taken once a round, by whoever of the comparisons asks first."""

    def __init__(self) -> None:
        self.found: Mapping[str, tuple[float, float]] = {}
        self.given: set[tuple[str, int]] = set()

    def value(self, what: str, side: int) -> float:
        if not self.found or (what, side) in self.given:
            self.found, self.given = looked_at(), set()
        self.given.add((what, side))
        return self.found[what][side]


def agreements() -> Iterator[Parts]:
    """Server: InfluxDB, which is one process, so that pidstat gets one number."""
    if "influxdb" not in INSTANCES:
        return
    if not (shutil.which("pidstat") and shutil.which("iostat")):
        print("no pidstat or iostat here (package sysstat): what they say is left out", flush=True)
        return
    half = Half()
    for what, peer, unit in (
        ("CPU of the server", "pidstat -u", "CPU-s"),
        ("bytes written by the server", "pidstat -d", "bytes"),
        ("bytes written to the device", "iostat", "bytes"),
    ):
        yield (
            f"influxdb, {what}",
            peer,
            unit,
            0.95,
            partial(half.value, what, 0),
            partial(half.value, what, 1),
        )


def looked_at() -> Mapping[str, tuple[float, float]]:
    """What: (inrush, the others), as deltas of the same half minute."""
    instance = INSTANCES["influxdb"]
    device = device_of(instance.data)
    others = Others(instance.pid, device)
    began = time.monotonic()
    with ingest.executed("influxdb", paced_plan(instance.pid, instance.data), others.attend) as tables:
        samples = tables["resources"]
    t0, t1 = others.began - began, others.began - began + SECONDS
    cpu_percent, written_kb = pidstat_figures(others.pidstat())
    return {
        "CPU of the server": (delta(samples, "server", "cpu_s", "", t0, t1), cpu_percent / 100 * SECONDS),
        "bytes written by the server": (
            delta(samples, "server", "write_bytes", "", t0, t1),
            written_kb * 1024 * SECONDS,
        ),
        "bytes written to the device": (
            delta(samples, "host", "dev_write_bytes", device, t0, t1),
            iostat_figure(others.iostat(), device) * 1024,
        ),
    }


class Others:
    """pidstat and iostat, started when the work has gone on for a while; both look for `SECONDS`."""

    def __init__(self, pid: int, device: str) -> None:
        environment = {**os.environ, "LC_ALL": "C", "S_TIME_FORMAT": "ISO"}
        self.commands = (
            ["pidstat", "-u", "-d", "-p", str(pid), str(SECONDS), "1"],
            # The first report is of the time since the machine was started: -y leaves it out.
            ["iostat", "-d", "-k", "-y", device, str(SECONDS), "1"],
        )
        self.environment = environment
        self.first: float | None = None
        self.began = 0.0
        self.running: list[subprocess.Popen[str]] = []

    def attend(self) -> None:
        now = time.monotonic()
        self.first = self.first or now
        if not self.running and now >= self.first + AROUND_S:
            self.began = time.monotonic()
            self.running = [
                subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment)
                for command in self.commands
            ]

    def pidstat(self) -> str:
        return self.running[0].communicate(timeout=SECONDS)[0]

    def iostat(self) -> str:
        return self.running[1].communicate(timeout=SECONDS)[0]


def pidstat_figures(shown: str) -> tuple[float, float]:
    """(percent of one CPU, kB written a second) of the lines `Average:`."""
    lines = [line.split() for line in shown.splitlines()]
    heads = [words for words in lines if "UID" in words]
    averages = [words for words in lines if words and words[0] == "Average:" and "UID" not in words]
    found: dict[str, float] = {}
    for head, words in zip([h for h in heads if h[0] == "Average:"], averages, strict=True):
        found |= {
            name: float(value)
            for name, value in zip(head, words, strict=False)
            if name in ("%CPU", "kB_wr/s")
        }
    return found["%CPU"], found["kB_wr/s"]


def iostat_figure(shown: str, device: str) -> float:
    """kB written in the whole time."""
    lines = [line.split() for line in shown.splitlines() if line.strip()]
    head = next(words for words in lines if words[0].startswith("Device"))
    row = next(words for words in lines if words[0] == device)
    return float(row[head.index("kB_wrtn")])


def device_of(path: Path) -> str:
    """The block device that a folder lies on, as iostat calls it."""
    number = path.stat().st_dev
    entry = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    return entry.name


def paced_plan(pid: int, data: Path) -> Mapping[str, Any]:
    twin, table = server("influxdb"), influxdb.telemetry()
    planned: TablePlan = twin.plan_table(table, "none", ingest.NAMESPACE)
    insert = twin.plan_operation(
        Operation("insert", "insert", table=table.name), "bulk", {table.name: planned}
    )
    assert not isinstance(insert, Unsupported)
    seconds = SECONDS + 3 * AROUND_S
    role = ingest.role(
        "writers",
        "insert",
        {"kind": "rows", "table": 0, "first_row": 0, "rows": LINES_PER_S * seconds, "batch_rows": BATCH_ROWS},
        schedule={"kind": "constant", "rate_per_s": LINES_PER_S / BATCH_ROWS},
    )
    segments = [
        ingest.control("create", [*twin.open_namespace(ingest.NAMESPACE), *planned.create]),
        ingest.drive([role]),
        ingest.control("drop", list(twin.drop_namespace(ingest.NAMESPACE))),
    ]
    operation = {"name": "insert", "kind": "insert", "table": 0, "text": insert.text, "method": "bulk"}
    tables = [ingest.document(table, planned)]
    plan = dict(ingest.document_of_run("influxdb", segments, [operation], tables, WATCH_NS))
    plan["watch"] = {"every_ns": WATCH_NS, "processes": {"server": [pid]}, "data_dir": str(data)}
    return plan


def delta(
    samples: Sequence[Mapping[str, Any]], role: str, metric: str, device: str, t0: float, t1: float
) -> float:
    """What a cumulative figure grew by between two times, s from the start of the run."""
    of = [s for s in samples if s["role"] == role and s["metric"] == metric and s["device"] == device]
    if not of:
        raise RuntimeError(f"inrush has no {metric} of {role} {device}")
    t, value = [s["t_ns"] / 1e9 for s in of], [s["value"] for s in of]
    return float(np.interp(t1, t, value) - np.interp(t0, t, value))

"""What the instrument itself costs on this machine, and whether the machine is quiet enough to measure on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inrush.machine import host
from inrush.machine.device_probe import device_probe
from inrush.machine.disk_probe import disk_probe

Calibrate = Callable[[str, float], str]

#: Notes are made above these (docs/measuring.md): shares of time.
STEAL_LIMIT = 0.01
PSI_CPU_LIMIT = 0.05
BUSY_LIMIT = 0.10
#: Below these the client is too dear to trust fast engines; operations and rows per CPU-second.
NULL_FLOOR = 5e6
LAG_LIMIT_US = 1000.0


@dataclass(frozen=True)
class DoctorFigure:
    """One line of the doctor: key, value, unit, what it means."""

    key: str
    value: float | str
    unit: str
    about: str


def examine(calibrate: Calibrate, build_profile: str, data: Path, seconds: float = 1.0) -> list[DoctorFigure]:
    """All figures, in the order people read them. seconds: for each of the measurements.

    Noise is observed while nothing of ours runs, then the instrument is measured.
    """
    before = host.noise_counters()
    disk = {**disk_probe(data, seconds), **device_probe(data, seconds)}
    noise = host.noise(before, host.noise_counters())
    found = {
        what: json.loads(calibrate(what, seconds))
        for what in ("clock", "pacer", "null", "rows", "encode_text", "encode_binary")
    }
    return [
        DoctorFigure("null_ops_per_client_cpu_s", pick(found["null"], "ops_per_cpu_s"), "1/s",
               "operations that the client can issue and record, per second of its CPU"),
        DoctorFigure("rows_per_cpu_s", pick(found["rows"], "rows_per_cpu_s"), "1/s", "rows of ten columns generated"),
        DoctorFigure("encode_text_rows_per_cpu_s", pick(found["encode_text"], "rows_per_cpu_s"), "1/s",
               "rows generated and written as text"),
        DoctorFigure("encode_binary_rows_per_cpu_s", pick(found["encode_binary"], "rows_per_cpu_s"), "1/s",
               "rows generated and written as PostgreSQL binary COPY"),
        DoctorFigure("clock_ns", pick(found["clock"], "clock_ns"), "ns", "one reading of the clock"),
        DoctorFigure("pacer_lag_us_p50", pick(found["pacer"], "lag_us_p50"), "µs", "lateness of a paced operation, median"),
        DoctorFigure("pacer_lag_us_p99", pick(found["pacer"], "lag_us_p99"), "µs", "the same, 99th percentile"),
        *[DoctorFigure(key, value, units(key), about(key)) for key, value in {**disk, **noise}.items() if isinstance(value, float) and key != "disk_probe_s"],
        DoctorFigure("disk_direct", "yes" if disk.get("disk_direct") else "no", "", "whether reads and writes of the probe went past the kernel's cache"),
        DoctorFigure("data_filesystem", filesystem(data), "", "of the data folder"),
        DoctorFigure("build_profile", build_profile, "", "figures of a debug core are invalid"),
    ]  # fmt: skip


#: ext4 searches a free inode in one call of the kernel and, without a journal, passes over all that were freed in the last minutes.
UNJOURNALED = "ext4 without a journal"


def filesystem(data: Path) -> str:
    """As the doctor names it."""
    if host.read_or_none(host.has_journal, data) is False:
        return UNJOURNALED
    return str(host.read_or_none(lambda folder: host.mount_of(folder).filesystem, data) or "unknown")


def pick(found: Mapping[str, Any], key: str) -> float:
    return float(found[key])


def units(key: str) -> str:
    if key.startswith("disk_read_"):
        return "s"
    return "B/s" if key.endswith("bytes_per_s") else "1/s" if key.endswith("_per_s") else "share"


def about(key: str) -> str:
    return {
        "disk_write_bytes_per_s": "sequential write to the data folder, on the device",
        "disk_fsync_per_s": "appends of 4 KiB made durable, one by one",
        "disk_read_16k_s": "a random read of 16 KiB past the kernel's cache, median",
        "disk_read_8k_s": "the same of 8 KiB",
        "disk_direct_read_bytes_per_s": "sequential read past the kernel's cache",
        "disk_direct_write_bytes_per_s": "sequential write past the kernel's cache",
        "steal_share": "time that the host gave to other machines",
        "busy_share": "processors busy while only the disk was probed",
    }.get(key, "time that processes waited for it (PSI)")


def findings(figures: list[DoctorFigure]) -> list[str]:
    """What to do about it, as sentences; empty when the machine can be measured on."""
    value = {f.key: f.value for f in figures}
    said = []

    def above(key: str, limit: float) -> bool:
        return float(value.get(key, 0.0)) > limit

    if value["build_profile"] != "release":
        said.append(
            "the core is a debug build: every run would be invalid; `make build` makes a release build"
        )
    if float(value["null_ops_per_client_cpu_s"]) < NULL_FLOOR and value["build_profile"] == "release":
        said.append("the client is slow here: look at the client CPU of every run before its other figures")
    if above("pacer_lag_us_p99", LAG_LIMIT_US):
        said.append(
            "paced operations leave late: give inrush a processor of its own (taskset), or expect invalid runs"
        )
    if above("steal_share", STEAL_LIMIT):
        said.append("other machines take time from this one (steal): repeat more, compare within blocks only")
    if value.get("data_filesystem") == UNJOURNALED:
        said.append(
            f"the data folder is on {UNJOURNALED}: where a server makes and deletes many files (ClickHouse) each new one holds a "
            "processor for milliseconds, and the client is late by them; use --data on a filesystem with one"
        )
    if above("psi_cpu_some_share", PSI_CPU_LIMIT) or above("busy_share", BUSY_LIMIT + 0.5):
        said.append("other processes keep the processors busy: stop them, or compare within blocks only")
    return said

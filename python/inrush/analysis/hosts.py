"""Were two results made on different hosts, what differs between these, and at what clock did their processors run? Pure.

A clock is known where the frequency policy leaves no choice, or where the user states it. A host that does not say so has
none: a guess would go into every figure per GHz.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean, median
from typing import Any

from inrush.analysis.points import Analysis
from inrush.stats.client_overhead import prices_ns
from inrush.stats.hosts import workers_of
from inrush.stats.quantity import digits, show
from inrush.stats.record import RunRecord
from inrush.text import is_number

Env = Mapping[str, Any]

#: Facts that are a host's for good; the kernel and the disk of one are changed more easily.
IDENTITY = ("cpu_model", "architecture", "mem_total_bytes")
#: A kernel of another version leaves a little more or less of the same memory.
MEMORY_SHARE = 0.01
#: Facts that are looked up -> how they are named.
FACTS = {
    "cpu_model": "processor", "architecture": "architecture", "cpu_logical": "cores",
    "cpu_physical": "cores without hyper-threads", "cpu_smt": "hyper-threading", "cgroup_cpu_cores": "CPU quota, cores",
    "cpu_governor": "frequency policy", "cpu_simd": "vector extensions", "cpu_hypervisor": "virtual machine",
    "mem_total_bytes": "memory", "cgroup_memory_bytes": "memory limit", "swap_total_bytes": "swap space",
    "thp": "transparent huge pages", "data_filesystem": "filesystem of the data", "data_mount_options": "its options",
    "data_journal": "its journal", "data_device": "disk of the data", "data_rotational": "spinning disk",
    "data_scheduler": "scheduler of the disk", "data_write_cache": "write cache of the disk", "kernel": "kernel", "os": "system",
    "clocksource": "clock source", "python": "Python", "inrush": "inrush", "core": "core of inrush",
    "core_build_profile": "build of the core", "cargo_lock_sha256": "sources of the core",
}  # fmt: skip
#: Without them there is none; other facts that a result lacks were not recorded.
NONE_IF_ABSENT = ("cgroup_cpu_cores", "cgroup_memory_bytes", "cpu_governor")
#: Facts of the hosts of a fleet -> how they are named.
OF_CLIENTS = {"cpu_model": "processors", "mem_total_bytes": "memory", "kernel": "kernel"}
NOT_RECORDED = "not recorded"
#: Facts that were measured -> their name, unit as of a figure, and the share by which they differ from look to look.
MEASURED = {
    "cpu_capacity_cores": ("worth of the cores, in cores without hyper-threads", "x_cores", 0.1),
    "disk_write_bytes_per_s": ("writes to the disk", "bytes_per_s", 0.2),
    "disk_fsync_per_s": ("fsyncs a second", "", 0.2),
    "disk_read_16k_s": ("read of 16 KiB from the disk", "read_s", 0.2),
}
#: By less than this the price of the client's own work differs between two calibrations on one host.
RATE_SHARE = 0.1
#: A clock that was seen farther than this from the only one that the policy allows is another one.
CLOCK_SHARE = 0.02


@dataclass(frozen=True)
class HostDifference:
    """A fact that is not equal, as text of both."""

    fact: str
    a: str
    b: str


@dataclass(frozen=True)
class HostClock:
    """Of all processors that worked for a result; None where it is not known, or not one."""

    hz: float | None
    said: str


def on_other_hosts(a: Analysis, b: Analysis) -> bool:
    """By what both recorded: no result has its host's name. Two hosts that are equal in all of it are taken for one."""
    return set(workers_by_host(a)) != set(workers_by_host(b)) or any(
        differs(key, x, y)
        for key in (*IDENTITY, cores_key(a, b))
        if (x := values(a, key)) and (y := values(b, key))
    )


def cores_key(a: Analysis, b: Analysis) -> str:
    """The cores that a host has: which of them a process may use, and hyper-threading, are chosen anew."""
    return "cpu_physical" if values(a, "cpu_physical") and values(b, "cpu_physical") else "cpu_logical"


def differs(key: str, x: Sequence[Any], y: Sequence[Any]) -> bool:
    if key == "mem_total_bytes":
        sizes = [float(v) for v in (*x, *y)]
        return max(sizes) - min(sizes) > MEMORY_SHARE * max(sizes)
    return set(map(str, x)) != set(map(str, y))


def values(analysis: Analysis, key: str) -> list[Any]:
    """One of each that the runs recorded."""
    return list(dict.fromkeys(m.run.env[key] for m in analysis.runs if m.run.env.get(key) is not None))


def host_differences(a: Analysis, b: Analysis, clocks: tuple[HostClock, HostClock]) -> list[HostDifference]:
    """Nothing that is equal, and nothing that one of the two did not record."""
    found = [*fact_differences(a, b)]
    if clocks[0].said != clocks[1].said:
        at = next((i + 1 for i, d in enumerate(found) if d.fact == FACTS["cpu_physical"]), min(1, len(found)))
        found.insert(at, HostDifference("clock", clocks[0].said, clocks[1].said))
    return [
        *found,
        *measured_differences(a, b),
        *calibration_differences(a, b),
        *fleet_differences(a, b),
        *setting_differences(a, b),
    ]


def fact_differences(a: Analysis, b: Analysis) -> Iterator[HostDifference]:
    for key, name in FACTS.items():
        x, y = values(a, key), values(b, key)
        recorded = all(z or key in NONE_IF_ABSENT for z in (x, y))
        if recorded and (x or y) and (not (x and y) or differs(key, x, y)):
            yield HostDifference(name, fact_text(key, x), fact_text(key, y))


def fact_text(key: str, found: Sequence[Any]) -> str:
    shown = (
        show(float(v), "bytes")
        if key.endswith("_bytes")
        else ("yes" if v else "no")
        if isinstance(v, bool)
        else str(v)[:12]
        if key == "cargo_lock_sha256"
        else str(v)
        for v in found
    )
    return " or ".join(dict.fromkeys(shown)) or "none"


def measured_differences(a: Analysis, b: Analysis) -> Iterator[HostDifference]:
    for key, (name, figure, share) in MEASURED.items():
        x, y = ([v for v in values(z, key) if is_number(v) and v > 0] for z in (a, b))
        if x and y and apart(median(x), median(y), share):
            yield HostDifference(name, *(show(median(v), figure) for v in (x, y)))


def apart(x: float, y: float, share: float) -> bool:
    return abs(x - y) > share * max(x, y)


def calibration_differences(a: Analysis, b: Analysis) -> Iterator[HostDifference]:
    """What the client alone takes a second of CPU time, by the runs on the null engine of points that both calibrated."""
    left, right = a.record.calibrations, b.record.calibrations
    pairs: dict[str, list[tuple[float, float]]] = {}
    for point in left.keys() & right.keys():
        x, y = prices_ns(left[point]), prices_ns(right[point])
        for role in sorted(x.keys() & y.keys()):
            if x[role] > 0 and y[role] > 0:
                pairs.setdefault(role, []).append((1e9 / x[role], 1e9 / y[role]))
    for role, found in pairs.items():
        x_rate, y_rate = (exp(fmean(log(pair[k]) for pair in found)) for k in (0, 1))
        if apart(x_rate, y_rate, RATE_SHARE):
            yield HostDifference(
                f"{role} on the null engine, a second of CPU time", digits(x_rate), digits(y_rate)
            )


def fleet_workers(run: RunRecord) -> list[Mapping[str, Any]]:
    """What is said of processes of a run that Dask's workers held: clients, and the load server of a pipeline."""
    return [of.said for of in workers_of(run)]


def workers_by_host(analysis: Analysis) -> dict[str, Mapping[str, Any]]:
    """One worker of each host; empty where all were on one that is like inrush's own, as those of `local:N` are."""
    found = {str(w.get("host")): w for m in analysis.runs for w in fleet_workers(m.run)}
    alone = len(found) == 1 and all(is_like(w, m.run.env) for w in found.values() for m in analysis.runs)
    return {} if alone else found


def is_like(worker: Mapping[str, Any], env: Env) -> bool:
    """By the cores alone where its machine was not recorded."""
    machine = worker.get("machine") or {}
    pairs = [(machine[key], env[key]) for key in IDENTITY if key in machine and key in env]
    return all(x == y for x, y in pairs) if pairs else worker.get("cores") == env.get("cpu_logical")


def fleet_differences(a: Analysis, b: Analysis) -> Iterator[HostDifference]:
    """Of the hosts of a fleet: how many, with how many cores, of which kind, and how fast the core is."""
    left, right = workers_by_host(a), workers_by_host(b)
    sides = [(str(len(z)), str(sum(int(w.get("cores") or 0) for w in z.values()))) for z in (left, right)]
    found = [
        ("hosts of the fleet", sides[0][0], sides[1][0]),
        ("cores of the fleet's hosts", sides[0][1], sides[1][1]),
    ]
    found += [
        (f"{name} of the fleet's hosts", of_machines(left, key), of_machines(right, key))
        for key, name in OF_CLIENTS.items()
    ]
    yield from (HostDifference(name, x or NOT_RECORDED, y or NOT_RECORDED) for name, x, y in found if x != y)
    rates = [
        [float(w["rows_per_cpu_s"]) for w in z.values() if w.get("rows_per_cpu_s")] for z in (left, right)
    ]
    if all(rates) and apart(median(rates[0]), median(rates[1]), RATE_SHARE):
        yield HostDifference(
            "rows that a core of the fleet's hosts makes a second", *(digits(median(r)) for r in rates)
        )


def of_machines(workers: Mapping[str, Mapping[str, Any]], key: str) -> str:
    found = [w["machine"][key] for w in workers.values() if key in (w.get("machine") or {})]
    return fact_text(key, sorted(set(found), key=str)) if found else ""


def setting_differences(a: Analysis, b: Analysis) -> Iterator[HostDifference]:
    """Version and settings of each engine that both ran, as read back by its first run; without paths, which every host has
    its own of."""
    left, right = settings_by_engine(a), settings_by_engine(b)
    for engine, x in left.items():
        y = right.get(engine, {})
        for name in (n for n in x if n in y and x[n] != y[n]):
            if not (x[name].startswith("/") and y[name].startswith("/")):
                yield HostDifference(f"{engine}: {name}", x[name], y[name])


def settings_by_engine(analysis: Analysis) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for m in analysis.runs:
        if m.run.place not in found:
            asked = {k: str(v) for k, v in (m.run.summary.get("settings_asked") or {}).items()}
            held = {str(r["name"]): str(r["value"]) for r in m.run.rows("settings")}
            found[m.run.place] = {**asked, **held}
    return found


def clock_of(analysis: Analysis, stated_ghz: float | None = None) -> HostClock:
    """Of every host that worked for the result. stated_ghz: by the user, in place of what is recorded."""
    if stated_ghz is not None:
        return HostClock(stated_ghz * 1e9, f"{stated_ghz:g} GHz, as stated for this comparison")
    machines: list[Env] = [
        machine
        for m in analysis.runs
        for machine in (m.run.env, *(w.get("machine") or {} for w in fleet_workers(m.run)))
    ]
    if not machines:
        return HostClock(None, "not known: nothing has run")
    if open_ := list(dict.fromkeys(why for machine in machines if (why := not_fixed(machine)))):
        return HostClock(None, open_[0])
    found = sorted({float(machine["cpu_highest_hz"]) for machine in machines})
    if len(found) > 1:
        return HostClock(None, f"varies: {' or '.join(map(ghz, found))} in its runs")
    return HostClock(found[0], f"{ghz(found[0])}, fixed")


def not_fixed(machine: Env) -> str | None:
    """Why a host does not say at what clock its processors ran; None where they had no choice."""
    lowest, highest = machine.get("cpu_lowest_hz"), machine.get("cpu_highest_hz")
    seen, base = machine.get("cpu_hz"), machine.get("cpu_base_hz")
    if lowest is None or highest is None:
        stated = base or seen
        named = f"; {ghz(stated)} is only what is stated" if stated else ""
        return f"not known: no frequency policy is recorded{named}"
    if lowest != highest:
        policy = f" ({machine['cpu_governor']})" if "cpu_governor" in machine else ""
        return f"varies: {ghz(lowest)} to {ghz(highest)}{policy}"
    if (base is None and machine.get("cpu_turbo")) or (
        base is not None and apart(highest, base, CLOCK_SHARE) and highest > base
    ):
        return f"varies: {ghz(highest)} is in the range of turbo"
    if seen is not None and apart(seen, highest, CLOCK_SHARE):
        return f"varies: {ghz(seen)} was seen, and {ghz(highest)} is all that its policy allows"
    return None


def ghz(hz: float) -> str:
    return f"{hz / 1e9:.2f} GHz"

"""CPU of the engine and of the client: an engine in the client's process less what the same work costs on the null engine. Pure.

    instrument.busy_cores, instrument.cpu_us_per_row    the client's own: rows and calls at the null engine's price
    engine.busy_cores, engine.cpu_us_per_row            the rest of what the process computed in the repetitions
    <role>.instrument_share                             of its sessions' time that went into the client's own work

What checking an answer's rows or copying them into Arrow costs is the engine's here: the null engine gives none back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inrush.border.tables import RepetitionRow
from inrush.stats.measures import measured_repetitions, measured_windows, writing_roles
from inrush.stats.record import RunRecord
from inrush.stats.watched import cumulative


def client_overhead(run: RunRecord, calibration: RunRecord) -> dict[str, float]:
    """calibration: the same work on the null engine. Empty where the process was not watched or a role has no price."""
    repetitions, price_ns = measured_repetitions(run), prices_ns(calibration)
    used_s = process_s(run)
    if not used_s or not repetitions or any(s["role"] not in price_ns for s in repetitions):
        return {}
    writers = writing_roles(run.plan)
    own_ns: dict[str, float] = {}
    had_ns: dict[str, int] = {}
    for s in repetitions:
        role = s["role"]
        own_ns[role] = own_ns.get(role, 0.0) + units(s, writers) * price_ns[role]
        had_ns[role] = had_ns.get(role, 0) + s["sessions"] * (s["end_ns"] - s["start_ns"])
    # Noise between the two runs must not give the engine less than nothing.
    own_s = min(used_s, sum(own_ns.values()) / 1e9)
    cpu_s = {"instrument": own_s, "engine": used_s - own_s}
    span_s = makespans_s(repetitions)
    rows = sum(s["rows"] for s in repetitions if s["role"] in writers) or sum(s["rows"] for s in repetitions)
    found = {f"{part}.busy_cores": s / span_s for part, s in cpu_s.items() if span_s > 0}
    found |= {f"{part}.cpu_us_per_row": s * 1e6 / rows for part, s in cpu_s.items() if rows}
    return found | {
        f"{role}.instrument_share": own_ns[role] / had_ns[role] for role in own_ns if had_ns[role]
    }


def prices_ns(calibration: RunRecord) -> dict[str, float]:
    """Role -> CPU of its threads by row it put in, or by call where it puts nothing in."""
    writers = writing_roles(calibration.plan)
    spent: dict[str, int] = {}
    done: dict[str, int] = {}
    for s in measured_repetitions(calibration):
        spent[s["role"]] = spent.get(s["role"], 0) + s["cpu_ns"]
        done[s["role"]] = done.get(s["role"], 0) + units(s, writers)
    return {role: spent[role] / done[role] for role in spent if done[role]}


def units(totals: RepetitionRow, writers: set[str]) -> int:
    return int(totals["rows"] if totals["role"] in writers else totals["ops"])


def process_s(run: RunRecord) -> float:
    """CPU of the whole client process in the measured repetitions, without what lies between them."""
    t_ns, cpu_s = cumulative(run, "repetition_cpu_s").get("client", ((), ()))
    windows: Mapping[int, tuple[int, int]] = measured_windows(run)
    return sum(
        float(s) for t, s in zip(t_ns, cpu_s, strict=True) if any(a <= t <= b for a, b in windows.values())
    )


def makespans_s(repetitions: Sequence[RepetitionRow]) -> float:
    """First start to last end of each repetition, all roles together."""
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    for s in repetitions:
        key = (s["segment"], s["repetition"])
        start, end = spans.get(key, (s["start_ns"], s["end_ns"]))
        spans[key] = (min(start, s["start_ns"]), max(end, s["end_ns"]))
    return sum(end - start for start, end in spans.values()) / 1e9

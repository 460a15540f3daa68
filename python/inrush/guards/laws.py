"""Guards that hold of every run whatever the engine: where one is broken, the instrument is. Pure.

Little          sessions × time hold every call: what is under way (X R) is never more than the sessions
utilisation     nothing is busier than it has servers
sum of parts    intervals and sessions add up to the role's totals
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from inrush.analysis.verdicts import Figures, Verdict, invalid, noted, passed
from inrush.border.pipeline import each_role
from inrush.border.tables import IntervalRow, RepetitionRow, SessionRow
from inrush.guards.guard import About, Guard
from inrush.model.queues import population
from inrush.stats.figure_names import role_figures, timed_figures
from inrush.stats.gaps import gaps_of, worked_ns
from inrush.stats.headroom import busy_hosts
from inrush.stats.hosts import workers_of
from inrush.stats.measures import measured_windows, scheduled_operations
from inrush.stats.record import RunRecord

TOLERANCE = 0.02
#: CPU is sampled ten times a second: a window is known to a sample at each end.
SAMPLE_S, CPU_TOLERANCE = 0.1, 0.05


def little_holds(run: RunRecord, figures: Figures) -> Verdict | None:
    """Calls under way, from rate and mean service time, against the sessions that can have one each."""
    name = "Little's law"
    served = service_s(run)
    depth = depths(run)
    by_role, over, most = [], {}, 0.0
    for role, (slots_s, span_s) in slots(run, depth).items():
        if role not in served or span_s <= 0:
            continue
        calls, total_s, longest_s, sessions = *served[role], slots_s / span_s
        under_way = population(calls / span_s, total_s / calls)
        # A call that began before the window ends in it whole: at most one in each slot.
        if under_way > sessions * (1 + TOLERANCE) + sessions * longest_s / span_s:
            over[role] = (
                f"{role}: {under_way:.2f} calls under way by rate × service time, with {sessions:.4g} sessions to hold them"
            )
            most = max(most, under_way / sessions)
        by_role.append(f"{role} {under_way:.3g} of {sessions:.3g}")
    if over:
        return invalid(
            name,
            f"{'; '.join(over.values())}: rate or latency is wrong. This is a fault of the instrument: report it",
            figures=timed_figures(figures, over),
            size=most,
        )
    return (
        passed(name, f"Calls under way, of those that sessions can hold: {', '.join(by_role)}")
        if by_role
        else None
    )


def nothing_overfull(run: RunRecord, figures: Figures) -> Verdict | None:
    """Cores of all watched roles together against those of the machine; processes of other hosts against theirs."""
    name = "utilisation at most 1"
    if workers_of(run):
        return hosts_overfull(run, figures, name)
    cores = float(run.env.get("cpu_logical") or 0)
    idle = gaps_of(run)
    span_s = sum(worked_ns(start, end, idle) for start, end in measured_windows(run).values()) / 1e9
    roles = {k: v for k, v in figures.items() if k.endswith(".busy_cores") and not derived(k)}
    if not cores or not roles or span_s <= 0:
        return None
    busy = sum(roles.values())
    if busy > cores * (1 + CPU_TOLERANCE + SAMPLE_S / span_s):
        return noted(
            name,
            f"{busy:.2f} cores busy of {cores:g}: CPU figures of this run are wrong or of another machine; do not predict from them",
            size=busy / cores,
        )
    return passed(name, f"{busy:.2f} of {cores:g} cores busy")


def hosts_overfull(run: RunRecord, figures: Figures, name: str) -> Verdict | None:
    known = [
        (host.host, host.busy, host.cores)
        for host in busy_hosts([of for of in workers_of(run) if of.is_end], figures)
        if host.busy is not None and host.cores
    ]
    if not known:
        return None
    host, busy, cores = max(known, key=lambda one: one[1] / one[2])
    if busy > cores * (1 + 2 * CPU_TOLERANCE):
        return noted(
            name,
            f"{host}: {busy:.2f} cores of its processes busy of {cores:g}: CPU figures of this run are wrong",
            size=busy / cores,
        )
    return passed(name, f"At most {busy:.2f} of {cores:g} cores busy with its processes, on {host}")


def parts_add_up(run: RunRecord, figures: Figures) -> Verdict | None:
    """Rows of intervals, rows and calls of sessions, against the totals of their role."""
    name = "sum of parts"
    windows, scheduled = measured_windows(run), scheduled_operations(run.plan)
    whole = totals(r for r in run.rows("repetitions") if r["segment"] in windows)
    tickets = (r for r in run.rows("intervals") if r["op"] in scheduled.get(r["role"], {r["op"]}))
    of_table: Mapping[str, Totals] = {
        "intervals": totals(r for r in tickets if r["segment"] in windows),
        "sessions": totals(r for r in run.rows("sessions") if r["segment"] in windows),
    }
    differing: dict[str, str] = {}
    summed, most = [], 0
    for table, fields in (("intervals", ("rows",)), ("sessions", ("rows", "ops"))):
        parts = of_table[table]
        # A table that is there has a part of every role that did anything.
        for key in dict.fromkeys((*parts, *whole)) if parts else ():
            found, expected = parts.get(key, NOTHING), whole.get(key, NOTHING)
            for field in fields:
                most = max(most, abs(found[field] - expected[field]))
                if found[field] != expected[field]:
                    differing.setdefault(
                        key[2],
                        f"{key[2]}, repetition {key[1]}: {table} add up to {found[field]} {field}, the role has {expected[field]}",
                    )
        summed += [table] if parts and whole else []
    if differing:
        return invalid(
            name,
            f"{'; '.join(differing.values())}. This is a fault of the instrument: report it",
            figures=[figure for role in differing for figure in role_figures(figures, role)],
            size=most,
        )
    return passed(name, f"{' and '.join(summed).capitalize()} add up to their roles") if summed else None


def derived(figure: str) -> bool:
    """Shares of a process by subtraction are not roles of their own, and parts of a role are in their whole."""
    return figure.startswith(("instrument.", "engine.")) or figure.count(".") != 1 or "/" in figure


Key = tuple[int, int, str]
Totals = dict[Key, dict[str, int]]
NOTHING: Mapping[str, int] = {"rows": 0, "ops": 0}


def totals(rows: Iterable[RepetitionRow | IntervalRow | SessionRow]) -> Totals:
    """(segment, repetition, role) -> rows and calls."""
    found: Totals = {}
    for r in rows:
        cell = found.setdefault((r["segment"], r["repetition"], r["role"]), {"rows": 0, "ops": 0})
        cell["rows"] += r["rows"]
        cell["ops"] += r["ops"]
    return found


def service_s(run: RunRecord) -> dict[str, tuple[int, float, float]]:
    """Role -> calls, their service time together, the longest."""
    windows, scheduled = measured_windows(run), scheduled_operations(run.plan)
    sums: dict[str, tuple[int, float, float]] = {}
    for h in run.rows("hist"):
        role = h["role"]
        if (
            h["segment"] in windows
            and h["kind"] == "service"
            and h["n"]
            and h["op"] in scheduled.get(role, {h["op"]})
        ):
            n, total_s, longest_s = sums.get(role, (0, 0.0, 0.0))
            sums[role] = (n + h["n"], total_s + h["sum_ns"] / 1e9, max(longest_s, h["max_ns"] / 1e9))
    return sums


def slots(run: RunRecord, depth: Mapping[str, int]) -> dict[str, tuple[float, float]]:
    """Role -> time that its sessions had for calls, all together and on the clock, in s; none in a gap."""
    windows, idle = measured_windows(run), gaps_of(run)
    sums: dict[str, tuple[float, float]] = {}
    for s in run.rows("repetitions"):
        if s["segment"] in windows:
            span_s = worked_ns(s["start_ns"], s["end_ns"], idle) / 1e9
            slots_s, clock_s = sums.get(s["role"], (0.0, 0.0))
            sums[s["role"]] = (slots_s + s["sessions"] * depth.get(s["role"], 1) * span_s, clock_s + span_s)
    return sums


def depths(run: RunRecord) -> dict[str, int]:
    """Role -> calls that a session may have under way."""
    return {role["name"]: int(role.get("depth") or 1) for _, role in each_role(run.plan)}


GUARDS = (
    Guard(About.LAWS, "Little's law", little_holds, "No call was timed"),
    Guard(About.LAWS, "utilisation at most 1", nothing_overfull, "No CPU was watched"),
    Guard(About.LAWS, "sum of parts", parts_add_up, "No role was measured"),
)

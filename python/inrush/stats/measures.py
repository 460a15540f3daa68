"""From the tables of sealed runs to figures: one number per run and name, pure.

A figure is named `<role>.<metric>`. A role split over tables (`writers/port_errors`) is also part of the role before the
slash (`writers`): its figures are those of all its parts together. Modules of this folder with `FIGURES` have more figures.

`<role>.<metric>`, from the drive segments of phase `measure` alone:
    makespan_s          first due to last done, mean over the repetitions of a fixed volume
    rows_per_s, bytes_per_s, ops_per_s          what succeeded over the sum of makespans (rows and bytes of extracts: over
                        the time in which their calls ran); of roles with equally spaced calls
                        a makespan lasts at least until the next call would be due, so that no rate is above the schedule's
    attempts_per_s      all calls that ended, failed ones included, over the same
    keys_per_s          of roles with calls for lists of keys: keys of calls that were answered correctly
    rows, bytes, ops, ok, errors, wrong, late, unsent, repetitions, sessions; unseen, where a reader looks for rows; refused, of
                        the errors those that the server refused
    achieved_share      calls that succeeded / calls due; attempted_share: calls that ended / calls due
    failed_share        calls that failed / calls that ended
    samples, stored_share, in_time_share, caught_up, sample_s, sample_p50_s, …     of roles that write samples: `samples.py`
    keeps_up, pending_max, pending_end, pending_grew, event_p50_s, event_p99_s     of roles that insert at a rate: `pending.py`
    files, file_bytes_per_s (median over files), file_p50_s, file_p90_s      of pipelines: `files.py`; files of dumps
    freshness_p50_s, …  of readers that look for rows; freshness_n rows seen. A row that was due and never seen is slower
                        than every other
    first_row_p50_s, …  of extracts: from when a call was due until its first row came; of calls with the right answer
    latency_n           calls in the latency histograms; latency_s the worst of them;
                        latency_p50_s, _p90_s, _p99_s, _p999_s, and the same of service_, wait_, lag_
                        A failed call is slower than every other, and so is one that was due and never sent: a
                        percentile that reaches them is infinite
    on_time_p50_s, …    latency as if the client had been on time (paced roles); on_time_s the worst. `brackets.py`
    client_cpu_us_per_row, client_cpu_us_per_op     threads of the role in the client; by call, also one that failed
    busy_cores, cpu_us_per_row, cpu_us_per_op       of a watched role (`client`, `server`, …): resources over the measured segments
    user_cores, system_cores, …     of a watched role and of the host, with its page cache: `processors.py`
    packets_per_op      of the only host: packets within the machine and by its other interfaces, by call of all roles
    device_read_bytes_per_s, …     of `input` and `data`, the devices below them: `devices.py`

In a run with steps the role has the step's name, and so `<step>.<metric>` are figures of one step. Of a step with several
roles each is named `<step>.<role>`, and its figures are `<step>.<role>.<metric>`. What is watched is in
them: `<step>.server_busy_cores`. And of every step, by `run_figures.py`:
    duration_s                      from the begin to the end of its work, without gaps of a load that was killed and went on
    client_read_bytes, server_write_bytes, …        of its time; absent where the watch did not look at its begin and its end
    before_bytes, after_bytes, grown_bytes          tables with their indexes, of steps that may change them
    bytes_per_row                   what a load's rows added to them; of other steps, what all loaded rows take
    knee_rows, level_rows           of a load that outgrew the engine's cache: `analysis/knees.py`
    statements                      those that ended, of steps that are statements
    statement_s                     of a statement beside roles, and of each role stall_s, before_ops_per_s, kept_rate: `beside.py`
    pages_read, pages_asked, page_bytes, pages_per_row      of steps that read: `pages.py`
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from inrush.border.pipeline import each_role
from inrush.border.tables import RepetitionRow
from inrush.results.histogram import Histogram, merge, of_table, of_values
from inrush.stats.devices import device_figures
from inrush.stats.failures import classified_failures, failed_calls, unseen_rows, unsent_calls
from inrush.stats.gaps import Window, gaps_of, worked_in, worked_ns
from inrush.stats.processors import processor_figures
from inrush.stats.record import Absent, RunRecord, StudyRecord
from inrush.stats.samples import role_samples, sample_figures
from inrush.stats.steps import segments_of_steps
from inrush.stats.watched import cumulative, spent_in

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
KINDS = ("latency", "service", "wait", "lag", "on_time", "freshness", "first_row")
#: Kinds in which a failed call is slower than every other.
OF_CALLS = ("latency", "service", "on_time")
#: Kinds in which a call that was due and never sent is slower than every other: it had no service.
NEVER_SERVED = ("latency", "on_time")
#: Kinds in which a row that was never seen is slower than every other.
OF_ROWS = ("freshness",)


def study_record(results: Any) -> StudyRecord:
    """What statistics and the report need of `store.Results`; tables stay lazy."""
    doc: Mapping[str, Any] = results.study
    runs = [RunRecord(r.id, r.plan, r.env, r.doc, r.tables, r.first_rejects) for r in results.runs]
    absent = [
        Absent(_point(entry), why, str(entry.get("reason", "")))
        for why in ("stopped", "unsupported")
        for entry in doc.get(why) or ()
    ]
    by: Mapping[str, str] = doc.get("calibrated_by") or {}
    priced = {r.run_id: r for r in runs if r.run_id in by.values()}
    sealed = {point: priced[run] for point, run in by.items() if run in priced}
    return StudyRecord(
        doc,
        [r for r in runs if r.run_id not in priced],
        absent,
        {point: run for point, run in sealed.items() if run.summary.get("status") == "done"},
    )


def _point(entry: Mapping[str, Any]) -> dict[str, Any]:
    labels = entry.get("labels", entry)
    engine = {"engine": labels["engine"]} if "engine" in labels else {}
    return {**engine, **dict(labels.get("factors", entry.get("point", {})))}


def figures_of_work(run: RunRecord) -> dict[str, float]:
    """Of all measured segments together, by name; a figure that was not measured has no entry. run: one without steps, or
    one step of a run as `steps_of` gives it."""
    windows, repetitions = measured_windows(run), measured_repetitions(run)
    figures: dict[str, float] = {}
    keys: Mapping[str, int] = run.labels.get("keys_per_call", {})
    gaps_s, idle = call_gaps_s(run.plan), gaps_of(run)
    for role, mine in grouped(repetitions).items():
        figures |= {
            f"{role}.{name}": value
            for name, value in repetition_figures(mine, keys.get(role), gaps_s, idle).items()
        }
    for (role, kind), histogram in role_histograms(run, windows).items():
        figures |= {f"{role}.{kind}_{name}": value for name, value in histogram_figures(histogram).items()}
        if kind == "freshness":
            figures |= {f"{role}.freshness_n": float(histogram.n), f"{role}.unseen": float(histogram.failed)}
        if kind == "latency":
            figures[f"{role}.latency_n"] = float(histogram.n)
        if kind in ("latency", "on_time") and histogram.calls:
            figures[f"{role}.{kind}_s"] = np.inf if histogram.failed else histogram.max_ns / 1e9
    for role, busy_s in extracting_s(run, windows).items():
        figures |= {f"{role}.{name}_per_s": figures[f"{role}.{name}"] / busy_s for name in ("rows", "bytes")}
    for role, sampled in role_samples(run, windows).items():
        figures |= {f"{role}.{name}": value for name, value in sample_figures(sampled).items()}
    for role, count in refused_calls(run, windows).items():
        figures[f"{role}.refused"] = float(count)
    figures |= {
        f"{role}.files": figures[f"{role}.ok"] for role in dumping_roles(run) if f"{role}.ok" in figures
    }
    writers = writing_roles(run.plan)
    written = [s for s in repetitions if s["role"] in writers] or repetitions
    rows, calls = sum(s["rows"] for s in written), all_calls(repetitions)
    return figures | cpu_figures(run, figure_windows(run), rows, calls)


def refused_calls(run: RunRecord, segments: Collection[int]) -> dict[str, int]:
    """Role, and its whole -> calls that the server refused; roles without such calls are left out."""
    found: dict[str, int] = {}
    own = {totals["role"] for totals in run.rows("repetitions")}
    for (role, _), count in classified_failures(run, segments, ("refused",)).items():
        for name in counts_in(role, own):
            found[name] = found.get(name, 0) + count
    return found


def all_calls(repetitions: Sequence[RepetitionRow]) -> int:
    """Those that ended, of every role; a page is one."""
    own = {s["role"] for s in repetitions}
    return sum(s["ops"] for s in repetitions if whole(s["role"]) == s["role"] or whole(s["role"]) not in own)


def measured_windows(run: RunRecord) -> dict[int, tuple[int, int]]:
    """Segment -> (start_ns, end_ns) of the drive segments that enter figures."""
    return {
        s["segment"]: (s["start_ns"], s["end_ns"]) for s in run.rows("segments") if s["phase"] == "measure"
    }


def measured_repetitions(run: RunRecord) -> list[RepetitionRow]:
    windows = measured_windows(run)
    return [s for s in run.rows("repetitions") if s["segment"] in windows]


def figure_windows(run: RunRecord) -> dict[int, tuple[int, int]]:
    """Segment -> (start_ns, end_ns) of what the watch has figures of: every step, whether it has sessions or not; in a run
    without steps the measured segments."""
    steps = {s["segment"]: (s["start_ns"], s["end_ns"]) for s in segments_of_steps(run).values()}
    return steps or measured_windows(run)


def grouped(repetitions: Iterable[RepetitionRow]) -> dict[str, list[RepetitionRow]]:
    """Role -> its repetitions; a part (`writers/pe`) also counts for its whole (`writers`), a member of a page does not."""
    held, roles = list(repetitions), dict[str, list[RepetitionRow]]()
    own = {totals["role"] for totals in held}
    for totals in held:
        for role in counts_in(totals["role"], own):
            roles.setdefault(role, []).append(totals)
    return roles


def counts_in(role: str, own: Collection[str]) -> tuple[str, ...]:
    """The roles that a role's work counts in: its own, and of a part its whole.

    own: roles that have work of their own. A role beside its own whole is a member of a page (`readers/pc_top` beside
    `readers`): their work is the page's already.
    """
    of = whole(role)
    return (role,) if of == role or of in own else (role, of)


def whole(role: str) -> str:
    return role.split("/", 1)[0]


def repetition_figures(
    repetitions: Sequence[RepetitionRow],
    keys_per_call: int | None = None,
    gaps_s: Mapping[str, float] | None = None,
    idle: Sequence[Window] = (),
) -> dict[str, float]:
    """repetitions: rows of one role or of all its parts. The makespan of a repetition spans its parts.

    gaps_s: `call_gaps_s`. idle: gaps of the run, which are in no makespan.
    """

    def in_all_s(gaps_s: Mapping[str, float]) -> float:
        spans = repetition_spans(repetitions, gaps_s).values()
        return sum(worked_ns(start, end, idle) for start, end in spans) / 1e9

    spans = repetition_spans(repetitions, {})
    total = {
        name: sum(s[name] for s in repetitions)
        for name in ("rows", "bytes", "ops", "ok", "errors", "wrong", "late", "unsent", "cpu_ns")
    }
    span_s = in_all_s({})
    figures = {name: float(total[name]) for name in total if name != "cpu_ns"}
    figures["repetitions"] = float(len(spans))
    figures["sessions"] = float(sum(s["sessions"] for s in repetitions) / len(spans))
    if due := total["ops"] + total["unsent"]:
        figures["achieved_share"] = total["ok"] / due
        figures["attempted_share"] = total["ops"] / due
    if total["ops"]:
        figures["failed_share"] = total["errors"] / total["ops"]
    if span_s > 0:
        figures["makespan_s"] = span_s / len(spans)
        worked_s = in_all_s(gaps_s or {})
        figures |= {f"{name}_per_s": total[name] / worked_s for name in ("rows", "bytes")}
        figures |= {"ops_per_s": total["ok"] / worked_s, "attempts_per_s": total["ops"] / worked_s}
        if keys_per_call is not None:
            figures["keys_per_s"] = total["ok"] * keys_per_call / worked_s
    for one, many in (("row", "rows"), ("op", "ops")):
        if total[many]:
            figures[f"client_cpu_us_per_{one}"] = total["cpu_ns"] / 1e3 / total[many]
    return figures


def repetition_spans(
    repetitions: Iterable[RepetitionRow], gaps_s: Mapping[str, float]
) -> dict[tuple[int, int], tuple[float, float]]:
    """(segment, repetition) -> its (start_ns, end_ns), all repetitions together.

    gaps_s: what each call of a role has of the schedule, s: n calls are the work of n gaps, though first due to last
    done is little more than n - 1 of them.
    """
    spans: dict[tuple[int, int], tuple[float, float]] = {}
    for s in repetitions:
        key = (s["segment"], s["repetition"])
        offered_ns = gaps_s.get(s["role"], 0.0) * 1e9 * (s["ops"] + s["unsent"])
        start, end = spans.get(key, (s["start_ns"], s["end_ns"]))
        spans[key] = (min(start, s["start_ns"]), max(end, s["end_ns"], s["start_ns"] + offered_ns))
    return spans


def call_gaps_s(plan: Mapping[str, Any]) -> dict[str, float]:
    """Role with equally spaced calls -> seconds from one to the next; of samples in parts, each part its share.

    Calls with random gaps have no next due that follows from their count.
    """
    gaps: dict[str, float] = {}
    for _, role in each_role(plan, "measure"):
        how = role["schedule"]
        if how["kind"] == "constant":
            gaps[role["name"]] = 1 / how["rate_per_s"]
        elif how["kind"] == "samples":
            gaps[role["name"]] = how["every_ns"] / 1e9 / how["parts"]
    return gaps


def role_histograms(run: RunRecord, segments: Iterable[int]) -> dict[tuple[str, str], Histogram]:
    """(role, kind) -> all its operations in the measured segments, parts merged into their whole, failed calls included."""
    scheduled = scheduled_operations(run.plan)
    parts: dict[tuple[str, str], list[Histogram]] = {}
    held = operation_histograms(run, segments)
    on_time = {role for role, _, kind in held if kind == "on_time"}
    without = [
        (key, count, kinds)
        for of, kinds in ((failed_calls, OF_CALLS), (unsent_calls, NEVER_SERVED), (unseen_rows, OF_ROWS))
        for key, count in of(run, segments).items()
    ]
    for (role, op), count, kinds in without:
        for kind in kinds:
            if kind != "on_time" or role in on_time:
                held[role, op, kind] = held.get((role, op, kind), of_values(())).with_failed(count)
    own = {role for role, _, _ in held}
    for (role, op, kind), histogram in held.items():
        if op not in scheduled.get(role, {op}):
            continue  # a member of a `together`: its page is the call that was due
        for name in counts_in(role, own):
            parts.setdefault((name, kind), []).append(histogram)
    return {key: merge(found) for key, found in parts.items()}


def scheduled_operations(plan: Mapping[str, Any]) -> dict[str, set[str]]:
    """Role -> the operations that its tickets name."""
    roles: dict[str, set[str]] = {}
    for _, role in each_role(plan):
        roles.setdefault(role["name"], set()).update(w["operation"] for w in role["operations"])
    return roles


def extracting_s(run: RunRecord, windows: Collection[int]) -> dict[str, float]:
    """Role that only extracts -> seconds in which its calls ran, for each of its sessions.

    Between two calls the session makes the rows again that it compares with: that is no time of the engine.
    """
    extracts = {
        o["name"] for o in run.plan.get("operations", ()) if o["kind"] == "extract" and "dump" not in o
    }
    roles = {role for role, names in scheduled_operations(run.plan).items() if names and names <= extracts}
    busy: dict[str, list[float]] = {}
    for s in run.rows("sessions") if roles else ():
        if s["segment"] in windows and s["role"] in roles:
            busy.setdefault(s["role"], []).append(s["busy_ns"] / 1e9)
    sessions = {role: len({s["session"] for s in run.rows("sessions") if s["role"] == role}) for role in busy}
    return {role: total / sessions[role] for role, each in busy.items() if (total := sum(each)) > 0}


def dumping_roles(run: RunRecord) -> set[str]:
    """Roles whose calls write a file each."""
    dumps = {o["name"] for o in run.plan.get("operations", ()) if "dump" in o}
    return {role for role, names in scheduled_operations(run.plan).items() if names & dumps}


def writing_roles(plan: Mapping[str, Any]) -> set[str]:
    """Roles that put rows in, and their wholes; the rows of all others are answers."""
    inserts = {o["name"] for o in plan.get("operations", ()) if o["kind"] == "insert"}
    roles = {role for role, operations in scheduled_operations(plan).items() if operations & inserts}
    return roles | {whole(role) for role in roles}


def operation_histograms(run: RunRecord, segments: Iterable[int]) -> dict[tuple[str, str, str], Histogram]:
    """(role, operation, kind) -> histogram of the measured segments."""
    table = run.tables.get("hist")
    if table is None or table.num_rows == 0:
        return {}
    wanted = np.isin(table.column("segment").to_numpy(), list(segments))
    # Those of a long run by many clients are hundreds of MB: a copy is made only of some of them.
    found = of_table(table if wanted.all() else table.filter(pa.array(wanted)), ("role", "op", "kind"))
    return {(str(role), str(op), str(kind)): histogram for (role, op, kind), histogram in found.items()}


def histogram_figures(histogram: Histogram) -> dict[str, float]:
    if not histogram.calls:
        return {}
    return {f"{name}_s": histogram.quantile_ns(q) / 1e9 for name, q in QUANTILES.items()}


def cpu_figures(
    run: RunRecord, windows: Mapping[int, tuple[int, int]], rows: int, calls: int
) -> dict[str, float]:
    """Busy cores and CPU per row and call of every watched role, over the measured segments as a whole.

    rows: put in, or returned where nothing is put in. A segment holds its repetitions and the emptying
    between them, so CPU per row is an upper bound where a volume is repeated.
    """
    parts = worked_in(windows.values(), gaps_of(run))
    span_s = sum(end - start for start, end in parts) / 1e9
    if span_s <= 0:
        return {}
    figures = {}
    for role, series in cumulative(run, "cpu_s").items():
        used_s = spent_in(run, series, parts)
        if used_s is None:
            continue
        figures[f"{role}.busy_cores"] = used_s / span_s
        for one, many in (("row", rows), ("op", calls)):
            if many:
                figures[f"{role}.cpu_us_per_{one}"] = used_s * 1e6 / many
    figures |= processor_figures(run, parts)
    ways = ("host.loopback_packets_per_s", "host.packets_per_s")
    if calls and (seen := [figures[way] for way in ways if way in figures]):
        figures["host.packets_per_op"] = sum(seen) * span_s / calls
    return figures | device_figures(run, parts)

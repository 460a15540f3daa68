"""Guards: what could make a figure a lie, asked of every run. Pure; `docs/measuring.md` lists them.

A verdict is `pass`, `note` (read the figure with this in mind) or `invalid` (the figure is not of
the engine, or not of the work: exit 3, watermark). A guard that does not apply gives no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from inrush.guards import laws, notes, settings, trends
from inrush.guards.verdicts import (
    Figures,
    Verdict,
    counted,
    invalid,
    is_embedded,
    is_instrument,
    noted,
    paced_roles,
    passed,
    survives,
)
from inrush.stats.calm import STEAL_SHARE, calm_part
from inrush.stats.files import CACHED_SHARE, cached_share, is_pipeline
from inrush.stats.measures import RunRecord, cumulative, measured_windows, writing_roles

LAG_FLOOR_S = 1e-3  # lag p99 above the larger of this …
LAG_SHARE = 0.05  # … and this share of the median latency is the client's own lateness
#: A stall of this share of the measured time reaches p99: so many arrivals fell into it.
STALL_SHARE = 0.01
CLIENT_CPU_SHARE = 0.8  # of its cores or of its sessions' time
# A short probe on a busy disk can find a fraction of what the disk does.
IMPLAUSIBLE, IMPOSSIBLE = 1.5, 5.0  # times the best probe; the latter also times what the probes differ by


def guard_run(run: RunRecord, figures: Figures) -> list[Verdict]:
    """Verdicts of every guard that applies to one run; of a run that failed, only that it did."""
    ended = ended_as_planned(run, figures)
    if ended.hides:
        return [ended]
    return [v for guard in RUN_GUARDS for v in [guard(run, figures)] if v is not None]


def ended_as_planned(run: RunRecord, _: Figures) -> Verdict:
    failed = run.summary.get("failure")
    cut = [s for s in run.rows("segments") if s["ended_by"] in ("limit", "stop", "error")]
    if failed or run.summary.get("status", "ok") not in ("ok", "complete", "sealed", "valid", "done"):
        why = failed.get("message", failed) if isinstance(failed, Mapping) else failed
        return invalid("ended as planned", f"The run failed: {why or run.summary.get('status')}", hides=True)
    if cut:
        s = cut[0]
        how = {"limit": "cut at its time limit", "stop": "stopped", "error": "ended by an error"}[
            s["ended_by"]
        ]
        return invalid(
            "ended as planned",
            f"Segment {s['segment']} ({s['label']}) was {how}: its work is not complete; "
            "raise the limit or lower the work",
        )
    return passed("ended as planned", "Every segment ended with its work or its time")


def client_on_time(run: RunRecord, figures: Figures) -> Verdict | None:
    """Lag = sent - max(due, ready): the instrument's own lateness, of paced roles."""
    late, late_roles = [], []
    paced = [role for role in paced_roles(run) if f"{role}.lag_p99_s" in figures]
    for role in paced:
        lag_s = figures[f"{role}.lag_p99_s"]
        limit_s = max(LAG_FLOOR_S, LAG_SHARE * figures.get(f"{role}.latency_p50_s", 0.0))
        if lag_s > limit_s:
            late.append(f"{role}: lag p99 {lag_s * 1e3:.3g} ms, limit {limit_s * 1e3:.3g} ms")
            late_roles.append(role)
        stall_s, ran_s = longest_lag_s(run, role), figures.get(f"{role}.makespan_s", 0.0)
        if stall_s > max(LAG_FLOOR_S, STALL_SHARE * ran_s):
            late.append(f"{role}: the client stood still for {stall_s * 1e3:.3g} ms of {ran_s:.3g} s")
    stalled_s, measured_s = stalls_s(run)
    if stalled_s > STALL_SHARE * measured_s:
        late.append(f"its process stood still for {stalled_s * 1e3:.3g} ms of {measured_s:.3g} s")
    if late:
        return invalid(
            "client on time",
            f"The client was late by itself ({'; '.join(late)}): these figures are the client's. "
            "Lower the rate, use fewer sessions or more cores, let nothing stop it, and beside a server give it --realtime"
            f"{taken_by_others(run, late_roles)}",
        )
    return (
        passed("client on time", "Paced calls were sent when due and their session free") if paced else None
    )


def taken_by_others(run: RunRecord, late_roles: Sequence[str]) -> str:
    """What no client can help: a processor that its host has taken away wakes nobody. Was it on time where it had them?"""
    calm = calm_part(run)
    if calm is None or calm.seconds >= calm.of_s:
        return ""
    steal = notes.noise_shares(run).get("steal", 0.0)
    held = {role: calm.figures.get(f"{role}.lag_p99_s") for role in late_roles}
    told = ", ".join(f"{lag_s * 1e3:.3g} ms ({role})" for role, lag_s in held.items() if lag_s is not None)
    taken = f". The host meanwhile gave {steal:.1%} of the processors to others (steal)"
    if not told:
        return f"{taken}: repeat when it does not"
    return (
        f"{taken}: in the {calm.seconds:,.0f} of {calm.of_s:,.0f} s in which it gave at most {STEAL_SHARE:.0%}, lag p99 was "
        f"{told}. Repeat when it does not"
    )


def stalls_s(run: RunRecord) -> tuple[float, float]:
    """Seconds in which the client's process stood still, and all seconds, of the measured repetitions.

    The core's heartbeat counts what an ordinarily busy machine does not do (rust/src/watch/heartbeat.rs).
    """
    windows = measured_windows(run)
    t_ns, total_s = cumulative(run, "stall_total_s").get("client", ((), ()))
    stalled_s = sum(
        s
        for t, s in zip(t_ns, total_s, strict=True)
        if any(begin <= t <= end for begin, end in windows.values())
    )
    repetitions: dict[tuple[int, int], float] = {}
    for shot in run.rows("shots"):
        if shot["segment"] in windows:
            key = (shot["segment"], shot["repetition"])
            repetitions[key] = max(repetitions.get(key, 0.0), (shot["end_ns"] - shot["start_ns"]) / 1e9)
    return float(stalled_s), sum(repetitions.values())


def longest_lag_s(run: RunRecord, role: str) -> float:
    """Of what was measured. Calls that were due while the client stood still count as waiting: only the first has lag."""
    measured = {i for i, s in enumerate(run.plan["segments"]) if s.get("phase") == "measure"}
    lags = [
        h["max_ns"]
        for h in run.rows("hist")
        if h["role"] == role and h["kind"] == "lag" and h["segment"] in measured
    ]
    return max(lags, default=0) / 1e9


def client_not_saturated(run: RunRecord, figures: Figures) -> Verdict | None:
    """CPU of the client against its cores, and of its session threads against their time."""
    name = "client not saturated"
    if is_pipeline(run):  # its client is part of what is measured
        return None
    if "instrument.busy_cores" in figures:
        return client_beside_its_engine(figures, name)
    if is_instrument(run.engine):
        return None
    if is_embedded(run):
        return noted(
            name,
            "The engine lives in the client's process and no run on the null engine tells their CPU apart: run the "
            "study anew",
        )
    cores = float(run.env.get("cgroup_cpu_cores") or run.env.get("cpu_logical") or 0)
    busy = figures.get("client.busy_cores")
    if cores and busy is not None and busy > CLIENT_CPU_SHARE * cores:
        return invalid(
            name,
            f"The client kept {busy:.2f} of {cores:g} cores busy (limit {CLIENT_CPU_SHARE:.0%}): the figure is the "
            "client's. Put the server on another machine or lower the load",
        )
    for role, share in session_cpu_shares(run).items():
        if share > CLIENT_CPU_SHARE:
            return invalid(
                name,
                f"The sessions of {role} computed {share:.0%} of their time (limit {CLIENT_CPU_SHARE:.0%}) instead of "
                "waiting for the engine: add sessions, or read the figure as the client's",
            )
    return passed(name, "" if busy is None else f"The client used {busy:.2f} of {cores:g} cores")


def client_beside_its_engine(figures: Figures, name: str) -> Verdict:
    """An engine in the client's process, told apart by the null engine: what counts is the client's own work."""
    own, engine = figures["instrument.busy_cores"], figures["engine.busy_cores"]
    told = f"client {own:.3g} cores, engine {engine:.3g} cores (by subtraction)"
    shares = {k.rsplit(".", 1)[0]: v for k, v in figures.items() if k.endswith(".instrument_share")}
    role = max(shares, key=lambda r: shares[r])
    if shares[role] > CLIENT_CPU_SHARE:
        return invalid(
            name,
            f"{told.capitalize()}: the sessions of {role} spent {shares[role]:.0%} of their time (limit "
            f"{CLIENT_CPU_SHARE:.0%}) on the client's own work: read the figure as the client's, or use larger batches",
        )
    return passed(
        name,
        f"{told.capitalize()}; its own work took {shares[role]:.1%} of the time of the sessions of {role}",
    )


def session_cpu_shares(run: RunRecord) -> dict[str, float]:
    """Role -> CPU time of its threads over the time they had, in the measured segments."""
    windows, used, had = measured_windows(run), dict[str, int](), dict[str, int]()
    for s in run.rows("shots"):
        if s["segment"] in windows:
            used[s["role"]] = used.get(s["role"], 0) + s["cpu_ns"]
            had[s["role"]] = had.get(s["role"], 0) + s["sessions"] * (s["end_ns"] - s["start_ns"])
    return {role: used[role] / had[role] for role in used if had[role] > 0}


def rows_proven(run: RunRecord, figures: Figures) -> Verdict | None:
    """Counts, checksums and read-back of what was loaded, against the generator."""
    name, proofs = "rows proven", run.rows("proofs")
    wrong = [p for p in proofs if not p["holds"]]
    if wrong:
        p = wrong[0]
        return invalid(
            name,
            f"{len(wrong)} of {len(proofs)} proofs fail, first {p['table']}: {p['item']} is {p['found']}, "
            f"expected {p['expected']}. This run has no figures; {suspects(run)}",
            hides=True,
        )
    if proofs:
        tables = len({p["table"] for p in proofs})
        return passed(
            name, f"{counted(len(proofs), 'figure')} of {counted(tables, 'table')} agree with the generator"
        )
    if is_instrument(run.engine) or not any(figures.get(f"{role}.rows") for role in writing_roles(run.plan)):
        return None
    return invalid(
        name, "Rows were written and never counted or read back: unverified. Keep the proof segments"
    )


#: Outcomes of an answer that breaks a promise: the column `wrong` of `shots` counts both.
WRONG = ("wrong", "missing")


def suspects(run: RunRecord) -> str:
    """Why rows are not as they should be, if calls failed; else where to look."""
    failed = [f for f in run.rows("failures") if f["outcome"] not in WRONG]
    if not failed:
        return "look for lost, doubled or changed rows"
    calls = counted(sum(f["count"] for f in failed), "call")
    first = f"{failed[0]['op']} {failed[0]['outcome']}, {failed[0]['first_message']}"
    return f"{calls} failed and nobody sent their rows again: {first}"


def answers_right(run: RunRecord, figures: Figures) -> Verdict | None:
    wrong = sum(s["wrong"] for s in run.rows("shots"))
    if wrong:
        f = next((f for f in run.rows("failures") if f["outcome"] in WRONG), None)
        first = f" First: {f['op']}: {f['first_message']}." if f else ""
        return invalid(
            "answers right", f"{wrong} answers were wrong.{first} A wrong answer has no time", hides=True
        )
    writers = writing_roles(run.plan)
    asked = any(s["ops"] and s["role"] not in writers for s in run.rows("shots"))
    return passed("answers right", "No answer broke what must hold of it") if asked else None


def oracle_agrees(run: RunRecord, figures: Figures) -> Verdict | None:
    """Quiet answers against an engine that was not measured, on the same generated rows."""
    found = run.summary.get("oracle") or []
    wrong = next((v for v in found if not v["holds"]), None)
    if wrong:
        return invalid(
            "oracle agrees", f"{wrong['op']}: {wrong['found']}. A wrong answer has no time", hides=True
        )
    return (
        passed("oracle agrees", f"{len(found)} of {len(found)} quiet queries answered as the oracle does")
        if found
        else None
    )


def errors_not_fast(run: RunRecord, figures: Figures) -> Verdict | None:
    """Only calls that succeeded may stand in the latency histograms."""
    name = "errors not counted as fast"
    for role in sorted({k.split(".")[0] for k in figures}):
        ok, timed = figures.get(f"{role}.ok"), figures.get(f"{role}.latency_n")
        if ok is not None and timed is not None and timed > ok:
            return invalid(
                name,
                f"{role}: {timed:.0f} latencies of {ok:.0f} calls that succeeded. This is a fault of the instrument: "
                "report it",
                hides=True,
            )
    failed = sum(s["errors"] for s in run.rows("shots"))
    if failed:
        f = next((f for f in run.rows("failures") if f["outcome"] not in WRONG), None)
        first = f": {f['op']} {f['outcome']}, {f['first_message']}" if f else ""
        return noted(name, f"{failed} calls failed{first}. They have no latency and are counted apart")
    return passed(name, "No call failed")


def cold_was_cold(run: RunRecord, _: Figures) -> Verdict | None:
    """Applies where the plan has Python make the engine cold."""
    asked = [
        s for s in run.plan.get("segments", ()) if s.get("kind") == "pause" and "cold" in s.get("action", "")
    ]
    if not asked:
        return None
    name = "cold was cold"
    acts = [a for a in run.summary.get("actions", ()) if "cold" in str(a.get("action", ""))]
    failed = [a for a in acts if a.get("ok") is not True]
    if len(acts) < len(asked) or failed:
        why = (
            failed[0].get("why", "no reason was given")
            if failed
            else "nobody recorded that the caches were dropped"
        )
        return invalid(
            name, f"The run was to start cold and did not: {why}. Read it as warm, or give the rights"
        )
    return passed(name, str(acts[0].get("how", "Caches were dropped before the measured phase")))


def inputs_cold(run: RunRecord, _: Figures) -> Verdict | None:
    """Files of a pipeline that were to come from the disk."""
    if not is_pipeline(run) or not run.plan["inputs"]["cold"] or (share := cached_share(run)) is None:
        return None
    if share > CACHED_SHARE:
        return noted(
            "inputs cold",
            f"{share:.0%} of the input was still in the kernel's memory: this filesystem does not let go of pages; the "
            "disk's part of reading is missing",
        )
    return passed("inputs cold", "The kernel held none of the input when the clock started")


def one_server(run: RunRecord, _: Figures) -> Verdict | None:
    """`data_servers`: process ids of servers found on the data folder, where the run's maker looked."""
    servers = run.summary.get("data_servers", run.env.get("data_servers"))
    if servers is None:
        return None
    if len(servers) > 1:
        return invalid(
            "one server", f"{len(servers)} servers work on one data folder ({servers}): stop all but one"
        )
    return passed("one server", "One server works on the data folder")


def release_build(run: RunRecord, _: Figures) -> Verdict | None:
    profile = run.env.get("core_build_profile")
    if profile is None:
        return None
    if profile != "release":
        return invalid(
            "release build", f"The core is a {profile} build: build it with --release and run again"
        )
    return passed("release build", "The core is a release build")


def below_physical_ceilings(run: RunRecord, figures: Figures) -> Verdict | None:
    """Commits that survive power loss against the disk's fsyncs, stored bytes against its writes.

    The best of several probes counts, some made after the run that looked too fast. They are as sure as they agree:
    a disk that was found s times better at one moment than at another may be s times better again than its best.
    """
    fsyncs, writes = (probed(run, kind) for kind in ("fsync", "write"))
    if survives(run) != "POWER_LOSS" or not fsyncs or not writes:
        return None
    name = "below physical ceilings"
    worst, spread, said = 0.0, 1.0, ""
    for role in sorted(writing_roles(run.plan)):
        sessions = max(1.0, figures.get(f"{role}.sessions", 1.0))  # they may share an fsync
        commits, sent = figures.get(f"{role}.ops_per_s", 0.0), figures.get(f"{role}.bytes_per_s", 0.0)
        for rate, probes, share in ((commits, fsyncs, sessions), (sent, writes, 1.0)):
            if rate / (max(probes) * share) > worst:
                worst, spread = rate / (max(probes) * share), max(probes) / min(probes)
                said = (
                    f"{role}: {commits:.0f} commits/s and {sent / 1e6:.1f} MB/s on a disk that was probed to do "
                    f"{max(fsyncs):.0f} fsyncs/s and {max(writes) / 1e6:.0f} MB/s"
                )
    if worst > IMPOSSIBLE * spread:
        return invalid(
            name,
            f"{said}: the data is not on the disk when it is acknowledged. Look at the settings and the disk's cache",
        )
    if worst > IMPLAUSIBLE:
        doubt = f"the probes differ by a factor of {spread:.1f}, so " if worst > IMPOSSIBLE else ""
        return noted(
            name,
            f"Inconclusive: {said}. More than any probe and less than would be impossible: {doubt}the disk may "
            "have been busy when it was probed; repeat on a quiet machine",
        )
    return passed(name, "Commits and bytes stay below what the disk was probed to do")


def probed(run: RunRecord, kind: str) -> list[float]:
    """Every probe of a ceiling (`fsync` a second, `write` in bytes/s), before the study and after the run."""
    ceiling = {"fsync": "disk_fsync_per_s", "write": "disk_write_bytes_per_s"}[kind]
    found = [
        float(v)
        for facts in (run.env, run.summary.get("disk_after") or {})
        for v in (facts.get(f"disk_{kind}_probes") or [facts.get(ceiling) or 0.0])
    ]
    return [v for v in found if v > 0]


RUN_GUARDS: tuple[Callable[[RunRecord, Figures], Verdict | None], ...] = (
    ended_as_planned, rows_proven, notes.rows_rejected, answers_right, oracle_agrees, errors_not_fast, client_on_time, client_not_saturated, cold_was_cold, inputs_cold,
    one_server, settings.settings_as_asked, release_build, below_physical_ceilings, laws.little_holds, laws.nothing_overfull, laws.parts_add_up, notes.keeps_the_rate, notes.warm_up_not_counted, notes.unit_of_work_constant,
    notes.long_enough, notes.no_waves, trends.service_time_steady, notes.data_larger_than_caches, notes.quiet_machine,
)  # fmt: skip

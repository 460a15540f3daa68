"""Guards that never invalidate a run: what a reader must know beside its figures. Pure."""

from __future__ import annotations

from inrush.analysis.run_facts import only_cache
from inrush.analysis.verdicts import Figures, Verdict, noted, passed
from inrush.border.pipeline import loads_of, phase_of, repeat_of, shards_of
from inrush.guards.guard import About, Guard
from inrush.stats import series
from inrush.stats.measures import writing_roles
from inrush.stats.others import worked_windows
from inrush.stats.paced import paced_roles
from inrush.stats.quantity import show
from inrush.stats.rates import role_rates
from inrush.stats.record import RunRecord
from inrush.stats.role_series import role_series
from inrush.stats.watched import cumulative, spent_in
from inrush.text import percent, signed_percent
from inrush.workload import TIMES_CACHES

UNIT_GROWTH = 0.10  # bytes per row, start to end
ACHIEVED_SHARE = 0.99
#: Of what its study lets through: a load that makes as much was held by it.
HELD_SHARE = 0.9
SHORTEST_S = 1.0
#: A study may ask for less than that, and not for less than this.
SHORTEST_ASKED_S = 0.5
WARM_UP_HEAD = 0.9  # head slower than this share of the rest


def keeps_the_rate(run: RunRecord, figures: Figures) -> Verdict | None:
    """Of paced roles: what was due and never sent. A finding, not a fault. Of steps that are held back: by what."""
    if held := held_back(run, figures):
        return noted(
            "keeps the rate",
            f"{'; '.join(held)}: the rate is what the study lets through, and not what the engine takes in",
        )
    paced = [role for role in paced_roles(run) if f"{role}.attempted_share" in figures]
    shares = {role: figures[f"{role}.attempted_share"] for role in paced}
    worst = min(shares, key=lambda role: shares[role], default="")
    if worst and shares[worst] < ACHIEVED_SHARE:
        return noted(
            "keeps the rate",
            f"{worst}: {percent(shares[worst], 1)} of what was due was sent: overload. The rest counts as slower than every percentile that it reaches",
            size=1 - shares[worst],
        )
    short = [f"{role} {percent(share, 2)}" for role, share in shares.items() if share < 1]
    sentence = (
        f"Sent of what was due: {', '.join(short)}. The rest counts as slower than every percentile that it reaches"
        if short
        else "Everything that was due was sent"
    )
    return passed("keeps the rate", sentence) if paced else None


def held_back(run: RunRecord, figures: Figures) -> list[str]:
    """Load steps that went about as fast as their study lets them. A load over shards is throttled to be predicted."""
    found = []
    for step, load in loads_of(run.plan).items() if not shards_of(run.plan) else ():
        how = load["pipelines"]
        limits = (
            (
                "shard_rows_per_s",
                "rows_per_s",
                how["shard_rows_per_s"] * len(load["load_server"]["load"]["shards"]),
            ),
            ("device_bytes_per_s", "bytes_per_s", how["device_bytes_per_s"]),
            ("pipeline_bytes_per_s", "bytes_per_s", how["pipeline_bytes_per_s"] * how["count"]),
        )
        for name, unit, most in limits:
            rate = figures.get(f"{step}.{unit}", 0.0)
            if most and rate >= HELD_SHARE * most:
                found.append(
                    f"{step} is held to {show(most, f'{step}.{unit}')} by `{name}` and made {show(rate, f'{step}.{unit}')}"
                )
    return found


def warm_up_not_counted(run: RunRecord, _: Figures) -> Verdict | None:
    """Figures come from phase `measure`; its own start is looked at for a warm-up that was missed."""
    judged, slow = [], []
    for role, steady in role_rates(run).items():
        if len(steady.t_s) < 60 or len(set(steady.repetition.tolist())) > 1:
            continue
        judged.append(role)
        found = series.warm_up(steady.ops / steady.dt_s)
        if found.kind == "warm-up" and found.head_to_tail < WARM_UP_HEAD:
            slow.append((found.head_to_tail, role, float(steady.dt_s[: found.cut].sum())))
    if slow:
        share, role, cut_s = min(slow)
        return noted(
            "warm-up not counted",
            f"{role}: the first {cut_s:.3g} s of the measured phase run at {percent(share)} of the rest; "
            f"warm up at least that much longer",
            size=1 - share,
        )
    phases = {s["phase"] for s in run.rows("segments") if s["phase"]}
    before = " after a warm-up phase" if "warm" in phases else ""
    return passed("warm-up not counted", f"No slow start in {', '.join(judged)}{before}") if judged else None


def unit_of_work_constant(run: RunRecord, _: Figures) -> Verdict | None:
    """Bytes per row over the run: where the unit grows, a falling rate is not a slower engine."""
    constant, changing, most = [], [], 0.0
    for role, s in role_series(run).items():
        full = s.only(s.rows > 0)
        if len(full.t_s) < 8 or not full.bytes.any():
            continue
        slope, p = series.newey_west_slope(unit := full.bytes / full.rows)
        growth = slope * (len(unit) - 1) / float(unit.mean())
        if p < 0.01 and abs(growth) > UNIT_GROWTH:
            changing.append(f"{role}: bytes per row change by {signed_percent(growth)} during the run")
            most = max(most, abs(growth))
        else:
            constant.append(f"{role}: {unit.mean():.0f} bytes per row throughout")
    if changing:
        return noted("unit of work constant", f"{'; '.join(changing)}: read bytes/s beside rows/s", size=most)
    return passed("unit of work constant", "; ".join(constant)) if constant else None


def long_enough(run: RunRecord, figures: Figures) -> Verdict | None:
    spans = {
        k: v * figures[k.replace("makespan_s", "repetitions")]
        for k, v in figures.items()
        if k.endswith("makespan_s")
    }
    if not spans:
        return None
    longest, shortest = max(spans.values()), shortest_s(run)
    if longest < shortest:
        said = f"Only {longest:.3g} s were measured: raise `at_least_s` or the volume"
        return noted("long enough", said, size=shortest / max(longest, 1e-9))
    return passed("long enough", f"{longest:.3g} s were measured")


def shortest_s(run: RunRecord) -> float:
    """What a run must have measured for no note: what its study asks for (`at_least_s`), within the two limits."""
    repeats = [
        repeat
        for s in run.plan.get("segments", ())
        if phase_of(s) == "measure" and (repeat := repeat_of(s)) is not None
    ]
    asked_s = max((repeat["at_least_ns"] / 1e9 for repeat in repeats), default=SHORTEST_S)
    return min(SHORTEST_S, max(SHORTEST_ASKED_S, asked_s))


def data_larger_than_caches(run: RunRecord, _: Figures) -> Verdict | None:
    held = (run.summary.get("limits") or {}).get("memory") or {}
    memory = held.get("asked") or run.env.get("cgroup_memory_bytes") or run.env.get("mem_total_bytes")
    stored = stored_bytes(run)
    if not memory or not stored:
        return None
    name = "data larger than caches"
    if any("io" in operation.get("directives", {}) for operation in run.plan.get("operations", ())):
        return file_larger_than_caches(run, name, stored, run.env.get("mem_total_bytes") or memory)
    if cache := only_cache(run):
        of = f"{show(stored, 'bytes')} of data, {show(cache, 'bytes')} of cache, and every other page comes from the device"
        return (
            passed(name, of)
            if stored >= cache
            else noted(
                name,
                f"{of}: figures are of cached data, say nothing of a larger table",
                size=cache / stored,
            )
        )
    if stored < memory:
        return noted(
            name,
            f"{show(stored, 'bytes')} of data fit into {show(memory, 'bytes')} of memory: figures are of cached data, "
            "say nothing of a larger table",
            size=memory / stored,
        )
    return passed(name, f"{show(stored, 'bytes')} of data, {show(memory, 'bytes')} of memory")


def file_larger_than_caches(run: RunRecord, name: str, stored: float, memory: float) -> Verdict:
    """Of records of a file: direct I/O passes the kernel's cache, and neither the controller's nor that of a host below."""
    options = run.plan["target"].get("options", {})
    caches = memory + float(options.get("controller_cache_bytes", 0))
    sizes = f"a file of {show(stored, 'bytes')}, {show(caches, 'bytes')} of memory and controller's cache"
    if options.get("direct") == "false":
        said = f"Calls went through the kernel's cache ({sizes}): figures are of it too"
        return noted(name, said, size=caches / stored)
    if stored < TIMES_CACHES * caches:
        return noted(
            name,
            f"File smaller than the caches ask for: {sizes}, and it should have {TIMES_CACHES} times as much. A controller, or "
            "the host of a virtual machine, may have answered from memory; raise sizes.file_bytes",
            size=caches / stored,
        )
    return passed(name, f"{sizes[0].upper()}{sizes[1:]}")


#: Pages a second that a server reads of its own program: one that starts reads a few hundred once.
FAULTS_PER_S = 50.0


def program_in_memory(run: RunRecord, _: Figures) -> Verdict | None:
    """Of a server that is held to an amount of memory: a limit that its own program does not fit into measures the limit."""
    asked = ((run.summary.get("limits") or {}).get("memory") or {}).get("asked")
    series, windows = cumulative(run, "major_faults").get("server"), worked_windows(run)
    span_s = sum(end - start for start, end in windows) / 1e9
    faults = spent_in(run, series, windows) if series is not None else None
    if not asked or faults is None or span_s <= 0:
        return None
    name = "program in memory"
    if faults / span_s <= FAULTS_PER_S:
        return passed(name, f"{faults:,.0f} pages of the server's program were read in {span_s:.3g} s")
    return noted(
        name,
        f"The server has {show(asked, 'bytes')} of memory, and reads {faults / span_s:,.0f} pages a second of its own program or "
        "of files that it maps: the figures are of the limit; give it more memory, or smaller caches",
        size=faults / span_s,
    )


def stored_bytes(run: RunRecord) -> float:
    """The largest probed size (the whole file or database, not the sum of overlapping figures); else what was sent.

    A log is no data: it is as large before the first row as after the last."""
    probed = []
    for r in run.rows("sizes"):
        if str(r["name"]).startswith("log:"):
            continue
        try:
            probed.append(float(r["value"]))
        except (TypeError, ValueError):
            continue  # a size given as text says nothing here
    writers = writing_roles(run.plan)
    sent = float(
        sum(s["bytes"] for s in run.rows("repetitions") if s["role"] in writers and s["repetition"] == 0)
    )
    return max(probed, default=sent)


GUARDS = (
    Guard(About.COURSE, "keeps the rate", keeps_the_rate, "No role was paced"),
    Guard(
        About.COURSE,
        "warm-up not counted",
        warm_up_not_counted,
        "No role has sixty intervals of one repetition; only phase measure enters figures",
    ),
    Guard(
        About.COURSE, "unit of work constant", unit_of_work_constant, "Fewer than eight intervals with rows"
    ),
    Guard(About.COURSE, "long enough", long_enough, "No repetition has a length", of_conditions=True),
    Guard(
        About.COURSE,
        "data larger than caches",
        data_larger_than_caches,
        "The memory, or what was stored, is not known",
        of_run=True,
        of_conditions=True,
    ),
    Guard(
        About.COURSE,
        "program in memory",
        program_in_memory,
        "The server is held to no limit of memory, or its page faults were not watched",
    ),
)

"""Guards: what could make a figure a lie, asked of every run. Pure; `docs/guards.md` lists them.

A verdict is `pass`, `not checked` (there was nothing to check), `note` (read the figure with this in mind) or `invalid`
(the figures that it names are not of the engine, or not of the work). Every guard gives every run one verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf

from inrush.guards import (
    disk,
    gaps,
    lacking,
    lateness,
    laws,
    notes,
    quiet,
    saturation,
    settings,
    standing,
    starts,
    trends,
    waves,
)
from inrush.guards.rows import WRONG, cut_load, rows_proven, rows_rejected
from inrush.guards.steps import Views, cold_steps, cut_step, guard_steps, of_steps, views_of
from inrush.guards.verdicts import (
    Figures,
    Verdict,
    counted,
    invalid,
    not_checked,
    noted,
    passed,
)
from inrush.stats.failures import classified_failures
from inrush.stats.files import CACHED_SHARE, cached_share, is_pipeline, loaded_by_ends
from inrush.stats.measures import measured_windows, operation_histograms
from inrush.stats.record import RunRecord
from inrush.stats.steps import segments_of_steps
from inrush.text import percent


@dataclass(frozen=True)
class Guard:
    """A question to every run: `check` gives None where the run has nothing to check it by, and `nothing` says what."""

    name: str
    check: Callable[[RunRecord, Figures], Verdict | None]
    nothing: str

    def __call__(self, run: RunRecord, figures: Figures) -> Verdict:
        found = self.check(run, figures) or not_checked(self.name, self.nothing)
        assert found.guard == self.name, f"{found.guard} was given the name of {self.name}"
        return found


def guard_run(run: RunRecord, figures: Figures) -> list[Verdict]:
    """The verdict of every guard on one run; of a run that failed, only that it did."""
    ended = ended_as_planned(run, figures)
    if ended.hides:
        return [ended]
    if not segments_of_steps(run):
        return [guard(run, figures) for guard in RUN_GUARDS]
    views = views_of(run, figures)
    found = [ended, *(of_steps_or_run(guard, run, figures, views) for guard in RUN_GUARDS[1:])]
    return [with_totals(verdict, run, figures) for verdict in found]


def with_totals(verdict: Verdict, run: RunRecord, figures: Figures) -> Verdict:
    """A figure over several steps stands on those of each of them."""
    if verdict.figures is None:
        return verdict
    touched = {name.partition(".")[0] for name in verdict.figures}
    shaken = [name for name, steps in run.labels.get("totals", {}).items() if touched & set(steps)]
    return replace(verdict, figures=(*verdict.figures, *of_steps(figures, shaken))) if shaken else verdict


def of_steps_or_run(guard: Guard, run: RunRecord, figures: Figures, views: Views) -> Verdict:
    """What is true of a run is asked of it once; what is about the work, of every step that works."""
    if guard.name in OF_RUNS:
        return guard(run, figures)
    return guard_steps(views, figures, guard.name, guard)


def ended_as_planned(run: RunRecord, figures: Figures) -> Verdict:
    failed = run.summary.get("failure")
    cut = [s for s in run.rows("segments") if s["ended_by"] in ("limit", "stop", "error")]
    if failed or run.summary.get("status", "ok") not in ("ok", "complete", "sealed", "valid", "done"):
        why = failed.get("message", failed) if isinstance(failed, Mapping) else failed
        return invalid("ended as planned", f"The run failed: {why or run.summary.get('status')}", hides=True)
    if (step := cut_step(run, figures, "ended as planned")) is not None:
        return step
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
    if full := [s for s in run.rows("segments") if s["ended_by"] == "queue"]:
        return noted(
            "ended as planned",
            f"Segment {full[0]['segment']} ({full[0]['label']}) ended when more rows waited than the queue holds "
            "(queue_rows): the rows after them were not sent",
        )
    if "status" not in run.summary and not run.rows("segments"):
        return not_checked("ended as planned", "The run does not record its end")
    return passed("ended as planned", "Every segment ended with its work or its time")


def answers_right(run: RunRecord, figures: Figures) -> Verdict | None:
    cut = cut_load(run)
    last = cut["segment"] if cut is not None else inf
    wrong = sum(s["wrong"] for s in run.rows("repetitions") if s["segment"] <= last)
    if wrong:
        f = next((f for f in run.rows("failures") if f["outcome"] in WRONG and f["segment"] <= last), None)
        first = f" First: {f['op']}: {f['first_message']}." if f else ""
        return invalid(
            "answers right",
            f"{wrong} answers were wrong.{first} A wrong answer has no time",
            hides=True,
            size=wrong,
        )
    promising = {o["name"] for o in run.plan.get("operations", ()) if o.get("holds")}
    answered: dict[str, int] = {}
    for (_, op, kind), histogram in operation_histograms(run, measured_windows(run)).items():
        if op in promising and kind == "latency" and histogram.n:
            answered[op] = answered.get(op, 0) + histogram.n
    if cut is not None and any(r["segment"] > last for r in run.rows("repetitions")):
        return not_checked(
            "answers right",
            f"{cut['label']} was cut at its time limit, and which of its rows are there is not known: answers behind it cannot be "
            "judged, and those that are counted as wrong may be right",
        )
    if not answered:
        return None
    return passed(
        "answers right",
        f"{counted(sum(answered.values()), 'answer')} of {', '.join(answered)} kept what the plan promises of them",
    )


def oracle_agrees(run: RunRecord, figures: Figures) -> Verdict | None:
    """Quiet answers against an engine that was not measured, on the same generated rows."""
    found = run.summary.get("oracle") or []
    wrong = [v for v in found if not v["holds"]]
    if wrong:
        return invalid(
            "oracle agrees",
            f"{wrong[0]['op']}: {wrong[0]['found']}. A wrong answer has no time",
            hides=True,
            size=len(wrong),
        )
    return (
        passed("oracle agrees", f"{len(found)} of {len(found)} quiet queries answered as the oracle does")
        if found
        else None
    )


def errors_not_fast(run: RunRecord, figures: Figures) -> Verdict | None:
    """Calls with a latency and calls that failed are all that ended, counted apart: no failed call was timed as a success."""
    name = "errors not counted as fast"
    windows = measured_windows(run)
    failed = by_role(classified_failures(run, windows))
    timed = by_role(
        {
            (role, op): h.n
            for (role, op, kind), h in operation_histograms(run, windows).items()
            if kind == "latency"
        }
    )
    ended: dict[str, int] = {}
    succeeded: dict[str, int] = {}
    known = timed.keys() | failed.keys()
    # Beside roles that were timed, one without any recorded call is the worst case. A pipeline's calls are not timed.
    by_ends = loaded_by_ends(run)
    for totals in run.rows("repetitions") if known else ():
        if totals["segment"] in windows and (totals["role"] in known or totals["role"] not in by_ends):
            ended[totals["role"]] = ended.get(totals["role"], 0) + totals["ops"]
            succeeded[totals["role"]] = succeeded.get(totals["role"], 0) + totals["ok"]
    for role in dict.fromkeys((*ended, *failed)):
        ops, with_time, without = ended.get(role, 0), timed.get(role, 0), failed.get(role, 0)
        if with_time + without != ops or with_time != succeeded.get(role, 0):
            return invalid(
                name,
                f"{role}: {with_time} latencies and {without} failures of {ops} calls that ended, "
                f"{succeeded.get(role, 0)} of them well. "
                "This is a fault of the instrument: report it",
                hides=True,
                size=abs(with_time + without - ops) + abs(with_time - succeeded.get(role, 0)),
            )
    if not ended:
        return None
    if not any(failed.values()):
        return passed(
            name, f"No call failed, and each of {counted(sum(ended.values()), 'call')} has one latency"
        )
    # A wrong answer is named by its own guard.
    f = min((f for f in run.rows("failures") if f["segment"] in windows), key=lambda f: f["outcome"] in WRONG)
    shares = ", ".join(f"{percent(n / ended[role], 2)} of {role}" for role, n in failed.items() if n)
    return noted(
        name,
        f"{counted(sum(failed.values()), 'call')} failed ({shares}): {f['op']} {f['outcome']}, {f['first_message']}. They are "
        "in no rate, and slower than every percentile that they reach",
        size=max(n / ended[role] for role, n in failed.items() if n),
    )


def by_role(counts: Mapping[tuple[str, str], int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for (role, _), n in counts.items():
        found[role] = found.get(role, 0) + n
    return found


def cold_was_cold(run: RunRecord, figures: Figures) -> Verdict | None:
    """Applies where the plan has Python make the engine cold."""
    if segments_of_steps(run):
        return cold_steps(run, figures, "cold was cold")
    asked = [s for s in run.plan.get("segments", ()) if "cold" in str(s.get("action", ""))]
    if not asked:
        return None
    name = "cold was cold"
    acts = [a for a in run.summary.get("actions", ()) if "cold" in str(a.get("action", ""))]
    failed = [a for a in acts if a.get("ok") is not True]
    if len(acts) < len(asked) or failed:
        why = (
            failed[0].get("why", "no reason was given")
            if failed
            else "there is no record that the caches were dropped"
        )
        return invalid(
            name, f"The run was to start cold and did not: {why}. Read it as warm, or give the rights"
        )
    return passed(name, str(acts[0].get("how", "Caches were dropped before the measured phase")))


def inputs_cold(run: RunRecord, _: Figures) -> Verdict | None:
    """Files of a pipeline that were to come from the disk."""
    if (
        not is_pipeline(run)
        or "inputs" not in run.plan
        or not run.plan["inputs"]["cold"]
        or (share := cached_share(run)) is None
    ):
        return None
    if share > CACHED_SHARE:
        return noted(
            "inputs cold",
            f"{percent(share)} of the input was still in the kernel's memory: this filesystem does not let go of pages; the "
            "disk's part of reading is missing",
            size=share,
        )
    return passed("inputs cold", "The kernel held none of the input when the clock started")


def one_server(run: RunRecord, _: Figures) -> Verdict | None:
    """`data_servers`: process ids of servers found on the data folder, where the run's maker looked."""
    servers = run.summary.get("data_servers", run.env.get("data_servers"))
    if not servers:  # not looked, or none seen: what was measured was there
        return None
    if len(servers) > 1:
        return invalid(
            "one server",
            f"{len(servers)} servers work on one data folder ({servers}): stop all but one",
            size=len(servers),
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


#: Of a run with steps: asked once of all of it. Every other guard is asked of each step.
OF_RUNS = frozenset(
    {
        "ended as planned", "rows proven", "rows rejected", "answers right", "oracle agrees", "errors not counted as fast",
        "cold was cold", "one server", "on its storage", "others of its kind", "settings as asked", gaps.NAME, "release build", "data larger than caches",
    }
)  # fmt: skip

RUN_GUARDS: tuple[Guard, ...] = (
    Guard("ended as planned", ended_as_planned, "The run does not record its end"),
    Guard("rows proven", rows_proven, "No rows were written, or the engine keeps none"),
    Guard("rows rejected", rows_rejected, "No rows came from files"),
    Guard("answers right", answers_right, "No operation that was called promises anything about its answers"),
    Guard("oracle agrees", oracle_agrees, "The oracle was asked no quiet query"),
    Guard("errors not counted as fast", errors_not_fast, "No call was timed"),
    Guard("client on time", lateness.client_on_time, "No call was timed"),
    Guard(
        "client not saturated",
        saturation.client_not_saturated,
        "The client is what is measured, or its CPU was not watched",
    ),
    Guard(lacking.NAME, lacking.server_had_its_processors, "No role was paced"),
    Guard(starts.NAME, starts.one_start, "The run had one client process"),
    Guard("cold was cold", cold_was_cold, "Nothing was to be made cold"),
    Guard(
        "inputs cold",
        inputs_cold,
        "No input was to come from the disk, or the kernel did not say what it held",
    ),
    Guard("one server", one_server, "Where the servers keep their data is not known here"),
    Guard("on its storage", standing.on_its_storage, "The study has one place for an engine"),
    Guard("others of its kind", standing.others_of_its_kind, "inrush did not start the server"),
    Guard("settings as asked", settings.settings_as_asked, "No server was started with settings"),
    Guard(gaps.NAME, gaps.made_in_one_go, "No load was ended and went on"),
    Guard("release build", release_build, "The core does not say how it was built"),
    Guard(
        "below physical ceilings",
        disk.below_physical_ceilings,
        "No rows were to survive power loss, or the disk was not probed",
    ),
    Guard("Little's law", laws.little_holds, "No call was timed"),
    Guard("utilisation at most 1", laws.nothing_overfull, "No CPU was watched"),
    Guard("sum of parts", laws.parts_add_up, "No role was measured"),
    Guard("keeps the rate", notes.keeps_the_rate, "No role was paced"),
    Guard(
        "warm-up not counted",
        notes.warm_up_not_counted,
        "No role has sixty intervals of one repetition; only phase measure enters figures",
    ),
    Guard("unit of work constant", notes.unit_of_work_constant, "Fewer than eight intervals with rows"),
    Guard("long enough", notes.long_enough, "No repetition has a length"),
    Guard(waves.NAME, waves.no_waves, "No role with enough intervals"),
    Guard("service time steady", trends.service_time_steady, "Too few intervals to see a trend"),
    Guard("table of one size", trends.table_of_one_size, "No role reads a table that another one writes"),
    Guard(
        "data larger than caches",
        notes.data_larger_than_caches,
        "The memory, or what was stored, is not known",
    ),
    Guard(
        "program in memory",
        notes.program_in_memory,
        "The server is held to no limit of memory, or its page faults were not watched",
    ),
    Guard("quiet machine", quiet.quiet_machine, "The host was not watched"),
)

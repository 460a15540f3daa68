"""Were the answers right, and was no failed call timed as a success? Pure."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from inrush.analysis.verdicts import Figures, Verdict, invalid, not_checked, noted, passed
from inrush.guards.guard import About, Guard
from inrush.guards.rows import WRONG, cut_load
from inrush.stats.failures import classified_failures
from inrush.stats.files import loaded_by_ends
from inrush.stats.measures import measured_windows, operation_histograms
from inrush.stats.record import RunRecord
from inrush.text import counted, percent


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


GUARDS = (
    Guard(About.ANSWERS, "answers right", answers_right, "No operation that was called promises anything about its answers", of_run=True),
    Guard(About.ANSWERS, "oracle agrees", oracle_agrees, "The oracle was asked no quiet query", of_run=True),
    Guard(About.ANSWERS, "errors not counted as fast", errors_not_fast, "No call was timed", of_run=True),
)  # fmt: skip

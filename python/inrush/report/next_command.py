"""The last line of the terminal: what a careful reader would type next. Pure."""

from __future__ import annotations

import re

from inrush.analysis.answer import Answer
from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import by_guard
from inrush.guards import lateness
from inrush.guards.rows import MORE_THAN_LIMIT, REJECTED
from inrush.report.first_sentence import full_disk_said
from inrush.study.document import shown
from inrush.text import percent

#: Outcomes that more repeats do not change: an answer or a statement is wrong, or the server refuses it.
TO_LOOK_AT = ("wrong", "missing", "undefined", "refused", "auth", "too_large", "lost", "other")
#: Guards that found wrong rows or answers -> where what they compared stands.
COMPARED = {
    "rows proven": "all are in DIR/proofs.csv",
    "oracle agrees": "all are in `oracle` of each run.json",
}


def next_command(analysis: Analysis, found: Answer | None) -> str:
    again = str(analysis.study.get("command") or f"inrush run {analysis.study.get('study', 'STUDY')}")
    spot = str(analysis.study.get("id", ""))
    if rows_do_not_fit(analysis):
        return f"next: give the column another type in the workload file, or repair the files; then: {again}"
    if why := fails_again(analysis):
        return f"next: change the study: {why}; then: {again}"
    if analysis.study.get("status") in ("running", "interrupted", "failed"):
        room = "make room on the disk; then: " if full_disk_said(analysis) else ""
        return f"next: {room}inrush run --resume {spot}"
    if looked := errors_to_look_at(analysis):
        return f"next: inrush show {spot} --csv DIR   ({looked})"
    if not analysis.valid:
        return f"next: {on_time_command(again, analysis) or 'inrush doctor'}"
    blocks = {m.run.block for m in analysis.runs if m.counts}
    if len(blocks) < 5:
        again = re.sub(r" -P (repeats\.count=\S+|'repeats\.count ?=[^']*')", "", again)
        return f"next: {again} -P repeats.count=5   (five blocks are the least to publish a figure)"
    return f"next: inrush show {spot}".rstrip()


def errors_to_look_at(analysis: Analysis) -> str:
    """How many calls failed or were answered wrongly, the first of them, and the file with all; empty where none did."""
    failures = [
        f for m in analysis.runs for f in m.run.rows("failures") if f["outcome"] in TO_LOOK_AT and f["count"]
    ]
    if failures:
        first, count = failures[0], sum(f["count"] for f in failures)
        said = shown(str(first.get("first_message") or ""), 100)
        calls = "1 call" if count == 1 else f"{count:,} calls"
        return f"look at the errors first: {calls}, {first['role']} {first['op']} {first['outcome']}: {said}; all are in DIR/failures.csv"
    for guard, broken in by_guard(analysis.invalidating).items():
        if guard in COMPARED:
            return f"look at the wrong rows first: {broken[0][1].sentence}; {COMPARED[guard]}"
    return ""


def rows_do_not_fit(analysis: Analysis) -> bool:
    """Whether files are what is wrong: every row of a table was rejected, or more than its limit takes. The same plan fails again."""
    return any(v.guard == REJECTED or MORE_THAN_LIMIT in v.sentence for _, v in analysis.invalidating)


def fails_again(analysis: Analysis) -> str:
    """What the core says of a plan that it cannot carry out, as of keys that run out: the same plan fails again. Empty where
    every failure has another reason."""
    failures = [f for m in analysis.runs if (f := m.run.summary.get("failure"))]
    of_plan = [str(f.get("message", "")) for f in failures if f.get("kind") == "plan"]
    return " ".join(of_plan[0].removeprefix("plan: ").split()) if of_plan else ""


def on_time_command(again: str, analysis: Analysis) -> str | None:
    """The same study with what keeps its client on time; None where that is not what is wrong, or nothing is known to help."""
    late = {run for run, v in analysis.invalidating if v.guard == lateness.NAME}
    runs = [m.run for m in analysis.runs if m.run.run_id in late]
    found = [cause for run in runs for cause in lateness.causes(run)]
    notes = []
    if lateness.OTHERS in found:
        most = percent(max(lateness.taken_share(run) for run in runs))
        notes.append(f"first stop the other processes, which took {most} of the processors")
    if lateness.UNJOURNALED in found:
        again = re.sub(r" --data ('[^']*'|\S+)", "", again)
        notes.append("DIR on a filesystem with a journal")
    options = list(dict.fromkeys(cause.option for cause in found if cause.option))
    if not options and not notes:
        return None
    return " ".join([again, *options]) + (f"   ({'; '.join(notes)})" if notes else "")

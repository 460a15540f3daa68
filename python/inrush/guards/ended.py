"""Did the run end as planned, by a core that was built to measure? Pure."""

from __future__ import annotations

from collections.abc import Mapping

from inrush.analysis.verdicts import Figures, Verdict, invalid, not_checked, noted, passed
from inrush.guards.guard import About, Guard
from inrush.guards.steps import cut_step
from inrush.stats.record import RunRecord


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


def release_build(run: RunRecord, _: Figures) -> Verdict | None:
    profile = run.env.get("core_build_profile")
    if profile is None:
        return None
    if profile != "release":
        return invalid(
            "release build", f"The core is a {profile} build: build it with --release and run again"
        )
    return passed("release build", "The core is a release build")


ENDED = Guard(About.END, "ended as planned", ended_as_planned, "The run does not record its end", of_run=True)
GUARDS = (
    ENDED,
    Guard(About.RUN, "release build", release_build, "The core does not say how it was built", of_run=True),
)

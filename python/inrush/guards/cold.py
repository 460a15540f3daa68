"""Did what was to come from the disk come from there? Pure."""

from __future__ import annotations

from inrush.analysis.verdicts import Figures, Verdict, invalid, noted, passed
from inrush.guards.guard import About, Guard
from inrush.guards.steps import cold_steps
from inrush.stats.files import CACHED_SHARE, cached_share, is_pipeline
from inrush.stats.record import RunRecord
from inrush.stats.steps import segments_of_steps
from inrush.text import percent


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


GUARDS = (
    Guard(About.SERVER, "cold was cold", cold_was_cold, "Nothing was to be made cold", of_run=True),
    Guard(About.SERVER, "inputs cold", inputs_cold, "No input was to come from the disk, or the kernel did not say what it held"),
)  # fmt: skip

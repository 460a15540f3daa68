"""Did what was to come from the disk come from there? Pure."""

from __future__ import annotations

from inrush.analysis.verdicts import Figures, Verdict, invalid, noted, passed
from inrush.border.pipeline import whole_load
from inrush.guards.guard import About, Guard
from inrush.guards.steps import has_sessions, of_steps
from inrush.stats.files import CACHED_SHARE, cached_share
from inrush.stats.record import RunRecord
from inrush.stats.steps import segments_of_steps
from inrush.text import percent

COLD = "cold was cold"


def cold_was_cold(run: RunRecord, figures: Figures) -> Verdict | None:
    """Each step that was to make the engine cold, and the one that then worked."""
    steps = segments_of_steps(run)
    asked = {s["segment"]: step for step, s in steps.items() if is_cold(run, s["segment"])}
    if not asked:
        return None
    done = {a.get("index"): a for a in run.summary.get("actions", ())}
    failed = {k: step for k, step in asked.items() if done.get(k, {}).get("ok") is not True}
    if not failed:
        return passed(COLD, "; ".join(f"Step {step}: {done[k].get('how', '')}" for k, step in asked.items()))
    warm = list(dict.fromkeys(s for step in failed.values() for s in until_work(run, step)))
    k, step = next(iter(failed.items()))
    why = done.get(k, {}).get("why", "there is no record that the caches were dropped")
    return invalid(
        COLD,
        f"Step {step} was to make the engine cold and did not: {why}. Read {', '.join(warm)} as warm, or give the rights",
        figures=of_steps(figures, [*failed.values(), *warm]),
    )


def until_work(run: RunRecord, step: str) -> list[str]:
    """The steps behind this one, up to the first that has sessions at work: all of them may have been meant cold."""
    order = list(segments_of_steps(run))
    behind = order[order.index(step) + 1 :]
    last = next((at for at, name in enumerate(behind) if has_sessions(run, name)), len(behind) - 1)
    return behind[: last + 1]


def is_cold(run: RunRecord, segment: int) -> bool:
    return "cold" in str(run.plan["segments"][segment].get("action", ""))


def inputs_cold(run: RunRecord, _: Figures) -> Verdict | None:
    """Files of a pipeline that were to come from the disk."""
    if (
        (load := whole_load(run.plan)) is None
        or not load["inputs"]["cold"]
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
    Guard(About.SERVER, COLD, cold_was_cold, "Nothing was to be made cold", of_run=True),
    Guard(About.SERVER, "inputs cold", inputs_cold, "No input was to come from the disk, or the kernel did not say what it held"),
)  # fmt: skip

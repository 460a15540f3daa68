"""The guards of a run with steps: each is asked of every step that it speaks of, and its verdict names the step. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from inrush.analysis.verdicts import Figures, Outcome, Verdict, invalid, worst, worst_first
from inrush.guards.guard import Guard
from inrush.stats.quantity import show
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import StepFigures, step_figure
from inrush.stats.steps import held_bytes, segments_of_steps
from inrush.text import counted

#: Sentences of one guard that are spelled out.
MOST_SAID = 2
#: Characters of a statement in a sentence.
MOST_TEXT = 60


def guard_steps(guard: Guard, steps: Mapping[str, StepFigures], figures: Figures) -> Verdict:
    """One verdict of all steps in which sessions worked: the worst, with the figures of every step that it is about.

    steps: `figures_by_step`. figures: of the run.
    """
    if "" in steps:  # the run is its only step, which a verdict need not name
        return guard(*steps[""])
    found = [
        (step, in_run(step, guard(*of), figures)) for step, of in steps.items() if has_sessions(of.run, step)
    ]
    # A step that a guard has nothing to say of leaves the others their verdict, which names them.
    found = [(step, v) for step, v in found if v.outcome is not Outcome.NOT_CHECKED] or found
    outcome = worst(v for _, v in found)
    said = worst_first([(step, v) for step, v in found if v.outcome is outcome])
    if not said:
        return Verdict(guard.name, Outcome.NOT_CHECKED, "No step has sessions")
    if outcome is Outcome.NOT_CHECKED:
        return said[0][1]
    names = tuple(dict.fromkeys(name for _, v in said for name in v.figures or ()))
    return Verdict(
        guard.name,
        outcome,
        " ".join(sentences(said)).removesuffix("."),
        any(v.hides for _, v in said),
        names if outcome is Outcome.INVALID else None,
        max(v.size for _, v in said),
    )


def in_run(step: str, verdict: Verdict, figures: Figures) -> Verdict:
    """An invalid verdict is about figures of its step, by their names in the run."""
    if verdict.outcome is not Outcome.INVALID:
        return verdict
    if verdict.figures is None:
        return replace(verdict, figures=tuple(of_steps(figures, [step])))
    return replace(verdict, figures=tuple(step_figure(step, name) for name in verdict.figures))


def sentences(said: Sequence[tuple[str, Verdict]]) -> list[str]:
    """What is said of each step; of steps of which the same is said, and of many, together."""
    by_sentence: dict[str, list[str]] = {}
    for step, v in said:
        by_sentence.setdefault(v.sentence, []).append(step)
    found = [
        f"Step{'s' * (len(steps) > 1)} {', '.join(steps)}: {sentence}{'' if sentence.endswith('.') else '.'}"
        for sentence, steps in by_sentence.items()
    ]
    others = [step for steps in list(by_sentence.values())[MOST_SAID:] for step in steps]
    more = [f"Steps like these: {', '.join(others)}."] if others else []
    return [*found[:MOST_SAID], *more]


def has_sessions(run: RunRecord, step: str) -> bool:
    """Whether sessions worked in it, or client and load server."""
    return segments_of_steps(run)[step]["kind"] in ("drive", "load")


def of_steps(figures: Figures, steps: Sequence[str]) -> list[str]:
    """Those of their roles too: `step.metric`, `step.role.metric`."""
    return [name for name in figures if name.partition(".")[0].partition("/")[0] in steps]


def cut_step(run: RunRecord, figures: Figures, guard: str) -> Verdict | None:
    """A step that its limit ended, or that Python could not do: its figures and those of all later steps are not what
    they are called. What it left is said: rows are proven at the end of the run as ever."""
    steps = segments_of_steps(run)
    undone = {a.get("index"): a for a in run.summary.get("actions", ()) if a.get("ok") is not True}
    for k, (step, segment) in enumerate(steps.items()):
        later = list(steps)[k:]
        if segment["ended_by"] == "limit":
            after = f"; {', '.join(later[1:])} ran on what it left" if later[1:] else ""
            return invalid(
                guard,
                f"Step {step} {how_cut(run, step)}, {show((segment['end_ns'] - segment['start_ns']) / 1e9, 'duration_s')}: "
                f"{left(run, step)}{after}. Raise limit_s or lower the work",
                figures=of_steps(figures, later),
            )
        act = undone.get(segment["segment"])
        # A cold step has a guard of its own.
        if act is not None and "cold" not in str(act.get("action")):
            why = act.get("why", "no reason was given")
            return invalid(guard, f"Step {step} was not done: {why}", figures=of_steps(figures, later))
    return None


#: How a statement ended -> what became of a step whose limit it passed.
CUT = {
    "running": "was to be cancelled at its limit and goes on in the server",
    "unknown": "was left at its limit, and the server may go on with it",
}


def how_cut(run: RunRecord, step: str) -> str:
    ends = [s["ended_by"] for s in run.rows("steps") if s["step"] == step]
    return next((CUT[end] for end in ends if end in CUT), "was cancelled at its limit")


def left(run: RunRecord, step: str) -> str:
    """What is there after a step that was cut."""
    done = [s for s in run.rows("steps") if s["step"] == step]
    ended = sum(s["ended_by"] == "work" for s in done)
    said = [f"{counted(ended, 'statement')} had ended"] if done else []
    said += [f"`{shortened(s['text'])}` had not" for s in done if s["ended_by"] != "work"]
    if sizes := held_bytes(run, step):
        before, after = (show(sizes[when], "bytes") for when in ("before", "after"))
        said.append(f"tables and indexes held {before} before it and hold {after} after")
    return ", ".join(said) or "what is left is in the proofs of the run"


def shortened(text: str) -> str:
    """The begin of a statement, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_TEXT else f"{line[: MOST_TEXT - 1]}…"

"""The guards of a run with steps: each is asked of every step that it speaks of, and its verdict names the step. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from inrush.analysis.verdicts import Figures, Outcome, Verdict, invalid, passed, worst, worst_first
from inrush.stats.measures import figures_of_phase, step_figure
from inrush.stats.quantity import show
from inrush.stats.record import RunRecord
from inrush.stats.steps import held_bytes, of_step, segments_of_steps
from inrush.text import counted

#: Sentences of one guard that are spelled out.
MOST_SAID = 2
#: Characters of a statement in a sentence.
MOST_TEXT = 60

Check = Callable[[RunRecord, Figures], Verdict]


#: Step -> a run that is this step alone, and its figures.
Views = Mapping[str, tuple[RunRecord, Figures]]


def views_of(run: RunRecord, figures: Figures) -> Views:
    """Of all steps in which sessions worked. Every guard looks at each, so they are made once a run."""
    views = {step: of_step(run, step) for step in working_steps(run)}
    return {
        step: (view, {**figures_of_phase(view), **shares_of(figures, step)}) for step, view in views.items()
    }


def guard_steps(views: Views, figures: Figures, guard: str, check: Check) -> Verdict:
    """One verdict of all steps in which sessions worked: the worst, with the figures of every step that it is about."""
    found = [(step, in_step(*views[step], figures, step, check)) for step in views]
    # A step that a guard has nothing to say of leaves the others their verdict, which names them.
    found = [(step, v) for step, v in found if v.outcome is not Outcome.NOT_CHECKED] or found
    outcome = worst(v for _, v in found)
    said = worst_first([(step, v) for step, v in found if v.outcome is outcome])
    if not said:
        return Verdict(guard, Outcome.NOT_CHECKED, "No step has sessions")
    if outcome is Outcome.NOT_CHECKED:
        return said[0][1]
    names = tuple(dict.fromkeys(name for _, v in said for name in v.figures or ()))
    return Verdict(
        guard,
        outcome,
        " ".join(sentences(said)).removesuffix("."),
        any(v.hides for _, v in said),
        names if outcome is Outcome.INVALID else None,
        max(v.size for _, v in said),
    )


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


def working_steps(run: RunRecord) -> list[str]:
    return [step for step, s in segments_of_steps(run).items() if s["kind"] in ("drive", "load")]


def in_step(view: RunRecord, own: Figures, figures: Figures, step: str, check: Check) -> Verdict:
    """The guard on a run that is this step alone, with its own figures; an invalid verdict is about figures of the step."""
    verdict = check(view, own)
    if verdict.outcome is not Outcome.INVALID:
        return verdict
    if verdict.figures is None:
        return replace(verdict, figures=tuple(of_steps(figures, [step])))
    return replace(verdict, figures=tuple(step_figure(step, name) for name in verdict.figures))


def shares_of(figures: Figures, step: str) -> dict[str, float]:
    """The client overhead in a step, by the names that it has in a run without steps."""
    own = {
        f"{part}.{metric}": f"{step}.{part}_{metric}"
        for part in ("instrument", "engine")
        for metric in ("busy_cores", "cpu_us_per_row")
    }
    own |= {n: n for n in figures if n.startswith(f"{step}.") and n.endswith(".instrument_share")}
    return {name: figures[at] for name, at in own.items() if at in figures}


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


def cold_steps(run: RunRecord, figures: Figures, guard: str) -> Verdict | None:
    """Each step that was to make the engine cold, and the one that then worked."""
    steps = segments_of_steps(run)
    asked = {s["segment"]: step for step, s in steps.items() if is_cold(run, s["segment"])}
    if not asked:
        return None
    done = {a.get("index"): a for a in run.summary.get("actions", ())}
    failed = {k: step for k, step in asked.items() if done.get(k, {}).get("ok") is not True}
    if not failed:
        return passed(guard, "; ".join(f"Step {step}: {done[k].get('how', '')}" for k, step in asked.items()))
    warm = list(dict.fromkeys(s for step in failed.values() for s in until_work(run, step)))
    k, step = next(iter(failed.items()))
    why = done.get(k, {}).get("why", "there is no record that the caches were dropped")
    return invalid(
        guard,
        f"Step {step} was to make the engine cold and did not: {why}. Read {', '.join(warm)} as warm, or give the rights",
        figures=of_steps(figures, [*failed.values(), *warm]),
    )


def until_work(run: RunRecord, step: str) -> list[str]:
    """The steps behind this one, up to the first that has sessions at work: all of them may have been meant cold."""
    order, working = list(segments_of_steps(run)), working_steps(run)
    behind = order[order.index(step) + 1 :]
    last = next((at for at, name in enumerate(behind) if name in working), len(behind) - 1)
    return behind[: last + 1]


def is_cold(run: RunRecord, segment: int) -> bool:
    return "cold" in str(run.plan["segments"][segment].get("action", ""))

"""The guard that says when a mean is one of a throughput that swings. A note: the figures are what was asked for. Pure."""

from __future__ import annotations

from inrush.analysis.points import Analysis, say
from inrush.analysis.verdicts import Figures, Verdict, noted, passed
from inrush.analysis.waves import cures, cures_said, point_waves, said
from inrush.guards.guard import About, Guard, StudyGuard
from inrush.stats.record import RunRecord
from inrush.stats.waves import RoleWave, role_waves
from inrush.text import counted, percent

NAME = "no waves"
#: Causes that are named; more swing along where one presses on the others.
MOST_NAMED = 3


def no_waves(run: RunRecord, _: Figures) -> Verdict | None:
    """Of every role. A wave that the generator makes is none of the engine's, and no reason to distrust its mean."""
    judged = role_waves(run)
    if waves := [w for w in judged if w.claimed]:
        return noted(
            NAME,
            f"{'; '.join(f'{swing(w)} (p = {w.wave.p:.3f}). {cause_said(w)}' for w in waves)} "
            "Look for checkpoints or feedback before trusting a mean",
            size=max(w.wave.amplitude for w in waves),
        )
    if made := [w for w in judged if w.wave.found]:
        each = "; ".join(f"{swing(w)}, an artefact of the generator: {w.artefact}" for w in made)
        return passed(NAME, each)
    return passed(NAME, "No period stands out of the noise of the throughput") if judged else None


def swing(w: RoleWave) -> str:
    return f"{w.of.role}: throughput swings by ±{percent(w.wave.amplitude)} every {w.period_s:.3g} s"


def cause_said(w: RoleWave) -> str:
    if not w.causes:
        return f"None of {w.tried} series swings against it: no cause found."
    first, *others = w.causes[:MOST_NAMED]
    beside = f", and with it {' and '.join(c.name for c in others)}" if others else ""
    return f"Its cause is likely {first.name} (coherence {first.share:.2f} of 1, p = {first.p:.1g} over {w.tried} series){beside}."


AGREE = "waves agree"


def waves_agree(analysis: Analysis) -> Verdict | None:
    """A wave is claimed of a point where two of three of its runs have the same period."""
    waves = point_waves(analysis)
    if waves:
        claims = [f"{say(w.point)}, {said(w)}{cures_said(w, cures(analysis, w))}" for w in waves]
        return noted(AGREE, f"{'; '.join(claims)}. A mean of waves says nothing of another load")
    looked = [runs for roles in analysis.waves.values() for runs in roles.values()]
    if not looked:
        return None
    alone = sum(any(w.claimed for w in runs) for runs in looked)
    lone = f"; {counted(alone, 'role')} with a wave in fewer: a note of those runs" if alone else ""
    return passed(AGREE, f"No wave in two of three runs of a point{lone}")


GUARDS = (
    Guard(About.COURSE, NAME, no_waves, "No role with enough intervals"),
    StudyGuard(About.COURSE, AGREE, waves_agree, "No role has enough intervals"),
)

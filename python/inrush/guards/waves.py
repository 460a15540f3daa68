"""The guard that says when a mean is one of a throughput that swings. A note: the figures are what was asked for. Pure."""

from __future__ import annotations

from inrush.guards.guard import Guard
from inrush.guards.verdicts import Figures, Verdict, noted, passed
from inrush.stats.record import RunRecord
from inrush.stats.waves import RoleWave, role_waves
from inrush.text import percent

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


GUARDS = (Guard(NAME, no_waves, "No role with enough intervals"),)

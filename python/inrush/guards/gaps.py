"""Whether a run was made in one go: one that was killed in its load and went on has gaps, and its machine may be another. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inrush.guards.verdicts import Figures, Verdict, counted, noted
from inrush.stats.gaps import gaps_of
from inrush.stats.record import RunRecord
from inrush.text import show_s

NAME = "made in one go"
#: Facts of the machine that a load should keep from its begin to its end, as `env.json` and settings name them.
KERNEL, VERSION = "kernel", "version"


def made_in_one_go(run: RunRecord, _: Figures) -> Verdict | None:
    gaps = gaps_of(run)
    if not gaps:
        return None
    stretches = run.summary.get("stretches") or ()
    step = str(run.summary["gaps"][0].get("step", ""))
    idle_s = sum(end - begin for begin, end in gaps) / 1e9
    said = [
        f"Step {step} was ended {counted(len(gaps), 'time')} and went on: {show_s(idle_s)} between are in none of its "
        "figures. Clocks of its stretches are joined by the wall clock"
    ]
    if back_ns := sum(int(one.get("clock_went_back_ns", 0)) for one in stretches):
        said.append(f"The wall clock went back by {show_s(back_ns / 1e9)}: the gap is given as none")
    said += [
        f"The {what} was {first}, and later {', '.join(others)}"
        for what, first, others in changes(run, stretches)
    ]
    return noted(NAME, ". ".join(said))


def changes(
    run: RunRecord, stretches: Sequence[Mapping[str, Mapping[str, object]]]
) -> list[tuple[str, str, list[str]]]:
    """What was another in a later stretch: what it is, as it was at first, and then."""
    settings = {s["name"]: str(s["value"]) for s in run.rows("settings")}
    found = []
    for what, first, where, name in (
        ("kernel", run.env.get(KERNEL), "env", KERNEL),
        ("server's version", settings.get(VERSION), "settings", VERSION),
    ):
        later = [one.get(where) or {} for one in stretches]
        others = list(dict.fromkeys(str(one[name]) for one in later if name in one))
        if others:
            found.append((what, str(first), others))
    return found

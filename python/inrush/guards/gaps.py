"""Was the load of a run not interrupted? One that was killed in its load and went on has gaps, and its machine may be another. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypedDict

from inrush.analysis.verdicts import Figures, Verdict, noted
from inrush.guards.guard import About, Guard
from inrush.stats.gaps import gaps_of
from inrush.stats.record import RunRecord
from inrush.text import counted, show_s

NAME = "load not interrupted"
#: How a reader knows what `env.json` and settings name otherwise.
CALLED = {("env", "kernel"): "kernel", ("settings", "version"): "server's version"}
#: Facts of the machine that are others at each look, as are all that are measured (floats, and lists of them).
PASSING = ("mem_available_bytes", "data_free_bytes")
#: What is not there, or was not recorded.
NONE = "none"
#: Where, name, as it was at first, and then.
Change = tuple[str, str, str, list[str]]


class StretchFacts(TypedDict, total=False):
    """What `run.json` has of a stretch: env and settings that are others than at first, and what its rows survive."""

    env: Mapping[str, object]
    settings: Mapping[str, object]
    survives: str
    clock_went_back_ns: int


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
    found = changes(run, stretches)
    said += [
        f"The {CALLED.get((where, name)) or called(where, name)} was {first}, and later {', '.join(others)}"
        for where, name, first, others in found
    ]
    said += durability_said(run, found, stretches)
    return noted(NAME, ". ".join(said), size=idle_s)


def called(where: str, name: str) -> str:
    return f"setting {name}" if where == "settings" else f"machine's {name}"


def changes(run: RunRecord, stretches: Sequence[StretchFacts]) -> list[Change]:
    """What was another in a later stretch: of the machine, then of the server."""
    settings: dict[str, object] = {s["name"]: s["value"] for s in run.rows("settings")}
    found = []
    for where, first, later in (
        ("env", flat(run.env), [flat(one.get("env") or {}) for one in stretches]),
        ("settings", settings, [flat(one.get("settings") or {}) for one in stretches]),
    ):
        for name in dict.fromkeys(name for one in later for name in one):
            held = [one[name] for one in later if name in one]
            if where == "env" and (name in PASSING or measured(first.get(name), *held)):
                continue
            others = [text for text in dict.fromkeys(map(shown, held)) if text != shown(first.get(name))]
            if others:
                found.append((where, name, shown(first.get(name)), others))
    return found


def flat(facts: Mapping[str, object]) -> dict[str, object]:
    """Each package by its own name."""

    def each() -> Iterator[tuple[str, object]]:
        for name, value in facts.items():
            if isinstance(value, Mapping):
                yield from ((f"{name}.{key}", one) for key, one in value.items())
            else:
                yield name, value

    return dict(each())


def measured(*values: object) -> bool:
    return any(isinstance(value, float | list) for value in values)


def shown(value: object) -> str:
    return NONE if value is None else str(value)


def durability_said(run: RunRecord, found: Sequence[Change], stretches: Sequence[StretchFacts]) -> list[str]:
    """A load is as durable as the worst of its stretches: rows of each of them are in the table."""
    because = (run.summary.get("durability") or {}).get("because") or {}
    deciding = [name for where, name, _, _ in found if where == "settings" and name in because]
    held = list(dict.fromkeys(s for one in stretches if (s := one.get("survives"))))
    if not deciding and len(held) < 2:
        return []
    by = f" ({', '.join(deciding)})" if deciding else ""
    if not held:  # recorded before stretches had a durability
        return [
            f"What an acknowledged row survives is decided by what changed{by}: the run says that of its begin"
        ]
    words = ", then ".join(s.replace("_", " ").lower() for s in held)
    return [
        f"What an acknowledged row survives{by} was {words}: the run's durability is the weakest of its stretches"
    ]


GUARDS = (Guard(About.RUN, NAME, made_in_one_go, "No load was ended and went on", of_run=True),)

"""Does a server of ours run with the settings that it was started with? Pure."""

from __future__ import annotations

import math
import re

from inrush.analysis.verdicts import Figures, Verdict, noted, passed
from inrush.guards.guard import About, Guard
from inrush.stats.record import RunRecord
from inrush.text import counted

WORDS = {"on": 1.0, "true": 1.0, "yes": 1.0, "off": 0.0, "false": 0.0, "no": 0.0}
#: Unit, in lower case -> bytes or seconds. Servers count bytes by 1,024, whatever they call them.
UNITS = {
    "b": 1.0, "k": 2.0**10, "kb": 2.0**10, "kib": 2.0**10, "m": 2.0**20, "mb": 2.0**20, "mib": 2.0**20, "g": 2.0**30,
    "gb": 2.0**30, "gib": 2.0**30, "t": 2.0**40, "tb": 2.0**40, "tib": 2.0**40,
    "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip
#: A number and its unit, which may count others: `16384 8kB`.
AMOUNT = re.compile(r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?:\s*([a-z]+)|\s+(\d+)([a-z]+))?", re.IGNORECASE)


def settings_as_asked(run: RunRecord, _: Figures) -> Verdict | None:
    """Settings asked for against those read back. What the server does not report is named and counts as nothing.

    Values of inrush's own profile that the server rounds are named without a complaint: the call did not ask for them.
    """
    asked = {str(k): str(v) for k, v in (run.summary.get("settings_asked") or {}).items()}
    read_back = {str(r["name"]): str(r["value"]) for r in run.rows("settings")}
    if not asked or not read_back:
        return None
    known = sorted(name for name in asked if name in read_back)
    others = {
        name: f"{name} is {read_back[name]} and not {asked[name]}"
        for name in known
        if not same(asked[name], read_back[name])
    }
    chosen = set(run.summary.get("settings_by_profile") or ())
    silent = sorted(asked.keys() - read_back.keys())
    rest = [f"the server does not report {', '.join(silent)}"] if silent else []
    if own := [words for name, words in others.items() if name in chosen]:
        rest.append(f"of what inrush chose {', '.join(own)}")
    if differ := [words for name, words in others.items() if name not in chosen]:
        differences = "; ".join([", ".join(differ), *rest])
        return noted(
            "settings as asked",
            f"The server runs with settings other than those it was started with: {differences}. Read the figures as "
            "those of what it has, or give values that it keeps",
            size=len(differ),
        )
    if not known:
        return None
    kept = f"{counted(len(known) - len(others), 'setting')} read back as asked"
    return passed("settings as asked", "; ".join([kept, *rest]))


def same(asked: str, read_back: str) -> bool:
    """Whether two texts say the same value; a number that is asked for without a unit is in the server's own."""
    if asked.strip().lower() == read_back.strip().lower():
        return True
    wanted, found = amount(asked), amount(read_back)
    if wanted is None or found is None:
        return False
    bare = wanted[0] == wanted[1]
    return math.isclose(wanted[1], found[1]) or (bare and math.isclose(wanted[0], found[0]))


def amount(text: str) -> tuple[float, float] | None:
    """A value's number as it is written, and in bytes or seconds; None for what is no number, or of an unknown unit."""
    word = text.strip().lower()
    if word in WORDS:
        return WORDS[word], WORDS[word]
    match = AMOUNT.fullmatch(word)
    if match is None:
        return None
    number, (unit, times, of) = float(match[1]), match.groups()[1:]
    if unit is None and of is None:
        return number, number
    scale = UNITS.get(unit or of)
    return None if scale is None else (number, number * float(times or 1) * scale)


GUARDS = (
    Guard(
        About.SERVER,
        "settings as asked",
        settings_as_asked,
        "No server was started with settings",
        of_run=True,
    ),
)

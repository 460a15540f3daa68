"""The processes of a server of several, at every point: busy cores of each, and of its threads by type. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from inrush.analysis.points import Analysis, say
from inrush.analysis.wording import centre
from inrush.report.html import number, table
from inrush.stats.thread_types import SUFFIX

#: `server/node_1.ldm_thread_cores`; of a step `read.server/node_1_ldm_thread_cores`.
FIGURE = re.compile(
    rf"(?:(?P<step>[^.]+)\.)?(?P<role>server(?:/\w+?)?)[._](?P<kind>\w+?)(?P<of>{SUFFIX}|(?<=busy)_cores)"
)
#: Those of a process as a whole.
BUSY = "busy"
NOTE = (
    "<p>Busy cores: of all processes together, of each, and of its threads by type. A thread without a type stands under the name "
    "of its program.</p>"
)


def process_table(analysis: Analysis) -> str:
    """Empty where no server is of several processes."""
    names = dict.fromkeys(name for m in analysis.runs if m.counts for name in m.figures)
    found = {
        name: (of["step"] or "", of["role"], of["kind"]) for name in names if (of := FIGURE.fullmatch(name))
    }
    kinds = list(dict.fromkeys(kind for _, _, kind in found.values() if kind != BUSY))
    if not kinds:
        return ""
    steps = any(step for step, _, _ in found.values())
    by_place = {of: name for name, of in found.items()}
    in_order = list(dict.fromkeys(step for step, _, _ in found.values()))
    places = sorted(
        {(step, role) for step, role, _ in found.values()}, key=lambda place: order(place, in_order)
    )
    rows = []
    for point in analysis.points:
        for step, role in places:
            cells = [by_place.get((step, role, kind)) for kind in (BUSY, *kinds)]
            values = [analysis.values(name).get(point) if name else None for name in cells]
            if any(values):
                head = [escape(say(point)), *([escape(step)] if steps else []), escape(called(role))]
                rows.append([*head, *(number(f"{centre(v):.3g}" if v else "–") for v in values)])
    header = ["point", *(["step"] if steps else []), "process", *(f"#{kind}" for kind in (BUSY, *kinds))]
    return table(header, rows) + NOTE if rows else ""


def order(place: tuple[str, str], steps: Sequence[str]) -> tuple[int, int, str]:
    """Steps as they came, the sum before its parts, nodes by their numbers."""
    step, role = place
    called_so = called(role)
    return steps.index(step), 0 if called_so == "all" else len(called_so), called_so


def called(role: str) -> str:
    return role.partition("/")[2] or "all"

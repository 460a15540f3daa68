"""The lines of stacked panels: few enough for a legend, and one colour for one meaning. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from inrush.report.timeline import MOST_POINTS, Panel
from inrush.stats.record import FloatArray

#: Lines of a panel; those beyond are summed in its last one.
MOST_LINES = 6
#: Names that a figure can have with a colour for each: those of a theme (`range.category`) but its grey, which is the bars'.
COLOURS = 11
OTHERS = "others"
#: Names that a caption says of the lines that are summed.
MOST_NAMED = 6


def legible(panels: Sequence[Panel], colours: int = COLOURS) -> list[Panel]:
    """The panels with so few lines that each name has a colour of its own: the largest stay, the others are summed."""
    found = list(panels)
    for most in range(MOST_LINES, 0, -1):
        found = [at_most(panel, most) for panel in panels]
        if len(names(found)) <= colours:
            break
    return found


def names(panels: Sequence[Panel]) -> list[str]:
    """Every name of a figure once: what has one name has one colour in all panels."""
    return list(dict.fromkeys(str(row["series"]) for panel in panels for row in panel.rows))


def at_most(panel: Panel, most: int) -> Panel:
    lines = lines_of(panel)
    if len(lines) <= most:
        return panel
    largest = sorted(lines, key=lambda name: -area(*lines[name]))[: most - 1]
    others = [name for name in lines if name not in largest]
    return replace(together(panel, dict.fromkeys(others, OTHERS)), others=(*panel.others, *others))


def together(panel: Panel, called: Mapping[str, str]) -> Panel:
    """Lines with one new name are their sum; a line that is not named stays as it is."""
    lines = lines_of(panel)
    rows = [row for row in panel.rows if row["series"] not in called]
    for name in dict.fromkeys(called[of] for of in lines if of in called):
        t, y = total([line for of, line in lines.items() if called.get(of) == name])
        rows += [{"t": round(float(a), 4), "y": float(b), "series": name} for a, b in zip(t, y, strict=True)]
    return replace(panel, rows=rows)


Line = tuple[FloatArray, FloatArray]


def lines_of(panel: Panel) -> dict[str, Line]:
    """Name -> times and the values that hold from each until the next."""
    held: dict[str, list[tuple[float, float]]] = {}
    for row in panel.rows:
        held.setdefault(str(row["series"]), []).append((row["t"], row["y"]))
    return {name: (np.array([t for t, _ in of]), np.array([y for _, y in of])) for name, of in held.items()}


def area(t: FloatArray, y: FloatArray) -> float:
    return float(np.sum(y[:-1] * np.diff(t))) if len(t) > 1 else 0.0


def total(lines: Sequence[Line]) -> Line:
    """The sum of lines with times of their own; a line is 0 outside of its time."""
    t = np.unique(np.concatenate([of for of, _ in lines]))
    y = np.zeros(len(t))
    for of, values in lines:
        held = values[np.clip(np.searchsorted(of, t, side="right") - 1, 0, None)]
        y += np.where((t >= of[0]) & (t <= of[-1]), held, 0.0)
    if len(t) <= MOST_POINTS:
        return t, y
    # Means over equal times: the sum of many lines has many moments close together.
    edges = np.linspace(t[0], t[-1], MOST_POINTS + 1)
    grown = np.concatenate([[0.0], np.cumsum(y[:-1] * np.diff(t))])
    means = np.diff(np.interp(edges, t, grown)) / np.diff(edges)
    return edges, np.append(means, y[-1])


def others_said(panels: Sequence[Panel]) -> str:
    """What a caption says of the lines that are summed: ` Others in disk MB/s: read sdb, read sdc.`"""
    return "".join(
        f" Others in {p.title}: {', '.join(p.others[:MOST_NAMED])}"
        + (f" and {len(p.others) - MOST_NAMED} more." if len(p.others) > MOST_NAMED else ".")
        for p in panels
        if p.others
    )

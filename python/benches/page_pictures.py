"""The pictures of docs/findings, drawn from the tables of the pages themselves: `python -m benches.page_pictures`.

Each is an SVG beside its page: a row for each row of a table, a dot at the figure, a line over its interval. Results of
a run need not be there.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "findings"
PLOT, ROW, TOP, BOTTOM, RIGHT = 430, 20, 46, 30, 24
#: Width of a letter of a label.
LETTER = 6.2
#: A number as the pages write it, and with its interval.
NUMBER = r"[−-]?\d[\d,]*(?:\.\d+)?"
INTERVAL = re.compile(rf"({NUMBER})\D*?\[({NUMBER})[^\d,]*, ({NUMBER})")
#: The colours of a page in light and in dark.
STYLE = (
    ":root{--ink:#222;--soft:#888;--mark:#1f6fb2;--line:#ddd}"
    "@media(prefers-color-scheme:dark){:root{--ink:#ddd;--soft:#999;--mark:#6db3f2;--line:#444}}"
    "text{font:12px system-ui,sans-serif;fill:var(--ink)}.soft{fill:var(--soft)}.title{font-size:14px}"
    ".mark{fill:var(--mark)}.range{stroke:var(--mark);stroke-width:2}"
    ".grid{stroke:var(--line)}.bar{stroke:var(--ink);stroke-width:2}"
)


@dataclass(frozen=True)
class Mark:
    label: str
    value: float
    low: float
    high: float
    #: Drawn as a stroke: the bar that the figure should reach, or the figure that was claimed.
    bar: float | None = None


@dataclass(frozen=True)
class Picture:
    """name: of page and SVG. header: a cell of the table's first line. mark: cells of a row -> what is drawn of it."""

    name: str
    title: str
    axis: str
    header: str
    mark: Callable[[Sequence[str]], Mark | None]
    logarithmic: bool = True


def numbers(cell: str) -> tuple[float, float, float] | None:
    """Figure and interval of a cell `1.85 × [1.66, 2.06]`; None: it has none."""
    found = INTERVAL.search(cell)
    return None if found is None else (number(found[1]), number(found[2]), number(found[3]))


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def ratio(cells: Sequence[str], column: int) -> Mark | None:
    """A ratio in a column, and in the next one its bar (`0.95 to 1.05`: where the two agree)."""
    found = numbers(cells[column])
    first = re.match(NUMBER, cells[column + 1])
    between = re.match(rf"({NUMBER}) to ({NUMBER})", cells[column + 1])
    if found is None or first is None:
        return None
    bar = 1.0 if between else number(first[0])
    return Mark(cells[0].rstrip(" †‡§¶"), *found, bar)


def speed_up(cells: Sequence[str]) -> Mark | None:
    found = numbers(cells[2])
    return None if found is None else Mark(cells[0].rstrip(" ¶"), *found)


def scored(cells: Sequence[str], engine: int, figure: int, claimed: int, observed: int) -> Mark | None:
    """What was observed as a multiple of the claim, and the claim's interval. Units of a row are the same."""
    claim, seen = numbers(cells[claimed]), re.match(NUMBER, cells[observed])
    if claim is None or seen is None:
        return None
    units = [re.sub(NUMBER, "", cells[i].split("[")[0]).strip() for i in (claimed, observed)]
    if units[0] != units[1]:
        raise ValueError(f"{' | '.join(cells)}: claimed in {units[0]}, observed in {units[1]}")
    value, low, high = claim
    label = cells[engine] if engine == figure else f"{cells[engine]}, {cells[figure]}"
    return Mark(label, number(seen[0]) / value, low / value, high / value, 1.0)


def explained(cells: Sequence[str]) -> Mark | None:
    found = numbers(cells[1])
    return None if found is None else Mark(cells[0], *found)


PICTURES = (
    Picture("telemetry", "How much sooner do 16 writers store the rows than one?", "speed-up, with its 95 % interval; above 1, 16 writers are faster", "16 writers over one", speed_up, logarithmic=False),
    Picture("pipeline", "16 pipelines: what was observed, as a multiple of what was claimed", "observed / claimed (dot), and the claim's 90 % interval (line)", "limit", lambda cells: scored(cells, 0, 0, 2, 3)),
    Picture("archive", "6,400,000 rows: what was observed, as a multiple of what was claimed", "observed / claimed (dot), and the claim's 90 % interval (line)", "claimed [90 %]", lambda cells: scored(cells, 0, 1, 3, 4)),
    Picture("bulkindex", "How much of the fall of a load's rate the size of its files explains", "share in %, with its 95 % interval", "what the size of files explains", explained, logarithmic=False),
    Picture("keylookup", "Rows that one connection reads by their keys", "thousand rows a second, with the lowest and the highest of three runs", "thousand rows/s", explained),
    Picture("benches", "inrush as a multiple of its peers", "ratio, with its 95 % interval; the stroke is the bar", "ours", lambda cells: ratio(cells, 2)),
)  # fmt: skip


def rows_of(page: str, header: str) -> Iterator[list[str]]:
    """Cells of the first table that has this cell in its first line."""
    inside = False
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            if inside:
                return
        elif header in (cell.strip("| ") for cell in cells):
            inside = True
        elif inside and not set(line) <= set("|-: "):
            yield [cell.strip("| ") for cell in cells]


def svg(picture: Picture, page: str) -> str:
    marks = [mark for cells in rows_of(page, picture.header) if (mark := picture.mark(cells)) is not None]
    if not marks:
        raise ValueError(f"{picture.name}.md: no table with a column {picture.header!r} has a figure to draw")
    labels = 24 + round(LETTER * max(len(mark.label) for mark in marks))
    width = labels + PLOT + RIGHT
    shown = [v for m in marks for v in (m.value, m.low, m.high, m.bar or m.value)]
    low, high = (min(shown) / 1.1, max(shown) * 1.1) if picture.logarithmic else (0.0, max(shown) * 1.02)

    def x(value: float) -> float:
        share = (
            math.log(value / low) / math.log(high / low)
            if picture.logarithmic
            else (value - low) / (high - low)
        )
        return labels + share * PLOT

    height = TOP + ROW * len(marks) + BOTTOM
    base = height - BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>{escape(picture.title)}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="title" x="8" y="18">{escape(picture.title)}</text>',
        f'<text class="soft" x="8" y="35">{escape(picture.axis)}</text>',
    ]
    for tick in ticks(low, high, picture.logarithmic):
        parts.append(
            f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{base}"/>'
            f'<text class="soft" text-anchor="middle" x="{x(tick):.1f}" y="{base + 16}">{tick:g}</text>'
        )
    for i, mark in enumerate(marks):
        y = TOP + ROW * i + ROW / 2
        parts.append(f'<text x="8" y="{y + 4:g}">{escape(mark.label)}</text>')
        parts.append(
            f'<line class="range" x1="{x(mark.low):.1f}" x2="{x(mark.high):.1f}" y1="{y:g}" y2="{y:g}"/>'
        )
        if mark.bar is not None:
            parts.append(
                f'<line class="bar" x1="{x(mark.bar):.1f}" x2="{x(mark.bar):.1f}" y1="{y - 6:g}" y2="{y + 6:g}"/>'
            )
        parts.append(f'<circle class="mark" cx="{x(mark.value):.1f}" cy="{y:g}" r="4"/>')
    return "\n".join([*parts, "</svg>", ""])


def ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    if not logarithmic:
        # Ten of them at most.
        step = next(n for n in (1, 2, 5, 10, 20, 50, 100) if (high - low) / n <= 10 or n == 100)
        return [float(i) for i in range(math.ceil(low), math.floor(high) + 1) if i % step == 0]
    steps = range(1, 10) if high / low < 4 else (1, 2, 5)
    every = [step * 10.0**power for power in range(-4, 7) for step in steps]
    return [tick for tick in every if low <= tick <= high]


def main() -> int:
    for picture in PICTURES:
        page = FOLDER / f"{picture.name}.md"
        path = page.with_suffix(".svg")
        path.write_text(svg(picture, page.read_text()))
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Published and measured loads of a key index in one picture, with their tables: `python -m benches.bulkindex.page RESULTS…`.

Takes folders of results with loads of files, writes `bulkindex-series.svg` into --out, and prints the Markdown that a
page of docs/findings shows: the picture, storage and load time, how deep each rate fell, and what explains it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import numpy as np

from benches.published import Series, published_series, source, table
from benches.published.page import markdown
from inrush.analysis.points import Analysis
from inrush.guards.analyse import analyse
from inrush.model.decomposition import CALLED, Decomposed
from inrush.model.outgrown import Shape
from inrush.report.charts import HEIGHT, PERCENT, WIDTH, Figure, Row, finished, inline, ticks
from inrush.report.draw import render
from inrush.report.load_parts import TypicalLoad, estimate, taken_apart, typical_loads
from inrush.results.store import Results
from inrush.stats.load_series import intervals
from inrush.stats.measures import study_record
from inrush.stats.quantity import digits
from inrush.stats.record import FloatArray
from inrush.text import percent

MB = 1e6
PUBLISHED, OURS = "published", "measured by inrush"
#: Of one of our loads: as many as the published ones have.
INTERVALS = 40
#: A rate is drawn over that of the first tenth of its load.
TENTH = 0.1
NAME = "bulkindex-series"
RATES = {"per_file": "files a second, over those at first", "per_byte": "bytes a second, over those at first"}


@dataclass(frozen=True)
class Course:
    """A load by intervals of one length, in order."""

    name: str
    kind: str
    files: FloatArray
    bytes: FloatArray
    #: Of the whole load; rows None: not published.
    load_s: float
    rows: float
    found: Decomposed | None
    shape: Shape

    @property
    def loaded(self) -> FloatArray:
        """Share of the input at the middle of an interval."""
        return np.asarray((np.cumsum(self.bytes) - self.bytes / 2) / self.bytes.sum())

    def relative(self, rate: str) -> FloatArray:
        y = self.files if rate == "per_file" else self.bytes
        return np.asarray(y / np.median(y[: ends(len(y))]))


def ends(intervals_: int) -> int:
    """Intervals in a tenth of a load, at least three."""
    return max(3, round(TENTH * intervals_))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="+", help="folders of results with loads of files")
    parser.add_argument("--out", type=Path, default=Path(), help="where the picture is written")
    asked = parser.parse_args(argv)
    ours = measured(analyse(study_record(Results(folder))) for folder in asked.results)
    if not ours:
        named = ", ".join(str(folder) for folder in asked.results)
        print(f"{named}: no counted run loaded files; name results of a study that does", file=sys.stderr)
        return 2
    asked.out.mkdir(parents=True, exist_ok=True)
    courses = [*published(), *ours]
    drawn = picture(courses)
    (asked.out / f"{NAME}.svg").write_bytes(render(drawn, "svg"))
    print(page(courses, drawn), end="")
    return 0


def page(courses: Sequence[Course], drawn: Figure) -> str:
    parts = [
        f"![{drawn.title}]({NAME}.svg)",
        drawn.caption,
        source("loads"),
        times_table(courses),
        falls_table(courses),
        parts_table(courses),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def published() -> list[Course]:
    """Without the intervals that the begin and the end of a load cut."""
    seconds = {r["storage"]: float(r["load_s"]) for r in table("loads")}
    return [course_of(series, seconds[series.storage]) for series in published_series()]


#: Rows of the published load: the catalogue's.
PUBLISHED_ROWS = 7_337_642_955.0


def course_of(of: Series, load_s: float) -> Course:
    return Course(
        of.storage, PUBLISHED, of.of.counts, of.of.bytes, load_s, PUBLISHED_ROWS, of.found, of.shape
    )


def measured(analyses: Iterable[Analysis]) -> list[Course]:
    """Of each point the run whose load took the median time."""
    return [measured_course(loaded) for analysis in analyses for loaded in typical_loads(analysis)]


def measured_course(loaded: TypicalLoad) -> Course:
    of = loaded.of
    by, taken = intervals(of, INTERVALS), taken_apart(of)
    return Course(
        loaded.name, OURS, by.files, by.bytes, of.seconds, float(of.rows.sum()), taken.found, taken.shape
    )


def picture(courses: Sequence[Course]) -> Figure:
    """Per file above, per byte below, over the share of the input that is loaded."""
    panels = []
    names = [course.name for course in courses]
    for rate, title in RATES.items():
        rows: list[Row] = [
            {"x": float(x), "y": float(y), "series": course.name, "kind": course.kind}
            for course in courses
            for x, y in zip(course.loaded, course.relative(rate), strict=True)
            if y > 0
        ]
        last = rate == [*RATES][-1]
        values = [float(r["y"]) for r in rows]
        panels.append(
            alt.Chart(inline(rows))
            .mark_line()
            .encode(
                x=alt.X(
                    "x:Q",
                    scale=alt.Scale(domain=[0, 1]),
                    axis=alt.Axis(title="share of the input that is loaded" if last else None, labels=last, labelExpr=PERCENT),
                ),
                y=alt.Y("y:Q", title=title, scale=alt.Scale(type="log", nice=False), axis=ticks(values, True)),
                color=alt.Color("series:N", title=None, sort=names, legend=alt.Legend(orient="top", labelLimit=260, columns=3, columnPadding=40)),
                strokeDash=alt.StrokeDash(
                    "kind:N", title=None, sort=[OURS, PUBLISHED], legend=alt.Legend(orient="bottom", symbolStrokeColor="grey")
                ),
            )
            .properties(width=WIDTH, height=HEIGHT)
        )  # fmt: skip
    chart: alt.VConcatChart = alt.vconcat(*panels, spacing=12)
    chart.resolve = alt.Resolve(scale=alt.ScaleResolveMap(x="shared", color="shared", strokeDash="shared"))
    return Figure(
        NAME,
        "The same loads per file and per byte, published and measured",
        "Each rate over its median in the first tenth of its load; a log axis. Above files a second, below bytes a second. A dip "
        "that is deep above and shallow below is of larger files, and not of the table.",
        finished(chart),
    )


def times_table(courses: Sequence[Course]) -> str:
    """Storage and load time, as the original has it."""
    rows = [
        [c.name, c.kind, clock(c.load_s), f"{c.rows:,.0f}", f"{c.rows / c.load_s:,.0f}"]
        for c in courses
    ]  # fmt: skip
    return markdown(["storage", "", "load time", "rows", "rows/s"], rows, right=(2, 3, 4))


def clock(seconds: float) -> str:
    """`17:59:05`"""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def falls_table(courses: Sequence[Course]) -> str:
    """How deep each rate fell, and where it ended, over the first tenth of its load."""
    rows = [
        [c.name, *(part for rate in RATES for part in fall(c.relative(rate))), c.shape.word] for c in courses
    ]
    header = [
        "storage",
        "files/s: lowest",
        "at the end",
        "bytes/s: lowest",
        "at the end",
        "B-tree out of memory",
    ]
    return markdown(header, rows, right=range(1, 5))


def fall(y: FloatArray) -> tuple[str, str]:
    """Lowest median of three neighbours, and the median of the last tenth."""
    middle = [float(np.median(y[max(0, i - 1) : i + 2])) for i in range(len(y))]
    return percent(min(middle)), percent(float(np.median(y[-ends(len(y)) :])))


def parts_table(courses: Sequence[Course]) -> str:
    """What explains the time of a MB."""
    rows = []
    for c in courses:
        found = c.found
        if found is None:
            rows.append([c.name, *["–"] * (len(CALLED) + 1)])
            continue
        shares = []
        for name in CALLED:
            part = next((p for p in found.parts if name in p.names), None)
            joint = " (joint)" if part and len(part.names) > 1 else ""
            shares.append(f"{estimate(part.share)}{joint}, {digits(part.times)} times" if part else "–")
        rows.append([c.name, *shares, estimate(found.rest)])
    return markdown(["storage", *(called for called in CALLED.values()), "rest"], rows)


if __name__ == "__main__":
    sys.exit(main())

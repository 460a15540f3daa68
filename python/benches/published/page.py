"""docs/findings/predictions.md, the rule with every claim and every error: `python -m benches.published.page > ../docs/findings/predictions.md`."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import numpy as np

from benches.published import (
    CurveCase,
    Series,
    curve_cases,
    extraction_cases,
    load_cases,
    pipeline_limits,
    published_series,
    size_cases,
    source,
    writer_cases,
)
from inrush.model.decomposition import Estimate
from inrush.stats.quantity import digits
from inrush.text import percent as written

#: Columns of the page's text; tables are wider.
WIDTH = 120

INTRO = """# Published curves, predicted from their small ends

**Question.** How well does the [rule](../results.md#the-rule) continue curves that others published? `python -m
benches.published.page` writes this page, good or bad, and a test compares the two. inrush measured no figure here, the
claims are not frozen ones (their answers were printed years ago), and they calibrate nothing. An earlier trial had shown
that Amdahl's law continues the first four curves better than the USL does, so they are no independent test of that
choice. [Claims](claims.md) has those on real engines.

**Answer.** The nodes of a cluster within 5 %. A machine may have a wall that the small end has not met (SPEC beyond 72
users, Cisco's 24 hardware threads): there every law of throughput is far off, and so is its interval. Measured demands
show such a wall, a rate does not. An error in bold: the published value lies outside of the interval.
"""


def page() -> str:
    parts = [
        INTRO,
        "## Rates against load\n",
        described("curves"),
        curves_table(curve_cases()),
        models_table(curve_cases()),
        *intervals(),
        *pipeline(),
        *writers(),
        *archive(),
    ]
    return "\n\n".join(p.strip() for p in parts) + "\n"


def described(name: str) -> str:
    """Where a table comes from, in lines of at most 120 columns."""
    return fill(source(name), WIDTH, break_long_words=False, break_on_hyphens=False)


def curves_table(cases: Sequence[CurveCase]) -> str:
    rows = []
    for c in cases:
        m, error = c.made, percent(c.score.error)
        rows.append([
            c.name, said(c.small), f"{m.x:g}", digits(c.score.observed), f"{digits(m.median)} [{digits(m.lo)}, {digits(m.hi)}]",
            error if c.score.inside else f"**{error}**", *(percent(c.error_of(b)) for b in ("linear", "usl")),
        ])  # fmt: skip
    header = ["curve", "fitted to", "at", "published", "claimed [90 %]", "error", "linear", "USL"]
    return markdown(header, rows, right=range(2, 8))


def models_table(cases: Sequence[CurveCase]) -> str:
    rows = []
    errors = {"the rule": [c.score.error for c in cases]}
    errors |= {name: [c.error_of(key) for c in cases] for name, key in (("linear", "linear"), ("USL", "usl"))}
    for name, of in errors.items():
        rows.append(
            [
                name,
                str(len(of)),
                percent(float(np.median(of))),
                percent(float(np.quantile(of, 0.9))),
                percent(max(of)),
            ]
        )
    inside = sum(c.score.inside for c in cases)
    detail = f"\n\nInside their 90 % interval, which nothing calibrated: {inside} of {len(cases)}.\n"
    return markdown(["model", "claims", "median error", "p90", "largest"], rows, right=range(1, 5)) + detail


def intervals() -> list[str]:
    return [
        "## A series of intervals, decomposed\n",
        described("intervals"),
        series_table(published_series()),
        """Seconds for a MB follow the size of a file; what had been loaded before adds at most a fiftieth. The rate of an index that
leaves memory only falls, so the shape alone refutes that reading. *Ahead*: fitted to the first third of the intervals,
the median error in the rest. [The method](../measuring.md#a-load-taken-apart) takes apart loads of inrush too.""",
    ]


def series_table(series: Sequence[Series]) -> str:
    rows = [
        [
            d.storage,
            str(d.found.units),
            f"{d.by_size.r2.value:.2f} {bounds(d.by_size.r2)}",
            f"+{d.found.r2.value - d.by_size.r2.value:.3f}",
            f"{percent(d.constant_error)} / {percent(d.size_error)}",
            f"{percent(d.ahead_constant_error)} / {percent(d.ahead_error)}",
            d.shape.word,
        ]
        for d in series
    ]
    header = ["storage", "intervals", "R² by size of files [95 %]", "with GB loaded", "largest error: constant / by size",
              "ahead: constant / by size", "B-tree out of memory"]  # fmt: skip
    return markdown(header, rows, right=range(1, 6))


def bounds(of: Estimate) -> str:
    return f"[{of.low:.2f}, {of.high:.2f}]"


def pipeline() -> list[str]:
    rows = [[resource, f"{full_at:.1f}", said_by] for resource, full_at, said_by in pipeline_limits()]
    return [
        "## Limits and writers, without a point to score them by\n", described("pipeline"),
        markdown(["resource", "full at (pipelines)", "its author"], rows, right=(1, 2)),
    ]  # fmt: skip


def writers() -> list[str]:
    rows = [
        [w.engine, f"{w.speed_up:g}×", f"{float(w.law.at(32)):.1f}×", f"{w.law.limit_per_s:.1f}×"]
        for w in writer_cases()
    ]
    return [
        described("writers"),
        markdown(["engine", "speed-up at 16", "claimed at 32", "of any number"], rows, right=range(1, 4)),
    ]  # fmt: skip


def archive() -> list[str]:
    def rows(cases: Sequence[object]) -> list[list[str]]:
        return [[c.what, digits(c.claimed), digits(c.observed), percent(c.error)] for c in cases]  # type: ignore[attr-defined]

    extractions, loads = extraction_cases(), load_cases()
    middle = float(np.median([c.error for c in extractions]))
    return [
        "## Extractions of an archive\n", described("extractions"),
        markdown(["ten million rows, from one million", "claimed s", "published s", "error"], rows(extractions), right=(1, 2, 3)),
        f"""Median error {percent(middle)}. One extraction of a million rows, cold and warm, prices a row and a page. Stored by time, a
page holds one or two wanted rows, and ten million rows need more pages than memory holds, so the warm scan is a cold one
again. A straight line misses it by a factor of fifty to a hundred.""",
        "## Loads of an archive\n", described("archives"),
        markdown(["hours to load, in proportion to bytes on disk", "claimed h", "published h", "error"], rows(loads), right=(1, 2, 3)),
        "The order of rows costs what it adds on disk. An index costs less than its bytes.",
        "## Bytes of an archive\n",
        markdown(["GB, by how full leaves are said to be", "claimed GB", "published GB", "error"], rows(size_cases()), right=(1, 2, 3)),
        """Leaves are said to be ln 2 full after inserts in random order, and nine tenths after a load in the order of the key. That
misses these trees by a tenth to a half, so inrush fits the bytes of a row to the small loads of the same order.""",
    ]  # fmt: skip


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] | range = ()) -> str:
    line = "|" + "|".join("---:" if i in right else "---" for i in range(len(header))) + "|"
    return "\n".join(
        ["", "| " + " | ".join(header) + " |", line, *("| " + " | ".join(r) + " |" for r in rows), ""]
    )


def said(values: Sequence[float]) -> str:
    if len(values) > 4:
        return f"{values[0]:g} … {values[-1]:g}"
    return ", ".join(f"{v:g}" for v in values)


def percent(share: float) -> str:
    return written(share, 1) if share < 0.995 else written(share)


if __name__ == "__main__":
    print(page(), end="")

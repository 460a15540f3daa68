"""docs/predictions.md, the rule with every claim and every error: `python -m benches.published.page > ../docs/predictions.md`."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import numpy as np

from benches.published import (
    MB,
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
from inrush.model import capacity as capacity_rule
from inrush.model import curve as curve_rule
from inrush.model.decomposition import Estimate, UnitCost
from inrush.stats.quantity import digits
from inrush.text import percent as written

#: Columns of the page's text; tables are wider.
WIDTH = 120

INTRO = """# Published curves, predicted from their small ends

`python -m benches.published.page` writes this page, good or bad. A test compares the two. inrush measured no figure here.

* The claims are not frozen ones, for their answers were printed years ago. So they calibrate nothing and enter no
  scoreboard. They show what the laws can and cannot see.
* The rule was written before it was applied to them. But an earlier trial had shown that Amdahl's law continues the
  first four curves better than the USL does, so they are no independent test of that choice.
* Claims on real engines, frozen before their runs, stand with every error in [claims](claims.md).

## The rule
"""

READING = """* The cluster's nodes are within the goal of 5 %. Nodes that share nothing contend little, and Amdahl's law needs
  no more.
* A machine may have a wall that the small end has not met: SPEC beyond 72 users, Cisco's 24 hardware threads. There
  every law of throughput is far off, and so is its interval. Nothing in a rate shows where a wall is. Measured demands
  do: see `inrush predict` on results.
* From 37 to 40 API machines the published curve stops growing. That step is of the same kind: throughput alone does not
  show it.
"""


def page() -> str:
    parts = [
        INTRO,
        rule(curve_rule.__doc__),
        rule(capacity_rule.__doc__),
        "## Rates against load\n",
        described("curves"),
        curves_table(curve_cases()),
        READING,
        "## Models together\n",
        models_table(curve_cases()),
        *intervals(),
        *pipeline(),
        *writers(),
        *archive(),
    ]
    return "\n\n".join(p.strip() for p in parts) + "\n"


def rule(text: str | None) -> str:
    """The text at the head of a module, without what is for programmers."""
    return (text or "").replace(" Pure.", "").strip()


def described(name: str) -> str:
    """Where a table comes from, in lines of at most 120 columns."""
    return fill(source(name), WIDTH, break_long_words=False, break_on_hyphens=False)


def curves_table(cases: Sequence[CurveCase]) -> str:
    rows = []
    for c in cases:
        m = c.made
        rows.append([
            c.name, said(c.small), f"{m.x:g}", digits(c.score.observed), f"{digits(m.median)} [{digits(m.lo)}, {digits(m.hi)}]",
            percent(c.score.error), "yes" if c.score.inside else "**no**", m.model,
            *(percent(c.error_of(b)) for b in ("linear", "amdahl", "usl")),
        ])  # fmt: skip
    header = [
        "curve",
        "fitted to",
        "at",
        "published",
        "claimed [90 %]",
        "error",
        "inside",
        "law",
        "linear",
        "Amdahl",
        "USL",
    ]
    return markdown(header, rows, right=range(2, 11))


def models_table(cases: Sequence[CurveCase]) -> str:
    rows = []
    errors = {"the rule": [c.score.error for c in cases]}
    errors |= {
        name: [c.error_of(key) for c in cases]
        for name, key in (("linear", "linear"), ("Amdahl", "amdahl"), ("USL", "usl"))
    }
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
    detail = f"\n\nInside their 90 % interval: {inside} of {len(cases)}. All intervals are uncalibrated.\n"
    return markdown(["model", "claims", "median error", "p90", "largest"], rows, right=range(1, 5)) + detail


def intervals() -> list[str]:
    return [
        "## A series of intervals, decomposed\n",
        described("intervals"),
        series_table(published_series()),
        """The rate of files falls to a tenth and comes back, on three kinds of storage, while the table grows to five times the
buffer pool. Its files grew and shrank. Seconds for a MB follow the size of a file, and what had been loaded before adds
at most a fiftieth: at the end a MB takes 6 to 12 % longer than at the beginning. The rate of an index that leaves
memory only falls. So the shape alone, of MB and of files, refutes that reading. What a large file makes dear (its
transaction, or the places of the key space that it touches) is not in these figures. *Ahead*: a cost of the MB and one
that grows with its file, fitted to the first third of the intervals, in which files are small; median error of files a
second in the rest. [Statistics](statistics.md#a-load-taken-apart) has the method, which takes apart loads of inrush as
well ([report](report.md#loads-of-files)).""",
    ]


def series_table(series: Sequence[Series]) -> str:
    rows = [
        [
            d.storage,
            str(d.found.units),
            size_cost(d.by_size.cost),
            f"{d.by_size.r2.value:.2f} {bounds(d.by_size.r2)}",
            f"+{d.found.r2.value - d.by_size.r2.value:.3f}",
            percent(d.constant_error),
            percent(d.size_error),
            percent(d.ahead_constant_error),
            percent(d.ahead_error),
            d.shape.word,
        ]
        for d in series
    ]
    header = ["storage", "intervals", "s/MB by MB a file (S)", "R² [95 %]", "with GB loaded", "largest error: constant", "by size",
              "ahead: constant", "by size", "B-tree out of memory"]  # fmt: skip
    return markdown(header, rows, right=range(1, 9))


def size_cost(cost: UnitCost) -> str:
    """`0.062 + 0.183 / S + 0.0695 × S`"""
    return f"{cost.each_s * MB:.3f} + {cost.file_s:.3f} / S + {cost.file_byte_s * MB * MB:.4f} × S"


def bounds(of: Estimate) -> str:
    return f"[{of.low:.2f}, {of.high:.2f}]"


def pipeline() -> list[str]:
    rows = [[resource, f"{full_at:.1f}", said_by] for resource, full_at, said_by in pipeline_limits()]
    return [
        "## Limits of a load pipeline\n", described("pipeline"),
        markdown(["resource", "full at (pipelines)", "its author"], rows, right=(1, 2)),
        "Measurements at those loads were not published, so these have no error.",
    ]  # fmt: skip


def writers() -> list[str]:
    rows = [
        [
            w.engine,
            f"{w.speed_up:g}×",
            f"{w.law.alpha:.3f}",
            f"{float(w.law.at(32)):.1f}×",
            f"{w.law.limit_per_s:.1f}×",
        ]
        for w in writer_cases()
    ]
    return [
        "## Writers\n", described("writers"),
        markdown(["engine", "speed-up at 16", "contention", "claimed at 32", "of any number"], rows, right=range(1, 5)),
        "One point fixes a law of one parameter. No second point was published to score it by.",
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
page holds one or two wanted rows, and ten million rows need more pages than memory holds. So the warm scan is a cold
one again. A straight line from the small warm figure misses it by a factor of fifty to a hundred.""",
        "## Loads of an archive\n", described("archives"),
        markdown(["hours to load, in proportion to bytes on disk", "claimed h", "published h", "error"], rows(loads), right=(1, 2, 3)),
        "The order of rows costs what it adds on disk. An index costs less than its bytes.\n",
        "## Bytes of an archive\n",
        markdown(["GB, by how full leaves are said to be", "claimed GB", "published GB", "error"], rows(size_cases()), right=(1, 2, 3)),
        """Leaves are said to be ln 2 full after inserts in random order, and nine tenths after a load in the order of the key.
That misses these trees by a tenth to a half: rows by time are no random order, for each attribute appends to its own
place. So inrush takes no fill from a book. It fits the bytes of a row to the small loads of the same order.""",
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

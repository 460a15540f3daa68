"""Were the runs of a study made in an order, and one after the other, so that neither shows in a figure? Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inrush.analysis.points import Analysis, Point, headline, say
from inrush.analysis.verdicts import Verdict, invalid, noted, passed
from inrush.guards.guard import About, StudyGuard
from inrush.stats import stats

ENOUGH_BLOCKS = 5


ORDER_ALPHA = 0.01


def interleaved_repeats(analysis: Analysis) -> Verdict | None:
    """Repeats in blocks, every point once a block, in an order that differs between blocks."""
    name = "interleaved repeats"
    counted = [m for m in analysis.runs if m.run.block > 0 and not m.run.confirms]
    if not counted and not analysis.runs:
        return None
    if not counted:
        return noted(name, "Only the pilot has run: one look at every point, no interval and no comparison")
    blocks: dict[int, list[Point]] = {}
    for m in sorted(counted, key=lambda m: (m.run.block, m.run.order)):
        blocks.setdefault(m.run.block, []).append(m.point)
    points = {m.point for m in counted}
    if len(blocks) < 2:
        return noted(
            name,
            f"One block of {len(points)} point{'s' * (len(points) != 1)}: no spread, no interval. Raise `repeats.count`",
        )
    orders = {tuple(order) for order in blocks.values()}
    if len(points) > 2 and len(orders) == 1:
        return noted(
            name,
            f"{len(blocks)} blocks, all in the same order: drift of the machine can look like a difference. Shuffle",
        )
    said = f"{len(blocks)} blocks in {len(orders)} order{'s' * (len(orders) != 1)}"
    if len(blocks) < ENOUGH_BLOCKS:
        return noted(name, f"{said}; {ENOUGH_BLOCKS} are the least to publish a figure")
    if uneven := [b for b, order in blocks.items() if len(order) != len(points) or set(order) != points]:
        return noted(
            name,
            f"{said}; not every point once in block {', '.join(map(str, uneven))}: figures of different points are of "
            "different blocks, and only what shares blocks is compared",
        )
    return passed(name, f"{said}, every point once a block")


def no_carry_over(analysis: Analysis) -> Verdict | None:
    """Does what ran before, or the place in the block, show in the headline figure?"""
    figure = headline(analysis)
    if figure is None:
        return None
    placed = [
        stats.Placed(say(m.point), m.run.block, m.run.order, m.figures[figure])
        for m in analysis.runs
        if m.counts and 0 < m.figures.get(figure, 0.0) < float("inf")
    ]
    engines = {say(m.point): m.run.engine for m in analysis.runs}
    found = [stats.order_effect(placed), stats.order_effect(placed, engines)]
    tested = [e for e in found if e is not None]
    if not tested:
        return None
    strongest = min(tested, key=lambda e: min(e.p_before, e.p_place))
    p = min(strongest.p_before, strongest.p_place) * len(tested)
    if p >= ORDER_ALPHA:
        return passed(
            "no carry-over",
            f"{figure} shows nothing of what ran before, or of its place in the block (p = {min(1.0, p):.2g})",
        )
    if strongest.p_place < strongest.p_before:
        return noted(
            "no carry-over", f"{figure} depends on the place in its block (p = {p:.2g}): the machine drifts"
        )
    return noted(
        "no carry-over",
        f"{figure} depends on the run before (p = {p:.2g}): after {strongest.after} it is about "
        f"{strongest.largest:.2f} times its usual. Settle longer between runs",
    )


def one_server_at_a_time(analysis: Analysis) -> Verdict | None:
    """Runs of one study never overlap on one target."""
    spans: dict[str, list[Span]] = {}
    for m in analysis.runs:
        begun, ended = m.run.summary.get("begun_unix_ns"), m.run.summary.get("ended_unix_ns")
        if begun and ended:
            where = str(m.run.plan["target"].get("url", ""))
            spans.setdefault(where, []).append((begun, ended, m.run.run_id))
    overlapping = {
        where: found
        for where, held in spans.items()
        if (found := [(a, b) for (_, ended, a), (begun, _, b) in in_each_other(held) if begun < ended])
    }
    if overlapping:
        where, found = next(iter(overlapping.items()))
        runs = {run for pairs in overlapping.values() for pair in pairs for run in pair}
        a, b = found[0]
        more = sum(map(len, overlapping.values())) - 1
        return invalid(
            "one run at a time",
            f"Runs {a} and {b} overlap on {where}{f', and {more} more pairs' if more else ''}: each is load on the other",
            points=[m.point for m in analysis.runs if m.run.run_id in runs],
        )
    return passed("one run at a time", "No two runs overlap on a target") if spans else None


Span = tuple[int, int, str]


def in_each_other(spans: Sequence[Span]) -> Iterator[tuple[Span, Span]]:
    """Each span with the one before it that ends last: a long one may hold several."""
    last: Span | None = None
    for span in sorted(spans):
        if last is not None:
            yield last, span
        last = span if last is None or span[1] > last[1] else last


GUARDS = (
    StudyGuard(About.RUNS, "interleaved repeats", interleaved_repeats, "Nothing has run"),
    StudyGuard(About.RUNS, "no carry-over", no_carry_over, "Too few runs to test what the order does"),
    StudyGuard(About.RUNS, "one run at a time", one_server_at_a_time, "No run says when it began and ended"),
)

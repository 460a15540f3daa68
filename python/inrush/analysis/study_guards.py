"""Guards over a study as a whole: are its points comparable, and is the client's floor far away? Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from inrush.analysis import hysteresis, waves
from inrush.analysis.agreement import disagreements
from inrush.analysis.comparability import (
    ALLOWED,
    EQUAL_DURABILITY,
    compares_engines,
    unequal_durability,
    unequal_mix,
)
from inrush.analysis.conditions import NAME as CONDITIONS
from inrush.analysis.conditions import same_conditions
from inrush.analysis.deciding import STOP_RULES, stop_rules_stand
from inrush.analysis.decisions import decisions_hold, limits_checked
from inrush.analysis.points import Analysis, Point, headline, roles, say
from inrush.guards.verdicts import (
    Verdict,
    counted,
    invalid,
    is_instrument,
    lives_in_client,
    not_checked,
    noted,
    passed,
    survives,
)
from inrush.metrics import slowed_alike
from inrush.stats import stats
from inrush.stats.measures import writing_roles
from inrush.text import percent

ENOUGH_BLOCKS = 5
ANSWERED = "answer measured"
NULL_SHARE = 0.7  # of the rate that the null engine reached on the same plan
ORDER_ALPHA = 0.01


def guard_study(analysis: Analysis) -> list[Verdict]:
    return [
        check(analysis) or not_checked(name, nothing)
        for name, (check, nothing) in {
            **STUDY_GUARDS,
            "decisions hold on time": (decisions_hold, "No figure of a decision has a bracket"),
            "limits were measured": (limits_checked, "The study accepts without limits"),
        }.items()
    ]


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
            name, f"One block of {len(points)} points: no spread, no interval. Raise `repeats.count`"
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


def answer_measured(analysis: Analysis) -> Verdict | None:
    """A study that asks for a figure which none of its runs has ends without an answer, however right the runs are."""
    asked = (analysis.study.get("answer") or {}).get("of")
    counted = [m for m in analysis.runs if m.counts]
    if asked is None or not counted:
        return None
    measured = sum(asked in m.figures for m in counted)
    if measured:
        return passed(ANSWERED, f"{measured} of {len(counted)} counted runs measured {asked}")
    step = str(asked).partition(".")[0]
    reasons = dict.fromkeys(
        f"{m.run.engine}: {step} is left out: {reason}"
        for m in counted
        if (reason := m.run.labels.get("steps_left_out", {}).get(step))
    )
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return invalid(
        ANSWERED,
        f"No counted run measured {asked}, which the answer is about{why}. Name a figure that the steps or roles of the study "
        "have in answer.of, or engines that can measure it",
        figures=(),
    )


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


def equal_durability(analysis: Analysis) -> Verdict | None:
    by_engine = {m.run.engine: survives(m.run) for m in analysis.runs if not is_instrument(m.run.engine)}
    known = {e: s for e, s in by_engine.items() if s}
    if len(by_engine) < 2:
        return None
    if len(known) < len(by_engine):
        unknown = ", ".join(sorted(set(by_engine) - set(known)))
        return noted(EQUAL_DURABILITY, f"What an acknowledged row survives is not known of {unknown}")
    differences = unequal_durability(analysis)
    if differences is None:
        return alike_where_equal(analysis)
    found = f"Rows survive different things ({differences}): these engines do not do the same work"
    if analysis.study.get(ALLOWED):
        return noted(EQUAL_DURABILITY, f"{found}, and the study compares them all the same ({ALLOWED})")
    if compares_engines(analysis):
        return invalid(
            EQUAL_DURABILITY,
            f"{found}. Each engine's own figures stand, no comparison does: set `options` so that rows survive the "
            f"same, or ask for it with `-P {ALLOWED}=true`",
            figures=(),
        )
    return noted(EQUAL_DURABILITY, f"{found}. Each engine's figures stand alone; they are not compared")


def alike_where_equal(analysis: Analysis) -> Verdict:
    """No two engines differ at points that are equal otherwise; are there such points, and what do rows survive at them?"""
    name = EQUAL_DURABILITY
    at: dict[str, set[str]] = {}
    engines: dict[Point, set[str]] = {}
    for m in analysis.runs:
        if (found := survives(m.run)) and not is_instrument(m.run.engine):
            at.setdefault(found.replace("_", " ").lower(), set()).add(m.run.engine)
            engines.setdefault(rest(m.point), set()).add(m.run.engine)
    if len(at) == 1:
        return passed(name, f"Acknowledged rows survive the same on all engines: {next(iter(at))}")
    if all(len(of) > 1 for of in engines.values()):
        return passed(
            name, f"Acknowledged rows survive the same on all engines at each point: {', '.join(sorted(at))}"
        )
    each = "; ".join(f"{word}: {', '.join(sorted(of))}" for word, of in sorted(at.items()))
    return noted(
        name,
        f"Rows survive different things at points that no other engine has ({each}): hold only points against each other "
        "at which rows survive the same",
    )


def equal_work(analysis: Analysis) -> Verdict | None:
    """An engine that cannot do one of a mix's operations does the others; its figures are then of a lighter mix."""
    name = "equal work"
    if lighter := unequal_mix(analysis):
        return noted(
            name, f"{lighter}: its figures are of a lighter mix; hold single operations against each other"
        )
    return passed(name, "Every engine did all operations of its mix") if compares_engines(analysis) else None


def engines_agree(analysis: Analysis) -> Verdict | None:
    """Quiet answers of different engines over the same rows. Ties at a LIMIT may differ rightly: a note."""
    questions, differences = disagreements(m.run for m in analysis.runs)
    if differences:
        return noted(
            "engines agree",
            f"{len(differences)} of {counted(questions, 'quiet question')} answered differently: {differences[0]}",
        )
    return (
        passed("engines agree", f"{counted(questions, 'quiet question')} answered alike by every engine")
        if questions
        else None
    )


def far_from_the_null_floor(analysis: Analysis) -> Verdict | None:
    """Where the study also ran null engines: rates against what the client alone reached.

    An engine in our process takes columns as they are, so bare `null` is its floor; a server is sent what an
    encoder wrote, so the slowest is.
    """
    writers = {role for m in analysis.runs for role in writing_roles(m.run.plan)}
    rates = {role: analysis.values(f"{role}.rows_per_s") for role in roles(analysis) if role in writers}
    near, compared = [], 0
    for role, of in rates.items():
        floors: dict[Point, list[float]] = {}
        for point, values in of.items():
            if is_instrument(engine_of(point)) and values:
                floors.setdefault(rest(point), []).append(max(values.values()))
        for point, values in of.items():
            if rest(point) not in floors or is_instrument(engine_of(point)):
                continue
            compared += 1
            fitting = max if lives_in_client(engine_of(point)) else min
            share = median(values.values()) / fitting(floors[rest(point)])
            if share > NULL_SHARE:
                near.append((role, point, share))
    if near:
        role, point, share = max(near, key=lambda one: one[2])
        return invalid(
            "far from the null floor",
            f"{role} at {say(point)}: {percent(share)} of what the null engine takes in (limit {percent(NULL_SHARE)}): the client sets this figure. "
            "More client cores, or a cheaper method",
            figures=[f"{role}.{metric}" for role, _, _ in near for metric in slowed_alike("rate", "work")],
            points=[point for _, point, _ in near],
        )
    return (
        passed(
            "far from the null floor",
            f"None of {counted(compared, 'rate')} is above {percent(NULL_SHARE)} of the null engine's",
        )
        if compared
        else None
    )


def rest(point: Point) -> Point:
    return tuple((k, v) for k, v in point if k != "engine")


def engine_of(point: Point) -> str:
    return str(dict(point)["engine"])


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


#: Guard -> (check, the sentence where it has nothing to check).
STUDY_GUARDS: Mapping[str, tuple[Callable[[Analysis], Verdict | None], str]] = {
    ANSWERED: (answer_measured, "Nothing was asked, or nothing has run"),
    "interleaved repeats": (interleaved_repeats, "Nothing has run"),
    "no carry-over": (no_carry_over, "Too few runs to test what the order does"),
    hysteresis.NAME: (hysteresis.no_hysteresis, "The study does not sweep up and down"),
    CONDITIONS: (same_conditions, "No engine has two runs"),
    waves.NAME: (waves.waves_agree, "No role has enough intervals"),
    EQUAL_DURABILITY: (equal_durability, "Fewer than two engines"),
    "equal work": (equal_work, "No engine is held against another"),
    "engines agree": (engines_agree, "No quiet question was answered by two engines"),
    "far from the null floor": (far_from_the_null_floor, "The null engine did not run the same plan"),
    "one run at a time": (one_server_at_a_time, "No run says when it began and ended"),
    STOP_RULES: (stop_rules_stand, "The study has no stop rule"),
}

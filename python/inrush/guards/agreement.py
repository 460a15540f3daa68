"""Do engines give the same answers to the same questions over the same rows? Pure.

Every run asks its queries once more when it is quiet (table `answers`). Runs with tables that hold the
same rows, and with a question of the same parameters, must agree, whatever engine, method or batch.
Cells that are not numbers on both sides (times and texts have many spellings) are left to each
engine's own proofs; integers are compared exactly, other numbers to nine digits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Verdict, noted, passed
from inrush.border.pipeline import each_role
from inrush.guards.guard import About, StudyGuard
from inrush.results.unanswered import WHOLE, at_the_end
from inrush.stats.record import RunRecord
from inrush.text import counted

INTEGER = re.compile(r"[+-]?\d+")
Column = Sequence[str | None]
Answer = Mapping[int, Column]
Whole = list[int | None]


def disagreements(runs: Iterable[RunRecord]) -> tuple[int, list[str]]:
    """(questions that at least two engines answered with something to compare, a sentence for each that they answered
    differently). Every run of the other engines is held against the first run of the first."""
    asked: dict[tuple[str, str, str], list[tuple[str, Answer]]] = {}
    for run in runs:
        for (op, params), found in answers_of(run).items():
            asked.setdefault((rows_of(run), op, params), []).append((run.engine, found))
    questions, differences = 0, []
    for (_, op, params), answers in asked.items():
        first, reference = answers[0]
        others = [(engine, found) for engine, found in answers if engine != first]
        differing = {engine: why for engine, found in others if (why := difference(reference, found))}
        differences += [f"{op} {params}: {first} and {engine} {why}" for engine, why in differing.items()]
        questions += bool(differing) or any(comparable(reference, found) for _, found in others)
    return questions, differences


def comparable(a: Answer, b: Answer) -> bool:
    """Whether any column holds numbers on both sides: of others nothing but how many there are is compared."""
    return any(numbers(a[col], b[col]) is not None for col in set(a) & set(b) if a[col] or b[col])


def rows_of(run: RunRecord) -> str:
    """What the tables hold when the run is quiet: seed, streams, sources, the rows put in and those that are not there."""
    plan = run.plan
    work = [r["work"] for _, r in each_role(plan) if r["work"]["kind"] == "rows"]
    rows = sorted((w["table"], w["first_row"], w["rows"]) for w in work)
    tables = [(t["stream"], t["source"]) for t in plan.get("tables", ())]
    streams = {t["name"]: t["stream"] for t in plan.get("tables", ())}
    absent = [
        [streams.get(i.table, i.table), i.first_row, i.end_row, i.found]
        for i in at_the_end(run.rows("proofs"))
        if i.found != WHOLE
    ]
    return json.dumps([plan.get("seed"), tables, rows, absent], sort_keys=True)


def answers_of(run: RunRecord) -> dict[tuple[str, str], Answer]:
    """(operation, parameters) -> column -> cells, rows in the order given."""
    cells: dict[tuple[str, str], dict[int, dict[int, str | None]]] = {}
    for r in run.rows("answers"):
        cells.setdefault((r["op"], r["params"]), {}).setdefault(r["col"], {})[r["row"]] = r["value"]
    return {
        key: {col: [of[row] for row in sorted(of)] for col, of in held.items()} for key, held in cells.items()
    }


def difference(a: Answer, b: Answer) -> str:
    """Why two answers differ; empty when they do not. Rows are compared whatever their order."""
    if set(a) != set(b):
        return f"return {len(a)} and {len(b)} columns"
    if not a:
        return ""
    lengths = {len(column) for column in (*a.values(), *b.values())}
    if len(lengths) > 1:
        return f"return {len(a[min(a)])} and {len(b[min(b)])} rows"
    pairs = [numbers(a[col], b[col]) for col in sorted(a)]
    kept = [pair for pair in pairs if pair is not None]
    left, right = (
        sorted(zip(*side, strict=True), key=repr)
        for side in (tuple(p[0] for p in kept), tuple(p[1] for p in kept))
    )
    for x, y in zip(left, right, strict=True):
        if x != y:
            return f"differ, first {x} and {y}"
    return ""


def numbers(a: Column, b: Column) -> tuple[Sequence[object], Sequence[object]] | None:
    """Both columns as comparable numbers; None when one of them holds anything else."""
    values = [v for v in (*a, *b) if v is not None]
    if all(INTEGER.fullmatch(v) for v in values):
        return in_one_unit([whole(v) for v in a], [whole(v) for v in b])
    try:
        return [rounded(v) for v in a], [rounded(v) for v in b]
    except ValueError:
        return None


def whole(value: str | None) -> int | None:
    """As 64 bits: engines without unsigned integers keep the upper half as negative ones."""
    return None if value is None else int(value) % 2**64


def in_one_unit(a: Whole, b: Whole) -> tuple[Whole, Whole]:
    """Instants as numbers: engines keep the same one in ms, µs or ns since 1970. The coarser is scaled, exactly."""
    unit_a, unit_b = unit(a), unit(b)
    if unit_a is None or unit_b is None:
        return a, b
    return scaled(a, 1000 ** max(0, unit_b - unit_a)), scaled(b, 1000 ** max(0, unit_a - unit_b))


def scaled(column: Whole, factor: int) -> Whole:
    return [None if v is None else v * factor for v in column]


def unit(column: Whole) -> int | None:
    """0, 1, 2 where all are instants of 2001 to 2286 in ms, µs, ns."""
    held = [v for v in column if v is not None]
    return next(
        (k for k in range(3) if held and all(10**12 <= v // 1000**k < 10**13 for v in held)),
        None,
    )


def rounded(value: str | None) -> str | None:
    return None if value is None else f"{float(value):.9g}"


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


GUARDS = (
    StudyGuard(
        About.ENGINES, "engines agree", engines_agree, "No quiet question was answered by two engines"
    ),
)

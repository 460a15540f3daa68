"""Answers given when nothing was written, against the same queries on rows that never saw the engine.

The plan carries the oracle's own statements (`labels.oracle`), in the dialect of the engine that `Twin.oracle` names. The
rows come from the generator. Off the clock, once per run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timezone
from decimal import Decimal
from typing import Protocol

from inrush.border.labels import OraclePlan, OracleTable
from inrush.border.plan import OpPlan, RunPlan, TablePlan
from inrush.border.tables import AnswerRow, ProofRow
from inrush.engines import server
from inrush.engines.base.in_memory import CannotAnswer, microseconds
from inrush.results.unanswered import NONE, Insert, at_the_end
from inrush.workload import TYPES

Cell = int | float | str | None
Row = tuple[Cell, ...]

#: Sums of floats depend on their order, which engines choose: relative difference that is no difference.
FLOAT_TOLERANCE = 1e-6
#: An empty answer is one cell without a place (`docs/results.md`).
NO_ROW = 2**32 - 1
WHOLE = 2**64


@dataclass(frozen=True)
class OracleVerdict:
    """One query's quiet answer."""

    op: str
    holds: bool
    #: What differs, or how many rows agree.
    found: str


class Generate(Protocol):
    """`_core.generate`: rows of a TablePlan as an Arrow stream."""

    def __call__(self, table_json: str, seed: int, epoch_ns: int, first_row: int, rows: int) -> object: ...


def verdicts(
    plan: RunPlan,
    answers: Iterable[AnswerRow],
    generate: Generate,
    proofs: Iterable[ProofRow] = (),
) -> list[OracleVerdict]:
    """One verdict per query that was asked. answers, proofs: rows of the tables of these names.

    Tables fed from files have no generator: their queries are left out. An insert without an answer counts as the proof
    found it; where one is there in part no answer can be foretold, and there is no verdict.
    """
    expected: OraclePlan | None = plan["labels"].get("oracle")
    given = by_operation(answers)
    open_inserts = at_the_end(proofs)
    if not expected or not given or any(insert.is_part for insert in open_inserts):
        return []
    oracle = Oracle(expected["engine"])
    for table in expected["tables"]:
        document = plan["tables"][table["index"]]
        oracle.create(table)
        for first_row, end_row in there(table, document.get("name"), open_inserts):
            stream = generate(
                json.dumps(document), plan["seed"], plan["epoch_ns"], first_row, end_row - first_row
            )
            oracle.load(table, document, stream)
    found = []
    for op, (params, rows) in given.items():
        statement = expected["operations"].get(op)
        if statement is None:
            continue
        types = {p["name"]: p["type"] for p in operation_of(plan, op)["params"]}
        asked = [types[name] for name in statement["params"]]
        values = [value_of(params[name], types[name]) for name in statement["params"]]
        try:
            expected_rows = oracle.ask(statement["text"], values, asked)
        except CannotAnswer as e:
            name = expected["engine"]
            remedy = f"write sql.{name} for it, or promise no `oracle`"
            found.append(OracleVerdict(op, False, f"{name}, the oracle, cannot answer it ({e}); {remedy}"))
            continue
        found.append(compare(op, rows, expected_rows))
    return found


def there(table: OracleTable, name: str, open_inserts: Iterable[Insert]) -> Iterator[tuple[int, int]]:
    """Ranges of rows, ends not included, that are in the table: all but those of inserts that were not stored."""
    row, end = table["first_row"], table["first_row"] + table["rows"]
    absent = sorted((i.first_row, i.end_row) for i in open_inserts if i.table == name and i.found == NONE)
    for first_row, end_row in [*absent, (end, end)]:
        if row < min(first_row, end):
            yield row, min(first_row, end)
        row = max(row, end_row)


def by_operation(
    answers: Iterable[AnswerRow],
) -> dict[str, tuple[dict[str, str], list[list[str | None]]]]:
    """Operation -> its parameters, and its rows as texts in the order they came."""
    params: dict[str, dict[str, str]] = {}
    cells: dict[str, dict[int, list[str | None]]] = {}
    for cell in answers:
        params[cell["op"]] = json.loads(cell["params"])
        rows = cells.setdefault(cell["op"], {})
        if cell["row"] != NO_ROW:
            rows.setdefault(cell["row"], []).append(cell["value"])
    return {op: (params[op], [rows[n] for n in sorted(rows)]) for op, rows in cells.items()}


def operation_of(plan: RunPlan, name: str) -> OpPlan:
    return next(o for o in plan["operations"] if o["name"] == name)


class Oracle:
    """A database in memory of an engine that is not the one measured."""

    def __init__(self, engine: str) -> None:
        in_memory = server(engine).in_memory
        assert in_memory is not None, "a plan names an engine that answers in memory"
        self.database = in_memory()

    def create(self, table: OracleTable) -> None:
        for statement in table["create"]:
            self.database.execute(statement)

    def load(self, table: OracleTable, document: TablePlan, stream: object) -> None:
        import pyarrow as pa

        types = [column["type"] for column in document["columns"]]
        self.database.insert(table["name"], types, pa.RecordBatchReader.from_stream(stream))

    def ask(self, text: str, values: Sequence[object], types: Sequence[str] = ()) -> list[Row]:
        """types: as of `InMemory.ask`."""
        return [tuple(plain(cell) for cell in row) for row in self.database.ask(text, values, types)]


def value_of(text: str, logical: str) -> object:
    """A parameter from its text in the table `answers`."""
    if TYPES[logical].holds in ("text", "spelled"):
        return text
    if logical in ("f32", "f64"):
        return float(text)
    if logical == "bool":
        return text == "true"
    number = int(text)
    if logical in ("time_ms", "time_us"):
        unit = 1_000 if logical == "time_ms" else 1
        seconds, us = divmod(number * unit, 1_000_000)
        return datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=us)
    return number


def plain(cell: object) -> Cell:
    """A cell of the oracle: numbers as numbers, instants as microseconds since 1970 UTC."""
    if isinstance(cell, bool):
        return int(cell)
    if isinstance(cell, datetime):
        return microseconds(cell)
    if isinstance(cell, time):
        # In the one form that a time of day has: without digits that say nothing.
        return cell.isoformat().rstrip("0").rstrip(".") if cell.microsecond else cell.isoformat()
    if isinstance(cell, Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    if isinstance(cell, list | tuple):
        return json.dumps(list(cell))
    if cell is None or isinstance(cell, int | float | str):
        return cell
    return str(cell)


def compare(op: str, rows: Sequence[Sequence[str | None]], expected: Sequence[Row]) -> OracleVerdict:
    """Equal as multisets of rows: engines may break ties of an order in their own way."""
    if len(rows) != len(expected):
        return OracleVerdict(op, False, f"{len(rows)} rows, the oracle has {len(expected)}")
    # An oracle without decimals has their texts: both sides are read alike.
    theirs_typed = [tuple(number(c) if isinstance(c, str) else c for c in row) for row in expected]
    mine_rows, their_rows = alike([typed(r) for r in rows], theirs_typed)
    pairs = zip(ordered(mine_rows), ordered(their_rows), strict=True)
    for mine, theirs in pairs:
        if len(mine) != len(theirs):
            return OracleVerdict(op, False, f"{len(mine)} columns, the oracle has {len(theirs)}")
        for place, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            if not same(a, b):
                return OracleVerdict(op, False, f"column {place + 1} of {mine} is {a}, the oracle has {b}")
    return OracleVerdict(op, True, f"{len(rows)} rows agree")


def typed(row: Sequence[str | None]) -> Row:
    return tuple(None if cell is None else number(cell) for cell in row)


def number(text: str) -> Cell:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": 1, "false": 0}.get(text, text)


def alike(mine: list[Row], theirs: list[Row]) -> tuple[list[Row], list[Row]]:
    """Both in the same units, column by column: floats where either has one, microseconds where either has."""
    if not mine or {len(r) for r in mine} != {len(r) for r in theirs} or len({len(r) for r in mine}) != 1:
        return mine, theirs
    columns = [
        unified(list(a), list(b))
        for a, b in zip(zip(*mine, strict=True), zip(*theirs, strict=True), strict=True)
    ]
    return (
        list(zip(*(a for a, _ in columns), strict=True)),
        list(zip(*(b for _, b in columns), strict=True)),
    )


def unified(a: list[Cell], b: list[Cell]) -> tuple[list[Cell], list[Cell]]:
    if any(isinstance(cell, float) for cell in (*a, *b)):
        return [real(cell) for cell in a], [real(cell) for cell in b]
    if scaled(a) == numbers(b):
        return [c * 1_000 if isinstance(c, int) else c for c in a], b
    if scaled(b) == numbers(a):
        return a, [c * 1_000 if isinstance(c, int) else c for c in b]
    return a, b


def real(cell: Cell) -> Cell:
    return float(cell) if isinstance(cell, int) else cell


def numbers(cells: Sequence[Cell]) -> list[int]:
    return sorted(c for c in cells if isinstance(c, int))


def scaled(cells: Sequence[Cell]) -> list[int]:
    return [c * 1_000 for c in numbers(cells)]


def same(a: Cell, b: Cell) -> bool:
    """Unsigned and signed readings of 64 bits are the same, and so are sums of floats in another order."""
    if a == b:
        return True
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    if isinstance(a, int) and isinstance(b, int):
        return a % WHOLE == b % WHOLE
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=FLOAT_TOLERANCE)
    return False


def ordered(rows: Sequence[Row]) -> Iterator[Row]:
    """By the cells that are compared exactly first, so that rows meet their like."""

    def exact(row: Row) -> tuple[str, ...]:
        return tuple(str(c % WHOLE) if isinstance(c, int) else c if isinstance(c, str) else "" for c in row)

    def loose(row: Row) -> tuple[float, ...]:
        # NaN is before and behind every number: it has a place of its own.
        return tuple(math.inf if math.isnan(c) else c for c in row if isinstance(c, float))

    return iter(sorted(rows, key=lambda row: (exact(row), loose(row))))

"""Answers behind a load that was cut: where it is not known which rows are there, they are not judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from inrush.analysis.verdicts import Outcome, Verdict
from inrush.guards.answers import answers_right
from inrush.results.schema import SCHEMAS
from inrush.stats.record import RunRecord
from tests import synthetic

LOAD, MORE, LOOK = 0, 1, 2


def role(table: int | None) -> dict[str, Any]:
    work = {"kind": "calls", "count": 5} if table is None else {"kind": "rows", "table": table}
    return {"name": "r", "work": work}


def run(
    clients: int = 1,
    cut: int | None = LOAD,
    more: int = 1,
    wrong: int = LOOK,
    ended_by: str = "limit",
    both: bool = False,
) -> RunRecord:
    """Loads of table 0 and of table `more`, and a step that reads. cut: the segment that was; wrong: that with wrong answers; both: the
    last one too, whose failures stand first."""
    wrongs = {wrong, LOOK} if both else {wrong}
    plain = synthetic.run("postgresql", reader_ns=[1_000_000] * 10)
    tables = [0, more, None]
    segments = [{"kind": "drive", "label": f"step-{n}", "phase": "measure", "roles": [role(table)]} for n, table in enumerate(tables)]  # fmt: skip
    share: Any = {"share": {"index": 0, "of": clients}} if clients > 1 else {}
    rows = {
        "segments": [
            {**plain.rows("segments")[1], "segment": n, "label": f"step-{n}", "ended_by": ended_by if n == cut else "work"}
            for n in range(3)
        ],
        "repetitions": [
            {**plain.rows("repetitions")[0], "segment": n, "wrong": 3 if n in wrongs else 0} for n in range(3)
        ],
        "failures": [
            {"segment": n, "repetition": 0, "role": "r", "op": f"op-{n}", "outcome": "wrong", "count": 3, "first_message": "a row"}
            for n in (2, 1, 0) if n in wrongs
        ],
    }  # fmt: skip
    made = {name: pa.Table.from_pylist(of, schema=SCHEMAS[name]) for name, of in rows.items()}
    plan: Any = {**plain.plan, "segments": segments, **share}
    return replace(plain, plan=plan, tables={**plain.tables, **made}, _rows={})


def judged(of: RunRecord) -> Verdict:
    found = answers_right(of, {})
    assert found is not None
    return found


@pytest.mark.parametrize(
    "of",
    [
        run(clients=2),
        run(clients=2, cut=MORE),
        # Its rows do not follow on those of the load that was cut.
        run(clients=1, more=0),
        run(clients=2, wrong=-1),
    ],
)
def test_answers_behind_a_load_that_was_cut_are_not_judged_where_its_rows_are_not_known(
    of: RunRecord,
) -> None:
    found = judged(of)
    assert found.outcome is Outcome.NOT_CHECKED and not found.hides
    assert "was cut at its time limit, and which of its rows are there is not known" in found.sentence


@pytest.mark.parametrize(
    "of",
    [
        # The rows of one process are the first ones, and no other load adds to them.
        run(clients=1),
        run(clients=2, cut=None),
        run(clients=2, cut=LOOK),
        run(clients=2, ended_by="time"),
        # Answers before it was cut.
        run(clients=2, cut=MORE, wrong=LOAD),
    ],
)
def test_all_other_answers_are_judged(of: RunRecord) -> None:
    found = judged(of)
    assert (
        found.outcome is Outcome.INVALID
        and found.hides
        and "3 answers were wrong. First: op-" in found.sentence
    )


def test_of_answers_before_and_behind_the_cut_those_before_it_are_counted_and_shown() -> None:
    found = judged(run(clients=2, cut=MORE, wrong=LOAD, both=True))
    assert found.sentence.startswith("3 answers were wrong. First: op-0: a row."), found.sentence

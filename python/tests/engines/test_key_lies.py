"""Look-ups by key of every engine with one call in flight and with 64: each kind of wrong answer is told, and has no latency."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.engines import server
from inrush.engines.instance import Target
from inrush.plan.plan import plan_study
from inrush.study.study import load_study
from inrush.targets.deployment import Deployment

from .border import run

#: A wrong value, no row, the row of another key, and the answer of another call, which a session of one call has not.
LIES = {"lie": "wrong", "short": "missing", "other_key": "wrong", "swap_answers": "wrong"}
BRIEF = (
    "load.rows=500",
    "schedule.warm_s=0.05",
    "schedule.measure_s=0.2",
    "schedule.cool_s=0.05",
    "refill=each",
)


@pytest.mark.parametrize(
    ("engine", "depth"),
    [
        *((e, d) for e in ("postgresql", "mysql", "mariadb", "valkey", "ndb") for d in (1, 64)),
        ("sqlite", 1),
        ("duckdb", 1),
    ],
)
def test_a_wrong_answer_of_a_look_up_is_told(
    engine: str, depth: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    twin = server(engine)
    target = Target(engine, "") if twin.embedded else request.getfixturevalue(engine)
    study = load_study("keylookup-depth", "xs", [*BRIEF, f"depth={depth}"], [engine])
    planned = next(iter(plan_study(study, {engine: twin}).block(1)))
    for lie in (None, *LIES):
        if lie == "swap_answers" and depth == 1:
            continue
        ran = run(Deployment(twin, target), planned.plan, tmp_path / str(lie), [lie] if lie else [])
        # After many failures in a row a run ends, with the calls that were in flight then.
        told = {f["outcome"] for f in ran.tables["failures"]} - {"lost"}
        assert told == ({LIES[lie]} if lie else set()), (lie, ran.last, told)
        totals = [s for s in ran.tables["repetitions"] if s["role"] == "clients"]
        assert all(s["ok"] < s["ops"] if lie else s["ok"] == s["ops"] > 0 for s in totals), (lie, totals)
        assert not ran.broken(), (lie, ran.broken())

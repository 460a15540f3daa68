"""Look-ups by key of every engine with one call in flight and with 64: each kind of wrong answer is told, and has no latency."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment

from .border import Ran, run
from .servers import each_kind

#: A wrong value, no row, the row of another key, and the answer of another call, which a session of one call has not.
LIES = {"lie": "wrong", "short": "missing", "other_key": "wrong", "swap_answers": "wrong"}
BRIEF = (
    "load.rows=500",
    "schedule.warm_s=0.05",
    "schedule.cool_s=0.05",
    "refill=each",
)
#: Measured for so long; longer where a busy machine made too few calls: one answer in ten is a lie.
MEASURE_S = (0.2, 2.0, 20.0)
ENOUGH_CALLS = 20


@pytest.mark.parametrize(
    ("engine", "depth"),
    [
        # NDB's answers are lied about in test_ndb too.
        *each_kind(
            ((e, d) for e in ("postgresql", "mysql", "mariadb", "valkey", "ndb") for d in (1, 64)),
            {"mariadb", "ndb"},
        ),
        ("sqlite", 1),
        ("duckdb", 1),
    ],
)
def test_a_wrong_answer_of_a_look_up_is_told(
    engine: str, depth: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    twin = server(engine)
    target = Target(engine, "") if twin.embedded else request.getfixturevalue(engine)
    for lie in (None, *LIES):
        if lie == "swap_answers" and depth == 1:
            continue
        ran = run_with_calls(Deployment(twin, target), depth, tmp_path / str(lie), [lie] if lie else [])
        # After many failures in a row a run ends, with the calls that were in flight then.
        told = {f["outcome"] for f in ran.tables["failures"]} - {"lost"}
        assert told == ({LIES[lie]} if lie else set()), (lie, ran.last, told)
        # Of so short a segment that no lie was due, all may be right.
        judged = [s for s in totals(ran) if not lie or s["ops"] >= ENOUGH_CALLS]
        assert judged and all((s["ok"] < s["ops"]) == bool(lie) for s in judged), (lie, judged)
        assert not ran.broken(), (lie, ran.broken())


def run_with_calls(deployment: Deployment, depth: int, folder: Path, faults: list[str]) -> Ran:
    engine = deployment.server.name
    for measure_s in MEASURE_S:
        words = [*BRIEF, f"schedule.measure_s={measure_s}", f"depth={depth}"]
        study = load_study("keylookup-depth", "xs", words, [engine])
        planned = next(iter(plan_study(study, {engine: deployment.server}).block(1)))
        ran = run(deployment, planned.plan, folder / str(measure_s), faults)
        if max(s["ops"] for s in totals(ran)) >= ENOUGH_CALLS:
            break
    return ran


def totals(ran: Ran) -> list[dict[str, Any]]:
    return [s for s in ran.tables["repetitions"] if s["role"] == "clients"]

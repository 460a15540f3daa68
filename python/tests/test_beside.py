"""A statement that runs beside roles: its figures against courses that are known, planned, refused, and run on embedded engines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Outcome, Verdict
from inrush.engines import server
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.guards.beside import statement_beside_roles
from inrush.plan.plan import plan_study
from inrush.results.store import Results
from inrush.stats.beside import beside_figures
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from inrush.study.reading import load_study
from tests import synthetic
from tests.steps import run_study_file
from tests.synthetic import SECOND
from tests.undisturbed import undisturbed

#: Of an interval, of the roles before the statement, and of the statement, in intervals.
DT = SECOND // 10
BEFORE, TOOK = 10, 20


def course(
    ok: Sequence[int],
    latency_ns: Mapping[int, int] | None = None,
    begun_ns: int = BEFORE * DT,
    took_ns: int = TOOK * DT,
    failures: Sequence[Mapping[str, Any]] = (),
) -> RunRecord:
    """A run whose writers did `ok` calls in each interval, and whose statement began after `BEFORE` of them and took `TOOK`.

    latency_ns: interval -> the longest latency of the calls that ended in it; of others a millisecond.
    """
    ended_ns = begun_ns + took_ns
    call = {"segment": 0, "role": "change", "op": "index", "dt_ns": DT}
    where = {"segment": 0, "role": "writers", "op": "insert", "dt_ns": DT}
    longest = {k: DT // 100 for k, n in enumerate(ok) if n} | dict(latency_ns or {})
    tables = {
        "segments": [
            {"segment": 0, "kind": "drive", "phase": "measure", "end_ns": len(ok) * DT, "ended_by": "work"}
        ],
        "repetitions": [
            {"segment": 0, "role": "writers", "end_ns": len(ok) * DT, "ops": sum(ok), "ok": sum(ok)},
            {
                "segment": 0, "role": "change", "end_ns": ended_ns, "ops": 1, "ok": 1 - len(failures),
                "errors": len(failures),
            },
        ],
        "intervals": [
            *({**where, "t_ns": k * DT, "ops": n} for k, n in enumerate(ok)),
            {**call, "t_ns": ended_ns - 1, "ops": 1, "errors": len(failures)},
        ],
        "hist": [
            *({**where, "kind": "latency", "t_ns": k * DT, **synthetic.hist([ns])} for k, ns in longest.items()),
            *([] if failures else [{**call, "kind": "latency", "t_ns": ended_ns - 1, **synthetic.hist([took_ns])}]),
        ],
        "failures": failures,
    }  # fmt: skip
    roles = [synthetic.role_plan("writers"), synthetic.role_plan("change", "index")]
    plan = {
        "segments": [{"kind": "drive", "phase": "measure", "step": "change", "roles": roles}],
        "labels": {"steps": {"change": "alter"}},
    }
    held = {name: synthetic.table(name, rows) for name, rows in tables.items()}
    return replace(synthetic.run(), plan=plan, summary={}, tables=held, _rows={})


def steady(n: int = 7) -> list[int]:
    return [n] * (BEFORE + TOOK + 10)


def stopped(from_: int = BEFORE, until: int = BEFORE + TOOK) -> list[int]:
    return [0 if from_ <= k < until else n for k, n in enumerate(steady())]


def verdict(run: RunRecord) -> Verdict:
    found = statement_beside_roles(run, figures_of_run(run))
    assert found is not None
    return found


def test_a_role_that_goes_on_keeps_its_rate_and_never_stalls() -> None:
    assert beside_figures(course(steady())) == {
        "change.statement_s": 2.0,
        "writers.stall_s": 0.001,
        "writers.before_ops_per_s": 70.0,
        "writers.kept_rate": 1.0,
    }
    assert verdict(course(steady())).outcome is Outcome.PASS


def test_a_role_that_stands_still_stalls_for_as_long_as_its_calls_wait() -> None:
    """To the nanosecond, whatever an interval is: the call that waited says how long."""
    found = beside_figures(course(stopped(), {BEFORE + TOOK: 1_987_654_321}))
    assert found["writers.stall_s"] == 1.987654321
    assert found["writers.kept_rate"] == 0.0


def test_a_part_of_a_role_that_has_ended_before_the_statement_leaves_no_rate_to_compare() -> None:
    """The other part goes on: half of the rate is gone, and the statement took none of it."""
    whole = course(steady())
    parts = [{**r, "role": "writers/a"} for r in whole.rows("repetitions") if r["role"] == "writers"]
    short = {**parts[0], "role": "writers/b", "end_ns": (BEFORE - 2) * DT}
    own = [r for r in whole.rows("repetitions") if r["role"] == "change"]
    rename = [{**r, "role": r["role"].replace("writers", "writers/a")} for r in whole.rows("intervals")]
    roles = [synthetic.role_plan(name) for name in ("writers/a", "writers/b")]
    (segment,) = whole.plan["segments"]
    plan: Any = {
        **whole.plan,
        "segments": [{**segment, "roles": [*roles, synthetic.role_plan("change", "index")]}],
    }
    tables = {
        **whole.tables,
        "repetitions": synthetic.table("repetitions", [*parts, short, *own]),
        "intervals": synthetic.table("intervals", rename),
    }
    run = replace(whole, plan=plan, tables=tables, _rows={})
    assert beside_figures(run) == {} and verdict(run).outcome is Outcome.INVALID
    assert "writers had" in verdict(run).sentence


def test_a_stall_is_of_all_calls_of_a_role_and_not_of_the_slowest() -> None:
    """One session waits for two seconds, and the others go on."""
    found = beside_figures(course(steady(), {BEFORE + TOOK: 2 * SECOND}))
    assert found["writers.stall_s"] == pytest.approx(2 * DT / SECOND)
    assert found["writers.kept_rate"] == 1.0


def test_what_a_role_waited_for_before_and_behind_the_statement_is_no_stall_of_it() -> None:
    early, late = stopped(2, 8), stopped(BEFORE + TOOK + 2, BEFORE + TOOK + 8)
    for ok, at in ((early, 8), (late, BEFORE + TOOK + 8)):
        assert beside_figures(course(ok, {at: 6 * DT}))["writers.stall_s"] == 0.001


def test_a_role_whose_calls_failed_meanwhile_has_stalled_until_one_succeeded() -> None:
    run = course(stopped())
    rows = [{**r, "ops": r["ops"] or 3, "errors": 0 if r["ops"] else 3} for r in run.rows("intervals")]
    failing = replace(run, tables={**run.tables, "intervals": synthetic.table("intervals", rows)}, _rows={})
    found = beside_figures(failing)
    assert found["writers.stall_s"] == TOOK * DT / SECOND
    assert found["writers.kept_rate"] == 0.0


@given(st.lists(st.integers(0, 3), min_size=BEFORE + TOOK + 10, max_size=BEFORE + TOOK + 10))
def test_a_stall_is_no_shorter_than_the_intervals_without_calls_and_no_longer_than_the_statement(
    ok: list[int],
) -> None:
    # A call that ends after k empty intervals has waited for k of them at least, and for what is left of two.
    empty, longest, latency = 0, 0, {}
    for k, n in enumerate(ok):
        if n:
            latency[k] = empty * DT + DT // 2
            empty = 0
            continue
        empty += 1
        if BEFORE <= k < BEFORE + TOOK:
            longest = max(longest, min(empty, k - BEFORE + 1))
    found = beside_figures(course(ok, latency))["writers.stall_s"] * SECOND
    # Where the longest wait began before the statement it may be cut at its begin.
    assert longest * DT <= found + 1 and found <= min((longest + 2) * DT, TOOK * DT) + 1


def test_a_rate_is_of_whole_intervals_and_of_three_at_least() -> None:
    run = course([7] * BEFORE + [1000, *steady()], begun_ns=BEFORE * DT + 1, took_ns=4 * DT)
    assert beside_figures(run)["writers.kept_rate"] == 1.0, "without the interval in which it began"
    short = course(steady(), took_ns=2 * DT)
    found = beside_figures(short)
    assert "writers.kept_rate" not in found and found["writers.before_ops_per_s"] == 70.0
    assert verdict(short).outcome is Outcome.NOTE
    assert "lower record.interval_s" in verdict(short).sentence


def test_a_statement_that_failed_has_no_figure_and_the_servers_words_are_told() -> None:
    said = {
        "role": "change",
        "op": "index",
        "outcome": "other",
        "first_message": "relation exists",
        "count": 1,
    }
    run = course(stopped(), failures=[said])
    assert beside_figures(run) == {}
    found = verdict(run)
    assert found.outcome is Outcome.INVALID and "relation exists" in found.sentence
    assert found.breaks("change.statement_s") and found.breaks("writers.kept_rate")
    assert not found.breaks("writers.ops_per_s")


def test_a_statement_that_goes_on_when_a_role_has_ended_has_no_figure() -> None:
    run = course(steady(), took_ns=50 * DT)
    assert beside_figures(run) == {}
    found = verdict(run)
    assert found.outcome is Outcome.INVALID
    assert "had not ended after 3.00 s, and writers had: it took 5.00 s" in found.sentence


def test_a_role_with_an_end_in_time_works_until_then_whenever_its_last_call_was() -> None:
    run = course(steady(), took_ns=31 * DT)
    (segment,) = run.plan["segments"]
    roles = [{**segment["roles"][0], "until": {"kind": "time", "ns": 42 * DT}}, segment["roles"][1]]
    assert beside_figures(run) == {}
    timed = replace(run, plan={**run.plan, "segments": [{**segment, "roles": roles}]}, _rows={})
    assert beside_figures(timed)["change.statement_s"] == 3.1


def test_a_stall_of_a_late_client_is_no_stall_of_the_server() -> None:
    """Of a paced role the call that waited longest is known as if it had been sent on time."""
    run = course(stopped(), {BEFORE + TOOK: 2 * SECOND})
    of = {"segment": 0, "role": "writers", "op": "insert", "kind": "on_time", "t_ns": (BEFORE + TOOK) * DT}
    for on_time_ns, outcome in ((1_950_000_000, Outcome.PASS), (1_000_000_000, Outcome.INVALID)):
        rows = [*run.tables["hist"].to_pylist(), {**of, **synthetic.hist([on_time_ns])}]
        found = verdict(replace(run, tables={**run.tables, "hist": synthetic.table("hist", rows)}, _rows={}))
        assert found.outcome is outcome, found.sentence
        assert found.breaks("writers.stall_s") is (outcome is Outcome.INVALID)
        assert not found.breaks("change.statement_s")


def test_a_run_without_such_a_statement_has_none_of_this() -> None:
    run = synthetic.run()
    assert beside_figures(run) == {}
    assert statement_beside_roles(run, {}) is None


# As a step


WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
sizes = { series = 100 }
[tables.events]
series = "series"
period_s = 1
identity = ["id", "time"]
columns = [
  { name = "id", type = "i32", gen = "cycle", from = 1, to = 100 },
  { name = "time", type = "time_ms", gen = "sweep_time" },
  { name = "value", type = "i64", gen = "uniform", from = 0, to = 99 },
]
[operations.insert]
kind = "insert"
[operations.one]
kind = "query"
table = "events"
params = { id = { gen = "of_series", column = "id" } }
sql.default = "SELECT time, value FROM {events} WHERE id = :id ORDER BY time DESC LIMIT 10"
[operations.column]
kind = "maintain"
table = "events"
sql.default = "ALTER TABLE {table} ADD COLUMN checked INTEGER"
[operations.wrong]
kind = "maintain"
table = "events"
sql.default = "CREATE UNIQUE INDEX by_id ON {table} (id)"
[operations.two]
kind = "maintain"
table = "events"
sql.default = ["CREATE INDEX by_id ON {table} (id)", "ANALYZE"]
[operations.elsewhere]
kind = "maintain"
table = "events"
sql.mysql = "OPTIMIZE TABLE {table}"
"""
STUDY = """
schema = 1
title = "A column"
question = "What does a new column cost writers and users?"
expect = "Little."
workload = "work.toml"
kind = "steps"
engines = ["sqlite"]
repeats = { count = 1, seed = 1, pilot = false }
record = { watch_s = 0.1, interval_s = 0.1 }
answer = { kind = "comparison", of = "change.writers.stall_s" }
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = 5_000 }
[[steps]]
name = "change"
do = "alter"
operation = "column"
before_s = 0.5
seconds = 1
[steps.roles.writers]
operation = "insert"
table = "events"
rows = { total = 2_000 }
batch_rows = 100
schedule = { mode = "constant", rate_per_s = 20 }
[steps.roles.users]
operation = "one"
"""


def study_file(folder: Path, *changes: tuple[str, str]) -> Path:
    (folder / "work.toml").write_text(WORKLOAD)
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "changed.toml"
    path.write_text(text)
    return path


def run_on(folder: Path, *changes: tuple[str, str]) -> Analysis:
    with undisturbed():
        return analyse(study_record(Results(run_study_file(study_file(folder, *changes), folder))))


def verdicts_of(analysis: Analysis) -> dict[str, Verdict]:
    return {v.guard: v for v in analysis.runs[0].verdicts}


def test_a_column_is_added_while_roles_go_on_and_every_row_is_proven(tmp_path: Path) -> None:
    found = run_on(tmp_path)
    assert verdicts_of(found)["rows proven"].outcome is Outcome.PASS, "by the columns that the study knows"
    figures = found.runs[0].figures
    assert figures["change.ok"] == 1
    # The statement is the role's only call.
    assert figures["change.statement_s"] == pytest.approx(figures["change.latency_s"])
    assert figures["change.writers.rows"] == 2_000
    for role in ("writers", "users"):
        assert 0 < figures[f"change.{role}.stall_s"] <= figures["change.statement_s"]


def test_a_column_is_added_on_duckdb_while_users_read(tmp_path: Path) -> None:
    """An insert that is under way meanwhile fails there with a conflict: without writers none does."""
    writers = STUDY[STUDY.index("[steps.roles.writers]") : STUDY.index("[steps.roles.users]")]
    figure = ("change.writers.stall_s", "change.users.stall_s")
    found = run_on(tmp_path, ('["sqlite"]', '["duckdb"]'), (writers, ""), figure)
    assert verdicts_of(found)["rows proven"].outcome is Outcome.PASS
    figures = found.runs[0].figures
    assert 0 < figures["change.users.stall_s"] <= figures["change.statement_s"]
    assert figures["change.users.errors"] == 0


def test_a_statement_that_a_server_refuses_is_told_by_its_words(tmp_path: Path) -> None:
    found = run_on(tmp_path, ('operation = "column"', 'operation = "wrong"'))
    said = verdicts_of(found)["statement beside roles"]
    assert said.outcome is Outcome.INVALID and "UNIQUE constraint failed" in said.sentence
    assert "change.statement_s" not in found.runs[0].figures
    assert verdicts_of(found)["rows proven"].outcome is Outcome.PASS


def test_the_statement_begins_when_the_roles_have_worked_by_themselves(tmp_path: Path) -> None:
    study = load_study(str(study_file(tmp_path)))
    plan = plan_study(study, {"sqlite": server("sqlite")}).runs[0].plan
    (drive,) = (s for s in plan["segments"] if s["kind"] == "drive" and s["label"] == "change")
    roles = {role["name"]: role for role in drive["roles"]}
    assert list(roles) == ["change.writers", "change.users", "change"]
    assert roles["change"]["schedule"] == {"kind": "closed", "think_ns": 500_000_000}, (
        "it thinks before it calls"
    )
    assert roles["change"]["work"] == {"kind": "calls", "count": 1}
    (operation,) = (o for o in plan["operations"] if o["name"] == "column")
    assert operation["kind"] == "execute"
    assert operation["text"].startswith("ALTER TABLE ") and operation["text"].endswith(
        " ADD COLUMN checked INTEGER"
    )


def problems(folder: Path, *changes: tuple[str, str]) -> list[str]:
    with pytest.raises(UsageError) as caught:
        load_study(str(study_file(folder, *changes)))
    return [f"{p.key}: {p.remedy}" for p in caught.value.problems]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("seconds = 1", "seconds = 0.5"), "its roles end before the statement begins"),
        (("before_s = 0.5\n", ""), "before_s"),
        (('operation = "column"', 'operation = "one"'), "is no maintenance"),
        (('operation = "column"', 'operation = "colum"'), "did you mean `column`"),
        (('[[steps]]\nname = "load"\ndo = "load"\ntable = "events"\nrows = { total = 5_000 }\n', ""), ""),
        (("before_s = 0.5", "before_s = 700\nlimit_s = 5"), "its roles end before the statement begins"),
    ],
)  # fmt: skip
def test_a_mistake_of_such_a_step_is_told_before_anything_runs(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    if not words:
        assert load_study(str(study_file(tmp_path, change))).steps, "its writers fill the table"
        return
    (said,) = problems(tmp_path, change)
    assert words in said


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (
            "elsewhere",
            "elsewhere has no statement for sqlite; write sql.sqlite of it, or leave the engine out",
        ),
        ("two", "two is several statements for sqlite"),
    ],
)
def test_an_engine_without_such_a_statement_is_refused_by_name(
    tmp_path: Path, operation: str, words: str
) -> None:
    study = load_study(str(study_file(tmp_path, ('operation = "column"', f'operation = "{operation}"'))))
    planned = plan_study(study, {"sqlite": server("sqlite")})
    assert not planned.runs
    assert [words in absent.reason for absent in planned.unsupported] == [True]


def test_the_example_of_the_documentation_is_planned(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "steps.md").read_text()
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    step, operation = next(pair for pair in pairwise(blocks) if '"alter"' in pair[0])
    head, preset, rest = blocks[0].partition("\n[scale.xs]")
    (tmp_path / "work.toml").write_text(f"{blocks[1]}\n{operation}")
    (tmp_path / "own.toml").write_text(f"{head}\n{step}{preset}{rest}")
    study = load_study(str(tmp_path / "own.toml"), "xs", (), ["sqlite"])
    plan = plan_study(study, {"sqlite": server("sqlite")}).runs[0].plan
    (drive,) = (s for s in plan["segments"] if s["kind"] == "drive" and s["label"] == "change")
    assert [role["name"] for role in drive["roles"]] == ["change.users", "change"]

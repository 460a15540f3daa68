"""A role writes to a table that a load has filled: planned, run on embedded engines, and losses on either side of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from inrush.analysis.lack import Lack, behind
from inrush.analysis.points import Analysis, Measured
from inrush.analysis.verdicts import Outcome
from inrush.engines import server
from inrush.errors import UsageError
from inrush.guards.analyse import analyse, measured_run
from inrush.plan.added import ahead_s
from inrush.plan.plan import plan_study
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.study.reading import load_study
from inrush.workload import Chunks, FileSource
from tests.steps import run_study_file
from tests.terminal import Inrush
from tests.undisturbed import undisturbed

LOADED, WRITTEN = 4_000, 3_000
ENGINES = ("sqlite", "duckdb")
WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.events]
series = 100
period_s = 1
identity = ["id", "time"]
columns = [
  { name = "id", type = "i32", gen = "cycle", from = 1, to = 100 },
  { name = "time", type = "time_ms", gen = "sweep_time" },
  { name = "v", type = "i64", gen = "uniform", from = 0, to = 99 },
]
[tables.other]
series = 100
period_s = 1
identity = ["id", "time"]
columns = [
  { name = "id", type = "i32", gen = "cycle", from = 1, to = 100 },
  { name = "time", type = "time_ms", gen = "sweep_time" },
]
[operations.insert]
kind = "insert"
[operations.one]
kind = "query"
table = "events"
params = { id = { gen = "key", column = "id" }, time = { gen = "key", column = "time" } }
holds = ["asked"]
returns = ["id", "time", "v"]
sql.default = "SELECT id, time, v FROM {events} WHERE id = :id AND time = :time"
[operations.tally]
kind = "query"
table = "events"
holds = ["count_bounds"]
sql.default = "SELECT count(*) FROM {events}"
[operations.newest]
kind = "query"
table = "events"
params = { id = { gen = "of_series", column = "id", series = 0 }, t = { gen = "seen_until" } }
holds = ["freshness"]
sql.default = "SELECT time FROM {events} WHERE id = :id AND time > :t"
[operations.span]
kind = "extract"
table = "events"
range = { time = "time", share = 0.5 }
params = { id = { gen = "range", column = "id" }, a = { gen = "range", end = "from" }, b = { gen = "range", end = "to" } }
returns = ["id", "time", "v"]
sql.default = "SELECT id, time, v FROM {events} WHERE id = :id AND time >= :a AND time < :b ORDER BY time"
[operations.harm_loaded]
kind = "maintain"
table = "events"
sql.default = "DELETE FROM {table} WHERE id = 7 AND time = (SELECT min(time) FROM {table})"
[operations.harm_written]
kind = "maintain"
table = "events"
sql.default = "DELETE FROM {table} WHERE id = 7 AND time = (SELECT max(time) FROM {table})"
"""
STUDY = """
schema = 1
title = "Filled first"
question = "What does a filled table take in?"
expect = "Less than an empty one."
workload = "work.toml"
kind = "steps"
engines = ["sqlite", "duckdb"]
repeats = { count = 1, seed = 1, pilot = false }
answer = { kind = "comparison", of = "mixed.writers.rows_per_s" }
[[steps]]
name = "fill"
do = "load"
table = "events"
rows = { total = 4_000 }
[[steps]]
name = "mixed"
do = "roles"
[steps.roles.early]
operation = "one"
until = "writers"
[steps.roles.writers]
operation = "insert"
table = "events"
sessions = 2
rows = { total = 3_000 }
batch_rows = 100
schedule = { mode = "constant", rate_per_s = 60 }
[steps.roles.readers]
operation = "one"
until = "writers"
[steps.roles.tallies]
operation = "tally"
until = "writers"
schedule = { mode = "closed", think_s = 0.01 }
[steps.roles.fresh]
operation = "newest"
until = "writers"
schedule = { mode = "closed", think_s = 0.002 }
"""
AFTER = '[[steps]]\nname = "after"\ndo = "read"\noperation = "one"\ncalls = 500\n'


def written(folder: Path, *changes: tuple[str, str], behind: str = AFTER) -> Path:
    text = STUDY + behind
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (folder / "work.toml").write_text(WORKLOAD)
    (folder / "filled.toml").write_text(text)
    return folder / "filled.toml"


def run(path: Path, folder: Path) -> Analysis:
    with undisturbed():
        return analyse(study_record(Results(run_study_file(path, folder))))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("filled")
    return run(written(folder), folder)


def on(analysis: Analysis, engine: str) -> Measured:
    return next(m for m in analysis.runs if m.run.engine == engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_rows_of_a_role_follow_those_of_the_load_and_all_are_proven(
    finished: Analysis, engine: str
) -> None:
    of = on(finished, engine)
    proofs = {row["item"]: row for row in of.run.rows("proofs")}
    assert proofs["rows"]["found"] == str(LOADED + WRITTEN)
    assert all(row["holds"] for row in proofs.values()), proofs
    assert proofs["read_back"]["holds"]
    assert of.figures["mixed.writers.rows"] == WRITTEN


@pytest.mark.parametrize("engine", ENGINES)
def test_readers_of_the_same_step_ask_for_loaded_rows_and_get_them(finished: Analysis, engine: str) -> None:
    of = on(finished, engine)
    keys = {o["name"]: o["keys"] for o in of.run.plan["operations"] if "keys" in o}
    ranges = sorted({k["rows"] for named in keys.values() for k in named})
    # Whatever place the reader has beside the writer; behind the step, all rows.
    assert ranges == [LOADED, LOADED + WRITTEN], keys
    called = ("mixed.early", "mixed.readers", "mixed.tallies", "after")
    assert all(of.figures[f"{role}.ok"] > 0 and of.figures[f"{role}.wrong"] == 0 for role in called)


@pytest.mark.parametrize("engine", ENGINES)
def test_only_rows_that_are_written_while_a_reader_looks_are_fresh(finished: Analysis, engine: str) -> None:
    """Of 100 series one is looked at, once a sweep."""
    assert on(finished, engine).figures["mixed.fresh.freshness_n"] == WRITTEN / 100


@pytest.mark.parametrize("engine", ENGINES)
def test_what_readers_saw_is_said_with_the_size_at_begin_and_end(finished: Analysis, engine: str) -> None:
    said = [v.sentence for v in on(finished, engine).verdicts if v.guard == "table of one size"]
    assert any(f"from {LOADED:,} to {LOADED + WRITTEN:,} rows" in sentence for sentence in said), said


@pytest.mark.parametrize("of", ["loaded", "written"])
def test_a_row_that_is_lost_of_either_part_is_found(tmp_path: Path, of: str) -> None:
    harm = f'[[steps]]\nname = "harm"\ndo = "statement"\noperation = "harm_{of}"\n'
    for measured in run(written(tmp_path, behind=harm), tmp_path).runs:
        proofs = {row["item"]: row for row in measured.run.rows("proofs")}
        assert proofs["rows"]["found"] == str(LOADED + WRITTEN - 1)
        assert not proofs["rows"]["holds"]


def test_a_writer_at_a_rate_that_is_too_high_is_seen_to_fall_behind_in_a_step_too(tmp_path: Path) -> None:
    """Its rows are all stored in the end, so that its share of calls says nothing."""
    too_high = run(written(tmp_path, ("rate_per_s = 60", "rate_per_s = 1_000_000")), tmp_path)
    for of in too_high.runs:
        assert of.figures["mixed.writers.achieved_share"] == 1
        assert of.figures["mixed.writers.keeps_up"] == 0 and behind(of.run, of.figures) == [
            "mixed.writers.keeps_up"
        ]
        lacking = Lack(0.9, 0.0, "cc")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("inrush.guards.lacking.lack_of", lambda run, lack=lacking: lack)
            verdict = next(v for v in measured_run(of.run).verdicts if v.guard == "server had its processors")
        assert verdict.outcome is Outcome.INVALID and "mixed.writers did not keep up" in verdict.sentence
        # What was left to it is no rate of what it can do.
        assert verdict.breaks("mixed.writers.rows_per_s") and not verdict.breaks("mixed.readers.rows_per_s")


@pytest.mark.parametrize("rate", [60, 1_000_000])
def test_a_rate_that_was_kept_up_with_is_noted_to_be_the_schedules(tmp_path: Path, rate: int) -> None:
    analysis = run(written(tmp_path, ("rate_per_s = 60", f"rate_per_s = {rate}")), tmp_path)
    verdict = next(v for v in analysis.study_verdicts if v.guard == "rates are the engine's")
    assert verdict.outcome is (Outcome.NOTE if rate == 60 else Outcome.PASS), verdict


DEADLINE = ("[operations.one]\n", "[operations.one]\ndeadline_s = 0.5\n")
EARLY = '[steps.roles.early]\noperation = "one"\n'
CALLS = (
    f'{EARLY}until = "writers"',
    f'{EARLY}calls = 50\nschedule = {{ mode = "constant", rate_per_s = 20 }}',
)
LATE = "sends every call, however late, and this share is 1 at any rate; take "


@pytest.mark.parametrize(
    ("of", "asked", "changes", "better"),
    [
        ("writers.achieved_share", "answer", (), "mixed.writers.keeps_up"),
        ("writers.attempted_share", "answer", (), "mixed.writers.keeps_up"),
        ("writers.achieved_share", "search", (), "mixed.writers.keeps_up"),
        ("early.achieved_share", "answer", (CALLS,), "a limit on mixed.early.latency_p99_s"),
        # With a deadline a late call fails, and sent are all the same.
        ("early.attempted_share", "answer", (CALLS, DEADLINE), "a limit on mixed.early.latency_p99_s"),
        ("early.achieved_share", "answer", (CALLS, DEADLINE), None),
        # Closed: nothing is due.
        ("early.achieved_share", "answer", ((f'{EARLY}until = "writers"', f"{EARLY}calls = 50"),), None),
        ("readers.achieved_share", "answer", (), None),
    ],
)
def test_a_share_that_lateness_does_not_lower_decides_no_rate(
    tmp_path: Path, of: str, asked: str, changes: tuple[tuple[str, str], ...], better: str | None
) -> None:
    deciding = {
        "answer": f'answer = {{ kind = "sustained", of = "mixed.{of}", along = "r" }}',
        "search": f'search = {{ along = "r", of = "mixed.{of}", at_least = 0.99 }}\n'
        'answer = { kind = "sustained", of = "mixed.writers.keeps_up", along = "r" }',
    }[asked]
    answer = 'answer = { kind = "comparison", of = "mixed.writers.rows_per_s" }'
    path = written(
        tmp_path,
        ("repeats = { count = 1, seed = 1, pilot = false }", "repeats = { count = 1, seed = 1 }"),
        (answer, f"factors.r = [20, 40]\n{deciding}"),
        ("rate_per_s = 60", 'rate_per_s = "@r"'),
        *(change for change in changes if change != DEADLINE),
    )
    if DEADLINE in changes:
        (tmp_path / "work.toml").write_text(WORKLOAD.replace(*DEADLINE))
    if better is None:
        load_study(str(path))
        return
    with pytest.raises(UsageError) as refused:
        load_study(str(path))
    assert LATE + better in str(refused.value)


FILL = '[[steps]]\nname = "fill"\ndo = "load"\ntable = "events"\nrows = { total = 4_000 }\n'
OTHER = (
    '[steps.roles.again]\noperation = "insert"\ntable = "events"\nrows = { total = 500 }\nbatch_rows = 100\n'
)
NEXT = f'[[steps]]\nname = "next"\ndo = "roles"\n{OTHER}'


@pytest.mark.parametrize(
    ("changes", "behind", "said"),
    [
        ([], OTHER, "events takes no rows from this role: mixed.writers writes it in the same step"),
        ([], NEXT, "events takes no rows from this role: mixed.writers writes it"),
        ([("rows = { total = 4_000 }", "rows = { total = 4_000 }\npipeline = {}")], "", "fill fills it by the loader"),
        ([(FILL, FILL + '[[steps]]\nname = "out"\ndo = "dump"\ntable = "events"\nby = "time"\n')], "", "out dumps it"),
        ([('operation = "tally"\nuntil = "writers"\nschedule = { mode = "closed", think_s = 0.01 }', 'operation = "span"\ncalls = 3')], "",
         "span asks for a range of all rows of events, and mixed.writers adds some of them"),
        ([(FILL, FILL.replace('"events"', '"other"'))], "", "one asks for rows of events by number, which mixed.writers only writes"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_said(
    tmp_path: Path, changes: list[tuple[str, str]], behind: str, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        study = load_study(str(written(tmp_path, *changes, behind=behind)))
        plan_study(study, {engine: server(engine) for engine in study.engines})
    assert said in str(refused.value)


LAST_MINUTE = """
[operations.recent]
kind = "query"
table = "events"
params.since = { gen = "now_minus", seconds = 5 }
holds = ["oracle"]
sql.default = "SELECT count(*) FROM {events} WHERE time >= :since"
"""
RECENT = ('operation = "tally"\nuntil = "writers"', 'operation = "recent"\nuntil = "writers"')


def test_quiet_queries_are_asked_at_the_time_of_the_last_row(tmp_path: Path) -> None:
    """Of 70 sweeps those of the last five seconds, and the one at their begin."""
    path = written(tmp_path, RECENT, behind="")
    (tmp_path / "work.toml").write_text(WORKLOAD + LAST_MINUTE)
    for measured in run(path, tmp_path).runs:
        (asked,) = (s for s in measured.run.plan["segments"] if s["kind"] == "ask")
        assert asked["now_ns"] == (69 - 40) * 10**9
        assert [row["value"] for row in measured.run.rows("answers")] == [str(6 * 100)]
        (verdict,) = (v for v in measured.verdicts if v.guard == "oracle agrees")
        assert verdict.outcome is Outcome.PASS


def recent_ns(folder: Path, *changes: tuple[str, str], behind: str = "") -> int:
    path = written(folder, RECENT, *changes, behind=behind)
    (folder / "work.toml").write_text(WORKLOAD + LAST_MINUTE)
    study = load_study(str(path), engines=["sqlite"])
    plan = plan_study(study, {"sqlite": server("sqlite")})
    (asked,) = (o for o in plan.runs[0].plan["operations"] if o["name"] == "recent")
    gen = asked["params"][0]["gen"]
    assert gen["kind"] == "now_minus"
    return gen["ns"]


def test_now_is_behind_the_newest_row_that_was_loaded(tmp_path: Path) -> None:
    """4,000 rows of 100 series are 40 sweeps, a second each."""
    assert recent_ns(tmp_path) == (5 - 40) * 10**9


def test_rows_of_an_age_are_whole_sweeps(tmp_path: Path) -> None:
    """Of 2.5 s three sweeps: nothing that is so old is missing."""
    assert recent_ns(tmp_path, ("rows = { total = 4_000 }", "rows = { age_s = 2.5 }")) == 2 * 10**9


def test_what_asks_from_now_on_backwards_has_one_now(tmp_path: Path) -> None:
    again = '[[steps]]\nname = "later"\ndo = "read"\noperation = "recent"\ncalls = 3\n'
    with pytest.raises(UsageError, match=r"mixed\.tallies and later ask it at different data times"):
        recent_ns(tmp_path, behind=again)


def test_samples_begin_with_a_sweep(tmp_path: Path) -> None:
    part = ("rows = { total = 4_000 }", "rows = { total = 4_050 }")
    samples = (
        'rows = { total = 3_000 }\nbatch_rows = 100\nschedule = { mode = "constant", rate_per_s = 60 }',
        "samples = { count = 3 }",
    )
    with pytest.raises(UsageError, match="events has 4,050 rows then, which end within a sweep"):
        recent_ns(tmp_path, part, samples)


@pytest.mark.ci
def test_rows_that_are_loaded_older_than_is_kept_are_deleted_from_the_first_call_on(
    inrush: Inrush,
) -> None:
    """Half a second is loaded and 0.3 s are kept, so the deletes begin ahead of the clock."""
    said = inrush(
        "run", "telemetry-production", "sqlite", "--scale", "xs", "-P", "sizes.retention_s=0.3", "--json"
    )
    assert said.code in (0, 3), said.err
    run = next(r for r in Results(Path(said.json["run_dir"])).runs if r.plan["labels"]["engine"] == "sqlite")
    proofs = run.table("proofs").to_pylist()
    assert proofs and all(p["holds"] for p in proofs)
    # The last sweep is of 1.9 s.
    (left,) = {p["first_row"] for s in run.plan["segments"] for p in s.get("proofs", ()) if p["table"] == 0}
    assert left == 16 * 200


DELETES = """
[operations.expire]
kind = "execute"
table = "events"
params.before = { gen = "now_minus", seconds = 1 }
deletes_before = "before"
sql.default = "DELETE FROM {events} WHERE time < :before"
[operations.expire_too]
kind = "execute"
table = "events"
params.before = { gen = "now_minus", seconds = 2 }
deletes_before = "before"
sql.default = "DELETE FROM {events} WHERE time < :before"
"""
SAMPLES = (
    'rows = { total = 3_000 }\nbatch_rows = 100\nschedule = { mode = "constant", rate_per_s = 60 }',
    "samples = { count = 3 }",
)
EXPIRING = '[steps.roles.expiring]\noperations = { expire = 1, expire_too = 1 }\nschedule = { mode = "constant", rate_per_s = 2 }\nuntil = "writers"\n'


@pytest.mark.parametrize(
    ("behind", "said"),
    [
        ('[[steps]]\nname = "later"\ndo = "roles"\nseconds = 3\n'
         + EXPIRING.replace("expire = 1, expire_too = 1", "expire = 1").replace('until = "writers"\n', "calls = 3\n"),
         "deletes by age where data time is the clock's"),
        (EXPIRING, "expire deletes rows of events too, and what is left follows from one"),
    ],
)  # fmt: skip
def test_what_is_left_of_deletes_follows_from_one_that_runs_beside_the_samples(
    tmp_path: Path, behind: str, said: str
) -> None:
    path = written(tmp_path, SAMPLES, behind=behind)
    (tmp_path / "work.toml").write_text(WORKLOAD + DELETES)
    with pytest.raises(UsageError) as refused:
        study = load_study(str(path), engines=["sqlite"])
        plan_study(study, {"sqlite": server("sqlite")})
    assert said in str(refused.value)


def test_rows_that_are_not_sweep_after_sweep_move_no_clock(tmp_path: Path) -> None:
    path = written(tmp_path, RECENT)
    (tmp_path / "work.toml").write_text(WORKLOAD + LAST_MINUTE)
    workload = load_study(str(path)).workload
    assert ahead_s(workload, "recent", {"events": 4_000}) == 40
    for of in ({"chunks": Chunks(7, "survey", 10)}, {"files": FileSource(("a.csv",), "csv")}):
        table = replace(workload.tables["events"], **of)
        other = replace(workload, tables={**workload.tables, "events": table})
        assert ahead_s(other, "recent", {"events": 2**62}) == 0


def test_an_age_is_of_rows_that_follow_sweep_after_sweep(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        ('table = "events"\nrows = { total = 4_000 }', 'table = "pieces"\nrows = { age_s = 9 }'),
        behind="",
    )
    (tmp_path / "work.toml").write_text(
        WORKLOAD
        + """
[tables.pieces]
chunks = { files = 20, run_rows = 50 }
identity = ["k"]
columns = [{ name = "k", type = "i64", gen = "chunk", part = "key" }]
"""
    )
    changed = path.read_text()
    path.write_text(changed[: changed.index('[[steps]]\nname = "mixed"')].replace("mixed.writers.", "fill."))
    with pytest.raises(UsageError, match="rows of pieces are not sweep after sweep"):
        study = load_study(str(path), engines=["sqlite"])
        plan_study(study, {"sqlite": server("sqlite")})

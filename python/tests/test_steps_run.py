"""Runs with steps on real embedded engines: what each step leaves in the tables, its figures, and what guards say of it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from inrush.analysis.answer import answer
from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Outcome, Verdict
from inrush.engines.base.instance import Cold, NotCold
from inrush.engines.servers import page_cache
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.guards.steps import cut_step
from inrush.report.export import exported
from inrush.report.figures import figures as figures_of
from inrush.report.step_table import steps_table
from inrush.report.steps import step_bars
from inrush.results.store import Results
from inrush.run.call import StudyCall
from inrush.run.preflight import admit
from inrush.run.prepare import prepare
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from inrush.stats.steps import of_step, step_windows
from tests.steps import STUDY, run_study_file, write_study
from tests.undisturbed import undisturbed


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """load → read → statement → settle → read → cold → read, once on each engine."""
    folder = tmp_path_factory.mktemp("steps")
    with undisturbed():
        return analyse(study_record(Results(run_study_file(write_study(folder), folder))))


def run_on(analysis: Analysis, engine: str) -> RunRecord:
    return next(m.run for m in analysis.runs if m.run.engine == engine and m.run.block > 0)


def figures(analysis: Analysis, engine: str) -> Mapping[str, float]:
    return next(m.figures for m in analysis.runs if m.run.engine == engine and m.run.block > 0)


def with_rows(run: RunRecord, **rows: Any) -> RunRecord:
    """The run with other rows in some of its tables."""
    tables = {name: pa.Table.from_pylist(found, run.tables[name].schema) for name, found in rows.items()}
    return replace(run, tables={**run.tables, **tables}, _rows={})


def verdict(analysis: Analysis, engine: str, guard: str) -> Verdict:
    found = next(m.verdicts for m in analysis.runs if m.run.engine == engine and m.run.block > 0)
    return next(v for v in found if v.guard == guard)


ENGINES = ("sqlite", "duckdb")
STEPS = ["load", "bare", "index", "rest", "indexed", "chill", "cold"]


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_run_one_after_the_other_in_the_order_of_the_file(finished: Analysis, engine: str) -> None:
    windows = step_windows(run_on(finished, engine))
    assert list(windows) == STEPS
    times = [t for window in windows.values() for t in window]
    assert times == sorted(times)


@pytest.mark.parametrize("engine", ENGINES)
def test_figures_are_of_one_step_and_named_by_it(finished: Analysis, engine: str) -> None:
    found = figures(finished, engine)
    assert {name.split(".")[0] for name in found} == set(STEPS)
    assert found["load.rows"] == 20_000
    assert [found[f"{step}.latency_n"] for step in ("bare", "indexed", "cold")] == [10, 10, 10]
    assert found["index.statements"] == 2
    assert found["rest.duration_s"] >= 0.2
    windows = step_windows(run_on(finished, engine))
    for step, (start, end) in windows.items():
        assert found[f"{step}.duration_s"] == pytest.approx((end - start) / 1e9)


def test_sizes_before_and_after_a_step_say_what_it_added(finished: Analysis) -> None:
    found = figures(finished, "sqlite")
    assert found["load.after_bytes"] > found["load.before_bytes"]
    assert found["index.grown_bytes"] == found["index.after_bytes"] - found["index.before_bytes"] > 0
    assert found["index.before_bytes"] == found["load.after_bytes"]
    assert found["rest.grown_bytes"] == 0


def test_what_a_row_costs_the_threads_and_the_process_are_two_figures(finished: Analysis) -> None:
    """Looks at the process come late on a busy machine, and would miss what it computed in a load of milliseconds."""
    run, found = run_on(finished, "duckdb"), figures(finished, "duckdb")
    start, end = step_windows(run)["load"]
    looks = [
        {"role": "client", "t_ns": t_ns, "metric": "cpu_s", "device": "", "value": value}
        for t_ns, value in ((start, 10.0), (end, 14.0))
    ]
    watched = figures_of_run(with_rows(run, resources=looks))
    assert watched["load.client_process_cpu_us_per_row"] == pytest.approx(4e6 / found["load.rows"])
    assert watched["load.client_cpu_us_per_row"] == found["load.client_cpu_us_per_row"] > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_each_statement_of_a_step_is_timed(finished: Analysis, engine: str) -> None:
    run = run_on(finished, engine)
    rows = run.rows("steps")
    assert [(r["step"], r["statement"], r["ended_by"]) for r in rows] == [
        ("index", 0, "work"),
        ("index", 1, "work"),
    ]
    assert rows[0]["text"].startswith("CREATE INDEX")
    start, end = step_windows(run)["index"]
    assert (
        start <= rows[0]["start_ns"] <= rows[0]["end_ns"] <= rows[1]["start_ns"] <= rows[1]["end_ns"] <= end
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_by_itself_has_its_own_rows_alone(finished: Analysis, engine: str) -> None:
    run = run_on(finished, engine)
    for step in ("load", "bare", "cold"):
        view = of_step(run, step)
        assert {r["role"] for r in view.rows("repetitions")} == {step}
        assert {r["role"] for r in view.rows("hist")} == {step}
        whole, own = run.plan["segments"], view.plan["segments"]
        # Each in its place, by which tables name it; alone it needs no name of its step.
        unnamed = [{k: v for k, v in s.items() if k != "step"} for s in whole]
        assert [s == mine for s, mine in zip(unnamed, own, strict=True)] == [
            s.get("step") == step for s in whole
        ]
    assert of_step(run, "rest").rows("repetitions") == []


@pytest.mark.parametrize("engine", ENGINES)
def test_guards_pass_and_name_the_step(finished: Analysis, engine: str) -> None:
    cold = verdict(finished, engine, "cold was cold")
    assert (cold.outcome, cold.sentence.startswith("Step chill: database closed")) == (Outcome.PASS, True)
    assert verdict(finished, engine, "rows proven").outcome is Outcome.PASS
    assert verdict(finished, engine, "answers right").outcome is Outcome.PASS
    assert "Step" in verdict(finished, engine, "Little's law").sentence
    assert finished.valid


def test_the_report_begins_with_the_time_line_and_has_a_row_for_each_step(finished: Analysis) -> None:
    decided = answer(finished)
    drawn = figures_of(finished, decided)
    assert drawn[0].name == "steps-0"
    bars = step_bars(run_on(finished, "sqlite"))
    assert [bar["step"] for bar in bars] == STEPS
    assert bars[0]["t"] == 0
    assert all(bar["t"] <= bar["end"] for bar in bars)
    rows = steps_table(finished)
    assert all(rows.count(f">{step}<") >= 2 for step in STEPS), "once for each engine"
    assert {"index.duration_s", "load.after_bytes"} <= set(exported(finished.runs[0].figures))


@pytest.mark.parametrize("engine", ENGINES)
def test_the_clients_own_share_is_known_of_each_step(finished: Analysis, engine: str) -> None:
    found = figures(finished, engine)
    for step in ("load", "bare", "indexed", "cold"):
        assert 0 < found[f"{step}.instrument_share"] <= 1
        assert found[f"{step}.engine_busy_cores"] >= 0


@pytest.mark.ci
def test_a_statement_past_its_limit_is_cancelled_and_what_it_left_is_said(tmp_path: Path) -> None:
    """On both engines the rows are proven after it, and figures before it stand."""
    study = STUDY.replace('operation = "index"', 'operation = "endless"\nlimit_s = 0.5', 1)
    found = analyse(study_record(Results(run_study_file(write_study(tmp_path, study), tmp_path))))
    for engine in ENGINES:
        (row,) = run_on(found, engine).rows("steps")
        assert row["ended_by"] == "limit"
        assert 0.5 <= (row["end_ns"] - row["start_ns"]) / 1e9 < 10
        said = verdict(found, engine, "ended as planned")
        assert said.outcome is Outcome.INVALID
        assert not said.hides
        assert "Step index was cancelled at its limit" in said.sentence
        assert "0 statements had ended, `CREATE TABLE slow" in said.sentence
        assert "tables and indexes held" in said.sentence
        assert said.breaks("index.duration_s")
        assert said.breaks("indexed.latency_p50_s")
        assert not said.breaks("bare.latency_p50_s")
        assert verdict(found, engine, "rows proven").outcome is Outcome.PASS


def test_a_statement_that_its_cancel_did_not_end_is_not_called_cancelled(finished: Analysis) -> None:
    run = run_on(finished, "sqlite")
    found = figures(finished, "sqlite")
    segments = [
        {**s, "ended_by": "limit"} if s["step"] == "index" and s["kind"] == "statement" else s
        for s in run.rows("segments")
    ]

    def said(*ends: str) -> str:
        rows = [{**row, "ended_by": end} for row, end in zip(run.rows("steps"), ends, strict=True)]
        verdict = cut_step(with_rows(run, segments=segments, steps=rows), found, "ended as planned")
        assert verdict is not None and verdict.outcome is Outcome.INVALID
        return verdict.sentence

    assert said("work", "limit").startswith("Step index was cancelled at its limit, ")
    goes_on = said("work", "running")
    assert goes_on.startswith("Step index was to be cancelled at its limit and goes on in the server, ")
    assert "1 statement had ended, `ANALYZE` had not" in goes_on
    assert said("work", "unknown").startswith("Step index was left at its limit, and the server may go on")


@pytest.mark.slow
def test_a_step_shorter_than_the_time_between_two_looks_has_figures_of_its_own_time(tmp_path: Path) -> None:
    """Its looks may come as late as a tenth of it: a load of milliseconds would lose them to a busy machine."""
    study = STUDY.replace("watch_s = 0.1", "watch_s = 600").replace("total = 20_000", "total = 400_000")
    study = study.replace("seconds = 0.2", "seconds = 0.5").replace("calls = 10", "calls = 40")
    found = analyse(study_record(Results(run_study_file(write_study(tmp_path, study), tmp_path))))
    for engine in ENGINES:
        of = figures(found, engine)
        assert {f"{step}.client_busy_cores" for step in STEPS} <= set(of), "looked at when it began and ended"
        assert of["rest.client_busy_cores"] < of["load.client_busy_cores"] / 2
        assert of["load.client_write_bytes"] > 0
        # What lies between two looks is of no step.
        run = run_on(found, engine)
        looks = run.tables["resources"]
        start, end = step_windows(run)["rest"]
        inside = pc.and_(pc.greater(looks["t_ns"], start - 10**8), pc.less(looks["t_ns"], end + 10**8))
        blind = replace(run, tables={**run.tables, "resources": looks.filter(pc.invert(inside))}, _rows={})
        assert "rest.client_busy_cores" not in figures_of_run(blind)
        assert "rest.client_read_bytes" not in figures_of_run(blind)


@pytest.mark.slow
def test_a_read_that_is_cut_at_its_limit_leaves_the_proofs_their_time(tmp_path: Path) -> None:
    """Reading 400,000 rows back takes longer than the limit of the read."""
    study = STUDY.replace("total = 20_000", "total = 400_000").replace(
        'operation = "one"\ncalls = 10', 'operation = "one"\ncalls = 100000000\nlimit_s = 0.2', 1
    )
    found = analyse(study_record(Results(run_study_file(write_study(tmp_path, study), tmp_path))))
    for engine in ENGINES:
        assert verdict(found, engine, "rows proven").outcome is Outcome.PASS
        assert verdict(found, engine, "ended as planned").breaks("bare.latency_p50_s")
        assert not verdict(found, engine, "ended as planned").breaks("load.rows_per_s")


@pytest.mark.slow
def test_every_step_up_to_the_next_read_is_as_warm_as_a_cold_step_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_cache, "forget", lambda folder: None)
    monkeypatch.setattr(page_cache, "COLD_BYTES", 0)
    study = STUDY.replace(
        '[[steps]]\nname = "index"', '[[steps]]\nname = "early"\ndo = "cold"\n[[steps]]\nname = "index"'
    )
    found = analyse(study_record(Results(run_study_file(write_study(tmp_path, study), tmp_path))))
    said = verdict(found, "sqlite", "cold was cold")
    assert said.breaks("index.duration_s") and said.breaks("indexed.latency_p50_s")
    assert not said.breaks("bare.latency_p50_s")


@pytest.mark.slow
def test_a_cold_step_that_could_not_be_is_said_of_the_step_that_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_cache, "forget", lambda folder: None)
    monkeypatch.setattr(page_cache, "COLD_BYTES", 0)
    found = analyse(study_record(Results(run_study_file(write_study(tmp_path), tmp_path))))
    said = verdict(found, "sqlite", "cold was cold")
    assert said.outcome is Outcome.INVALID
    assert "Step chill was to make the engine cold and did not" in said.sentence
    assert "Read cold as warm" in said.sentence
    assert said.breaks("cold.latency_p50_s")
    assert not said.breaks("indexed.latency_p50_s")
    assert verdict(found, "sqlite", "ended as planned").outcome is Outcome.PASS


def test_files_that_a_process_holds_open_are_not_called_cold(tmp_path: Path) -> None:
    file = tmp_path / "pages"
    file.write_bytes(os.urandom(4 << 20))
    with file.open("rb"):
        held = page_cache.cold_files(tmp_path)
    assert isinstance(held, NotCold)
    assert f"process {os.getpid()} has files" in held.reason
    assert isinstance(page_cache.cold_files(tmp_path), Cold)
    assert page_cache.of(tmp_path).cached_bytes == 0


@pytest.mark.parametrize(
    ("begun", "remedy"), [(False, "inrush did not start this server"), (True, "written by root only")]
)
def test_cold_and_restart_of_a_server_are_refused_when_planned(
    begun: bool, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_cache, "can_drop", lambda: False)
    study = STUDY.replace('do = "cold"', 'do = "cold"\n[[steps]]\nname = "anew"\ndo = "restart"')
    where = {"start": ("postgresql",)} if begun else {"targets": ("postgresql://nobody@127.0.0.1:1/none",)}
    with pytest.raises(UsageError) as refused:
        admit(prepare(StudyCall(str(write_study(tmp_path, study)), **where)), tmp_path, tmp_path)  # type: ignore[arg-type]
    (problem,) = refused.value.problems  # one, however many steps it is of
    place, kind = ("steps[5].do", "cold") if begun else ("steps[5].do, steps[6].do", "cold or restart")
    assert (problem.key, problem.value) == (place, kind) and remedy in problem.remedy
    assert begun or problem.remedy.endswith("or leave the steps out")


def examples(folder: Path, blocks: int) -> tuple[Path, list[str]]:
    """The study and the workload of the documentation, written to a folder, and the blocks that follow them."""
    page = (Path(__file__).parents[2] / "docs" / "steps.md").read_text()
    study, workload, *parts = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[:blocks]
    (folder / "example.toml").write_text(study)
    (folder / "work.toml").write_text(workload)
    return folder / "example.toml", parts


@pytest.mark.ci
def test_the_example_of_several_roles_runs_with_the_study_and_the_workload_before_it(tmp_path: Path) -> None:
    path, (step, more) = examples(tmp_path, 4)
    head, preset, rest = path.read_text().partition("\n[scale.xs]")
    head = head.replace('["duckdb", "sqlite"]', '["sqlite"]').replace("count = 3", "pilot = false, count = 1")
    path.write_text(f"{head}\n{step}{preset}{rest.replace('[10_000, 40_000]', '[10_000]')}")
    with (tmp_path / "work.toml").open("a") as workload:
        workload.write(f"\n{more}")
    found = analyse(study_record(Results(run_study_file(path, tmp_path, scale="xs"))))
    mine = figures(found, "sqlite")
    assert mine["mixed.writers.rows"] == 100_000 and mine["mixed.users.sessions"] == 4
    assert mine["mixed.users.latency_n"] > 0 and mine["mixed.users.wrong"] == 0


@pytest.mark.slow
def test_the_example_of_the_documentation_runs_at_xs(tmp_path: Path) -> None:
    path, _ = examples(tmp_path, 2)
    found = analyse(study_record(Results(run_study_file(path, tmp_path, scale="xs"))))
    assert found.valid
    decided = answer(found)
    assert decided is not None
    assert decided.figure == "cold.latency_p50_s"
    assert len(found.points) == 4
    assert figures(found, "sqlite")["bare.latency_n"] == 5, "a preset changes a step by its name"

"""A study that is resumed goes on as it was begun: where its servers lie, how its client runs, what its rows survive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inrush.analysis.points import Point
from inrush.analysis.verdicts import Outcome, Verdict
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.guards.run import guard_study
from inrush.results.schema import RESULT_SCHEMA
from inrush.results.store import Store, StudyFolder
from inrush.results.store.files import write_json
from inrush.run.call import StudyCall
from inrush.run.prepare import unfinished
from inrush.run.resume import resumed
from inrush.stats.record import RunRecord, StudyRecord
from tests import synthetic
from tests.terminal import Inrush

GUARD = "same conditions throughout"
TINY = (
    "quickstart",
    "sqlite",
    "--scale",
    "xs",
    "-P",
    "batch_rows=1000",
    "-P",
    "repeats={count=2, confirm=0}",
)
TRUTH = {(engine, b): 2.0 for engine in ("postgresql", "sqlite") for b in (200, 1000)}
NOWHERE = StudyCall("")


def mixed(change: dict[str, Any], second: bool = True) -> StudyRecord:
    """A study whose PostgreSQL has other conditions from the third block on."""
    record = synthetic.study(TRUTH, doc={"unequal_durability": True})

    def changed(run: RunRecord) -> RunRecord:
        if run.engine != "postgresql" or run.block < 3 or not second:
            return run
        settings = change.get("settings")
        tables = {**run.tables, "settings": synthetic.table("settings", settings)} if settings else run.tables
        return replace(
            run, env={**run.env, **change.get("env", {})}, summary={**run.summary, **change.get("doc", {})},
            tables=tables, _rows={},
        )  # fmt: skip

    return replace(record, runs=[changed(run) for run in record.runs])


def verdict(record: StudyRecord) -> Verdict:
    (found,) = [v for v in guard_study(analyse(record)) if v.guard == GUARD]
    return found


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"env": {"data_filesystem": "tmpfs"}}, "filesystem of its data is ext4 and tmpfs"),
        ({"env": {"data_device": "sdb1"}}, "device of its data is not known and sdb1"),
        ({"doc": {"durability": {"survives": "PROCESS_CRASH"}}}, "power loss and process crash"),
        ({"settings": [{"name": "version", "value": "postgresql 2.0"}]}, "postgresql 1.0 and postgresql 2.0"),
        (
            {"doc": {"settings_asked": {"shared_buffers": "1GB"}}},
            "shared_buffers asked is as shipped and 1GB",
        ),
    ],
)
def test_runs_of_one_engine_under_other_conditions_are_invalid(change: dict[str, Any], says: str) -> None:
    record = mixed(change)
    found = verdict(record)
    assert found.outcome is Outcome.INVALID and says in found.sentence, found.sentence
    assert "postgresql" in found.sentence and "batch_rows" in found.sentence
    analysis = analyse(record)
    assert not analysis.valid
    of: dict[str, list[Point]] = {}
    for point in analysis.points:
        of.setdefault(str(dict(point)["engine"]), []).append(point)
    assert all(found.breaks("writers.makespan_s", p) for p in of["postgresql"])
    assert not any(found.breaks("writers.makespan_s", p) for p in of["sqlite"])


def test_the_same_conditions_pass_and_what_a_point_asks_for_may_differ() -> None:
    assert verdict(mixed({}, second=False)).outcome is Outcome.PASS
    record = synthetic.study(TRUTH)
    # Commits that wait for no disk are asked for by a point's own options.
    runs = [
        replace(
            run,
            plan={**run.plan, "target": {**run.plan["target"], "options": {"synchronous_commit": "off"}}},
            summary={**run.summary, "durability": {"survives": "PROCESS_CRASH"}},
        )
        if run.point["batch_rows"] == 200
        else run
        for run in record.runs
    ]
    assert verdict(replace(record, runs=runs)).outcome is Outcome.PASS


def test_servers_that_a_study_has_started_with_other_settings_have_conditions_of_their_own() -> None:
    record = synthetic.study(TRUTH, doc={"unequal_durability": True})

    def started(run: RunRecord, said: bool) -> RunRecord:
        if run.engine != "postgresql":
            return run
        asked = {"shared_buffers": "1GB" if run.point["batch_rows"] == 200 else "64MB"}
        labels = {**run.labels, **({"start": asked} if said else {})}
        summary = {**run.summary, "settings_asked": asked, "labels": labels}
        return replace(run, summary=summary, _rows={})

    for said, outcome in ((True, Outcome.PASS), (False, Outcome.INVALID)):
        runs = [started(run, said) for run in record.runs]
        assert verdict(replace(record, runs=runs)).outcome is outcome


def begun(
    root: Path, call: StudyCall, sealed: str | None = None, data_dir: Path | None = None
) -> StudyFolder:
    """A study that was interrupted; `sealed`: engine of its one sealed run."""
    folder = Store(root).new_study("study", {"call": call.document()})
    if sealed is not None:
        run = folder.path / "b01-0000-x"
        run.mkdir()
        write_json(run / "run.json", {"schema": RESULT_SCHEMA, "labels": {"engine": sealed}})
        write_json(run / "plan.json", {"target": {"engine": sealed}})
        write_json(run / "env.json", {"data_dir": str(data_dir)} if data_dir else {})
    return folder


def test_everything_of_the_call_is_remembered(tmp_path: Path) -> None:
    call = StudyCall(
        "quickstart", "xs", ("batch_rows=5",), (), ("postgresql",), 7, True, True, data=str(tmp_path / "d")
    )
    folder = begun(tmp_path / "results", call)
    assert resumed(folder, NOWHERE) == call
    assert f"--data {tmp_path / 'd'}" in call.command() and "--realtime" in call.command()


def test_another_data_folder_is_refused_once_a_run_is_sealed(tmp_path: Path) -> None:
    call = StudyCall("quickstart", start=("postgresql",), data=str(tmp_path / "d"))
    other = StudyCall("", data=str(tmp_path / "other"))
    assert resumed(begun(tmp_path / "a", call), other).data == str(tmp_path / "other")
    folder = begun(tmp_path / "b", call, "postgresql", tmp_path / "d" / "postgresql")
    with pytest.raises(UsageError, match=f"sealed runs lie in {tmp_path / 'd'}"):
        resumed(folder, other)
    assert resumed(folder, StudyCall("", data=str(tmp_path / "d"))).data == str(tmp_path / "d")


def test_results_that_do_not_name_the_folder_go_on_where_their_sealed_runs_lie(tmp_path: Path) -> None:
    call = StudyCall("quickstart", start=("postgresql",))
    folder = begun(tmp_path / "b", call, "postgresql", tmp_path / "d" / "postgresql")
    assert resumed(folder, NOWHERE).data == str(tmp_path / "d")
    with pytest.raises(UsageError, match="sealed runs lie in"):
        resumed(folder, StudyCall("", data=str(tmp_path / "other")))


@pytest.mark.parametrize(
    "given",
    [
        StudyCall("", realtime=True),
        StudyCall("", scale="m"),
        StudyCall("", seed=3),
        StudyCall("", seed=0),
        StudyCall("", overrides=("a=1",)),
        StudyCall("", start=("mysql",)),
    ],
)
def test_what_differs_from_the_call_is_refused(tmp_path: Path, given: StudyCall) -> None:
    folder = begun(tmp_path, StudyCall("quickstart", start=("postgresql",)))
    with pytest.raises(UsageError, match="differs from the original run"):
        resumed(folder, given)


@pytest.mark.ci
def test_a_real_study_is_resumed_where_it_was_begun(inrush: Inrush, tmp_path: Path) -> None:
    data = tmp_path / "disk"
    assert inrush("run", *TINY, "--data", str(data)).code == 0
    path = inrush.store.latest().path
    doc = inrush.store.latest().doc
    assert doc["call"]["data"] == str(data) and f"--data {data}" in doc["command"]
    # The last run is made again, as after an interruption.
    last = doc["planned"][-1]["run"]
    (path / last / "run.json").unlink()
    StudyFolder(path).write({"status": "interrupted"})
    refused = inrush("run", "--resume", "--data", str(tmp_path / "other"))
    assert refused.code == 2 and str(data) in refused.err and "Traceback" not in refused.err
    said = inrush("run", "--resume")
    assert said.code == 0 and f"resumes {path.name}: " in said.err, said.err
    from inrush.results.store import Results

    runs = [r for r in Results(path).runs if r.labels["engine"] == "sqlite"]
    assert len(runs) > 1 and {r.env["data_dir"] for r in runs} == {str(data / path.name)}
    assert list(data.iterdir()) == []  # nothing of it is left


def test_with_nothing_to_resume_it_is_said_what_is_there_and_what_that_lacks(tmp_path: Path) -> None:
    def studies(*docs: dict[str, str]) -> Any:
        held = [SimpleNamespace(path=tmp_path / f"s{n}", doc=doc) for n, doc in enumerate(docs)]
        return SimpleNamespace(studies=lambda: held, root=tmp_path)

    done = {"status": "done", "verdict": "valid"}
    for store, says in (
        (studies(), "nothing to resume, no study is there"),
        (studies(done), "all runs of every study there are made"),
        (studies(done, {"status": "done"}), "no verdict is kept of s1: `inrush report s1` writes it"),
    ):
        with pytest.raises(UsageError, match=f"{says}$"):
            unfinished(store, None)
    assert unfinished(studies({"status": "running"}, done), None).path == tmp_path / "s0"


def test_the_report_names_every_disk_of_an_engine() -> None:
    from inrush.report.conditions import facts_by_engine

    detail = facts_by_engine(analyse(mixed({"env": {"data_filesystem": "tmpfs"}})))["data_filesystem"]
    assert "ext4" in detail and "tmpfs</code> (postgresql)" in detail


@pytest.mark.slow
def test_a_study_file_is_found_again_from_another_folder(
    inrush: Inrush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.csv").write_text("id,x\n1,2\n2,3\n")
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    assert inrush("new", "mine", "--from", "mine.csv").code == 0
    begun = inrush(
        "run",
        "mine.toml",
        "sqlite",
        "--scale",
        "xs",
        "-P",
        "repeats={count=1, confirm=0}",
        "-P",
        "batch_rows=1000",
    )
    (study,) = inrush.store.studies()
    assert str(tmp_path / "mine.toml") in study.doc["command"], begun.err
    study.write({"status": "interrupted"})
    monkeypatch.chdir(elsewhere)
    said = inrush("run", "--resume")
    assert "no such file" not in said.err and said.code == begun.code, said.err

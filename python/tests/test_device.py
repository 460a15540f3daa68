"""Records of a file on a storage: how they are read and planned, what is refused, and a run to its figures."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.analysis.verdicts import Outcome
from inrush.engines import server
from inrush.engines.device import DeviceFile
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.guards.notes import data_larger_than_caches
from inrush.machine.device_probe import opens_direct
from inrush.plan.io import weights_of
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.report.plan_text import plan_lines
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.study.reading import load_study, parse_study
from inrush.study.study import Known, Study
from tests import synthetic
from tests.terminal import Inrush

WORKLOAD: dict[str, Any] = {
    "schema": 1,
    "epoch": "2026-01-01T00:00:00Z",
    "sizes": {"file_bytes": 1 << 20},
    "tables": {},
    "operations": {"record": {"kind": "io", "file_bytes": "file_bytes"}},
}
IO: dict[str, Any] = {"does": "mixed", "read_share": 0.7, "order": "random", "record_bytes": 4096}
STUDY: dict[str, Any] = {
    "schema": 1,
    "title": "t",
    "question": "q",
    "expect": "e",
    "workload": "work.toml",
    "kind": "steps",
    "engines": ["device"],
    "steps": [
        {"name": "mixed", "do": "io", "operation": "record", "sessions": 2, "calls": 10, "io": IO},
    ],
}


def parsed(study: dict[str, Any] = STUDY, workload: dict[str, Any] = WORKLOAD, **changed: Any) -> Study:
    engines = {name: server(name).methods for name in ("device", "sqlite", "null")}
    tree = copy.deepcopy({**study, **changed})
    return parse_study(
        tree,
        copy.deepcopy(workload),
        name="s",
        file="s.toml",
        workload_file="work.toml",
        known=Known(engines),
    )


def planned(study: Study) -> StudyPlan:
    return plan_study(study, {name: server(name) for name in study.engines})


def steps(**changed: Any) -> list[dict[str, Any]]:
    """The one step of the study, with its `io` changed."""
    return [{**STUDY["steps"][0], "io": {**IO, **changed}}]


def refused(*args: Any, **changed: Any) -> list[str]:
    with pytest.raises(UsageError) as error:
        planned(parsed(*args, **changed))
    return [str(problem) for problem in error.value.problems]


def test_what_a_call_does_stands_in_directives_and_the_file_is_laid_out_before() -> None:
    plan = planned(parsed()).runs[0].plan
    found = {o["name"]: (o["kind"], o["text"], o["directives"]) for o in plan["operations"]}
    io = {"order": "random", "record_bytes": 4096, "file_bytes": 1 << 20}
    assert found == {
        "record/mixed/read": ("execute", "", {"io": {"does": "read", **io}}),
        "record/mixed/write": ("execute", "", {"io": {"does": "write", **io}}),
    }
    labels = [segment["label"] for segment in plan["segments"]]
    create, mixed = (plan["segments"][labels.index(name)] for name in ("create", "mixed"))
    (statement,) = create["statements"]
    assert statement["directives"] == {"file": {"kind": "lay_out", "bytes": 1 << 20}}
    (role,) = mixed["roles"]
    weights = [(o["operation"], o["weight"]) for o in role["operations"]]
    assert weights == [("record/mixed/read", 7), ("record/mixed/write", 3)]
    assert labels.index("create") < labels.index("mixed")


def test_the_run_that_prices_the_client_is_the_same_for_every_size_of_a_record() -> None:
    made = planned(parsed(steps=steps(record_bytes="@b"), factors={"b": [4096, 8192]}))
    (price,) = made.calibrations
    assert price.plan["target"]["engine"] == "null"
    assert [o.get("directives") for o in price.plan["operations"]] == [None, None]
    assert len(set(made.calibrated_by.values())) == 1 and len(made.calibrated_by) == 2


@pytest.mark.parametrize(
    ("share", "weights"), [(0.7, (7, 3)), (0.5, (1, 1)), (0.123, (123, 877)), (1e-9, (1, 999))]
)
def test_a_share_of_reads_is_a_pair_of_weights_and_neither_is_none(
    share: float, weights: tuple[int, int]
) -> None:
    assert weights_of("mixed", share) == {"read": weights[0], "write": weights[1]}
    assert weights_of("write", 0.0) == {"write": 1}


def test_all_mistakes_of_the_files_are_said_at_once() -> None:
    workload = copy.deepcopy(WORKLOAD)
    workload["operations"] |= {
        "odd": {"kind": "io", "file_bytes": 500},
        "none": {"kind": "io"},
        "said": {"kind": "io", "file_bytes": 4096, "sql": {"default": "SELECT 1"}},
        "query": {"kind": "query", "sql": {"default": "SELECT 1"}, "file_bytes": 4096},
    }
    step = STUDY["steps"][0]
    wrong = [
        {**step, "name": "a", "io": {**IO, "does": "rread"}},
        {**step, "name": "b", "io": {**IO, "record_bytes": 1000}},
        {**step, "name": "c", "io": {k: v for k, v in IO.items() if k != "read_share"}},
        {**step, "name": "d", "io": {**IO, "read_share": 1}},
        {**step, "name": "e", "io": {**IO, "does": "read"}},
        {**step, "name": "f", "io": {"does": "read"}},
        {**step, "name": "g", "operation": "query"},
        {"name": "h", "do": "read", "operation": "record", "calls": 1},
        {**step, "name": "i", "seconds": 3},
        {**step, "name": "j", "keys": "uniform"},
        {**step, "name": "k", "io": {**IO, "record_bytes": "@b"}},
    ]
    found = refused(workload=workload, steps=wrong, factors={"b": [4096, 4097]})
    said = "\n".join(found)
    for expected in (
        "operations.odd.file_bytes is 500; 500 bytes: the file has 4,096 at least",
        "operations.none is a table; write file_bytes",
        "operations.said.sql",
        "operations.query.file_bytes is 4096; only kind",
        "did you mean `read`?",
        "steps[1].io.record_bytes is 1000; direct I/O takes multiples of 4,096 bytes",
        "calls that are mixed need read_share",
        "steps[3].io.read_share is 1; some of each",
        "steps[4].io.read_share is 0.7; only calls that are mixed have it",
        "steps[5].io.order",
        "steps[5].io.record_bytes",
        'steps[6].operation is "query"; query is of kind query; it reads rows',
        'its step is do = "io"',
        "write calls = N or seconds = S",
        "steps[9].keys",
        "factors.b[1] is 4097; direct I/O takes multiples of 4,096 bytes",
    ):
        assert expected in said, f"{expected!r} is not in:\n{said}"
    assert len(found) == 16, "one message for each mistake"


def test_all_mistakes_of_points_are_said_at_once() -> None:
    big = {**steps(record_bytes="@b")[0], "sessions": "@n"}
    said = refused(
        steps=[big],
        factors={"b": [4096, 2 << 20], "n": [1, 4096]},
        options={"device": {"direct": "perhaps", "controller_cache_bytes": "1 GB"}},
    )
    expected = (
        "the file of operation record has 1,048,576 bytes; raise file_bytes",
        "4096 sessions hold 8.59 GB of records at once",
        "options.device.direct is perhaps; it is true or false",
        "options.device.controller_cache_bytes is 1 GB; it is a whole number of bytes",
    )
    assert [part for part in expected if part not in "\n".join(said)] == [], said
    assert len(said) == len(expected)


def test_a_session_has_one_call_in_flight() -> None:
    without = {key: value for key, value in STUDY.items() if key != "steps"}
    roles = {"users": {"operation": "record", "depth": 2, "io": IO}}
    (said,) = refused(without, kind="timed", schedule={"measure_s": 1}, roles=roles)
    assert "has 1 call in flight at most" in said
    del roles["users"]["io"]
    (said,) = refused(without, kind="timed", schedule={"measure_s": 1}, roles=roles)
    assert "roles.users" in said and "record is of kind io; write io = " in said


def test_records_are_of_no_database_and_rows_of_no_file() -> None:
    plan = planned(parsed(engines=["device", "sqlite"]))
    assert {run.labels["engine"] for run in plan.runs} == {"device"}
    (missing,) = plan.unsupported
    assert missing.engine == "sqlite" and "by the engine device" in missing.reason
    telemetry = load_study("telemetry-quickstart", "xs", engines=["device"])
    reasons = {point.reason for point in planned(telemetry).unsupported}
    assert len(reasons) == 1 and "has no tables" in reasons.pop()


def test_a_file_has_whole_blocks() -> None:
    workload = {**WORKLOAD, "sizes": {"file_bytes": 10_000}}
    (create,) = (
        s for s in planned(parsed(workload=workload)).runs[0].plan["segments"] if s["label"] == "create"
    )
    assert create["statements"][0]["directives"]["file"]["bytes"] == 8192


def test_direct_may_be_a_factor() -> None:
    plan = planned(parsed(options={"device": {"direct": "@direct"}}, factors={"direct": [True, False]}))
    assert {run.plan["target"]["options"]["direct"] for run in plan.runs} == {"true", "false"}


def test_a_plan_says_which_caches_its_file_is_large_enough_for() -> None:
    (note,) = planned(parsed()).runs[0].labels["notes"]
    assert "1.05 MB" in note and "at most 262 kB together" in note
    notes = planned(parsed(options={"device": {"direct": False}})).runs[0].labels["notes"]
    assert any("kernel's cache" in note for note in notes[1:])


def test_a_plan_in_text_speaks_of_the_file_and_of_no_tables() -> None:
    text = "\n".join(plan_lines(planned(parsed())))
    assert "s, records of a file of 1.05 MB (" in text and "rows written" not in text
    assert "creates tables" not in text and "none  1.05 MB" in text


@pytest.mark.parametrize(
    ("size", "options", "outcome", "words"),
    [
        (40 * 10**9, {}, Outcome.PASS, "A file of 40.0 GB, 10.0 GB of memory"),
        (40 * 10**9, {"controller_cache_bytes": "1"}, Outcome.NOTE, "File smaller than the caches"),
        (40 * 10**9 - 1, {}, Outcome.NOTE, "File smaller than the caches"),
        (40 * 10**9, {"direct": "false"}, Outcome.NOTE, "through the kernel's cache"),
    ],
)
def test_a_file_smaller_than_the_caches_is_noted(
    size: int, options: dict[str, str], outcome: Outcome, words: str
) -> None:
    io = {"does": "read", "order": "random", "record_bytes": 4096, "file_bytes": size}
    sizes = [{"segment": 0, "t_ns": 0, "name": "file", "value": str(size)}]
    run = synthetic.run("device", env={"mem_total_bytes": 10**10}, more={"sizes": sizes})
    plan = {
        **run.plan,
        "operations": [{"name": "record/read", "kind": "execute", "directives": {"io": io}}],
        "target": {"engine": "device", "url": "", "options": options},
    }
    verdict = data_larger_than_caches(replace(run, plan=plan), {})
    assert verdict is not None and verdict.outcome is outcome and words in verdict.sentence


def test_a_folder_that_cannot_hold_the_file_is_refused_before_the_first_run(
    inrush: Inrush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    words = ("run", "bulkindex-storage", "device", "--scale", "xs", "--data", str(folder))
    said = inrush(*words, "-P", "sizes.file_bytes=999_999_995_904")
    assert said.code == 2 and f"{folder}: has " in said.err and "999,999,995,904" in said.err, said.err
    monkeypatch.setattr("inrush.engines.device.opens_direct", lambda path: False)
    said = inrush(*words)
    assert said.code == 2 and f"{folder}: its filesystem has no direct I/O" in said.err, said.err
    assert DeviceFile().unfit(tmp_path, {"direct": "false"}, 4096) == ""
    assert not folder.exists() and not [path for path in tmp_path.iterdir() if "direct" in path.name]


def test_a_file_of_the_users_is_refused_and_not_touched(inrush: Inrush, tmp_path: Path) -> None:
    (own := tmp_path / "own").write_text("mine")
    said = inrush("run", "bulkindex-storage", f"device://{own}", "--scale", "xs")
    assert said.code == 2 and "write device, and --data DIR" in said.err, said.err
    assert own.read_text() == "mine"


@pytest.mark.ci
def test_a_study_of_a_disk_runs_to_its_figures(inrush: Inrush, tmp_path: Path) -> None:
    direct = "true" if opens_direct(tmp_path / "probe") else "false"
    (tmp_path / "probe").unlink()
    changes = [
        "sizes.file_bytes=8_388_608",
        "record_bytes=65536",
        "sessions=4",
        f"options.device.direct={direct}",
    ]
    changes += [f"steps.{name}.seconds=0.3" for name in ("read", "write", "mixed")]
    words = [word for change in changes for word in ("-P", change)]
    said = inrush(
        "run", "bulkindex-storage-random", "--scale", "xs", "--json", "--data", f"a={tmp_path}", *words
    )
    # 3: the machine was busy or the core is a debug build; what was read is right all the same.
    assert said.code in (0, 3), said.err
    results = Path(said.json["run_dir"])
    (found,) = analyse(study_record(Results(results))).runs
    summary, figures = found.run.summary, found.figures
    assert summary["status"] == "done" and summary["storage"]["name"] == "a"
    for step in ("read", "write", "mixed"):
        assert (
            figures[f"{step}.bytes"] == figures[f"{step}.ops"] * 65536 == figures[f"{step}.rows"] * 65536 > 0
        )
        assert figures[f"{step}.errors"] == 0 and figures[f"{step}.client_cpu_us_per_row"] > 0
    called = {row["op"] for row in found.run.rows("intervals") if row["role"] == "mixed"}
    assert called == {"record/mixed/read", "record/mixed/write"}
    outcomes = {v.guard: v.outcome for v in found.verdicts}
    assert outcomes["ended as planned"] is Outcome.PASS
    assert outcomes["data larger than caches"] is Outcome.NOTE
    assert not list(tmp_path.rglob("*.device")), "the file goes with its run"

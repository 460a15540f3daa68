"""`--input DIR`: the input files that a study makes lie there, and its device is watched beside that of the data."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inrush.commands.prove import Runs
from inrush.engines.servers import life
from inrush.errors import UsageError
from inrush.machine import host
from inrush.plan.cost import cost
from inrush.predict.proving import proving_call
from inrush.report.timeline import every_device
from inrush.results.store import Results, Store, StudyFolder
from inrush.run.call import Prepared, StudyCall
from inrush.run.preflight import admit
from inrush.run.prepare import call_from, prepare
from inrush.run.resume import resumed
from inrush.stats.devices import device_figures
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from inrush.study.files import INPUT, made_rows
from tests import synthetic
from tests.terminal import Inrush
from tests.test_pipeline_chunks import HEAD, PIPELINE, ROW_BYTES, ROWS, WITHOUT_CHUNKS, WORKLOAD

SORTED = """
kind = "steps"
layout = "pk"
answer = { kind = "comparison", of = "load.rows_per_s" }
[[steps]]
name = "sort"
do = "sort"
[[steps]]
name = "load"
do = "load"
table = "secondary_index"
rows = { total = 2_400 }
files = { way = "server_file", sorted = "sort" }
[[steps]]
name = "more"
do = "load"
table = "plain"
rows = { total = 1_000 }
pipeline = { files = 3 }
"""
DUCKDB = HEAD.replace('"sqlite", "duckdb"', '"duckdb"') + "record = { watch_s = 0.1 }\n"


def study(folder: Path, work: str = SORTED) -> str:
    (folder / "w.toml").write_text(WORKLOAD + WITHOUT_CHUNKS)
    (folder / "s.toml").write_text(DUCKDB + work)
    return str(folder / "s.toml")


def call(folder: Path, work: str = SORTED, **more: Any) -> StudyCall:
    return StudyCall(study(folder, work), input=str(folder / "in"), **more)


def prepared(folder: Path, work: str = SORTED, **more: Any) -> Prepared:
    (folder / "in").mkdir(exist_ok=True)
    return prepare(call(folder, work, **more))


def refused(of: Prepared, folder: Path) -> str:
    with pytest.raises(UsageError) as found:
        admit(of, folder / "data", folder)
    return str(found.value)


# --- a study with it


@pytest.mark.parametrize("work", [SORTED, PIPELINE])
@pytest.mark.ci
def test_files_lie_there_are_loaded_from_there_and_go_with_the_study(
    inrush: Inrush, tmp_path: Path, work: str
) -> None:
    place = tmp_path / "in"
    place.mkdir()
    said = inrush("run", study(tmp_path, work), "--input", str(place), "--data", str(tmp_path / "data"))
    assert said.code in (0, 3), said.err
    (folder,) = inrush.store.studies()
    record = study_record(Results(folder.path))
    (run,) = [run for run in record.runs if run.engine == "duckdb"]
    proofs = {row["item"]: row["holds"] for row in run.rows("proofs")}
    assert proofs["read_back"] and all(proofs.values()), proofs
    own = place / folder.path.name / "files"
    found = input_folders(run.plan)
    assert len(found) == (1 if work is PIPELINE else 5)
    assert {path for path in found if not path.is_relative_to(own)} == set()
    assert run.plan["watch"]["folders"][INPUT] == str(own)
    assert run.env["input_dir"] == str(place) and run.env["data_dir"] != run.env["input_dir"]
    assert run.env["input_filesystem"] and run.env["input_free_bytes"] > 0
    roles = {row["role"] for row in run.rows("resources") if row["metric"] == "dev_read_bytes"}
    assert {"host", INPUT} <= roles
    page = Results(folder.path).report_path.read_text()
    assert f"<code>{place}</code>" in page
    assert ("input disk, read" in page) == (work is SORTED)
    if work is SORTED:
        assert {row["step"] for row in run.rows("segments")} >= {"sort", "load", "more"}
    else:
        figures = figures_of_run(run)
        assert figures["input.device_read_bytes_per_s"] >= 0 and "data.device_write_bytes_per_s" in figures
    assert list(place.iterdir()) == [], "nothing is left with the user"
    assert "--input" in folder.doc["command"]


def input_folders(plan: Any) -> list[Path]:
    """Every folder of input files that a plan names."""
    found = [of["inputs"]["folder"] for of in plan.get("loads", {}).values()]
    for segment in plan["segments"]:
        found += [of["folder"] for of in segment.get("inputs", ())]
        found += [segment[end]["folder"] for end in ("from", "to") if end in segment]
        works = [role["work"] for role in segment.get("roles", ())]
        found += [work["input"]["folder"] for work in works if "input" in work]
    return [Path(one) for one in found]


@pytest.mark.slow
def test_without_it_files_lie_with_the_data_and_no_other_device_is_watched(
    inrush: Inrush, tmp_path: Path
) -> None:
    said = inrush("run", study(tmp_path, PIPELINE), "--data", str(tmp_path / "data"))
    assert said.code in (0, 3), said.err
    (folder,) = inrush.store.studies()
    (run,) = [run for run in study_record(Results(folder.path)).runs if run.engine == "duckdb"]
    assert input_folders(run.plan) == [tmp_path / "data" / folder.path.name / "files"]
    assert INPUT not in run.plan["watch"]["folders"]
    page = Results(folder.path).report_path.read_text()
    assert "disk, read" not in page and "input_dir" not in page
    assert not [key for key in run.env if key.startswith("input_")]
    assert not [figure for figure in figures_of_run(run) if ".device_" in figure]


def test_files_and_data_in_one_folder_of_the_user_are_as_without_it(tmp_path: Path) -> None:
    folder = Store(tmp_path / "results").new_study("study", {})
    folder.keep_data_in(tmp_path / "d")
    usual = folder.inputs_path
    folder.keep_inputs_in(tmp_path / "d")
    assert folder.inputs_path == usual == folder.files_path


def test_the_folder_of_a_study_that_ended_is_gone_and_what_is_not_its_own_stays(tmp_path: Path) -> None:
    folder = StudyFolder(Store(tmp_path / "results").new_study("study", {}).path)
    folder.keep_inputs_in(tmp_path / "in")
    (folder.inputs_path / "key").mkdir(parents=True)
    (tmp_path / "in" / "mine").touch()
    folder.leave_data()
    assert folder.inputs_path.is_dir(), "a resume goes on with them"
    folder.remove_files()
    folder.leave_data()
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["mine"]


# --- before it


def test_a_folder_that_is_not_there_or_is_none_is_refused_before_the_first_run(
    inrush: Inrush, tmp_path: Path
) -> None:
    words = ("run", study(tmp_path), "--input", str(tmp_path / "in"))
    said = inrush(*words)
    assert (said.code, said.err) == (
        2,
        f"inrush: {tmp_path / 'in'}: there is no such folder; make the folder for input files, or name another one with --input\n",
    ), said.err
    (tmp_path / "in").touch()
    assert "in: is a file; make the folder" in inrush(*words).err
    assert inrush.store.studies() == []


def test_a_folder_without_the_right_to_write_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found, allowed = prepared(tmp_path), os.access
    place = tmp_path / "in"
    monkeypatch.setattr(os, "access", lambda path, mode: path != place and allowed(path, mode))
    assert f"{place}: cannot be written; give rights" in refused(found, tmp_path)


def test_a_study_that_makes_no_files_has_no_use_for_it(inrush: Inrush, tmp_path: Path) -> None:
    said = inrush("run", "quickstart", "--scale", "xs", "--input", str(tmp_path))
    assert said.code == 2 and "quickstart makes no input files" in said.err
    assert "leave it out" in said.err


def test_a_server_that_reads_files_by_itself_must_be_able_to_enter_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 0o001 and folder.stat().st_uid == os.geteuid():
            folder.chmod(0o711)
    monkeypatch.setattr(life, "servant", lambda: life.User(65_534, 65_534))
    work = SORTED[: SORTED.index('[[steps]]\nname = "more"')]
    own = DUCKDB.replace('"duckdb"', '"postgresql"')
    monkeypatch.setattr("tests.test_input_folder.DUCKDB", own)
    found = prepared(tmp_path, work, start=("postgresql",))
    admit(found, tmp_path / "data", tmp_path)
    (tmp_path / "in").chmod(0o700)
    closed = f"which cannot enter {tmp_path / 'in'}, and postgresql reads input files by itself (server_file)"
    assert closed in refused(found, tmp_path)
    sent = prepared(tmp_path, work.replace("server_file", "client_file"), start=("postgresql",))
    admit(sent, tmp_path / "data", tmp_path)


def test_a_disk_with_less_room_than_its_files_take_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = prepared(tmp_path, PIPELINE)
    assert admit(found, tmp_path, tmp_path) == []
    monkeypatch.setattr(host, "free_bytes", lambda path: 1000 if path == tmp_path / "in" else 10**15)
    (line,) = admit(found, tmp_path, tmp_path)
    assert line == f"{tmp_path / 'in'}: 1.00 kB free; the study's input files take up to 72.0 kB there"


def test_files_of_the_forecast_are_counted_once_for_all_runs_that_load_them(tmp_path: Path) -> None:
    one = prepared(tmp_path, PIPELINE, overrides=("repeats.count=3",))
    assert cost(one.plan).input_bytes == ROWS * ROW_BYTES
    sizes = "factors.size = [4_500, 9_000]\n"
    two = PIPELINE.replace("file_bytes = 9000", 'file_bytes = "@size"').replace(
        "[pipeline]", f"{sizes}[pipeline]"
    )
    assert two != PIPELINE
    assert cost(prepared(tmp_path, two).plan).input_bytes == ROWS * ROW_BYTES * 3 / 2
    plain = PIPELINE.replace("secondary_index", "plain")
    some = plain.replace("pipelines = 2", 'pipelines = 2\nfiles = { total = "@n" }').replace(
        "[pipeline]", "factors.n = [2, 3]\n[pipeline]"
    )
    assert cost(prepared(tmp_path, some).plan).input_bytes == 3 * 9_000, "two of the three are the same files"
    steps = prepared(tmp_path).plan
    (run,) = steps.runs
    assert sorted((sort, rows) for (_, sort), (_, rows) in made_rows(run.plan).items()) == [
        (False, 1_000), (False, 2_400), (True, 2_400),
    ]  # fmt: skip
    without = prepared(
        tmp_path,
        SORTED.replace(', sorted = "sort"', "").replace('[[steps]]\nname = "sort"\ndo = "sort"\n', ""),
    )
    more = cost(steps).input_bytes - cost(without.plan).input_bytes
    assert more > 0 and more == pytest.approx(
        2 * 2_400 * (cost(without.plan).input_bytes - 1_000 * 12) / 2_400, abs=2
    )


def test_a_plan_says_how_much_is_made_there(inrush: Inrush, tmp_path: Path) -> None:
    said = inrush("plan", study(tmp_path, PIPELINE), "--input", str(tmp_path / "in"))
    assert f"makes input files of about 72.0 kB in {tmp_path / 'in'}" in said.out


# --- resumed and proven


def test_a_study_goes_on_with_its_folder_and_no_other(tmp_path: Path) -> None:
    made = call(tmp_path)
    assert call_from(made.document()) == made and made.command().endswith(f"--input {tmp_path / 'in'}")
    folder = Store(tmp_path / "results").new_study("study", {"call": made.document()})
    assert resumed(folder, StudyCall("")).input == made.input
    assert resumed(folder, StudyCall("", input=made.input)).input == made.input
    plain = Store(tmp_path / "plain").new_study("study", {"call": replace(made, input=None).document()})
    for begun in (folder, plain):
        with pytest.raises(UsageError, match=r"--input differs from the original run"):
            resumed(begun, StudyCall("", input="/elsewhere"))


def test_the_folder_is_that_of_the_claim_s_training_or_the_one_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    document = {
        "id": "c", "along": "pipelines", "forecast": {"x": 2}, "group": {"engine": "duckdb"},
        "call": json.loads(json.dumps(call(tmp_path, PIPELINE).document())),
    }  # fmt: skip
    assert proving_call(document).input == str(tmp_path / "in")
    begun: list[StudyCall] = []
    monkeypatch.setattr(Runs, "_run", lambda self, claim, call: begun.append(call) or "made")

    class Claimed:
        doc = document

    for given in (None, tmp_path / "other"):
        Runs(Store(tmp_path), (), None, given).of(Claimed())  # type: ignore[arg-type]
    assert [one.input for one in begun] == [str(tmp_path / "in"), str(tmp_path / "other")]


# --- figures


def watched(folders: Mapping[str, str]) -> RunRecord:
    """Two seconds of work; input files on vdb, data on vda and vdc."""
    made = synthetic.run(makespan_s=2.0)
    (span,) = [s for s in made.rows("segments") if s["phase"] == "measure"]
    begin, end = span["start_ns"], span["end_ns"]
    seconds = (end - begin) / 1e9
    rates = {
        (INPUT, "vdb", "dev_read_bytes"): 300e6, (INPUT, "vdb", "dev_write_bytes"): 0.0,
        ("host", "vda", "dev_read_bytes"): 5e6, ("host", "vda", "dev_write_bytes"): 40e6,
        ("host", "vdc", "dev_read_bytes"): 1e6, ("host", "vdc", "dev_write_bytes"): 2e6,
        ("client", "vdb", "dev_read_bytes"): 300e6,
    }  # fmt: skip
    rows = [
        {"role": role, "t_ns": t_ns, "metric": metric, "device": device, "value": 1e9 + rate * so_far}
        for (role, device, metric), rate in rates.items()
        for t_ns, so_far in ((begin, 0.0), (end, seconds))
    ]
    tables = {**made.tables, "resources": synthetic.table("resources", rows)}
    plan: Any = {**made.plan, "watch": {**made.plan.get("watch", {}), "folders": dict(folders)}}
    return replace(made, plan=plan, tables=tables, _rows={})


def test_what_each_device_read_stands_beside_the_other_s() -> None:
    run = watched({INPUT: "/in"})
    found = figures_of_run(run)
    assert {k: v for k, v in found.items() if ".device_" in k} == pytest.approx({
        "input.device_read_bytes_per_s": 300e6, "input.device_write_bytes_per_s": 0.0,
        "data.device_read_bytes_per_s": 6e6, "data.device_write_bytes_per_s": 42e6,
    })  # fmt: skip
    assert device_figures(watched({"client": "/in"}), [(0, 10**9)]) == {}


def test_a_step_has_them_under_its_own_name_over_its_own_time() -> None:
    run = watched({INPUT: "/in"})
    rows = [{**row, "step": "load" if row["phase"] == "measure" else ""} for row in run.rows("segments")]
    tables = {**run.tables, "segments": pa.Table.from_pylist(rows)}
    found = figures_of_run(replace(run, tables=tables, _rows={}))
    assert {k: v for k, v in found.items() if "_device_" in k} == pytest.approx({
        "load.input_device_read_bytes_per_s": 300e6, "load.input_device_write_bytes_per_s": 0.0,
        "load.data_device_read_bytes_per_s": 6e6, "load.data_device_write_bytes_per_s": 42e6,
    })  # fmt: skip


def test_the_course_of_the_input_s_device_is_drawn_by_its_name() -> None:
    assert set(every_device(watched({INPUT: "/in"}), "dev_read_bytes")) == {"vda", "vdc", "input vdb"}

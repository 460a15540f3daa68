"""The store: a run either happened or did not, and what was written can be read."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.errors import ResultUnreadable, UsageError
from inrush.results.schema import RESULT_SCHEMA, SCHEMAS
from inrush.results.store import Results, Store, StudyFolder, sealing, unsealed_runs, whole_batches

RESOURCES = SCHEMAS["resources"]


def batch(first: int, rows: int) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "role": ["client"] * rows,
            "t_ns": list(range(first, first + rows)),
            "metric": ["cpu_s"] * rows,
            "device": [""] * rows,
            "value": [float(i) for i in range(first, first + rows)],
        },
        schema=RESOURCES,
    )


def stream(batch_rows: list[int]) -> tuple[bytes, list[int]]:
    """A stream of batches and the offset at which each is whole."""
    sink = pa.BufferOutputStream()
    writer = pa.ipc.new_stream(sink, RESOURCES)
    ends, first = [], 0
    for rows in batch_rows:
        writer.write_batch(batch(first, rows))
        ends.append(sink.tell())
        first += rows
    writer.close()
    return sink.getvalue().to_pybytes(), ends


def begin(root: Path, name: str = "batch") -> StudyFolder:
    return Store(root).new_study(name, {"begun_unix_ns": 1, "title": "a title"})


def seal(folder: StudyFolder, run: str, **doc: object) -> dict[str, object]:
    opened = folder.open_run(run, {"run_id": run}, {"cpu": "x"})
    (opened.parts / "resources.arrows").write_bytes(stream([3, 4])[0])
    return opened.seal({"status": "done", **doc})


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4), cut=st.floats(0, 1))
def test_a_stream_cut_anywhere_gives_every_whole_batch_and_no_part_of_one(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], cut: float
) -> None:
    whole, ends = stream(sizes)
    length = int(cut * len(whole))
    path = tmp_path_factory.mktemp("cut") / "resources.arrows"
    path.write_bytes(whole[:length])
    expected = sum(rows for rows, end in zip(sizes, ends, strict=True) if end <= length)
    assert sum(b.num_rows for b in whole_batches(path)) == expected


def test_a_sealed_run_reads_back_what_the_core_wrote(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    seal(folder, "b0-000", block=0, order=0)
    (run,) = Results(folder.path).runs
    assert run.table("resources").column("t_ns").to_pylist() == list(range(7))
    assert run.plan == {"run_id": "b0-000"} and run.env == {"cpu": "x"}
    assert not (run.path / "parts").exists()


def test_parquet_says_its_schema_version(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    seal(folder, "b0-000")
    metadata = pq.read_schema(folder.path / "b0-000" / "resources.parquet").metadata
    assert metadata[b"inrush.schema"] == str(RESULT_SCHEMA).encode()


def test_tables_that_a_run_did_not_write_are_empty_and_typed(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    seal(folder, "b0-000")
    (run,) = Results(folder.path).runs
    assert run.table("hist").schema == SCHEMAS["hist"] and run.table("hist").num_rows == 0


def test_a_run_without_run_json_is_no_result_and_is_named_as_unsealed(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    folder.open_run("b0-000", {}, {})
    results = Results(folder.path)
    assert results.runs == [] and [path.name for path in unsealed_runs(results.path)] == ["b0-000"]
    with pytest.raises(ResultUnreadable, match="never sealed"):
        _ = Results(folder.path, only="b0-000").runs


@pytest.mark.parametrize("at", ["parquet", "rename", "remove"])
def test_a_kill_while_sealing_leaves_a_sealed_run_or_one_to_redo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """Every step of sealing fails once; afterwards the run is whole, or absent and can be redone."""

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    folder = begin(tmp_path)
    with monkeypatch.context() as m:
        if at == "parquet":
            m.setattr(sealing, "_to_parquet", killed)
        elif at == "rename":
            m.setattr(
                sealing,
                "write_json",
                lambda path, doc: killed() if path.name == "run.json" else path.write_text(json.dumps(doc)),
            )
        else:
            m.setattr(sealing.shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            seal(folder, "b0-000")
    if at == "remove":
        assert folder.sealed("b0-000") is not None
    else:
        assert folder.sealed("b0-000") is None
        seal(folder, "b0-000")
        assert (folder.path / "quarantine" / "b0-000.1").is_dir()
    (run,) = Results(folder.path).runs
    assert run.table("resources").num_rows == 7 and run.damage() == []


def test_runs_come_in_planned_order(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    for run, block, order in [("x", 1, 1), ("y", 0, 1), ("z", 1, 0)]:
        seal(folder, run, block=block, order=order)
    assert [r.id for r in Results(folder.path).runs] == ["y", "z", "x"]


def test_damage_is_named_with_its_file(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    seal(folder, "b0-000")
    path = folder.path / "b0-000" / "resources.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    (run,) = Results(folder.path).runs
    assert len(run.damage()) == 1 and str(path) in run.damage()[0]
    with pytest.raises(ResultUnreadable, match=r"resources\.parquet"):
        run.table("resources")
    path.unlink()
    assert "missing" in run.damage()[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "restore"),
        ("[]", "not a JSON object"),
        ('{"schema": 99}', f"schema is 99, and this inrush reads {RESULT_SCHEMA} alone; run the study again"),
        ('{"schema": 8}', "schema is 8, and"),
        ('{"schema": "x"}', "schema is"),
    ],
)
def test_a_damaged_study_is_one_clear_message(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(ResultUnreadable, match=says):
        _ = Results(tmp_path).study


def test_two_studies_of_one_second_get_two_folders(tmp_path: Path) -> None:
    assert begin(tmp_path).path != begin(tmp_path).path


def test_results_are_found_by_path_beginning_name_or_as_the_latest(tmp_path: Path) -> None:
    first, second = begin(tmp_path, "batch"), begin(tmp_path, "writers")
    first.write({"begun_unix_ns": 5})
    seal(second, "b0-000")
    store = Store(tmp_path)
    assert store.find(None).path == first.path
    assert store.find("writers").path == second.path
    begin(tmp_path, "telemetry-batch-more")
    third = begin(tmp_path, "telemetry-batch")
    assert store.find("telemetry-batch").path == third.path
    assert store.find(str(first.path)).path == first.path
    assert [r.id for r in store.find(str(second.path / "b0-000")).runs] == ["b0-000"]
    with pytest.raises(UsageError, match="inrush runs"):
        store.find("nothing")


def test_no_results_yet_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="inrush run quickstart"):
        Store(tmp_path / "none").find(None)


def test_a_study_is_worked_on_by_one_inrush_at_a_time(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    with (
        folder.locked(),
        pytest.raises(UsageError, match="another inrush"),
        StudyFolder(folder.path).locked(),
    ):
        pass
    with folder.locked():
        pass

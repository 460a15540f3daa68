"""A second copy of each row and hashing threads as keys of `[pipeline]`, and how busy the disks of its parts are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inrush.border.pipeline import InputFiles
from inrush.errors import UsageError
from inrush.load.pipeline.inputs import rows_of
from inrush.report.footprint import PANELS
from inrush.stats.footprint import DATA_DISK, DISK, footprint
from inrush.stats.record import RunRecord
from tests import synthetic
from tests.terminal import pipeline_results
from tests.test_pipeline import ends, placed, planned

SECOND = synthetic.SECOND


def test_the_copies_of_a_shard_lie_on_the_next_one(tmp_path: Path) -> None:
    plan = ends(placed("sqlite", tmp_path, "pipeline.shards=3", "pipeline.replica=true"))
    load, shards = plan["load_server"]["load"], plan["shards"]
    assert [e["plan"]["target"]["url"] for e in load["replicas"]] == [
        shards[k]["target"]["url"] for k in (1, 2, 0)
    ]
    assert [e["name"] for e in load["replicas"]][-1] == "the replica of shard 2 on shard 0"
    assert {e["ledger"]["import"] for e in load["replicas"]} == {"'pipeline-replica'"}
    for k, shard in enumerate(shards):
        copy = shard["replica"]["table"]["name"]
        assert load["replicas"][k - 1]["plan"]["tables"][0]["name"] == copy != shard["table"]["name"]
        assert any(copy in str(s) for s in shard["create"])


def test_copies_need_a_second_shard_of_an_engine_with_transactions() -> None:
    (one,) = planned("sqlite", "pipeline-parallel", "pipelines=1", "pipeline.replica=true").unsupported
    assert "two shards at least" in one.reason
    two = ("pipelines=1", "pipeline.replica=true", "pipeline.shards=2")
    assert planned("postgresql", "pipeline-parallel", *two).unsupported == ()
    (loose,) = planned("clickhouse", "pipeline-parallel", *two).unsupported
    assert "rows and ledger together" in loose.reason


def test_both_may_be_factors_and_a_plan_without_them_names_neither(tmp_path: Path) -> None:
    two = "pipeline.shards=2"
    copied = planned(
        "sqlite",
        "pipeline-filesize",
        two,
        'pipeline.replica="@process_per_file"',
        "pipeline.process_per_file=false",
    )
    for point in copied.points:
        made = copied.planned[point.id]
        assert ("replicas" in ends(made.plan)["load_server"]["load"]) is point.factors["process_per_file"]
        times, size = 2 if point.factors["process_per_file"] else 1, point.factors["file_bytes"]
        assert (made.written_rows, made.bytes) == (times * made.rows, times * 3 * int(str(size)))
    hashed = planned("sqlite", "pipeline-parallel", two, 'pipeline.hash_threads="@pipelines"')
    for point in hashed.points:
        found = ends(hashed.planned[point.id].plan)["load_server"]["hash_threads"]
        assert found == point.factors["pipelines"]
    plain = ends(placed("sqlite", tmp_path, "pipeline.shards=2"))
    assert "hash_threads" not in plain["load_server"] and "replicas" not in plain["load_server"]["load"]
    assert not any("replica" in shard for shard in plain["shards"])


def test_more_hashing_threads_than_the_load_server_takes_are_refused() -> None:
    with pytest.raises(UsageError, match="64"):
        planned("sqlite", "pipeline-parallel", "pipeline.hash_threads=65")


@pytest.mark.slow
def test_copies_are_proven_and_hashing_threads_do_the_work(tmp_path: Path) -> None:
    # At a rate that leaves time for several looks at its threads.
    changes = ("repeats.count=1", "pipelines=2", "pipeline.shards=2", "pipeline.replica=true",
               "pipeline.hash_threads=2", "pipeline.pipeline_bytes_per_s=300_000")  # fmt: skip
    (sealed,) = pipeline_results(["sqlite"], changes, tmp_path).glob("b01-*")
    proofs = pq.read_table(sealed / "proofs.parquet").to_pylist()
    assert [p for p in proofs if not p["holds"]] == []
    rows, copies = (
        {p["item"]: p["found"] for p in proofs if ("_replica" in p["table"]) is copied}
        for copied in (False, True)
    )
    assert copies.pop("copies on the next shard") == "those of each shard"
    assert len(copies) > 5 and copies.items() <= rows.items(), (
        "sums and ledger of the copies are those of the rows"
    )
    looks = pq.read_table(sealed / "resources.parquet").to_pylist()
    hashed = [r["value"] for r in looks if (r["role"], r["device"]) == ("load_server", "hash")]
    assert hashed and hashed[-1] > 0, "threads of this name"
    disks = {r["role"] for r in looks if r["metric"] == "dev_busy_s"}
    assert {"host", "client", "load_server"} <= disks


# Rows of files.


def inputs(files: int, rows_per_file: int, rows: int) -> InputFiles:
    return {
        "files": files,
        "rows_per_file": rows_per_file,
        "rows": rows,
        "table": {},
        "cold": True,
        "folder": "",
    }  # type: ignore[typeddict-item]


def test_files_have_equally_many_rows_and_the_last_one_the_rest() -> None:
    assert rows_of(inputs(3, 10, 30), 1, 0) == [(0, 10), (10, 10), (20, 10)]
    assert rows_of(inputs(3, 10, rows=24), 1, 0) == [(0, 10), (10, 10), (20, 4)]


# How busy the disks are.


def busy(*disks: tuple[str, str, float]) -> RunRecord:
    """A run of 4 s. disks: role, device, share of the time in which it was busy."""
    plain = synthetic.run(makespan_s=4.0)
    rows = [
        {"role": role, "t_ns": k * SECOND, "metric": "dev_busy_s", "device": device, "value": share * k}
        for role, device, share in disks
        for k in range(10)
    ]
    looks = plain.tables["resources"]
    both = pa.concat_tables([looks, pa.Table.from_pylist(rows, looks.schema)])
    return replace(plain, tables={**plain.tables, "resources": both}, _rows={})


def test_each_part_has_the_disk_below_its_files_and_parts_on_one_disk_have_one_line() -> None:
    apart = footprint(busy(("host", "sdb", 0.6), ("client", "sda", 0.14), ("shards", "sdb", 0.6)))
    assert apart[DISK] == pytest.approx({"client": 14.0, "shards": 60.0})
    same = footprint(busy(("host", "sda", 0.6), ("client", "sda", 0.6), ("shards", "sda", 0.6)))
    assert same[DISK] == pytest.approx({"client and shards": 60.0})
    assert DISK in PANELS


def test_of_several_disks_of_a_part_the_busiest_counts() -> None:
    of = footprint(busy(("client", "sda", 0.1), ("shards", "sdb", 0.2), ("shards", "sdc", 0.5)))
    assert of[DISK] == pytest.approx({"client": 10.0, "shards": 50.0})


def test_disks_of_equal_name_on_two_hosts_are_two_and_clients_disks_are_not_added_up() -> None:
    two = footprint(busy(("client", "host/2:sda", 0.6), ("shards", "sda", 0.2), ("host/2", "sda", 0.6)))
    assert two[DISK] == pytest.approx({"client": 60.0, "shards": 20.0})
    clients = footprint(busy(("client/1", "host/2:sda", 0.6), ("client/2", "host/3:sda", 0.5)))
    assert clients[DISK] == pytest.approx({"client": 60.0})


def test_results_without_disks_by_role_show_the_disk_of_the_data() -> None:
    assert footprint(busy(("host", "sda", 0.3)))[DISK] == pytest.approx({DATA_DISK: 30.0})
    assert DISK not in footprint(busy())

"""The shipped studies as a user runs them, each cut to one point: every row proven, every answer the oracle's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inrush.study.shipped import shipped_studies
from tests.documented import without_pilot
from tests.terminal import Inrush

#: Guards that do not depend on how busy the machine is, or on how the core was built.
PROOFS = ("rows proven", "answers right", "oracle agrees", "ended as planned", "errors not counted as fast")  # fmt: skip
ALL = '"port_data_counters", "port_errors", "mpi_process_info"'
#: Study -> engines, and its smallest point.
SMALLEST = {
    "archive-absolute": (["sqlite"], ["row_order=time"]),
    "archive-arrays": (["duckdb", "sqlite"], ["row_order=time"]),
    "archive-cluster": (["sqlite"], ["layout=pk_two"]),
    "archive-compress": (["duckdb"], ["row_order=time"]),
    "archive-dump": (["duckdb", "sqlite"], ["dump_by=time"]),
    "archive-extract": (["sqlite"], ["row_order=time"]),
    "archive-load": (["sqlite"], ["row_order=time", "layout=pk_two"]),
    "archive-volume": (["sqlite"], ["row_order=time"]),
    "archive-viewer": (["sqlite"], ["row_order=time"]),
    "archive-ways": (["duckdb", "sqlite"], []),
    "archive-rate": (["duckdb", "sqlite"], []),
    "archive-subscriber": (["duckdb"], ["batch_rows=100"]),
    "archive-types": (["sqlite"], []),
    "bulkindex-storage": (["device"], ["record_bytes=4096"]),
    "bulkindex-storage-random": (["device"], ["record_bytes=4096"]),
    "bulkindex-keys": (["sqlite"], ["table=secondary_index_utf8", "steps.load.rows.total=20000"]),
    "bulkindex-load": (["sqlite"], ["steps.load.rows.total=20000"]),
    "bulkindex-lookup": (["duckdb", "sqlite"], ["rows=20000", "steps.single.calls=500", "steps.listed.calls=20", "steps.first.calls=100", "steps.updated.calls=500"]),
    "bulkindex-optimize": (["sqlite"], ["steps.load.rows.total=20000"]),
    "bulkindex-outgrow": (["sqlite"], ["rows=5000"]),
    "bulkindex-survey": (["duckdb"], ["rows=5000"]),
    "bulkindex-series": (["duckdb"], ["table=secondary_index_equal", "steps.load.rows.total=20000"]),
    "keylookup-clients": (["duckdb", "sqlite"], ["clients=1"]),
    "keylookup-lists": (["duckdb", "sqlite"], ["keys_per_call=256"]),
    "keylookup-connections": (["sqlite"], ["connections=4"]),
    "keylookup-delay": (["sqlite"], ["delay_s=0.001"]),
    "keylookup-depth": (["duckdb", "sqlite"], ["refill=half"]),
    "keylookup-phases": (["duckdb", "sqlite"], []),
    "keylookup-records": (["duckdb", "sqlite"], ["record=record_25x160"]),
    "keylookup-threads": (["duckdb", "sqlite"], ["threads=2"]),
    "keylookup-transactions": (["duckdb", "sqlite"], ["operations=64"]),
    "keylookup-waves": (["sqlite"], ["checkpoints=1"]),
    "pipeline-filesize": (["sqlite"], ["file_bytes=[20000, 100000]"]),
    "pipeline-parallel": (["duckdb", "sqlite"], ["pipelines=2", "pipeline.shards=2"]),
    "telemetry-alter": (["sqlite"], []),
    "telemetry-batch": (["duckdb"], ["table=mpi_process_info", "batch_rows=1000", "readers=1", "method=multirow"]),
    "telemetry-indexes": (["duckdb", "sqlite"], []),
    "telemetry-keepup": (["duckdb"], ["readers=2"]),
    "telemetry-lookups": (["duckdb", "sqlite"], ["keys_per_call=16", "schedule.measure_s=0.2"]),
    "telemetry-mixed": (["duckdb"], ["n=2", f'combination=[{{ name = "all", write = [{ALL}], read = [{ALL}], fresh = 1 }}]']),
    "telemetry-sustained": (["duckdb"], []),
    "telemetry-production": (["sqlite"], []),
    "telemetry-queries": (["duckdb", "sqlite"], ["users=2", "schedule.measure_s=0.2"]),
    "telemetry-quickstart": (["duckdb", "sqlite"], ["batch_rows=2000"]),
    "telemetry-volume": (["sqlite"], ["table=port_errors", "rows=5000"]),
    "telemetry-writers": (["sqlite"], ["writers=4"]),
}  # fmt: skip
#: Studies of how servers are started: `engines/test_started_with_servers` runs them.
OF_SERVERS = {"keylookup-nodes", "keylookup-senddelay", "keylookup-threadconfig"}
#: Studies that write alone, or whose readers only look for what was written.
WITHOUT_QUERIES = {
    "archive-absolute", "archive-volume", "archive-arrays", "archive-cluster", "archive-compress", "archive-types", "archive-ways",
    "archive-dump", "archive-extract", "archive-load", "archive-rate", "archive-subscriber", "bulkindex-keys", "bulkindex-load", "bulkindex-lookup",
    "bulkindex-optimize", "bulkindex-outgrow", "bulkindex-series", "bulkindex-survey",
    "keylookup-clients", "keylookup-connections", "keylookup-transactions", "keylookup-lists", "keylookup-delay", "keylookup-depth", "keylookup-phases", "keylookup-records", "keylookup-threads", "keylookup-waves", "pipeline-filesize", "pipeline-parallel", "telemetry-indexes", "telemetry-sustained", "telemetry-production",
    "telemetry-volume",
}  # fmt: skip
#: Studies of several servers at once: engines/test_by_key_shards.py runs them.
ON_SHARDS = {"keylookup-shards"}
#: Studies without tables: there is no row to prove, and what is read is checked by the call itself.
WITHOUT_ROWS = {"bulkindex-storage", "bulkindex-storage-random"}

#: Studies of whose operations something is promised, answer by answer.
PROMISING = {
    "bulkindex-lookup",
    "keylookup-connections",
    "keylookup-lists",
    "keylookup-delay",
    "keylookup-depth",
    "keylookup-phases",
    "keylookup-records",
    "keylookup-threads",
    "keylookup-transactions",
    "telemetry-keepup",
    "telemetry-lookups",
    "telemetry-mixed",
    "telemetry-queries",
}


def run(inrush: Inrush, study: str) -> dict[str, Any]:
    """The JSON that the command prints."""
    engines, overrides = SMALLEST[study]
    changes = [word for change in ("repeats.count=1", *overrides) for word in ("-P", change)]
    changes += without_pilot(study)
    said = inrush("run", study, *engines, "--scale", "xs", "--json", *changes)
    # 3: the machine was busy or the core is a debug build; the proofs below hold all the same.
    assert said.code in (0, 3), said.err
    found: dict[str, Any] = said.json
    return found


def test_every_shipped_study_is_run_here() -> None:
    assert {study.name for study in shipped_studies()} == set(SMALLEST) | OF_SERVERS | ON_SHARDS


#: The first study stands for the others where time is short; CI runs one of each family and kind.
ALWAYS = ("telemetry-quickstart",)
OF_CI = (
    "bulkindex-lookup",
    "bulkindex-storage",
    "pipeline-parallel",
    "telemetry-mixed",
    "telemetry-queries",
)


@pytest.mark.parametrize(
    "study",
    [
        pytest.param(s, marks=[] if s in ALWAYS else pytest.mark.ci if s in OF_CI else pytest.mark.slow)
        for s in SMALLEST
    ],
)
def test_a_shipped_study_runs_and_every_row_and_answer_is_proven(study: str, inrush: Inrush) -> None:
    found = run(inrush, study)
    # A rate whose queue filled up ended as such a rate does: its note says so.
    verdicts = [
        v for v in found["verdicts"] if v["guard"] in PROOFS and "more rows waited" not in v["sentence"]
    ]
    assert [v for v in verdicts if v["outcome"] not in ("pass", "not checked")] == []
    outcomes = {guard: {v["outcome"] for v in verdicts if v["guard"] == guard} for guard in PROOFS}
    assert outcomes["ended as planned"] == {"pass"}
    assert outcomes["rows proven"] == ({"not checked"} if study in WITHOUT_ROWS else {"pass"})
    # Answers of which nothing is promised while others write are put to the oracle when it is quiet.
    assert outcomes["oracle agrees"] == (
        {"not checked"} if study in WITHOUT_QUERIES | WITHOUT_ROWS else {"pass"}
    )
    if study in PROMISING:
        assert outcomes["answers right"] == {"pass"}
    sealed = [json.loads(p.read_text()) for p in Path(found["run_dir"]).glob("*/run.json")]
    sealed = [doc for doc in sealed if doc["labels"]["engine"] != "null"]  # prices the client's own work
    assert {doc["labels"]["engine"] for doc in sealed} == set(SMALLEST[study][0])
    if study == "telemetry-queries":
        assert [len(doc["oracle"]) for doc in sealed] == [10] * len(sealed), "all ten were asked"

"""The archive's studies at their smallest on real servers: every row proven, every answer right, every step there or left out
with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inrush.engines.base.instance import Target
from inrush.guards.analyse import analyse
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.study.shipped import find_study
from tests.terminal import Inrush

ENGINES = ("postgresql", "timescaledb", "mysql", "mariadb", "clickhouse")
#: Guards that do not depend on how busy the machine is, or on how the core was built.
PROOFS = ("rows proven", "answers right", "oracle agrees", "ended as planned", "errors not counted as fast")
#: Study -> what cuts it to its smallest point, and the steps whose statements a server runs.
STUDIES = {
    "archive-absolute": (["row_order=time"], ("cluster",)),
    "archive-arrays": (["row_order=time"], ("cluster",)),
    "archive-cluster": (["layout=pk"], ("whole", "parts")),
    "archive-compress": (["row_order=time"], ("keep_hours", "compress")),
    "archive-dump": (["dump_by=time"], ()),
    "archive-extract": (["row_order=time"], ("cluster",)),
    "archive-load": (["row_order=time", "layout=pk_two"], ("cluster",)),
    "archive-rate": ([], ()),
    "archive-subscriber": (["batch_rows=100"], ()),
    "archive-types": ([], ()),
    "archive-volume": (["rows=4000", "row_order=time"], ()),
    "archive-viewer": (["row_order=time"], ()),
}
#: Steps that an engine goes without, by design: each has its reason in the workload.
WITHOUT = {
    ("postgresql", "parts"), ("postgresql", "compress"), ("mysql", "keep_hours"), ("mariadb", "keep_hours"),
    ("clickhouse", "keep_hours"),
}  # fmt: skip
#: The same, of Debian's editions, which have less: the server is asked before the first run -> a word of the reason.
LACKING = {
    ("timescaledb", "keep_hours"): "Apache edition has no continuous aggregates",
    ("timescaledb", "compress"): "Apache edition has no compression",
    ("clickhouse", "compress"): "ClickHouse before 19 has no codecs",
}
#: Statements of a step where they are not one: chunks by their number, partitions by their names, merges by a look.
LEAST = {
    ("timescaledb", "cluster"): 9, ("timescaledb", "parts"): 10, ("mysql", "parts"): 13, ("mariadb", "parts"): 13,
    ("clickhouse", "parts"): 13,
}  # fmt: skip


def without_cold(text: str) -> str:
    """Cold needs a server that inrush started for the study, and root: here the steps run warm."""
    return "[[steps]]".join(part for part in text.split("[[steps]]") if '\ndo = "cold"' not in part)


def warm_copy(folder: Path, study: str) -> Path:
    """The shipped study and its workloads, in a folder of the test's."""
    found = find_study(study).path
    for other in found.parent.glob("*workload.toml"):
        (folder / other.name).write_text(other.read_text())
    path = folder / f"{found.stem}.toml"
    text = found.read_text().replace('workload = "archive"', 'workload = "workload.toml"')
    path.write_text(without_cold(text))
    return path


#: 54 tables each: their types are those of PostgreSQL and MySQL.
SAME_TYPES = ("timescaledb", "mariadb")
#: Of these the statements differ most from engine to engine.
OF_CI = ("archive-cluster", "archive-extract")


@pytest.mark.ci
@pytest.mark.parametrize(
    ("engine", "study"),
    [
        pytest.param(e, s, marks=[pytest.mark.slow] * (s not in OF_CI or e in SAME_TYPES))
        for e in ENGINES
        for s in STUDIES
        if (s, e in SAME_TYPES) != ("archive-types", True)
    ],
)
def test_a_study_of_the_archive_runs_on_a_server_and_all_of_it_is_proven(
    engine: str, study: str, request: pytest.FixtureRequest, inrush: Inrush, tmp_path: Path
) -> None:
    server: Target = request.getfixturevalue(engine)
    overrides, statements = STUDIES[study]
    changes = [word for change in ("repeats.count=1", *overrides) for word in ("-P", change)]
    path = warm_copy(tmp_path, study)
    said = inrush("run", str(path), server.url, "--scale", "xs", "--json", *changes)
    assert said.code in (0, 3), said.err
    found = said.json
    verdicts = [
        v for v in found["verdicts"] if v["guard"] in PROOFS and "more rows waited" not in v["sentence"]
    ]
    assert [v for v in verdicts if v["outcome"] not in ("pass", "not checked")] == []
    outcomes = {guard: {v["outcome"] for v in verdicts if v["guard"] == guard} for guard in PROOFS}
    assert outcomes["rows proven"] == outcomes["ended as planned"] == {"pass"}
    sealed = [json.loads(p.read_text()) for p in Path(found["run_dir"]).glob("*/run.json")]
    mine = [doc for doc in sealed if doc["labels"]["engine"] == engine]
    assert mine
    done: dict[str, int] = {}
    for measured in analyse(study_record(Results(Path(found["run_dir"])))).runs:
        left = json.dumps(measured.run.labels.get("steps_left_out", ""))
        for step in statements:
            lacks = LACKING.get((engine, step), "")
            assert (step in left) == ((engine, step) in WITHOUT or bool(lacks)), (step, left)
            assert lacks in left and lacks in said.err
            done[step] = int(measured.figures.get(f"{step}.statements", 0))
            assert step in left or done[step] >= LEAST.get((engine, step), 1), (step, done)

"""The archive's studies at their smallest on real servers: every row proven, every answer right, every step there or left out
with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inrush.engines.instance import Target
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
    "archive-viewer": (["row_order=time"], ()),
}
#: Steps that an engine goes without, by design: each has its reason in the workload.
WITHOUT = {
    ("postgresql", "parts"), ("postgresql", "compress"), ("mysql", "keep_hours"), ("mariadb", "keep_hours"),
    ("clickhouse", "keep_hours"),
}  # fmt: skip


def written_cold(study: str, text: str) -> str:
    """Cold needs a server that inrush started for the study, and root: here the steps run warm."""
    parts = text.split("[[steps]]")
    warm = [p for p in parts if '\ndo = "cold"' not in p]
    return "[[steps]]".join(warm)


def shown(folder: Path, study: str) -> Path:
    from inrush.study.shipped import find_study

    found = find_study(study).path
    for other in found.parent.glob("*workload.toml"):
        (folder / other.name).write_text(other.read_text())
    path = folder / f"{found.stem}.toml"
    text = found.read_text().replace('workload = "archive"', 'workload = "workload.toml"')
    path.write_text(written_cold(study, text))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_study_of_the_archive_runs_on_a_server_and_all_of_it_is_proven(
    engine: str, study: str, request: pytest.FixtureRequest, inrush: Inrush, tmp_path: Path
) -> None:
    server: Target = request.getfixturevalue(engine)
    overrides, statements = STUDIES[study]
    changes = [word for change in ("repeats.count=1", *overrides) for word in ("-P", change)]
    path = shown(tmp_path, study)
    said = inrush("run", str(path), server.url, "--scale", "xs", "--json", *changes)
    if engine == "timescaledb" and study == "archive-compress":
        refused_by_its_edition(said.out + said.err)
        return
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
    for doc in mine:
        left = json.dumps(doc["labels"].get("steps_left_out", ""))
        for step in statements:
            assert (step in left) == ((engine, step) in WITHOUT), (step, left)


def refused_by_its_edition(said: str) -> None:
    """An edition under the Apache licence has neither: one line says so, with the server's own word."""
    assert "apache" in said.lower() and "license" in said.lower(), said
    assert "Traceback" not in said

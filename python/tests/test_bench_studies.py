"""Study files of benches and findings are as inrush reads them today."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import benches
from benches import findings
from inrush.engines import server
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study

FOLDER = Path(benches.__file__).parent
STUDIES = [path for path in FOLDER.rglob("*.toml") if "\nquestion = " in path.read_text()]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_study_of_a_bench_is_planned(path: Path) -> None:
    study = load_study(str(path))
    plan = plan_study(study, {engine: server(engine) for engine in study.engines})
    assert plan.runs and not plan.unsupported


@pytest.mark.parametrize("words", findings.pieces(), ids=lambda words: " ".join(words[:2]))
def test_a_piece_of_the_findings_is_planned_with_its_changes(words: list[str]) -> None:
    options = dict(pairwise(words))
    changes = [value for name, value in pairwise(words) if name == "-P"]
    name, engine = words[:2]
    study = load_study(name, options["--scale"], changes, [engine])
    plan = plan_study(study, {engine: server(engine)})
    assert plan.runs and not plan.unsupported
    assert options.get("--start", engine).split(",")[0] == engine


def test_a_piece_is_named_by_its_study_its_engine_or_both() -> None:
    found = {
        only: [p[:2] for p in findings.pieces() if findings.is_meant(p, only)]
        for only in ("batch mysql", "rate")
    }
    assert found["batch mysql"] == [["telemetry-batch", "mysql"]]
    assert {study for study, _ in found["rate"]} == {"archive-rate"} and len(found["rate"]) == 8

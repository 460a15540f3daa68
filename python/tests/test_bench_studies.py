"""Study files of benches and findings are as inrush reads them today."""

from __future__ import annotations

from pathlib import Path

import pytest

import benches
from inrush.engines import server
from inrush.plan.plan import plan_study
from inrush.study.study import load_study

FOLDER = Path(benches.__file__).parent
STUDIES = [path for path in FOLDER.rglob("*.toml") if "\nquestion = " in path.read_text()]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_study_of_a_bench_is_planned(path: Path) -> None:
    study = load_study(str(path))
    plan = plan_study(study, {engine: server(engine) for engine in study.engines})
    assert plan.runs and not plan.unsupported
